"""The simulated Cloud Run's quotas of GPUs, CPU and memory: what is asked for at request time, what is there at provisioning.

Both checks are known from user reports. At request time max instances times what one instance takes is held against the whole
quota, service by service: three services of 3, 2 and 1 max instances have been seen accepted under a quota of 3. At provisioning
the instances of the new revision stand beside those of the old one, so that a full quota leaves no room for a rollout.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from google.cloud import run_v2

from shared.cloudrun.quantities import quantity
from shared.records.observed import Shape
from shared.rendering.observed import shape_of
from shared.simulation.cloud_run_errors import ServiceName, SimulatedError
from shared.simulation.cloud_run_messages import is_manual

DEFAULT_GPU_QUOTA = 3
"""What Cloud Run grants a project and region with its first GPU deployment, without zonal redundancy; with it: none."""
DEFAULT_CPU_QUOTA_MILLI = 10_000_000
"""Generous on purpose: ten thousand vCPUs. Real projects often have 20 to 200 vCPUs; set it where it matters."""
DEFAULT_MEMORY_QUOTA_BYTES = 40 * 2**40
"""Generous on purpose: 40 TiB."""
DEFAULT_CPU = "1000m"
DEFAULT_MEMORY = "512Mi"
"""What a container without limits gets, by Cloud Run's pages on CPU and memory limits."""

NO_GPUS_LEFT = "Quota exceeded for total allowable count of GPUs per project per region."
"""Google's text where a revision passed validation and its GPUs are not there."""

RTX = "nvidia-rtx-pro-6000"
_METRIC_OF_ACCELERATOR = {"nvidia-l4": "NvidiaL4GpuAlloc", RTX: "NvidiaRtxPro6000GpuAlloc"}
_UNITS_OF_ACCELERATOR = {RTX: 1_000}


@dataclass(frozen=True, slots=True)
class QuotaKey:
    """One GPU quota: Cloud Run keeps one per project, region, accelerator and redundancy."""

    project: str
    region: str
    accelerator: str
    zonal_redundancy: bool

    @classmethod
    def of(cls, name: ServiceName, shape: Shape) -> "QuotaKey | None":
        """The quota that instances of the shape are taken from; None without a GPU."""
        if shape.accelerator is None or shape.gpu_count == 0:
            return None
        return cls(name.project, name.region, shape.accelerator, shape.gpu_zonal_redundancy)

    @property
    def metric(self) -> str:
        """The quota's name in Cloud Run's texts."""
        stem = _METRIC_OF_ACCELERATOR.get(self.accelerator, "GpuAlloc")
        return f"{stem}PerProjectRegion" if self.zonal_redundancy else f"{stem}NoZonalRedundancyPerProjectRegion"

    @property
    def units_per_gpu(self) -> int:
        """The RTX quota is counted in thousandths of a GPU, the others in GPUs (Cloud Run's page on quotas)."""
        return _UNITS_OF_ACCELERATOR.get(self.accelerator, 1)

    @property
    def granted_by_default(self) -> int:
        """GPUs of this quota that a project has without asking."""
        return 0 if self.zonal_redundancy else DEFAULT_GPU_QUOTA


