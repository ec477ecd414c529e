"""A wake on the wire: the record as JSON; its attributes are for people and filters, nothing reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import ValidationError

from shared.errors import Park
from shared.events.lenient import load_json, mapping, shown
from shared.records.parked import ParkCode
from shared.records.subject import ServiceId, Wake

if TYPE_CHECKING:
    from shared.records.model_subject import ModelSubject

SCHEMA_VERSION = 1
ATTRIBUTE_LIMIT_BYTES = 1_024
"""Pub/Sub's limit of an attribute's value; the uri of a model may be longer."""

_MODEL_URI = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:/.*)?", re.DOTALL)
"""A bucket, and whatever object names begin with."""


def encode_wake(wake: Wake) -> tuple[bytes, dict[str, str]]:
    """The data and the attributes of the message that carries this wake."""
    subject = wake.subject_id.encode()[:ATTRIBUTE_LIMIT_BYTES].decode(errors="ignore")
    attributes = {"kind": "wake", "subject_kind": wake.subject_kind, "subject_id": subject}
    return wake.model_dump_json().encode(), attributes


def parse_wake(payload: bytes) -> tuple[ServiceId | ModelSubject, Wake]:
    """The service or the model to look at, and the wake as it was sent.

    Raises:
        Park: unparsable, unsupported (written by newer code), or unroutable (its subject is no service id, no model's uri).
    """
    content = load_json(payload, "wake")
    if not isinstance(content, dict):
        raise Park(ParkCode.UNPARSABLE, f"wake: want a JSON object, got {shown(content)}")
    version = content.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise Park(ParkCode.UNSUPPORTED, f"wake: schema_version {shown(version)}; this code reads {SCHEMA_VERSION}")
    try:
        wake = Wake.from_stored(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Park(ParkCode.UNPARSABLE, f"wake: {shown('.'.join(map(str, fault['loc'])))}: {fault['msg'][:200]}") from None
    said = shown(mapping(content).get("subject_id"))
    if wake.subject_kind == "model":
        if _MODEL_URI.fullmatch(wake.subject_id) is None:
            raise Park(ParkCode.UNROUTABLE, f"wake: subject {said}: want gs://bucket/prefix")
        from shared.records.model_subject import ModelSubject  # noqa: PLC0415 (who only sends wakes does not load it)

        return ModelSubject(uri=wake.subject_id), wake
    try:
        return ServiceId.parse(wake.subject_id), wake
    except ValueError:
        raise Park(ParkCode.UNROUTABLE, f"wake: subject {said}: want project:region:name") from None
