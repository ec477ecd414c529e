"""Statements about a service with Kubernetes' meaning, derived from its state; the transition time moves only with the status."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from shared.control.episodes import open_signals
from shared.control.rollout_parts import is_current
from shared.records.metric import Unknown
from shared.records.plan import Denial, DenialCode
from shared.records.rollout import TemplateView
from shared.records.state import STATE_TEXT_LIMIT, Condition, ServiceState

LIMITS = frozenset(
    {
        DenialCode.SPEC_MAX,
        DenialCode.REVISION_MAX,
        DenialCode.QUOTA,
        DenialCode.BUDGET,
        DenialCode.BRAKE_USD,
        DenialCode.TARGET_REACHED,
        DenialCode.ATTEMPTS_EXHAUSTED,
        DenialCode.WRITE_FAILED,
        DenialCode.QUARANTINED,
        DenialCode.TEMPLATE_UNKNOWN,
        DenialCode.LINT,
        DenialCode.DIAGNOSED,
        DenialCode.NOT_REPAIRED,
    }
)
"""The denials that only a person can lift."""

MEANINGS: dict[str, str] = {
    "Observed": "Cloud Run could be read: True, or Unknown with what it answered.",
    "Converged": "The bounds Trimtab wants are in force: False while a change is under way; Unknown while Cloud Run cannot be read.",
    "Quiet": "No incident is open: False names the signals.",
    "Current": "All traffic is on a revision of what the spec asks for: False while it is on its way, held up or failed, with where it is; "
    "only of a spec with `serving`.",
    "Unlimited": "Nothing that only a person can lift stands in the way: False names the limit.",
}
"""Every condition type and what it says."""

Status = Literal["True", "False", "Unknown"]


class _Statement(NamedTuple):
    type: Literal["Observed", "Converged", "Quiet", "Unlimited", "Current"]
    status: Status
    reason: str
    message: str


def conditions(
    state: ServiceState,
    *,
    denials: Sequence[Denial],
    unreadable: str | None,
    generation: int,
    now: datetime,
    view: TemplateView | None = None,
) -> tuple[Condition, ...]:
    """The conditions of the state; `unreadable` is why Cloud Run could not be read, None if it could."""
    before = {condition.type: condition for condition in state.conditions}
    found = []
    statements = [_observed(unreadable), _converged(state, unreadable), _quiet(state), _unlimited(denials)]
    if view is not None:
        statements.append(_current(state, view))
    for statement in statements:
        old = before.get(statement.type)
        since = old.last_transition_at if old is not None and old.status == statement.status else now
        found.append(
            Condition(
                type=statement.type,
                status=statement.status,
                reason=statement.reason,
                message=statement.message[:STATE_TEXT_LIMIT],
                last_transition_at=since,
                observed_generation=generation,
            )
        )
    return tuple(found)


def _observed(unreadable: str | None) -> _Statement:
    if unreadable is None:
        return _Statement("Observed", "True", "Read", "")
    return _Statement("Observed", "Unknown", "CloudRunUnreadable", unreadable)


def _converged(state: ServiceState, unreadable: str | None) -> _Statement:
    if state.act is not None:
        return _Statement("Converged", "False", "ChangeUnderWay", f"change {state.act.act_id} is not settled yet")
    if unreadable is not None or state.desired is None:
        return _Statement("Converged", "Unknown", "CloudRunUnreadable", unreadable or "")
    return _Statement("Converged", "True", "InForce", "")


def _current(state: ServiceState, view: TemplateView) -> _Statement:
    if isinstance(view.wanted_hash, Unknown):
        return _Statement("Current", "Unknown", "TemplateUnknown", view.wanted_hash.reason)
    rollout, last = state.rollout, state.last_rollout
    if rollout is not None:
        where = f"{rollout.revision} is {rollout.phase}"
        return _Statement(
            "Current", "False", f"Rollout{rollout.phase.capitalize()}", f"{where}: {rollout.reason}" if rollout.reason else where
        )
    if is_current(view, state.id.name):
        return _Statement("Current", "True", "Served", view.left_out)
    if view.kept:
        return _Statement("Current", "False", "NotTakenOver", "the template is left to its owner until an open incident is explained by it")
    if last is not None and last.outcome == "failed":
        return _Statement("Current", "False", "RolloutFailed", f"{last.revision}: {last.detail}")
    return _Statement("Current", "False", "Different", "; ".join(view.changes) or "the traffic is on another revision")


def _quiet(state: ServiceState) -> _Statement:
    count = state.open_incident_count
    if count == 0:
        return _Statement("Quiet", "True", "NoIncident", "")
    signals = ", ".join(open_signals(state)) or "not kept"
    return _Statement("Quiet", "False", "IncidentOpen", f"{count} open: {signals}")


def _unlimited(denials: Sequence[Denial]) -> _Statement:
    for denial in denials:
        if denial.code in LIMITS:
            reason = "".join(part.capitalize() for part in denial.code.split("-"))
            return _Statement("Unlimited", "False", reason, denial.message)
    return _Statement("Unlimited", "True", "NoLimit", "")
