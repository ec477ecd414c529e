"""What the simulated Cloud Run accepts: the checks of a write, and what an update mask does. Pure.

The checks are those of Cloud Run's own validation that concern scaling, GPUs and traffic; whatever is not checked here is
accepted, which Cloud Run might not do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.records.observed import Shape
from shared.rendering.observed import shape_of
from shared.simulation.cloud_run_errors import ServiceName, SimulatedError, no_gpu_quota, too_many_gpus, violation

OUTPUT_ONLY = frozenset(
    {
        "name",
        "uid",
        "generation",
        "create_time",
        "update_time",
        "delete_time",
        "expire_time",
        "creator",
        "last_modifier",
        "urls",
        "uri",
        "observed_generation",
        "terminal_condition",
        "conditions",
        "latest_ready_revision",
        "latest_created_revision",
        "traffic_statuses",
        "reconciling",
        "satisfies_pzs",
        "threat_detection_enabled",
        "etag",
    }
)
"""Fields of `Service` that only Cloud Run writes; in a request they are ignored."""

DEFAULT_GPU_QUOTA = 3
"""What Cloud Run grants a project and region with its first GPU deployment, without zonal redundancy; with it: none."""

_MIN_GT_MAX = "must be greater than or equal to min_instance_count."
_NEGATIVE = "must be greater than or equal to zero."
_METRIC_OF_ACCELERATOR: Mapping[str, str] = {"nvidia-l4": "NvidiaL4GpuAlloc", "nvidia-rtx-pro-6000": "NvidiaRtxPro6000GpuAlloc"}


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
    def granted_by_default(self) -> int:
        """GPUs of this quota that a project has without asking."""
        return 0 if self.zonal_redundancy else DEFAULT_GPU_QUOTA


def merged(stored: run_v2.Service, given: run_v2.Service, mask: field_mask_pb2.FieldMask | None) -> run_v2.Service:
    """The stored service with the given one's values where the mask says so; output-only fields stay as stored.

    No mask, an empty one or `*` replaces everything writable, fields unknown to this code included. A masked field that the given
    service does not set is cleared.

    Raises:
        SimulatedError: INVALID_ARGUMENT, a path of the mask is no field of a service.
    """
    before, source = run_v2.Service.pb(stored), run_v2.Service.pb(given)
    paths = list(mask.paths) if mask is not None else []
    result = run_v2.Service.pb()()
    if not paths or paths == ["*"]:
        result.CopyFrom(source)
        for field in OUTPUT_ONLY:
            result.ClearField(field)
        _copy_fields(before, result, OUTPUT_ONLY)
        return cast("run_v2.Service", run_v2.Service.wrap(result))
    result.CopyFrom(before)
    writable = field_mask_pb2.FieldMask(paths=[path for path in paths if path.split(".", 1)[0] not in OUTPUT_ONLY])
    if not writable.IsValidForDescriptor(result.DESCRIPTOR):
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid update mask: {', '.join(paths)}", field="update_mask")
    for path in writable.paths:
        _clear(result, path)
    # replace_message_field and replace_repeated_field: an update mask replaces, it does not add.
    writable.MergeMessage(source, result, True, True)  # noqa: FBT003
    return cast("run_v2.Service", run_v2.Service.wrap(result))


def _clear(message: Any, path: str) -> None:
    """Clear the field at the path. MergeMessage skips a path whose parent the source does not set; a mask must clear it."""
    *parents, leaf = path.split(".")
    for parent in parents:
        if not message.HasField(parent):
            return
        message = getattr(message, parent)
    message.ClearField(leaf)


def _copy_fields(source: Any, target: Any, names: frozenset[str]) -> None:
    """Copy the named top-level fields; other fields of the target stay."""
    kept = type(source)()
    kept.CopyFrom(source)
    for field, _ in source.ListFields():
        if field.name not in names:
            kept.ClearField(field.name)
    kept.DiscardUnknownFields()
    target.MergeFrom(kept)


def check(service: run_v2.Service, *, name: ServiceName, request: str, quota: Callable[[QuotaKey], int]) -> None:
    """Refuse what Cloud Run refuses at request time. `request` is the request message's name, for the text.

    GPU quota is checked for this service alone, max instances times GPUs against the whole quota: three services of 3, 2 and 1
    max instances have been seen accepted under a quota of 3. Whether the GPUs are there when instances start is another matter.

    Raises:
        SimulatedError: INVALID_ARGUMENT, with Google's text.
    """
    root = f"{request}.service"
    for path, bounds in (("scaling", service.scaling), ("template.scaling", service.template.scaling)):
        _check_bounds(root, path, bounds.min_instance_count, bounds.max_instance_count)
    if "manual_instance_count" in service.scaling:
        if service.scaling.manual_instance_count < 0:
            raise violation(root, "scaling.manual_instance_count", _NEGATIVE)
        if service.scaling.scaling_mode != run_v2.ServiceScaling.ScalingMode.MANUAL:
            raise violation(root, "scaling.manual_instance_count", "scaling mode must be set to MANUAL.")
    if service.traffic and sum(target.percent for target in service.traffic) != 100:  # noqa: PLR2004 (percent)
        raise violation(root, "traffic", "the sum of percentages should be 100.")
    _check_gpus(service, name=name, root=root, quota=quota)


def _check_bounds(root: str, path: str, low: int, high: int) -> None:
    if low < 0:
        raise violation(root, f"{path}.min_instance_count", _NEGATIVE)
    if high < 0:
        raise violation(root, f"{path}.max_instance_count", _NEGATIVE)
    if 0 < high < low:
        raise violation(root, f"{path}.max_instance_count", _MIN_GT_MAX)


def _check_gpus(service: run_v2.Service, *, name: ServiceName, root: str, quota: Callable[[QuotaKey], int]) -> None:
    shape = shape_of(service.template)
    if shape.gpu_count > 1:
        raise violation(root, "template.containers.resources.limits", "GPU can only be set to 1.")
    key = QuotaKey.of(name, shape)
    if key is None:
        return
    allowed = quota(key)
    if allowed < shape.gpu_count:
        raise no_gpu_quota(service, zonal_redundancy=key.zonal_redundancy)
    stated = [bound for bound in (service.scaling.max_instance_count, service.template.scaling.max_instance_count) if bound > 0]
    # Where no maximum is stated Cloud Run takes one that its quotas allow.
    requested = min(stated, default=0) * shape.gpu_count
    if requested > allowed:
        raise too_many_gpus(
            service,
            metric=key.metric,
            requested=requested,
            allowed=allowed,
            allowed_instances=allowed // shape.gpu_count,
        )
