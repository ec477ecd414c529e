"""What reconcile reads of one service in one round trip: the owner's wish, its own state, and the fleet's brakes."""

from pydantic import Field

from shared.records.base import Record
from shared.records.evidence import Evidence
from shared.records.facts import LongText
from shared.records.fleet import Fleet, FleetUsage
from shared.records.metric import Metric, Unknown
from shared.records.observed import Observed
from shared.records.rollout import TemplateView
from shared.records.service import ServiceDocument
from shared.records.state import ServiceState


class Snapshot(Record):
    """One strong read of a service's documents. A document that could not be read is named in `unreadable`, with the error."""

    document: ServiceDocument | None
    state: ServiceState | None
    token: str | None
    """Of the state; opaque; None if there is no state document yet, or none that can be read: a commit on it then loses its race."""
    fleet: Fleet
    unreadable: dict[str, str] = Field(default_factory=dict)
    """Document name (`document`, `state`, `fleet`) to what is wrong with it. Such a document is never overwritten."""


class SpecReading(Record):
    """One strong read of a service's document, for a command that is about to change it."""

    document: ServiceDocument | None
    token: str | None
    """Opaque; None if there is no document."""
    unreadable: LongText | None = None


class FleetReading(Record):
    """One strong read of the fleet's document."""

    fleet: Fleet
    token: str | None
    """Opaque; None if there is no document yet."""
    unreadable: LongText | None = None


class ManagedService(Record):
    """The documents a decision is made from."""

    document: ServiceDocument
    state: ServiceState
    fleet: Fleet = Fleet()


class Observation(Record):
    """What the world said when it was looked at. Each part is a value or says why it is unknown."""

    cloud_run: Observed | Unknown
    instance_count: Metric
    """Instances, active and idle, of all revisions that serve."""
    quota_instances: Metric
    """How many instances of the service's shape the project may run in the region, those running included."""
    fleet_usage: FleetUsage | None = None
    """None: not asked for, because nothing is about to change; the brakes are then not looked at."""
    operation: "OperationStatus | None" = None
    """Of the act under way, if it has one."""
    template: TemplateView | None = None
    """None: the spec says nothing of it."""
    evidence: Evidence | None = None
    """Of logs and metrics; None: not asked for, because no incident is open and no rollout failed."""


class OperationStatus(Record):
    """A long-running operation of Cloud Run, re-read by name. `error` is its text if it failed."""

    done: bool
    error: LongText | None = None


Observation.model_rebuild()
