"""The store's queries: bounded, paged by cursor, and reading no more fields than they need."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.cloud.firestore import Client, CollectionReference, DocumentSnapshot, FieldFilter

from shared.gcp.firestore_calls import NEVER_RETRY, RPC_TIMEOUT_SECONDS, get_many, pages
from shared.gcp.firestore_layout import (
    Layout,
    fact_of,
    position_of,
    read_position,
    service_of,
    service_of_id,
)
from shared.gcp.google_errors import mendable_as_retry
from shared.records.facts import FactPage
from shared.records.subject import ServiceId

UNFOLDED_LIMIT_FACTS = 5_000
"""How many facts one search for unfolded services looks at, oldest first."""

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_BY_TIME = ("created_at", "__name__")

_log = logging.getLogger(__name__)


class FirestoreQueries:
    """The queries of `FirestoreStore`.

    Why facts settle: Firestore stamps `created_at` when a request begins, to the millisecond, and not when it commits. A fact with
    an earlier stamp can therefore appear after one with a later stamp was read, and a cursor that has passed it would never see it.
    So a page whose newest fact is younger than `settle_seconds` at the moment of the read is read again when it no longer is, and
    only what was old enough by then is given out. `sleep` waits that long.
    """

    def __init__(self, client: Client, *, settle_seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._layout = Layout(client)
        self._settle = timedelta(seconds=settle_seconds)
        self._sleep = sleep

    def facts_after(self, service: ServiceId, position: str | None, *, limit: int) -> FactPage:
        """The page of settled facts behind `position`; facts that are too young are waited for, for at most `settle_seconds`."""
        with mendable_as_retry(f"reading facts of {service}"):
            found = self._facts(service, position, limit + 1)
            if not found:
                return FactPage(facts=(), more=False)
            newest = found[min(len(found), limit) - 1].get("created_at")
            wait = newest + self._settle - found[0].read_time
            if wait > timedelta(0):
                self._sleep(wait.total_seconds())
                found = self._facts(service, position, limit + 1)
            given = [snapshot for snapshot in found[:limit] if snapshot.get("created_at") <= newest]
        return FactPage(facts=tuple(fact_of(snapshot) for snapshot in given), more=len(found) > len(given))

    def due_services(self, now: datetime, sweep_slot: int) -> Iterator[ServiceId]:
        """States whose time has come, then the services of the sweep slot; each once, a page at a time."""
        seen: set[ServiceId] = set()
        due = self._client.collection_group("state").where(filter=FieldFilter("next_look_at", "<=", now)).select(["next_look_at"])
        for snapshot in pages(due, ("next_look_at", "__name__"), f"listing services due at {now}"):
            service = service_of(snapshot.reference)
            if service is not None and service not in seen:
                seen.add(service)
                yield service
        slot = self._client.collection("services").where(filter=FieldFilter("sweep_slot", "==", sweep_slot)).select([])
        for snapshot in pages(slot, ("__name__",), f"listing services of slot {sweep_slot}"):
            service = service_of_id(snapshot.id)
            if service is not None and service not in seen:
                seen.add(service)
                yield service

    def unfolded_services(self, since: datetime, until: datetime) -> list[ServiceId]:
        """Of the facts created in [since, until): the services whose cursor stands before the newest of theirs."""
        newest: dict[ServiceId, str] = {}
        window = (
            self._client.collection_group("facts")
            .where(filter=FieldFilter("created_at", ">=", since))
            .where(filter=FieldFilter("created_at", "<", until))
            .select(["created_at"])
        )
        looked_at = 0
        for snapshot in pages(window, _BY_TIME, "listing facts", limit=UNFOLDED_LIMIT_FACTS):
            looked_at += 1
            service = service_of(snapshot.reference)
            if service is not None:
                newest[service] = position_of(snapshot.get("created_at"), snapshot.id)
        if looked_at == UNFOLDED_LIMIT_FACTS:
            _log.warning("more than %d facts between %s and %s: only the oldest were looked at", looked_at, since, until)
        cursors = self._cursors(list(newest))
        return sorted((service for service, position in newest.items() if position > cursors.get(service, "")), key=str)

    def commanded_services(self, since: datetime, until: datetime) -> Iterator[ServiceId]:
        """Of the services' documents committed in [since, until): the services."""
        window = (
            self._client.collection("services")
            .where(filter=FieldFilter("committed_at", ">=", since))
            .where(filter=FieldFilter("committed_at", "<", until))
            .select(["committed_at"])
        )
        for snapshot in pages(window, ("committed_at",), "listing services with a new spec"):
            service = service_of_id(snapshot.id)
            if service is not None:
                yield service

    def count_acts(self, minute: str) -> int:
        """The number of act slots of a minute, counted by the server."""
        query = self._layout.fleet().collection("acts").where(filter=FieldFilter("minute", "==", minute)).count(alias="value")
        return int(self._aggregate(query, "counting acts"))

    def sum_usd_per_hour_at_max(self) -> float:
        """The sum over all states, added up by the server."""
        query = self._client.collection_group("state").sum("usd_per_hour_at_max", alias="value")
        return float(self._aggregate(query, "adding up dollars per hour"))

    def _facts(self, service: ServiceId, position: str | None, limit: int) -> list[DocumentSnapshot[Any]]:
        collection: CollectionReference = self._layout.service(service).collection("facts")
        after, fact_id = read_position(position) if position else (_EARLIEST, "")
        # The comparison keeps out a `created_at` that is no time; those would sort behind every position.
        query = collection.where(filter=FieldFilter("created_at", ">=", after)).order_by("created_at").order_by("__name__")
        if fact_id:
            query = query.start_after({"created_at": after, "__name__": collection.document(fact_id)})
        return list(query.limit(limit).stream(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS))

    def _cursors(self, services: Sequence[ServiceId]) -> dict[ServiceId, str]:
        cursors: dict[ServiceId, str] = {}
        references = [self._layout.state(service) for service in services]
        for snapshot in get_many(self._client, references, "reading cursors", ["record.cursor"]):
            service = service_of(snapshot.reference)
            record = (snapshot.to_dict() or {}).get("record")
            if service is not None and isinstance(record, dict) and isinstance(record.get("cursor"), str):
                cursors[service] = record["cursor"]
        return cursors

    def _aggregate(self, query: Any, what: str) -> float:
        with mendable_as_retry(what):
            rows = query.get(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
        return float(rows[0][0].value or 0)
