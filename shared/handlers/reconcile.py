"""functions/reconcile: fold facts, observe, decide, commit, act, record."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from shared import log
from shared.control.asking import wants_count, wants_evidence
from shared.control.conditions import conditions
from shared.control.decide import decide
from shared.control.fold import expire, fold, keys_to_look_up
from shared.control.inflight import announce, lease_over
from shared.control.rollout import announced
from shared.control.timing import ACT_LEASE_SECONDS, TICK_SECONDS
from shared.errors import Refused, Retry, ServiceMissing, TokenConflict
from shared.events.envelope import Envelope
from shared.events.wake import parse_wake
from shared.handlers.answer import Handled, ReadBody
from shared.handlers.executor import Executor, acts_on
from shared.handlers.intake import take
from shared.handlers.model import ModelPorts, known_versions, reconcile_model
from shared.handlers.observe import observe, with_evidence, with_fleet_usage, without_evidence
from shared.handlers.parking import facts_without_spec, report_unreadable, unreadable_facts
from shared.handlers.recording import Look, fingerprint, record
from shared.handlers.telling import Telling, with_untold_rollout
from shared.handlers.template import RolloutExecutor, Seen, see
from shared.ports import Bus, Clock, EventBus, Ids, Logs, Metrics, ModelFiles, ModelStore, Platform, Prober, Quota, Store, TemplatePlatform
from shared.records.allow_lists import NO_LIMITS, AllowLists
from shared.records.decision import Decision
from shared.records.facts import StoredFact, UnreadableFact
from shared.records.fleet import ActSlot
from shared.records.metric import Unknown
from shared.records.observed import Observed
from shared.records.plan import Plan
from shared.records.service import Autonomy, ServiceDocument
from shared.records.snapshot import ManagedService, Observation, Snapshot
from shared.records.state import KEPT_FINGERPRINTS, Act, ServiceState
from shared.records.subject import ServiceId, Wake

PAGE_LIMIT = 500
"""Facts per read; also the most that one commit parks, which keeps it well below Firestore's 10 MiB."""
PAGES_PER_LOOK = 4
"""Pages folded in one look; what is left wakes again."""
COMMIT_TRIES = 2
"""A commit that lost its race is tried again from fresh reads; after that the one who won is left to it."""
FOLD_WITHIN_SECONDS = 5.0
"""No further page is read after this; what is left wakes again."""
EVIDENCE_BEGINS_WITHIN_SECONDS = 6.0
"""Later than this in a look, logs and metrics are not asked for: they may take twelve seconds, and must not cost a raise its time."""
LOOK_WITHIN_SECONDS = 20.0
"""A look that took longer than this goes no further: reconcile must end within 50 s, and each call may take 10 s."""


@dataclass(frozen=True)
class ReconcilePorts:
    """What reconcile needs of the outside. Without a source of metrics or quotas, those are Unknown.

    Without `logs` nothing is diagnosed: the decisions go by the alerts alone.
    `allowed` is what specs may name, as the command function has it.
    Without `templates` the templates of services are left alone, whatever their specs say; without a prober no golden request is asked,
    and a rollout that needs one waits.
    """

    store: Store
    platform: Platform
    bus: Bus
    clock: Clock
    ids: Ids
    metrics: Metrics | None = None
    quota: Quota | None = None
    templates: TemplatePlatform | None = None
    prober: Prober | None = None
    events: EventBus | None = None
    models: ModelStore | None = None
    files: ModelFiles | None = None
    logs: Logs | None = None
    allowed: AllowLists = NO_LIMITS

    @property
    def model_ports(self) -> ModelPorts | None:
        """What looks at models need; None where models are not looked at."""
        if self.models is None or self.files is None:
            return None
        return ModelPorts(self.models, self.files, self.bus, self.clock)


def handle_wake(headers: Mapping[str, str], read: ReadBody, ports: ReconcilePorts) -> Handled:
    """Look at the subject of a wake.

    Raises:
        Retry: its own store write failed; delivery repeats.
    """

    def work(envelope: Envelope) -> Handled:
        subject, wake = parse_wake(envelope.payload())
        if isinstance(subject, ServiceId):
            return Handled("done", str(subject), reconcile(subject, wake.reason, ports))
        if ports.model_ports is None:
            return Handled("ignored", subject.uri, "no bucket is connected: models are not looked at")
        return Handled("done", subject.uri, reconcile_model(subject, wake.reason, ports.model_ports))

    return take("reconcile", headers, read, work, store=ports.store, clock=ports.clock, events=ports.events)


