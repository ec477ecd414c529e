"""One instance of TF Serving: server threads, CPU, the shared batch queue, and one GPU.

The queue is that of shared_batch_scheduler.h: a task that does not fit closes the open batch; a batch may run when another stands behind
it, when it is full, or when its first task has waited long enough; a free batch thread takes it then. CPUs and GPU serve in the order of
asking. The CPU's part of a batch takes the same time for each, so batches reach the GPU in the order in which they were taken, and both
ends are known when a batch is taken.
"""

from shared.simulation.world.compiled import compiled
from shared.simulation.world.counting import fail, minute_of, succeed
from shared.simulation.world.heap import push
from shared.simulation.world.layout import (
    BATCH_DONE,
    NONE,
    PARSED,
    QUEUE_DUE,
    QUEUE_FULL,
    QUEUE_WAIT,
    ROWS_OVER_LIMIT,
    TOO_LATE,
    Numbers,
    State,
)


@compiled
def drawn(s: State, draws: Numbers) -> float:
    """The next number of chance, from 0 to 1."""
    clock = s.clock[0]
    value = draws[clock.draw]
    clock.draw += 1
    if clock.draw == len(draws):
        clock.draw = 0
    return float(value)


@compiled
def on_cpu(s: State, instance: int, seconds: float, now: float) -> float:
    """Work for one CPU of the instance, after all that was asked for before: when it is done."""
    if seconds == 0.0:
        return now
    place = s.instances[instance]
    cpus = s.revisions[place.revision].vcpus
    first = 0
    free = s.cpus[instance, 0]
    for i in range(1, cpus):
        if s.cpus[instance, i] < free:
            free = s.cpus[instance, i]
            first = i
    end = max(free, now) + seconds
    s.cpus[instance, first] = end
    place.cpu_s += seconds
    s.revisions[place.revision].cpu_area += seconds
    s.minutes[place.revision, minute_of(now)].cpu_s += seconds
    return float(end)


@compiled
def take_thread(s: State, place: int, now: float) -> None:
    """A server thread begins the request: its own CPU work comes first."""
    request = s.requests[place]
    s.instances[request.instance].serving += 1
    end = on_cpu(s, request.instance, s.revisions[request.revision].cpu_s, now)
    push(s, end, PARSED, place)


@compiled
def free_thread(s: State, instance: int, now: float) -> None:
    """A server thread is done; over REST the longest waiting request gets it."""
    place = s.instances[instance]
    place.serving -= 1
    waiting = place.waiting_head
    if waiting != NONE:
        place.waiting_head = s.requests[waiting].next
        if place.waiting_head == NONE:
            place.waiting_tail = NONE
        take_thread(s, waiting, now)


@compiled
def new_batch(s: State, instance: int, now: float) -> int:
    """An empty batch."""
    clock = s.clock[0]
    place = clock.free_batch
    batch = s.batches[place]
    clock.free_batch = batch.next
    clock.free_batches -= 1
    batch.start = now
    batch.rows = 0
    batch.head = NONE
    batch.tail = NONE
    batch.next = NONE
    batch.instance = instance
    return int(place)


@compiled
def free_batch(s: State, place: int) -> None:
    """The batch is over."""
    clock = s.clock[0]
    s.batches[place].next = clock.free_batch
    clock.free_batch = place
    clock.free_batches += 1


@compiled
def add_task(s: State, batch_place: int, place: int) -> None:
    """The request is answered with this batch."""
    batch = s.batches[batch_place]
    s.requests[place].next = NONE
    if batch.tail == NONE:
        batch.head = place
    else:
        s.requests[batch.tail].next = place
    batch.tail = place


@compiled
def open_batch(s: State, instance: int, now: float) -> int:
    """A new batch at the end of the queue: the one before it is closed."""
    place = s.instances[instance]
    made = new_batch(s, instance, now)
    if place.queue_tail == NONE:
        place.queue_head = made
    else:
        s.batches[place.queue_tail].next = made
    place.queue_tail = made
    place.queued += 1
    return made


@compiled
def queue_refuses(s: State, instance: int, rows: int) -> bool:
    """Whether there is no room. The queue always has an open batch, empty or not, which counts."""
    place = s.instances[instance]
    revision = s.revisions[place.revision]
    batches = max(place.queued, 1)
    filled = s.batches[place.queue_tail].rows if place.queued > 0 else 0
    if revision.splitting:
        return bool(rows > (revision.max_batches - batches) * revision.batch_rows + (revision.batch_rows - filled))
    return bool(filled + rows > revision.batch_rows and batches >= revision.max_batches)


@compiled
def queue_task(s: State, place: int, now: float) -> None:
    """The request into the queue, cut into pieces where splitting is on.

    Batches end in the order of the queue, so the last piece's end is the request's.
    """
    request = s.requests[place]
    instance = s.instances[request.instance]
    revision = s.revisions[request.revision]
    tail = instance.queue_tail
    left = request.rows
    if tail == NONE:
        tail = open_batch(s, request.instance, now)
    if revision.splitting:
        room = revision.batch_rows - s.batches[tail].rows
        while left > room:
            s.batches[tail].rows += room
            left -= room
            tail = open_batch(s, request.instance, now)
            room = revision.batch_rows
    elif s.batches[tail].rows + left > revision.batch_rows:
        tail = open_batch(s, request.instance, now)
    s.batches[tail].rows += left
    add_task(s, tail, place)


