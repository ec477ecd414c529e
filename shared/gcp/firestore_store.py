"""The whole store on Firestore: the truth of the deployed edition. `firestore_layout` says where everything lies.

No transactions: a document of its own is created for what must be unique, and the state is written under a precondition on its
update time, in one batch. No call is retried by the library: a retried commit whose first reply was lost would look like somebody
else's duplicate.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from google.api_core.exceptions import AlreadyExists, FailedPrecondition, NotFound
from google.cloud.firestore import Query

from shared.errors import TokenConflict
from shared.gcp.firestore_calls import NEVER_RETRY, RPC_TIMEOUT_SECONDS, all_of, get_all, token_of, unchanged_since
from shared.gcp.firestore_intake import FirestoreIntake
from shared.gcp.firestore_layout import act_slot_fields, fact_of, parked_fields, plain_time, record_of, state_fields
from shared.gcp.firestore_models import FirestoreModels
from shared.gcp.firestore_spec_layout import document_of, fleet_fields, service_changes, service_fields
from shared.gcp.google_errors import conflict_as_token_conflict, mendable_as_retry
from shared.records.decision import DECISION_TTL_SECONDS, Decision
from shared.records.facts import FactPage, StoredFact
from shared.records.fleet import ActSlot, Fleet
from shared.records.parked import Parked
from shared.records.service import ServiceDocument
from shared.records.snapshot import Snapshot
from shared.records.state import ServiceState
from shared.records.subject import ServiceId


class FirestoreStore(FirestoreIntake, FirestoreModels):
    """`ports.Store` and `ports.ModelStore`: everything reconcile reads and writes, on top of what event functions use."""

    def read(self, service: ServiceId) -> Snapshot:
        """The documents of one service and the fleet's, in one round trip. An unreadable state comes without its token.

        Raises:
            Retry: Firestore did not answer.
        """
        places = {"document": self._layout.service(service), "state": self._layout.state(service), "fleet": self._layout.fleet()}
        found = get_all(self._client, list(places.values()), f"reading {service}")
        unreadable: dict[str, str] = {}
        state_snapshot = found[places["state"].path]
        state = record_of(ServiceState, state_snapshot, "state", unreadable)
        return Snapshot(
            document=document_of(found[places["document"].path], unreadable),
            state=state,
            token=token_of(state_snapshot.update_time) if state is not None else None,
            fleet=record_of(Fleet, found[places["fleet"].path], "fleet", unreadable) or Fleet(),
            unreadable=unreadable,
        )

    def facts_after(self, service: ServiceId, position: str | None, *, limit: int) -> FactPage:
        """At most `limit` facts behind `position` in commit order; may wait `settle_seconds` for young facts to be in order.

        Raises:
            Retry: Firestore did not answer.
        """
        return self._queries.facts_after(service, position, limit=limit)

    def facts_by_key(self, service: ServiceId, keys: Sequence[str]) -> dict[str, StoredFact]:
        """Those of the named facts that exist and can be read; one round trip.

        Raises:
            Retry: Firestore did not answer.
        """
        if not keys:
            return {}
        paths = {key: self._layout.fact(service, key) for key in keys}
        references = list({reference.path: reference for reference in paths.values()}.values())
        found = get_all(self._client, references, f"reading facts of {service}")
        facts = {key: fact_of(found[reference.path]) for key, reference in paths.items() if _is_stamped(found[reference.path])}
        return {key: fact for key, fact in facts.items() if isinstance(fact, StoredFact)}

    def state_token(self, service: ServiceId) -> str | None:
        """The state's token now; None if there is no state.

        Raises:
            Retry: Firestore did not answer.
        """
        with mendable_as_retry(f"reading the token of {service}"):
            snapshot = self._layout.state(service).get(["next_look_at"], retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
        return token_of(snapshot.update_time) if snapshot.exists else None

    def commit(
        self,
        service: ServiceId,
        *,
        token: str | None,
        state: ServiceState,
        decision: Decision | None = None,
        parked: Sequence[Parked] = (),
        act_slot: ActSlot | None = None,
    ) -> str:
        """Write the state if its token still is `token`, with what belongs to it, all or nothing. Returns the new token.

        One round trip; two more if a parked entry exists already.

        Raises:
            TokenConflict: somebody else committed, or the act slot (or the decision's id) is taken; nothing was written.
            Retry: not known to have been written.
        """
        entries = {entry.key: entry for entry in parked}
        what = f"committing {service}"
        while True:
            try:
                return self._commit_once(service, token, state, decision=decision, parked=list(entries.values()), act_slot=act_slot)
            except AlreadyExists as error:
                # Nothing was written. If it was for a parked entry, that one stays as it is and the rest is tried again.
                left = self._without_existing(entries, what)
                if len(left) == len(entries):
                    raise TokenConflict(f"{what}: {error}") from error
                entries = left

    def put_service(self, document: ServiceDocument, *, if_generation: int | None) -> None:
        """Write a spec if the stored generation is `if_generation` (None: if there is no document). Two round trips.

        Raises:
            TokenConflict: the stored generation is another one, or the stored document cannot be read.
            Retry: not known to have been written.
        """
        reference, what = self._layout.service(document.id), f"writing the spec of {document.id}"
        with mendable_as_retry(what), conflict_as_token_conflict(what):
            if if_generation is None:
                reference.create(service_fields(document), retry=None, timeout=RPC_TIMEOUT_SECONDS)
                return
            snapshot = reference.get(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
            unreadable: dict[str, str] = {}
            stored = document_of(snapshot, unreadable)
            if stored is None or stored.generation != if_generation:
                found = unreadable.get("document") or (stored.generation if stored else None)
                raise TokenConflict(f"the spec of {document.id} is at generation {found}, not at {if_generation}")
            unchanged = self._client.write_option(last_update_time=snapshot.update_time)
            reference.update(service_changes(document), option=unchanged, retry=None, timeout=RPC_TIMEOUT_SECONDS)

    def put_fleet(self, fleet: Fleet) -> None:
        """Write the fleet document.

        Raises:
            Retry: not known to have been written.
        """
        with mendable_as_retry("writing the fleet document"):
            self._layout.fleet().set(fleet_fields(fleet), retry=None, timeout=RPC_TIMEOUT_SECONDS)

    def commanded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        """The services whose document was written in [since, until).

        Raises:
            Retry: Firestore did not answer (while iterating).
        """
        return self._queries.commanded_services(since, until)

    def begin_tick(self, now: datetime) -> datetime | None:
        """When the last tick began, and from here on this one; None if there was none. Ticks that come late do not set it back.

        Raises:
            Retry: Firestore did not answer.
        """
        reference = self._layout.ticks()
        with mendable_as_retry("reading the last tick"):
            snapshot = reference.get(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
        before = plain_time(snapshot.get("at")) if snapshot.exists else None
        if before is None or before < now:
            with mendable_as_retry("writing the tick"):
                reference.set({"at": now}, retry=None, timeout=RPC_TIMEOUT_SECONDS)
        return before

    def acts_in_minute(self, minute: str) -> int:
        """How many act slots of that minute (`YYYYmmddHHMM`, UTC) are taken; counted by the server.

        Raises:
            Retry: Firestore did not answer.
        """
        return self._queries.count_acts(minute)

    def usd_per_hour_at_max(self) -> float:
        """The sum of `usd_per_hour_at_max` over all states; added up by the server.

        Raises:
            Retry: Firestore did not answer.
        """
        return self._queries.sum_usd_per_hour_at_max()

    def decisions(self, service: ServiceId, *, limit: int) -> list[Decision]:
        """The newest decisions that can be read, newest first.

        Raises:
            Retry: Firestore did not answer.
        """
        query = self._layout.service(service).collection("decisions").order_by("decided_at", direction=Query.DESCENDING).limit(limit)
        read = (record_of(Decision, found, "decision", {}) for found in all_of(query, f"reading decisions of {service}"))
        return [decision for decision in read if decision is not None]

    def _commit_once(
        self,
        service: ServiceId,
        token: str | None,
        state: ServiceState,
        *,
        decision: Decision | None,
        parked: Sequence[Parked],
        act_slot: ActSlot | None,
    ) -> str:
        # The error of a batch is that of its first failing write: the state and what stands for a conflict come before parked entries.
        what, batch, reference = f"committing {service}", self._client.batch(), self._layout.state(service)
        if token is None:
            batch.create(reference, state_fields(state))
        else:
            batch.update(reference, state_fields(state), option=unchanged_since(self._client, token))
        if act_slot is not None:
            batch.create(self._layout.act_slot(act_slot), act_slot_fields(act_slot))
        if decision is not None:
            batch.create(self._layout.decision(service, decision.decision_id), decision_fields(decision))
        for entry in parked:
            batch.create(self._layout.parked(entry.key), parked_fields(entry))
        with mendable_as_retry(what):
            try:
                results = batch.commit(retry=None, timeout=RPC_TIMEOUT_SECONDS)
            except (FailedPrecondition, NotFound) as error:
                raise TokenConflict(f"{what}: {error}") from error
        return token_of(results[0].update_time)

    def _without_existing(self, entries: dict[str, Parked], what: str) -> dict[str, Parked]:
        if not entries:
            return {}
        places = {key: self._layout.parked(key) for key in entries}
        found = get_all(self._client, list(places.values()), what, ["code"])
        return {key: entry for key, entry in entries.items() if not found[places[key].path].exists}


def _is_stamped(snapshot: Any) -> bool:
    return bool(snapshot.exists) and isinstance((snapshot.to_dict() or {}).get("created_at"), datetime)


def decision_fields(decision: Decision) -> dict[str, Any]:
    """The document of a decision."""
    return {
        "record": decision.to_stored(),
        "decided_at": decision.decided_at,
        "expire_at": decision.decided_at + timedelta(seconds=DECISION_TTL_SECONDS),
    }
