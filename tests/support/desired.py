"""Typical desired settings and the service that they are rendered into."""

from typing import Any

from google.cloud import run_v2

from shared.records.observed import Bounds
from shared.records.serving import DesiredServing
from shared.rendering.serving import overlay


def desired(**changes: Any) -> DesiredServing:
    """A gRPC service on an L4 that serves version 42 of one model from its bucket, batched."""
    values: dict[str, Any] = {
        "image": "tensorflow/serving:2.20.0-gpu",
        "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 42, "source": "gcs"},
        "protocol": "grpc",
        "accelerator": "nvidia-l4",
        "gpu_zonal_redundancy": False,
        "cpu": "4",
        "memory": "16Gi",
        "service_account": "ranker@acme-ml.iam.gserviceaccount.com",
        "max_instance_request_concurrency": 96,
        "batching": {
            "max_batch_size": 32,
            "batch_timeout_micros": 0,
            "max_enqueued_batches": 4,
            "num_batch_threads": 2,
            "allowed_batch_sizes": (1, 8, 32),
        },
        "timeout_seconds": 60,
        "start_up_seconds": 600,
        "max_instance_count": 10,
        "metrics_sidecar": True,
        **changes,
    }
    return DesiredServing.model_validate(values)


def own_entry(**changes: Any) -> DesiredServing:
    """The same service with a command of its owner's."""
    kept: dict[str, Any] = {
        "model": None,
        "batching": None,
        "start_up_seconds": None,
        "metrics_sidecar": False,
        "own_entry": {"command": (), "args": ("--enable_batching=true",), "port": 8500},
    }
    return desired(**{**kept, **changes})


def rendered(wanted: DesiredServing | None = None) -> run_v2.Service:
    """A service that holds exactly what is rendered, with bounds."""
    return overlay(run_v2.Service(), wanted or desired(), bounds=Bounds(min_instance_count=1, max_instance_count=4))
