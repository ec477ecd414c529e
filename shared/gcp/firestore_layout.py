"""Where each document lies in Firestore, what its fields are, and how they become records.

* `services/{id}`: `record`, `sweep_slot`, `model_uri` (where the spec's model lies in a bucket), `committed_at`.
* `services/{id}/commands/{id}`: `record` (as JSON text), `created_at`, `expire_at`, `schema_version`.
* `services/{id}/facts/{key}`: `record`, `created_at`, `expire_at`, `schema_version`.
* `services/{id}/state/current`: `record`, `next_look_at`, `usd_per_hour_at_max`, `committed_at`.
* `services/{id}/decisions/{id}`: `record`, `decided_at`, `expire_at`.
* `models/{id}/uploads/{key}`: `record`, `uri`, `created_at`, `expire_at`, `schema_version`.
* `models/{id}/model_state/current`: `record`, `uri`, `next_look_at`, `listed_at`, `committed_at`. Its collection has a name of its own:
  the listings of what is due read over all collections of one name, and services would pay for models and models for services.
* `parked/{key}`: the fields of `records.parked.Parked` side by side; `attributes` as JSON text, because their names come from
  outside and Firestore refuses some as field names; `parked_at` as a native time.
* `fleet/current`: `record`, `committed_at`; `fleet/current/acts/{minute}-{index}`: `minute`, `expire_at`;
  `fleet/current/commands/{id}`: as those of a service.

`record` is the record's JSON form as a map, but for what Firestore would refuse in a map (see `firestore_spec_layout`). `committed_at`
is the server's time: it makes every commit a change, because Firestore keeps the old update time, which is our token, where a write
changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from google.cloud.firestore import SERVER_TIMESTAMP, Client, DocumentReference, DocumentSnapshot
from pydantic import TypeAdapter, ValidationError

from shared.records.base import Record
from shared.records.facts import FACT_TTL_SECONDS, Fact, StoredFact, UnreadableFact
from shared.records.parked import Parked
from shared.records.subject import ServiceId, document_id

if TYPE_CHECKING:
    from shared.records.fleet import ActSlot
    from shared.records.model_subject import ModelSubject
    from shared.records.state import ServiceState

ACT_SLOT_TTL_SECONDS = 24 * 3600
"""Act slots count in their own minute only; a day leaves something to look at."""
ERROR_LIMIT_CHARACTERS = 1_024
BODY_LIMIT_CHARACTERS = 64 * 1024

_R = TypeVar("_R", bound=Record)
_T = TypeVar("_T")


class Layout:
    """The references of one database."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def service(self, service: ServiceId) -> DocumentReference:
        """`services/{id}`."""
        reference: DocumentReference = self._client.collection("services").document(document_id(str(service)))
        return reference

    def state(self, service: ServiceId) -> DocumentReference:
        """`services/{id}/state/current`."""
        reference: DocumentReference = self.service(service).collection("state").document("current")
        return reference

    def fact(self, service: ServiceId, key: str) -> DocumentReference:
        """`services/{id}/facts/{key}` of a natural key."""
        reference: DocumentReference = self.service(service).collection("facts").document(document_id(key))
        return reference

    def command(self, service: ServiceId | None, command_id: str) -> DocumentReference:
        """`services/{id}/commands/{command_id}`, or `fleet/current/commands/{command_id}` of a command about no one service."""
        subject = self.fleet() if service is None else self.service(service)
        reference: DocumentReference = subject.collection("commands").document(document_id(command_id))
        return reference

    def decision(self, service: ServiceId, decision_id: str) -> DocumentReference:
        """`services/{id}/decisions/{id}`."""
        reference: DocumentReference = self.service(service).collection("decisions").document(document_id(decision_id))
        return reference

    def upload(self, model: ModelSubject, key: str) -> DocumentReference:
        """`models/{id}/uploads/{key}` of a natural key."""
        reference: DocumentReference = self._model(model).collection("uploads").document(document_id(key))
        return reference

    def model_state(self, model: ModelSubject) -> DocumentReference:
        """`models/{id}/model_state/current`."""
        reference: DocumentReference = self._model(model).collection("model_state").document("current")
        return reference

    def parked(self, key: str) -> DocumentReference:
        """`parked/{key}`."""
        reference: DocumentReference = self._client.collection("parked").document(document_id(key))
        return reference

    def fleet(self) -> DocumentReference:
        """`fleet/current`."""
        reference: DocumentReference = self._client.collection("fleet").document("current")
        return reference

    def ticks(self) -> DocumentReference:
        """`fleet/ticks`: when the schedule last began, as `at`."""
        reference: DocumentReference = self._client.collection("fleet").document("ticks")
        return reference

    def act_slot(self, slot: ActSlot) -> DocumentReference:
        """`fleet/current/acts/{minute}-{index}`."""
        reference: DocumentReference = self.fleet().collection("acts").document(slot.document_id)
        return reference

    def _model(self, model: ModelSubject) -> DocumentReference:
        reference: DocumentReference = self._client.collection("models").document(model.id)
        return reference


