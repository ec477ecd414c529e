"""Rules for refusals while serving: RESOURCE_EXHAUSTED, UNAVAILABLE, 429, 5xx. Pure.

One code has many sources: gRPC 8 comes from the server's thread quota, the GPU's allocator, the batching queue, the client's own
library and the Admin API; gRPC 14 from the batching queue and, as a translated 429, 502, 503 or 504, from Cloud Run. The text tells,
then whether the request reached TF Serving at all.
"""

from collections.abc import Callable

from shared.diagnose.board import Board
from shared.diagnose.load_seen import NOISE, above, below, number
from shared.diagnose.picture import Picture
from shared.diagnose.signatures import Sighting

_GPU_FULL = 0.95
_GAP = 0.05
"""Share of Cloud Run's requests that TF Serving does not count, from which it is no noise."""
_RETRIES = 2.0
_COUNTED = 0.5
_LONG_START_MS = 10_000.0
_LONG_PENDING_MS = 1_000.0
_NEAR = 0.9
_TOO_MANY, _BROKEN, _LATE = 429, 500, 504
"""HTTP statuses."""
DEVICE_FULL = ("gpu-oom", "device-oom")
"""Signs of a full card."""


def thread_quota(picture: Picture, board: Board) -> None:
    """Code 8 with nothing in it; refused calls never reach TF Serving's own counter."""
    load, settings = picture.load, picture.settings
    empty = next((line for line in picture.lines if line.grpc == "RESOURCE_EXHAUSTED" and line.details_empty), None)
    told = picture.saw(*DEVICE_FULL, "wait-timeout", "message-limit", "sent-message-limit", "api-rate", "gpu-quota", "cpu-memory-quota")
    if empty is not None:
        board.support(
            "server-thread-quota",
            0.85,
            f"{empty.quoted()} [the details are empty: the server refused before any handler ran]",
            by_text=True,
        )
    refused, own = load.client_errors("RESOURCE_EXHAUSTED"), load.served("RESOURCE_EXHAUSTED")
    bare = next((line for line in picture.lines if line.grpc == "RESOURCE_EXHAUSTED"), None)
    suspected = empty is not None or picture.saw("thread-quota") is not None
    if above(refused, 1e-9) and own is not None and not own.value and told is None:
        board.support("server-thread-quota", 0.6, f"{refused}, while {own}: the calls are refused before TF Serving counts them")
        suspected = True
    reached, counted = load.answered("2xx") or load.answered_all, load.served_all
    threads = settings.grpc_threads
    busy = max(number(load.in_flight) or 0.0, number(load.callers) or 0.0)
    crowded = threads is not None and busy >= threads * _NEAR
    if (
        reached
        and counted is not None
        and reached - counted > _GAP * reached
        and told is None
        and (suspected or crowded or bare is not None)
    ):
        board.support(
            "server-thread-quota",
            0.5,
            f"Cloud Run passes on {reached:g} requests a second, TF Serving counts {counted:g}: {reached - counted:g} a second end "
            f"before it",
        )
        suspected = True
    if not suspected and bare is not None and told is None and bare.http is None:
        board.support("server-thread-quota", 0.3, f"{bare.quoted()} [no text: one of five sources of this code]", by_text=True)
    if crowded and board.confidence("server-thread-quota"):
        board.support(
            "server-thread-quota",
            0.4,
            f"{busy:g} calls at once, and the gRPC server has {threads} threads (--grpc_max_threads, by default 4 x vCPU)",
        )
    let_in = settings.concurrency
    if threads is not None and let_in is not None and threads < let_in and board.confidence("server-thread-quota"):
        board.support(
            "server-thread-quota",
            0.4,
            f"Cloud Run sends up to {let_in} calls at once into an instance, and {threads} threads take them",
        )
    if own is not None and own.value:
        board.doubt("server-thread-quota", 0.4, f"{own}: the refusals are TF Serving's own, and a handler ran")
    if settings.protocol == "rest":
        board.doubt("server-thread-quota", 0.6, "the service's port is the REST one, which has no such quota")


