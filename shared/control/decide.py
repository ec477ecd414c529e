"""The one place that decides: `decide(service, observation, now) -> Plan`. Pure; the same values give the same plan."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from shared.control import diagnosing, pins, repair, rollout, way_down
from shared.control.ceilings import ceilings, usd_at_max
from shared.control.conditions import conditions
from shared.control.episodes import advance, fresh, open_signals
from shared.control.explanation import explain
from shared.control.fold import expire
from shared.control.guards import Refusal, check, check_brake
from shared.control.inflight import came_late, settle
from shared.control.remedies import Scene, Wish, Wishes, floor_until, for_repair, for_signals, for_spec
from shared.control.repair_effect import device_busy, pending_p99_ms
from shared.control.rollout_parts import Step
from shared.control.timing import EPISODE_GRACE_SECONDS, IN_COOLDOWN_SECONDS, TICK_SECONDS
from shared.records.metric import Known, Unknown
from shared.records.observed import Observed
from shared.records.plan import Denial, DenialCode, FieldChange, Plan
from shared.records.repair import RepairChange
from shared.records.rollout import RolloutChange
from shared.records.service import Autonomy, OwnedField
from shared.records.signals import Signal
from shared.records.snapshot import ManagedService, Observation
from shared.records.state import Desired, ForeignChange, ServiceState


def decide(service: ManagedService, observation: Observation, now: datetime) -> Plan:
    """What to do about one service now, from the whole picture.

    Args:
        service: The owner's document, reconcile's state with all facts folded, and the fleet's brakes.
        observation: What Cloud Run, the metrics and the quota said just now; each part may be Unknown.
        now: The time, UTC.

    Returns:
        The changes wanted and those denied, each with its reason; the state as it stands after looking; when to look again.
        Dry run is not considered here: whether a plan is written is the executor's business.
    """
    state = expire(service.state, now)
    if isinstance(observation.cloud_run, Unknown):
        return _blind(service, state, observation.cloud_run.reason, now)
    observed = observation.cloud_run
    state = settle(state, observed, observation.operation, now)
    state = came_late(state, observed, now)
    state = _adopt(state, observed, service.document.generation, now)
    state = way_down.tidied(state, observed, service.document.spec.scale, now)
    count = fresh(observation.instance_count)
    state = advance(state, observed, count, now)
    state = state.model_copy(update={"usd_per_hour_at_max": usd_at_max(service, observed)})
    looked = service.model_copy(update={"state": state})
    limits = ceilings(looked, observed, observation, now, counted_usd=service.state.usd_per_hour_at_max)
    evidence = observation.evidence
    scene = Scene(looked, observed, count, tuple(limits), now, device_busy(evidence, observed.shape), pending_p99_ms(evidence))
    finding = diagnosing.found(looked, observation, now)
    if service.document.spec.autonomy == Autonomy.OBSERVE:
        return _plan(scene, [], [], _observe_only(state), finding)
    plan = _plan(scene, *_weigh(scene, observation, finding), finding)
    return plan if observation.template is None else _with_template(plan, looked, observation, finding, now, most=limits[0].instances)


def _with_template(
    plan: Plan, service: ManagedService, observation: Observation, finding: diagnosing.Finding | None, now: datetime, *, most: int
) -> Plan:
    """The plan with the next step of a template change, or of a repair.

    A change of the bounds goes first: it helps at once, and one write is made a look.
    """
    view = observation.template
    observed = observation.cloud_run
    if plan.changes or view is None or isinstance(observed, Unknown):
        return plan
    looked = service.model_copy(update={"state": plan.state})
    fixing = repair.advance(looked, observation, finding, now, most=most)
    after = looked.model_copy(update={"state": fixing.state})
    step = rollout.advance(after, view, observed, now) if fixing.settled else Step(fixing.state)
    step = replace(step, denials=(*fixing.denials, *step.denials))
    if step.write == "deploy" and view.faults:
        message = f"the template that the spec asks for is not written: {'; '.join(view.faults)}"
        step = replace(step, state=fixing.state, write=None, denials=(*step.denials, Denial(code=DenialCode.LINT, message=message)))
    brake = check_brake(service, observation, now) if step.write is not None else None
    if brake is not None:
        step = replace(step, write=None, denials=(*step.denials, brake.denial), next_look_at=brake.again_at)
    change = None
    if step.write is not None and step.state.rollout is not None:
        change = RolloutChange(kind=step.write, revision=step.state.rollout.revision, reason=step.reason[:1_000])
    denials = _without_answered((*plan.denials, *step.denials), fixing.change)
    acting = service.document.spec.autonomy == Autonomy.ACT
    state = step.state if acting else plan.state
    stated = conditions(state, denials=denials, unreadable=None, generation=service.document.generation, now=now, view=view)
    moments = [moment for moment in (plan.next_look_at, fixing.next_look_at, step.next_look_at) if moment is not None]
    return plan.model_copy(
        update={
            "state": state.model_copy(update={"conditions": stated}),
            "rollout": change,
            "repair": fixing.change,
            "denials": denials,
            "explanation": explain(plan.signals, (), denials, change, diagnosis=plan.diagnosis, repair=fixing.change),
            "next_look_at": min(moments, default=None),
        }
    )


def _without_answered(denials: tuple[Denial, ...], change: RepairChange | None) -> tuple[Denial, ...]:
    """Without those that say of a signal that no bound cures it, where a repair is asked for in its place."""
    if change is None or change.kind != "ask":
        return denials
    return tuple(each for each in denials if each.code is not DenialCode.NO_FAST_REMEDY)


def _blind(service: ManagedService, state: ServiceState, reason: str, now: datetime) -> Plan:
    """Cloud Run could not be read: nothing is decided, and it is tried again at the next tick."""
    denial = Denial(code=DenialCode.UNOBSERVED, message=f"Cloud Run could not be read: {reason}")
    stated = conditions(state, denials=(), unreadable=reason, generation=service.document.generation, now=now)
    seen = state.model_copy(update={"conditions": stated})
    return Plan(
        state=seen,
        signals=open_signals(seen),
        denials=(denial,),
        explanation=explain(open_signals(seen), (), (denial,)),
        next_look_at=now + timedelta(seconds=TICK_SECONDS if seen.open_incident_count or seen.act else IN_COOLDOWN_SECONDS),
    )


def _adopt(state: ServiceState, observed: Observed, generation: int, now: datetime) -> ServiceState:
    """Take what Cloud Run says as the ground to stand on; another's value of a field we own wins and is remembered."""
    update: dict[str, object] = {}
    if not observed.same_as(state.observed):
        update["observed"] = observed
    desired = state.desired
    if desired is None:
        update["desired"] = Desired(bounds=observed.bounds, generation=generation, set_at=now)
    elif state.act is None and observed.bounds != desired.bounds:
        update |= _foreign(state, desired, observed, now)
        update["desired"] = Desired(bounds=observed.bounds, generation=generation, set_at=now)
    return state.model_copy(update=update) if update else state


