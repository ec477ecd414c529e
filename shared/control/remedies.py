"""The remedies of the fast knob: what each signal asks of `service.scaling`, and what the spec and the clock ask of it.

A remedy gives wishes, absolute values computed from the episode's anchor, and denials where it knows that there is nothing to wish
for. Whether a wish may come true is the guards' business.
"""

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shared.control.ceilings import Ceiling, price_of
from shared.control.episodes import open_signals
from shared.control.inflight import last_attempt
from shared.control.timing import EFFECT_SECONDS, FLOOR_SECONDS
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Observed
from shared.records.plan import Denial, DenialCode
from shared.records.repair import RepairPhase
from shared.records.service import OwnedField
from shared.records.signals import Signal
from shared.records.snapshot import ManagedService
from shared.records.state import Episode

MIN = OwnedField.MIN_INSTANCE_COUNT
MAX = OwnedField.MAX_INSTANCE_COUNT

PROVIDED = frozenset({RepairPhase.ASKED, RepairPhase.ON_TRIAL})
"""While a repair is in one of these, it has the room that it was expected to need."""
SATURATED_RATIO = 0.9
"""A device that is busy for this share of the time has no pause worth the name: utilization is sampled, and 1.0 is seldom reported."""
STEP_RATIO = 0.25
FIRST_FLOOR = 4
"""The most instances that are kept for slow requests where none were kept before."""

NO_FAST_REMEDY = {
    Signal.QUEUE_FULL: "the batching queue refuses requests; queue, batch size or speed must change, which needs a new revision",
    Signal.THREAD_GAP: "the server's threads are exhausted; thread count and concurrency must change together, which needs a new revision",
    Signal.GPU_MEMORY: "GPU memory is nearly full; batch size or model versions in memory must change, which needs a new revision",
    Signal.ERROR_RATIO: "requests fail; more instances of a failing server do not fail less, look at the newest revision and its logs",
    Signal.LATENCY: "requests are slow; whether batching, the queue or capacity is the cause cannot be told from this alert alone",
    Signal.CPU_HIGH_GPU_LOW: "the CPU is busy and the GPU idles; batching or CPU per instance must change, which needs a new revision",
    Signal.NO_DATA: "a series is absent; without data nothing is known, and nothing is lowered until it is back",
}
"""Why an instance bound does not cure these signals."""


@dataclass(frozen=True)
class Wish:
    """A value wanted for one field.

    `before` is what the field holds, `in_force` what Cloud Run goes by (it differs where the field is not set or the revision has
    a bound of its own), `target` what may be written, `wanted` what it was before limits cut it.
    """

    field: OwnedField
    before: int
    in_force: int
    target: int
    wanted: int
    reason: str
    predicted: str
    signal: Signal | None = None
    limited_by: Ceiling | None = None
    while_unknown: bool = False
    pinned: bool = False
    """Whether it puts back what a pin keeps."""

    @property
    def outward(self) -> bool:
        """Whether it asks for more capacity."""
        return self.target > self.in_force


@dataclass
class Wishes:
    """What came out of all remedies: wishes by field (the furthest outward wins) and denials."""

    by_field: dict[OwnedField, Wish] = field(default_factory=dict)
    denials: list[Denial] = field(default_factory=list)

    def add(self, wish: Wish) -> None:
        """Keep the wish unless a stronger one for its field is there."""
        other = self.by_field.get(wish.field)
        if other is None or wish.target > other.target:
            self.by_field[wish.field] = wish

    def deny(self, code: DenialCode, message: str, owned: OwnedField | None = None, wanted: int | None = None) -> None:
        """Note something that is not wished for, and why."""
        self.denials.append(Denial(code=code, field=owned, wanted=wanted, message=message))


@dataclass(frozen=True)
class Scene:
    """Everything a remedy looks at."""

    service: ManagedService
    observed: Observed
    instance_count: Metric
    ceilings: tuple[Ceiling, ...]
    now: datetime
    device_busy: Metric
    """Share of the time that the GPU (without one, the CPU) of the middle instance is busy."""
    pending_p99_ms: Metric
    """How long requests wait for an instance before they run."""

    @property
    def episodes(self) -> dict[Signal, Episode]:
        """The running episodes by signal."""
        return {episode.signal: episode for episode in self.service.state.episodes}

    def cut(self, wanted: int, *, at_least: int) -> tuple[int, Ceiling | None]:
        """The wanted value under the lowest ceiling (never below `at_least`), and the ceiling that cut it."""
        lowest = self.ceilings[0]
        if wanted <= lowest.instances:
            return wanted, None
        return max(at_least, lowest.instances), lowest

    def dollars(self, instances: int) -> str:
        """What so many instances more or fewer cost an hour, in words."""
        price = price_of(self.service, self.observed)
        return "at a price that is not known" if price is None else f"${abs(instances) * price:.2f} per hour"


