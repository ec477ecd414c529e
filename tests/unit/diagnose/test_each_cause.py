"""Every cause: a question whose first answer it is, and the nearest one, a fact or a word away, whose first answer it is not."""

from typing import Any

import pytest

from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.diagnosis import diagnose
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
    served,
)

CAPPED = gpu_service("--concurrency=16", "--max-instances=2")
BATCHED = "--enable_batching=true,--batching_parameters_file=/b.txt"
NO_INSTANCE = 'httpRequest.status=429 "The request was aborted because there was no available instance."'
PORT = "Revision 'a-00001-b' is not ready. The user-provided container failed to start and listen on the port defined by the PORT=8080"
UP = ("Running gRPC ModelServer at 0.0.0.0:8500 ...", "Exporting HTTP/REST API at:localhost:8501 ...")
TCP_FAILED = (
    'Default STARTUP TCP probe failed 1 time consecutively for container "a" on port 8500. Connection failed with DEADLINE_EXCEEDED.'
)
LOADING = "Reading SavedModel from: gs://acme/m/4"
BROKEN = "HTTP 503: The request failed because either the HTTP response was malformed or connection to the instance had an error."
LOAD_FAILED = "Loading servable: {name: m version: 4} failed: DATA_LOSS: not an sstable (bad magic number)"
OTHER_FAILURE = "Loading servable: {name: m version: 4} failed: NOT_FOUND: Op type not registered 'AcmeOp' in binary running on a"
GONE = "Retrying of Loading servable: {name: m version: 4} exhausted max_num_retries: 5"
UNLOADED = '{"model_version_status":[{"version":"4","state":"END","status":{"error_code":"OK","error_message":""}}]}'
WHOLE = [
    (f"gs://acme/m/4/{name}", 900) for name in ("saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001")
]
QUIET = {answered("5xx"): 0.0, answered("429"): 0.0, REQUESTS: 40.0, INSTANCES: 2.0, GPU_USE: 0.5}
WARM = "run.googleapis.com/container/instance_count{state=idle} p50{window=14d} [instances]"
WEEKS = {
    "run.googleapis.com/request_count rate{window=14d} [1/s]": 0.02,
    "run.googleapis.com/container/instance_count{state=active} p99{window=14d} [instances]": 1.0,
    WARM: 3.0,
    "run.googleapis.com/container/gpu/utilizations p99{window=14d} [ratio]": 0.03,
    "run.googleapis.com/container/max_request_concurrencies p99{window=14d} [requests]": 1.0,
    "run.googleapis.com/request_latencies p99{window=14d} [ms]": 60.0,
    "points present [ratio]": 1.0,
    "window_end_age [s]": 3_600.0,
}
KEPT = gpu_service("--concurrency=16", "--min=3", "--max-instances=3")


def with_metrics(*logs: str, metrics: dict[str, float | None], **rest: Any) -> Given:
    return question(*logs, metrics=metrics, **rest)