class Quotas:
    """What each project and region was granted."""

    def __init__(self) -> None:
        self._gpus: dict[QuotaKey, int] = {}
        self._cpu_milli: dict[tuple[str, str], int] = {}
        self._memory_bytes: dict[tuple[str, str], int] = {}

    def grant_gpus(self, key: QuotaKey, gpus: int) -> None:
        """From now on the quota is that many GPUs."""
        self._gpus[key] = gpus

    def grant_cpu(self, project: str, region: str, cpu_milli: int) -> None:
        """From now on the quota is that many thousandths of a vCPU."""
        self._cpu_milli[project, region] = cpu_milli

    def grant_memory(self, project: str, region: str, memory_bytes: int) -> None:
        """From now on the quota is that many bytes."""
        self._memory_bytes[project, region] = memory_bytes

    def gpus(self, key: QuotaKey) -> int:
        """GPUs of that quota."""
        return self._gpus.get(key, key.granted_by_default)

    def check_gpus(self, service: run_v2.Service, name: ServiceName) -> None:
        """Refuse more GPUs at most than the quota has, for this service alone.

        Raises:
            SimulatedError: INVALID_ARGUMENT, with Google's text.
        """
        shape = shape_of(service.template)
        key = QuotaKey.of(name, shape)
        if key is None:
            return
        allowed = self.gpus(key)
        if allowed < shape.gpu_count:
            raise _no_gpu_quota(service, zonal_redundancy=key.zonal_redundancy)
        requested = _instances_asked_for(service) * shape.gpu_count
        if requested > allowed:
            units = key.units_per_gpu
            raise _too_many(
                service,
                f"Max instances must be set to {allowed // shape.gpu_count} or fewer in order to set GPU requirements.\n"
                "To request quota: g.co/cloudrun/gpu-quota",
                [f"{key.metric} requested: {requested * units} allowed: {allowed * units}"],
            )

    def check_cpu_and_memory(self, service: run_v2.Service, name: ServiceName) -> None:
        """Refuse more CPU or memory at most than the quota has; Cloud Run looks at GPUs before.

        Raises:
            SimulatedError: INVALID_ARGUMENT, with Google's text.
        """
        where = (name.project, name.region)
        cpu, memory = cpu_milli_of(service.template), memory_bytes_of(service.template)
        instances = _instances_asked_for(service)
        wanted = (
            ("CpuAllocPerProjectRegion", cpu, self._cpu_milli.get(where, DEFAULT_CPU_QUOTA_MILLI)),
            ("MemAllocPerProjectRegion", memory, self._memory_bytes.get(where, DEFAULT_MEMORY_QUOTA_BYTES)),
        )
        violated = [(metric, each, allowed) for metric, each, allowed in wanted if each * instances > allowed]
        if violated:
            fit = min(allowed // each for _, each, allowed in violated)
            raise _too_many(
                service,
                f"Max instances must be set to {fit} or fewer to set the requested total CPU/memory.",
                [f"{metric} requested: {each * instances} allowed: {allowed}" for metric, each, allowed in violated],
            )

    def no_room(self, key: QuotaKey, *, running_gpus: int, wanted_gpus: int) -> bool:
        """Whether a new revision's first instances do not fit beside everything that runs."""
        return running_gpus + wanted_gpus > self.gpus(key)


def cpu_milli_of(template: run_v2.RevisionTemplate) -> int:
    """CPU of one instance in thousandths of a vCPU, its containers together."""
    return _total((container.resources.limits.get("cpu", DEFAULT_CPU) for container in template.containers), scale=1_000)


def memory_bytes_of(template: run_v2.RevisionTemplate) -> int:
    """Memory of one instance, its containers together."""
    return _total((container.resources.limits.get("memory", DEFAULT_MEMORY) for container in template.containers), scale=1)


def _total(texts: Iterable[str], *, scale: int) -> int:
    return sum(int((quantity(text) or 0) * scale) for text in texts)


def _instances_asked_for(service: run_v2.Service) -> int:
    """The most instances the service may have; 0 where it states no maximum: Cloud Run takes one that its quotas allow."""
    if is_manual(service):
        return service.scaling.manual_instance_count
    stated = (service.scaling.max_instance_count, service.template.scaling.max_instance_count)
    return min((bound for bound in stated if bound > 0), default=0)


def _field_of_maximum(service: run_v2.Service) -> str:
    return "scaling.max_instance_count" if service.scaling.max_instance_count else "template.scaling.max_instance_count"


def _too_many(service: run_v2.Service, text: str, violated: list[str]) -> SimulatedError:
    field = _field_of_maximum(service)
    return SimulatedError("INVALID_ARGUMENT", "\n".join([f"{field}: {text}", "Quota violated:", *violated]), field=field)


def _no_gpu_quota(service: run_v2.Service, *, zonal_redundancy: bool) -> SimulatedError:
    """The project has no quota of that kind at all."""
    field = _field_of_maximum(service)
    kind = "with" if zonal_redundancy else "without"
    hint = " You could deploy using GPUs without zonal redundancy instead." if zonal_redundancy else ""
    return SimulatedError(
        "INVALID_ARGUMENT",
        f"{field}: You do not have quota for using GPUs {kind} zonal redundancy.{hint} "
        "Learn more about GPU zonal redundancy: g.co/cloudrun/gpu-redundancy-help\n"
        "To request quota: g.co/cloudrun/gpu-quota",
        field=field,
    )