def fact_fields(fact: Fact) -> dict[str, Any]:
    """The document of a fact; `created_at` is filled in by the server."""
    return {
        "schema_version": fact.schema_version,
        "record": fact.to_stored(),
        **created_now(),
    }


def created_now() -> dict[str, Any]:
    """The times of what is created once and kept for `FACT_TTL_SECONDS`; `created_at` is filled in by the server."""
    return {"created_at": SERVER_TIMESTAMP, "expire_at": datetime.now(UTC) + timedelta(seconds=FACT_TTL_SECONDS)}


def state_fields(state: ServiceState) -> dict[str, Any]:
    """The document of a state."""
    return {
        "record": state.to_stored(),
        "next_look_at": state.next_look_at,
        "usd_per_hour_at_max": state.usd_per_hour_at_max,
        "committed_at": SERVER_TIMESTAMP,
    }


def parked_fields(parked: Parked) -> dict[str, Any]:
    """The document of a parked entry."""
    return {
        **parked.to_stored(),
        "attributes": json.dumps(parked.attributes, sort_keys=True),
        "parked_at": parked.parked_at,
    }


def act_slot_fields(slot: ActSlot) -> dict[str, Any]:
    """The document of an act slot."""
    taken_in = datetime.strptime(slot.minute, "%Y%m%d%H%M").replace(tzinfo=UTC)
    return {"minute": slot.minute, "expire_at": taken_in + timedelta(seconds=ACT_SLOT_TTL_SECONDS)}


def record_of(kind: type[_R], snapshot: DocumentSnapshot[Any], name: str, unreadable: dict[str, str]) -> _R | None:
    """The record of a document; None if there is no document, or if it cannot be read: then `unreadable[name]` says why."""
    return read_record(kind.from_stored, snapshot, name, unreadable)


def read_record(read: Callable[[Any], _T], snapshot: DocumentSnapshot[Any], name: str, unreadable: dict[str, str]) -> _T | None:
    """As `record_of`, for a record that `read` makes of what is stored; a ValueError of it says why it cannot."""
    if not snapshot.exists:
        return None
    try:
        return read((snapshot.to_dict() or {}).get("record"))
    except ValueError as error:
        unreadable[name] = str(error)[:ERROR_LIMIT_CHARACTERS]
        return None


def parked_of(snapshot: DocumentSnapshot[Any]) -> Parked | None:
    """The parked entry of a document; None if there is no document, or if it cannot be read."""
    stored = snapshot.to_dict() or {}
    try:
        return Parked.from_stored({**stored, "attributes": json.loads(stored.get("attributes", "{}"))})
    except (ValidationError, ValueError, TypeError):
        return None


def fact_of(snapshot: DocumentSnapshot[Any]) -> StoredFact | UnreadableFact:
    """The fact of a document that has a `created_at`; one that cannot be read is named by its document id."""
    created_at = snapshot.get("created_at")
    position = position_of(created_at, snapshot.id)
    unreadable: dict[str, str] = {}
    fact = read_record(_facts().validate_python, snapshot, "fact", unreadable)
    if fact is None:
        body = json.dumps((snapshot.to_dict() or {}).get("record"), default=str)[:BODY_LIMIT_CHARACTERS]
        return UnreadableFact(key=snapshot.id, position=position, error=unreadable.get("fact", "no record"), body=body)
    return StoredFact(key=fact.key, position=position, created_at=plain_time(created_at), fact=fact)


@cache
def _facts() -> TypeAdapter[Fact]:
    """Made when the first fact is read: functions that only create facts do not pay for it."""
    return TypeAdapter(Fact)


def position_of(created_at: datetime, fact_id: str) -> str:
    """The position of a fact: its time with a fixed number of digits, then its document id. Sorts as Firestore does."""
    return f"{plain_time(created_at):%Y-%m-%dT%H:%M:%S.%fZ}|{fact_id}"


def read_position(position: str) -> tuple[datetime, str]:
    """The time and the document id of a position.

    Raises:
        ValueError: it is not one of `position_of`.
    """
    time_text, bar, fact_id = position.partition("|")
    if not bar:
        raise ValueError(f"position {position[:80]!r}: want <time>|<document id>")
    return datetime.strptime(time_text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC), fact_id


def plain_time(moment: datetime) -> datetime:
    """The library's datetime with nanoseconds as an ordinary one (Firestore keeps microseconds), in UTC."""
    utc = moment.astimezone(UTC)
    return datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, tzinfo=UTC)


def service_of(reference: DocumentReference) -> ServiceId | None:
    """The service under which a document lies; None for documents of other subjects and for ids that are no service's."""
    parent = reference.parent.parent
    if parent is None or parent.parent.id != "services":
        return None
    return service_of_id(parent.id)


def service_of_id(name: str) -> ServiceId | None:
    """The service of a document id; None if it is none."""
    try:
        return ServiceId.parse(name)
    except ValueError:
        return None
