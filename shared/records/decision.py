"""`services/{id}/decisions/{time-ordered id}`: the record of one `decide` that changed or denied something. Append only.

Fields of the document: `record` (a `Decision` as JSON), `decided_at` (native time), `expire_at` (TTL).
"""

from typing import Literal

from shared.records.base import Record, UtcTime
from shared.records.diagnosed import Diagnosed
from shared.records.facts import LongText, ShortText
from shared.records.metric import Metric
from shared.records.observed import Bounds
from shared.records.plan import Denial, FieldChange
from shared.records.repair import RepairChange
from shared.records.rollout import RolloutChange
from shared.records.service import Autonomy
from shared.records.signals import Signal
from shared.records.subject import ServiceId

DECISION_TTL_SECONDS = 400 * 24 * 3600
"""A little over a year: last year's Black Friday can still be looked up this year."""


class DecisionInputs(Record):
    """What the decision was made from, small enough to keep and complete enough to argue with."""

    bounds: Bounds | None
    cloud_run_generation: int | None
    instance_count: Metric
    quota_instances: Metric
    open_incidents: int
    usd_per_instance_hour: float | None


class Decision(Record):
    """One decision. `mode` says what became of its changes: `act` (written by the executor), `recommend` (only shown)."""

    schema_version: Literal[1] = 1
    decision_id: ShortText
    subject: ServiceId
    decided_at: UtcTime
    trigger: ShortText
    generation: int
    mode: Autonomy
    signals: tuple[Signal, ...]
    inputs: DecisionInputs
    changes: tuple[FieldChange, ...]
    rollout: RolloutChange | None = None
    repair: RepairChange | None = None
    """A repair that was asked for, with what it was expected to do, or one that was judged, with what it did."""
    denials: tuple[Denial, ...]
    explanation: LongText
    diagnosis: Diagnosed | None = None
    """What logs and metrics said was wrong; None: they were not asked for."""
    act_id: ShortText | None = None
