"""What the simulated Cloud Run keeps and gives out: writes, operations, bounds in force, services with their revisions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from google.cloud import run_v2

from shared.simulation.cloud_run_errors import ServiceName, SimulatedError
from shared.simulation.cloud_run_revisions import RevisionRecord
from shared.simulation.cloud_run_traffic import Share, shares_of

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Write:
    """One accepted write. `mask` is empty for a create and for a replacement of the whole service."""

    at: datetime
    name: str
    mask: tuple[str, ...]
    principal: str
    generation: int
    """The service's generation after the write."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A long-running operation. `service` is the service as it stood when the operation was looked at (or when it was deleted)."""

    name: str
    done: bool
    service: run_v2.Service
    error: SimulatedError | None = None
    revision: run_v2.Revision | None = None
    """The deleted revision, of an operation that deletes one."""


@dataclass(frozen=True, slots=True)
class InForce:
    """The bounds Cloud Run scales between from `at` on; in manual mode both are the manual count."""

    at: datetime
    min_instance_count: int
    max_instance_count: int


@dataclass(slots=True)
class Reconciliation:
    """A write on its way into force. `revision` is the one it created (short name); None if it created none."""

    due: datetime
    generation: int
    operation: str
    revision: str | None
    failure: SimulatedError | None
    """Ordered by a test: nothing of the write comes into force."""


@dataclass(slots=True)
class OperationRecord:
    """What is remembered of an operation; `deleted` holds what it deleted."""

    service: ServiceName
    done: bool = False
    error: SimulatedError | None = None
    deleted_service: run_v2.Service | None = None
    deleted_revision: run_v2.Revision | None = None


@dataclass(slots=True)
class Record:
    """One service with what the API does not show."""

    name: ServiceName
    service: run_v2.Service
    revisions: dict[str, RevisionRecord] = field(default_factory=dict)
    """By short name, oldest first."""
    pending: list[Reconciliation] = field(default_factory=list)
    in_force: list[InForce] = field(default_factory=list)
    revisions_made: int = 0
    running_instances: int | None = None
    """As a test says; None: as many as are kept warm."""
    requests: int = 0

    @property
    def latest_created(self) -> RevisionRecord | None:
        """The revision of the newest template."""
        return self.revisions.get(short(self.service.latest_created_revision))

    @property
    def serving(self) -> tuple[Share, ...]:
        """Where requests go now: the traffic last routed."""
        statuses = [
            run_v2.TrafficTarget(type_=each.type_, revision=each.revision, percent=each.percent, tag=each.tag)
            for each in self.service.traffic_statuses
        ]
        return shares_of(statuses, short(self.service.latest_ready_revision))


def short(name: str) -> str:
    """The last part of a full name."""
    return name.rsplit("/", 1)[-1]


def page_of(items: Sequence[_T], *, size: int, token: str, most: int = 100) -> tuple[list[_T], str]:
    """A page of a list and the token of the next one (empty after the last). `size` 0 takes Cloud Run's page of 100.

    Raises:
        SimulatedError: INVALID_ARGUMENT, a token that no list gave out, or a negative size.
    """
    if size < 0 or (token and not token.isdecimal()):
        raise SimulatedError("INVALID_ARGUMENT", "page_size must not be negative and page_token must come from an earlier page.")
    start = int(token or "0")
    end = start + min(size or most, most)
    return list(items[start:end]), str(end) if end < len(items) else ""
