"""Every remedy: a question that it answers, and the same one with a fact changed, that it does not."""

from typing import Any

import pytest

from shared.diagnose.diagnosis import diagnose
from shared.diagnose.remedy_catalog import REMEDIES
from shared.lint.given import Given
from tests.unit.diagnose.questions import (
    CPU_USE,
    GPU_USE,
    IN_FLIGHT,
    INSTANCES,
    QUEUE,
    REQUESTS,
    ROWS,
    SLOW,
    answered,
    batching,
    cpu_service,
    gpu_service,
    question,
    remedies,
    served,
)

BATCHED = "--enable_batching=true,--batching_parameters_file=/b.txt"
NO_INSTANCE = 'httpRequest.status=429 "The request was aborted because there was no available instance."'
FULL_QUEUE = "The batch scheduling queue to which this task was submitted is full"
CONFLICT = "googleapi: Error 409: Conflict for resource 'svc': version '17' was specified but current version is '18'."
NAME_TAKEN = "googleapi: Error 409: Revision named 'app-00009-x' with different configuration already exists."
DEVICE_FULL = "OOM when allocating tensor with shape[128,512] and type float on /device:GPU:0 by allocator GPU_0_bfc"
HOST_FULL = "OOM when allocating tensor with shape[9000,4096] on /device:CPU:0 by allocator cpu"
TOO_LARGE = "client: Received message larger than max (9000000 vs. 4194304)"
NO_VERSIONS = "No versions of servable m found under base path gs://acme/m"
TOO_MANY_ROWS = "Task size 96 is larger than maximum input batch size 64"
NOT_BATCHABLE = "Batched output tensor has 0 dimensions"
TORN = "DATA_LOSS: not an sstable (bad magic number)"
BROKEN_VERSION = "Loading servable: {name: m version: 4} failed: Data loss: not an sstable (bad magic number)"
NO_ACCESS = "Google Cloud Run Service Agent must have permission to read the image, eu.gcr.io/x/y:1."
NO_IMAGE = "Image 'europe-west1-docker.pkg.dev/a/b/c:9' not found."
TIMED_OUT = "Error: 14 UNAVAILABLE: Received HTTP status code 504"
REFUSED_CPU = (
    "Max instances must be set to {} or fewer to set the requested total CPU. "
    "Quota violated: CpuAllocPerProjectRegion requested: 80000 allowed: 20000"
)
REDUNDANT = "ERROR: (gcloud.run.deploy) You do not have quota for using GPUs with zonal redundancy."
GPUS_REFUSED = (
    "googleapi: Error 400: Max instances must be set to 2 or fewer in order to set GPU requirements. "
    "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 6 allowed: 4"
)
ADMIN_QUOTA = (
    "googleapi: Error 429: Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region' "
    "of service 'run.googleapis.com'"
)
LOADS = ("09:15:02 Loading servable: {name: b version: 4}", "09:17:40 Successfully loaded servable version {name: b version: 4}")
GONE_AT_START = (
    "10:00:00 Reading SavedModel from: {}/m/4",
    'Default STARTUP TCP probe failed 1 time consecutively for container "m-1" on port 8500. Connection failed with DEADLINE_EXCEEDED.',
)

WAITING = {INSTANCES: 3, IN_FLIGHT: 6, CPU_USE: 0.3}
THIN = {ROWS: 4.2, GPU_USE: 0.3, IN_FLIGHT: 30, QUEUE: 300, SLOW: 20}
LONELY = {REQUESTS: 5, QUEUE: 20_100, ROWS: 1.0, GPU_USE: 0.04}
HOT_CPU = {CPU_USE: 0.98, GPU_USE: 0.2}
Q = question


def capped(args: str = "--enable_batching=false", gpu: float = 0.2) -> Given:
    """Refusals with no instance left, three of three active."""
    flags = ("--concurrency=6", "--max-instances=3")
    return Q(NO_INSTANCE, deploy=gpu_service(*flags, args=args), metrics={**WAITING, GPU_USE: gpu}, gpu_quota=3)


def thin(threads: int = 1, p99_ms: float = 200, allowed: tuple[int, ...] = (), timeout: int = 0) -> Given:
    """Batches of 4 rows of 16 while the card idles."""
    file = batching(16, timeout=timeout, threads=threads, allowed=allowed)
    deploy = gpu_service("--concurrency=40", args=f"{BATCHED},--grpc_max_threads=64")
    return Q(deploy=deploy, batching=file, metrics=THIN, p99_ms=p99_ms)


def quiet(window: str) -> Given:
    """Four kept warm for one that is needed."""
    run = "run.googleapis.com/"
    metrics = {
        f"{run}request_count rate{{window={window}}} [1/s]": 0.4,
        f"{run}container/instance_count{{state=active}} max{{window={window}}} [instances]": 1,
        f"{run}container/instance_count{{state=idle}} p50{{window={window}}} [instances]": 3,
        f"{run}container/gpu/utilizations max{{window={window}}} [ratio]": 0.05,
        f"{run}request_latencies p99{{window={window}}} [ms]": 40,
    }
    return Q(deploy=gpu_service("--concurrency=16", "--min=4", "--max=6"), metrics=metrics, p99_ms=200)


