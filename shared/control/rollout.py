"""Template changes, first form: a new revision gets no traffic until it is ready and answers, then all of it in one write. Pure.

`advance` is told the state, what was seen, and the time; it gives the state after looking and at most one write to announce. It is
level-triggered: whatever was lost or repeated, the next look sees where Cloud Run is and goes on from there. The phases are those of
one candidate; a stepped canary would stand between verifying and promoting.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from shared.cloudrun.conditions import VerdictKind, meaning_of
from shared.control.pins import template_pin
from shared.control.rollout_parts import LAST_ATTEMPT, Step, all_on, candidate, cannot_serve, denial, stopped
from shared.control.rollout_start import start
from shared.control.timing import (
    ACT_LEASE_SECONDS,
    PROBE_FAILURES,
    ROLLOUT_ATTEMPTS,
    ROLLOUT_RETRY_AT_MOST_SECONDS,
    ROLLOUT_RETRY_SECONDS,
    ROLLOUT_SLACK_SECONDS,
    ROLLOUT_WRITE_TRIES,
    TICK_SECONDS,
)
from shared.records.metric import Unknown
from shared.records.observed import Observed, ReadyState
from shared.records.plan import DenialCode
from shared.records.rollout import (
    KEPT_QUARANTINED,
    LastRollout,
    Quarantined,
    Rollout,
    RolloutPhase,
    RolloutWrite,
    TemplateView,
)
from shared.records.snapshot import ManagedService
from shared.records.state import STATE_TEXT_LIMIT, ServiceState

_BAD_TEMPLATE = frozenset({VerdictKind.FAILED_REVISION, VerdictKind.REFUSED})
_NO_ROOM = frozenset({VerdictKind.QUOTA, VerdictKind.RETRY, VerdictKind.REVISION_LIMIT})


def advance(service: ManagedService, view: TemplateView, observed: Observed, now: datetime) -> Step:
    """Take the template one step nearer to what the spec asks for.

    The caller announces the write (`announced`), performs it, and tells the outcome (`sent`); a write that is announced and not
    settled stands in the way of the next.
    """
    state = service.state
    rollout = state.rollout
    if rollout is None:
        return start(service, view, observed, now)
    if rollout.write is not None:
        settled = _settle(rollout, view, now)
        if settled is None:
            return Step(state, next_look_at=now + timedelta(seconds=TICK_SECONDS))
        rollout = settled
        state = state.model_copy(update={"rollout": rollout})
    look = _Look(service.model_copy(update={"state": state}), view, observed, rollout, now)
    step = _PHASES[rollout.phase](look)
    held = stopped(service, now) if step.write is not None else None
    if held is None:
        return step
    return replace(step, write=None, denials=(*step.denials, held[0]), next_look_at=held[1])


def announced(rollout: Rollout, kind: Literal["deploy", "promote", "restore"], *, act_id: str, generation: int, now: datetime) -> Rollout:
    """The rollout with a write that is about to be made."""
    before = rollout.write
    write = RolloutWrite(
        act_id=act_id,
        kind=kind,
        announced_at=now,
        lease_expires_at=now + timedelta(seconds=ACT_LEASE_SECONDS),
        base_generation=generation,
        times=before.times + 1 if before is not None and before.kind == kind else 1,
    )
    return rollout.model_copy(update={"write": write})


def sent(rollout: Rollout) -> Rollout:
    """The rollout after Cloud Run accepted its write."""
    assert rollout.write is not None  # noqa: S101 (only an announced write is sent)
    return rollout.model_copy(update={"write": rollout.write.model_copy(update={"sent": True})})


def refused(state: ServiceState, reason: str, now: datetime, *, no_room: bool = False) -> ServiceState:
    """The state after Cloud Run refused the rollout's write; `no_room` says that it was for lack of quota.

    Nothing was written, so the template is not to blame at once: it is tried again under the next number, at growing distances, and
    given up after `ROLLOUT_ATTEMPTS`; lack of room is never the template's fault. A move of traffic is tried again for as long as it is
    wanted. A template that cannot be put back is left for a person; the traffic never was on it.
    """
    rollout = state.rollout
    assert rollout is not None  # noqa: S101 (only a rollout's write is refused)
    kind = rollout.write.kind if rollout.write is not None else "deploy"
    rollout = rollout.model_copy(update={"write": None})
    if kind == "deploy" and rollout.attempt < (LAST_ATTEMPT if no_room else ROLLOUT_ATTEMPTS):
        return state.model_copy(update={"rollout": _waiting(rollout, reason, now)})
    if kind == "promote":
        times = rollout.refusals + 1
        retry = {"refusals": times, "retry_at": now + timedelta(seconds=_distance(times)), "reason": reason[:STATE_TEXT_LIMIT]}
        return state.model_copy(update={"rollout": rollout.model_copy(update=retry)})
    return _quarantine(state, rollout, reason, now, restore=False)


@dataclass(frozen=True)
class _Look:
    service: ManagedService
    view: TemplateView
    observed: Observed
    rollout: Rollout
    now: datetime

    @property
    def state(self) -> ServiceState:
        return self.service.state

    def keeping(self, **update: object) -> ServiceState:
        return self.state.model_copy(update={"rollout": self.rollout.model_copy(update=update)})

    def in_phase(self, phase: RolloutPhase, **update: object) -> "_Look":
        moved = self.rollout.model_copy(update={"phase": phase, "phase_since": self.now, "write": None, **update})
        service = self.service.model_copy(update={"state": self.state.model_copy(update={"rollout": moved})})
        return replace(self, service=service, rollout=moved)

    @property
    def tick(self) -> datetime:
        return self.now + timedelta(seconds=TICK_SECONDS)


def _settle(rollout: Rollout, view: TemplateView, now: datetime) -> Rollout | None:
    """The rollout with its write settled by what Cloud Run shows; None while it may still be on its way.

    A write that never arrived stays in the rollout: its phase asks for it again, counting how often.
    """
    write = rollout.write
    assert write is not None  # noqa: S101 (the caller looked)
    arrived = {
        "deploy": view.candidate is not None,
        "promote": all_on(view, rollout.revision),
        "restore": view.template_revision == rollout.revision if rollout.rollback else view.differs,
    }[write.kind]
    if arrived:
        return rollout.model_copy(update={"write": None})
    if write.sent:
        return None if now < write.announced_at + timedelta(seconds=ROLLOUT_SLACK_SECONDS) else rollout
    lease_over = now >= write.lease_expires_at or write.lease_expires_at - now > timedelta(seconds=2 * ACT_LEASE_SECONDS)
    return rollout if lease_over else None


def _moved_by_others(look: _Look) -> bool:
    """Whether somebody moved the traffic since the candidate was deployed: people win."""
    mine = {(target.revision, target.percent) for target in look.rollout.stable if target.percent}
    shares = {(target.revision, target.percent) for target in look.view.traffic if target.percent}
    return shares != mine and not all_on(look.view, look.rollout.revision)


def _superseded(look: _Look) -> Step | None:
    """The end of a rollout whose template nobody wants any more, or whose traffic somebody moved; None if it goes on."""
    rollout, view = look.rollout, look.view
    pin = template_pin(look.service.document, look.now)
    if rollout.profile == "revert":
        if pin is not None:
            return _ended(look, "superseded", f"the traffic is to be on {pin.revision}: {pin.reason}")
        return _overtaken(look) if _moved_by_others(look) else None
    if rollout.rollback:
        return None if pin is not None and pin.revision == rollout.revision else _ended(look, "superseded", "the rollback was taken back")
    if pin is not None:
        return _ended(look, "superseded", f"the traffic is to be on {pin.revision}: {pin.reason}")
    if not isinstance(view.wanted_hash, Unknown) and view.wanted_hash != rollout.template_hash:
        return _ended(look, "superseded", "the spec asks for another template now")
    return _overtaken(look) if view.candidate is not None and _moved_by_others(look) else None


def _overtaken(look: _Look) -> Step:
    return _ended(look, "overtaken", f"the traffic was moved by {look.observed.last_modifier or 'somebody else'}")


def _deploying(look: _Look) -> Step:
    ended = _superseded(look)
    if ended is not None:
        return ended
    candidate, rollout = look.view.candidate, look.rollout
    if candidate is None:
        return _write_again(look, "deploy", "the revision is not there")
    if candidate.ready is ReadyState.SUCCEEDED:
        return _verifying(look.in_phase(RolloutPhase.VERIFYING))
    if candidate.ready is ReadyState.FAILED:
        verdict = meaning_of(reason=candidate.reason, message=candidate.message)
        text = candidate.message or candidate.reason
        if verdict.kind in _NO_ROOM and rollout.attempt < LAST_ATTEMPT:
            return _wait(look, text)
        if verdict.kind in _BAD_TEMPLATE or verdict.kind in _NO_ROOM or look.now >= rollout.deadline_at:
            return _give_up(look, text)
    if look.now >= rollout.deadline_at:
        return _give_up(look, f"not ready within {(rollout.deadline_at - rollout.began_at).total_seconds():.0f} s")
    return Step(look.keeping(write=None), next_look_at=look.tick)


def _distance(times: int) -> float:
    """Seconds until it is tried again after so many times."""
    return float(min(ROLLOUT_RETRY_SECONDS * 2.0 ** min(times - 1, 10), ROLLOUT_RETRY_AT_MOST_SECONDS))


def _waiting(rollout: Rollout, reason: str, now: datetime) -> Rollout:
    wait = timedelta(seconds=_distance(rollout.attempt))
    update = {"phase": RolloutPhase.WAITING, "phase_since": now, "retry_at": now + wait, "write": None}
    return rollout.model_copy(update={**update, "reason": reason[:STATE_TEXT_LIMIT]})


def _wait(look: _Look, reason: str) -> Step:
    waiting = _waiting(look.rollout, reason, look.now)
    return Step(look.state.model_copy(update={"rollout": waiting}), reason=reason, next_look_at=waiting.retry_at)


def _retry(look: _Look) -> Step:
    ended = _superseded(look)
    if ended is not None:
        return ended
    rollout = look.rollout
    if rollout.retry_at is not None and look.now < rollout.retry_at:
        return Step(look.state, next_look_at=rollout.retry_at)
    held = stopped(look.service, look.now)
    if held is not None:
        return Step(look.state, denials=(held[0],), next_look_at=held[1])
    again = candidate(look.service, look.view, rollout.template_hash, attempt=rollout.attempt + 1, now=look.now)
    again = again.model_copy(update={"stable": rollout.stable, "rollout_id": rollout.rollout_id})
    state = look.state.model_copy(update={"rollout": again})
    return Step(state, "deploy", f"attempt {again.attempt}: {rollout.reason}", next_look_at=look.tick)


def _verifying(look: _Look) -> Step:
    ended = _superseded(look)
    if ended is not None:
        return ended
    serving = look.service.document.spec.serving
    if serving is not None and serving.golden_request is not None:
        probe = look.view.probe
        if probe is None:
            return Step(look.state, next_look_at=look.tick)
        if not probe.ok:
            failed = look.rollout.failed_probes + 1
            if failed >= PROBE_FAILURES:
                return _give_up(look, f"the golden request failed {failed} times in a row: {probe.detail}")
            return Step(look.keeping(failed_probes=failed), reason=f"golden request: {probe.detail}", next_look_at=look.tick)
    held = stopped(look.service, look.now)
    if held is not None:
        return Step(look.state, denials=(held[0],), next_look_at=held[1])
    return _promoting(look.in_phase(RolloutPhase.PROMOTING))


def _promoting(look: _Look) -> Step:
    rollout = look.rollout
    if all_on(look.view, rollout.revision) and not look.observed.reconciling:
        if rollout.rollback:
            return _restoring(look.in_phase(RolloutPhase.RESTORING))
        return _ended(look, "promoted", "ready, verified, all traffic on it")
    ended = _superseded(look)
    if ended is not None:
        return ended
    if all_on(look.view, rollout.revision):
        return Step(look.keeping(write=None), next_look_at=look.tick)
    if rollout.rollback:
        lost = cannot_serve(rollout.revision, look.view)
        if lost is not None:
            return _ended(look, "failed", lost)
        if rollout.write is not None and rollout.write.sent:
            # Accepted, and `_settle` has waited long enough. What was refused or held back was never sent, and is tried again.
            return _ended(look, "failed", f"the traffic did not get there; {rollout.reason}")
    if rollout.retry_at is not None and look.now < rollout.retry_at:
        refusal = denial(DenialCode.WRITE_FAILED, f"Cloud Run refused to move the traffic to {rollout.revision}: {rollout.reason}")
        return Step(look.state, denials=(refusal,), next_look_at=rollout.retry_at)
    ready = f"{rollout.revision} is ready" + (" and answers" if _is_probed(look) else "")
    return _write_again(look, "promote", rollout.reason if rollout.rollback else ready)


def _is_probed(look: _Look) -> bool:
    serving = look.service.document.spec.serving
    return serving is not None and serving.golden_request is not None


def _restoring(look: _Look) -> Step:
    rollout, view = look.rollout, look.view
    if rollout.rollback:
        if view.template_revision == rollout.revision:
            return _ended(look, "promoted", "rolled back: traffic and template are those of this revision")
        return _write_again(look, "restore", rollout.reason)
    elsewhere = not isinstance(view.wanted_hash, Unknown) and view.wanted_hash != rollout.template_hash
    if elsewhere or view.differs:
        # The service's template is not the bad one any more, or the next rollout is about to replace it.
        return _ended(look, "failed", rollout.reason)
    return _write_again(look, "restore", f"{rollout.revision} failed: {rollout.reason}")


def _write_again(look: _Look, kind: Literal["deploy", "promote", "restore"], reason: str) -> Step:
    write = look.rollout.write
    if write is not None and write.kind == kind and write.times >= ROLLOUT_WRITE_TRIES:
        if kind != "promote":
            return _ended(look, "failed", f"{write.times} writes never reached Cloud Run; {reason}")
        again_at = write.announced_at + timedelta(seconds=_distance(write.times - ROLLOUT_WRITE_TRIES + 1))
        if look.now < again_at:
            return Step(look.state, reason=reason, next_look_at=again_at)
    return Step(look.state, kind, reason, next_look_at=look.tick)


def _give_up(look: _Look, reason: str) -> Step:
    if not any(target.percent for target in look.rollout.stable):
        # Nothing served before it: there is no template to put back.
        return Step(_quarantine(look.state, look.rollout, reason, look.now, restore=False), reason=reason, next_look_at=look.tick)
    state = _quarantine(look.state, look.rollout, reason, look.now, restore=True)
    rollout = state.rollout
    assert rollout is not None  # noqa: S101 (restore keeps it)
    return Step(state, "restore", f"{rollout.revision} failed: {rollout.reason}", next_look_at=look.tick)


def _quarantine(state: ServiceState, rollout: Rollout, reason: str, now: datetime, *, restore: bool) -> ServiceState:
    text = reason[:STATE_TEXT_LIMIT]
    entry = Quarantined(template_hash=rollout.template_hash, revision=rollout.revision, reason=text, at=now)
    others = tuple(each for each in state.quarantined if each.template_hash != rollout.template_hash)
    update: dict[str, object] = {"quarantined": (*others, entry)[-KEPT_QUARANTINED:]}
    if restore:
        moved = {"phase": RolloutPhase.RESTORING, "phase_since": now, "reason": text, "write": None}
        update["rollout"] = rollout.model_copy(update=moved)
    else:
        last = LastRollout(rollout_id=rollout.rollout_id, revision=rollout.revision, outcome="failed", detail=text, at=now)
        update |= {"rollout": None, "last_rollout": last}
    return state.model_copy(update=update)


def _ended(look: _Look, outcome: Literal["promoted", "failed", "superseded", "overtaken"], detail: str) -> Step:
    rollout = look.rollout
    forward = outcome == "promoted" and not rollout.rollback
    last = LastRollout(
        rollout_id=rollout.rollout_id,
        revision=rollout.revision,
        outcome=outcome,
        detail=detail[:STATE_TEXT_LIMIT],
        at=look.now,
        previous=max(rollout.stable, key=lambda target: target.percent).revision if forward and rollout.stable else None,
        moved_at=rollout.phase_since if forward else None,
    )
    return Step(look.state.model_copy(update={"rollout": None, "last_rollout": last}), reason=detail, next_look_at=look.tick)


_PHASES = {
    RolloutPhase.DEPLOYING: _deploying,
    RolloutPhase.WAITING: _retry,
    RolloutPhase.VERIFYING: _verifying,
    RolloutPhase.PROMOTING: _promoting,
    RolloutPhase.RESTORING: _restoring,
}
