"""A change under way: what it leaves behind when it took effect, and how Cloud Run's answer settles it."""

from datetime import datetime, timedelta
from typing import Any, Literal

from shared.control.timing import ACT_LEASE_SECONDS, ATTEMPT_WINDOW_SECONDS, FLOOR_SECONDS, QUOTA_CEILING_SECONDS
from shared.records.observed import Observed, ReadyState
from shared.records.plan import Plan
from shared.records.service import OwnedField
from shared.records.signals import Signal
from shared.records.snapshot import OperationStatus
from shared.records.state import STATE_TEXT_LIMIT, Act, Attempts, Desired, Floor, LastAct, QuotaCeiling, ServiceState

WRITTEN_SECONDS = 900.0
"""A written change that Cloud Run neither brought into force nor failed to in this time no longer blocks others."""
UNNAMED_OPERATION = "unknown"
"""Stands for the operation of a write whose reply was lost."""

Outcome = Literal["done", "not-written", "refused", "quota-refused", "overtaken"]


def announce(plan: Plan, observed: Observed, *, act_id: str, decision_id: str, generation: int, now: datetime) -> Act:
    """The act that carries out a plan's changes on what was observed."""
    after = observed.bounds.model_copy(
        update={change.field.removeprefix("scaling."): change.after for change in plan.changes},
    )
    return Act(
        act_id=act_id,
        decision_id=decision_id,
        signals=tuple(dict.fromkeys(change.signal for change in plan.changes if change.signal is not None)),
        announced_at=now,
        lease_expires_at=now + timedelta(seconds=ACT_LEASE_SECONDS),
        base_generation=observed.generation,
        before=observed.bounds,
        after=after,
        min_in_force=observed.min_in_force,
        max_in_force=observed.max_in_force,
        generation=generation,
        floor_expires_at=plan.floor_expires_at,
        unknown_signals=plan.unknown_signals,
    )


def changed_fields(act: Act) -> tuple[OwnedField, ...]:
    """The fields an act writes: those it changes, no others."""
    fields = {
        OwnedField.MIN_INSTANCE_COUNT: act.before.min_instance_count != act.after.min_instance_count,
        OwnedField.MAX_INSTANCE_COUNT: act.before.max_instance_count != act.after.max_instance_count,
    }
    return tuple(field for field, changed in fields.items() if changed)


def accepted(state: ServiceState, act: Act, operation: str, now: datetime) -> ServiceState:
    """Cloud Run took the write: its effects count from now on, and the operation is remembered until it shows."""
    return effects(state, act, now).model_copy(update={"act": act.model_copy(update={"operation": operation})})


def refused(state: ServiceState, act: Act, message: str, now: datetime) -> ServiceState:
    """Cloud Run refused the write: nothing changed, so no attempt is used up; the guards pace the next one."""
    return _ended(state, act, "refused", message, now)


def quota_refused(state: ServiceState, act: Act, message: str, allowed_instances: int | None, now: datetime) -> ServiceState:
    """Cloud Run refused the write for lack of quota: what it allows is believed for a while; no attempt is used up.

    Cloud Run checks the quota against the maximum at every write, whatever it changes. So what was refused is above the ceiling, and a
    refusal of a raise that names no number allows what is in force.
    """
    refused_max = act.after.max_instance_count or act.max_in_force
    named = allowed_instances if allowed_instances is not None else act.max_in_force if _raises_max(act) else refused_max
    allowed = max(0, min(named, refused_max - 1))
    ceiling = QuotaCeiling(
        max_instance_count=allowed,
        message=message[:STATE_TEXT_LIMIT],
        seen_at=now,
        expires_at=now + timedelta(seconds=QUOTA_CEILING_SECONDS),
    )
    return _ended(state.model_copy(update={"quota_ceiling": ceiling}), act, "quota-refused", message, now)


def settle(state: ServiceState, observed: Observed, operation: OperationStatus | None, now: datetime) -> ServiceState:
    """Judge the act under way by what Cloud Run says now; the state without it once it is settled.

    * its bounds were written at a later generation (a lost reply included): done once Cloud Run has brought them into force;
    * its operation failed, or Cloud Run could not bring it into force: refused;
    * nothing moved and its lease ran out: it was never written, and leaves no trace in cooldowns or attempts;
    * the service moved elsewhere: overtaken by somebody else.
    """
    act = state.act
    if act is None:
        return state
    moved = observed.generation > act.base_generation
    if operation is not None and operation.done and operation.error is not None:
        return _ended(state, act, "refused", operation.error, now)
    if observed.bounds == act.after and moved:
        return _settle_written(state, act, observed, now)
    if moved:
        detail = (
            f"generation {observed.generation} of the service, written by {observed.last_modifier or 'somebody else'}, has other bounds"
        )
        return _ended(state, act, "overtaken", detail, now)
    if lease_over(act, now):
        given_up = state.model_copy(update={"unwritten": act})
        return _ended(given_up, act, "not-written", "announced, but Cloud Run never got it", now)
    return state