def _foreign(state: ServiceState, desired: Desired, observed: Observed, now: datetime) -> dict[str, object]:
    changed = {
        OwnedField.MIN_INSTANCE_COUNT: (desired.bounds.min_instance_count, observed.bounds.min_instance_count),
        OwnedField.MAX_INSTANCE_COUNT: (desired.bounds.max_instance_count, observed.bounds.max_instance_count),
    }
    kept = {change.field: change for change in state.foreign_changes}
    update: dict[str, object] = {}
    for field, (ours, theirs) in changed.items():
        if ours == theirs:
            continue
        kept[field] = ForeignChange(field=field, ours=ours, theirs=theirs, modifier=observed.last_modifier, seen_at=now)
        update["floor" if field == OwnedField.MIN_INSTANCE_COUNT else "resting_max"] = None
    return {**update, "foreign_changes": tuple(kept.values())}


def _observe_only(state: ServiceState) -> list[Denial]:
    if not state.open_incident_count:
        return []
    message = "the spec's autonomy is observe: incidents are recorded and nothing is decided; set it to recommend or act"
    return [Denial(code=DenialCode.AUTONOMY_OBSERVE, message=message)]


def _weigh(scene: Scene, observation: Observation, finding: diagnosing.Finding | None) -> tuple[list[Wish], list[Refusal], list[Denial]]:
    """All wishes through all guards: what is granted, what is refused and until when, and what there is to note."""
    wishes = for_spec(scene)
    remedies = for_signals(scene)
    noted = [*_news(scene), *wishes.denials, *remedies.denials]
    provided = for_repair(scene)
    noted += provided.denials
    for wish in (*remedies.by_field.values(), *provided.by_field.values()):
        wishes.add(wish)
    state = scene.service.state
    earliest = way_down.earliest(state)
    if not way_down.trouble(state) and way_down.wants_down(scene) and (earliest is None or scene.now >= earliest) and state.act is None:
        rest = way_down.for_rest(scene)
        noted += rest.denials
        for wish in rest.by_field.values():
            wishes.by_field.setdefault(wish.field, wish)
    for wish in pins.for_pins(scene):
        wishes.by_field[wish.field] = wish
    granted, refusals = _through_guards(scene, wishes, finding)
    if granted:
        brake = check_brake(scene.service, observation, scene.now)
        if brake is not None:
            return [], [*refusals, brake], noted
    noted += [_limited(wish) for wish in granted if wish.limited_by is not None]
    return granted, refusals, noted


