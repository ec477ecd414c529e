"""Rules for what is slow or wasteful: they rest on metrics and on the configuration. Pure.

GPU utilisation alone decides nothing: with a batch timeout near zero it reads near 1 long before the card is used up, because batches
grow with the load. How full the batches are, how long requests wait and how s(b) grows decide.
"""

from collections.abc import Callable

from shared.diagnose.board import Board
from shared.diagnose.load_seen import NOISE, above, below, number
from shared.diagnose.picture import Picture

_BUSY_GPU, _FULL_GPU, _FREE_GPU, _IDLE_GPU = 0.85, 0.9, 0.8, 0.4
_BUSY_CPU, _LOW_CPU = 0.9, 0.6
_TARGET = 0.6
"""Cloud Run adds instances from this share of the concurrency, or of the CPU."""
_FULL_BATCH, _THIN_BATCH = 0.8, 0.5
_LINEAR, _SUBLINEAR = 0.8, 0.6
_MAX_GPU_THREADS = 4
_LONG_QUEUE_MS = 1_000.0
_LONG_LATENCY_MS = 1_000.0
_TAILS = frozenset({"p99", "p95", "p90", "max"})
_BY_LOAD = ("queue-too-deep", "compute-bound-model", "concurrency-too-high")
"""Causes that say that a card has too much to do. Thin batches and waits for nobody are a waste whatever was promised."""
_WAITED_BATCHES, _SLOW_BATCHES = 2.0, 4.0
"""Times of a full batch that a wait, or a slow request, takes from which requests stand in line."""
_DAY_S, _LONG_S = 86_400.0, 6 * 3_600.0
_LOW_USE = 0.2
_MIDDLES = frozenset({"mean", "p50"})
_WASTED_PADDING = 0.25


def fill(picture: Picture) -> float | None:
    """Rows of a batch that somebody asked for, over the largest batch; None where either is not known."""
    rows, largest = picture.load.real_rows, picture.settings.execution_batch
    return None if rows is None or not largest else rows / largest


def underfilled(picture: Picture, board: Board) -> None:
    """Small batches although requests are there to fill them."""
    load, settings = picture.load, picture.settings
    part = fill(picture)
    if part is None or part >= _THIN_BATCH or not below(load.gpu, _FREE_GPU):
        return
    if waits_for_timeout(picture) and not starved(picture):
        return
    board.support(
        "batch-underfilled", 0.55, f"a batch holds {load.real_rows:.3g} real rows of {settings.execution_batch} ({load.batch_rows})"
    )
    board.support("batch-underfilled", 0.25, f"{load.gpu}")
    flight, threads = number(load.in_flight), settings.batch_threads
    if threads is not None and (
        (settings.gpu and threads > _MAX_GPU_THREADS) or (flight is not None and threads > 1 and threads >= flight / 2)
    ):
        beside = f" for {flight:g} requests at once" if flight is not None else ""
        board.support("batch-underfilled", 0.5, f"num_batch_threads is {threads}{beside}: each free thread takes what is there")
    held = (settings.concurrency or 0) * settings.rows
    if settings.concurrency is not None and settings.execution_batch is not None and held < 2 * settings.execution_batch:
        board.support(
            "batch-underfilled",
            0.4,
            f"concurrency {settings.concurrency} x {settings.rows} row(s) cannot keep batches of {settings.execution_batch} full",
        )
    if settings.allowed and min(settings.allowed) > settings.rows:
        board.support("batch-underfilled", 0.2, f"the smallest allowed batch is {min(settings.allowed)}: a lone request is padded up")
    if flight is not None and flight <= 2 and not starved(picture):  # noqa: PLR2004 (one request and the next)
        board.doubt("batch-underfilled", 0.6, f"{load.in_flight}: there is hardly anything to put together")
    if above(load.cpu, _BUSY_CPU):
        board.doubt("batch-underfilled", 0.5, f"{load.cpu}: the host is what limits")


def waits_for_timeout(picture: Picture) -> bool:
    """Whether the wait in the queue is the batch timeout, and nothing else."""
    wait, timeout = number(picture.load.queue_wait), picture.settings.timeout_ms
    return (
        wait is not None
        and timeout is not None
        and timeout > 0
        and 0.6 * timeout <= wait <= 1.4 * timeout
        and not above(picture.load.gpu, 0.5)
    )


