"""Cloud Run before the instances: which revision, which instance, who waits for one, and who waited too long."""

from shared.simulation.world.compiled import compiled
from shared.simulation.world.counting import count_time, fail, minute_of
from shared.simulation.world.layout import AT_CAP, NONE, PENDED, READY, SCALE_OUT_LAG, SERVER_THREADS, TOO_LATE, Numbers, State
from shared.simulation.world.scaling import room_for_one, start_instance
from shared.simulation.world.server import drawn, take_thread


@compiled
def revision_for(s: State, draws: Numbers) -> int:
    """By the shares of the traffic."""
    last = s.clock[0].revisions - 1
    if s.revisions[0].share >= 1.0:
        return 0
    value = drawn(s, draws)
    for revision in range(last):
        if value < s.revisions[revision].share:
            return revision
    return int(last)


@compiled
def instance_for(s: State, revision_place: int, draws: Numbers) -> int:
    """The less busy of two at random; where both are full, the least busy of all; NONE if none has room."""
    revision = s.revisions[revision_place]
    ready = revision.ready
    if ready == 0 or revision.inflight >= ready * revision.concurrency:
        return NONE
    if ready == 1:
        chosen = s.ready[revision_place, 0]
    else:
        value = drawn(s, draws) * ready
        first = int(value)
        second = int((value - first) * (ready - 1))
        if second >= first:
            second += 1
        chosen = s.ready[revision_place, first]
        other = s.ready[revision_place, second]
        if s.instances[other].inflight < s.instances[chosen].inflight:
            chosen = other
    if s.instances[chosen].inflight >= revision.concurrency:
        for i in range(ready):
            other = s.ready[revision_place, i]
            if s.instances[other].inflight < s.instances[chosen].inflight:
                chosen = other
        if s.instances[chosen].inflight >= revision.concurrency:
            return NONE
    return int(chosen)


@compiled
def admit(s: State, place: int, instance_place: int, now: float, draws: Numbers) -> None:
    """The request reaches the server: a thread takes it, or it waits for one (REST), or it is refused at once (gRPC)."""
    request = s.requests[place]
    instance = s.instances[instance_place]
    revision = s.revisions[request.revision]
    if instance.serving >= revision.server_threads and not revision.queues_for_threads:
        instance.peak = max(instance.peak, instance.inflight + 1)
        fail(s, place, SERVER_THREADS, now, drawn(s, draws))
        return
    request.instance = instance_place
    request.served = now
    request.expires = min(now + revision.server_timeout_s, request.came + revision.client_timeout_s)
    instance.inflight += 1
    instance.peak = max(instance.peak, instance.inflight)
    revision.inflight += 1
    revision.request_area -= now
    if instance.serving < revision.server_threads:
        take_thread(s, place, now)
        return
    request.next = NONE
    if instance.waiting_tail == NONE:
        instance.waiting_head = place
    else:
        s.requests[instance.waiting_tail].next = place
    instance.waiting_tail = place


@compiled
def next_pending(s: State, revision_place: int, now: float) -> int:
    """Takes the request that has waited longest for an instance."""
    revision = s.revisions[revision_place]
    place = revision.pending_head
    revision.pending_head = s.requests[place].next
    if revision.pending_head == NONE:
        revision.pending_tail = NONE
    revision.pending -= 1
    revision.request_area += now
    return int(place)


@compiled
def expire_pending(s: State, revision_place: int, now: float, draws: Numbers) -> None:
    """Those that waited too long get a 429, or a 504 where the request's own time is shorter."""
    revision = s.revisions[revision_place]
    while revision.pending > 0:
        place = revision.pending_head
        waited = now - s.requests[place].came
        if waited < revision.pending_s:
            break
        next_pending(s, revision_place, now)
        count_time(s, revision_place, now, PENDED, waited)
        s.minutes[revision_place, minute_of(now)].pended += 1
        cause = SCALE_OUT_LAG if room_for_one(s, revision_place) else AT_CAP
        if waited >= revision.timeout_s:
            cause = TOO_LATE
        fail(s, place, cause, now, drawn(s, draws))


@compiled
def pull_pending(s: State, instance_place: int, now: float, draws: Numbers) -> None:
    """An instance has room: those who wait for one come in, the longest waiting first."""
    instance = s.instances[instance_place]
    revision_place = instance.revision
    revision = s.revisions[revision_place]
    if revision.pending == 0 or instance.state != READY:
        return
    expire_pending(s, revision_place, now, draws)
    while revision.pending > 0 and instance.inflight < revision.concurrency:
        place = next_pending(s, revision_place, now)
        count_time(s, revision_place, now, PENDED, now - s.requests[place].came)
        s.minutes[revision_place, minute_of(now)].pended += 1
        admit(s, place, instance_place, now, draws)


@compiled
def offer(s: State, place: int, revision_place: int, now: float, draws: Numbers) -> None:
    """One try of a client: to an instance with room, or to the end of those who wait.

    For these Cloud Run starts instances at once, as many as have room for all who wait.
    """
    request = s.requests[place]
    request.came = now
    request.revision = revision_place
    revision = s.revisions[revision_place]
    s.minutes[revision_place, minute_of(now)].tried += 1
    chosen = NONE if revision.pending > 0 else instance_for(s, revision_place, draws)
    if chosen != NONE:
        admit(s, place, chosen, now, draws)
        return
    request.next = NONE
    if revision.pending == 0:
        revision.pending_head = place
    else:
        s.requests[revision.pending_tail].next = place
    revision.pending_tail = place
    revision.pending += 1
    revision.request_area -= now
    if revision.pending > revision.starting * revision.concurrency and room_for_one(s, revision_place):
        start_instance(s, revision_place, now, revision.start_s)
    expire_pending(s, revision_place, now, draws)
