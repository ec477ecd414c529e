"""`services/{id}/state/current`: reconcile's document, written by reconcile alone.

Fields of the document: `record` (a `ServiceState` as JSON), `committed_at` (the server's time; it makes every commit a change, and so
moves the token), `next_look_at` (native time: the schedule asks for what is due),
`usd_per_hour_at_max` (number: the fleet's brake sums it). It stays below `STATE_LIMIT_BYTES` whatever happens: every list in it
is bounded here.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.records.base import Record, UtcTime
from shared.records.facts import LongText, ShortText
from shared.records.observed import Bounds, Observed
from shared.records.repair import KEPT_ASKED, Repair
from shared.records.rollout import KEPT_QUARANTINED, ForeignTemplate, LastRollout, Quarantined, Rollout, Served
from shared.records.service import OwnedField
from shared.records.signals import Signal
from shared.records.subject import ServiceId

STATE_LIMIT_BYTES = 100_000
STATE_TEXT_LIMIT = 512
"""Texts of the state are shorter than those of its decisions: even of four-byte characters a full state stays below its limit."""
StateText = Annotated[str, StringConstraints(max_length=STATE_TEXT_LIMIT)]
KEPT_INCIDENTS = 100
"""The newest open incidents are kept in full; the others are counted."""
KEPT_FINGERPRINTS = 8
"""Enough for a metric that comes and goes, or a write that fails now and then, to be recorded once each."""
KEPT_UNTOLD_ROLLOUTS = 10
"""Ended rollouts that nobody was told of yet, beside the last one."""
KEPT_UNTOLD_DETAIL = 64
"""Characters of their details: the state has little room left."""
KEPT_TOMBSTONES = 100
"""Closed incidents whose open has not been seen yet (events come in any order)."""
KEPT_POLICY_NAME_BYTES = 64
KEPT_URL_BYTES = 200
"""Of an incident's evidence; a longer name is cut, a longer link left out. Its fact has both in full."""


class Incident(Record):
    """An open alert on the service, with its signal and evidence."""

    incident_id: ShortText
    signal: Signal
    started_at: UtcTime
    """When Cloud Monitoring opened it (when it was first seen, if the notification did not say)."""
    first_seen_at: UtcTime
    expires_at: UtcTime
    """Without a close it counts as over from here on."""
    observed_value: float | None = None
    threshold_value: float | None = None
    policy_name: ShortText = ""
    url: LongText = ""


class Tombstone(Record):
    """A close that overtook its open."""

    incident_id: ShortText
    closed_at: UtcTime


class Episode(Record):
    """One stretch of trouble of one signal: from its first open incident until a grace after its last one ended.

    The anchors are the bounds in force when its first incident was decided on: targets are computed from them, so that a
    thousand incidents of one trouble ask for the same target.
    """

    signal: Signal
    started_at: UtcTime
    ended_at: UtcTime | None = None
    """When its last open incident ended; None while one is open. A new incident within the grace continues the episode."""
    anchor_min: Annotated[int, Field(ge=0)]
    anchor_max: Annotated[int, Field(ge=0)]
    anchored_at: UtcTime
    raised_while_unknown: bool = False
    """The one raise that Unknown allows has been used."""


class Attempts(Record):
    """When the service was changed for a signal; the attempt budget counts these."""

    signal: Signal
    at: tuple[UtcTime, ...] = ()


class Floor(Record):
    """Min instances raised for a while: `base` is what they fall back to."""

    base: Annotated[int, Field(ge=0)]
    min_instance_count: Annotated[int, Field(ge=0)]
    expires_at: UtcTime
    signal: Signal


class Desired(Record):
    """The bounds Trimtab wants in force, by whom the last of them was set, and of which spec generation they are."""

    bounds: Bounds
    generation: int
    set_at: UtcTime


class Act(Record):
    """A change under way: announced here before Cloud Run is asked, so that a dead process leaves a trace.

    It is performed only while the stored state still carries it and Cloud Run still is at `base_generation` with `before`.
    """

    act_id: ShortText
    decision_id: ShortText
    signals: Annotated[tuple[Signal, ...], Field(max_length=len(Signal))] = ()
    """The signals it answers; none where it only follows the spec or the clock."""
    announced_at: UtcTime
    lease_expires_at: UtcTime
    """Until then nobody else touches it; afterwards whoever looks settles it from what Cloud Run says."""
    base_generation: int
    before: Bounds
    after: Bounds
    min_in_force: Annotated[int, Field(ge=0)]
    max_in_force: Annotated[int, Field(ge=0)]
    """What was in force before it, revision-level bounds and the platform's default included."""
    generation: int
    """The spec's generation it was decided for."""
    floor_expires_at: UtcTime | None = None
    unknown_signals: Annotated[tuple[Signal, ...], Field(max_length=len(Signal))] = ()
    """The signals whose one raise under Unknown this is."""
    operation: ShortText | None = None
    """Cloud Run's operation, once the write was accepted; remembered and re-read, never waited for."""


