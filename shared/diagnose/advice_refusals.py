"""What to do about refusals and breaks while serving. Pure."""

import math
from collections.abc import Iterator, Mapping

from shared.diagnose.advice import (
    Adviser,
    do,
    held_concurrency,
    more_instances,
    saturating_concurrency,
    short_queue,
    thread_flag,
    threads_needed,
)
from shared.diagnose.advice_shapes import Pair, limit_contradicted, memory_now, more_memory
from shared.diagnose.answer import Avoid, Remedy
from shared.diagnose.load_seen import above, number
from shared.diagnose.picture import Picture
from shared.diagnose.rules_refusals import DEVICE_FULL
from shared.diagnose.rules_versions import named_servable, old_version_serves, version_policies
from shared.tfserving.model_config import All

_STILL_SAVES = 0.9
_GPU_THREADS = 2
"""A larger batch pays while a row in it costs less than this part of what it costs in the smaller one."""
_SOCKETS_RATE = 600.0
"""Requests a second and instance that leave room below the 800 from which sockets run out."""
_MARGIN = 1.25


def thread_quota(picture: Picture) -> Iterator[Remedy | Avoid]:
    """More threads than requests that Cloud Run lets in, or fewer requests."""
    settings = picture.settings
    after = threads_needed(settings)
    yield do(
        "raise-server-threads",
        "each call holds a thread; the flag must be at least the concurrency and 8 more",
        settings.grpc_threads,
        after,
        knob=thread_flag(settings),
    )
    if settings.concurrency is not None and settings.concurrency_is_default:
        fits = saturating_concurrency(picture)
        yield do("lower-concurrency", "nobody chose it; with fewer requests at once fewer threads are needed", settings.concurrency, fits)