def gpu_memory(picture: Picture, board: Board) -> None:
    """The GPU's allocator; high GPU memory alone is normal, TensorFlow takes it at start."""
    load = picture.load
    own = load.refusing("RESOURCE_EXHAUSTED")
    if picture.saw(*DEVICE_FULL) is not None:
        if picture.saw("gpu-oom") is None and picture.deployment.complete and not picture.settings.gpu:
            board.doubt("gpu-out-of-memory", 0.8, "the service has no GPU")
            board.support("host-memory-exceeded", 0.75, f"{picture.saw(*DEVICE_FULL)}; the service has no GPU", by_text=True)
        if above(load.gpu_memory, _GPU_FULL):
            board.support("gpu-out-of-memory", 0.3, f"{load.gpu_memory}")
        if below(load.memory, _NEAR):
            board.support("gpu-out-of-memory", 0.1, f"{load.memory}: the host's memory is not what ran out")
        if picture.saw("memory-limit") is not None:
            board.doubt("gpu-out-of-memory", 0.3, "Cloud Run ended an instance at its own memory limit, which is the host's")
    elif above(own, 1e-9) and above(load.gpu_memory, 0.97) and not _queue_past_deadline(picture) and picture.saw("wait-timeout") is None:
        board.support("gpu-out-of-memory", 0.6, f"{own} comes from inside the server, and {load.gpu_memory}")


def wait_timeout(picture: Picture, board: Board) -> None:
    """Deadlines that pass in the batching queue."""
    load, deadline = picture.load, picture.given.workload.client_deadline_ms
    own = load.refusing("RESOURCE_EXHAUSTED")
    if picture.saw("wait-timeout") is None and not (
        above(own, 1e-9) and _queue_past_deadline(picture) and picture.saw(*DEVICE_FULL) is None
    ):
        return
    if above(own, 1e-9):
        board.support("batch-queue-wait-timeout", 0.3, f"{own}: TF Serving itself refuses")
    if _queue_past_deadline(picture):
        board.support("batch-queue-wait-timeout", 0.5, f"{load.queue_wait}, and the caller waits {deadline:g} ms")


def _queue_past_deadline(picture: Picture) -> bool:
    deadline = picture.given.workload.client_deadline_ms
    return deadline is not None and above(picture.load.queue_wait, deadline * 0.8)


def queue_full(picture: Picture, board: Board) -> None:
    """The batching queue's own refusals."""
    load, settings = picture.load, picture.settings
    own = load.served("UNAVAILABLE")
    if load.refusing("UNAVAILABLE") is not None:
        since_start = own is not None and own.statistic == "count"
        board.support(
            "batch-queue-full",
            _COUNTED if since_start else 0.75,
            f"{own}{' since the start' if since_start else ''}: TF Serving refuses, and the batching queue is what does so while a model "
            "is loaded",
        )
    if not board.confidence("batch-queue-full"):
        return
    capacity, admitted = settings.capacity, (settings.concurrency or 0) * settings.rows
    if capacity is not None and admitted > capacity:
        board.support(
            "batch-queue-full",
            0.3,
            f"Cloud Run admits {settings.concurrency} requests of {settings.rows} row(s) to an instance that holds {capacity} rows "
            f"({settings.execution_batch} x ({settings.batch_threads} threads + {settings.queue} queued batches))",
        )
    if own is not None and not own.value:
        board.doubt("batch-queue-full", 0.3, f"{own}: in this window the queue refused nothing")


def no_instance(picture: Picture, board: Board) -> None:
    """429 at the maximum, or below it; 500 says that the maximum was not the reason."""
    load = picture.load
    told = _told_of_no_instance(picture)
    if told is None:
        return
    evidence, by_text, failed = told
    if failed:
        cap, lag = 0.2, 0.85
    elif picture.at_maximum is None:
        cap, lag = 0.6, 0.35
    else:
        cap, lag = (0.85, 0.0) if picture.at_maximum else (0.3, 0.85)
    board.support("instance-cap-reached", cap, evidence, by_text=by_text)
    if lag:
        board.support("scale-out-lag", lag, evidence, by_text=by_text)
    _instances_say(picture, board)
    if above(load.startup, _LONG_START_MS):
        board.support("scale-out-lag", 0.3, f"{load.startup}: an instance needs that long before it helps")
    starting = picture.saw("instance-starting")
    if starting is not None and "AUTOSCALING" in starting.line.text:
        board.support("scale-out-lag", 0.2, str(starting))
    for cause in ("instance-cap-reached", "scale-out-lag"):
        if above(load.pending, _LONG_PENDING_MS) and board.confidence(cause):
            board.support(cause, 0.15, f"{load.pending}: requests wait for an instance")
        if load.answered("429") and by_text and board.confidence(cause):
            board.support(cause, 0.1, f"{load.answered('429'):g} requests a second are answered 429 by Cloud Run")


