"""What Cloud Run said last time, reduced to what Trimtab decides on. Field names are Cloud Run's own (Admin API v2)."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from shared.records.base import Record, UtcTime
from shared.records.facts import LongText, ShortText

PLATFORM_DEFAULT_MAX_INSTANCES = 100
"""What Cloud Run takes where neither the service nor its revision names a maximum (docstring of the Admin API)."""


class ScalingMode(StrEnum):
    """`service.scaling.scaling_mode`."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


class ReadyState(StrEnum):
    """The state of the service's terminal condition."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PENDING = "pending"
    RECONCILING = "reconciling"
    UNKNOWN = "unknown"


class Bounds(Record):
    """Service-level scaling bounds as Cloud Run holds them; a max of 0 means that none is set."""

    min_instance_count: Annotated[int, Field(ge=0)] = 0
    max_instance_count: Annotated[int, Field(ge=0)] = 0


class Shape(Record):
    """What one instance is made of; prices hang on it."""

    accelerator: ShortText | None = None
    """`nvidia-l4`, ...; None without a GPU."""
    gpu_count: Annotated[int, Field(ge=0)] = 0
    cpu: Annotated[float, Field(ge=0)] | None = None
    """vCPU of all containers; None where the service does not say."""
    memory_gib: Annotated[float, Field(ge=0)] | None = None
    gpu_zonal_redundancy: bool = True
    """Cloud Run's default where the template is silent."""


class Observed(Record):
    """One reading of one Cloud Run service."""

    generation: int
    observed_generation: int
    reconciling: bool
    etag: str
    bounds: Bounds
    scaling_mode: ScalingMode = ScalingMode.AUTOMATIC
    manual_instance_count: int | None = None
    revision_max_instance_count: Annotated[int, Field(ge=0)] = 0
    """`template.scaling.max_instance_count`; 0: not set."""
    revision_min_instance_count: Annotated[int, Field(ge=0)] = 0
    shape: Shape = Shape()
    max_instance_request_concurrency: Annotated[int, Field(ge=0)] = 0
    ready: ReadyState = ReadyState.UNKNOWN
    ready_reason: ShortText = ""
    ready_message: LongText = ""
    latest_ready_revision: ShortText = ""
    last_modifier: ShortText = ""
    read_at: UtcTime

    @property
    def max_in_force(self) -> int:
        """The instance count at which Cloud Run stops: the lowest of the bounds that are set."""
        stated = [bound for bound in (self.bounds.max_instance_count, self.revision_max_instance_count) if bound > 0]
        return min(stated) if stated else PLATFORM_DEFAULT_MAX_INSTANCES

    @property
    def min_in_force(self) -> int:
        """The number of instances Cloud Run keeps warm: the highest of the bounds that are set."""
        return max(self.bounds.min_instance_count, self.revision_min_instance_count)

    def same_as(self, other: "Observed | None") -> bool:
        """Whether both readings say the same; when they were read and the etag, which the platform bumps by itself, do not count."""
        return other is not None and self.model_copy(update={"etag": other.etag, "read_at": other.read_at}) == other


class ServiceReading(Record):
    """One reading of a whole service: what Trimtab decides on, and Cloud Run's own document (Admin API v2, JSON)."""

    observed: Observed
    document: dict[str, Any]


class RevisionReading(Record):
    """One reading of one revision."""

    name: ShortText
    """Its short name."""
    ready: ReadyState
    reason: ShortText = ""
    message: LongText = ""
    created_at: UtcTime | None = None
    log_uri: Annotated[str, Field(max_length=4_096)] = ""
    """Where its logs are, for people."""