def starved(picture: Picture) -> bool:
    """Whether requests are there, and the concurrency does not let enough of them in to fill a batch."""
    settings, flight = picture.settings, number(picture.load.in_flight)
    if settings.concurrency is None or settings.execution_batch is None or flight is None:
        return False
    return settings.concurrency * settings.rows < settings.execution_batch and flight >= _TARGET * settings.concurrency


def timeout_latency(picture: Picture, board: Board) -> None:
    """Low traffic, and every batch waits out its timeout."""
    load, settings = picture.load, picture.settings
    timeout, rate = settings.timeout_ms, load.answered_all or load.served_all
    if timeout is None or timeout <= 0:
        return
    lone = settings.batch_time_ms(settings.rows)
    middle = number(load.latency_middle)
    rows = load.real_rows
    alone = rows is not None and rows <= 2 * settings.rows
    if waits_for_timeout(picture):
        board.support(
            "batch-timeout-latency", 0.7, f"{load.queue_wait}, and batch_timeout_micros is {timeout * 1000:g}: requests wait for nobody"
        )
    elif alone and middle is not None and lone is not None and abs(middle - lone - timeout) <= 0.25 * (lone + timeout):
        board.support("batch-timeout-latency", 0.65, f"{load.latency_middle} is one batch ({lone:g} ms) and the timeout ({timeout:g} ms)")
    else:
        return
    if alone and rows is not None:
        board.support("batch-timeout-latency", 0.4, f"a batch holds {rows:.3g} rows ({load.batch_rows})")
    elif rows is not None and (fill(picture) or 0) > _FULL_BATCH:
        board.doubt("batch-timeout-latency", 0.7, f"batches are full ({load.batch_rows})")
    if starved(picture):
        board.doubt(
            "batch-timeout-latency",
            0.5,
            f"{load.in_flight} of {settings.concurrency} that are let in: requests are there, the batch is out of reach",
        )
    if below(load.gpu, _IDLE_GPU):
        board.support("batch-timeout-latency", 0.4, f"{load.gpu}")
    if rate is not None and rate * timeout / 1000 < max(2, settings.execution_batch or 0) / 4:
        board.support(
            "batch-timeout-latency", 0.3, f"{rate:g} requests a second bring {rate * timeout / 1000:.2g} others within the timeout"
        )


def deep_queue(picture: Picture, board: Board) -> None:
    """Overload turned into waiting."""
    load, settings = picture.load, picture.settings
    wait = number(load.queue_wait)
    if wait is None or waits_for_timeout(picture):
        return
    objective, deadline = picture.objective_ms, picture.given.workload.client_deadline_ms
    bounds = [bound for bound in (objective, deadline) if bound is not None]
    batch = settings.batch_time_ms(settings.execution_batch)
    long = wait >= _LONG_QUEUE_MS or (bool(bounds) and wait >= min(bounds) / 2) or (batch is not None and wait >= 4 * batch)
    if not long or wait <= 2 * (settings.timeout_ms or 0) or picture.given.workload.bulk:
        return
    whole = number(load.run_time) or number(load.latency_middle) or number(load.latency)
    if whole is not None and wait < whole / 3:
        return
    board.support("queue-too-deep", 0.6, f"{load.queue_wait}: requests spend their time waiting in the batching queue")
    if above(load.gpu, _BUSY_GPU) or above(load.cpu, _BUSY_CPU):
        board.support("queue-too-deep", 0.2, f"{load.gpu if above(load.gpu, _BUSY_GPU) else load.cpu}")
    if settings.queue is not None and batch is not None and bounds and settings.queue * batch / settings.lanes > min(bounds):
        depth = f"{settings.queue} batches of {batch:g} ms" if settings.queue < 10**6 else f"max_enqueued_batches of {settings.queue}"
        board.support("queue-too-deep", 0.5, f"{depth} are a longer wait than the {min(bounds):g} ms that the callers have")
    refused = load.served("UNAVAILABLE")
    if refused is not None:
        if refused.value:
            board.doubt("queue-too-deep", 0.5, f"{refused}: the queue refuses")
        else:
            board.support("queue-too-deep", 0.2, f"{refused}: nothing is refused, everything waits")
    gone = next((each for each in picture.measures.known if each.name.startswith("client_cancel") and each.value), None)
    if gone is not None:
        board.support("queue-too-deep", 0.3, f"{gone}: the work goes on for callers who left")


