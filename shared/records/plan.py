"""What `decide` gives back: changes with before, after, reason and predicted effect; denials with the reason; when to look again."""

from enum import StrEnum

from shared.records.base import Record, UtcTime
from shared.records.diagnosed import Diagnosed
from shared.records.repair import RepairChange
from shared.records.rollout import RolloutChange
from shared.records.service import OwnedField
from shared.records.signals import Signal
from shared.records.state import ServiceState


class DenialCode(StrEnum):
    """Why a wanted change was not made. Each is documented in docs/reference/denials.md, generated from here."""

    AUTONOMY_OBSERVE = "autonomy-observe"
    """The spec's autonomy is `observe`: nothing is decided. Set it to `recommend` or `act`."""
    HOLD = "hold"
    """A person holds the field, or the whole service. Release the hold or wait for its expiry."""
    FLEET_HOLD = "fleet-hold"
    """A person holds the whole fleet."""
    IN_FLIGHT = "in-flight"
    """Another change of this service is under way; one at a time."""
    COOLDOWN = "cooldown"
    """The last change is too young for its effect to show in the metrics."""
    ATTEMPTS_EXHAUSTED = "attempts-exhausted"
    """The signal was answered as often as its budget allows and did not go away: a person must look."""
    BRAKE_ACTS = "brake-acts"
    """The fleet's brake on acts per minute is reached; the next minute is tried."""
    BRAKE_USD = "brake-usd"
    """The change would lift the fleet's hourly cost above its brake."""
    UNKNOWN = "unknown"
    """A value the change depends on is not known. Unknown never scales down, and raises once per incident."""
    SPEC_MAX = "spec-max"
    """The spec's scale.max_instance_count is reached."""
    SPEC_MIN = "spec-min"
    """The spec's scale.min_instance_count is reached."""
    REVISION_MAX = "revision-max"
    """The revision's own maximum is reached; moving it needs a new revision."""
    QUOTA = "quota"
    """The project's quota in the region is reached."""
    BUDGET = "budget"
    """The spec's objective.usd_per_hour is reached."""
    TARGET_REACHED = "target-reached"
    """What this signal asks for is already in force."""
    BOUND_NOT_REACHED = "bound-not-reached"
    """The instance count has not reached the last bound yet: raising it again would change nothing."""
    MANUAL_SCALING = "manual-scaling"
    """The service is in manual scaling mode; min and max have no effect there."""
    NO_FAST_REMEDY = "no-fast-remedy"
    """No change of min or max instances cures this signal."""
    INCONSISTENT = "inconsistent"
    """Cloud Run takes no maximum below the minimum, and the other bound may not be moved now."""
    STILL_BUSY = "still-busy"
    """Lowering the bound now would take instances that are in use."""
    UNOBSERVED = "unobserved"
    """Cloud Run could not be read, so nothing may be decided."""
    FOREIGN_CHANGE = "foreign-change"
    """Somebody else changed the field since Trimtab last set it; people win, and their value is kept."""
    WRITE_FAILED = "write-failed"
    """Cloud Run refused the last write, or never made it effective."""
    QUARANTINED = "quarantined"
    """This template failed before; it is not deployed again until its content changes."""
    CONTENDED = "contended"
    """Somebody changed the template again soon after Trimtab had put it back: it is left alone until a person says so."""
    PINNED = "pinned"
    """A rollback keeps the traffic on one revision until the spec is changed or applied again; a hold of the kind pin, until it ends."""
    WINDOW = "window"
    """Template changes may start only in the spec's windows."""
    TEMPLATE_UNKNOWN = "template-unknown"
    """What the template should be cannot be said: the model's version is not known, or the spec cannot be rendered."""

    NOT_REPAIRED = "not-repaired"
    """The evidence names the cause, and what mends it is a setting that the owner keeps, or none that Trimtab may change."""
    DIAGNOSED = "diagnosed"
    """Logs and metrics name the cause, and more instances do not mend it; the message has the evidence and what does."""
    LINT = "lint"
    """Cloud Run or TF Serving would refuse the rendered template, or it would not do what is meant; the message has the finding."""


class FieldChange(Record):
    """One field of one service, from what to what, why, and what is expected of it."""

    field: OwnedField
    before: int
    after: int
    signal: Signal | None = None
    """The signal it answers; None where it follows the spec, the clock or a repair."""
    reason: str
    predicted: str


class Denial(Record):
    """Something that was wanted or asked for and not done, and why. `wanted` is the value that was refused, if there was one."""

    code: DenialCode
    field: OwnedField | None = None
    wanted: int | None = None
    message: str


class Plan(Record):
    """The whole decision as data. Nothing in it has happened yet."""

    state: ServiceState
    """The state as it stands after looking: incidents, episodes, conditions; without any effect of the changes."""
    signals: tuple[Signal, ...] = ()
    """The signals with an open incident, the most urgent first."""
    changes: tuple[FieldChange, ...] = ()
    rollout: RolloutChange | None = None
    """The step of a template change to be written; never together with `changes`."""
    repair: RepairChange | None = None
    """A repair that is asked for, or judged: its template is written by the looks that follow."""
    denials: tuple[Denial, ...] = ()
    explanation: str
    """One readable sentence."""
    diagnosis: Diagnosed | None = None
    """What logs and metrics say is wrong; None: they were not asked for."""
    unknown_signals: tuple[Signal, ...] = ()
    """The signals that use up their one raise under Unknown if this is acted on."""
    floor_expires_at: UtcTime | None = None
    """If min instances are raised: until when, unless the incident lasts longer."""
    next_look_at: UtcTime | None = None
    """When to look again; None: the service is settled, the sweep is enough."""
