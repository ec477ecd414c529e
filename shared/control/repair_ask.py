"""Whether a repair is asked for at this moment, and which: a certain cause, a setting that mends it, and nothing that speaks against it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.control.episodes import open_signals
from shared.control.explanation import shown
from shared.control.pins import template_pin
from shared.control.repair_effect import effect
from shared.control.repair_prediction import predict
from shared.control.repair_rules import HALF, STEPS, TEMPLATE_REMEDIES, InForce
from shared.control.repair_words import moved, numbers, running_numbers
from shared.control.rollout_parts import denial, is_current, quarantine_of
from shared.control.rollout_start import not_now
from shared.control.timing import REPAIR_ATTEMPTS, REPAIR_COOLDOWN_SECONDS, REPAIR_WINDOW_SECONDS
from shared.records.desired import desired_serving
from shared.records.metric import Known, Unknown
from shared.records.plan import Denial, DenialCode
from shared.records.repair import IN_FORCE, KEPT_CHANGES, Effect, Prediction, Repair, RepairPhase, RepairSettings, known_value
from shared.records.repaired import leaves_to_trimtab
from shared.records.serving import DesiredServing, ServingSpec
from shared.records.state import STATE_TEXT_LIMIT, ServiceState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.control.diagnosing import Finding
    from shared.diagnose.answer import Cause
    from shared.lint.deployment import Deployment
    from shared.records.observed import Observed
    from shared.records.rollout import TemplateView
    from shared.records.service import ServiceSpec
    from shared.records.snapshot import ManagedService, Observation

ANY_VERSION = 1
"""Stands for the version of the model: no setting depends on which it is."""
FULL_ENOUGH_ROWS = 8.0
"""A mean batch from which on what a batch costs is mostly its rows."""
MOSTLY_ANSWERED = 0.5
SHORT = 100
"""Characters of a change: its setting, before and after."""
NO_STEP = "no step of the settings is left that mends it"


@dataclass(frozen=True)
class Asked:
    """A repair to be made, or why none is."""

    repair: Repair | None = None
    denials: tuple[Denial, ...] = ()


@dataclass(frozen=True)
class _Wanted:
    """What a repair would make of the service."""

    settings: RepairSettings
    changes: tuple[str, ...]
    why: str
    takes_over: bool


def settings_in_force(state: ServiceState, basis: str) -> RepairSettings:
    """What repairs decided for what the spec leaves to Trimtab; nothing where it says something else now."""
    repair = state.repair
    if repair is None or repair.basis != basis:
        return RepairSettings()
    return repair.settings if repair.phase in IN_FORCE else repair.fallback


def ask(service: ManagedService, observation: Observation, finding: Finding | None, now: datetime, *, basis: str, most: int) -> Asked:
    """The repair that the evidence asks for; none where no incident is open or no cause is certain."""
    state, spec = service.state, service.document.spec
    signal = next(iter(open_signals(state)), None)
    view, observed = observation.template, observation.cloud_run
    if signal is None or finding is None or spec.serving is None or view is None or state.rollout is not None:
        return Asked()
    if isinstance(observed, Unknown):
        return Asked()
    ours = not isinstance(view.wanted_hash, Unknown) and is_current(view, service.document.id.name)
    cause = finding.certain if ours else _mended_by_ours(finding)
    # What serves is neither what is wanted nor left to its owner: the evidence is about a template that is on its way out.
    if cause is None or not (ours or view.kept) or (ours and cause.cause not in STEPS):
        return Asked()
    current = settings_in_force(state, basis)
    wanted = _stepped(spec, cause, current, takes_over=view.kept) if ours else _taken_over(spec, view, finding, cause)
    if isinstance(wanted, str):
        return _denied(DenialCode.NOT_REPAIRED, f"{_said(cause)}; {wanted}")
    against = next(_against(service, view, observed, now), None) or next(_failed_before(service, view, wanted, basis), None)
    if against is not None:
        return Asked(denials=(against,))
    desired = desired_serving(spec, version=ANY_VERSION, settings=wanted.settings)
    predicted = predict(
        desired,
        observation.evidence,
        rows_per_request=spec.serving.rows_per_request,
        allowed_now=observed.max_in_force,
        allowed=max(most, observed.max_in_force),
    )
    before = effect(observation.evidence, spec.serving.protocol)
    crowded = _no_gpu(observation) or _crowded(predicted, before, most=max(most, observed.max_in_force))
    if crowded is not None:
        return _denied(DenialCode.NOT_REPAIRED, f"{_said(cause)}; {crowded}")
    repair = Repair(
        repair_id=f"repair-{now:%Y%m%dT%H%M%S}",
        phase=RepairPhase.ASKED,
        basis=basis,
        signal=signal,
        cause=cause.cause,
        why=f"{_said(cause)}; {wanted.why}"[:STATE_TEXT_LIMIT],
        changes=tuple(each[:SHORT] for each in wanted.changes[:KEPT_CHANGES]),
        settings=wanted.settings,
        fallback=current,
        takes_over=wanted.takes_over,
        predicted=predicted,
        before=before,
        asked_at=now,
    )
    return Asked(repair)


def _no_gpu(observation: Observation) -> str | None:
    """A candidate starts beside what runs: where the quota is used up it never does, and Cloud Run is asked again and again."""
    count, quota = observation.instance_count, observation.quota_instances
    if not isinstance(count, Known) or not isinstance(quota, Known) or count.value < quota.value:
        return None
    return (
        f"a revision starts beside the {count.value:g} instances that run, and the quota is {quota.value:g}: ask for one more at "
        "g.co/cloudrun/gpu-quota, or lower scaling.max_instance_count by one"
    )


def _crowded(predicted: Prediction, before: Effect, *, most: int) -> str | None:
    """Why what is refused now is better refused: it would wait in front of those who are answered in time.

    Only where batches are large already, so that it is known that larger ones gain little, and where most requests are answered.
    """
    rate, failed, batch = (known_value(each) for each in (before.requests_per_second, before.failed_ratio, before.mean_batch_rows))
    low = predicted.requests_per_second_low
    if rate is None or failed is None or batch is None or low is None:
        return None
    if batch < FULL_ENOUGH_ROWS or failed >= MOSTLY_ANSWERED or low * most >= rate:
        return None
    return (
        f"{most} instances are the most that may run and carry some {low * most:,.0f} of {rate:,.0f} requests/s: what is refused now would "
        "wait, and make those late that are answered; allow more instances first (spec, budget, quota)"
    )


def _mended_by_ours(finding: Finding) -> Cause | None:
    """The first certain cause of which the evidence proposes a remedy that Trimtab's own template is."""
    proposed = TEMPLATE_REMEDIES & {each.remedy for each in finding.diagnosis.remedies}
    return next((each for each in finding.all_certain if finding.usual_remedies(each.cause) & proposed), None)


