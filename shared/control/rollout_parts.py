"""What the steps of a rollout have in common: candidates, traffic, what a person holds. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from shared.control.pins import keeps_a_revision
from shared.control.timing import ROLLOUT_SLACK_SECONDS
from shared.records.observed import ReadyState
from shared.records.plan import Denial, DenialCode
from shared.records.rollout import Quarantined, Rollout, RolloutPhase, TemplateView
from shared.records.service import Hold, HoldKind, OwnedField, ServiceDocument
from shared.records.serving import TrafficTarget
from shared.records.snapshot import ManagedService
from shared.records.state import ServiceState

CANDIDATE_TAG = "candidate"
"""Gives the candidate an address of its own while it has no traffic."""


LAST_ATTEMPT = 99
"""The last number that a revision's name has room for: at one an hour, four days without room."""


@dataclass(frozen=True)
class Step:
    """What one look at a rollout came to: the state, a write to announce, what was denied, when to look again."""

    state: ServiceState
    write: Literal["deploy", "promote", "restore"] | None = None
    reason: str = ""
    denials: tuple[Denial, ...] = ()
    next_look_at: datetime | None = None


def is_current(view: TemplateView, service: str) -> bool:
    """Whether the service has the wanted template, and all traffic, in force and asked for, is on a revision of it.

    Such a revision is known by its name, or by being the newest.
    """
    shares = {target.revision for target in view.traffic if target.percent}
    by_name = f"{service}-{view.wanted_hash}-"
    as_asked = bool(shares) and not view.differs and (not view.traffic_asked or set(view.traffic_asked) == shares)
    return as_asked and all(revision.startswith(by_name) or revision == view.latest_created for revision in shares)


def cannot_serve(revision: str, view: TemplateView) -> str | None:
    """Why the traffic cannot go to a revision that a person named, as far as that was seen; None if it can."""
    if view.candidate is None:
        return f"there is no revision {revision}"
    if view.candidate.ready is ReadyState.FAILED:
        return f"revision {revision} is not ready: {view.candidate.message or view.candidate.reason}"
    return None


def quarantine_of(document: ServiceDocument, state: ServiceState, template_hash: str) -> Quarantined | None:
    """That a template failed, unless a person had it tried again since, by releasing everything.

    A spec that is applied again unchanged says nothing of that: whoever applies it every hour must not deploy a bad template every hour.
    """
    found = next((each for each in reversed(state.quarantined) if each.template_hash == template_hash), None)
    released_at = document.released_at
    return None if found is None or (released_at is not None and released_at > found.at) else found


def next_attempt(service: ManagedService, template_hash: str) -> int:
    """The number of the next revision of a template: of one that failed before and is tried again, the number after that."""
    by_name = f"{service.document.id.name}-{template_hash}-"
    failed = (each.revision.removeprefix(by_name) for each in service.state.quarantined if each.revision.startswith(by_name))
    return min(LAST_ATTEMPT, max((int(number) for number in failed if number.isdecimal()), default=0) + 1)


def without_candidate_tag(view: TemplateView) -> tuple[TrafficTarget, ...]:
    """The traffic without the address that candidates get; who has a share keeps it."""
    bare = (target if target.tag != CANDIDATE_TAG else target.model_copy(update={"tag": None}) for target in view.traffic)
    return tuple(target for target in bare if target.percent or target.tag is not None)


def candidate(service: ManagedService, view: TemplateView, wanted: str, *, attempt: int, now: datetime) -> Rollout:
    """The rollout that brings the wanted template to the traffic.

    A revision of that very template that somebody else made (it is the newest, and nothing differs) is taken as it is.
    """
    theirs = attempt == 1 and not view.differs and bool(view.latest_created)
    revision = view.latest_created if theirs else f"{service.document.id.name}-{wanted}-{attempt}"
    stable = without_candidate_tag(view)
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


def to_restore(rollout: Rollout) -> str:
    """The revision whose template is put back: the one that serves."""
    return rollout.revision if rollout.rollback else max(rollout.stable, key=lambda target: target.percent).revision


def all_on(view: TemplateView, revision: str) -> bool:
    """Whether all traffic is on that one revision."""
    shares = {target.revision for target in view.traffic if target.percent}
    return shares == {revision}


def stopped(service: ManagedService, now: datetime) -> tuple[Denial, datetime | None] | None:
    """What a person holds: the fleet, the service, or its template. A pin is no stop: it says where to go instead."""
    holds: list[tuple[DenialCode, str, Hold]] = []
    if service.fleet.hold is not None:
        holds.append((DenialCode.FLEET_HOLD, "the whole fleet", service.fleet.hold))
    holds += [(DenialCode.HOLD, "the template" if _of_the_template(hold) else "the service", hold) for hold in service.document.holds]
    for code, what, hold in holds:
        if hold.stops(OwnedField.TEMPLATE, now) and not keeps_a_revision(hold):
            until = "without an end" if hold.expires_at is None else f"until {hold.expires_at:%Y-%m-%d %H:%M} UTC"
            return denial(code, f"{what} is held by {hold.author} {until}: {hold.reason}"), hold.expires_at
    return None


def _of_the_template(hold: Hold) -> bool:
    return bool(hold.fields) or hold.kind is HoldKind.FREEZE


def denial(code: DenialCode, message: str) -> Denial:
    """A denial of a template change."""
    return Denial(code=code, field=OwnedField.TEMPLATE, message=message)