def reconcile(service: ServiceId, trigger: str, ports: ReconcilePorts) -> str:
    """Bring one service nearer to what it should be; returns in a few words what came of it.

    Who loses its races leaves a wake behind: what it had seen and the winner had not is then looked at. Every lost race is
    somebody's commit, so this comes to an end.

    Raises:
        Retry: the store could not be read or written, or looking took too long.
    """
    for _ in range(COMMIT_TRIES):
        try:
            return _look(service, trigger, ports)
        except TokenConflict:
            continue
    ports.bus.publish_wakes([Wake.of(service, "lost a race")])
    return "somebody else looks at the same time"


@dataclass(frozen=True)
class _Folded:
    state: ServiceState
    unreadable: tuple[UnreadableFact, ...]
    facts: tuple[StoredFact, ...]
    more: bool


def _look(service: ServiceId, trigger: str, ports: ReconcilePorts) -> str:
    began = ports.clock.now()
    snapshot = ports.store.read(service)
    if snapshot.unreadable:
        return report_unreadable(service, snapshot, ports.store, began)
    before = snapshot.state or ServiceState(id=service)
    if _announced_elsewhere(before, began):
        return "a change announced by another look is under way"
    if snapshot.document is None:
        folded = _fold(service, before, ports, pages=1)
    else:
        folded = _fold(service, _taken_up(before), ports, pages=PAGES_PER_LOOK)
    if folded.facts and (ports.clock.now() - began).total_seconds() > LOOK_WITHIN_SECONDS:
        return _only_folded(service, snapshot, folded, ports)
    _check_time(service, began, ports)
    if snapshot.document is None:
        return _without_spec(service, snapshot, folded, ports)
    document = snapshot.document
    managed = ManagedService(document=document, state=folded.state, fleet=snapshot.fleet)
    observation, seen = _observe(service, document, folded.state, ports)
    if ports.logs is not None and wants_evidence(expire(folded.state, began), observation, began):
        described = seen.document if seen is not None else None
        took = (ports.clock.now() - began).total_seconds()
        if took > EVIDENCE_BEGINS_WITHIN_SECONDS:
            observation = without_evidence(observation, f"not asked: the look had taken {took:.0f} s before", document=described)
        else:
            observation = with_evidence(observation, service, logs=ports.logs, metrics=ports.metrics, document=described, now=began)
    plan = decide(managed, observation, began)
    if acts_on(plan, document.spec.autonomy):
        observation = with_fleet_usage(observation, managed, ports.store, began)
        plan = decide(managed, observation, began)
    acting = acts_on(plan, document.spec.autonomy)
    _check_time(service, began, ports)
    look = Look(service=service, trigger=trigger, document=document, observation=observation, plan=plan, acting=acting, now=began)
    committed = _commit(look, snapshot, folded, ports)
    outcome = _act_and_tell(look, committed, seen, before, ports)
    if folded.more or committed.announced or _goes_on(plan, document):
        ports.bus.publish_wakes([Wake.of(service, "more facts" if folded.more else "after a change")])
    return outcome


def _goes_on(plan: Plan, document: ServiceDocument) -> bool:
    """Whether the next step waits for nothing but a look at what was decided now."""
    return plan.repair is not None and document.spec.autonomy is Autonomy.ACT


def _observe(service: ServiceId, document: ServiceDocument, state: ServiceState, ports: ReconcilePorts) -> tuple[Observation, Seen | None]:
    """The world as it is, and of a spec that says what an instance is to be, the template next to it."""
    look = partial(observe, service, state, platform=ports.platform, metrics=ports.metrics, quota=ports.quota, count=wants_count(state))
    if ports.templates is None or document.spec.serving is None:
        return look(), None
    cloud_run: Observed | Unknown
    seen = None
    try:
        reading = ports.templates.read_service(service)
        versions = _versions(document, ports)
        seen = see(document, state, reading, ports.templates, ports.prober, now=ports.clock.now(), versions=versions, allowed=ports.allowed)
        cloud_run = reading.observed
    except ServiceMissing:
        cloud_run = Unknown(reason=f"there is no Cloud Run service {service.resource_name}")
    except Retry as retry:
        cloud_run = Unknown(reason=retry.reason[:500])
    except Refused as refusal:
        cloud_run = Unknown(reason=f"Cloud Run refuses to be read: {refusal.message[:450]}")
    looked = look(cloud_run=cloud_run)
    return (looked if seen is None else looked.model_copy(update={"template": seen.view})), seen


def _versions(document: ServiceDocument, ports: ReconcilePorts) -> dict[int, int]:
    """The complete versions of the model, where the spec follows the latest one."""
    model = document.spec.serving.model if document.spec.serving is not None else None
    if model is None or isinstance(model.version, int) or document.model_uri is None or ports.model_ports is None:
        return {}
    return known_versions(document.model_uri, ports.model_ports)


