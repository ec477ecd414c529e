"""Questions as their tests write them: keyword to part, all else absent."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.diagnose.diagnosis import Diagnosis, diagnose
from shared.lint.given import Arguments, Given, Listing, StoredObject, Text, Workload

GPU = "--gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --cpu=4 --memory=16Gi"
CLOUD_RUN = "run.googleapis.com/"
INSTANCES = f"{CLOUD_RUN}container/instance_count{{state=active}} max [instances]"
GPU_USE = f"{CLOUD_RUN}container/gpu/utilizations p50 [ratio]"
CPU_USE = f"{CLOUD_RUN}container/cpu/utilizations p95 [ratio]"
IN_FLIGHT = f"{CLOUD_RUN}container/max_request_concurrencies p99 [requests]"
SLOW = f"{CLOUD_RUN}request_latencies p99 [ms]"
REQUESTS = f"{CLOUD_RUN}request_count rate [1/s]"
QUEUE = ":tensorflow:serving:batching_session:queuing_latency mean [us]"
ROWS = ":tensorflow:serving:batching_session:processed_batch_size mean [rows]"


def served(status: str) -> str:
    """The key of TF Serving's count of requests that ended so."""
    return f":tensorflow:serving:request_count{{status={status}}} rate [1/s]"


def answered(code: str) -> str:
    """The key of Cloud Run's count of answers with a status, or a class of them."""
    label = "response_code_class" if code.endswith("xx") else "response_code"
    return f"{CLOUD_RUN}request_count{{{label}={code}}} rate [1/s]"


def gpu_service(*flags: str, port: str = "--port=8500 --use-http2", args: str = "") -> str:
    """A command that deploys a GPU service."""
    server = f" --args={args}" if args else ""
    return f"gcloud run deploy ranker --region=us-east4 --image=tensorflow/serving:2.20.0-gpu {GPU} {port} {' '.join(flags)}{server}"


def cpu_service(*flags: str, port: str = "--port=8501") -> str:
    """A command that deploys a service without a GPU."""
    return f"gcloud run deploy ranker --region=us-east4 --image=tensorflow/serving:2.20.0 --cpu=4 --memory=8Gi {port} {' '.join(flags)}"


def batching(size: int, *, timeout: int = 0, queue: int = 4, threads: int = 1, allowed: Sequence[int] = ()) -> str:
    """A batching file."""
    lines = [
        f"max_batch_size {{ value: {size} }}",
        f"batch_timeout_micros {{ value: {timeout} }}",
        f"max_enqueued_batches {{ value: {queue} }}",
        f"num_batch_threads {{ value: {threads} }}",
        *(f"allowed_batch_sizes: {each}" for each in allowed),
    ]
    return "\n".join(lines) + "\n"


def question(
    *logs: str,
    metrics: Mapping[str, float | None] | None = None,
    deploy: str | None = None,
    batching: str | None = None,
    models: str | None = None,
    flags: Sequence[str] = (),
    objects: Sequence[tuple[str, int]] = (),
    p99_ms: float | None = None,
    alert: Mapping[str, Any] | None = None,
    alert_policy: str | None = None,
    **workload: Any,
) -> Given:
    """One question."""

    def text(value: str | None) -> Text | None:
        return None if value is None else Text(value, "question.yaml")

    return Given(
        name="question.yaml",
        deploy=text(deploy),
        batching=text(batching),
        models=text(models),
        alert_policy=text(alert_policy),
        flags=Arguments(tuple(flags), "question.yaml", (None,) * len(flags)) if flags else None,
        objects=Listing(tuple(StoredObject(*each) for each in objects), "question.yaml", 1) if objects else None,
        p99_ms=p99_ms,
        workload=Workload(**workload),
        logs=logs,
        metrics=metrics or {},
        alert=alert,
    )


def ask(*logs: str, **parts: Any) -> Diagnosis:
    """The answer to one question."""
    return diagnose(question(*logs, **parts))


def first(*logs: str, **parts: Any) -> str:
    """The likeliest cause."""
    return ask(*logs, **parts).causes[0].cause


def remedies(diagnosis: Diagnosis) -> list[str]:
    """The names of what is proposed, in order."""
    return [each.remedy for each in diagnosis.remedies]


def avoided(diagnosis: Diagnosis) -> set[str]:
    """The names of what is warned of."""
    return {each.remedy for each in diagnosis.avoid}


def confidence(diagnosis: Diagnosis, cause: str) -> float:
    """Of a cause; 0 where it is not named."""
    return next((each.confidence for each in diagnosis.causes if each.cause == cause), 0.0)
