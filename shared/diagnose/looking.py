"""Where to look next, when the evidence leaves it open: the metric, the log, the command. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from shared.diagnose.answer import Cause
from shared.diagnose.load_seen import FRESH_SECONDS
from shared.diagnose.metric_names import meant_by
from shared.diagnose.picture import Picture
from shared.diagnose.rules_control import wrong_names
from shared.lint.checking import check
from shared.lint.finding import Severity

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DECIDED = 0.8
_CLOSE = 0.2
_MOST = 6
_LOGS = 'gcloud logging read \'resource.type="cloud_run_revision" AND resource.labels.service_name="SERVICE"\' --freshness=1h'
_LOG_COMMAND = "gcloud logging read"
_AROUND = "the service's log around the time: "

Looks = Callable[[Picture], Iterator[str]]


def next_looks(picture: Picture, causes: Sequence[Cause]) -> tuple[str, ...]:
    """What would decide, the most telling first; empty where the first cause leaves little doubt and nothing it needs is unknown."""
    found = list(dict.fromkeys(_named(picture, each) for each in _looks(picture, causes)))
    told = next((each for each in found if _LOG_COMMAND in each and not each.startswith(_AROUND)), None)
    return tuple([each for each in found if told is None or not each.startswith(_AROUND)][:_MOST])


def _named(picture: Picture, look: str) -> str:
    """With the service and the region where the description or the alert names them."""
    resource = (picture.given.alert or {}).get("resource")
    labels = resource.get("labels") if isinstance(resource, dict) else None
    told = labels if isinstance(labels, dict) else {}
    name = told.get("service_name") or str(picture.deployment.service.get("name") or "").rpartition("/")[2]
    region = told.get("location") or picture.deployment.region
    for placeholder, value in (("SERVICE", name), ("REGION", region)):
        if isinstance(value, str) and _NAME.fullmatch(value):
            look = re.sub(rf"\b{placeholder}\b", value, look)
    return look


def _looks(picture: Picture, causes: Sequence[Cause]) -> Iterator[str]:
    first = causes[0]
    doubtful = first.confidence < _DECIDED or (len(causes) > 1 and first.confidence - causes[1].confidence < _CLOSE)
    if first.cause in _ALWAYS:
        yield from _ALWAYS[first.cause](picture)
    if not doubtful:
        return
    for cause in causes[:2]:
        if cause.cause in _WHEN_OPEN:
            yield from _WHEN_OPEN[cause.cause](picture)
    if first.confidence < _DECIDED and not picture.lines and first.cause not in _ALWAYS:
        yield f"{_AROUND}{_LOGS}"


def _capacity(picture: Picture) -> Iterator[str]:
    if picture.load.instance_total is None:
        yield "run.googleapis.com/container/instance_count (state=active), beside the maximum: at it, or below?"
    if picture.settings.max_instances is None:
        yield "the maximum of instances: gcloud run services describe SERVICE --format=export"
    if picture.settings.gpu_quota is None and picture.settings.gpu:
        yield "the GPU quota of the region: g.co/cloudrun/gpu-quota"
    if picture.load.startup is None:
        yield "run.googleapis.com/container/startup_latencies and request_latency/pending: how long does an instance take?"


def _threads(picture: Picture) -> Iterator[str]:
    if picture.load.served_all is None:
        yield (
            ":tensorflow:serving:request_count beside run.googleapis.com/request_count: "
            "calls that only Cloud Run counts were refused before the server"
        )
    if picture.settings.grpc_threads is None:
        yield "--grpc_max_threads and the service's vCPU (by default 4 threads a vCPU), and its concurrency"
    yield "the details of the error in the client's log: one code has five sources, the text tells which"


def _memory(picture: Picture) -> Iterator[str]:
    if picture.load.memory is None:
        yield "run.googleapis.com/container/memory/utilizations, p99"
    yield f"'Memory limit of' and 'Container called exit' in the system's log: {_LOGS}"
    if picture.load.per_instance is None and picture.load.answered_all is None:
        yield "requests a second of one instance: over HTTP/1 its sockets run out from about 800"


def _start(picture: Picture) -> Iterator[str]:
    if picture.saw("listening", "loading", "load-failed") is None:
        yield f"the container's own last lines before the probe's verdict: {_LOGS}"
    if picture.settings.startup_window_s is None or picture.settings.container_port is None:
        yield "port and start-up probe: gcloud run services describe SERVICE --format=export"


def _batches(picture: Picture) -> Iterator[str]:
    if picture.load.batch_rows is None:
        yield ":tensorflow:serving:batching_session:processed_batch_size and padding_size (_sum over _count): how full are the batches?"
    if picture.load.queue_wait is None:
        yield ":tensorflow:serving:batching_session:queuing_latency (_sum over _count): how long do requests wait?"
    if not picture.settings.batch_given:
        yield "the file of --batching_parameters_file"
    if not picture.settings.batch_ms:
        yield "how long a batch takes at each allowed size"


def _refused(picture: Picture) -> Iterator[str]:
    if any(measure.statistic == "count" for measure in picture.load.errors):
        yield "the same page again a minute later: do the refusals still grow?"
    yield f"the text of the refusals, which tells the cause: {_LOGS}"
    if picture.load.queue_wait is None:
        yield ":tensorflow:serving:batching_session:queuing_latency (_sum over _count): beside the callers' deadline"
    if not picture.settings.batch_given:
        yield "the file of --batching_parameters_file"


def _version(picture: Picture) -> Iterator[str]:
    if not picture.files.given:
        yield "the version's files and sizes: gcloud storage ls -l gs://BUCKET/MODEL/VERSION/**"
    if picture.saw("version-available", "ended-in-error", "ended-in-order") is None:
        yield "GET /v1/models/NAME: state and error of every version"


def _unknown(picture: Picture) -> Iterator[str]:
    if picture.load.too_fresh:
        yield f"the same window again once it ended {FRESH_SECONDS:g} s ago"
    for name in wrong_names(picture):
        meant = meant_by(name)
        yield f"{name} is no metric" + (f": ask for {meant}" if meant else "")
    for measure in picture.measures.unknown[:3]:
        if not measure.key.startswith(tuple(wrong_names(picture)) or ("\0",)):
            yield f"{measure.key.partition(' ')[0]}: no points. Does the service exist, is the filter right, does it still run?"
    if not picture.measures.all:
        yield (
            "run.googleapis.com/request_count by response_code, request_latencies p99, container/instance_count: is there trouble, and of "
            "which kind?"
        )
    for finding in check(picture.given, picture.deployment.described).findings:
        if finding.severity is Severity.ERROR:
            yield f"the configuration itself has an error, {finding.code}: {finding.where}: {finding.message}"
    yield f"{_AROUND}{_LOGS}"
    yield "conditions and traffic: gcloud run services describe SERVICE --region=REGION"


_WHEN_OPEN: Mapping[str, Looks] = {
    "instance-cap-reached": _capacity,
    "scale-out-lag": _capacity,
    "server-thread-quota": _threads,
    "host-memory-exceeded": _memory,
    "socket-exhaustion": _memory,
    "port-mismatch": _start,
    "startup-window-too-short": _start,
    "probe-misconfigured": _start,
    "model-load-failed": _version,
    "partial-upload": _version,
    "version-unloaded": _version,
    "version-load-gave-up": _version,
    "batch-queue-full": _refused,
    "batch-queue-wait-timeout": _refused,
    "gpu-out-of-memory": _refused,
    "request-rows-over-limit": _refused,
    "model-not-batchable": _refused,
    "batch-underfilled": _batches,
    "compute-bound-model": _batches,
    "queue-too-deep": _batches,
    "concurrency-too-high": _batches,
    "cpu-bound-host": _batches,
    "request-timeout": _batches,
}
_ALWAYS: Mapping[str, Looks] = {"insufficient-data": _unknown, "metric-name-wrong": _unknown}