def _only_folded(service: ServiceId, snapshot: Snapshot, folded: _Folded, ports: ReconcilePorts) -> str:
    """The store is slow: keep what was folded, and leave the decision to the next look."""
    if snapshot.document is None:
        return _without_spec(service, snapshot, folded, ports)
    now = ports.clock.now()
    parked = unreadable_facts(service, folded.unreadable, now)
    ports.store.commit(service, token=snapshot.token, state=folded.state.model_copy(update={"next_look_at": now}), parked=parked)
    ports.bus.publish_wakes([Wake.of(service, "more facts")])
    return "only folded: the store is slow"


def _check_time(service: ServiceId, began: datetime, ports: ReconcilePorts) -> None:
    """Nothing is written yet: what takes too long is better begun anew than finished after the message was given to another."""
    took = (ports.clock.now() - began).total_seconds()
    if took > LOOK_WITHIN_SECONDS:
        raise Retry(f"{service}: looking took {took:.0f} s, at most {LOOK_WITHIN_SECONDS:.0f} are allowed")


def _announced_elsewhere(state: ServiceState, now: datetime) -> bool:
    """Whether a change is announced and not yet known to be written: its announcer may be at it this very moment."""
    write = state.rollout.write if state.rollout is not None else None
    if write is not None and not write.sent and now < write.lease_expires_at:
        return True
    return state.act is not None and state.act.operation is None and not lease_over(state.act, now)


def _fold(service: ServiceId, state: ServiceState, ports: ReconcilePorts, *, pages: int) -> _Folded:
    began = ports.clock.now()
    unreadable: list[UnreadableFact] = []
    facts: list[StoredFact] = []
    more = True
    for _ in range(pages):
        page = ports.store.facts_after(service, state.cursor, limit=PAGE_LIMIT)
        keys = keys_to_look_up(state, page)
        found = ports.store.facts_by_key(service, keys) if keys else {}
        state, bad = fold(state, page, found)
        unreadable += bad
        facts += [entry for entry in page.facts if isinstance(entry, StoredFact)]
        more = page.more
        if not more or (ports.clock.now() - began).total_seconds() > FOLD_WITHIN_SECONDS:
            break
    return _Folded(state, tuple(unreadable), tuple(facts), more)


def _taken_up(state: ServiceState) -> ServiceState:
    """There is a spec: what was passed while there was none is folded now."""
    if state.passed_from is None:
        return state
    return state.model_copy(update={"cursor": state.passed_from or None, "passed_from": None})


def _without_spec(service: ServiceId, snapshot: Snapshot, folded: _Folded, ports: ReconcilePorts) -> str:
    """Alerts of a service nobody gave to Trimtab are parked; the cursor moves on, so that they are parked once."""
    before = snapshot.state or ServiceState(id=service)
    passed_from = before.passed_from
    if folded.facts and passed_from is None:
        passed_from = before.cursor or ""
    # A state that outlived its spec must not be looked at every minute, nor count in the fleet's dollars.
    settled = {"next_look_at": None, "usd_per_hour_at_max": None}
    state = before.model_copy(update={"cursor": folded.state.cursor, "passed_from": passed_from, **settled})
    if not folded.facts and not folded.unreadable and state == before:
        return "no spec, nothing to park"
    now = ports.clock.now()
    unspecified = facts_without_spec(service, folded.facts, now, only_open=snapshot.state is None)
    parked = [*unspecified, *unreadable_facts(service, folded.unreadable, now)]
    ports.store.commit(service, token=snapshot.token, state=state, parked=parked)
    if parked:
        log.event("WARNING", "alerts of a service without a spec were parked", service=service, parked=len(parked))
    if folded.more:
        ports.bus.publish_wakes([Wake.of(service, "more facts")])
    return f"no spec: {len(parked)} parked"


@dataclass(frozen=True)
class _Committed:
    words: str
    state: ServiceState
    token: str | None
    decision: Decision | None = None
    act: Act | None = None
    announced: bool = False
    """Whether a write stands in the state that this look is to make now."""