def for_signals(scene: Scene) -> Wishes:
    """What the open signals ask for."""
    wishes = Wishes()
    for signal in open_signals(scene.service.state):
        changed_at = last_attempt(scene.service.state, signal)
        if changed_at is not None and scene.now < changed_at + timedelta(seconds=EFFECT_SECONDS):
            shows_at = changed_at + timedelta(seconds=EFFECT_SECONDS)
            message = (
                f"the last change for {signal} was made at {changed_at:%H:%M:%S} UTC; whether it helped shows from {shows_at:%H:%M:%S} on"
            )
            wishes.deny(DenialCode.COOLDOWN, message)
        elif signal == Signal.NO_INSTANCE:
            _no_instance(scene, wishes)
        elif signal == Signal.PENDING_LATENCY:
            _pending(scene, wishes, signal, "requests wait for an instance")
        elif signal == Signal.LATENCY and _waits_outside(scene):
            _pending(scene, wishes, signal, "requests are slow because they wait for an instance")
        elif signal == Signal.LATENCY and isinstance(scene.device_busy, Known) and scene.device_busy.value >= SATURATED_RATIO:
            _more_for_latency(scene, wishes, scene.device_busy.value)
        elif signal in NO_FAST_REMEDY:
            wishes.deny(DenialCode.NO_FAST_REMEDY, f"{signal}: {NO_FAST_REMEDY[signal]}")
    return wishes


def needed_by_repair(scene: Scene) -> int | None:
    """Instances that a repair under way is to have room for; None where there is none, or nothing was predicted."""
    repair = scene.service.state.repair
    needed = repair.predicted.instances_needed if repair is not None and repair.phase in PROVIDED else None
    quota = next((each.instances for each in scene.ceilings if each.code is DenialCode.QUOTA), None)
    if needed is not None and quota is not None and repair is not None and repair.phase is RepairPhase.ASKED:
        # The candidate starts beside what runs: the last GPU is kept for it.
        return min(needed, max(quota - 1, scene.observed.max_in_force))
    return needed


def for_repair(scene: Scene) -> Wishes:
    """Room for what a repair lets in: requests that were refused unseen are held from then on, and want instances.

    The maximum goes at once to what the capacity model says the load needs; with less, those that were answered well would wait behind
    those that were refused.
    """
    wishes = Wishes()
    repair, bound, needed = scene.service.state.repair, scene.observed.max_in_force, needed_by_repair(scene)
    if repair is None or needed is None or needed <= bound:
        return wishes
    target, ceiling = scene.cut(needed, at_least=bound)
    if target <= bound and ceiling is not None:
        wishes.deny(
            ceiling.code, f"the repair for {repair.cause} wants {needed} instances to be allowed, but {ceiling.message}", MAX, needed
        )
        return wishes
    wishes.add(
        Wish(
            field=MAX,
            before=scene.observed.bounds.max_instance_count,
            in_force=bound,
            target=target,
            wanted=needed,
            reason=f"the repair for {repair.cause} lets in what is refused now, and that needs {needed} instances",
            predicted=f"{repair.predicted.text}; at most {scene.dollars(target - bound)} more",
            limited_by=ceiling,
        )
    )
    return wishes


