"""Repair by rules: one change of the template for an explained incident, judged by what it did, and taken back if it did harm. Pure.

A repair is asked for only where the evidence names the cause for certain, and what mends it is a setting that the spec leaves to Trimtab;
where the cause is not explained, only the bounds move (`remedies`). It is level-triggered as everything else: the last repair stands in
the state, and each look takes it one step further.

ASKED -> its template is rolled out by `rollout` (ready, verified, all traffic in one write) -> ON_TRIAL for a window of metrics -> KEPT,
UNPROVEN, or REVERTING -> REVERTED.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.control.asking import trial_reads_from
from shared.control.pins import template_pin
from shared.control.repair_ask import Asked, ask
from shared.control.repair_effect import effect
from shared.control.repair_verdict import Verdict, harmful, verdict
from shared.control.rollout_parts import without_candidate_tag
from shared.control.rollout_start import NO_TEMPLATE_HASH, ROLLBACK
from shared.control.timing import HARM_SHOWS_SECONDS, ROLLOUT_SLACK_SECONDS, TICK_SECONDS, TRIAL_AT_MOST_SECONDS, TRIAL_SETTLE_SECONDS
from shared.records.evidence import WINDOW_SECONDS, Evidence, Readings
from shared.records.metric import Unknown
from shared.records.plan import Denial
from shared.records.repair import KEPT_ASKED, UNDER_WAY, Effect, Repair, RepairChange, RepairPhase
from shared.records.rollout import KEPT_QUARANTINED, Quarantined, Rollout, RolloutPhase, TemplateView
from shared.records.serving import ServingSpec
from shared.records.state import STATE_TEXT_LIMIT, ServiceState
from shared.rendering.names import read_revision_name, value_hash

if TYPE_CHECKING:
    from shared.control.diagnosing import Finding
    from shared.records.snapshot import ManagedService, Observation

REVERT = "revert-"
"""Of a rollout that takes a repair back: what its id begins with."""
UNPROVEN = "it stays, and what it did is not proven"
_BASIS = {"protocol", "accelerator", "cpu", "memory", "max_instance_request_concurrency", "batching", "rows_per_request", "take_over"}
"""What a repair rests on, in the spec, beside the model's place; another version of it is served with the settings that were found."""


@dataclass(frozen=True)
class RepairStep:
    """What one look at the repair came to."""

    state: ServiceState
    change: RepairChange | None = None
    denials: tuple[Denial, ...] = ()
    next_look_at: datetime | None = None
    settled: bool = True
    """Whether the view still shows what is wanted: after a change of the settings the next look renders anew."""


def basis_of(serving: ServingSpec) -> str:
    """Of what the spec says of an instance, as far as a repair rests on it."""
    model = serving.model.uri if serving.model is not None else None
    return value_hash({**serving.model_dump(mode="json", include=_BASIS), "model": model})


def advance(service: ManagedService, observation: Observation, finding: Finding | None, now: datetime, *, most: int) -> RepairStep:
    """Take the repair one step further, or ask for one; `most` is what the bounds can rise to."""
    repair, serving, view = service.state.repair, service.document.spec.serving, observation.template
    if serving is None or view is None:
        return RepairStep(service.state)
    if repair is not None and repair.phase in UNDER_WAY and repair.basis != basis_of(serving):
        return _ended(service.state, repair, RepairPhase.DROPPED, "the spec says something else of an instance now", now)
    if repair is not None and repair.phase is RepairPhase.ASKED:
        return _followed(service, repair, observation.evidence, now)
    if repair is not None and repair.phase is RepairPhase.ON_TRIAL:
        return _judged(service, repair, view, observation.evidence, now)
    if repair is not None and repair.phase is RepairPhase.REVERTING:
        return _reverting(service, repair, view, now)
    return _asked(service.state, ask(service, observation, finding, now, basis=basis_of(serving), most=most), now)


def _asked(state: ServiceState, asked: Asked, now: datetime) -> RepairStep:
    if asked.repair is None:
        return RepairStep(state, denials=asked.denials)
    asked_at = (*state.repairs_asked_at, now)[-KEPT_ASKED:]
    update = {"repair": asked.repair, "repairs_asked_at": asked_at}
    change = RepairChange(kind="ask", repair=asked.repair)
    return RepairStep(state.model_copy(update=update), change, asked.denials, _tick(now), settled=False)