def host_bound(picture: Picture, board: Board) -> None:
    """The CPU is the limit while the card waits."""
    load, settings = picture.load, picture.settings
    if not above(load.cpu, _BUSY_CPU):
        return
    if settings.gpu or load.gpu is not None:
        if load.gpu is None or not below(load.gpu, _TARGET):
            return
        board.support("cpu-bound-host", 0.55, f"{load.cpu}, while {load.gpu}")
    else:
        board.support("cpu-bound-host", 0.45, f"{load.cpu}")
    inside, running = number(load.server_time), number(load.run_time)
    if inside is not None and running is not None and running < inside / 2:
        board.support(
            "cpu-bound-host", 0.5, f"{load.server_time}, of which the session takes {load.run_time}: the rest is decoding on the CPU"
        )
    if settings.protocol == "rest":
        board.support("cpu-bound-host", 0.2, "REST: every number is parsed from JSON text")
    if settings.batch_threads is not None and settings.vcpu is not None and settings.batch_threads > settings.vcpu:
        board.support("cpu-bound-host", 0.3, f"num_batch_threads is {settings.batch_threads} on {settings.vcpu:g} vCPU")
    for flag in ("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism", "tensorflow_session_parallelism"):
        value = picture.deployment.flag(flag)
        if isinstance(value, int) and settings.vcpu is not None and value > settings.vcpu:
            board.support("cpu-bound-host", 0.4, f"--{flag} is {value} on {settings.vcpu:g} vCPU")
    if load.gpu_peak is not None and load.gpu_peak.value is not None and load.gpu_peak.value < 0.005:  # noqa: PLR2004 (nothing, within rounding)
        board.doubt("cpu-bound-host", 0.6, f"{load.gpu_peak}: the GPU is not used at all")


def compute_bound(picture: Picture, board: Board) -> None:
    """Full batches on a full card."""
    load, settings = picture.load, picture.settings
    if not above(load.gpu, _FULL_GPU):
        return
    part, largest = fill(picture), settings.execution_batch
    growth = settings.growth(1, largest) if largest is not None and settings.batch_ms else None
    if growth is None and len(settings.batch_ms) > 1:
        growth = settings.growth(min(settings.batch_ms), max(settings.batch_ms))
    full = part is not None and part >= _FULL_BATCH
    linear = growth is not None and growth >= _LINEAR
    if not full and not linear:
        return
    board.support("compute-bound-model", 0.4, f"{load.gpu}")
    if full:
        board.support("compute-bound-model", 0.5, f"batches are full: {load.real_rows:.3g} of {largest} rows ({load.batch_rows})")
    if linear and growth is not None:
        board.support(
            "compute-bound-model", 0.5, f"a row costs {growth:.0%} in the largest batch of what it costs alone: batching saves nothing"
        )
    elif growth is not None and growth < _SUBLINEAR:
        board.doubt(
            "compute-bound-model", 0.4, f"a row costs {growth:.0%} in the largest batch of what it costs alone: larger batches still save"
        )
    if board.confidence("queue-too-deep"):
        board.doubt("compute-bound-model", 0.4, f"{load.queue_wait}: most of the time is waiting")


def slow_or_refusing(picture: Picture) -> str | None:
    """What says that the instances are too slow for their load; None where nothing does, or where latency is inside what is promised.

    GPU utilisation says it neither way: a card that reads 97 % may have room, because batches grow with the load.
    """
    load, settings, objective, slow = picture.load, picture.settings, picture.objective_ms, number(picture.load.latency)
    refused = load.refusing("UNAVAILABLE")
    if refused is not None:
        return f"{refused}: requests are refused"
    if objective is not None and slow is not None and slow > objective:
        return f"{load.latency}, above the {objective:g} ms promised"
    if at_ease(picture):
        return None
    batch, wait, deadline = (
        settings.batch_time_ms(settings.execution_batch),
        number(load.queue_wait),
        picture.given.workload.client_deadline_ms,
    )
    if wait is not None and wait >= (_WAITED_BATCHES * batch if batch is not None else _LONG_QUEUE_MS):
        return f"{load.queue_wait}: requests wait for the card"
    if slow is not None and ((deadline is not None and slow > deadline) or (batch is not None and slow >= _SLOW_BATCHES * batch)):
        beside = f"the callers wait {deadline:g} ms" if deadline is not None and slow > deadline else f"a full batch takes {batch:g} ms"
        return f"{load.latency}, and {beside}"
    if slow is not None and slow >= _LONG_LATENCY_MS and objective is None:
        return f"{load.latency}"
    late = picture.saw("deadline", "platform-timeout", "rest-timeout", "wait-timeout")
    return str(late) if late is not None else None


