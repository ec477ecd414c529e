"""What to do about what is slow or wasteful, about the control plane, and where nothing is known. Pure."""

import math
from collections.abc import Iterator, Mapping

from shared.diagnose.advice import Adviser, do, higher_maximum, more_instances, saturating_concurrency, thread_flag
from shared.diagnose.advice_instances import batching_instead
from shared.diagnose.advice_refusals import shorter_queue
from shared.diagnose.advice_shapes import memory_now, more_cpu, more_memory
from shared.diagnose.answer import Avoid, Remedy
from shared.diagnose.load_seen import above, below, number
from shared.diagnose.metric_names import meant_by
from shared.diagnose.picture import Picture
from shared.diagnose.rules_control import wrong_names
from shared.diagnose.traffic_seen import traffic_shares
from shared.lint.query_rules import query_rules

_GPU_THREADS = 2
_IDLE_GPU, _TINY_TIMEOUT_MS, _LONGER_TIMEOUT_MS = 0.4, 0.5, 5.0
_SHORT_TIMEOUT_US = 2_000
_TARGET = 0.6
"""Cloud Run fills an instance to this share of its concurrency."""


def underfilled(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Fewer threads, more requests at once, a small allowed size: what keeps batches small."""
    settings, load = picture.settings, picture.load
    size, threads = settings.execution_batch, settings.batch_threads
    flight = number(load.in_flight)
    many = threads is not None and (
        threads > (4 if settings.gpu else settings.vcpu or 4) or (flight is not None and threads > 1 and threads >= flight / 2)
    )
    if many:
        yield do(
            "lower-batch-threads",
            "a free thread takes what is there, so that batches do not form; one or two a GPU",
            threads,
            _GPU_THREADS if (threads or 0) > _GPU_THREADS else 1,
        )
    limit = settings.threads
    starved = settings.concurrency is not None and limit is not None and limit < settings.concurrency and settings.protocol == "grpc"
    if starved and flight is not None and limit is not None and flight >= 0.8 * limit:
        yield do(
            "raise-server-threads",
            "the server's threads bound how many requests can wait for a batch",
            limit,
            (settings.concurrency or 0) + 8,
            knob=thread_flag(settings),
        )
    short = settings.concurrency is not None and size is not None and settings.concurrency * settings.rows < 2 * size
    full = flight is None or settings.concurrency is None or flight >= 0.6 * settings.concurrency
    after = saturating_concurrency(picture)
    if short and (full or not many) and after is not None and after > (settings.concurrency or 0):
        yield do(
            "raise-concurrency",
            f"batches of {size} rows, one that runs and one that fills, need {after} requests at once; {thread_flag(settings)} must follow",
            settings.concurrency,
            after,
        )
    if settings.allowed and min(settings.allowed) > settings.rows:
        yield do(
            "add-small-allowed-size",
            "a lone request is padded up to the smallest size",
            ", ".join(map(str, settings.allowed)),
            ", ".join(map(str, (settings.rows, *settings.allowed))),
        )
    if not many and not short and not starved and (threads is None or threads > 1):
        fewer = _GPU_THREADS if settings.gpu and threads is not None and threads > _GPU_THREADS else 1
        yield do("lower-batch-threads", "with fewer threads batches form while one runs", threads, fewer)
    if not many and not short and not starved:
        yield from _longer_timeout(picture)


def _longer_timeout(picture: Picture) -> Iterator[Remedy]:
    """A wait for others, only where the card idles, hardly any wait is set, and the latency leaves many times the new one."""
    load, objective, before = picture.load, picture.objective_ms, picture.settings.timeout_ms
    if before is None or before > _TINY_TIMEOUT_MS or objective is None:
        return
    if below(load.gpu, _IDLE_GPU) and below(load.latency, objective / 4) and above(load.in_flight, 2):
        after = min(_LONGER_TIMEOUT_MS, objective / 25)
        if after > before:
            yield do(
                "raise-batch-timeout",
                f"{load.gpu}, and {load.latency} of {objective:g} ms: there is time to wait for the requests that come next",
                int(before * 1000),
                int(after * 1000),
            )


def timeout_latency(picture: Picture) -> Iterator[Remedy | Avoid]:
    """No waiting for others who do not come."""
    settings = picture.settings
    before = None if settings.timeout_ms is None else int(settings.timeout_ms * 1000)
    after = 0 if before is None or before <= _SHORT_TIMEOUT_US else min(_SHORT_TIMEOUT_US, before)
    budget = picture.objective_ms
    if budget is not None:
        after = min(after, int(budget * 1000 / 25))
    yield do(
        "lower-batch-timeout",
        "at this traffic no one joins the batch; under load batches form while others run, whatever the timeout",
        before,
        after,
    )


def deep_queue(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A queue that drains in time; more instances where there may be more."""
    yield from shorter_queue(picture)
    if picture.at_maximum is False:
        yield from more_instances(picture)
    yield Avoid("raise-max-enqueued-batches", "the queue is what the requests wait in")


def host_bound(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Work away from the CPU, or more of it."""
    settings = picture.settings
    vcpu = settings.vcpu
    crowded = settings.batch_threads is not None and vcpu is not None and settings.batch_threads > vcpu
    for flag in ("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism", "tensorflow_session_parallelism"):
        value = picture.deployment.flag(flag)
        if isinstance(value, int) and vcpu is not None and value > vcpu:
            yield do("limit-op-parallelism", "more threads than processors only take turns", value, int(vcpu), knob=f"--{flag}")
    if crowded:
        yield do(
            "lower-batch-threads",
            "more batch threads than processors only take turns",
            settings.batch_threads,
            _GPU_THREADS if settings.gpu else int(vcpu or 1),
        )
    offload = do("offload-host-work", "gRPC with binary tensors instead of numbers in JSON text, decoding and resizing in the client")
    if settings.protocol != "grpc":
        yield offload
    larger = more_cpu(picture)
    if vcpu is None or larger is not None:
        takes = larger is not None and larger.memory_gib != settings.memory_gib and settings.memory_gib is not None
        after = None if larger is None else larger if takes else larger.cpu
        yield do("raise-cpu", "it softens what it does not remove", vcpu, after)
    if settings.protocol == "grpc":
        yield offload


def compute_bound(picture: Picture) -> Iterator[Remedy | Avoid]:
    """More cards."""
    yield from more_instances(picture) if picture.load.instance_total is not None else higher_maximum(picture)
    yield Avoid("raise-max-batch-size", "a row costs the same in a larger batch; the batch only takes longer")


def high_concurrency(picture: Picture) -> Iterator[Remedy | Avoid]:
    """As many requests as one card works on, so that the next goes to another."""
    settings = picture.settings
    after = saturating_concurrency(picture)
    flight = number(picture.load.in_flight)
    if after is None and flight is not None:
        after = max(1, int(flight / 4))
    if after is not None and settings.concurrency is not None:
        after = min(after, max(1, settings.concurrency // 2))
    yield do(
        "lower-concurrency", "Cloud Run adds an instance at about 60 % of it; GPU use is nothing it looks at", settings.concurrency, after
    )
    yield from batching_instead(picture)
    yield Avoid("raise-max-instances", "the maximum was not reached: nothing asks for another instance")


def over_provisioned(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The minimum at the most that was active at once; where all were active because all were there, at what the requests filled."""
    settings, active, flight = picture.settings, picture.load.instance_total, number(picture.load.in_flight)
    after = max(1, math.ceil(active)) if active is not None else 1
    before = settings.min_instances
    if before is not None and after >= before:
        after = max(0, before - 1)
        if active is not None and flight is not None and settings.concurrency is not None:
            after = min(after, max(1, math.ceil(active * flight / (_TARGET * settings.concurrency))))
    yield do(
        "lower-min-instances",
        "days of complete data never needed more; no new revision. 0 only where a cold start is acceptable",
        before,
        after,
    )


def stale_etag(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Read, plan and write anew."""
    yield do(
        "reread-and-retry",
        "Cloud Run's own reconciliation moves the version too: read right before the write, plan again, send the new etag",
    )


def revision_name(picture: Picture) -> Iterator[Remedy | Avoid]:
    """No name, or a new one."""
    name = picture.deployment.template.get("revision")
    yield do(
        "clear-revision-name",
        "the same name with another content is refused every time; send only the fields that change",
        name if isinstance(name, str) else None,
        '""',
        knob="template.revision",
    )


def api_request(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The request."""
    told = picture.saw("launch-stage", "not-implemented", "field-refused", "exists")
    knob = "launch_stage: BETA" if told is not None and told.signature.sign == "launch-stage" else None
    yield do("fix-api-request", "the call is refused as it is and will be again", knob=knob)


def pinned(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Traffic to the newest revision."""
    shares = traffic_shares(picture)
    before = ", ".join(f"{share.revision} {share.percent:g} %" for share in shares) or None
    yield do(
        "move-traffic",
        "an earlier rollback or split named its revisions; new ones start at 0 % since",
        before,
        "LATEST 100 %, or the new revision step by step",
    )


def unknown(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Nothing."""
    yield do("hold", "what is not known is neither idle nor healthy: change nothing until it is")
    if picture.saw("killed", "memory-limit") is not None:
        yield do(
            "raise-memory",
            "the last thing the log shows is a container that was killed",
            None if memory_now(picture) is None else f"{memory_now(picture):g}Gi",
            more_memory(picture),
        )


def metric_name(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The query."""
    wrong = wrong_names(picture)
    right = [(name, meant_by(name)) for name in wrong]
    before = ", ".join(name for name, _ in right) or None
    after = ", ".join(meant for _, meant in right if meant is not None) or None
    if picture.saw("aligner-refused") is not None and not wrong:
        before, after = "ALIGN_MAX, ALIGN_MEAN or ALIGN_RATE", "ALIGN_PERCENTILE_99 (or ALIGN_DELTA) on a distribution"
    findings = list(query_rules(picture.deployment))
    if findings:
        before = before or ", ".join(dict.fromkeys(str(each.where) for each in findings))
        after = ", ".join(dict.fromkeys(each.fix for each in findings))
    yield do("fix-metric-query", "the query is what is empty, not the service", before, after)


def nothing(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Nothing."""
    yield do("hold", "everything is inside what was promised; a change now would only bring a rollout's risk")


ADVISERS: Mapping[str, Adviser] = {
    "batch-underfilled": underfilled,
    "batch-timeout-latency": timeout_latency,
    "queue-too-deep": deep_queue,
    "cpu-bound-host": host_bound,
    "compute-bound-model": compute_bound,
    "concurrency-too-high": high_concurrency,
    "over-provisioned": over_provisioned,
    "stale-etag": stale_etag,
    "revision-name-conflict": revision_name,
    "api-request-invalid": api_request,
    "traffic-pinned": pinned,
    "insufficient-data": unknown,
    "metric-name-wrong": metric_name,
    "no-fault": nothing,
}
