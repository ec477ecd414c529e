"""How many instances: what Cloud Run's autoscaler wants by its two drivers, starts, ends, and what is billed."""

import math

from shared.simulation.world.compiled import compiled
from shared.simulation.world.heap import push
from shared.simulation.world.layout import (
    DRAINING,
    FREE,
    GIVEN_UP,
    INSTANCE_UP,
    MINUTE_S,
    NONE,
    READY,
    REMEMBERED_TICKS,
    STARTING,
    TICK_S,
    State,
)


@compiled
def bill(s: State, place: int, now: float) -> None:
    """Puts an instance's time since it was last billed into the minute it is of."""
    instance = s.instances[place]
    minute = s.minutes[instance.revision, int(instance.billed_to / MINUTE_S)]
    minute.billed_s += now - instance.billed_to
    instance.billed_to = now
    if instance.state in (READY, DRAINING):
        minute.up_s += now - instance.up_to
        instance.up_to = now


@compiled
def room_for_one(s: State, revision_place: int) -> bool:
    """Whether the revision may have one instance more: its maximum, the GPU quota of the region."""
    revision = s.revisions[revision_place]
    return bool(revision.ready + revision.starting < revision.most and s.clock[0].live_instances < s.clock[0].quota)


@compiled
def start_instance(s: State, revision_place: int, now: float, start_s: float) -> None:
    """A start of `start_s` begins; it is billed from here on."""
    clock = s.clock[0]
    revision = s.revisions[revision_place]
    place = 0
    while s.instances[place].state != FREE:
        place += 1
    instance = s.instances[place]
    instance.state = STARTING
    instance.revision = revision_place
    instance.billed_to = now
    instance.cpu_s = 0.0
    instance.gpu_s = 0.0
    instance.inflight = 0
    instance.peak = 0
    instance.serving = 0
    instance.waiting_head = NONE
    instance.waiting_tail = NONE
    instance.queue_head = NONE
    instance.queue_tail = NONE
    instance.queued = 0
    instance.idle_threads = revision.threads
    instance.gpu_free = now
    instance.due = math.inf
    for i in range(revision.vcpus):
        s.cpus[place, i] = now
    revision.starting += 1
    revision.started_at = now
    clock.live_instances += 1
    clock.free_instances -= 1
    push(s, now + start_s, INSTANCE_UP, place)


@compiled
def start_asked(s: State, now: float) -> None:
    """Starts what was asked for from outside: the first instances of a revision, warm ones without the time of a start."""
    for revision_place in range(s.clock[0].revisions):
        revision = s.revisions[revision_place]
        while revision.asked > 0:
            revision.asked -= 1
            if room_for_one(s, revision_place):
                start_instance(s, revision_place, now, 0.0 if revision.asked_warm else revision.start_s)
                if revision.asked_warm:
                    revision.started_at = -math.inf


@compiled
def instance_up(s: State, place: int, now: float) -> bool:
    """The instance serves from now on; False where it was given up before."""
    instance = s.instances[place]
    if instance.state != STARTING:
        s.clock[0].free_instances += 1
        instance.state = FREE
        return False
    revision = s.revisions[instance.revision]
    revision.starting -= 1
    bill(s, place, now)
    instance.state = READY
    instance.up_to = now
    instance.place = revision.ready
    s.ready[instance.revision, revision.ready] = place
    revision.ready += 1
    s.minutes[instance.revision, int(now / MINUTE_S)].starts += 1
    return True


@compiled
def end_instance(s: State, place: int, now: float) -> None:
    """A draining instance has answered all: it is gone."""
    bill(s, place, now)
    instance = s.instances[place]
    instance.state = FREE
    s.revisions[instance.revision].draining -= 1
    s.clock[0].live_instances -= 1
    s.clock[0].free_instances += 1


