"""functions/schedule: the tick. Wakes what is due and finds what was missed; looks at no service itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

from shared.handlers.answer import Handled, ReadBody
from shared.ports import Bus, Clock, IntakeStore, ModelStore
from shared.records.subject import SWEEP_SLOTS, Wake

MISSED_WITHIN = timedelta(hours=1)
"""Facts younger than this are compared with what reconcile has folded; an older one is found by the sweep, if its service has a spec."""
STILL_UNDER_WAY = timedelta(seconds=20)
"""A fact younger than this still has its own wake under way."""
BATCH = 500
"""Wakes per publish; Pub/Sub takes 1,000 messages."""


@dataclass(frozen=True)
class SchedulePorts:
    """What the schedule function needs of the outside."""

    store: IntakeStore
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
    missed = (Wake.of(service, "missed fact") for service in ports.store.unfolded_services(since=since, until=until))
    woken = 0
    for batch in _batches(_once(chain(due, missed, _models(ports, since=since, until=until)))):
        ports.bus.publish_wakes(batch)
        woken += len(batch)
    return Handled("done", f"tick {now:%Y-%m-%dT%H:%MZ}", f"{woken} woken")


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
