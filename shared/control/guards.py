"""What keeps a wish from coming true: people, the spec, a change under way, cooldowns, budgets of attempts, the fleet's brakes."""

from datetime import datetime, timedelta
from typing import NamedTuple

from shared.control.inflight import attempts_in_window
from shared.control.remedies import Wish
from shared.control.timing import (
    ATTEMPT_BUDGET,
    ATTEMPT_WINDOW_SECONDS,
    FOREIGN_CHANGE_SECONDS,
    OUT_COOLDOWN_SECONDS,
    PIN_REST_SECONDS,
    REFUSED_WRITE_SECONDS,
    UNWRITTEN_AT_MOST_SECONDS,
    UNWRITTEN_SECONDS,
)
from shared.records.observed import Observed, ScalingMode
from shared.records.plan import Denial, DenialCode
from shared.records.service import Hold, HoldKind, OwnedField
from shared.records.snapshot import ManagedService, Observation


class Refusal(NamedTuple):
    """A denied wish: the denial, and when it may be worth asking again (None: when something else happens)."""

    denial: Denial
    again_at: datetime | None


def check(wish: Wish, service: ManagedService, observed: Observed, now: datetime) -> Refusal | None:
    """The first guard that denies the wish, or None if it may come true.

    The order is that of authority: people first, then what cannot work, then what is under way, then time, then budgets.
    """
    for guard in GUARDS:
        refusal = guard(wish, service, observed, now)
        if refusal is not None:
            return refusal
    return None


def check_brake(service: ManagedService, observation: Observation, now: datetime) -> Refusal | None:
    """The brake on acts per minute, once for all changes of a plan: they are one act."""
    usage, limit = observation.fleet_usage, service.fleet.brakes.acts_per_minute
    if usage is None or usage.acts_this_minute < limit:
        return None
    next_minute = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    message = (
        f"the fleet's brake allows {limit} acts per minute and {usage.acts_this_minute} were made in this one; "
        f"the next minute begins at {next_minute:%H:%M} UTC"
    )
    return Refusal(Denial(code=DenialCode.BRAKE_ACTS, message=message), next_minute)


def _refuse(wish: Wish, code: DenialCode, message: str, again_at: datetime | None = None) -> Refusal:
    return Refusal(Denial(code=code, field=wish.field, wanted=wish.target, message=message), again_at)


def _words(hold: Hold) -> str:
    until = "without an end" if hold.expires_at is None else f"until {hold.expires_at:%Y-%m-%d %H:%M} UTC"
    return f"held by {hold.author} {until}: {hold.reason}"