def _followed(service: ManagedService, repair: Repair, evidence: Evidence | None, now: datetime) -> RepairStep:
    """What became of the rollout of the repair's template."""
    state = service.state
    last = state.last_rollout
    if state.rollout is not None:
        return RepairStep(state)
    # A template that is not wanted any more, because a newer version came, is followed by one with the same settings.
    if last is None or last.at <= repair.asked_at or last.outcome == "superseded":
        if not state.open_incident_count:
            return _ended(state, repair, RepairPhase.DROPPED, "the incident ended before it began", now)
        return RepairStep(state)
    if last.rollout_id.startswith(ROLLBACK):
        return _ended(state, repair, RepairPhase.DROPPED, f"the traffic was taken to {last.revision} by a person", now)
    if last.outcome == "promoted":
        before = _later(service, repair, evidence, last.moved_at or last.at, now)
        update = {
            "phase": RepairPhase.ON_TRIAL,
            "promoted_at": last.at,
            "revision": last.revision,
            "previous": last.previous,
            "before": before,
        }
        promoted = state.model_copy(update={"repair": repair.model_copy(update=update)})
        return RepairStep(promoted, next_look_at=trial_reads_from(promoted))
    phase = RepairPhase.FAILED if last.outcome == "failed" else RepairPhase.DROPPED
    return _ended(
        state, repair.model_copy(update={"revision": last.revision}), phase, f"{last.revision} {last.outcome}: {last.detail}", now
    )


def _later(service: ManagedService, repair: Repair, evidence: Evidence | None, promoted_at: datetime, now: datetime) -> Effect:
    """How the service did before, by the last window that ended before the promotion.

    Metrics are minutes old: when the repair was asked for, they may have shown the time before the trouble.
    """
    serving = service.document.spec.serving
    readings = evidence.readings if evidence is not None else None
    if serving is None or not isinstance(readings, Readings) or now - timedelta(seconds=readings.end_age_seconds) > promoted_at:
        return repair.before
    measured = effect(evidence, serving.protocol)
    return repair.before if isinstance(measured.failed_ratio, Unknown) else measured


def _judged(service: ManagedService, repair: Repair, view: TemplateView, evidence: Evidence | None, now: datetime) -> RepairStep:
    state, serving = service.state, service.document.spec.serving
    assert repair.promoted_at is not None  # noqa: S101 (the phase says so)
    assert serving is not None  # noqa: S101 (the caller looked)
    if not _all_on(view, repair.revision):
        if _replaced_by_ours(state, repair, view):
            text = "it stays in the revision that followed before it was judged; what it did is not proven"
            return _ended(state, repair, RepairPhase.UNPROVEN, text, now)
        return _ended(state, repair, RepairPhase.DROPPED, "the traffic was moved to another revision before it was judged", now)
    over = now >= repair.promoted_at + timedelta(seconds=TRIAL_AT_MOST_SECONDS)
    if evidence is None or not _whole_window(evidence, repair.promoted_at, now):
        harm = _harm(service, repair, evidence, now)
        if harm is not None:
            return _taken_back(state, repair, view, harm, now)
        if over:
            return _ended(state, repair, RepairPhase.UNPROVEN, f"{UNPROVEN}: no metrics of the time after it were read", now)
        return RepairStep(state, next_look_at=max(_whole_from(evidence, repair.promoted_at), _tick(now)))
    after = effect(evidence, serving.protocol)
    judged = verdict(repair.before, after, objective_p99_ms=service.document.spec.objective.p99_ms)
    measured = repair.model_copy(update={"after": after})
    if judged.worse is None:
        if not over:
            return RepairStep(state, next_look_at=_tick(now))
        return _ended(state, measured, RepairPhase.UNPROVEN, f"{UNPROVEN}: {judged.text}", now)
    if not judged.worse:
        return _ended(state, measured, RepairPhase.KEPT, judged.text, now)
    return _taken_back(state, measured, view, judged, now)


def _harm(service: ManagedService, repair: Repair, evidence: Evidence | None, now: datetime) -> Verdict | None:
    """Harm that is seen before a whole window lies behind the promotion: nobody waits ten minutes for what half of all clients feel."""
    serving, promoted_at = service.document.spec.serving, repair.promoted_at
    readings = evidence.readings if evidence is not None else None
    if serving is None or promoted_at is None or not isinstance(readings, Readings):
        return None
    ended = now - timedelta(seconds=readings.end_age_seconds)
    if ended < promoted_at + timedelta(seconds=HARM_SHOWS_SECONDS):
        return None
    return harmful(repair.before, effect(evidence, serving.protocol), objective_p99_ms=service.document.spec.objective.p99_ms)


def _taken_back(state: ServiceState, measured: Repair, view: TemplateView, judged: Verdict, now: datetime) -> RepairStep:
    """Worse than what it replaced: the traffic is to go back, and this template is not deployed again."""
    if measured.previous is None:
        return _ended(state, measured, RepairPhase.UNPROVEN, f"it is worse, and what was before it is not known: {judged.text}", now)
    text = f"it is worse than {measured.previous}, which gets the traffic back: {judged.text}"[:STATE_TEXT_LIMIT]
    reverting = measured.model_copy(update={"phase": RepairPhase.REVERTING, "outcome": text})
    update: dict[str, object] = {"repair": reverting}
    template = _template_of(measured, view)
    if template is not None and measured.revision is not None:
        bad = Quarantined(template_hash=template, revision=measured.revision, reason=text, at=now)
        others = tuple(each for each in state.quarantined if each.template_hash != template)
        update["quarantined"] = (*others, bad)[-KEPT_QUARANTINED:]
    return RepairStep(state.model_copy(update=update), RepairChange(kind="judge", repair=reverting), next_look_at=_tick(now), settled=False)