def _taken_over(spec: ServiceSpec, view: TemplateView, finding: Finding, cause: Cause) -> _Wanted | str:
    """Trimtab's template in the place of the one that runs: the whole consistent set in one change."""
    if view.faults:
        return f"Trimtab's own template would be refused: {'; '.join(view.faults)}"
    if isinstance(view.wanted_hash, Unknown):
        return f"what Trimtab's own template would be is not known: {view.wanted_hash.reason}"
    desired = desired_serving(spec, version=ANY_VERSION)
    settings = _from_running(spec, desired, finding.running, cause)
    kept = [name for name in _OWNED if getattr(settings, name) is not None and spec.serving and not leaves_to_trimtab(spec.serving, name)]
    if kept:
        return _owners(kept)
    if settings != RepairSettings():
        desired = desired_serving(spec, version=ANY_VERSION, settings=settings)
    changes = moved(running_numbers(finding.running, desired.protocol), numbers(desired)) if finding.running is not None else ()
    return _Wanted(settings, changes or view.changes, "threads, concurrency, queue and batches that fit one another", takes_over=True)


def _from_running(spec: ServiceSpec, ours: DesiredServing, running: Deployment | None, cause: Cause) -> RepairSettings:
    """What Trimtab's own template takes over of a step from the settings that run: where it would go the other way by itself.

    Batches of 16 rows that do not fit into the GPU are not mended by the usual 32.
    """
    serving, rule = spec.serving, STEPS.get(cause.cause)
    assert serving is not None  # noqa: S101 (the caller looked)
    batching = running.batching.meant if running is not None and running.batching is not None and running.batching_on else None
    if rule is None or running is None or batching is None or batching.max_batch_size is None or running.concurrency is None:
        return RepairSettings()
    rows = serving.rows_per_request or 1
    step = rule(InForce(batching=batching, concurrency=running.concurrency, rows_per_request=rows, decided=RepairSettings()))
    if step is None:
        return RepairSettings()
    sides = {
        "max_batch_size": (batching.max_batch_size, ours.batching.max_batch_size if ours.batching is not None else None),
        "max_instance_request_concurrency": (running.concurrency, ours.max_instance_request_concurrency),
    }
    taken: dict[str, object] = {"batch_size_ceiling": step.settings.batch_size_ceiling}
    for name, (runs, usual) in sides.items():
        wanted = getattr(step.settings, name)
        if wanted is not None and usual is not None and (usual >= runs if wanted < runs else usual <= runs):
            taken[name] = wanted
    return RepairSettings.model_validate(taken)


