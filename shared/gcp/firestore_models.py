"""What reconcile and the schedule keep of models, on Firestore: a state for each, and who follows it."""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from google.cloud.firestore import SERVER_TIMESTAMP, DocumentSnapshot, FieldFilter

from shared.gcp.firestore_calls import NEVER_RETRY, RPC_TIMEOUT_SECONDS, get_many, pages, token_of, unchanged_since
from shared.gcp.firestore_layout import plain_time, record_of, service_of_id
from shared.gcp.firestore_uploads import FirestoreUploads
from shared.gcp.google_errors import conflict_as_token_conflict, mendable_as_retry
from shared.records.model import ModelSnapshot, ModelState
from shared.records.model_subject import ModelSubject
from shared.records.subject import ServiceId

UNLISTED_LIMIT_UPLOADS = 5_000
"""How many uploads one search for unlisted models looks at, oldest first."""
UNREADABLE_LIMIT_CHARACTERS = 512

_log = logging.getLogger(__name__)


class FirestoreModels(FirestoreUploads):
    """`ports.ModelStore` on the database of `client`."""

    def read_model(self, model: ModelSubject) -> ModelSnapshot:
        """The model's state with its token; one call. An unreadable state comes without its token.

        Raises:
            Retry: Firestore did not answer.
        """
        with mendable_as_retry(f"reading the state of {model.uri}"):
            snapshot = self._layout.model_state(model).get(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
        unreadable: dict[str, str] = {}
        state = record_of(ModelState, snapshot, "state", unreadable)
        why = unreadable.get("state")
        return ModelSnapshot(
            state=state,
            token=token_of(snapshot.update_time) if state is not None else None,
            unreadable=why[:UNREADABLE_LIMIT_CHARACTERS] if why is not None else None,
        )

    def commit_model(self, model: ModelSubject, *, token: str | None, state: ModelState) -> str:
        """Write the state if its token still is `token` (None: if there is none). Returns the new token. One call.

        Raises:
            TokenConflict: somebody else committed; nothing was written.
            Retry: not known to have been written.
        """
        reference, fields, what = self._layout.model_state(model), model_state_fields(model, state), f"committing {model.uri}"
        with mendable_as_retry(what), conflict_as_token_conflict(what):
            if token is None:
                result = reference.create(fields, retry=None, timeout=RPC_TIMEOUT_SECONDS)
            else:
                unchanged = unchanged_since(self._client, token)
                result = reference.update(fields, option=unchanged, retry=None, timeout=RPC_TIMEOUT_SECONDS)
        return token_of(result.update_time)

    def followers(self, model: ModelSubject) -> list[ServiceId]:
        """The services whose specs name this model's uri. A spec that was written before `model_uri` was kept is not among them.

        Raises:
            Retry: Firestore did not answer.
        """
        query = self._client.collection("services").where(filter=FieldFilter("model_uri", "==", model.uri)).select([])
        found = pages(query, ("__name__",), f"listing the followers of {model.uri}")
        return [service for snapshot in found if (service := service_of_id(snapshot.id)) is not None]

    def due_models(self, *, now: datetime) -> Iterable[ModelSubject]:
        """The models whose `next_look_at` has come; each once, a page at a time.

        Raises:
            Retry: Firestore did not answer (while iterating).
        """
        return self._due(now)

    def unlisted_models(self, *, since: datetime, until: datetime) -> Iterable[ModelSubject]:
        """Models with an upload created in [since, until) and not listed since.

        Looks at the oldest 5,000 uploads of the window at most (`UNLISTED_LIMIT_UPLOADS`); more than that is logged.

        Raises:
            Retry: Firestore did not answer.
        """
        newest: dict[ModelSubject, datetime] = {}
        window = (
            self._client.collection_group("uploads")
            .where(filter=FieldFilter("created_at", ">=", since))
            .where(filter=FieldFilter("created_at", "<", until))
            .select(["created_at", "uri"])
        )
        looked_at = 0
        for snapshot in pages(window, ("created_at", "__name__"), "listing uploads", limit=UNLISTED_LIMIT_UPLOADS):
            looked_at += 1
            model = model_of(snapshot)
            if model is not None:
                newest[model] = plain_time(snapshot.get("created_at"))
        if looked_at == UNLISTED_LIMIT_UPLOADS:
            _log.warning("more than %d uploads between %s and %s: only the oldest were looked at", looked_at, since, until)
        listed = self._listed_at(list(newest))
        found = (model for model, uploaded_at in newest.items() if model not in listed or uploaded_at >= listed[model])
        return sorted(found, key=lambda model: model.uri)

    def _due(self, now: datetime) -> Iterator[ModelSubject]:
        seen: set[ModelSubject] = set()
        query = self._client.collection_group("model_state").where(filter=FieldFilter("next_look_at", "<=", now))
        for snapshot in pages(query.select(["next_look_at", "uri"]), ("next_look_at", "__name__"), f"listing models due at {now}"):
            model = model_of(snapshot)
            if model is not None and model not in seen:
                seen.add(model)
                yield model

    def _listed_at(self, models: list[ModelSubject]) -> dict[ModelSubject, datetime]:
        by_path = {self._layout.model_state(model).path: model for model in models}
        listed: dict[ModelSubject, datetime] = {}
        references = [self._layout.model_state(model) for model in models]
        for snapshot in get_many(self._client, references, "reading when models were listed", ["listed_at"]):
            listed_at = (snapshot.to_dict() or {}).get("listed_at")
            if isinstance(listed_at, datetime):
                listed[by_path[snapshot.reference.path]] = plain_time(listed_at)
        return listed


def model_state_fields(model: ModelSubject, state: ModelState) -> dict[str, Any]:
    """The document of a model's state."""
    return {
        "record": state.to_stored(),
        "uri": model.uri,
        "next_look_at": state.next_look_at,
        "listed_at": state.listed_at,
        "committed_at": SERVER_TIMESTAMP,
    }


def model_of(snapshot: DocumentSnapshot[Any]) -> ModelSubject | None:
    """The model under which a document with a `uri` lies; None where the document does not lie under the model of that uri."""
    parent = snapshot.reference.parent.parent
    try:
        model = ModelSubject(uri=(snapshot.to_dict() or {}).get("uri"))  # type: ignore[arg-type]  # whatever is stored
    except ValueError:
        return None
    return model if parent is not None and parent.parent.id == "models" and parent.id == model.id else None
