"""Facts into state: which incidents are open, whatever order their opens and closes come in.

An open and a close of one incident are two facts; each is created once. A close that overtakes its open leaves a tombstone. Both
lists are bounded: of a storm the newest incidents are kept (and the newest of each signal), the others are counted. Where a bound
was hit, the other half of a pair is looked up among the facts themselves (`keys_to_look_up`), so the count stays exact.

A change by somebody else is a fact, too: it brings the look that compares the service with what it was left as, and is folded by
having been passed.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from shared.control.timing import LOG_MATCH_INCIDENT_SECONDS, METRIC_INCIDENT_SECONDS
from shared.records.facts import AlertFact, FactPage, StoredFact, UnreadableFact
from shared.records.state import (
    KEPT_INCIDENTS,
    KEPT_POLICY_NAME_BYTES,
    KEPT_TOMBSTONES,
    KEPT_URL_BYTES,
    Incident,
    ServiceState,
    Tombstone,
)


def keys_to_look_up(state: ServiceState, page: FactPage) -> tuple[str, ...]:
    """The natural keys whose existence decides how this page folds; mostly none."""
    opened = {alert.incident_id for alert in _alerts(page) if alert.state == "open"}
    kept = {incident.incident_id for incident in state.incidents}
    keys: list[str] = []
    for alert in _alerts(page):
        if alert.state == "closed" and state.incidents_not_kept and alert.incident_id not in kept | opened:
            keys.append(f"{alert.incident_id}:open")
        if alert.state == "open" and state.tombstones_dropped:
            keys.append(f"{alert.incident_id}:closed")
    return tuple(dict.fromkeys(keys))


def fold(state: ServiceState, page: FactPage, found: Mapping[str, StoredFact]) -> tuple[ServiceState, tuple[UnreadableFact, ...]]:
    """The state after the page, and the facts that could not be read (for the caller to park)."""
    book = _Book(state)
    for entry in page.facts:
        if isinstance(entry, StoredFact) and isinstance(entry.fact, AlertFact):
            book.take(entry.fact, entry.created_at, found)
    cursor = page.facts[-1].position if page.facts else state.cursor
    unreadable = tuple(entry for entry in page.facts if isinstance(entry, UnreadableFact))
    return book.close(cursor), unreadable


def expire(state: ServiceState, now: datetime) -> ServiceState:
    """The state without the incidents whose end will not be reported any more."""
    incidents = tuple(incident for incident in state.incidents if incident.expires_at > now)
    update: dict[str, object] = {}
    if len(incidents) != len(state.incidents):
        update["incidents"] = incidents
    since = now - timedelta(seconds=METRIC_INCIDENT_SECONDS)
    tombstones = tuple(tombstone for tombstone in state.tombstones if tombstone.closed_at > since)
    if len(tombstones) != len(state.tombstones):
        update |= {"tombstones": tombstones, "tombstones_dropped": state.tombstones_dropped if tombstones else 0}
    if state.incidents_not_kept_until is not None and state.incidents_not_kept_until <= now:
        update |= {"incidents_not_kept": 0, "incidents_not_kept_until": None}
    return state.model_copy(update=update) if update else state


class _Book:
    """The lists of one fold while it runs."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self._open = {incident.incident_id: incident for incident in state.incidents}
        self._tombstones = {tombstone.incident_id: tombstone for tombstone in state.tombstones}
        self._not_kept = state.incidents_not_kept
        self._not_kept_until = state.incidents_not_kept_until
        self._tombstones_dropped = state.tombstones_dropped

    def take(self, alert: AlertFact, created_at: datetime, found: Mapping[str, StoredFact]) -> None:
        if alert.state == "open":
            self._take_open(alert, created_at, found)
        else:
            self._take_closed(alert, created_at, found)

    def _folded_before(self, key: str, found: Mapping[str, StoredFact]) -> bool:
        cursor = self._state.cursor
        return key in found and cursor is not None and found[key].position <= cursor

    def _take_open(self, alert: AlertFact, created_at: datetime, found: Mapping[str, StoredFact]) -> None:
        if self._tombstones.pop(alert.incident_id, None) is not None or alert.incident_id in self._open:
            return
        if self._tombstones_dropped and self._folded_before(f"{alert.incident_id}:closed", found):
            self._tombstones_dropped -= 1
            return
        self._open[alert.incident_id] = _incident(alert, created_at)

    def _take_closed(self, alert: AlertFact, created_at: datetime, found: Mapping[str, StoredFact]) -> None:
        if self._open.pop(alert.incident_id, None) is not None:
            return
        if self._not_kept and self._folded_before(f"{alert.incident_id}:open", found):
            self._not_kept -= 1
            return
        self._tombstones[alert.incident_id] = Tombstone(incident_id=alert.incident_id, closed_at=alert.ended_at or created_at)

    def _keep_newest(self) -> None:
        """Keep the newest incidents, and of each signal at least its newest; count the others."""
        by_age = sorted(self._open.values(), key=_age_order)
        newest = {incident.signal: incident.incident_id for incident in by_age}
        surplus = len(by_age) - KEPT_INCIDENTS
        for incident in by_age:
            if surplus <= 0:
                break
            if newest[incident.signal] != incident.incident_id:
                del self._open[incident.incident_id]
                surplus -= 1
                self._not_kept += 1
                self._not_kept_until = max(filter(None, (self._not_kept_until, incident.expires_at)))

    def _keep_newest_tombstones(self) -> None:
        by_age = sorted(self._tombstones.values(), key=lambda tombstone: (tombstone.closed_at, tombstone.incident_id))
        for tombstone in by_age[: max(0, len(by_age) - KEPT_TOMBSTONES)]:
            del self._tombstones[tombstone.incident_id]
            self._tombstones_dropped += 1

    def close(self, cursor: str | None) -> ServiceState:
        self._keep_newest()
        self._keep_newest_tombstones()
        return self._state.model_copy(
            update={
                "cursor": cursor,
                "incidents": tuple(sorted(self._open.values(), key=_age_order)),
                "incidents_not_kept": self._not_kept,
                "incidents_not_kept_until": self._not_kept_until if self._not_kept else None,
                "tombstones": tuple(self._tombstones.values()),
                "tombstones_dropped": self._tombstones_dropped,
            }
        )


def _alerts(page: FactPage) -> Iterable[AlertFact]:
    return (entry.fact for entry in page.facts if isinstance(entry, StoredFact) and isinstance(entry.fact, AlertFact))


def _age_order(incident: Incident) -> tuple[datetime, str]:
    return incident.started_at, incident.incident_id


def _incident(alert: AlertFact, created_at: datetime) -> Incident:
    lasting = METRIC_INCIDENT_SECONDS if alert.closes else LOG_MATCH_INCIDENT_SECONDS
    return Incident(
        incident_id=alert.incident_id,
        signal=alert.signal,
        started_at=min(alert.started_at or created_at, created_at),
        first_seen_at=created_at,
        expires_at=created_at + timedelta(seconds=lasting),
        observed_value=alert.observed_value,
        threshold_value=alert.threshold_value,
        policy_name=alert.policy_name.encode()[:KEPT_POLICY_NAME_BYTES].decode(errors="ignore"),
        url=alert.url if len(alert.url.encode()) <= KEPT_URL_BYTES else "",
    )
