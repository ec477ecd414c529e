"""What the simulated Cloud Run answers when it does not do what it was asked, in Google's own words."""

from dataclasses import dataclass

from google.cloud import run_v2


@dataclass(frozen=True, slots=True)
class ServiceName:
    """The parts of `projects/P/locations/R/services/S`."""

    project: str
    region: str
    service: str

    @property
    def parent(self) -> str:
        """`projects/P/locations/R`."""
        return f"projects/{self.project}/locations/{self.region}"

    @property
    def full(self) -> str:
        """`projects/P/locations/R/services/S`."""
        return f"{self.parent}/services/{self.service}"


class SimulatedError(Exception):
    """A refusal by the simulated Cloud Run: the gRPC status' name, the text, and the request's field at fault if one is."""

    def __init__(self, status: str, text: str, *, field: str | None = None) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text
        self.field = field


def parse_service_name(name: str) -> ServiceName:
    """Read a service's full name.

    Raises:
        SimulatedError: INVALID_ARGUMENT, it is not one.
    """
    parts = name.split("/")
    if [*parts[::2]] != ["projects", "locations", "services"] or len(parts) != 6 or not all(parts):  # noqa: PLR2004 (three pairs)
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid resource name: {name!r}", field="name")
    return ServiceName(parts[1], parts[3], parts[5])


def service_not_found(name: ServiceName) -> SimulatedError:
    """No service of that name."""
    return SimulatedError(
        "NOT_FOUND",
        f"Resource '{name.service}' of kind 'SERVICE' in region '{name.region}' in project '{name.project}' does not exist.",
    )


def service_exists(name: ServiceName) -> SimulatedError:
    """A service of that name is there already."""
    return SimulatedError("ALREADY_EXISTS", f"Resource '{name.service}' already exists.")


def stale_etag(name: ServiceName, *, given: str, current: str) -> SimulatedError:
    """The etag of the request is not the service's."""
    return SimulatedError(
        "ABORTED",
        f"Conflict for resource '{name.service}': version '{given}' was specified but current version is '{current}'.",
    )


def revision_exists(revision: str) -> SimulatedError:
    """The template changed while its name still is that of an older revision."""
    return SimulatedError("ALREADY_EXISTS", f"Revision named '{revision}' with different configuration already exists.")


def violation(request: str, field: str, text: str) -> SimulatedError:
    """A value that Cloud Run's validation refuses; `request` is the request message's name, `field` the path below it."""
    return SimulatedError("INVALID_ARGUMENT", f"Violation in {request}.{field}: {text}", field=field)


def too_many_gpus(service: run_v2.Service, *, metric: str, requested: int, allowed: int, allowed_instances: int) -> SimulatedError:
    """Max instances times GPUs is above the GPU quota."""
    field = "scaling.max_instance_count" if service.scaling.max_instance_count else "template.scaling.max_instance_count"
    return SimulatedError(
        "INVALID_ARGUMENT",
        f"{field}: Max instances must be set to {allowed_instances} or fewer in order to set GPU requirements.\n"
        "To request quota: g.co/cloudrun/gpu-quota\n"
        f"Quota violated:\n{metric} requested: {requested} allowed: {allowed}",
        field=field,
    )


def no_gpu_quota(service: run_v2.Service, *, zonal_redundancy: bool) -> SimulatedError:
    """The project has no quota of that kind at all."""
    field = "scaling.max_instance_count" if service.scaling.max_instance_count else "template.scaling.max_instance_count"
    kind, other = ("with", "without") if zonal_redundancy else ("without", "with")
    hint = f" You could deploy using GPUs {other} zonal redundancy instead." if zonal_redundancy else ""
    return SimulatedError(
        "INVALID_ARGUMENT",
        f"{field}: You do not have quota for using GPUs {kind} zonal redundancy.{hint} "
        "Learn more about GPU zonal redundancy: g.co/cloudrun/gpu-redundancy-help\n"
        "To request quota: g.co/cloudrun/gpu-quota",
        field=field,
    )