def lease_over(act: Act, now: datetime) -> bool:
    """Whether nobody can be at the act any more; a lease that lies further ahead than any lease can was made by a wrong clock."""
    return now >= act.lease_expires_at or act.lease_expires_at - now > timedelta(seconds=2 * ACT_LEASE_SECONDS)


def came_late(state: ServiceState, observed: Observed, now: datetime) -> ServiceState:
    """Take up an act that was given up as not written and is in force after all: it is ours, not somebody else's."""
    act = state.unwritten
    if act is None or state.act is not None or observed.bounds != act.after or observed.generation <= act.base_generation:
        return state
    return _ended(effects(state, act, now), act, "done", "it came into force late", now)


def _settle_written(state: ServiceState, act: Act, observed: Observed, now: datetime) -> ServiceState:
    """The bounds were written; done is what Cloud Run has brought into force, or has not failed to within `WRITTEN_SECONDS`."""
    counted = state if act.operation is not None else effects(state, act, now)
    settled = not observed.reconciling and observed.observed_generation >= observed.generation
    if settled and observed.ready == ReadyState.FAILED:
        return _ended(counted, act, "refused", f"written, but not in force: {observed.ready_message or observed.ready_reason}", now)
    if settled or now >= act.announced_at + timedelta(seconds=WRITTEN_SECONDS):
        return _ended(counted, act, "done", "" if settled else "Cloud Run still reconciles it", now)
    if act.operation is None:
        return counted.model_copy(update={"act": act.model_copy(update={"operation": UNNAMED_OPERATION})})
    return state


def effects(state: ServiceState, act: Act, now: datetime) -> ServiceState:
    """The state once the act's bounds are in force: clocks, attempts, floor, resting place, desired bounds."""
    out = act.after.min_instance_count > act.before.min_instance_count or _raises_max(act)
    update: dict[str, Any] = {
        "desired": Desired(bounds=act.after, generation=act.generation, set_at=now),
        "clocks": state.clocks.model_copy(update={"scaled_out_at" if out else "scaled_in_at": now}),
        "attempts": _count_attempts(state, act.signals if out else (), now),
        "episodes": tuple(
            episode.model_copy(update={"raised_while_unknown": True}) if episode.signal in act.unknown_signals else episode
            for episode in state.episodes
        ),
        "unwritten": None,
        "resting_max": _resting_max(state, act),
        "floor": _floor(state, act, now),
    }
    return state.model_copy(update=update)


def last_attempt(state: ServiceState, signal: Signal) -> datetime | None:
    """When the service was last changed for the signal."""
    for attempts in state.attempts:
        if attempts.signal == signal and attempts.at:
            return attempts.at[-1]
    return None


def attempts_in_window(state: ServiceState, signal: Signal, now: datetime) -> tuple[datetime, ...]:
    """The changes made for the signal that still count against its budget, oldest first."""
    since = now - timedelta(seconds=ATTEMPT_WINDOW_SECONDS)
    for attempts in state.attempts:
        if attempts.signal == signal:
            return tuple(at for at in attempts.at if at > since)
    return ()


def _raises_max(act: Act) -> bool:
    return act.after.max_instance_count != act.before.max_instance_count and act.after.max_instance_count > act.max_in_force


def _resting_max(state: ServiceState, act: Act) -> int | None:
    if act.after.max_instance_count == act.before.max_instance_count:
        return state.resting_max
    if _raises_max(act):
        return act.max_in_force if state.resting_max is None else state.resting_max
    if state.resting_max is not None and act.after.max_instance_count <= state.resting_max:
        return None
    return state.resting_max


def _floor(state: ServiceState, act: Act, now: datetime) -> Floor | None:
    before, after = act.before.min_instance_count, act.after.min_instance_count
    if after == before:
        return state.floor
    if after > before and act.signals:
        return Floor(
            base=before if state.floor is None else state.floor.base,
            min_instance_count=after,
            expires_at=act.floor_expires_at or now + timedelta(seconds=FLOOR_SECONDS),
            signal=act.signals[0],
        )
    if state.floor is not None and after > state.floor.base:
        return state.floor
    return None


def _count_attempts(state: ServiceState, signals: tuple[Signal, ...], now: datetime) -> tuple[Attempts, ...]:
    counted = {attempts.signal: attempts for attempts in state.attempts}
    for signal in signals:
        counted[signal] = Attempts(signal=signal, at=(*attempts_in_window(state, signal, now), now))
    return tuple(counted.values())


def _ended(state: ServiceState, act: Act, outcome: Outcome, detail: str, now: datetime) -> ServiceState:
    before = state.last_act
    times = before.times + 1 if before is not None and before.outcome == outcome else 1
    last = LastAct(act_id=act.act_id, decision_id=act.decision_id, outcome=outcome, times=times, detail=detail[:STATE_TEXT_LIMIT], at=now)
    return state.model_copy(update={"act": None, "last_act": last})
