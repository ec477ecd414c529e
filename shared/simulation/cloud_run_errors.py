"""What the simulated Cloud Run answers when it does not do what it was asked, in Google's own words."""

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class RevisionName:
    """The parts of `projects/P/locations/R/services/S/revisions/V`."""

    service: ServiceName
    revision: str

    @property
    def full(self) -> str:
        """`projects/P/locations/R/services/S/revisions/V`."""
        return f"{self.service.full}/revisions/{self.revision}"


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


def parse_revision_name(name: str) -> RevisionName:
    """Read a revision's full name.

    Raises:
        SimulatedError: INVALID_ARGUMENT, it is not one.
    """
    service, separator, revision = name.partition("/revisions/")
    if not separator or not revision or "/" in revision:
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid resource name: {name!r}", field="name")
    return RevisionName(parse_service_name(service), revision)


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


def revision_not_found(name: RevisionName) -> SimulatedError:
    """No revision of that name."""
    where = name.service
    return SimulatedError(
        "NOT_FOUND",
        f"Resource '{name.revision}' of kind 'REVISION' in region '{where.region}' in project '{where.project}' does not exist.",
    )


def revision_in_use(revision: str, why: str) -> SimulatedError:
    """A revision that may not be deleted: Cloud Run's page on managing revisions says which; the text is not recorded anywhere."""
    return SimulatedError("FAILED_PRECONDITION", f"Revision '{revision}' cannot be deleted because it {why}.")


def revision_gone(revision: str) -> SimulatedError:
    """Traffic names a revision that is not there. Users see this text when they wait for the write, not as its answer."""
    return SimulatedError(
        "INTERNAL",
        f"Revision '{revision}' does not exist or is deleted. Update all traffic to route to currently available revisions.",
    )


def revision_not_ready(revision: str, why: str) -> SimulatedError:
    """A revision that should serve and cannot, as users see it at the end of a deployment (code 13 over gRPC and in Terraform)."""
    return SimulatedError("INTERNAL", f"Revision '{revision}' is not ready and cannot serve traffic. {why}")


def revision_exists(revision: str) -> SimulatedError:
    """The template changed while its name still is that of an older revision."""
    return SimulatedError("ALREADY_EXISTS", f"Revision named '{revision}' with different configuration already exists.")


def violation(request: str, field: str, text: str) -> SimulatedError:
    """A value that Cloud Run's validation refuses; `request` is the request message's name, `field` the path below it."""
    return SimulatedError("INVALID_ARGUMENT", f"Violation in {request}.{field}: {text}", field=field)