def _through_guards(scene: Scene, wishes: Wishes, finding: diagnosing.Finding | None) -> tuple[list[Wish], list[Refusal]]:
    granted, refusals = [], []
    for wish in wishes.by_field.values():
        refusal = check(wish, scene.service, scene.observed, scene.now)
        diagnosed = finding.denial(wish) if refusal is None and finding is not None else None
        if diagnosed is not None:
            refusal = Refusal(diagnosed, None)
        if refusal is None:
            granted.append(wish)
        else:
            refusals.append(refusal)
    kept = _consistent(scene, granted)
    refusals += [Refusal(_inconsistent(wish), None) for wish in granted if wish not in kept]
    return kept, refusals


def _consistent(scene: Scene, granted: list[Wish]) -> list[Wish]:
    """Cloud Run refuses a max below the min: a lowering of max that was granted alone waits for its min."""
    after = {wish.field: wish.target for wish in granted}
    minimum = after.get(OwnedField.MIN_INSTANCE_COUNT, scene.observed.bounds.min_instance_count)
    maximum = after.get(OwnedField.MAX_INSTANCE_COUNT, scene.observed.bounds.max_instance_count)
    if maximum and minimum > maximum:
        return [wish for wish in granted if wish.field == OwnedField.MIN_INSTANCE_COUNT and wish.target <= scene.observed.max_in_force]
    return granted


def _inconsistent(wish: Wish) -> Denial:
    message = f"{wish.field} would be set to {wish.target}, but Cloud Run takes no maximum below the minimum"
    return Denial(code=DenialCode.INCONSISTENT, field=wish.field, wanted=wish.target, message=message)


def _limited(wish: Wish) -> Denial:
    assert wish.limited_by is not None  # noqa: S101 (the caller filters; this is for the type checker)
    message = f"{wish.wanted} were wanted, {wish.target} are set: {wish.limited_by.message}"
    return Denial(code=wish.limited_by.code, field=wish.field, wanted=wish.wanted, message=message)


