"""The documents that commands write: specs, the fleet's, and the commands themselves.

Two of them hold JSON that people wrote, which Firestore refuses as a map (lists inside lists, names like `__x__`, more than 20
levels): of a spec its `serving.golden_request`, of a command the whole of it. They are kept as JSON text there.
"""

import json
from typing import Any

from google.cloud.firestore import DELETE_FIELD, SERVER_TIMESTAMP, DocumentSnapshot

from shared.gcp.firestore_layout import created_now, read_record
from shared.records.commands import CommandFact
from shared.records.fleet import Fleet
from shared.records.service import ServiceDocument

GOLDEN_REQUEST = "golden_request"


def service_fields(document: ServiceDocument) -> dict[str, Any]:
    """The document of a spec that is new."""
    fields = service_changes(document)
    return fields if document.model_uri is not None else {name: value for name, value in fields.items() if name != "model_uri"}


def service_changes(document: ServiceDocument) -> dict[str, Any]:
    """What an update makes of the document of a spec: every field of it."""
    record = document.to_stored()
    serving = record["spec"]["serving"]
    if serving is not None and serving[GOLDEN_REQUEST] is not None:
        serving[GOLDEN_REQUEST] = _text(serving[GOLDEN_REQUEST])
    return {
        "record": record,
        "sweep_slot": document.id.sweep_slot,
        "model_uri": DELETE_FIELD if document.model_uri is None else document.model_uri,
        "committed_at": SERVER_TIMESTAMP,
    }


def document_of(snapshot: DocumentSnapshot[Any], unreadable: dict[str, str]) -> ServiceDocument | None:
    """The spec of a document; None if there is none, or none that can be read: then `unreadable["document"]` says why."""
    return read_record(_read_document, snapshot, "document", unreadable)


def fleet_fields(fleet: Fleet) -> dict[str, Any]:
    """The fleet's document."""
    return {"record": fleet.to_stored(), "committed_at": SERVER_TIMESTAMP}


def command_fields(command: CommandFact) -> dict[str, Any]:
    """The document of a command; `created_at` is filled in by the server."""
    return {"schema_version": command.schema_version, "record": _text(command.to_stored()), **created_now()}


def _read_document(stored: Any) -> ServiceDocument:
    match stored:
        case {"spec": {"serving": {"golden_request": str(golden)} as serving} as spec}:
            read = {**serving, GOLDEN_REQUEST: json.loads(golden)}
            return ServiceDocument.from_stored({**stored, "spec": {**spec, "serving": read}})
        case _:
            return ServiceDocument.from_stored(stored)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