def gpu_memory(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Smaller or fewer batches; where a second version is loaded beside the first, one version a revision."""
    settings = picture.settings
    if at_load(picture):
        yield from _memory_at_load(picture)
        return
    single = settings.max_batch is not None and settings.rows > settings.max_batch / 4
    batched = settings.batch_given or settings.batching_on is not False
    if batched:
        before, after = settings.max_batch, None if settings.max_batch is None else max(1, settings.max_batch // 2)
        yield do("lower-max-batch-size", "half the rows take about half the memory; change allowed_batch_sizes with it", before, after)
    if single or not batched:
        yield do(
            "shrink-client-request",
            f"a request brings {settings.rows} row(s) by itself" if settings.rows > 1 else "fewer rows or smaller inputs in one request",
        )
    if batched and settings.batch_threads is not None and settings.batch_threads > 1:
        fewer = _GPU_THREADS if settings.gpu and settings.batch_threads > _GPU_THREADS else 1
        yield do("lower-batch-threads", "each thread holds a batch of its own in GPU memory", settings.batch_threads, fewer)


def _memory_at_load(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Two versions or models at once where something else is loaded already; else one version that is too large by itself."""
    serves, other = old_version_serves(picture), other_model_loaded(picture)
    if any(isinstance(policy, All) for policy in version_policies(picture)):
        yield do("fix-server-config", "the policy keeps every version in memory", "all {}", "latest {}", knob="model_version_policy")
    if other is not None:
        yield do(
            "deploy-new-revision",
            f"the card holds {other} already, and not both: a revision without the second model, which then gets a service and a card "
            "of its own",
        )
    elif serves is not None or len(picture.files.versions) > 1 or picture.saw("loaded") is not None:
        yield do(
            "deploy-new-revision",
            "the server loads a new version before it lets the old one go, and both must fit the card; a revision of its own has the card "
            "to itself",
        )
    why = "until then keep what serves" if serves is not None or other is not None else "this version alone does not fit: the last that did"
    yield do("pin-or-roll-back", f"{why}{f' ({serves})' if serves else ''}", knob="model_version_policy { specific { versions: N } }")
    for remedy in ("lower-max-batch-size", "republish-version"):
        yield Avoid(remedy, "it fails while a version loads, before any batch of it runs; its files are read whole")


def at_load(picture: Picture) -> bool:
    """Whether the card was full while a version was loaded: the line itself is the load's failure, or the load never ended."""
    oom = picture.saw(*DEVICE_FULL)
    if oom is None:
        return False
    if any(each.line is oom.line for each in picture.all_seen("load-failed", "gave-up", "not-available", "ended-in-error")):
        return True
    own = picture.load.served("RESOURCE_EXHAUSTED")
    loading = picture.last("loading", "load-failed")
    if loading is None or (own is not None and own.value):
        return False
    if loading.signature.sign == "load-failed":
        return True
    named = loading.match.groupdict()
    done = [each.match.groupdict() for each in picture.all_seen("loaded")]
    return not done if named.get("version") is None else named not in done


def other_model_loaded(picture: Picture) -> str | None:
    """Another model than the one that does not fit, which is loaded; None where none is seen."""
    last = picture.last("load-failed", "gave-up") or picture.last("loading")
    failed = named_servable(last) if last is not None else None
    for each in picture.all_seen("loaded"):
        model = each.match.groupdict().get("model")
        if failed is not None and model is not None and model != failed[0].lower():
            return f"{model} version {each.match['version']}"
    return None


def wait_timeout(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Refuse early instead of waiting past the deadline; more instances where there may be more."""
    yield from shorter_queue(picture)
    if picture.at_maximum is False:
        yield from more_instances(picture)


def shorter_queue(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A queue that drains in time, and no more requests let in than it and the card hold."""
    settings = picture.settings
    queue = short_queue(picture)
    if queue is None or settings.queue is None or queue < settings.queue:
        batch = settings.batch_time_ms(settings.execution_batch)
        drains = (
            f": {settings.queue} batches of {batch:g} ms are {settings.queue * batch / settings.lanes / 1000:.1f} s"
            if batch and settings.queue and settings.queue < 10**5
            else ""
        )
        yield do(
            "lower-max-enqueued-batches",
            f"a short queue refuses at once, and the caller can go elsewhere in time{drains}",
            settings.queue,
            queue,
        )
    held = held_concurrency(picture, queue)
    if settings.concurrency is None or held is None or held < settings.concurrency:
        yield do(
            "lower-concurrency",
            "Cloud Run adds instances by requests in flight; let in what the card and its queue hold",
            settings.concurrency,
            held,
        )


def message_limit(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """The channel's own limit, or a smaller answer."""
    yield do(
        "raise-client-message-limit",
        "the limit of 4 MiB is the client channel's default; the server has none below 2 GiB",
        "4194304",
        "-1 (no limit)",
        knob="grpc.max_receive_message_length",
    )
    yield do("shrink-client-request", "ask for fewer outputs with output_filter, or for fewer rows a call")


def queue_full(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Let in what the queue holds; larger batches where they still save; more instances."""
    settings = picture.settings
    capacity = settings.capacity
    held = None if capacity is None else max(1, capacity // settings.rows)
    if settings.concurrency is None or held is None or held < settings.concurrency:
        why = (
            f"execution and queue hold {capacity} rows, and Cloud Run lets {settings.concurrency} requests into an instance"
            if capacity is not None and settings.concurrency
            else "Cloud Run then adds an instance before the queue overflows: C x rows at most B x (T + Q)"
        )
        yield do("lower-concurrency", why, settings.concurrency, held)
    larger = _larger_batch(picture)
    if larger is not None:
        size, why = larger
        yield do("raise-max-batch-size", why, settings.execution_batch, size)
    yield from more_instances(picture) if settings.max_instances is not None and picture.load.instance_total is not None else ()
    if (
        settings.concurrency is not None
        and held is not None
        and held >= settings.concurrency
        and larger is None
        and picture.load.instance_total is None
    ):
        yield do("raise-min-instances", "a burst needs more instances before it comes", settings.min_instances)
    if picture.given.workload.bulk and settings.queue is not None:
        yield do(
            "raise-max-enqueued-batches",
            "nobody waits for a single answer here: a longer queue takes the bursts that are refused now",
            settings.queue,
            2 * settings.queue,
        )
        return
    yield Avoid(
        "raise-max-enqueued-batches", "a longer queue hides the overload: requests wait until their deadline instead of being refused"
    )


def _larger_batch(picture: Picture) -> tuple[int, str] | None:
    """The largest measured batch in which a row is still clearly cheaper, if it fits half the objective and GPU memory is no question."""
    settings, objective = picture.settings, picture.objective_ms
    now = settings.execution_batch
    if now is None or picture.saw(*DEVICE_FULL) is not None:
        return None
    best = None
    for size in sorted(settings.batch_ms):
        growth = settings.growth(now, size)
        time = settings.batch_time_ms(size)
        if growth is None or growth >= _STILL_SAVES or time is None or (objective is not None and time > objective / 2):
            continue
        before = settings.batch_time_ms(now) or 0.0
        best = (size, f"{size} rows take {time:g} ms, {now} take {before:g} ms: a row costs {growth:.0%} of what it costs now")
    return best


def host_memory(picture: Picture) -> Iterator[Remedy | Avoid]:
    """More memory, and the CPU that it takes with it; where there is no more, fewer requests at once."""
    settings, now, larger, stale = picture.settings, memory_now(picture), more_memory(picture), limit_contradicted(picture)
    if now is not None and larger is None:
        yield do(
            "lower-concurrency",
            f"{now:g}Gi is the most that an instance gets: each request in flight holds its inputs and outputs in memory",
            settings.concurrency,
            None if settings.concurrency is None else max(1, settings.concurrency // 2),
        )
        return
    yield do(
        "raise-memory",
        "the instance was ended at its memory limit; a model takes about 1.2 times its size while it loads"
        + ("" if larger is None or larger.cpu is None else f"; Cloud Run takes that much memory only from {larger.cpu:g} vCPU on")
        + (f". {stale}" if stale else ""),
        None if now is None else str(Pair(settings.vcpu if larger is not None and larger.cpu is not None and not stale else None, now)),
        larger,
    )


def protocol(picture: Picture) -> Iterator[Remedy | Avoid]:
    """One port, one protocol."""
    settings = picture.settings
    if settings.protocol == "rest" and picture.grpc_client:
        after = "--port=8500 --use-http2 (gRPC), or callers that use REST"
    elif settings.protocol == "grpc":
        after = "--port=8500 --use-http2 (gRPC), or --port=8501 and callers that use REST"
    else:
        after = "gRPC: --port=8500 --use-http2; REST: --port=8501 without it"
    before = None if settings.container_port is None else f"port {settings.container_port}{', h2c' if settings.h2c else ''}"
    yield do("fix-port-or-protocol", "a service exposes one port, and TF Serving's two speak different protocols", before, after)


def sockets(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Fewer requests to one instance, or HTTP/2."""
    settings, load = picture.settings, picture.load
    each, total = number(load.per_instance), load.instance_total
    if each is None and load.answered_all and total:
        each = load.answered_all / total
    if each is not None and total is not None and settings.max_instances is not None:
        wanted = math.ceil(each * total / _SOCKETS_RATE)
        if total < wanted <= settings.max_instances:
            yield do(
                "raise-min-instances",
                f"{each * total:g} requests a second over {wanted} instances are {each * total / wanted:.0f} each",
                settings.min_instances,
                wanted,
            )
    yield do(
        "fix-port-or-protocol",
        "HTTP/2 (the gRPC port with h2c) carries many requests on one connection",
        f"port {settings.container_port}" if settings.container_port else None,
        "--port=8500 --use-http2",
    )
    middle = number(load.latency_middle)
    after = None if middle is None else max(1, int(_SOCKETS_RATE * middle / 1000))
    if settings.concurrency is None or after is None or after < settings.concurrency:
        yield do("lower-concurrency", "fewer at once in an instance, so that Cloud Run spreads them over more", settings.concurrency, after)


def timeout(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Less work a request; more time only where the work is what it is; a saturated instance first gets less at once."""
    settings = picture.settings
    rest = picture.saw("rest-timeout") is not None
    longest = settings.batch_time_ms(settings.rows)
    many_rows = settings.rows > 1
    saturated = _saturated(picture)
    if saturated and not (many_rows and longest is not None and longest > (settings.rest_timeout_ms or 30_000)):
        fits = saturating_concurrency(picture)
        after = max(1, (settings.concurrency or 2) // 2) if fits is None else min(fits, max(1, (settings.concurrency or fits) - 1))
        yield do(
            "lower-concurrency",
            "the instance has more at once than it gets done in time; another one then takes the rest",
            settings.concurrency,
            after,
        )
    if many_rows or not saturated:
        why = f"{settings.rows} rows take {longest:g} ms" if longest is not None and many_rows else "fewer rows in a request take less time"
        yield do("shrink-client-request", why, settings.rows if many_rows else None)
    if not saturated or rest:
        yield _longer(picture, longest, rest=rest)


def _saturated(picture: Picture) -> bool:
    """Whether requests wait for each other inside an instance."""
    settings, load = picture.settings, picture.load
    if not (above(load.gpu, 0.9) or above(load.cpu, 0.9)) or (settings.concurrency or 0) <= 1:
        return False
    flight, fits = number(load.in_flight), saturating_concurrency(picture)
    return flight is None or flight >= 0.5 * (settings.concurrency or 0) or (fits is not None and flight > fits)


def _longer(picture: Picture, longest: float | None, *, rest: bool) -> Remedy:
    settings = picture.settings
    if rest:
        before = settings.rest_timeout_ms or 30_000.0
        top = None if settings.request_timeout_s is None else settings.request_timeout_s * 1000
        wanted = before * 2 if longest is None else longest * _MARGIN
        after = wanted if top is None else min(wanted, top - 5_000)
        return do(
            "raise-request-timeout",
            "the server's own REST time-out ended it, below Cloud Run's",
            int(before),
            int(after) if after > before else None,
            knob="--rest_api_timeout_in_ms",
        )
    before_s = settings.request_timeout_s
    after_s = None if before_s is None else min(3600, 2 * before_s)
    return do(
        "raise-request-timeout",
        "only where the request really needs the time: the callers' deadline, Cloud Run's timeout (at most 3600 s), for REST the server's",
        before_s,
        after_s,
    )


def too_large(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Smaller bodies, or HTTP/2."""
    size = picture.given.workload.request_mib
    yield do(
        "shrink-client-request", "fewer rows a call, binary instead of JSON", None if size is None else f"{size:g} MiB", "at most 32 MiB"
    )
    yield do(
        "fix-port-or-protocol",
        "over HTTP/2 (the gRPC port with h2c) there is no such limit",
        None if picture.settings.container_port is None else f"port {picture.settings.container_port}",
        "--port=8500 --use-http2",
    )


def retries(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """The callers."""
    yield do(
        "back-off-retries",
        "the repetitions are the load: exponential backoff with jitter, a budget for retries, an acknowledgement deadline above the "
        "latency. Cloud Run itself repeats nothing",
    )


ADVISERS: Mapping[str, Adviser] = {
    "server-thread-quota": thread_quota,
    "gpu-out-of-memory": gpu_memory,
    "batch-queue-wait-timeout": wait_timeout,
    "client-message-limit": message_limit,
    "batch-queue-full": queue_full,
    "host-memory-exceeded": host_memory,
    "protocol-mismatch": protocol,
    "socket-exhaustion": sockets,
    "request-timeout": timeout,
    "request-too-large": too_large,
    "retry-amplification": retries,
}
