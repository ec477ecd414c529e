"""The part of the store that event functions and the schedule use, on Firestore: create a fact, park, find what is due.

It loads none of the records that only reconcile needs: a cold start of an event function does not pay for them.
"""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal

from google.api_core.exceptions import AlreadyExists
from google.cloud.firestore import SERVER_TIMESTAMP, Client

from shared.gcp.firestore_calls import RPC_TIMEOUT_SECONDS
from shared.gcp.firestore_layout import fact_fields
from shared.gcp.firestore_parking import FirestoreParking
from shared.gcp.firestore_queries import FirestoreQueries
from shared.gcp.google_errors import mendable_as_retry
from shared.records.facts import Fact
from shared.records.subject import ServiceId

SETTLE_SECONDS = 0.5
"""Between the stamp of a fact and its commit lie tens of milliseconds as a rule; facts this old are taken to be in order."""
STAMP_TRIES = 3

_log = logging.getLogger(__name__)


class FirestoreIntake(FirestoreParking):
    """`ports.IntakeStore` on the database of `client`.

    `settle_seconds`: how old the newest fact of a page must be before the page is given out (see `FirestoreQueries`); a fact that
    took longer than that to commit gets a new time, so a fact may be given out twice, under the same key. 0 turns both off: facts
    that are created at the same time may then be missed. `sleep` is how `facts_after` waits. The caller makes the client, after
    forking.
    """

    def __init__(self, client: Client, *, settle_seconds: float = SETTLE_SECONDS, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__(client)
        self._queries = FirestoreQueries(client, settle_seconds=settle_seconds, sleep=sleep)
        self._settle_seconds = settle_seconds

    def create_fact(self, service: ServiceId, fact: Fact) -> Literal["created", "duplicate"]:
        """Create the fact under its natural key; one call, and a second one if it committed so late that a reader may have passed it.

        Raises:
            Retry: not known to have been stored; the fact may exist all the same.
        """
        reference = self._layout.fact(service, fact.key)
        with mendable_as_retry(f"creating a fact of {service}"):
            try:
                result = reference.create(fact_fields(fact), retry=None, timeout=RPC_TIMEOUT_SECONDS)
            except AlreadyExists:
                return "duplicate"
            for _ in range(STAMP_TRIES):
                if self._settle_seconds <= 0 or _seconds_to_commit(result) <= self._settle_seconds:
                    return "created"
                result = reference.update({"created_at": SERVER_TIMESTAMP}, retry=None, timeout=RPC_TIMEOUT_SECONDS)
        _log.warning("commits take longer than %s s: a fact of %s may be folded late", self._settle_seconds, service)
        return "created"

    def due_services(self, *, now: datetime, sweep_slot: int) -> Iterable[ServiceId]:
        """The active services whose `next_look_at` has come, then all services of the sweep slot; each once.

        Raises:
            Retry: Firestore did not answer (while iterating).
        """
        return self._queries.due_services(now, sweep_slot)

    def unfolded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        """Services that have a fact created in [since, until) behind their state's cursor (or no state at all).

        Looks at the oldest 5,000 facts of the window at most (`UNFOLDED_LIMIT_FACTS`); more than that is logged.

        Raises:
            Retry: Firestore did not answer.
        """
        return self._queries.unfolded_services(since, until)


def _seconds_to_commit(result: Any) -> float:
    stamped = result.transform_results[0].timestamp_value
    return float((result.update_time - stamped).total_seconds())
