"""Template changes, first form: a new revision gets no traffic until it is ready and answers, then all of it in one write. Pure.

`advance` is told the state, what was seen, and the time; it gives the state after looking and at most one write to announce. It is
level-triggered: whatever was lost or repeated, the next look sees where Cloud Run is and goes on from there. The phases are those of
one candidate; a stepped canary would stand between verifying and promoting.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from shared.cloudrun.conditions import VerdictKind, meaning_of
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
from shared.records.plan import Denial, DenialCode
from shared.records.rollout import (
    KEPT_QUARANTINED,
    LastRollout,
    Quarantined,
    Rollout,
    RolloutPhase,
    RolloutWrite,
    TemplateView,
)
from shared.records.service import Hold, OwnedField
from shared.records.serving import TrafficTarget
from shared.records.snapshot import ManagedService
from shared.records.state import STATE_TEXT_LIMIT, ServiceState
from shared.records.windows import opens_at

CANDIDATE_TAG = "candidate"
"""Gives the candidate an address of its own while it has no traffic."""

_BAD_TEMPLATE = frozenset({VerdictKind.FAILED_REVISION, VerdictKind.REFUSED})
_NO_ROOM = frozenset({VerdictKind.QUOTA, VerdictKind.RETRY, VerdictKind.REVISION_LIMIT})


@dataclass(frozen=True)
class Step:
    """What one look at a rollout came to: the state, a write to announce, what was denied, when to look again."""

    state: ServiceState
    write: Literal["deploy", "promote", "restore"] | None = None
    reason: str = ""
    denials: tuple[Denial, ...] = ()
    next_look_at: datetime | None = None


def advance(service: ManagedService, view: TemplateView, observed: Observed, now: datetime) -> Step:
    """Take the template one step nearer to what the spec asks for.

    The caller announces the write (`announced`), performs it, and tells the outcome (`sent`); a write that is announced and not
    settled stands in the way of the next.
    """
    state = service.state
    rollout = state.rollout
    if rollout is None:
        return _start(service, view, observed, now)
    if rollout.write is not None:
        settled = _settle(rollout, view, now)
        if settled is None:
            return Step(state, next_look_at=now + timedelta(seconds=TICK_SECONDS))
        rollout = settled
        state = state.model_copy(update={"rollout": rollout})
    look = _Look(service.model_copy(update={"state": state}), view, observed, rollout, now)
    return _PHASES[rollout.phase](look)


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


def refused(state: ServiceState, reason: str, now: datetime) -> ServiceState:
    """The state after Cloud Run refused the rollout's write.

    Nothing was written, so the template is not to blame at once: it is tried again under the next number, at growing distances, and
    given up after `ROLLOUT_ATTEMPTS`. A template that cannot be put back is left for a person; the traffic never was on it.
    """
    rollout = state.rollout
    assert rollout is not None  # noqa: S101 (only a rollout's write is refused)
    kind = rollout.write.kind if rollout.write is not None else "deploy"
    rollout = rollout.model_copy(update={"write": None})
    if kind == "deploy" and rollout.attempt < ROLLOUT_ATTEMPTS:
        return state.model_copy(update={"rollout": _waiting(rollout, reason, now)})
    if kind == "promote":
        return state.model_copy(update={"rollout": rollout.model_copy(update={"reason": reason[:STATE_TEXT_LIMIT]})})
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


def _start(service: ManagedService, view: TemplateView, observed: Observed, now: datetime) -> Step:
    state = service.state
    if isinstance(view.wanted_hash, Unknown):
        return Step(state, denials=(_denial(DenialCode.TEMPLATE_UNKNOWN, view.wanted_hash.reason),))
    if is_current(view, service.document.id.name):
        return Step(state)
    known = next((each for each in reversed(state.quarantined) if each.template_hash == view.wanted_hash), None)
    if known is not None:
        text = f"revision {known.revision} of this template failed at {known.at:%Y-%m-%d %H:%M} UTC: {known.reason}"
        return Step(state, denials=(_denial(DenialCode.QUARANTINED, text),))
    stopped = _stopped(service, now)
    if stopped is not None:
        return Step(state, denials=(stopped[0],), next_look_at=stopped[1])
    opens = opens_at(service.document.spec.windows, now)
    if opens > now:
        text = f"template changes may start from {opens:%a %H:%M} UTC on"
        return Step(state, denials=(_denial(DenialCode.WINDOW, text),), next_look_at=opens)
    if observed.reconciling or state.act is not None:
        text = "another change of this service is under way; one at a time"
        return Step(state, denials=(_denial(DenialCode.IN_FLIGHT, text),), next_look_at=now + timedelta(seconds=TICK_SECONDS))
    rollout = _candidate(service, view, view.wanted_hash, attempt=1, now=now)
    reason = "; ".join(view.changes) or "the traffic is not on the wanted revision"
    return Step(state.model_copy(update={"rollout": rollout}), "deploy", reason, next_look_at=now + timedelta(seconds=TICK_SECONDS))


def is_current(view: TemplateView, service: str) -> bool:
    """Whether all traffic is on a revision of the wanted template: known by its name, or by being the newest of that very template."""
    shares = {target.revision for target in view.traffic if target.percent}
    by_name = f"{service}-{view.wanted_hash}-"
    return bool(shares) and all(
        revision.startswith(by_name) or (not view.differs and revision == view.latest_created) for revision in shares
    )


def _candidate(service: ManagedService, view: TemplateView, wanted: str, *, attempt: int, now: datetime) -> Rollout:
    revision = f"{service.document.id.name}-{wanted}-{attempt}"
    stable = tuple(target for target in view.traffic if target.tag != CANDIDATE_TAG)
    return Rollout(
        rollout_id=f"{wanted}-{now:%Y%m%dT%H%M%S}",
        revision=revision,
        template_hash=wanted,
        attempt=attempt,
        phase=RolloutPhase.DEPLOYING,
        stable=stable,
        began_at=now,
        phase_since=now,
        deadline_at=now + timedelta(seconds=view.start_up_seconds + ROLLOUT_SLACK_SECONDS),
    )


def traffic_while_starting(rollout: Rollout) -> tuple[TrafficTarget, ...]:
    """All traffic where it was, by name, and an address of its own for the candidate."""
    kept = tuple(target for target in rollout.stable if target.revision != rollout.revision)
    return (*kept, TrafficTarget(revision=rollout.revision, percent=100 - sum(target.percent for target in kept), tag=CANDIDATE_TAG))


def traffic_when_promoted(rollout: Rollout) -> tuple[TrafficTarget, ...]:
    """All traffic on the candidate; tags that others gave stay where they are."""
    tags = tuple(
        target.model_copy(update={"percent": 0})
        for target in rollout.stable
        if target.tag is not None and target.revision != rollout.revision
    )
    return (TrafficTarget(revision=rollout.revision, percent=100), *tags)


def _settle(rollout: Rollout, view: TemplateView, now: datetime) -> Rollout | None:
    """The rollout with its write settled by what Cloud Run shows; None while it may still be on its way.

    A write that never arrived stays in the rollout: its phase asks for it again, counting how often.
    """
    write = rollout.write
    assert write is not None  # noqa: S101 (the caller looked)
    arrived = {
        "deploy": view.candidate is not None,
        "promote": _all_on(view, rollout.revision),
        "restore": view.differs,
    }[write.kind]
    if arrived:
        return rollout.model_copy(update={"write": None})
    if write.sent:
        return None if now < write.announced_at + timedelta(seconds=ROLLOUT_SLACK_SECONDS) else rollout
    lease_over = now >= write.lease_expires_at or write.lease_expires_at - now > timedelta(seconds=2 * ACT_LEASE_SECONDS)
    return rollout if lease_over else None


def _all_on(view: TemplateView, revision: str) -> bool:
    shares = {target.revision for target in view.traffic if target.percent}
    return shares == {revision}


def _moved_by_others(look: _Look) -> bool:
    """Whether somebody moved the traffic since the candidate was deployed: people win."""
    mine = {(target.revision, target.percent) for target in look.rollout.stable if target.percent}
    shares = {(target.revision, target.percent) for target in look.view.traffic if target.percent}
    return shares != mine and not _all_on(look.view, look.rollout.revision)


def _superseded(look: _Look) -> Step | None:
    """The end of a rollout whose template nobody wants any more, or whose traffic somebody moved; None if it goes on."""
    rollout, view = look.rollout, look.view
    if not isinstance(view.wanted_hash, Unknown) and view.wanted_hash != rollout.template_hash:
        return _ended(look, "superseded", "the spec asks for another template now")
    if view.candidate is not None and _moved_by_others(look):
        return _ended(look, "overtaken", f"the traffic was moved by {look.observed.last_modifier or 'somebody else'}")
    return None


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
        if verdict.kind in _NO_ROOM and rollout.attempt < ROLLOUT_ATTEMPTS:
            return _wait(look, text)
        if verdict.kind in _BAD_TEMPLATE or verdict.kind in _NO_ROOM or look.now >= rollout.deadline_at:
            return _give_up(look, text)
    if look.now >= rollout.deadline_at:
        return _give_up(look, f"not ready within {(rollout.deadline_at - rollout.began_at).total_seconds():.0f} s")
    return Step(look.keeping(write=None), next_look_at=look.tick)


def _waiting(rollout: Rollout, reason: str, now: datetime) -> Rollout:
    wait = min(ROLLOUT_RETRY_SECONDS * 2.0 ** (rollout.attempt - 1), ROLLOUT_RETRY_AT_MOST_SECONDS)
    update = {"phase": RolloutPhase.WAITING, "phase_since": now, "retry_at": now + timedelta(seconds=wait), "write": None}
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
    stopped = _stopped(look.service, look.now)
    if stopped is not None:
        return Step(look.state, denials=(stopped[0],), next_look_at=stopped[1])
    again = _candidate(look.service, look.view, rollout.template_hash, attempt=rollout.attempt + 1, now=look.now)
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
    stopped = _stopped(look.service, look.now)
    if stopped is not None:
        return Step(look.state, denials=(stopped[0],), next_look_at=stopped[1])
    return _promoting(look.in_phase(RolloutPhase.PROMOTING))


def _promoting(look: _Look) -> Step:
    rollout = look.rollout
    if _all_on(look.view, rollout.revision) and not look.observed.reconciling:
        return _ended(look, "promoted", "ready, verified, all traffic on it")
    ended = _superseded(look)
    if ended is not None:
        return ended
    if _all_on(look.view, rollout.revision):
        return Step(look.keeping(write=None), next_look_at=look.tick)
    return _write_again(look, "promote", f"{rollout.revision} is ready" + (" and answers" if _is_probed(look) else ""))


def _is_probed(look: _Look) -> bool:
    serving = look.service.document.spec.serving
    return serving is not None and serving.golden_request is not None


def _restoring(look: _Look) -> Step:
    rollout, view = look.rollout, look.view
    elsewhere = not isinstance(view.wanted_hash, Unknown) and view.wanted_hash != rollout.template_hash
    if elsewhere or view.differs:
        # The service's template is not the bad one any more, or the next rollout is about to replace it.
        return _ended(look, "failed", rollout.reason)
    return _write_again(look, "restore", f"{rollout.revision} failed: {rollout.reason}")


def _write_again(look: _Look, kind: Literal["deploy", "promote", "restore"], reason: str) -> Step:
    write = look.rollout.write
    if write is not None and write.kind == kind and write.times >= ROLLOUT_WRITE_TRIES:
        if kind == "deploy":
            return _ended(look, "failed", f"{write.times} writes never reached Cloud Run")
        return Step(look.state, reason=reason, next_look_at=look.tick)
    return Step(look.state, kind, reason, next_look_at=look.tick)


def _give_up(look: _Look, reason: str) -> Step:
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
    last = LastRollout(
        rollout_id=rollout.rollout_id, revision=rollout.revision, outcome=outcome, detail=detail[:STATE_TEXT_LIMIT], at=look.now
    )
    return Step(look.state.model_copy(update={"rollout": None, "last_rollout": last}), reason=detail, next_look_at=look.tick)


def _stopped(service: ManagedService, now: datetime) -> tuple[Denial, datetime | None] | None:
    """What a person holds: the fleet, the service, or its template."""
    holds: list[tuple[DenialCode, str, Hold]] = []
    if service.fleet.hold is not None:
        holds.append((DenialCode.FLEET_HOLD, "the whole fleet", service.fleet.hold))
    holds += [(DenialCode.HOLD, "the template" if hold.fields else "the service", hold) for hold in service.document.holds]
    for code, what, hold in holds:
        in_force = hold.expires_at is None or hold.expires_at > now
        if in_force and (not hold.fields or OwnedField.TEMPLATE in hold.fields):
            until = "without an end" if hold.expires_at is None else f"until {hold.expires_at:%Y-%m-%d %H:%M} UTC"
            return _denial(code, f"{what} is held by {hold.author} {until}: {hold.reason}"), hold.expires_at
    return None


def _denial(code: DenialCode, message: str) -> Denial:
    return Denial(code=code, field=OwnedField.TEMPLATE, message=message)


_PHASES = {
    RolloutPhase.DEPLOYING: _deploying,
    RolloutPhase.WAITING: _retry,
    RolloutPhase.VERIFYING: _verifying,
    RolloutPhase.PROMOTING: _promoting,
    RolloutPhase.RESTORING: _restoring,
}