def _stepped(spec: ServiceSpec, cause: Cause, current: RepairSettings, *, takes_over: bool) -> _Wanted | str:
    """One step of what the spec leaves to Trimtab."""
    serving = spec.serving
    assert serving is not None  # noqa: S101 (the caller looked)
    if serving.own_entry is not None:
        return "the spec keeps the owner's command (own_entry), so Trimtab changes no setting of the server"
    before = desired_serving(spec, version=ANY_VERSION, settings=current)
    step = STEPS[cause.cause](_in_force(before, serving, current))
    if step is None:
        return NO_STEP
    changed = [name for name, value in step.settings if value != getattr(current, name) and name in _OWNED]
    kept = [name for name in changed if not leaves_to_trimtab(serving, name)]
    if kept:
        return _owners(kept)
    settings = _bounded(spec, step.settings, before)
    changes = moved(numbers(before), numbers(desired_serving(spec, version=ANY_VERSION, settings=settings)))
    return _Wanted(settings, changes, step.why, takes_over=takes_over) if changes else NO_STEP


def _bounded(spec: ServiceSpec, settings: RepairSettings, before: DesiredServing) -> RepairSettings:
    """The settings with the size of batches said where it follows another number too far: below half, or above what fits into the GPU."""
    after = desired_serving(spec, version=ANY_VERSION, settings=settings)
    if before.batching is None or after.batching is None:
        return settings
    was, follows, ceiling = before.batching.max_batch_size or 1, after.batching.max_batch_size or 1, settings.batch_size_ceiling
    if follows < was // HALF:
        return settings.model_copy(update={"max_batch_size": was // HALF})
    grows = ceiling is not None and follows > max(was, ceiling)
    return settings.model_copy(update={"max_batch_size": was}) if grows else settings


def _owners(kept: list[str]) -> str:
    return f"the spec says {', '.join(kept)} itself, and what the owner says stays: change it, or leave it to Trimtab (auto)"


_OWNED = ("max_batch_size", "num_batch_threads", "max_enqueued_batches", "max_instance_request_concurrency")


def _in_force(desired: DesiredServing, serving: ServingSpec, current: RepairSettings) -> InForce:
    return InForce(
        batching=desired.batching,
        concurrency=desired.max_instance_request_concurrency or 1,
        rows_per_request=serving.rows_per_request or 1,
        decided=current,
    )


def _against(service: ManagedService, view: TemplateView, observed: Observed, now: datetime) -> Iterator[Denial]:
    """What speaks against any repair now, the weightiest first: people, windows, another change, too many repairs."""
    state = service.state
    waits = not_now(service, observed, now)
    if waits is not None:
        yield waits.denials[0]
    pin = template_pin(service.document, now)
    if pin is not None:
        yield denial(DenialCode.PINNED, f"{pin.author} pinned the traffic to {pin.revision}: {pin.reason}")
    shares = sorted({target.revision for target in view.traffic if target.percent})
    if len(shares) != 1:
        text = f"the traffic is shared by {' and '.join(shares) or 'no revision'}, and a repair that does harm goes back to one"
        yield denial(DenialCode.NOT_REPAIRED, f"{text}: move it to one of them")
    recent = [at for at in state.repairs_asked_at if at > now - timedelta(seconds=REPAIR_WINDOW_SECONDS)]
    if len(recent) >= REPAIR_ATTEMPTS:
        hours = REPAIR_WINDOW_SECONDS / 3600
        yield denial(
            DenialCode.ATTEMPTS_EXHAUSTED, f"{len(recent)} repairs within {hours:g} hours did not end the trouble: a person must look"
        )
    if recent and now < recent[-1] + timedelta(seconds=REPAIR_COOLDOWN_SECONDS):
        again = recent[-1] + timedelta(seconds=REPAIR_COOLDOWN_SECONDS)
        yield denial(DenialCode.COOLDOWN, f"a repair was asked for at {recent[-1]:%H:%M} UTC; the next is from {again:%H:%M} UTC on")


def _failed_before(service: ManagedService, view: TemplateView, wanted: _Wanted, basis: str) -> Iterator[Denial]:
    """That this very template failed, or did harm, and no person released it since."""
    document, state, last = service.document, service.state, service.state.repair
    known = None
    plain = wanted.settings.model_copy(update={"batch_size_ceiling": None}) == RepairSettings()
    if wanted.takes_over and plain and not isinstance(view.wanted_hash, Unknown):
        known = quarantine_of(document, state, view.wanted_hash)
    if known is not None:
        text = f"revision {known.revision} of this template failed at {known.at:%H:%M} UTC: {known.reason}"
        yield denial(DenialCode.QUARANTINED, text)
    if last is None or last.phase not in {RepairPhase.REVERTED, RepairPhase.FAILED} or last.basis != basis:
        return
    released = document.released_at is not None and document.released_at > last.asked_at
    if last.settings == wanted.settings and not released:
        text = f"the same repair, of {last.asked_at:%H:%M} UTC, was {last.phase.value}: {last.outcome}"
        yield denial(DenialCode.QUARANTINED, text[:STATE_TEXT_LIMIT])


def _denied(code: DenialCode, message: str) -> Asked:
    return Asked(denials=(denial(code, message),))


def _said(cause: Cause) -> str:
    evidence = f": {shown(cause.evidence[0])}" if cause.evidence else ""
    return f"{cause.cause} (confidence {cause.confidence:.2f}){evidence}"