PAIRS: dict[str, tuple[Given, Given]] = {
    "server-thread-quota": (
        question('client: StatusCode.RESOURCE_EXHAUSTED details = ""'),
        question('client: StatusCode.UNKNOWN details = ""'),
    ),
    "gpu-out-of-memory": (
        question("OOM when allocating tensor with shape[8,9] and type float on /device:GPU:0 by allocator GPU_0_bfc"),
        question("Memory limit of 2048 MiB exceeded with 2100 MiB used."),
    ),
    "batch-queue-wait-timeout": (
        question("RESOURCE_EXHAUSTED: Run() timeout exceeded while waiting in batching queue"),
        question("DEADLINE_EXCEEDED: Timed out waiting for notification"),
    ),
    "client-message-limit": (
        question("client: Received message larger than max (9000000 vs. 4194304)"),
        question("client: HTTP 413 Your client issued a request that was too large."),
    ),
    "instance-cap-reached": (
        with_metrics(NO_INSTANCE, metrics={INSTANCES: 2.0}, deploy=CAPPED),
        with_metrics(NO_INSTANCE, metrics={INSTANCES: 1.0}, deploy=CAPPED),
    ),
    "admin-api-rate-limit": (
        question(
            "429 Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per region' "
            "of service 'run.googleapis.com'"
        ),
        question("429 Rate exceeded."),
    ),
    "gpu-quota-refused": (
        question("400 Max instances must be set to 3 or fewer in order to set GPU requirements."),
        question("400 Max instances must be set to 3 or fewer to set the requested total CPU."),
    ),
    "cpu-memory-quota-refused": (
        question("400 Max instances must be set to 3 or fewer to set the requested total memory."),
        question("400 Max instances must be set to 3 or fewer in order to set GPU requirements."),
    ),
    "gpu-surge-at-rollout": (
        question("Revision 'a-2' is not ready. Quota exceeded for total allowable count of GPUs per project per region."),
        question("400 Max instances must be set to 3 or fewer in order to set GPU requirements."),
    ),
    "batch-queue-full": (
        question("UNAVAILABLE: The batch scheduling queue to which this task was submitted is full"),
        question('StatusCode.UNAVAILABLE details = "Received http2 header with status: 429"'),
    ),
    "host-memory-exceeded": (
        question("Memory limit of 2048 MiB exceeded with 2100 MiB used."),
        question("OOM when allocating tensor with shape[8,9] and type float on /device:GPU:0 by allocator GPU_0_bfc"),
    ),
    "protocol-mismatch": (
        question("client: upstream connect error or disconnect/reset before headers. reset reason: protocol error", *UP),
        question("client: upstream connect error or disconnect/reset before headers. reset reason: overflow"),
    ),
    "scale-out-lag": (
        with_metrics(NO_INSTANCE, metrics={INSTANCES: 1.0}, deploy=CAPPED),
        with_metrics(NO_INSTANCE, metrics={INSTANCES: 2.0}, deploy=CAPPED),
    ),
    "socket-exhaustion": (
        with_metrics(
            BROKEN,
            metrics={
                "run.googleapis.com/request_count rate{per=instance} [1/s]": 1_200.0,
                "run.googleapis.com/container/memory/utilizations p99 [ratio]": 0.3,
                "run.googleapis.com/container/startup_latencies count [starts]": 0.0,
            },
            deploy=cpu_service("--concurrency=200"),
        ),
        with_metrics(
            BROKEN,
            "Memory limit of 8192 MiB exceeded with 8200 MiB used.",
            metrics={"run.googleapis.com/request_count rate{per=instance} [1/s]": 1_200.0},
            deploy=cpu_service("--concurrency=200"),
        ),
    ),
    "request-timeout": (
        question('POST /v1/models/m:predict -> 504 {"error": "Timed out waiting for notification"}'),
        question("RESOURCE_EXHAUSTED: Run() timeout exceeded while waiting in batching queue"),
    ),
    "request-too-large": (
        question("client: HTTP 413 Your client issued a request that was too large."),
        question("client: Received message larger than max (9000000 vs. 4194304)"),
    ),
    "retry-amplification": (
        with_metrics(
            metrics={
                "client/attempts_per_call mean [attempts]": 5.5,
                "client/messages_published rate [1/s]": 6.0,
                REQUESTS: 33.0,
            }
        ),
        with_metrics(
            metrics={
                "client/attempts_per_call mean [attempts]": 1.0,
                "client/messages_published rate [1/s]": 33.0,
                REQUESTS: 33.0,
            }
        ),
    ),
    "port-mismatch": (question(*UP, PORT), question(LOADING, TCP_FAILED)),
    "startup-window-too-short": (question(LOADING, TCP_FAILED), question(*UP, PORT)),
    "probe-misconfigured": (
        question(
            "22:28:30.263 Starting new instance. Reason: DEPLOYMENT_ROLLOUT",
            "22:28:30.484 STARTUP HTTP probe failed 1 time consecutively on port 8501. "
            "Connection failed with status ERROR_CONNECTION_FAILED.",
        ),
        question(LOADING, TCP_FAILED),
    ),
    "model-load-failed": (question(OTHER_FAILURE, GONE, objects=WHOLE), question(LOAD_FAILED, objects=WHOLE[:2])),
    "model-path-empty": (
        question("No versions of servable m found under base path gs://acme/m."),
        question("Failed to start server. Error: INVALID_ARGUMENT: Invalid protobuf file: '/m.config'"),
    ),
    "server-config-invalid": (
        question("Failed to start server. Error: INVALID_ARGUMENT: Invalid protobuf file: '/m.config'"),
        question("No versions of servable m found under base path gs://acme/m."),
    ),
    "image-architecture": (
        question("failed to load /usr/bin/tf_serving_entrypoint.sh: exec format error", PORT),
        question(*UP, PORT),
    ),
    "access-denied": (
        question("Google Cloud Run Service Agent must have permission to read the image, eu.gcr.io/x/y:1."),
        question("Resource readiness deadline exceeded."),
    ),
    "platform-transient": (
        question("Resource readiness deadline exceeded."),
        question("Google Cloud Run Service Agent must have permission to read the image, eu.gcr.io/x/y:1."),
    ),
    "cuda-driver-mismatch": (
        question("cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version"),
        question("CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer."),
    ),
    "gpu-kernels-jit": (
        question(
            "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0. "
            "CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer."
        ),
        question("cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version"),
    ),
    "gpu-unused": (
        with_metrics(
            metrics={GPU_USE: 0.0, "run.googleapis.com/container/gpu/memory_usages max [MiB]": 0.0, CPU_USE: 0.98, REQUESTS: 9.0},
            deploy=gpu_service("--concurrency=8"),
        ),
        with_metrics(
            metrics={GPU_USE: 0.2, "run.googleapis.com/container/gpu/memory_usages max [MiB]": 21_000.0, CPU_USE: 0.98, REQUESTS: 9.0},
            deploy=gpu_service("--concurrency=8"),
        ),
    ),
    "rollout-in-progress": (
        question(
            "reconciling: true; terminal_condition: CONDITION_RECONCILING; revision_reason: MIN_INSTANCES_NOT_PROVISIONED; elapsed 60 s"
        ),
        question("Revision 'a-2' is not ready. Quota exceeded for total allowable count of GPUs per project per region."),
    ),
    "partial-upload": (question(LOAD_FAILED, objects=WHOLE[:2]), question(OTHER_FAILURE, GONE, objects=WHOLE)),
    "version-load-gave-up": (
        with_metrics(
            GONE,
            'GET /v1/models/m -> {"model_version_status":['
            '{"version":"4","state":"END","status":{"error_code":"UNAVAILABLE","error_message":"x"}},'
            '{"version":"3","state":"AVAILABLE","status":{"error_code":"OK","error_message":""}}]}',
            metrics={served("OK"): 40.0},
            objects=WHOLE,
        ),
        question(f"GET /v1/models/m -> {UNLOADED}", "404 Servable not found for request: Latest(m)"),
    ),
    "version-unloaded": (
        question(f"GET /v1/models/m -> {UNLOADED}", "404 Servable not found for request: Latest(m)"),
        question(GONE, LOAD_FAILED, objects=WHOLE),
    ),
    "reload-not-effective": (
        question("client: HandleReloadConfigRequest -> DEADLINE_EXCEEDED after 600 s", flags=["--file_system_poll_wait_seconds=0"]),
        question("client: Predict -> DEADLINE_EXCEEDED after 600 s", flags=["--file_system_poll_wait_seconds=60"]),
    ),
    "model-not-batchable": (
        question("INVALID_ARGUMENT: Batching Run() input tensors must have at least one dimension"),
        question("INVALID_ARGUMENT: Task size 96 is larger than maximum input batch size 64"),
    ),
    "request-rows-over-limit": (
        question("INVALID_ARGUMENT: Task size 96 is larger than maximum input batch size 64"),
        question("INVALID_ARGUMENT: Batching Run() input tensors must have at least one dimension"),
    ),
    "load-interference": (
        with_metrics(
            "12:00:03 Loading servable: {name: b version: 5}",
            "12:02:10 Successfully loaded servable version {name: b version: 5}",
            metrics={
                ":tensorflow:serving:request_latency{model_name=a} p99{minute=11:59} [us]": 38_000.0,
                ":tensorflow:serving:request_latency{model_name=a} p99{minute=12:01} [us]": 195_000.0,
                ":tensorflow:serving:request_latency{model_name=a} p99{minute=12:04} [us]": 40_000.0,
            },
        ),
        with_metrics(
            "12:00:03 Loading servable: {name: b version: 5}",
            "12:02:10 Successfully loaded servable version {name: b version: 5}",
            metrics={
                ":tensorflow:serving:request_latency{model_name=a} p99{minute=11:59} [us]": 38_000.0,
                ":tensorflow:serving:request_latency{model_name=a} p99{minute=12:01} [us]": 39_000.0,
                ":tensorflow:serving:request_latency{model_name=a} p99{minute=12:04} [us]": 40_000.0,
            },
        ),
    ),
    "batch-underfilled": (
        with_metrics(
            metrics={ROWS: 1.4, GPU_USE: 0.4, IN_FLIGHT: 15.0, QUEUE: 200.0, SLOW: 90.0},
            deploy=gpu_service("--concurrency=16", args=BATCHED),
            batching=batching(32, threads=16),
            p99_ms=60,
        ),
        with_metrics(
            metrics={ROWS: 31.0, GPU_USE: 0.97, IN_FLIGHT: 64.0, QUEUE: 20_000.0, SLOW: 90.0},
            deploy=gpu_service("--concurrency=64", args=BATCHED),
            batching=batching(32, threads=2),
            p99_ms=60,
        ),
    ),
    "batch-timeout-latency": (
        with_metrics(
            metrics={REQUESTS: 3.0, ROWS: 1.0, QUEUE: 60_100.0, SLOW: 70.0, GPU_USE: 0.02},
            batching=batching(32, timeout=60_000),
            p99_ms=50,
            batch_ms={1: 6},
        ),
        with_metrics(
            metrics={REQUESTS: 3.0, ROWS: 1.0, QUEUE: 100.0, SLOW: 10.0, GPU_USE: 0.02},
            batching=batching(32, timeout=0),
            p99_ms=50,
            batch_ms={1: 6},
        ),
    ),
    "queue-too-deep": (
        with_metrics(
            metrics={QUEUE: 3_400_000.0, served("UNAVAILABLE"): 0.0, "client/cancelled ratio [ratio]": 0.5, GPU_USE: 0.99, ROWS: 16.0},
            deploy=gpu_service("--concurrency=500", args=BATCHED),
            batching=batching(16, queue=1_000_000, threads=2),
            p99_ms=1_000,
            client_deadline_ms=2_000,
            batch_ms={1: 30, 16: 120},
        ),
        with_metrics(
            "UNAVAILABLE: The batch scheduling queue to which this task was submitted is full",
            metrics={QUEUE: 30_000.0, served("UNAVAILABLE"): 40.0, GPU_USE: 0.99, ROWS: 16.0},
            deploy=gpu_service("--concurrency=500", args=BATCHED),
            batching=batching(16, queue=2, threads=2),
            p99_ms=1_000,
        ),
    ),
    "cpu-bound-host": (
        with_metrics(
            metrics={CPU_USE: 0.98, GPU_USE: 0.15, ":tensorflow:serving:runtime_latency mean [us]": 40_000.0, QUEUE: 900.0, SLOW: 640.0},
            deploy=gpu_service("--concurrency=14", port="--port=8501"),
            request_mib=5,
        ),
        with_metrics(metrics={CPU_USE: 0.2, GPU_USE: 0.15, QUEUE: 900.0}, deploy=gpu_service("--concurrency=14", port="--port=8501")),
    ),
    "compute-bound-model": (
        with_metrics(
            metrics={GPU_USE: 0.98, ROWS: 7.8, CPU_USE: 0.2, INSTANCES: 2.0, SLOW: 900.0, IN_FLIGHT: 15.0},
            deploy=gpu_service("--concurrency=16", "--max-instances=2", args=BATCHED),
            batching=batching(8, queue=2),
            p99_ms=600,
            batch_ms={1: 33, 8: 257},
        ),
        with_metrics(
            metrics={
                GPU_USE: 0.98,
                ROWS: 7.8,
                CPU_USE: 0.2,
                INSTANCES: 2.0,
                SLOW: 90.0,
                IN_FLIGHT: 15.0,
                REQUESTS: 40.0,
                answered("5xx"): 0.0,
            },
            deploy=gpu_service("--concurrency=16", "--max-instances=2", args=BATCHED),
            batching=batching(8, queue=2),
            p99_ms=600,
            batch_ms={1: 33, 8: 40},
        ),
    ),
    "concurrency-too-high": (
        with_metrics(
            metrics={INSTANCES: 1.0, IN_FLIGHT: 118.0, CPU_USE: 0.3, GPU_USE: 0.99, SLOW: 2_300.0},
            deploy=gpu_service("--concurrency=320", "--max-instances=3"),
            p99_ms=800,
        ),
        with_metrics(
            metrics={INSTANCES: 1.0, IN_FLIGHT: 118.0, CPU_USE: 0.3, GPU_USE: 0.99, SLOW: 200.0},
            deploy=gpu_service("--concurrency=320", "--max-instances=3"),
            p99_ms=800,
        ),
    ),
    "over-provisioned": (
        with_metrics(metrics=dict(WEEKS), deploy=KEPT, p99_ms=200),
        with_metrics(metrics=dict.fromkeys(WEEKS), deploy=KEPT, p99_ms=200),
    ),
    "stale-etag": (
        question("409 Conflict for resource 'a': version '17' was specified but current version is '18'."),
        question("409 Revision named 'a-00009-x' with different configuration already exists."),
    ),
    "revision-name-conflict": (
        question("409 Revision named 'a-00009-x' with different configuration already exists."),
        question("409 Conflict for resource 'a': version '17' was specified but current version is '18'."),
    ),
    "api-request-invalid": (
        question("400 The feature 'x' is not supported in the declared launch stage on resource a."),
        question("400 Max instances must be set to 3 or fewer in order to set GPU requirements."),
    ),
    "traffic-pinned": (
        question("latest_ready_revision: a-00016-xyz; reconciling: false", "traffic: a-00014-abc 100 %"),
        question("latest_ready_revision: a-00016-xyz; reconciling: false", "traffic: a-00016-xyz 100 %"),
    ),
    "insufficient-data": (
        with_metrics(metrics={REQUESTS: None, GPU_USE: None, INSTANCES: None}, deploy=CAPPED),
        with_metrics(metrics={**QUIET, SLOW: 90.0}, deploy=CAPPED, p99_ms=150),
    ),
    "metric-name-wrong": (
        with_metrics(metrics={"run.googleapis.com/container/gpu/utilization p50 [ratio]": None, REQUESTS: 180.0}),
        with_metrics(metrics={GPU_USE: None, REQUESTS: 180.0}),
    ),
    "no-fault": (
        with_metrics(metrics={**QUIET, SLOW: 90.0}, deploy=CAPPED, p99_ms=150),
        with_metrics(metrics={REQUESTS: None, GPU_USE: None, INSTANCES: None}, deploy=CAPPED, p99_ms=150),
    ),
}


def _first(given: Given) -> str:
    return diagnose(given).causes[0].cause


@pytest.mark.parametrize("cause", PAIRS)
def test_it_is_the_first_answer_to_its_question(cause: str) -> None:
    assert _first(PAIRS[cause][0]) == cause


@pytest.mark.parametrize("cause", PAIRS)
def test_it_is_not_the_first_answer_to_the_nearest_other_one(cause: str) -> None:
    assert _first(PAIRS[cause][1]) != cause


def test_every_cause_has_its_pair() -> None:
    assert set(PAIRS) == set(CAUSES)
