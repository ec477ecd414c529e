"""The slow way down: bounds that were raised return to where they rested, in steps, and only on known data."""

from datetime import datetime, timedelta

from shared.control.episodes import open_signals
from shared.control.remedies import MAX, MIN, Scene, Wish, Wishes, needed_by_repair
from shared.control.timing import IN_COOLDOWN_SECONDS, SCALE_IN_USE_RATIO
from shared.records.metric import Known, Unknown
from shared.records.observed import Observed
from shared.records.plan import DenialCode
from shared.records.service import ScaleBounds
from shared.records.signals import Signal
from shared.records.state import ServiceState


def wants_down(scene: Scene) -> bool:
    """Whether anything is above where it should rest."""
    state = scene.service.state
    return _is_idle(state) or state.floor is not None or state.resting_max is not None


def tidied(state: ServiceState, observed: Observed, scale: ScaleBounds, now: datetime) -> ServiceState:
    """The state without a floor or a resting place that nothing is above any more: there is nothing left to lower."""
    update: dict[str, object] = {}
    floor = state.floor
    if floor is not None and now >= floor.expires_at and observed.bounds.min_instance_count <= max(floor.base, scale.min_instance_count):
        update["floor"] = None
    rest = state.resting_max
    lowest = max(rest if rest is not None else 0, 1, observed.min_in_force if floor is None or "floor" in update else 0)
    if rest is not None and state.act is None and observed.max_in_force <= max(min(lowest, scale.max_instance_count), 1):
        update["resting_max"] = None
    return state.model_copy(update=update) if update else state


def earliest(state: ServiceState) -> datetime | None:
    """When a lowering is allowed at the earliest: `IN_COOLDOWN_SECONDS` after the last change and after the last trouble."""
    moments = [state.clocks.scaled_out_at, state.clocks.scaled_in_at]
    moments += [episode.ended_at for episode in state.episodes if episode.signal != Signal.IDLE]
    past = [moment for moment in moments if moment is not None]
    return max(past) + timedelta(seconds=IN_COOLDOWN_SECONDS) if past else None


def trouble(state: ServiceState) -> bool:
    """Whether any incident is open that forbids lowering: every signal but idle does."""
    return state.incidents_not_kept > 0 or any(signal != Signal.IDLE for signal in open_signals(state))


def for_rest(scene: Scene) -> Wishes:
    """What may be lowered now. The caller has made sure that no trouble is open and that the cooldown is over."""
    wishes = Wishes()
    if not isinstance(scene.instance_count, Known):
        wishes.deny(
            DenialCode.UNKNOWN,
            f"nothing is lowered while the instance count is unknown: {scene.instance_count.reason}",
        )
        return wishes
    _lower_min(scene, wishes)
    _lower_max(scene, wishes, scene.instance_count.value)
    return wishes


def _is_idle(state: ServiceState) -> bool:
    return Signal.IDLE in open_signals(state)


def _lower_min(scene: Scene, wishes: Wishes) -> None:
    state, bounds = scene.service.state, scene.observed.bounds
    least = scene.service.document.spec.scale.min_instance_count
    if state.floor is not None and state.floor.signal is Signal.LATENCY and scene.now >= state.floor.expires_at:
        _lower_for_latency(scene, wishes)
        return
    if state.floor is not None and scene.now >= state.floor.expires_at:
        target = max(state.floor.base, least)
        if target < bounds.min_instance_count:
            wishes.add(
                Wish(
                    field=MIN,
                    before=bounds.min_instance_count,
                    in_force=scene.observed.min_in_force,
                    target=target,
                    wanted=state.floor.base,
                    reason=f"the floor raised for {state.floor.signal} has expired and the signal is over",
                    predicted=f"saves up to {scene.dollars(bounds.min_instance_count - target)} while traffic is low",
                )
            )
            return
    if not _is_idle(state) or state.floor is not None:
        return
    if bounds.min_instance_count <= least:
        wishes.deny(
            DenialCode.SPEC_MIN,
            f"idle: {bounds.min_instance_count} instances are kept warm, and the spec's scale.min_instance_count is {least}",
            MIN,
            bounds.min_instance_count - 1,
        )
        return
    wishes.add(
        Wish(
            field=MIN,
            before=bounds.min_instance_count,
            in_force=scene.observed.min_in_force,
            target=bounds.min_instance_count - 1,
            wanted=least,
            reason="the service holds more instances than its traffic needs; one at a time",
            predicted=f"saves up to {scene.dollars(1)} while traffic is low",
            signal=Signal.IDLE,
        )
    )


def _lower_for_latency(scene: Scene, wishes: Wishes) -> None:
    """Instances that were added because the device had no pause go one by one, and only while the others have room for their load."""
    state, bounds, busy, count = scene.service.state, scene.observed.bounds, scene.device_busy, scene.instance_count
    assert state.floor is not None  # noqa: S101 (the caller looked)
    assert isinstance(count, Known)  # noqa: S101 (nothing gets here without it)
    target = max(bounds.min_instance_count - 1, state.floor.base, scene.service.document.spec.scale.min_instance_count)
    if target >= bounds.min_instance_count:
        return
    if isinstance(busy, Unknown):
        # Why it is unknown stands in the evidence; not asked or not answered is the same decision.
        wishes.deny(DenialCode.UNKNOWN, "how busy the device is, is unknown: the floor raised for latency stays", MIN, target)
        return
    shared = busy.value * count.value / max(count.value - 1, 1)
    if shared > SCALE_IN_USE_RATIO:
        message = (
            f"{count.value:g} instances are busy {busy.value:.0%} of the time; one fewer would be {min(shared, 1):.0%}, more than "
            f"{SCALE_IN_USE_RATIO:.0%}: the floor raised for latency stays"
        )
        wishes.deny(DenialCode.STILL_BUSY, message, MIN, target)
        return
    wishes.add(
        Wish(
            field=MIN,
            before=bounds.min_instance_count,
            in_force=scene.observed.min_in_force,
            target=target,
            wanted=state.floor.base,
            reason=f"the floor raised for latency has expired and {count.value:g} instances are busy {busy.value:.0%} of the time; "
            "one at a time",
            predicted=f"saves up to {scene.dollars(1)}",
        )
    )


def _lower_max(scene: Scene, wishes: Wishes, running: float) -> None:
    state, observed = scene.service.state, scene.observed
    if state.resting_max is None:
        return
    # What a repair under way was given room for is not lowered under it: the next look would raise it again.
    rest = min(max(state.resting_max, needed_by_repair(scene) or 0), scene.service.document.spec.scale.max_instance_count)
    excess = observed.max_in_force - rest
    if excess <= 0:
        return
    target = max(rest + excess // 2, scene.observed.min_in_force, 1)
    if target >= observed.max_in_force:
        return
    if running > observed.min_in_force and running > SCALE_IN_USE_RATIO * target:
        wishes.deny(
            DenialCode.STILL_BUSY,
            f"{running:g} instances run, more than {SCALE_IN_USE_RATIO:.0%} of the {target} that would be allowed next; "
            f"{observed.max_in_force} stay allowed until fewer run",
            MAX,
            target,
        )
        return
    wishes.add(
        Wish(
            field=MAX,
            before=observed.bounds.max_instance_count,
            in_force=observed.max_in_force,
            target=target,
            wanted=rest,
            reason=f"the trouble is over and {running:g} instances run; half way back to the {rest} allowed before it",
            predicted=f"caps the cost {scene.dollars(observed.max_in_force - target)} lower",
        )
    )