def hot(cpu: float = 0.98, flag: str = "", threads: int = 1, **parts: Any) -> Given:
    """A busy CPU beside an idle card."""
    args = f"{BATCHED}{flag}"
    return Q(deploy=gpu_service(args=args), batching=batching(16, threads=threads), metrics={**HOT_CPU, CPU_USE: cpu}, **parts)


def spikes(inside: float) -> Given:
    """The latency before, while and after a version loads."""
    points = {"09:13": 41.0, "09:16": inside, "09:20": 43.0}
    return Q(*LOADS, metrics={f"run.googleapis.com/request_latencies p99{{minute={at}}} [ms]": ms for at, ms in points.items()})


def waited(queue: int) -> Given:
    """A wait in the queue that ended at its time-out."""
    text = "Run() timeout exceeded while waiting in batching queue"
    return Q(text, batching=batching(8, queue=queue), batch_ms={1: 20, 8: 50}, client_deadline_ms=600)


def refused(batch_ms_of_16: float = 13, **parts: Any) -> Given:
    """A full batching queue."""
    return Q(FULL_QUEUE, batching=batching(8), batch_ms={8: 10, 16: batch_ms_of_16}, p99_ms=100, **parts)


def surge(active: int) -> Given:
    """No GPU left for the new revision."""
    text = "Revision 'r-9' is not ready and cannot serve traffic. Quota exceeded for total allowable count of GPUs per project per region."
    return Q(text, metrics={INSTANCES: active}, gpu_quota=3)


def limited(most: int, active: int) -> Given:
    """Refusals with so many instances active of so many."""
    return Q(NO_INSTANCE, deploy=cpu_service(f"--max-instances={most}"), metrics={INSTANCES: active})


def retried(attempts: float) -> Given:
    """Calls, and how often they are tried."""
    metrics = {"client/attempts rate [1/s]": attempts, "client/calls rate [1/s]": 40, answered("429"): 80, answered("2xx"): 60}
    return Q(deploy=gpu_service("--concurrency=24", "--max-instances=2"), metrics={**metrics, INSTANCES: 2, GPU_USE: 0.92}, gpu_quota=2)


def queried(name: str) -> Given:
    """An alerting policy on one metric."""
    return Q(alert_policy=f'filter: metric.type="run.googleapis.com/container/memory/{name}" AND resource.type="cloud_run_revision"')


def serving_share(percent: int) -> Given:
    """What a deployment says of its traffic."""
    return Q(f"Service [tts] revision [tts-00012-abc] has been deployed and is serving {percent} percent of traffic.")