def _reverting(service: ManagedService, repair: Repair, view: TemplateView, now: datetime) -> RepairStep:
    """The way back: traffic first, then the template, by the rollout that people's rollbacks take."""
    state = service.state
    if state.rollout is not None:
        return RepairStep(state)
    last = state.last_rollout
    if last is not None and last.rollout_id.startswith(REVERT) and last.at > (repair.promoted_at or repair.asked_at):
        phase = RepairPhase.REVERTED if last.outcome == "promoted" else RepairPhase.DROPPED
        return _ended(state, repair, phase, repair.outcome if phase is RepairPhase.REVERTED else f"{last.outcome}: {last.detail}", now)
    pin = template_pin(service.document, now)
    if pin is not None or not _all_on(view, repair.revision) or repair.previous is None:
        return _ended(state, repair, RepairPhase.DROPPED, "somebody else moved the traffic meanwhile", now)
    rollout = Rollout(
        rollout_id=f"{REVERT}{now:%Y%m%dT%H%M%S}",
        revision=repair.previous,
        template_hash=NO_TEMPLATE_HASH,
        attempt=1,
        phase=RolloutPhase.PROMOTING,
        stable=without_candidate_tag(view),
        began_at=now,
        phase_since=now,
        deadline_at=now + timedelta(seconds=ROLLOUT_SLACK_SECONDS),
        rollback=True,
        profile="revert",
        reason=repair.outcome[:STATE_TEXT_LIMIT],
    )
    # The next look reads the revision that the traffic goes back to; only then is it known whether it can serve.
    # What serves from then on is what was there before: nobody else's change of what Trimtab served.
    update = {"rollout": rollout, "served": None, "foreign_template": None}
    return RepairStep(state.model_copy(update=update), next_look_at=_tick(now), settled=False)


def _ended(state: ServiceState, repair: Repair, phase: RepairPhase, text: str, now: datetime) -> RepairStep:
    ended = repair.model_copy(update={"phase": phase, "outcome": text[:STATE_TEXT_LIMIT]})
    change = RepairChange(kind="judge", repair=ended)
    return RepairStep(state.model_copy(update={"repair": ended}), change, next_look_at=_tick(now), settled=False)


def _whole_from(evidence: Evidence | None, promoted_at: datetime) -> datetime:
    """When a window of metrics lies wholly behind the promotion, by the delay that the last reading had."""
    readings = evidence.readings if evidence is not None and isinstance(evidence.readings, Readings) else None
    delay = readings.end_age_seconds if readings is not None else 0
    return promoted_at + timedelta(seconds=TRIAL_SETTLE_SECONDS + WINDOW_SECONDS + delay)


def _whole_window(evidence: Evidence, promoted_at: datetime, now: datetime) -> bool:
    """Whether all that was measured was measured after the promotion, and after the instances had time to start."""
    readings = evidence.readings if isinstance(evidence.readings, Readings) else Readings()
    began = now - timedelta(seconds=readings.window_seconds + readings.end_age_seconds)
    return began >= promoted_at + timedelta(seconds=TRIAL_SETTLE_SECONDS)


def _replaced_by_ours(state: ServiceState, repair: Repair, view: TemplateView) -> bool:
    """Whether a later rollout of Trimtab's own, of a newer version say, took the traffic: its template has the repair's settings."""
    rollout, last = state.rollout, state.last_rollout
    if rollout is not None and not rollout.rollback and _all_on(view, rollout.revision):
        return True
    if last is None or last.outcome != "promoted" or last.rollout_id.startswith((ROLLBACK, REVERT)):
        return False
    return last.at > (repair.promoted_at or repair.asked_at) and _all_on(view, last.revision)


def _template_of(repair: Repair, view: TemplateView) -> str | None:
    """The hash of the repair's template, by its revision's name; of one that somebody else named, what is wanted now."""
    named = read_revision_name(repair.revision) if repair.revision is not None else None
    if named is not None:
        return named.template_hash
    return None if isinstance(view.wanted_hash, Unknown) else view.wanted_hash


def _all_on(view: TemplateView, revision: str | None) -> bool:
    return {target.revision for target in view.traffic if target.percent} == {revision}


def _tick(now: datetime) -> datetime:
    return now + timedelta(seconds=TICK_SECONDS)