@compiled
def retire_one(s: State, revision_place: int, now: float) -> None:
    """One instance less: one that is still starting, else the least busy. It gets no new requests and ends when its last is answered."""
    revision = s.revisions[revision_place]
    if revision.starting > 0:
        for place in range(len(s.instances)):
            instance = s.instances[place]
            if instance.state == STARTING and instance.revision == revision_place:
                bill(s, place, now)
                instance.state = GIVEN_UP
                revision.starting -= 1
                s.clock[0].live_instances -= 1
                return
    chosen = s.ready[revision_place, 0]
    for i in range(1, revision.ready):
        if s.instances[s.ready[revision_place, i]].inflight < s.instances[chosen].inflight:
            chosen = s.ready[revision_place, i]
    instance = s.instances[chosen]
    revision.ready -= 1
    moved = s.ready[revision_place, revision.ready]
    s.ready[revision_place, instance.place] = moved
    s.instances[moved].place = instance.place
    instance.state = DRAINING
    revision.draining += 1
    if instance.inflight == 0:
        end_instance(s, chosen, now)


@compiled
def mean_load(s: State, revision_place: int, which: int, ticks: int) -> float:
    """Requests at once (0) or CPUs in use (1) over the last so many ticks, or over the revision's life where that is shorter.

    Requests that wait for an instance are among them, as in Knative, whose activator reports those that it holds.
    """
    tick = s.clock[0].tick
    ticks = min(ticks, tick - s.revisions[revision_place].born)
    if ticks <= 0:
        return 0.0
    now = s.loads[revision_place, tick % REMEMBERED_TICKS, which]
    before = s.loads[revision_place, (tick - ticks) % REMEMBERED_TICKS, which]
    return float((now - before) / (ticks * TICK_S))


@compiled
def wanted(s: State, revision_place: int) -> int:
    """The larger of what the two drivers recommend. A target of zero switches its driver off."""
    revision = s.revisions[revision_place]
    most = 0.0
    if revision.concurrency_target > 0.0:
        load = max(mean_load(s, revision_place, 0, revision.short_ticks), mean_load(s, revision_place, 0, revision.long_ticks))
        most = load / (revision.concurrency * revision.concurrency_target)
    if revision.cpu_target > 0.0:
        most = max(most, mean_load(s, revision_place, 1, revision.short_ticks) / (revision.vcpus * revision.cpu_target))
    return math.ceil(most - 1e-9)


@compiled
def most_wanted(s: State, revision_place: int) -> int:
    """In any tick of the time for which Cloud Run holds instances."""
    revision = s.revisions[revision_place]
    tick = s.clock[0].tick
    most = 0
    for each in range(max(tick + 1 - revision.hold_ticks, revision.born + 1), tick + 1):
        most = max(most, s.wants[revision_place, each])
    return int(most)


@compiled
def scale(s: State, revision_place: int, now: float) -> None:
    """One look: notes the loads; starts what is wanted now; ends what was wanted at no time of the hold, if nothing started in it."""
    revision = s.revisions[revision_place]
    slot = s.clock[0].tick % REMEMBERED_TICKS
    s.loads[revision_place, slot, 0] = revision.request_area + (revision.inflight + revision.pending) * now
    s.loads[revision_place, slot, 1] = revision.cpu_area
    if s.clock[0].tick == revision.born:
        return
    before = s.revisions[revision_place - 1].share if revision_place > 0 else 0.0
    least = revision.least if revision.share > before else 0
    while revision.pending > revision.starting * revision.concurrency and room_for_one(s, revision_place):
        start_instance(s, revision_place, now, revision.start_s)
    want = min(max(wanted(s, revision_place), least), revision.most)
    s.wants[revision_place, s.clock[0].tick] = want
    while revision.ready + revision.starting < want and room_for_one(s, revision_place):
        start_instance(s, revision_place, now, revision.start_s)
    keep = revision.most
    if now - revision.started_at >= revision.hold_ticks * TICK_S:
        keep = min(keep, most_wanted(s, revision_place))
    while revision.ready + revision.starting > keep:
        retire_one(s, revision_place, now)
