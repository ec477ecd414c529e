"""The event loop: arrivals, events and ticks in the order of their times."""

import math
from collections.abc import Callable

from shared.simulation.world.compiled import compiled, kept_on_disk, sources_digest
from shared.simulation.world.counting import minute_of, new_request
from shared.simulation.world.heap import drop_first
from shared.simulation.world.layout import (
    BATCH_DONE,
    DONE,
    DRAINING,
    FREE,
    GIVEN_UP,
    INSTANCE_UP,
    MINUTE_S,
    MORE_ROOM,
    NONE,
    PARSED,
    RETRY,
    STARTING,
    TICK_S,
    TICKS_PER_MINUTE,
    Numbers,
    State,
)
from shared.simulation.world.routing import expire_pending, offer, pull_pending, revision_for
from shared.simulation.world.scaling import bill, end_instance, instance_up, scale, start_asked
from shared.simulation.world.server import batch_done, dispatch, parsed


@compiled
def has_room(s: State) -> bool:
    """Whether the arrays are large enough for the next event, whatever it is."""
    clock = s.clock[0]
    return bool(
        clock.free_request != NONE
        and clock.free_batches > clock.batches_per_event
        and clock.free_instances >= clock.needed_instances
        and clock.samples + len(s.instances) <= len(s.samples)
    )


@compiled
def close_minute(s: State, now: float) -> None:
    """Bills the minute and notes how busy each instance was in it."""
    clock = s.clock[0]
    minute = int(now / MINUTE_S) - 1
    for place in range(len(s.instances)):
        instance = s.instances[place]
        if instance.state in (FREE, GIVEN_UP):
            continue
        up_s = now - instance.up_to
        bill(s, place, now)
        if instance.state == STARTING:
            continue
        sample = s.samples[clock.samples]
        clock.samples += 1
        sample.minute = minute
        sample.revision = instance.revision
        sample.cpu = min(instance.cpu_s / (up_s * s.revisions[instance.revision].vcpus), 1.0) if up_s > 0.0 else 0.0
        sample.gpu = min(instance.gpu_s / up_s, 1.0) if up_s > 0.0 else 0.0
        sample.peak = instance.peak
        instance.cpu_s = 0.0
        instance.gpu_s = 0.0
        instance.peak = instance.inflight


@compiled
def look(s: State, now: float, draws: Numbers) -> None:
    """A tick of the platform."""
    clock = s.clock[0]
    if clock.tick % TICKS_PER_MINUTE == 0 and clock.tick > 0:
        close_minute(s, now)
    for revision in range(clock.revisions):
        expire_pending(s, revision, now, draws)
        scale(s, revision, now)
    clock.tick += 1


@compiled
def handle(s: State, kind: int, place: int, now: float, draws: Numbers) -> None:
    """One event."""
    if kind == INSTANCE_UP:
        if instance_up(s, place, now):
            pull_pending(s, place, now, draws)
        return
    if kind == RETRY:
        offer(s, place, revision_for(s, draws), now, draws)
        return
    if kind == PARSED:
        instance = s.requests[place].instance
        parsed(s, place, now, draws)
    elif kind == BATCH_DONE:
        instance = s.batches[place].instance
        batch_done(s, place, now, draws)
    else:
        instance = place
        s.instances[instance].due = math.inf
        dispatch(s, instance, now, draws)
    pull_pending(s, instance, now, draws)
    if s.instances[instance].state == DRAINING and s.instances[instance].inflight == 0:
        end_instance(s, instance, now)


Advance = Callable[[State, Numbers, Numbers, Numbers, float], int]


def made() -> Advance:
    """The loop `advance(state, arrivals, rows, draws, until)`.

    It does all that happens before `until`, and the platform's look at `until`; `rows` are those of the arrivals. It returns DONE, or
    MORE_ROOM where the arrays are too small to go on: nothing is lost, it goes on where it stopped.
    """
    digest = sources_digest()

    def advance(s: State, arrivals: Numbers, rows: Numbers, draws: Numbers, until: float) -> int:
        clock = s.clock[0]
        clock.sources = len(digest)
        start_asked(s, clock.now)
        while True:
            event_at = s.heap[0].at if clock.events > 0 else math.inf
            arrival_at = arrivals[clock.arrival] if clock.arrival < len(arrivals) else math.inf
            tick_at = clock.tick * TICK_S
            now = min(event_at, arrival_at)
            if min(now, tick_at) >= until and tick_at != until:
                clock.now = until
                return DONE
            if not has_room(s):
                return MORE_ROOM
            if tick_at <= now:
                clock.now = tick_at
                look(s, tick_at, draws)
                continue
            clock.now = now
            if event_at <= arrival_at:
                kind, place = s.heap[0].kind, s.heap[0].place
                drop_first(s)
                handle(s, kind, place, now, draws)
            else:
                place = new_request(s, now, int(rows[clock.arrival]))
                clock.arrival += 1
                revision = revision_for(s, draws)
                s.minutes[revision, minute_of(now)].arrived += 1
                offer(s, place, revision, now, draws)

    return kept_on_disk(advance)