def _told_of_no_instance(picture: Picture) -> tuple[str, bool, bool] | None:
    """What says that no instance was free, whether it is a text, and whether it was a 500; None where nothing does."""
    translated = next((each.line for each in picture.all_seen("platform-answered") if each.line.http == _TOO_MANY), None)
    if translated is not None:
        return (
            f"{translated.quoted()} [a gRPC client shows a plain HTTP 429 of Cloud Run so; TF Serving's own refusals carry its text]",
            True,
            False,
        )
    said = [each for each in picture.all_seen("no-instance", "no-instance-500") if not _about_an_api(each)]
    failed = next((each for each in said if each.signature.sign == "no-instance-500" or each.line.http == _BROKEN), None)
    if failed is not None or said:
        return str(failed or said[0]), True, failed is not None
    rate = picture.load.answered("429")
    if not rate or rate <= NOISE * (picture.load.answered_all or 0.0) or not _is_platforms(picture):
        return None
    return f"{rate:g} requests a second are answered 429 by Cloud Run", False, False


def _instances_say(picture: Picture, board: Board) -> None:
    total, most = picture.load.instance_total, picture.settings.max_instances
    if total is None or most is None:
        return
    if picture.at_maximum:
        board.support("instance-cap-reached", 0.4, f"{total:g} instances are active and the maximum is {most}")
        board.doubt("scale-out-lag", 0.5, f"{total:g} of {most} instances are active: no other may start")
    else:
        board.support("scale-out-lag", 0.4, f"{total:g} instances are active and the maximum is {most}: the maximum is not what stops it")
        board.doubt("instance-cap-reached", 0.9, f"{total:g} of {most} instances are active")


def _is_platforms(picture: Picture) -> bool:
    """Whether 429 is Cloud Run's: over REST TF Serving answers it too, for memory and deadlines."""
    if picture.settings.protocol == "grpc":
        return True
    own = picture.load.served("RESOURCE_EXHAUSTED")
    return not above(own, 1e-9) and picture.saw("wait-timeout", *DEVICE_FULL) is None


def _about_an_api(sighting: Sighting) -> bool:
    text = sighting.line.text.lower()
    return "quota" in text or "googleapis.com" in text or "per minute" in text


def slow_scale_out(picture: Picture, board: Board) -> None:
    """No refusals yet: requests wait for instances that start slowly, below the maximum."""
    load, settings = picture.load, picture.settings
    if board.confidence("scale-out-lag") or picture.at_maximum is True or load.pending is None or load.pending.value is None:
        return
    wait = load.pending.value
    objective = picture.objective_ms
    if wait < _LONG_PENDING_MS and not (objective is not None and wait > objective / 2):
        return
    board.support("scale-out-lag", 0.5, f"{load.pending}: requests wait for an instance before they run")
    if load.startup is not None and (load.startup.value or 0) > 0:
        board.support("scale-out-lag", 0.3, f"{load.startup}")
    if settings.min_instances == 0:
        board.support("scale-out-lag", 0.15, "no instance is kept warm (minimum 0)")
    if picture.at_maximum is False:
        board.support("scale-out-lag", 0.2, f"{load.instances}, below the maximum of {settings.max_instances}")


def timeouts(picture: Picture, board: Board) -> None:
    """504s and deadlines that pass while the request runs."""
    load, settings = picture.load, picture.settings
    if picture.saw("reload-call") is None:
        for sighting in picture.all_seen("deadline"):
            text = sighting.line.text.lower()
            if sighting.line.grpc == "DEADLINE_EXCEEDED" and "probe" not in text and "condition" not in text and "readiness" not in text:
                board.support("request-timeout", 0.55, str(sighting), by_text=True)
                break
        late = next((line for line in picture.lines if line.http == _LATE), None)
        if late is not None:
            board.support("request-timeout", 0.5, late.quoted(), by_text=True)
    own, platform = load.refusing("DEADLINE_EXCEEDED"), load.answered("504")
    if own is not None:
        board.support("request-timeout", 0.4, f"{own}")
    if platform:
        board.support("request-timeout", 0.4, f"{platform:g} requests a second end as 504")
    if not board.confidence("request-timeout"):
        return
    longest, rest = settings.batch_time_ms(settings.rows), settings.rest_timeout_ms
    if longest is not None and rest is not None and settings.protocol == "rest" and longest > rest:
        board.support("request-timeout", 0.3, f"{settings.rows} rows take {longest:g} ms, and the REST time-out is {rest:g} ms")