def _news(scene: Scene) -> Iterable[Denial]:
    """What was noticed in this very look and belongs into the record."""
    state, now = scene.service.state, scene.now
    for change in state.foreign_changes:
        if change.seen_at == now:
            who = change.modifier or "somebody else"
            kept = pins.value_of(scene.service.document.holds, change.field, now) is None
            yield Denial(
                code=DenialCode.FOREIGN_CHANGE,
                field=change.field,
                wanted=change.ours,
                message=f"{who} set {change.field} to {change.theirs} (Trimtab had it at {change.ours}); "
                f"{'their value is kept' if kept else 'a pin keeps it, and it is put back'}",
            )
    last = state.last_act
    if last is not None and last.at == now and last.outcome == "refused":
        yield Denial(code=DenialCode.WRITE_FAILED, message=f"change {last.act_id} failed: {last.detail}")


def _plan(scene: Scene, granted: list[Wish], refusals: list[Refusal], noted: list[Denial], finding: diagnosing.Finding | None) -> Plan:
    service, state, now = scene.service, scene.service.state, scene.now
    changes = tuple(
        FieldChange(
            field=wish.field,
            before=wish.before,
            after=wish.target,
            signal=wish.signal,
            reason=_reason(wish, finding),
            predicted=wish.predicted,
        )
        for wish in granted
    )
    refused = tuple(refusal.denial for refusal in refusals)
    said = {(denial.code, denial.field) for denial in refused} | {(denial.code, None) for denial in refused}
    denials = (*refused, *(denial for denial in noted if (denial.code, denial.field) not in said))
    stated = conditions(state, denials=denials, unreadable=None, generation=service.document.generation, now=now)
    seen = state.model_copy(update={"conditions": stated})
    signals = open_signals(state)
    diagnosis = finding.kept() if finding is not None else None
    raises_min = any(wish.field == OwnedField.MIN_INSTANCE_COUNT and wish.outward and wish.signal for wish in granted)
    return Plan(
        state=seen,
        signals=signals,
        changes=changes,
        denials=denials,
        explanation=explain(signals, changes, denials, diagnosis=diagnosis),
        diagnosis=diagnosis,
        unknown_signals=tuple(dict.fromkeys(wish.signal for wish in granted if wish.while_unknown and wish.signal is not None)),
        floor_expires_at=floor_until(scene) if raises_min else None,
        next_look_at=_next_look(scene, changes, refusals),
    )


def _reason(wish: Wish, finding: diagnosing.Finding | None) -> str:
    confirmed = finding.confirmation(wish) if finding is not None else ""
    return f"{wish.reason}; {confirmed}" if confirmed else wish.reason


def _next_look(scene: Scene, changes: tuple[FieldChange, ...], refusals: list[Refusal]) -> datetime | None:
    """The earliest moment at which the clock alone may change the answer; None if nothing is pending."""
    state, now = scene.service.state, scene.now
    tick = now + timedelta(seconds=TICK_SECONDS)
    moments: list[datetime] = []
    if changes or state.act is not None or state.open_incident_count:
        moments.append(tick)
    moments += [refusal.again_at for refusal in refusals if refusal.again_at is not None]
    moments += [episode.ended_at + timedelta(seconds=EPISODE_GRACE_SECONDS) for episode in state.episodes if episode.ended_at is not None]
    if way_down.wants_down(scene) and scene.service.document.spec.autonomy != Autonomy.OBSERVE:
        moments.append(_way_down_at(scene, tick))
    return max(min(moments), tick) if moments else None


def _way_down_at(scene: Scene, tick: datetime) -> datetime:
    state = scene.service.state
    earliest = way_down.earliest(state) or tick
    floor = state.floor.expires_at if state.floor is not None and state.resting_max is None else earliest
    # Without a count nothing is lowered however often it is looked at; as often as a settled service is enough.
    # Nor is a floor raised for latency, while its instances are in use: how busy they are is asked of the metrics each time.
    in_use = state.floor is not None and state.floor.signal is Signal.LATENCY
    patience = tick if isinstance(scene.instance_count, Known) and not in_use else scene.now + timedelta(seconds=IN_COOLDOWN_SECONDS)
    return max(earliest, floor, patience)