@compiled
def may_run(s: State, instance: int, now: float) -> bool:
    """Whether the first batch of the queue may be taken."""
    place = s.instances[instance]
    if place.queued != 1:
        return bool(place.queued > 1)
    batch = s.batches[place.queue_head]
    revision = s.revisions[place.revision]
    return bool(batch.rows >= revision.batch_rows or now >= batch.start + revision.wait_s)


@compiled
def run(s: State, batch_place: int, now: float) -> None:
    """A batch thread takes the batch: CPU, then GPU."""
    batch = s.batches[batch_place]
    instance = s.instances[batch.instance]
    revision = s.revisions[instance.revision]
    batch.taken = now
    instance.idle_threads -= 1
    host_end = on_cpu(s, batch.instance, revision.host_s, now)
    seconds = s.device_s[instance.revision, batch.rows]
    end = max(host_end, instance.gpu_free) + seconds
    instance.gpu_free = end
    instance.gpu_s += seconds
    minute = s.minutes[instance.revision, minute_of(now)]
    minute.gpu_s += seconds
    minute.batches += 1
    minute.rows += batch.rows
    minute.padding += s.padded[instance.revision, batch.rows] - batch.rows
    push(s, end, BATCH_DONE, batch_place)


@compiled
def all_expired(s: State, batch_place: int, now: float) -> bool:
    """Whether nobody waits for the batch any more. The pieces of a split request without its last one count as awaited."""
    place = s.batches[batch_place].head
    if place == NONE:
        return False
    while place != NONE:
        if s.requests[place].expires > now:
            return False
        place = s.requests[place].next
    return True


@compiled
def leave(s: State, place: int, now: float) -> None:
    """The request leaves its instance: a server thread and a place of Cloud Run's concurrency are free."""
    request = s.requests[place]
    instance = s.instances[request.instance]
    instance.inflight -= 1
    revision = s.revisions[request.revision]
    revision.inflight -= 1
    revision.request_area += now
    free_thread(s, request.instance, now)


@compiled
def refuse_batch(s: State, batch_place: int, now: float, draws: Numbers) -> None:
    """`Run() timeout exceeded while waiting in batching queue` for each of its requests."""
    place = s.batches[batch_place].head
    while place != NONE:
        after = s.requests[place].next
        leave(s, place, now)
        fail(s, place, QUEUE_WAIT, now, drawn(s, draws))
        place = after
    free_batch(s, batch_place)


@compiled
def dispatch(s: State, instance: int, now: float, draws: Numbers) -> None:
    """Idle batch threads take what may run; if one stays idle before an open batch, it looks again when that may have waited enough."""
    place = s.instances[instance]
    while place.idle_threads > 0 and may_run(s, instance, now):
        batch = place.queue_head
        place.queue_head = s.batches[batch].next
        if place.queue_head == NONE:
            place.queue_tail = NONE
        place.queued -= 1
        if all_expired(s, batch, now):
            refuse_batch(s, batch, now, draws)
        else:
            run(s, batch, now)
    if place.idle_threads > 0 and place.queued > 0:
        revision = s.revisions[place.revision]
        due = s.batches[place.queue_head].start + revision.wait_s + revision.poll_s
        if due < place.due:
            place.due = due
            push(s, due, QUEUE_DUE, instance)


@compiled
def parsed(s: State, place: int, now: float, draws: Numbers) -> None:
    """The request's own CPU work is done: to the batch queue, or to the model at once where there is none."""
    request = s.requests[place]
    instance = request.instance
    revision = s.revisions[request.revision]
    request.queued = now
    if not revision.batching:
        batch = new_batch(s, instance, now)
        s.batches[batch].rows = request.rows
        add_task(s, batch, place)
        run(s, batch, now)
    elif request.rows > revision.limit_rows:
        leave(s, place, now)
        fail(s, place, ROWS_OVER_LIMIT, now, drawn(s, draws))
    elif queue_refuses(s, instance, request.rows):
        leave(s, place, now)
        fail(s, place, QUEUE_FULL, now, drawn(s, draws))
    else:
        queue_task(s, place, now)
        dispatch(s, instance, now, draws)


@compiled
def batch_done(s: State, batch_place: int, now: float, draws: Numbers) -> None:
    """The batch is back: its thread takes the next one, its requests are answered, or found to be too late for those who asked."""
    batch = s.batches[batch_place]
    instance = batch.instance
    revision = s.revisions[s.instances[instance].revision]
    minute = s.minutes[s.instances[instance].revision, minute_of(now)]
    s.instances[instance].idle_threads += 1
    dispatch(s, instance, now, draws)
    place = batch.head
    while place != NONE:
        request = s.requests[place]
        after = request.next
        minute.queue_s += batch.taken - request.queued
        minute.run_s += now - request.queued
        leave(s, place, now)
        if now > request.expires or now > request.came + revision.timeout_s:
            fail(s, place, TOO_LATE, now, drawn(s, draws))
        else:
            succeed(s, place, now)
        place = after
    free_batch(s, batch_place)