def _fleet_hold(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    hold = service.fleet.hold
    if hold is None or not hold.stops(wish.field, now):
        return None
    return _refuse(wish, DenialCode.FLEET_HOLD, f"the whole fleet is {_words(hold)}", hold.expires_at)


def _hold(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    for hold in service.document.holds:
        if hold.stops(wish.field, now) and not (wish.pinned and hold.kind is HoldKind.PIN):
            what = wish.field if hold.fields else "the service"
            return _refuse(wish, DenialCode.HOLD, f"{what} is {_words(hold)}", hold.expires_at)
    return None


def _foreign_change(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    if wish.pinned:
        return None
    for change in service.state.foreign_changes:
        again_at = change.seen_at + timedelta(seconds=FOREIGN_CHANGE_SECONDS)
        if change.field == wish.field and now < again_at:
            message = (
                f"{change.modifier or 'somebody else'} set {change.field} to {change.theirs} (it was {change.ours}); "
                f"their value is kept until {again_at:%H:%M} UTC"
            )
            return _refuse(wish, DenialCode.FOREIGN_CHANGE, message, again_at)
    return None


def _manual_scaling(wish: Wish, _service: ManagedService, observed: Observed, _now: datetime) -> Refusal | None:
    if observed.scaling_mode != ScalingMode.MANUAL:
        return None
    message = (
        f"the service is in manual scaling mode with {observed.manual_instance_count} instances: min and max have no effect; "
        "set it to automatic scaling to let Trimtab act"
    )
    return _refuse(wish, DenialCode.MANUAL_SCALING, message)


def _in_flight(wish: Wish, service: ManagedService, _observed: Observed, _now: datetime) -> Refusal | None:
    act = service.state.act
    if act is None:
        return None
    message = f"change {act.act_id}, announced at {act.announced_at:%H:%M:%S} UTC, is not settled yet; one at a time"
    return _refuse(wish, DenialCode.IN_FLIGHT, message, act.lease_expires_at)


def _refused_write(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    last = service.state.last_act
    if last is None or last.outcome != "refused":
        return None
    again_at = last.at + timedelta(seconds=REFUSED_WRITE_SECONDS)
    if now >= again_at:
        return None
    return _refuse(wish, DenialCode.WRITE_FAILED, f"Cloud Run refused the last change: {last.detail[:400]}", again_at)


def _quota(wish: Wish, service: ManagedService, observed: Observed, now: datetime) -> Refusal | None:
    """Cloud Run checks the quota at every write: while it refuses the maximum in force, no write of any field gets through."""
    ceiling = service.state.quota_ceiling
    resulting_max = wish.target if wish.field == OwnedField.MAX_INSTANCE_COUNT else observed.max_in_force
    if ceiling is None or now >= ceiling.expires_at or resulting_max <= ceiling.max_instance_count:
        return None
    message = (
        f"Cloud Run refused {resulting_max} instances for lack of quota at {ceiling.seen_at:%H:%M} UTC, whatever the write changes; "
        f"tried again from {ceiling.expires_at:%H:%M} UTC on: {ceiling.message[:200]}"
    )
    return _refuse(wish, DenialCode.QUOTA, message, ceiling.expires_at)


def _unwritten(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    """Writes that never reach Cloud Run are tried again at once the first time, then at growing distances."""
    last = service.state.last_act
    if last is None or last.outcome != "not-written" or last.times <= 1:
        return None
    wait = min(UNWRITTEN_SECONDS * 2.0 ** (last.times - 2), UNWRITTEN_AT_MOST_SECONDS)
    again_at = last.at + timedelta(seconds=wait)
    if now >= again_at:
        return None
    message = f"{last.times} changes in a row never reached Cloud Run; tried again from {again_at:%H:%M:%S} UTC on"
    return _refuse(wish, DenialCode.WRITE_FAILED, message, again_at)


def _pin_rest(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    """What a pin keeps is put back at once, but two writers must not answer each other without a pause."""
    last = service.state.last_act
    if not wish.pinned or last is None or now >= last.at + timedelta(seconds=PIN_REST_SECONDS):
        return None
    again_at = last.at + timedelta(seconds=PIN_REST_SECONDS)
    message = f"{wish.reason}; Trimtab changed the bounds at {last.at:%H:%M:%S} UTC, and puts this back from {again_at:%H:%M:%S} on"
    return _refuse(wish, DenialCode.COOLDOWN, message, again_at)


def _cooldown(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    if not wish.outward or wish.signal is None:
        return None
    raised_at = service.state.clocks.scaled_out_at
    if raised_at is None or now >= raised_at + timedelta(seconds=OUT_COOLDOWN_SECONDS):
        return None
    again_at = raised_at + timedelta(seconds=OUT_COOLDOWN_SECONDS)
    message = f"the bounds were raised at {raised_at:%H:%M:%S} UTC; they are raised again from {again_at:%H:%M:%S} UTC on"
    return _refuse(wish, DenialCode.COOLDOWN, message, again_at)


def _attempts(wish: Wish, service: ManagedService, _observed: Observed, now: datetime) -> Refusal | None:
    if not wish.outward or wish.signal is None:
        return None
    made = attempts_in_window(service.state, wish.signal, now)
    if len(made) < ATTEMPT_BUDGET:
        return None
    again_at = made[0] + timedelta(seconds=ATTEMPT_WINDOW_SECONDS)
    message = (
        f"{len(made)} changes for {wish.signal} since {made[0]:%H:%M} UTC did not end it; a person must look "
        f"(Trimtab tries again from {again_at:%H:%M} UTC on)"
    )
    return _refuse(wish, DenialCode.ATTEMPTS_EXHAUSTED, message, again_at)


GUARDS = (
    _fleet_hold,
    _hold,
    _foreign_change,
    _manual_scaling,
    _in_flight,
    _quota,
    _refused_write,
    _unwritten,
    _pin_rest,
    _cooldown,
    _attempts,
)
"""In the order of their authority: people first, then what cannot work, then what is under way, then time, then budgets."""
