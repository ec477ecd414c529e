"""`services/{id}`: what the owner asked for. Only commands write it.

Fields of the document: `record` (a `ServiceDocument` as JSON, with `spec.serving.golden_request` as JSON text), `sweep_slot` (in which
minute of ten the schedule looks at the service when it is settled), `model_uri` (the folder of a bucket that holds the model's
versions, by which a model finds who follows it; absent where no bucket does), `committed_at` (the server's time; it makes every
write a change, and so moves the token).
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from shared.records.base import Record, UtcTime
from shared.records.facts import LongText, ShortText
from shared.records.serving import RevisionName, ServingSpec
from shared.records.subject import ServiceId
from shared.records.windows import Window

MAX_INSTANCES_LIMIT = 1_000
"""Above what Cloud Run gives any service; a larger bound is a typing mistake."""


MAX_HOLDS = 50
"""Of one service; a person who needs more wants one hold of the whole service."""


class Autonomy(StrEnum):
    """How far Trimtab may go with a service."""

    OBSERVE = "observe"
    """Records facts, decides nothing."""
    RECOMMEND = "recommend"
    """Decides and explains, never writes."""
    ACT = "act"
    """Decides, explains and writes."""


class OwnedField(StrEnum):
    """The fields of a Cloud Run service that Trimtab writes, by Cloud Run's own path."""

    MIN_INSTANCE_COUNT = "scaling.min_instance_count"
    MAX_INSTANCE_COUNT = "scaling.max_instance_count"
    TEMPLATE = "template"
    """What an instance is made of, and which revision gets the traffic."""


class HoldKind(StrEnum):
    """What a hold keeps still."""

    PAUSE = "pause"
    """Trimtab leaves the fields as whoever changes them leaves them."""
    PIN = "pin"
    """The fields keep the values that were last seen when the hold was given: what others change is put back."""
    FREEZE = "freeze"
    """Nothing that makes a revision or moves traffic; the scaling bounds still move."""


class PinnedValues(Record):
    """What a pin keeps; None: that field is not put back."""

    min_instance_count: Annotated[int, Field(ge=0, le=MAX_INSTANCES_LIMIT)] | None = None
    max_instance_count: Annotated[int, Field(ge=1, le=MAX_INSTANCES_LIMIT)] | None = None
    revision: RevisionName | None = None
    """The revision that has the traffic, and whose template the service has."""


class Hold(Record):
    """A hold by a person: the named fields (all of them, if none is named) are left as they are until it expires."""

    hold_id: ShortText
    kind: HoldKind = HoldKind.PAUSE
    """Of a freeze the fields are not asked: it is about the template and the traffic."""
    pinned: PinnedValues | None = None
    """Of a pin: what it keeps."""
    fields: tuple[OwnedField, ...] = ()
    reason: LongText
    author: ShortText
    created_at: UtcTime
    expires_at: UtcTime | None = None

    def stops(self, field: OwnedField, now: datetime) -> bool:
        """Whether it keeps that field still at that time."""
        if self.expires_at is not None and self.expires_at <= now:
            return False
        if self.kind is HoldKind.FREEZE:
            return field is OwnedField.TEMPLATE
        return not self.fields or field in self.fields


class ScaleBounds(Record):
    """The owner's bounds: Trimtab never sets fewer min instances than the first, nor more max instances than the second."""

    min_instance_count: Annotated[int, Field(ge=0, le=MAX_INSTANCES_LIMIT)] = 0
    """Never fewer instances kept ready than these."""
    max_instance_count: Annotated[int, Field(ge=1, le=MAX_INSTANCES_LIMIT)]
    """Never more instances than these."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_instance_count > self.max_instance_count:
            msg = (
                f"scale.min_instance_count {self.min_instance_count} is above scale.max_instance_count "
                f"{self.max_instance_count}: lower the first or raise the second"
            )
            raise ValueError(msg)
        return self


class Objective(Record):
    """What the owner wants the service to keep: its SLO and its budget. None: not said."""

    p99_ms: Annotated[float, Field(gt=0, le=3_600_000, allow_inf_nan=False)] | None = None
    """The 99th percentile of the latency, in milliseconds."""
    error_ratio: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    """The share of requests that may fail."""
    usd_per_hour: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    """Its hourly cost when all its instances run."""


class ServiceSpec(Record):
    """The owner's wish."""

    scale: ScaleBounds
    """The bounds of the number of instances."""
    objective: Objective = Objective()
    """What the service is to keep."""
    autonomy: Autonomy = Autonomy.OBSERVE
    """How far Trimtab may go with the service."""
    serving: ServingSpec | None = None
    """What an instance is to be; None: Trimtab steers the scaling bounds and leaves the template to its owner."""
    windows: Annotated[tuple[Window, ...], Field(max_length=21)] = ()
    """When template changes may start, in UTC; none: always."""


class Pin(Record):
    """All traffic stays on one revision, given by a rollback; the next change of the spec ends it."""

    revision: RevisionName
    reason: LongText
    author: ShortText
    created_at: UtcTime


class ServiceDocument(Record):
    """The stored document: spec, its generation, and the holds people gave by command."""

    schema_version: Literal[1] = 1
    id: ServiceId
    generation: Annotated[int, Field(ge=1)] = 1
    spec: ServiceSpec
    holds: Annotated[tuple[Hold, ...], Field(max_length=MAX_HOLDS)] = ()
    released_at: UtcTime | None = None
    """The last release: changes by others that were seen before it are not held on to any more."""
    pin: Pin | None = None
    spec_changed_at: UtcTime | None = None
    """When the last wish for the spec was given: by its sender's clock, if it said so, but never in the future. An older one is late."""

    @property
    def model_uri(self) -> str | None:
        """The folder of a bucket that holds the model's versions, as `ModelSubject` writes it; None where no bucket does."""
        model = self.spec.serving.model if self.spec.serving is not None else None
        return model.uri if model is not None and model.uri.startswith("gs://") else None
