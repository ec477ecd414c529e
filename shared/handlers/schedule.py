"""functions/schedule: the tick. Wakes what is due and finds what was missed; looks at no service itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

from shared import log
from shared.handlers.answer import Handled, ReadBody
from shared.ports import Bus, Clock, ModelStore, ScheduleStore
from shared.records.subject import SWEEP_SLOTS, Wake

MISSED_WITHIN = timedelta(hours=1)
"""Facts younger than this are compared with what reconcile has folded; an older one is found by the sweep, if its service has a spec."""
STILL_UNDER_WAY = timedelta(seconds=20)
"""A fact younger than this still has its own wake under way."""
TICK = timedelta(minutes=1)
TICK_IS_LATE = timedelta(minutes=3)
"""The schedule's period is a minute; after this long the ticks between were missed."""
BATCH = 500
"""Wakes per publish; Pub/Sub takes 1,000 messages."""


@dataclass(frozen=True)
class SchedulePorts:
    """What the schedule function needs of the outside."""

    store: ScheduleStore
    bus: Bus
    clock: Clock
    models: ModelStore | None = None
    """Without one no model is looked at by the clock."""


def handle_tick(headers: Mapping[str, str], read: ReadBody, ports: SchedulePorts) -> Handled:
    """Wake the services that are due now. Any request is a tick, whatever it carries and however it is wrapped.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats, and so does the next tick.
    """
    del headers, read  # the clock says which minute it is
    return tick(ports)


def tick(ports: SchedulePorts) -> Handled:
    """One tick: active services whose time has come, the settled ones of this minute's slot, and those with unfolded facts.

    The tick's own payload says nothing: which minute it is, the clock says.
    """
    now = ports.clock.now()
    slot = int(now.timestamp() // 60) % SWEEP_SLOTS
    due = (Wake.of(service, "due") for service in ports.store.due_services(now=now, sweep_slot=slot))
    since, until = now - MISSED_WITHIN, now - STILL_UNDER_WAY
    before = ports.store.begin_tick(now)
    late = before is not None and now - before > TICK_IS_LATE
    if before is not None and late:
        log.event("WARNING", "ticks were missed", last=before, seconds=(now - before).total_seconds())
    # What was commanded since the last tick began has its own wake; the one that was lost is made up for here.
    given_since = max(since, min(before or since, now - TICK) - STILL_UNDER_WAY)
    commanded = (Wake.of(service, "new generation") for service in ports.store.commanded_services(since=given_since, until=until))
    missed = (Wake.of(service, "missed fact") for service in ports.store.unfolded_services(since=since, until=until))
    woken = 0
    for batch in _batches(_once(chain(due, missed, commanded, _models(ports, since=since, until=until)))):
        ports.bus.publish_wakes(batch)
        woken += len(batch)
    return Handled("done", f"tick {now:%Y-%m-%dT%H:%MZ}", f"{woken} woken" + (", ticks were missed" if late else ""))


def _models(ports: SchedulePorts, *, since: datetime, until: datetime) -> Iterable[Wake]:
    """The models whose time has come, and those with uploads that no listing has seen: the wake of the last one may be lost."""
    if ports.models is None:
        return
    for model in ports.models.due_models(now=ports.clock.now()):
        yield Wake.of_model(model.uri, "due")
    for model in ports.models.unlisted_models(since=since, until=until):
        yield Wake.of_model(model.uri, "missed upload")


def _once(found: Iterable[Wake]) -> Iterable[Wake]:
    seen: set[tuple[str, str]] = set()
    for wake in found:
        subject = (wake.subject_kind, wake.subject_id)
        if subject not in seen:
            seen.add(subject)
            yield wake


def _batches(found: Iterable[Wake]) -> Iterable[list[Wake]]:
    iterator = iter(found)
    while batch := list(islice(iterator, BATCH)):
        yield batch