def for_spec(scene: Scene) -> Wishes:
    """What the owner's bounds ask for, whatever the traffic."""
    wishes = Wishes()
    scale, observed = scene.service.document.spec.scale, scene.observed
    if observed.max_in_force > scale.max_instance_count:
        wishes.add(
            Wish(
                field=MAX,
                before=observed.bounds.max_instance_count,
                in_force=observed.max_in_force,
                target=scale.max_instance_count,
                wanted=scale.max_instance_count,
                reason=f"the spec allows at most {scale.max_instance_count} instances, {observed.max_in_force} were allowed",
                predicted=f"at most {scale.max_instance_count} instances run",
            )
        )
    if 0 < observed.revision_max_instance_count < scale.min_instance_count:
        wishes.deny(
            DenialCode.REVISION_MAX,
            f"the spec wants {scale.min_instance_count} instances kept, but the revision's own maximum is "
            f"{observed.revision_max_instance_count}; moving it needs a new revision",
            MAX,
            scale.min_instance_count,
        )
    elif observed.max_in_force < scale.min_instance_count:
        wishes.add(
            Wish(
                field=MAX,
                before=observed.bounds.max_instance_count,
                in_force=observed.max_in_force,
                target=scale.min_instance_count,
                wanted=scale.min_instance_count,
                reason=f"the spec wants {scale.min_instance_count} instances kept, {observed.max_in_force} were allowed",
                predicted=f"{scale.min_instance_count} instances may run",
            )
        )
    minimum = min(max(observed.bounds.min_instance_count, scale.min_instance_count), scale.max_instance_count)
    if minimum != observed.bounds.min_instance_count and (
        minimum < observed.bounds.min_instance_count or observed.min_in_force < scale.min_instance_count
    ):
        wishes.add(
            Wish(
                field=MIN,
                before=observed.bounds.min_instance_count,
                in_force=observed.min_in_force,
                target=minimum,
                wanted=minimum,
                reason=f"the spec wants between {scale.min_instance_count} and {scale.max_instance_count} instances kept",
                predicted=f"{minimum} instances are kept warm",
            )
        )
    return wishes


def _no_instance(scene: Scene, wishes: Wishes) -> None:
    """Requests are refused with 429: at the bound it must rise, below it instances start too late."""
    count, bound = scene.instance_count, scene.observed.max_in_force
    if isinstance(count, Known) and count.value < bound:
        why = f"requests are refused while {count.value:g} of {bound} instances run: instances start too late"
        _raise_min(scene, wishes, Signal.NO_INSTANCE, why)
        return
    _raise_max(scene, wishes, Signal.NO_INSTANCE, "requests are refused for want of an instance")


def _pending(scene: Scene, wishes: Wishes, signal: Signal, why: str) -> None:
    """Requests wait for an instance: what runs is kept warm, and where as many run as may, more may."""
    count = scene.instance_count
    if isinstance(count, Known) and count.value >= scene.observed.max_in_force:
        _raise_max(scene, wishes, signal, f"{why} and there is none to start")
    _raise_min(scene, wishes, signal, f"{why} to start")


def _raise_max(scene: Scene, wishes: Wishes, signal: Signal, why: str) -> None:
    """Twice what was in force when the episode was first decided on."""
    count, bound = scene.instance_count, scene.observed.max_in_force
    episode = scene.episodes[signal]
    wanted = 2 * episode.anchor_max
    if wanted <= bound:
        wishes.deny(
            DenialCode.TARGET_REACHED,
            f"{signal}: {bound} instances are allowed, twice the {episode.anchor_max} in force when the incident was first decided on; "
            "Trimtab raises again when a new incident opens at the new bound, a person can raise it now",
            MAX,
            wanted,
        )
        return
    if isinstance(count, Unknown) and (episode.raised_while_unknown or scene.service.state.resting_max is not None):
        wishes.deny(
            DenialCode.UNKNOWN,
            f"{signal}: the instance count is unknown ({count.reason}); the one raise without it has been made and is still in force",
            MAX,
            wanted,
        )
        return
    target, ceiling = scene.cut(wanted, at_least=bound)
    if target <= bound and ceiling is not None:
        wishes.deny(ceiling.code, f"{signal}: {bound} instances are allowed and {wanted} are wanted, but {ceiling.message}", MAX, wanted)
        return
    used = f"how many of {bound} instances run is unknown"
    if isinstance(count, Known):
        # More than are allowed: the last instances of a revision that has no traffic any more.
        used = f"{count.value:g} of {bound} instances run" if count.value <= bound else f"all {bound} that are allowed run"
    wishes.add(
        Wish(
            field=MAX,
            before=scene.observed.bounds.max_instance_count,
            in_force=bound,
            target=target,
            wanted=wanted,
            reason=f"{why} and {used}; {wanted} is twice the {episode.anchor_max} in force when this was first decided on",
            predicted=f"up to {target - bound} more instances start; at most {scene.dollars(target - bound)} more",
            signal=signal,
            limited_by=ceiling,
            while_unknown=isinstance(count, Unknown),
        )
    )