class LastAct(Record):
    """How the last change ended."""

    act_id: ShortText
    decision_id: ShortText
    outcome: Literal["done", "not-written", "refused", "quota-refused", "overtaken"]
    times: Annotated[int, Field(ge=1)] = 1
    """How many changes in a row ended like this."""
    detail: StateText = ""
    at: UtcTime


class QuotaCeiling(Record):
    """What Cloud Run said is the most it would accept; believed until `expires_at`."""

    max_instance_count: Annotated[int, Field(ge=0)]
    message: StateText
    seen_at: UtcTime
    expires_at: UtcTime


class ForeignChange(Record):
    """Somebody else's value of a field we own, noticed when it differed from what we last set."""

    field: OwnedField
    ours: int
    theirs: int
    modifier: ShortText
    seen_at: UtcTime


class Condition(Record):
    """A statement about the service with Kubernetes' meaning: True, False or Unknown, since when, why."""

    type: Literal["Observed", "Converged", "Quiet", "Unlimited", "Current"]
    status: Literal["True", "False", "Unknown"]
    reason: ShortText
    message: StateText
    last_transition_at: UtcTime
    observed_generation: int


class Clocks(Record):
    """When the bounds were last moved out (more capacity) and in (less)."""

    scaled_out_at: UtcTime | None = None
    scaled_in_at: UtcTime | None = None


class Told(Record):
    """What was published last on the topic of events: a process that dies before it tells leaves the difference to the next look."""

    decision_id: ShortText | None = None
    rollout: ShortText | None = None
    """Id and outcome of the last rollout that was told of."""


class ServiceState(Record):
    """Everything reconcile remembers about one service."""

    schema_version: Literal[1] = 1
    id: ServiceId
    cursor: str | None = None
    """The position of the last fact that was folded, or passed while there was no spec."""
    passed_from: str | None = None
    """After which position facts were passed while there was no spec, to be folded once there is one; empty: from the first; None: none."""
    desired: Desired | None = None
    observed: Observed | None = None
    incidents: Annotated[tuple[Incident, ...], Field(max_length=KEPT_INCIDENTS)] = ()
    incidents_not_kept: Annotated[int, Field(ge=0)] = 0
    """Open incidents beyond the kept ones."""
    incidents_not_kept_until: UtcTime | None = None
    """When the last of those counts as over even without a close."""
    tombstones: Annotated[tuple[Tombstone, ...], Field(max_length=KEPT_TOMBSTONES)] = ()
    tombstones_dropped: Annotated[int, Field(ge=0)] = 0
    episodes: Annotated[tuple[Episode, ...], Field(max_length=len(Signal))] = ()
    attempts: Annotated[tuple[Attempts, ...], Field(max_length=len(Signal))] = ()
    clocks: Clocks = Clocks()
    resting_max: int | None = None
    """The max in force before Trimtab first raised it; the slow way down ends there."""
    floor: Floor | None = None
    act: Act | None = None
    last_act: LastAct | None = None
    unwritten: Act | None = None
    """The last act that was given up as not written: if its bounds turn up after all, they are ours."""
    quota_ceiling: QuotaCeiling | None = None
    foreign_changes: Annotated[tuple[ForeignChange, ...], Field(max_length=len(OwnedField))] = ()
    conditions: Annotated[tuple[Condition, ...], Field(max_length=8)] = ()
    rollout: Rollout | None = None
    last_rollout: LastRollout | None = None
    repair: Repair | None = None
    """The last change of profile `repair`; while its phase says so, its settings are those that are wanted."""
    repairs_asked_at: Annotated[tuple[UtcTime, ...], Field(max_length=KEPT_ASKED)] = ()
    """When the last repairs were asked for, the newest last: their budget counts these."""
    quarantined: Annotated[tuple[Quarantined, ...], Field(max_length=KEPT_QUARANTINED)] = ()
    """Templates that failed, the newest last."""
    served: Served | None = None
    foreign_template: ForeignTemplate | None = None
    told: Told = Told()
    untold_rollouts: Annotated[tuple[LastRollout, ...], Field(max_length=KEPT_UNTOLD_ROLLOUTS)] = ()
    """Rollouts that ended before the last one and were not told of yet, the newest last."""
    last_decision_id: ShortText | None = None
    decision_fingerprints: Annotated[tuple[ShortText, ...], Field(max_length=KEPT_FINGERPRINTS)] = ()
    """Of the decisions recorded since it was last quiet, the newest last: none of them is recorded again."""
    next_look_at: UtcTime | None = None
    """Due from then on, at every tick; None: settled."""
    usd_per_hour_at_max: float | None = None
    """What the service costs if all its max instances run; None: its price is not known."""

    @property
    def open_incident_count(self) -> int:
        """All open incidents, kept or only counted."""
        return len(self.incidents) + self.incidents_not_kept