def at_ease(picture: Picture) -> bool:
    """Whether latency is known to be inside what is promised, and nothing is refused."""
    load, objective, slow = picture.load, picture.objective_ms, number(picture.load.latency)
    if objective is None or slow is None or slow > objective or load.latency is None or load.latency.statistic not in _TAILS:
        return False
    whole = load.answered_all or load.served_all or 0.0
    return not any((each.value or 0.0) > NOISE * whole for each in load.errors)


def inside_the_promise(picture: Picture, board: Board) -> None:
    """What is promised is kept, so that nothing is broken: a busy card is then no fault by itself."""
    if at_ease(picture):
        for cause in _BY_LOAD:
            board.doubt(cause, 0.6, f"{picture.load.latency}, inside the {picture.objective_ms:g} ms promised, and nothing is refused")


def high_concurrency(picture: Picture, board: Board) -> None:
    """One saturated card, and an autoscaler that counts only requests and CPU."""
    load, settings = picture.load, picture.settings
    most, flight = settings.concurrency, number(load.in_flight)
    if most is None or flight is None or not above(load.gpu, _BUSY_GPU) or picture.at_maximum is True:
        return
    if flight >= _TARGET * most or above(load.cpu, _TARGET):
        return
    slowness = slow_or_refusing(picture)
    if slowness is None:
        return
    board.support("concurrency-too-high", 0.5, f"{load.gpu}: the card is used up")
    board.support(
        "concurrency-too-high",
        0.6,
        f"{load.in_flight}, below {_TARGET:.0%} of the concurrency of {most}: Cloud Run sees no reason for another instance",
    )
    if settings.concurrency_is_default:
        board.support("concurrency-too-high", 0.2, f"nobody chose the concurrency: {most} is a default")
    board.support("concurrency-too-high", 0.2, slowness)
    if picture.at_maximum is False:
        board.support("concurrency-too-high", 0.2, f"{load.instances}, of {settings.max_instances} that may run")
    if flight <= 2:  # noqa: PLR2004 (one request and the next)
        board.doubt("concurrency-too-high", 0.6, f"{load.in_flight}: hardly more than one request at a time")


def over_provisioned(picture: Picture, board: Board) -> None:
    """More kept warm than was ever needed, on complete data of days."""
    load, settings = picture.load, picture.settings
    idle, active, least = number(load.idle_instances), load.instance_total, settings.min_instances
    running = least if least is not None and least > 0 else (idle + (active or 0) if idle is not None else active)
    if not running or (load.answered_all is None and load.in_flight is None):
        return
    flat = load.instances
    peak_use = number(load.gpu_peak) if load.gpu_peak is not None else number(load.cpu)
    if peak_use is None or peak_use >= _LOW_USE or (picture.objective_ms is not None and above(load.latency, picture.objective_ms / 2)):
        return
    if least is not None and least <= 1 and (idle is None or idle <= 1) and running <= 1:
        return
    if any(each.value for each in load.errors):
        return
    board.support("over-provisioned", 0.5, f"{load.gpu_peak or load.cpu}, at its highest")
    board.support(
        "over-provisioned",
        0.3,
        f"{running:g} instances are kept" + (f", and {load.idle_instances}" if load.idle_instances is not None else ""),
    )
    if load.in_flight is not None:
        board.support("over-provisioned", 0.3, f"{load.in_flight}: never more at once")
    if flat is not None and flat.statistic in _MIDDLES:
        board.doubt("over-provisioned", 0.4, f"{flat}: a {flat.statistic} hides the hour that needs the others; ask for the maximum")
    span = load.span_seconds
    if span is not None and span >= _DAY_S:
        board.support("over-provisioned", 0.5, f"over {span / _DAY_S:g} days")
    elif span is None or span < _LONG_S:
        board.doubt(
            "over-provisioned",
            0.7,
            "the window is " + (f"{span / 60:g} minutes" if span is not None else "not stated") + ": one quiet hour is no proof",
        )
    else:
        board.doubt("over-provisioned", 0.3, f"the window is {span / 3600:g} hours; a day at least shows the busy ones")
    if picture.measures.unknown or load.sparse is not None:
        board.doubt("over-provisioned", 0.95, f"{(picture.measures.unknown or (load.sparse,))[0]}: what is not known is not idle")


RULES: tuple[Callable[[Picture, Board], None], ...] = (
    underfilled,
    timeout_latency,
    deep_queue,
    host_bound,
    compute_bound,
    high_concurrency,
    over_provisioned,
    inside_the_promise,
)
