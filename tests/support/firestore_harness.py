"""The store on the Firestore emulator as the contract wants it, and a way round it."""

from typing import Any

from google.cloud import firestore

from shared.gcp.firestore_commands import FirestoreCommands
from shared.gcp.firestore_models import FirestoreModels
from shared.gcp.firestore_store import FirestoreStore
from shared.records.model_subject import ModelSubject
from shared.records.subject import ServiceId, document_id
from tests.contract.store_contract import (
    FAR_AHEAD,
)

SETTLE_SECONDS = 0.2


PATHS = {
    "fact": "services/{service}/facts/{key}",
    "state": "services/{service}/state/current",
    "document": "services/{service}",
    "decision": "services/{service}/decisions/{key}",
    "parked": "parked/{key}",
    "fleet": "fleet/current",
    "model": "models/{model}/model_state/current",
}


class FirestoreHarness:
    def __init__(self, client: firestore.Client) -> None:
        self.client = client
        self.store = FirestoreStore(client, settle_seconds=SETTLE_SECONDS)
        self.commands = FirestoreCommands(client)
        self.models = FirestoreModels(client)

    def write_raw(self, kind: str, service: ServiceId, key: str, record: object) -> None:
        fields: dict[str, Any] = {"record": record}
        if kind == "fact":
            fields["created_at"] = firestore.SERVER_TIMESTAMP
        if kind in {"decision", "parked"}:
            fields["decided_at" if kind == "decision" else "parked_at"] = FAR_AHEAD
        model = ModelSubject(uri=key).id if kind == "model" else ""
        path = PATHS[kind].format(service=service, key=document_id(key) if key else "", model=model)
        self.client.document(path).set(fields, timeout=10)