def _commit(look: Look, snapshot: Snapshot, folded: _Folded, ports: ReconcilePorts) -> _Committed:
    """Write what changed, with the decision and the announcement of an act; nothing if nothing changed."""
    plan, rollout = look.plan, look.plan.state.rollout
    essence = fingerprint(plan, look.document.spec.autonomy)
    decision, act, slot = None, None, None
    said = folded.state.decision_fingerprints
    again = essence in said
    if essence is not None and (look.acting or not again):
        # The same change once more, because it never reached Cloud Run, is the same decision.
        repeated = again and look.acting and plan.state.last_act is not None and plan.state.last_act.outcome == "not-written"
        recorded = plan.state.unwritten.decision_id if repeated and plan.state.unwritten is not None else None
        decision_id = recorded or ports.ids.new_id()
        seen, usage = look.observation.cloud_run, look.observation.fleet_usage
        act_id = None
        if look.acting and isinstance(seen, Observed) and usage is not None:
            act_id = ports.ids.new_id()
            slot = ActSlot.next_of(usage)
            if plan.rollout is None:
                generation = look.document.generation
                act = announce(plan, seen, act_id=act_id, decision_id=decision_id, generation=generation, now=look.now)
            elif rollout is not None:
                rollout = announced(rollout, plan.rollout.kind, act_id=act_id, generation=seen.generation, now=look.now)
        decision = record(look, decision_id, act_id) if recorded is None else None
    state = plan.state.model_copy(
        update={
            "act": act or plan.state.act,
            "rollout": rollout,
            "decision_fingerprints": () if essence is None else said if again else (*said, essence)[-KEPT_FINGERPRINTS:],
            "last_decision_id": decision.decision_id if decision else plan.state.last_decision_id,
            "next_look_at": _due(folded.state.next_look_at, plan, slot, look.now),
        }
    )
    if act is not None:
        state = _announced(state, act, look)
    if ports.events is not None and snapshot.state is not None:
        state = with_untold_rollout(state, snapshot.state)
    parked = unreadable_facts(look.service, folded.unreadable, look.now)
    if state == (snapshot.state or ServiceState(id=look.service)) and decision is None and not parked:
        return _Committed("nothing to do", state, snapshot.token)
    token = ports.store.commit(look.service, token=snapshot.token, state=state, decision=decision, parked=parked, act_slot=slot)
    shown_only = slot is None and (bool(plan.changes) or plan.rollout is not None)
    words = f"recommended, not written: {plan.explanation}" if shown_only else plan.explanation
    return _Committed(words, state, token, decision, act, announced=slot is not None)


def _act_and_tell(look: Look, committed: _Committed, seen: Seen | None, before: ServiceState, ports: ReconcilePorts) -> str:
    """Make the announced write, then tell others what was committed: nobody who listens can hold up a change."""
    if ports.events is None:
        return f"{_act(look, committed, seen, ports)}: {committed.words}" if committed.announced else committed.words
    telling = Telling(
        committed.state,
        committed.decision,
        before=before,
        events=ports.events,
        store=ports.store,
        check_time=lambda: _check_time(look.service, look.now, ports),
    )
    outcome = committed.words
    if committed.announced:
        outcome = f"{_act(look, committed, seen, replace(ports, store=telling.store))}: {committed.words}"
    telling.alone(committed.token)
    return outcome


def _announced(state: ServiceState, act: Act, look: Look) -> ServiceState:
    """What the announcement itself says: a change is under way, and the fleet's sum counts it before it is written."""
    usd = look.plan.state.usd_per_hour_at_max
    after_max = max(act.after.max_instance_count, act.max_in_force)
    counted = usd / act.max_in_force * after_max if usd is not None and act.max_in_force else usd
    stated = conditions(state, denials=look.plan.denials, unreadable=None, generation=look.document.generation, now=look.now)
    return state.model_copy(update={"usd_per_hour_at_max": counted, "conditions": stated})


def _act(look: Look, committed: _Committed, template: Seen | None, ports: ReconcilePorts) -> str:
    seen = look.observation.cloud_run
    if not isinstance(seen, Observed):
        return "nothing to write"
    if (ports.clock.now() - look.now).total_seconds() > LOOK_WITHIN_SECONDS:
        return "announced, but this look took too long to begin a write; the next one settles it"
    token = str(committed.token)
    if committed.act is None:
        if ports.templates is None or template is None:
            return "nothing to write"
        rollouts = RolloutExecutor(ports.store, ports.templates, ports.clock)
        return rollouts.perform(look.service, committed.state, template.desired, etag=seen.etag, token=token)
    executor = Executor(ports.store, ports.platform, ports.clock)
    return executor.perform(look.service, committed.state, committed.act, etag=seen.etag, token=token)


def _due(stored: datetime | None, plan: Plan, slot: ActSlot | None, now: datetime) -> datetime | None:
    """When to look again. Where the next tick looks anyway, the stored time stays as it is: due is due, without a write."""
    wanted = now + timedelta(seconds=ACT_LEASE_SECONDS) if slot is not None else plan.next_look_at
    next_tick = now + timedelta(seconds=TICK_SECONDS)
    if wanted is not None and stored is not None and max(stored, wanted) <= next_tick:
        return stored
    return wanted
