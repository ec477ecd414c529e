"""The ten loaded cells that repairs are measured on, and the deployment that each begins with: TF Serving as it comes, over gRPC."""

from dataclasses import dataclass
from typing import Any

from shared.records.service import ServiceDocument, ServiceSpec
from shared.records.subject import ServiceId
from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import ModelTimes
from shared.simulation.world.workload import Workload
from tests.benchmarks.world_policies import LOADS, MODELS, load

DURATION_S = 3600.0
LAST_S = 1200.0
"""Figures are of the end of a run."""
LAG_S = 60.0
MAX_INSTANCES = 20
SERVICE = ServiceId(project="acme-ml", region="europe-west4", name="ranker")


@dataclass(frozen=True)
class Cell:
    """A model and a load."""

    model: str
    load: str

    @property
    def name(self) -> str:
        return f"{self.model} {self.load}"

    @property
    def times(self) -> ModelTimes:
        return MODELS[self.model][0]

    @property
    def good_ms(self) -> float:
        return MODELS[self.model][1]

    @property
    def workload(self) -> Workload:
        return load(self.load, MODELS[self.model][2])


CELLS = tuple(Cell(model, name) for model in MODELS for name in LOADS)


def running() -> dict[str, Any]:
    """The service as `gcloud run deploy` leaves it: an L4, no batching, the console's concurrency."""
    container = {
        "image": "tensorflow/serving:2.19.0-gpu",
        "env": [{"name": "MODEL_NAME", "value": "ranker"}],
        "ports": [{"name": "h2c", "containerPort": 8500}],
        "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "4", "memory": "16Gi"}, "cpuIdle": False},
    }
    return {
        "name": SERVICE.resource_name,
        "scaling": {"maxInstanceCount": MAX_INSTANCES},
        "template": {
            "containers": [container],
            "nodeSelector": {"accelerator": "nvidia-l4"},
            "gpuZonalRedundancyDisabled": True,
            "maxInstanceRequestConcurrency": 80,
            "timeout": "300s",
        },
    }


def told(cell: Cell) -> ServiceDocument:
    """What Trimtab is told of it: it may act, and replaces the template where that explains an incident."""
    spec = {
        "scale": {"max_instance_count": MAX_INSTANCES},
        "objective": {"p99_ms": cell.good_ms},
        "autonomy": "act",
        "serving": {
            "image": "tensorflow/serving:2.19.0-gpu",
            "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 42},
            "accelerator": "nvidia-l4",
            "gpu_zonal_redundancy": False,
            "cpu": "4",
            "memory": "16Gi",
            "take_over": "to-repair",
        },
    }
    return ServiceDocument(id=SERVICE, spec=ServiceSpec.model_validate(spec))


@dataclass(frozen=True)
class Outcome:
    """The end of a run: the share of good answers, dollars per million of them, and the revisions made in the whole run."""

    goodput: float
    usd: float | None
    revisions: int


def outcome(last: RunResult, revisions: int) -> Outcome:
    return Outcome(last.goodput or 0.0, last.usd_per_million_good, revisions)
