"""What the numbers of the batching file do together with Cloud Run's concurrency: waits, full queues, batches that never fill. Pure.

C requests of r rows are in an instance at once; T threads run batches of E rows, Q batches wait. Sources: TF Serving's batch scheduler
(shared_batch_scheduler.h, batching_session.cc), its batching guide, and the same relations by which Trimtab's own specs are filled.
"""

import math
from collections.abc import Callable, Iterator

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.remedies import concurrency_text, concurrency_with_threads, count, wrapped
from shared.lint.scheduling import (
    START_MAX_BATCH_SIZE,
    Scheduling,
    affordable_queue,
    batch_time_ms,
    knee,
    scheduling,
)

SECONDS_MICROS = 1_000_000
"""From here on a timeout is seconds."""
BUDGET_PARTS = 4
"""A request may wait a quarter of its objective for its batch to fill."""
DEEP_QUEUE = 100
MAX_GPU_THREADS = 4
MAX_OBSERVABLE_ROWS = 8_192
"""The largest finite bucket of :tensorflow:serving:batching_session:processed_batch_size."""
_MICROS = 1_000
_USUAL_TIMEOUT_MICROS = 10_000
_MUCH_MORE = 4
"""Times the concurrency that the owner chose: smaller batches are the nearer fix then."""
_WHY_ONE_CARD = "the threads of one instance share one card"