def retries(picture: Picture, board: Board) -> None:
    """The callers' own repetitions are the load."""
    measures = picture.measures
    per_call = max(
        (each for each in measures.known if "attempts_per" in each.name or "attempts_pr" in each.name),
        key=lambda each: each.value or 0.0,
        default=None,
    )
    attempts = measures.pick("client_attempts", "client_attempt_count", "client_retries", statistics=("rate", "value", "count"))
    calls = measures.pick(
        "client_calls",
        "client_logical_calls",
        "client_requests",
        "client_messages_published",
        "client_call_count",
        statistics=("rate", "value", "count"),
    )
    factor: float | None = None
    if per_call is not None and (per_call.value or 0) >= _RETRIES:
        factor = per_call.value
        board.support("retry-amplification", 0.8, f"{per_call}: each call is sent that often")
    if attempts is not None and calls is not None and calls.value and (attempts.value or 0) / calls.value >= _RETRIES:
        factor = (attempts.value or 0) / calls.value
        board.support("retry-amplification", 0.75, f"{attempts} for {calls}: {factor:.1f} attempts for each")
    repeated = max(
        (each for each in measures.known if each.name.startswith("client_retr") and each.statistic == "ratio"),
        key=lambda each: each.value or 0.0,
        default=None,
    )
    if factor is None and repeated is not None and (repeated.value or 0) >= _RETRIES / 2:
        factor = 1 + (repeated.value or 0)
        board.support("retry-amplification", 0.7, f"{repeated}: as many repetitions as calls, or more")
    arriving = picture.load.answered_all
    if arriving and calls is not None and calls.value and arriving / calls.value >= _RETRIES:
        board.support("retry-amplification", 0.5, f"{calls} became {arriving:g} requests a second at the service")
    for sighting in picture.all_seen("retrying")[:3]:
        board.support("retry-amplification", 0.45 if factor is None else 0.3, str(sighting), by_text=True)


def protocols(picture: Picture, board: Board) -> None:
    """Healthy container, callers that speak another protocol than its port."""
    settings = picture.settings
    up = picture.saw("listening")
    if settings.protocol == "rest" and picture.grpc_client and (board.confidence("protocol-mismatch") or _nothing_served(picture)):
        board.support("protocol-mismatch", 0.6, f"callers speak gRPC, and port {settings.container_port} is the REST one")
    if settings.protocol == "grpc" and settings.h2c is False and board.confidence("protocol-mismatch"):
        board.support("protocol-mismatch", 0.5, f"port {settings.container_port} is the gRPC one, and Cloud Run sends it HTTP/1 (no h2c)")
    if settings.protocol == "rest" and settings.h2c and board.confidence("protocol-mismatch"):
        board.support("protocol-mismatch", 0.5, f"port {settings.container_port} is the REST one, and Cloud Run sends it HTTP/2 (h2c)")
    if not board.confidence("protocol-mismatch"):
        return
    if up is not None:
        board.support("protocol-mismatch", 0.3, f"{up}")
    ok = picture.load.served("OK")
    if ok is not None and ok.value:
        board.doubt("protocol-mismatch", 0.5, f"{ok}: other calls come through")
    if picture.saw("not-listening", "startup-probe") is not None:
        board.doubt("protocol-mismatch", 0.5, "the container did not pass its start")


def _nothing_served(picture: Picture) -> bool:
    ok = picture.load.served("OK")
    return (
        ok is not None
        and not ok.value
        and any(line.grpc in {"UNAVAILABLE", "INTERNAL", "UNIMPLEMENTED", "UNKNOWN"} for line in picture.lines)
    )


RULES: tuple[Callable[[Picture, Board], None], ...] = (
    thread_quota,
    gpu_memory,
    wait_timeout,
    queue_full,
    no_instance,
    slow_scale_out,
    timeouts,
    retries,
    protocols,
)
