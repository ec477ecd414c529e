"""Services as they run before Trimtab is told of them: one L4 for each instance, REST JSON of the Admin API v2."""

from datetime import UTC, datetime
from typing import Any

from shared.local.clock import VirtualClock
from shared.local.world.served import ServedWorld, place
from shared.records.service import Autonomy, Objective, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.world.settings import ModelTimes
from shared.simulation.world.workload import Steady, Workload
from tests.support.specs import SERVICE, TYPICAL

START = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
SMALL = ModelTimes.affine(4.0, 0.25, host_ms=2.0, cpu_ms_per_request=0.5)
"""The model A of the study: alone it answers 444 requests a second, in batches of 32 it answers 3,200."""


def running(*args: str, port: int = 8500, max_instances: int = 20, env: dict[str, str] | None = None, **template: Any) -> dict[str, Any]:
    """A whole service; `args` are TF Serving's, port 8500 speaks gRPC and 8501 REST."""
    container: dict[str, Any] = {
        "image": "tensorflow/serving:2.19.0-gpu",
        "args": list(args),
        "ports": [{"name": "h2c" if port == 8500 else "http1", "containerPort": port}],
        "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "4", "memory": "16Gi"}, "cpuIdle": False},
    }
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    return {
        "name": SERVICE.resource_name,
        "scaling": {"maxInstanceCount": max_instances},
        "template": {
            "containers": [container],
            "nodeSelector": {"accelerator": "nvidia-l4"},
            "gpuZonalRedundancyDisabled": True,
            "timeout": "300s",
            **template,
        },
    }


def told(*, max_instances: int = 20, service: ServiceId = SERVICE, **serving: Any) -> ServiceDocument:
    """What Trimtab is told of it: it may act, and everything that can be `auto` is."""
    spec = ServiceSpec.model_validate(
        {
            "scale": ScaleBounds(max_instance_count=max_instances),
            "objective": Objective(p99_ms=50),
            "autonomy": Autonomy.ACT,
            "serving": {**TYPICAL, **serving},
        }
    )
    return ServiceDocument(id=service, spec=spec)


def served(document: dict[str, Any], *, rate: float, lag_s: float = 60.0, warm: int = 1) -> tuple[SimulatedCloudRun, ServedWorld]:
    """The service under a steady load of small requests."""
    clock = VirtualClock(START)
    cloud_run = SimulatedCloudRun(now=clock.now)
    place(cloud_run, SERVICE, document, gpu_quota=40)
    world = ServedWorld(cloud_run, SERVICE, clock, Workload(Steady(rate)), SMALL, good_ms=50.0, seed=1, lag_s=lag_s, warm_instances=warm)
    return cloud_run, world