def _waits_outside(scene: Scene) -> bool:
    """Whether the wait for an instance takes the larger part of what a request may take."""
    objective, pending = scene.service.document.spec.objective.p99_ms, scene.pending_p99_ms
    return objective is not None and isinstance(pending, Known) and pending.value > objective / 2


def _more_for_latency(scene: Scene, wishes: Wishes, busy: float) -> None:
    """Requests are slow while the device has no pause: with more instances each of them has smaller batches, and a shorter wait.

    Cloud Run sees requests in flight and CPU, not the GPU, so it may see no reason to start one. One step is a quarter more, and the
    next waits until the last one has started.
    """
    count, observed = scene.instance_count, scene.observed
    if isinstance(count, Unknown):
        message = f"latency: the instance count is unknown ({count.reason}), so one more than runs cannot be named"
        wishes.deny(DenialCode.UNKNOWN, message, MIN)
        return
    running = round(count.value)
    if running < observed.min_in_force:
        message = f"latency: {observed.min_in_force} instances are kept warm, of which {running} run yet"
        wishes.deny(DenialCode.BOUND_NOT_REACHED, message, MIN, observed.min_in_force)
        return
    wanted = running + math.ceil(max(running, 1) * STEP_RATIO)
    target, ceiling = scene.cut(min(wanted, observed.max_in_force), at_least=observed.min_in_force)
    if target <= max(running, observed.min_in_force):
        code, why = (
            (ceiling.code, ceiling.message) if ceiling is not None else (DenialCode.TARGET_REACHED, f"{observed.max_in_force} are allowed")
        )
        wishes.deny(code, f"latency: {running} instances run and {wanted} are wanted, but {why}", MIN, wanted)
        return
    wishes.add(
        Wish(
            field=MIN,
            before=observed.bounds.min_instance_count,
            in_force=observed.min_in_force,
            target=target,
            wanted=wanted,
            reason=f"requests are slow and the {'GPU' if observed.shape.accelerator else 'CPU'} of {running} instances is busy {busy:.0%} "
            "of the time, which Cloud Run's autoscaler does not see",
            predicted=f"{target} instances share the load of {running}: {1 - running / target:.0%} less for each, "
            f"at most {scene.dollars(target - running)} more",
            signal=Signal.LATENCY,
            limited_by=ceiling if target < wanted else None,
        )
    )


def _raise_min(scene: Scene, wishes: Wishes, signal: Signal, why: str) -> None:
    """Keep what runs warm and one more: the absolute target comes from the episode's anchor and the known instance count."""
    count, observed = scene.instance_count, scene.observed
    episode = scene.episodes[signal]
    if isinstance(count, Unknown) and (episode.raised_while_unknown or scene.service.state.floor is not None):
        wishes.deny(
            DenialCode.UNKNOWN,
            f"{signal}: the instance count is unknown ({count.reason}); the one raise without it has been made and is still in force",
            MIN,
        )
        return
    running = round(count.value) if isinstance(count, Known) else 0
    if signal == Signal.LATENCY:
        # In bursts far more run for a moment than are needed: what is kept for long is at most doubled at once.
        running = min(running, max(2 * observed.min_in_force, FIRST_FLOOR))
    wanted = min(max(episode.anchor_min + 1, running), observed.max_in_force)
    if wanted <= observed.min_in_force:
        wishes.deny(DenialCode.TARGET_REACHED, f"{signal}: {observed.min_in_force} instances are kept warm already", MIN, wanted)
        return
    target, ceiling = scene.cut(wanted, at_least=observed.min_in_force)
    if target <= observed.min_in_force and ceiling is not None:
        wishes.deny(ceiling.code, f"{signal}: {wanted} warm instances are wanted, but {ceiling.message}", MIN, wanted)
        return
    wishes.add(
        Wish(
            field=MIN,
            before=observed.bounds.min_instance_count,
            in_force=observed.min_in_force,
            target=target,
            wanted=wanted,
            reason=why,
            predicted=f"{target} instances are kept warm, at most {scene.dollars(target - observed.min_in_force)} more",
            signal=signal,
            limited_by=ceiling,
            while_unknown=isinstance(count, Unknown),
        )
    )


def floor_until(scene: Scene) -> datetime:
    """Until when raised min instances stay, unless the trouble lasts longer."""
    return scene.now + timedelta(seconds=FLOOR_SECONDS)