def timeout_rules(deployment: Deployment) -> Iterator[Finding]:
    """batch-timeout-seconds, batch-timeout-over-budget."""
    plan = scheduling(deployment)
    if plan is None or plan.timeout is None or deployment.bulk:
        return
    p99 = deployment.given.p99_ms
    if plan.timeout >= SECONDS_MICROS:
        meant = min(plan.timeout // _MICROS, _timeout_limit(deployment, plan) or _USUAL_TIMEOUT_MICROS)
        yield Finding(
            "batch-timeout-seconds",
            f"batch_timeout_micros {plan.timeout} is {plan.timeout / SECONDS_MICROS:g} s: it counts microseconds, and a request whose "
            "batch does not fill waits that long before it runs; 5 ms is 5000",
            _where(deployment, "batch_timeout_micros"),
            wrapped("batch_timeout_micros", meant),
        )
    elif p99 is not None and plan.timeout / _MICROS > p99 / BUDGET_PARTS:
        limit = _timeout_limit(deployment, plan) or 0
        yield Finding(
            "batch-timeout-over-budget",
            f"batch_timeout_micros {plan.timeout} is {plan.timeout / _MICROS:g} ms, more than a quarter of the objective of {p99:g} ms at "
            "p99: at low traffic every request waits it out before it is computed",
            _where(deployment, "batch_timeout_micros"),
            f"{wrapped('batch_timeout_micros', limit)}, or 0: while batches run, the next ones fill by themselves",
        )


def queue_depth_rules(deployment: Deployment) -> Iterator[Finding]:
    """queue-too-deep, queue-unbounded."""
    plan = scheduling(deployment)
    if plan is None or deployment.bulk or plan.queue is None or plan.execution is None:
        return
    deepest = plan.deepest_queue
    assert deepest is not None  # noqa: S101 (Q and E are known; for the type checker)
    if deepest > DEEP_QUEUE:
        yield _many_batches(deployment, plan, deepest)
        return
    slow = _slow_queue(deployment, plan, deepest)
    if slow is not None:
        yield slow
    elif plan.queue > DEEP_QUEUE and plan.concurrency is not None:
        yield Finding(
            "queue-unbounded",
            f"max_enqueued_batches {plan.queue} says nothing: with {_requests(plan)} in an instance no more than "
            f"{count(deepest, 'batch')} ever wait",
            _where(deployment, "max_enqueued_batches"),
            wrapped("max_enqueued_batches", plan.good_queue(plan.concurrency, plan.execution)),
        )


def queue_room_rules(deployment: Deployment) -> Iterator[Finding]:
    """queue-below-concurrency."""
    plan = scheduling(deployment)
    if plan is None or plan.queue is None or plan.execution is None or plan.threads is None or plan.concurrency is None:
        return
    rows = plan.admitted_rows
    room = plan.execution * (plan.threads + plan.queue)
    if rows is None or rows <= room:
        return
    lower = max(1, plan.execution * plan.queue // plan.queued_rows)
    queue = plan.good_queue(plan.concurrency, plan.execution)
    fixes = [concurrency_text(deployment, lower)]
    if _affordable(deployment, plan) is None or queue <= (_affordable(deployment, plan) or 0):
        fixes.insert(0, wrapped("max_enqueued_batches", queue))
    yield Finding(
        "queue-below-concurrency",
        f"Cloud Run lets {_requests(plan)} into an instance, {count(rows, 'row')}, but {plan.threads} running and {plan.queue} waiting "
        f"batches of {plan.execution} hold {room}: in a burst the rest is refused as UNAVAILABLE, `The batch scheduling queue to which "
        "this task was submitted is full`",
        _where(deployment, "max_enqueued_batches"),
        ", or ".join(fixes),
    )


def thread_rules(deployment: Deployment) -> Iterator[Finding]:
    """batch-threads-too-many."""
    plan = scheduling(deployment)
    if plan is None or plan.threads is None:
        return
    threads, cpus, concurrency = plan.threads, plan.cpus, plan.concurrency
    unsaid = ", left out and so one for each vCPU," if plan.given.num_batch_threads is None else ""
    if plan.gpu and threads > MAX_GPU_THREADS:
        why = f"{_WHY_ONE_CARD}: more than {MAX_GPU_THREADS} add no capacity and split the waiting requests into smaller batches"
    elif cpus is not None and threads > cpus:
        why = f"the container has {cpus} vCPU: the threads take turns, and split the waiting requests into smaller batches"
    elif plan.timeout == 0 and concurrency is not None and 1 < threads >= concurrency:
        why = (
            f"at most {count(concurrency, 'request')} are in an instance and batch_timeout_micros is 0: each finds a free thread and runs "
            "alone, so no batch ever forms"
        )
    else:
        return
    yield Finding(
        "batch-threads-too-many",
        f"num_batch_threads {threads}{unsaid} is too many: {why}",
        _where(deployment, "num_batch_threads"),
        wrapped("num_batch_threads", min(plan.good_threads, max(1, threads - 1))),
    )


def fill_rules(deployment: Deployment) -> Iterator[Finding]:
    """batch-unreachable."""
    plan = scheduling(deployment)
    if plan is None or plan.given.max_batch_size is None or plan.execution is None or plan.concurrency is None:
        return
    rows = plan.concurrency_rows()
    if rows >= plan.execution or not ((plan.timeout or 0) > 0 or plan.concurrency == 1):
        return
    wait = f" and waits the whole batch_timeout_micros of {plan.timeout}" if plan.timeout else ""
    field = "max_execution_batch_size" if plan.splitting and plan.given.max_execution_batch_size is not None else "max_batch_size"
    threads = plan.threads if plan.threads is not None and plan.threads <= MAX_GPU_THREADS else None
    concurrency = plan.good_concurrency(plan.execution, threads)
    fixes = [concurrency_with_threads(deployment, concurrency)]
    if plan.good_size > plan.queued_rows:
        ending = ", with the allowed_batch_sizes that end with it" if plan.given.allowed_batch_sizes else ""
        fixes.insert(0 if concurrency > _MUCH_MORE * plan.concurrency else 1, f"{wrapped(field, plan.good_size)}{ending}")
    elif plan.concurrency == 1:
        fixes.append("no --enable_batching")
    if plan.timeout and plan.concurrency > 1:
        fixes.append(f"{wrapped('batch_timeout_micros', 0)}: a batch then runs as soon as a thread is free")
    yield Finding(
        "batch-unreachable",
        f"{field} {plan.execution} is never reached: Cloud Run lets {_requests(plan)} into an instance, {count(rows, 'row')}, so every "
        f"batch runs underfilled{wait}",
        _where(deployment, field),
        ", or ".join(fixes),
    )


def size_rules(deployment: Deployment) -> Iterator[Finding]:
    """request-rows-exceed-batch, max-batch-size-unbounded."""
    plan = scheduling(deployment)
    if plan is None or plan.size is None:
        return
    if plan.rows > plan.size:
        enough = 1 << (plan.rows - 1).bit_length()
        execution = plan.execution or plan.size
        too_large = plan.gpu and enough > MAX_OBSERVABLE_ROWS
        if plan.gpu and execution > MAX_OBSERVABLE_ROWS:
            execution = _bounded_size(deployment)
        split = _split(enough, execution)
        either = "" if plan.splitting or too_large else f"{wrapped('max_batch_size', enough)}, or "
        yield Finding(
            "request-rows-exceed-batch",
            f"A request has {count(plan.rows, 'row')} and max_batch_size {plan.size} bounds the rows of one request: every one is refused "
            f"as INVALID_ARGUMENT, `Task size {plan.rows} is larger than maximum input batch size {plan.size}`",
            _where(deployment, "max_batch_size"),
            f"{either}{split}; allowed_batch_sizes, if any, end with {enough}",
        )
    if plan.gpu and plan.execution is not None and plan.execution > MAX_OBSERVABLE_ROWS:
        best = _bounded_size(deployment)
        field = "max_execution_batch_size" if plan.splitting and plan.given.max_execution_batch_size is not None else "max_batch_size"
        whole = 1 << (plan.rows - 1).bit_length()
        if whole > MAX_OBSERVABLE_ROWS:
            fix = _split(whole, best)
        else:
            best = best if plan.splitting else max(best, whole)
            ending = _with_these_sizes(plan, field, best)
            fix = f"{wrapped(field, best)}{ending}, or the size from which on a row gets no cheaper, as measured"
        yield Finding(
            "max-batch-size-unbounded",
            f"{field} {plan.execution} is no limit on a GPU: batches may take all of the card's memory, and above {MAX_OBSERVABLE_ROWS} "
            "rows processed_batch_size does not show how large they were",
            _where(deployment, field),
            fix,
        )


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    timeout_rules,
    queue_depth_rules,
    queue_room_rules,
    thread_rules,
    fill_rules,
    size_rules,
)


def _bounded_size(deployment: Deployment) -> int:
    """Rows of a batch to begin with on a GPU: the measured size from which on a row gets no cheaper, else 32; one that is seen."""
    return min(knee(deployment.given.workload.batch_ms) or START_MAX_BATCH_SIZE, MAX_OBSERVABLE_ROWS)


def _split(size: int, execution: int) -> str:
    """Requests of up to `size` rows, computed in batches of `execution`."""
    return (
        f"{wrapped('max_batch_size', size)} with enable_large_batch_splitting {{ value: true }} and "
        f"{wrapped('max_execution_batch_size', execution)}"
    )


def _with_these_sizes(plan: Scheduling, field: str, size: int) -> str:
    """What the allowed sizes are with another maximum."""
    allowed = plan.given.allowed_batch_sizes
    if not allowed or field != "max_batch_size":
        return ""
    sizes = sorted({each for each in allowed if 0 < each < size} | {size})
    return f" with allowed_batch_sizes: [{', '.join(map(str, sizes))}]"


def _many_batches(deployment: Deployment, plan: Scheduling, deepest: int) -> Finding:
    execution = plan.execution or 1
    concurrency = plan.good_concurrency(execution)
    wait = f"{wrapped('max_enqueued_batches', plan.good_queue(concurrency, execution))}"
    if plan.concurrency is None:
        message = f"max_enqueued_batches {plan.queue} lets {deepest:,} batches wait, and no concurrency that would bound them is given"
        fix = wait
    else:
        message = f"{deepest:,} batches may wait: max_enqueued_batches is {plan.queue}, and {_requests(plan)} fill them"
        fix = f"{concurrency_with_threads(deployment, concurrency)} and {wait}"
    return Finding(
        "queue-too-deep",
        f"{message}: an overload is not refused but grows into seconds of waiting, until clients give up",
        _where(deployment, "max_enqueued_batches"),
        fix,
    )


def _slow_queue(deployment: Deployment, plan: Scheduling, deepest: int) -> Finding | None:
    """A queue whose last request ends after the objective: Qe x s(E) / T' + s(E) + tau > p99."""
    p99, parallel, execution = deployment.given.p99_ms, plan.parallel_batches, plan.execution
    batch_ms = batch_time_ms(deployment.given.workload.batch_ms, execution) if execution is not None else None
    if p99 is None or parallel is None or execution is None or batch_ms is None:
        return None
    timeout_ms = _counted_timeout_ms(plan)
    total = deepest * batch_ms / parallel + batch_ms + timeout_ms
    if total <= p99:
        return None
    affordable = affordable_queue(plan, batch_ms=batch_ms, timeout_ms=timeout_ms, p99_ms=p99)
    at_once = ""
    if affordable < 1 and timeout_ms:
        affordable = affordable_queue(plan, batch_ms=batch_ms, timeout_ms=0, p99_ms=p99)
        at_once = f"{wrapped('batch_timeout_micros', 0)} and "
    waits = f" plus {timeout_ms:g} ms of batch_timeout_micros" if timeout_ms else ""
    share = f" on {parallel} threads" if parallel > 1 else ""
    if affordable >= 1:
        fix = wrapped("max_enqueued_batches", affordable)
        concurrency = max(1, affordable * execution // plan.queued_rows)
        if plan.concurrency is None or concurrency < plan.concurrency:
            fix = f"{concurrency_text(deployment, concurrency)} and {fix}"
    else:
        at_once = ""
        fix = "smaller batches: lower max_batch_size until one batch takes less than half of the objective"
    return Finding(
        "queue-too-deep",
        f"{count(deepest, 'batch')} may wait: at {batch_ms:g} ms for {count(execution, 'row')}{share} the last request ends after "
        f"{total:.0f} ms{waits and f' ({deepest} x {batch_ms:g} ms, its own batch{waits})'}, later than the objective of {p99:g} ms at p99",
        _where(deployment, "max_enqueued_batches"),
        f"{at_once}{fix}",
    )


def _counted_timeout_ms(plan: Scheduling) -> float:
    """The timeout in milliseconds; a timeout of seconds is a finding of its own and not the queue's."""
    timeout = plan.timeout or 0
    return 0.0 if timeout >= SECONDS_MICROS else timeout / _MICROS


def _affordable(deployment: Deployment, plan: Scheduling) -> int | None:
    """How many batches the objective lets wait; None where it or the time of a batch is not known."""
    p99 = deployment.given.p99_ms
    batch_ms = batch_time_ms(deployment.given.workload.batch_ms, plan.execution) if plan.execution is not None else None
    if p99 is None or batch_ms is None or deployment.bulk:
        return None
    return affordable_queue(plan, batch_ms=batch_ms, timeout_ms=_counted_timeout_ms(plan), p99_ms=p99)


def _timeout_limit(deployment: Deployment, plan: Scheduling) -> int | None:
    """The longest timeout worth its wait, in microseconds: a quarter of the objective, and no more than a batch takes."""
    limits = []
    if deployment.given.p99_ms is not None:
        limits.append(deployment.given.p99_ms * _MICROS / BUDGET_PARTS)
    batch_ms = batch_time_ms(deployment.given.workload.batch_ms, plan.execution) if plan.execution is not None else None
    if batch_ms is not None:
        limits.append(batch_ms * _MICROS)
    return math.floor(min(limits)) if limits else None


def _requests(plan: Scheduling) -> str:
    text = count(plan.concurrency or 0, "request")
    return text if plan.rows == 1 else f"{text} of {count(plan.rows, 'row')}"


def _where(deployment: Deployment, field: str) -> Where:
    assert deployment.batching is not None  # noqa: S101 (there is a plan only where there is a file; for the type checker)
    return deployment.batching.where(field)
