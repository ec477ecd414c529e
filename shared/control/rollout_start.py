"""Whether a rollout begins: what is served, what others changed, what a person pinned, and what speaks against this moment. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from shared.control.pins import template_pin, template_pin_ends_at
from shared.control.rollout_parts import (
    Step,
    all_on,
    candidate,
    cannot_serve,
    denial,
    is_current,
    next_attempt,
    quarantine_of,
    stopped,
    without_candidate_tag,
)
from shared.control.timing import CONTENDED_SECONDS, FOREIGN_CHANGE_SECONDS, PIN_REST_SECONDS, ROLLOUT_SLACK_SECONDS, TICK_SECONDS
from shared.records.metric import Unknown
from shared.records.observed import Observed
from shared.records.plan import DenialCode
from shared.records.repair import RepairPhase
from shared.records.rollout import ForeignTemplate, Rollout, RolloutPhase, Served, TemplateView
from shared.records.service import Pin
from shared.records.snapshot import ManagedService
from shared.records.state import STATE_TEXT_LIMIT, ServiceState
from shared.records.windows import opens_at

NO_TEMPLATE_HASH = "a" * 10
"""Stands in a rollback's record: it deploys no template."""
ROLLBACK = "rollback-"
"""Of a rollout to a revision that a person named: what its id begins with."""


def start(service: ManagedService, view: TemplateView, observed: Observed, now: datetime) -> Step:
    """Begin a rollout if what is served is not what is wanted and nothing speaks against it; else say what does."""
    pin = template_pin(service.document, now)
    if pin is not None:
        return _pinned(service, pin, view, observed, now)
    state = service.state
    if isinstance(view.wanted_hash, Unknown):
        return Step(state, denials=(denial(DenialCode.TEMPLATE_UNKNOWN, view.wanted_hash.reason),))
    if is_current(view, service.document.id.name):
        return Step(_seen_served(state, view, now))
    if view.kept:
        return Step(state)
    state, foreign = _foreign(service, view, observed, now)
    if foreign is not None:
        return replace(foreign, state=state)
    known = quarantine_of(service.document, state, view.wanted_hash)
    if known is not None:
        text = f"revision {known.revision} of this template failed at {known.at:%Y-%m-%d %H:%M} UTC: {known.reason}"
        return Step(state, denials=(denial(DenialCode.QUARANTINED, text),))
    waits = not_now(service, observed, now)
    if waits is not None:
        return replace(waits, state=state)
    rollout = candidate(service, view, view.wanted_hash, attempt=next_attempt(service, view.wanted_hash), now=now)
    reason = "; ".join(view.changes) or "the traffic is not on the wanted revision"
    if state.repair is not None and state.repair.phase is RepairPhase.ASKED:
        rollout = rollout.model_copy(update={"profile": "repair"})
        reason = f"it is the repair for {state.repair.why}: {'; '.join(state.repair.changes) or reason}"
    started = state.model_copy(update={"rollout": rollout})
    tick = now + timedelta(seconds=TICK_SECONDS)
    # A revision of the wanted template that somebody else made is not made again: it is verified and promoted like ours.
    return Step(started, "deploy" if view.differs or rollout.revision != view.latest_created else None, reason, next_look_at=tick)


def not_now(service: ManagedService, observed: Observed, now: datetime) -> Step | None:
    """What keeps a template change from starting at this moment: people, the windows, another change."""
    state = service.state
    held = stopped(service, now)
    if held is not None:
        return Step(state, denials=(held[0],), next_look_at=held[1])
    opens = opens_at(service.document.spec.windows, now)
    if opens > now:
        text = f"template changes may start from {opens:%a %H:%M} UTC on"
        return Step(state, denials=(denial(DenialCode.WINDOW, text),), next_look_at=opens)
    if observed.reconciling or state.act is not None:
        text = "another change of this service is under way; one at a time"
        return Step(state, denials=(denial(DenialCode.IN_FLIGHT, text),), next_look_at=now + timedelta(seconds=TICK_SECONDS))
    return None


def _seen_served(state: ServiceState, view: TemplateView, now: datetime) -> ServiceState:
    """The state with what is served; another's change that was put back is remembered for as long as it may be contended."""
    update: dict[str, object] = {}
    revision = max(view.traffic, key=lambda target: target.percent).revision
    served = state.served
    if view.desired_hash is not None and (served is None or (served.revision, served.desired_hash) != (revision, view.desired_hash)):
        previous = _served_before(state, revision)
        update["served"] = Served(revision=revision, desired_hash=view.desired_hash, since=now, previous=previous)
    foreign = state.foreign_template
    if foreign is not None and (foreign.healed_at is None or now >= foreign.healed_at + timedelta(seconds=CONTENDED_SECONDS)):
        update["foreign_template"] = None
    elif foreign is not None and foreign.open:
        update["foreign_template"] = foreign.model_copy(update={"open": False})
    return state.model_copy(update=update) if update else state


