"""Scenarios of a few simulated minutes, as their files would be read."""

from typing import Any

L4 = "--gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --cpu=4 --memory=16Gi --no-cpu-throttling"
DEFAULTS = (
    f"gcloud run deploy ranker --region=europe-west1 --image=tensorflow/serving:2.20.0-gpu {L4} --no-allow-unauthenticated "
    "--concurrency=80 --max-instances=2 --port=8500 --use-http2 --set-env-vars=MODEL_NAME=ranker"
)
CONSISTENT = (
    f"gcloud run deploy ranker --region=europe-west1 --image=tensorflow/serving:2.20.0-gpu {L4} --no-allow-unauthenticated "
    "--concurrency=96 --max-instances=2 --port=8500 --use-http2 --set-env-vars=MODEL_NAME=ranker "
    "'--args=^;^--enable_batching=true;--batching_parameters_file=/etc/batching.txt;--grpc_max_threads=104'"
)
BATCHING = """max_batch_size { value: 32 }
batch_timeout_micros { value: 0 }
num_batch_threads { value: 2 }
max_enqueued_batches { value: 4 }
"""
NOT_SWITCHED_ON = f"{DEFAULTS} '--args=^;^--batching_parameters_file=/etc/batching.txt'"


def scenario(**changed: Any) -> dict[str, Any]:
    """Defaults over gRPC under twice what they carry; two simulated minutes after one."""
    return {
        "service": {"gcloud": DEFAULTS},
        "model": {"a_ms": 4, "c_ms": 0.25, "host_ms": 2, "cpu_ms_per_request": 0.5},
        "workload": {"kind": "steady", "rows_per_s": 900},
        "objective": {"p99_ms": 50},
        "seed": 3,
        "duration_s": 120,
        "warm_up_s": 60,
        **changed,
    }