TABLE: dict[str, tuple[Given, Given]] = {
    "raise-max-instances": (limited(3, 3), limited(9, 3)),
    "raise-min-instances": (limited(9, 3), limited(3, 3)),
    "lower-min-instances": (quiet("7d"), quiet("1h")),
    "clamp-max-instances": (
        Q(REFUSED_CPU.format(5), deploy=cpu_service("--max-instances=20")),
        Q(REFUSED_CPU.format(0).replace("allowed: 20000", "allowed: 0"), deploy=cpu_service("--max-instances=20")),
    ),
    "lower-concurrency": (
        Q(FULL_QUEUE, deploy=gpu_service("--concurrency=80", args=BATCHED), batching=batching(8)),
        Q(FULL_QUEUE, deploy=gpu_service("--concurrency=16", args=BATCHED), batching=batching(8)),
    ),
    "raise-concurrency": (capped(), capped(gpu=0.92)),
    "request-quota-increase": (
        Q(GPUS_REFUSED, deploy=gpu_service("--max-instances=6")),
        Q(ADMIN_QUOTA, deploy=gpu_service("--max-instances=6")),
    ),
    "disable-gpu-zonal-redundancy": (
        Q(REDUNDANT, deploy=gpu_service("--max-instances=2").replace("--no-gpu-zonal-redundancy ", "")),
        Q(REDUNDANT, deploy=gpu_service("--max-instances=2")),
    ),
    "free-gpu-headroom": (surge(3), surge(1)),
    "retry-rollout-later": (Q("Resource readiness deadline exceeded."), Q("Resource readiness deadline exceeded.", NO_ACCESS)),
    "wait": (
        Q("Ready: Unknown, reason: MIN_INSTANCES_WARMING", "reconciling: true"),
        Q("Ready: Unknown, reason: MIN_INSTANCES_WARMING", "reconciling: true", NO_ACCESS),
    ),
    "raise-memory": (Q(HOST_FULL), Q(DEVICE_FULL)),
    "raise-cpu": (hot(), hot(cpu=0.5)),
    "enable-batching": (capped(), capped(args=BATCHED)),
    "disable-batching": (Q(NOT_BATCHABLE), Q(TOO_MANY_ROWS)),
    "lower-max-batch-size": (Q(DEVICE_FULL, batching=batching(256)), Q(HOST_FULL, batching=batching(256))),
    "raise-max-batch-size": (refused(), refused(batch_ms_of_16=20)),
    "enable-batch-splitting": (
        Q(TOO_MANY_ROWS, batching=batching(64), rows_per_request=96),
        Q(NOT_BATCHABLE, batching=batching(64), rows_per_request=96),
    ),
    "add-small-allowed-size": (thin(allowed=(4, 16)), thin(allowed=(1, 4, 16))),
    "lower-batch-timeout": (
        Q(metrics=LONELY, batching=batching(16, timeout=20_000), p99_ms=40),
        Q(metrics=LONELY, batching=batching(16, timeout=0), p99_ms=40),
    ),
    "raise-batch-timeout": (thin(p99_ms=200), thin(p99_ms=30)),
    "lower-batch-threads": (thin(threads=12), thin(threads=1)),
    "lower-max-enqueued-batches": (waited(90), waited(1)),
    "raise-max-enqueued-batches": (refused(bulk=True), refused(bulk=False)),
    "raise-server-threads": (
        Q("Error: 8 RESOURCE_EXHAUSTED: ", deploy=gpu_service("--concurrency=72")),
        Q(FULL_QUEUE, deploy=gpu_service("--concurrency=72")),
    ),
    "limit-op-parallelism": (hot(flag=",--tensorflow_intra_op_parallelism=32"), hot(flag=",--tensorflow_intra_op_parallelism=4")),
    "fix-server-config": (
        Q("client: NOT_FOUND: Unrecognized servable version label: shadow"),
        Q("client: NOT_FOUND: Servable not found for request: Latest(m)"),
    ),
    "fix-port-or-protocol": (Q("client: Trying to connect an http1.x server"), Q(TOO_LARGE)),
    "fix-probe": (
        Q("LIVENESS HTTP probe failed 5 times consecutively. Connection failed with status DEADLINE_EXCEEDED."),
        Q("LIVENESS HTTP probe succeeded. Connection failed with status DEADLINE_EXCEEDED."),
    ),
    "replace-image": (Q(NO_IMAGE), Q(NO_ACCESS)),
    "grant-access": (Q(NO_ACCESS), Q(NO_IMAGE)),
    "deploy-new-revision": (spikes(180), spikes(50)),
    "move-traffic": (serving_share(0), serving_share(100)),
    "pin-or-roll-back": (
        Q(BROKEN_VERSION),
        Q(BROKEN_VERSION, metrics={served("OK"): 80}),
    ),
    "fix-signature": (Q(NOT_BATCHABLE), Q(TOO_MANY_ROWS)),
    "fix-model-path": (Q(NO_VERSIONS), Q("Loading servable: {name: m version: 1} failed: " + TORN)),
    "republish-version": (Q(TORN), Q(NO_VERSIONS)),
    "add-warmup": (spikes(180), spikes(50)),
    "move-model-local": (
        Q(*(line.format("gs://acme") for line in GONE_AT_START), deploy=gpu_service(), start_s=400, model_gib=6),
        Q(*(line.format("/models") for line in GONE_AT_START), deploy=gpu_service(), start_s=400, model_gib=6),
    ),
    "raise-client-message-limit": (Q(TOO_LARGE), Q("client: 413 Request Entity Too Large")),
    "shrink-client-request": (Q(TOO_LARGE), Q(FULL_QUEUE)),
    "raise-request-timeout": (Q(TIMED_OUT), Q(TIMED_OUT.replace("504", "429"))),
    "back-off-retries": (retried(190), retried(41)),
    "offload-host-work": (hot(), hot(cpu=0.5)),
    "reread-and-retry": (Q(CONFLICT), Q(NAME_TAKEN)),
    "clear-revision-name": (Q(NAME_TAKEN), Q(CONFLICT)),
    "back-off-admin-calls": (Q(ADMIN_QUOTA), Q(NO_INSTANCE)),
    "fix-api-request": (Q("googleapi: Error 409: Resource 'svc' already exists."), Q(NAME_TAKEN)),
    "fix-metric-query": (queried("utilization"), queried("utilizations")),
    "hold": (Q(), Q(FULL_QUEUE)),
}


@pytest.mark.parametrize(("remedy", "asked"), [(name, both[0]) for name, both in TABLE.items()], ids=TABLE)
def test_it_is_proposed(remedy: str, asked: Given) -> None:
    assert remedy in remedies(diagnose(asked))


@pytest.mark.parametrize(("remedy", "asked"), [(name, both[1]) for name, both in TABLE.items()], ids=TABLE)
def test_with_one_fact_changed_it_is_not(remedy: str, asked: Given) -> None:
    assert remedy not in remedies(diagnose(asked))


def test_no_remedy_is_left_out() -> None:
    assert set(TABLE) == set(REMEDIES)
