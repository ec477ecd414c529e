"""What reconcile parks: alerts of services without a spec, and records that this code cannot read."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from shared import log
from shared.ports import Store
from shared.records.facts import AlertFact, StoredFact, UnreadableFact
from shared.records.parked import ParkCode, Parked
from shared.records.snapshot import Snapshot
from shared.records.subject import ServiceId

PARKED_WITHIN = timedelta(hours=1)


def report_unreadable(service: ServiceId, snapshot: Snapshot, store: Store, now: datetime) -> str:
    """A document of newer code, or a damaged one: never overwritten, reported, and looked at again when the code is right.

    Raises:
        Retry: the store could not be written.
    """
    for name, error in snapshot.unreadable.items():
        log.event("ERROR", "unreadable record", service=service, document=name, error=error)
        store.park(
            Parked.of(
                code=ParkCode.UNREADABLE_RECORD,
                reason=f"{name} of {service}: {error}",
                source="reconcile",
                body=error.encode(),
                now=now,
                subject=str(service),
                key=f"unreadable:{service}:{name}",
            )
        )
    return f"unreadable: {', '.join(snapshot.unreadable)}"


def facts_without_spec(service: ServiceId, facts: Sequence[StoredFact], now: datetime, *, only_open: bool = False) -> list[Parked]:
    """The young alerts of a service that has no spec.

    Changes by others to a service that nobody gave to Trimtab are nobody's business here; older alerts are those of a service that was
    deleted, whose cursor went with it. `only_open` leaves out the incidents whose open and close are both among the facts: without a
    state nobody knows whether they were handled before, and nothing is left to be done about them.
    """
    alerts = [(stored, stored.fact) for stored in facts if isinstance(stored.fact, AlertFact)]
    over = _opened_and_closed([alert for _, alert in alerts]) if only_open else frozenset()
    reason = f"there is no spec for {service}: apply one to let Trimtab look after it, and this alert is taken up as well; else discard it"
    return [
        Parked.of(
            code=ParkCode.NO_SPEC,
            reason=reason,
            source="reconcile",
            body=json.dumps(alert.to_stored(), sort_keys=True).encode(),
            now=now,
            subject=str(service),
            key=f"{service}:{stored.key}",
        )
        for stored, alert in alerts
        if stored.created_at >= now - PARKED_WITHIN and alert.incident_id not in over
    ]


def _opened_and_closed(alerts: Sequence[AlertFact]) -> frozenset[str]:
    closed = {alert.incident_id for alert in alerts if alert.state == "closed"}
    return frozenset(alert.incident_id for alert in alerts if alert.state == "open" and alert.incident_id in closed)


def unreadable_facts(service: ServiceId, facts: Sequence[UnreadableFact], now: datetime) -> list[Parked]:
    """Facts that were passed over because this code cannot read them."""
    return [
        Parked.of(
            code=ParkCode.UNREADABLE_RECORD,
            reason=f"fact {fact.key} of {service}: {fact.error}",
            source="reconcile",
            body=fact.body.encode("utf-8", "replace"),
            now=now,
            subject=str(service),
            key=f"{service}:{fact.key}",
        )
        for fact in facts
    ]
