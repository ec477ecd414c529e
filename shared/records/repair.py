"""A change of profile `repair`: the settings of the template that an explained incident asks for, what was expected of it, what came of it.

Part of the service's state (the last one) and of the decisions that ask for it and that judge it.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.records.base import Record, UtcTime
from shared.records.facts import ShortText
from shared.records.metric import Known, Metric, Unknown
from shared.records.serving import Concurrency, RevisionName
from shared.records.signals import Signal

KEPT_CHANGES = 10
KEPT_ASKED = 8
"""Times of earlier repairs that are remembered: more than the budget of attempts."""
RepairText = Annotated[str, StringConstraints(max_length=512)]
NOT_MEASURED = Unknown(reason="not measured")
ValueHash = Annotated[str, StringConstraints(pattern=r"^[a-z2-7]{10}$")]


class RepairSettings(Record):
    """What repairs decided for fields that the spec leaves to Trimtab (`auto`). None: as a service starts."""

    max_batch_size: Annotated[int, Field(ge=1)] | None = None
    num_batch_threads: Annotated[int, Field(ge=1)] | None = None
    max_enqueued_batches: Annotated[int, Field(ge=1)] | None = None
    max_instance_request_concurrency: Concurrency | None = None
    batch_size_ceiling: Annotated[int, Field(ge=1)] | None = None
    """No batch is made larger than this again: a larger one did not fit into the GPU's memory."""


class RepairPhase(StrEnum):
    """Where a repair is."""

    ASKED = "asked"
    """Decided; its template is on the way to the traffic, or about to be."""
    ON_TRIAL = "on-trial"
    """All traffic is on it; whether it helped shows when a whole window of metrics has passed."""
    KEPT = "kept"
    """It is better than what it replaced, or no worse."""
    UNPROVEN = "unproven"
    """It stays, and what it did could not be measured: no data, or the load was another."""
    REVERTING = "reverting"
    """It is worse than what it replaced: the traffic goes back to that."""
    REVERTED = "reverted"
    """The traffic is back where it was."""
    FAILED = "failed"
    """Its revision never got the traffic."""
    DROPPED = "dropped"
    """The owner's spec, or somebody else, went another way before it was through."""


IN_FORCE = frozenset({RepairPhase.ASKED, RepairPhase.ON_TRIAL, RepairPhase.KEPT, RepairPhase.UNPROVEN})
"""While a repair is in one of these, its settings are those that are wanted."""
UNDER_WAY = frozenset({RepairPhase.ASKED, RepairPhase.ON_TRIAL, RepairPhase.REVERTING})
"""No other repair is asked for meanwhile."""


class Effect(Record):
    """How a service does, by one window of metrics. Each part is a value or says why it is unknown."""

    requests_per_second: Metric
    failed_ratio: Metric
    """Of requests: those that Cloud Run answered with an error, and those that never reached TF Serving (over gRPC a refusal for want of a
    server thread is an HTTP 200)."""
    p99_ms: Metric
    p50_ms: Metric = NOT_MEASURED
    p95_ms: Metric = NOT_MEASURED
    mean_batch_rows: Metric
    gpu_busy_ratio: Metric
    cpu_busy_ratio: Metric


class Prediction(Record):
    """What a repair is expected to do, by the capacity model and what was measured; None: cannot be said."""

    failed_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Of requests, once as many instances run as the spec allows; the worse of both readings of the batch time."""
    requests_per_second_low: Annotated[float, Field(ge=0)] | None = None
    """What one instance carries if a batch's time grows with its rows."""
    requests_per_second_high: Annotated[float, Field(ge=0)] | None = None
    """And if it does not."""
    instances_needed: Annotated[int, Field(ge=1)] | None = None
    """That carry what comes, by the worse of both readings, each with a fifth of its capacity left."""
    text: RepairText
    """The same in words, with what it rests on."""


class Repair(Record):
    """The last repair of a service."""

    repair_id: ShortText
    phase: RepairPhase
    basis: ValueHash
    """Of what the spec says of an instance: another spec, and the repair's settings count no more."""
    signal: Signal
    cause: ShortText
    """By its name in the catalog of causes."""
    why: RepairText
    """The cause with its first piece of evidence."""
    changes: Annotated[tuple[ShortText, ...], Field(max_length=KEPT_CHANGES)]
    settings: RepairSettings
    fallback: RepairSettings
    """The settings in force before it: what is wanted again where it is reverted or fails."""
    takes_over: bool = False
    """It puts Trimtab's template in the place of one that somebody else made."""
    predicted: Prediction
    before: Effect
    after: Effect | None = None
    asked_at: UtcTime
    promoted_at: UtcTime | None = None
    revision: RevisionName | None = None
    previous: RevisionName | None = None
    """What had the traffic before, where it goes back to."""
    outcome: RepairText = ""
    """How it ended, in a sentence."""


class RepairChange(Record):
    """A repair that a plan asks for, or judges."""

    kind: Literal["ask", "judge"]
    repair: Repair


def known_value(metric: Metric) -> float | None:
    """The value of a metric; None where it is unknown."""
    return metric.value if isinstance(metric, Known) else None