def _served_before(state: ServiceState, revision: str) -> str | None:
    """What served before this revision, as far as it is known."""
    served, last = state.served, state.last_rollout
    if last is not None and last.outcome == "promoted" and last.revision == revision and last.previous is not None:
        return last.previous
    if served is None:
        return None
    return served.revision if served.revision != revision else served.previous


def _foreign(service: ManagedService, view: TemplateView, observed: Observed, now: datetime) -> tuple[ServiceState, Step | None]:
    """Whether somebody else changed a service that was as its spec asks for: their change stands for an hour, then it is put back.

    Changed again within a day of that, it is contended: people win, and it is left alone until the spec changes or a hold is released.
    """
    state, document = service.state, service.document
    if state.served is None or state.served.desired_hash != view.desired_hash:
        return state, None
    foreign = state.foreign_template
    if foreign is None or not foreign.open:
        healed_at = foreign.healed_at if foreign is not None else None
        contended = healed_at is not None and now < healed_at + timedelta(seconds=CONTENDED_SECONDS)
        foreign = ForeignTemplate(modifier=observed.last_modifier, seen_at=now, healed_at=healed_at, contended=contended)
    released = document.released_at is not None and document.released_at >= foreign.seen_at
    kept = state.model_copy(update={"foreign_template": foreign})
    who, what = foreign.modifier or "somebody else", "; ".join(view.changes) or "the traffic"
    until = foreign.seen_at + timedelta(seconds=FOREIGN_CHANGE_SECONDS)
    if foreign.contended and not released:
        text = f"{who} changed it again within a day of Trimtab's putting it back: {what}; release it, or change the spec"
        return kept, Step(kept, denials=(denial(DenialCode.CONTENDED, text),))
    if now < until and not released:
        text = f"{who} changed the template or the traffic ({what}); it is left alone until {until:%H:%M} UTC"
        return kept, Step(kept, denials=(denial(DenialCode.FOREIGN_CHANGE, text),), next_look_at=until)
    healing = foreign.model_copy(update={"healed_at": now, "contended": False})
    return state.model_copy(update={"foreign_template": healing}), None


def _pinned(service: ManagedService, pin: Pin, view: TemplateView, observed: Observed, now: datetime) -> Step:
    """The way back to a revision that a person named: its traffic in one write, then its template."""
    state = service.state
    text = f"{pin.author} pinned the traffic to {pin.revision}: {pin.reason}"
    denied = (denial(DenialCode.PINNED, text),)
    # What is served from here on is a person's wish, not the spec's: leaving the pin later is nobody's foreign change.
    state = state.model_copy(update={"served": None, "foreign_template": None})
    if all_on(view, pin.revision) and view.template_revision == pin.revision:
        return Step(state, denials=denied, next_look_at=template_pin_ends_at(service, now))
    lost = cannot_serve(pin.revision, view)
    if lost is not None:
        return Step(state, denials=(denial(DenialCode.WRITE_FAILED, f"{text}; {lost}: the traffic stays where it is"), *denied))
    last = state.last_rollout
    if last is not None and last.outcome == "failed" and last.revision == pin.revision and last.at >= pin.created_at:
        return Step(state, denials=(denial(DenialCode.WRITE_FAILED, f"the rollback to {pin.revision} failed: {last.detail}"),))
    again_at = last.at + timedelta(seconds=PIN_REST_SECONDS) if last is not None else now
    if last is not None and last.outcome == "promoted" and last.revision == pin.revision and pin.created_at <= last.at and now < again_at:
        again = f"{text}; it was put back at {last.at:%H:%M} UTC and changed since: it is put back again at {again_at:%H:%M} UTC"
        return Step(state, denials=(denial(DenialCode.PINNED, again),), next_look_at=again_at)
    waits = not_now(service, observed, now)
    if waits is not None and waits.denials[0].code != DenialCode.WINDOW:
        return replace(waits, state=state)
    stable = without_candidate_tag(view)
    phase = RolloutPhase.RESTORING if all_on(view, pin.revision) else RolloutPhase.PROMOTING
    rollout = Rollout(
        rollout_id=f"{ROLLBACK}{now:%Y%m%dT%H%M%S}",
        revision=pin.revision,
        template_hash=NO_TEMPLATE_HASH,
        attempt=1,
        phase=phase,
        stable=stable,
        began_at=now,
        phase_since=now,
        deadline_at=now + timedelta(seconds=ROLLOUT_SLACK_SECONDS),
        rollback=True,
        reason=text[:STATE_TEXT_LIMIT],
    )
    kind: Literal["promote", "restore"] = "restore" if phase is RolloutPhase.RESTORING else "promote"
    return Step(state.model_copy(update={"rollout": rollout}), kind, text, next_look_at=now + timedelta(seconds=TICK_SECONDS))
