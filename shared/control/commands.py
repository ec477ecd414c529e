"""What a command does to the document of a service: the document after it, or why it is not done. Pure.

Each function is told the document as it was read. Whoever stores the result does so only if the document still is that one, and asks
again otherwise: so two commands at once end as if one had come after the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from shared.control.command_holds import hold_fleet, hold_service, release_fleet, release_service
from shared.control.command_verdict import Changed, FleetChanged, NotDone, forbidden, refused, superseded
from shared.control.spec_lint import Linted, linted
from shared.records.admission import admit
from shared.records.allow_lists import AllowLists
from shared.records.commands import (
    ApplyCommand,
    CommandFact,
    DeleteCommand,
    HoldCommand,
    PatchCommand,
    ReleaseCommand,
    RollbackCommand,
    merge_patch,
)
from shared.records.fleet import Fleet
from shared.records.parked import ParkCode
from shared.records.refusal import Refusal, shown
from shared.records.service import OwnedField, Pin, ServiceDocument, ServiceSpec
from shared.records.spec_problems import Problem, problems_of
from shared.records.state import ServiceState
from shared.records.subject import ServiceId

CLOCK_SKEW = timedelta(minutes=5)
"""So far a sender's clock may be ahead of ours."""
AUTHOR_LIMIT = 256
PIN_REASON = "rolled back by command"
_GUARDED_PARTS = "autonomy", "serving"
"""The fields of a spec that are guarded, or have guarded ones in them: see `_guarded`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What an effect needs to know beside the command and the document."""

    service: ServiceId
    allowed: AllowLists
    now: datetime
    may_apply: bool
    """Whether whoever gave the command may also `apply` on this service: image, service account and autonomy take that right."""


ServiceCommand = ApplyCommand | PatchCommand | HoldCommand | ReleaseCommand | RollbackCommand | DeleteCommand


def effect(fact: CommandFact, document: ServiceDocument | None, setting: Setting, state: ServiceState | None = None) -> Changed | NotDone:
    """What the command does to the document of its service. `state` is asked by a rollback that names no revision, and by a pin."""
    command = fact.command
    if isinstance(command, ApplyCommand):
        return _apply(command, fact, document, setting)
    if document is None:
        fix = "look whether the name is right; apply a spec to let Trimtab look after it"
        return refused(Problem("service", str(setting.service), "there is no spec of this service", fix), code=ParkCode.NO_SPEC)
    if isinstance(command, PatchCommand):
        return _patch(command, fact, document, setting)
    if isinstance(command, HoldCommand):
        return hold_service(command, fact, document, author_of(fact), setting.now, state=state)
    if isinstance(command, ReleaseCommand):
        return release_service(command, document, setting.now)
    if isinstance(command, RollbackCommand):
        return _rollback(command, fact, document, state, setting)
    if isinstance(command, DeleteCommand):
        return _delete(command, fact, document)
    raise TypeError(f"{command.command} changes no document of a service")


def fleet_effect(fact: CommandFact, fleet: Fleet, now: datetime) -> FleetChanged | NotDone:
    """What a hold or a release does that is about all services."""
    command = fact.command
    if isinstance(command, HoldCommand):
        return hold_fleet(command, fact, fleet, author_of(fact), now)
    if isinstance(command, ReleaseCommand):
        return release_fleet(command, fleet)
    raise TypeError(f"{command.command} changes no document of the fleet")


def may_need_apply(patch: Mapping[str, Any]) -> bool:
    """Whether a patch names a part of the spec in which something takes the right to apply, whatever is there now."""
    return any(name in patch for name in _GUARDED_PARTS)


def author_of(fact: CommandFact) -> str:
    """Who gave a command, for people: the verified identity or the subscription; what it claims itself is marked as a claim."""
    known = fact.verified_author or (fact.subscription or "").rpartition("/")[2] or "this machine"
    claimed = f", says it is {fact.claimed_author}" if fact.claimed_author and fact.claimed_author != known else ""
    return f"{known}{claimed}"[:AUTHOR_LIMIT]


def last_good(state: ServiceState | None) -> str | None:
    """Where a rollback goes that names no revision; None where that is not known.

    While a change is on its way: what serves until then. After somebody else moved the traffic: what served before that. Otherwise: what
    served before the present revision.
    """
    if state is None:
        return None
    rollout = state.rollout
    if rollout is not None:
        if rollout.rollback:
            return rollout.revision
        shares = [target for target in rollout.stable if target.percent]
        return max(shares, key=lambda target: target.percent).revision if shares else None
    if state.served is None:
        return None
    if state.foreign_template is not None and state.foreign_template.open:
        return state.served.revision
    return state.served.previous


def _apply(command: ApplyCommand, fact: CommandFact, document: ServiceDocument | None, setting: Setting) -> Changed | NotDone:
    moved_on = _moved_on(command.if_generation, document)
    if moved_on is not None:
        return moved_on
    given_at = min(fact.published_at or setting.now, setting.now)
    if document is not None and command.if_generation is None:
        late = _too_late(fact.published_at, "the message", document)
        if late is not None:
            return late
    refusals = admit(setting.service, command.spec, setting.allowed)
    if refusals:
        return refused(*map(_problem, refusals))
    found = linted(setting.service, command.spec)
    if found.problems:
        return refused(*found.problems)
    if document is None:
        made = ServiceDocument(id=setting.service, spec=command.spec, spec_changed_at=given_at)
        return Changed(made, _with_notes("generation 1", found))
    unpinned = document.pin is not None
    said = _with_notes(_of_spec(document, command.spec, unpinned=unpinned), found)
    return Changed(_with_spec(document, command.spec, given_at, unpin=True), said)


def _patch(command: PatchCommand, fact: CommandFact, document: ServiceDocument, setting: Setting) -> Changed | NotDone:
    issued_at = command.issued_at
    if issued_at is not None and issued_at > setting.now + CLOCK_SKEW:
        text = f"is in the future: it is {setting.now:%Y-%m-%dT%H:%M:%SZ} here"
        fix = f"set the sender's clock; {CLOCK_SKEW.total_seconds() / 60:g} minutes are let pass"
        return refused(Problem("issued_at", f"{issued_at:%Y-%m-%dT%H:%M:%SZ}", text, fix))
    moved_on = _moved_on(command.if_generation, document) or _too_late(issued_at, "issued_at", document)
    if moved_on is not None:
        return moved_on
    merged = merge_patch(document.spec.to_stored(), command.patch)
    try:
        spec = ServiceSpec.model_validate(merged)
    except ValidationError as error:
        return refused(*(_of_patch(problem, command.patch) for problem in problems_of(error, ServiceSpec, merged)))
    refusals = admit(setting.service, spec, setting.allowed)
    if refusals:
        return refused(*map(_problem, refusals))
    found = linted(setting.service, spec)
    if found.problems:
        return refused(*found.problems)
    if not setting.may_apply:
        granted = [_needs_apply(field, now) for field, was, now in _guarded(document.spec, spec) if was != now]
        if granted:
            return forbidden(granted)
    given_at = min(issued_at or fact.published_at or setting.now, setting.now)
    changes = spec != document.spec
    unpinned = changes and document.pin is not None
    said = _with_notes(_of_spec(document, spec, unpinned=unpinned), found)
    return Changed(_with_spec(document, spec, given_at, unpin=changes), said)


def _with_notes(words: str, found: Linted) -> str:
    return f"{words}; {found.notes}" if found.notes else words


def _guarded(before: ServiceSpec, after: ServiceSpec) -> Sequence[tuple[str, object, object]]:
    """The fields of a spec that take the right to apply: name, value before, value after."""
    was, now = before.serving, after.serving
    return (
        ("autonomy", before.autonomy, after.autonomy),
        ("serving.image", was and was.image, now and now.image),
        ("serving.service_account", was and was.service_account, now and now.service_account),
    )


def _needs_apply(field: str, value: object) -> Problem:
    fix = "have the grant name apply beside patch, or leave the field out"
    return Problem(f"patch.{field}", shown(value if value is not None else "taken out"), "to change it takes the right to apply", fix)


def _rollback(
    command: RollbackCommand, fact: CommandFact, document: ServiceDocument, state: ServiceState | None, setting: Setting
) -> Changed | NotDone:
    late = _too_late(fact.published_at, "the message", document)
    if late is not None:
        return late
    revision = command.to_revision or last_good(state)
    if revision is None:
        text = "is not there, and which revision served well before this one is not known"
        fix = f"name one: gcloud run revisions list --service {setting.service.name} --region {setting.service.region} shows them"
        return refused(Problem("to_revision", "", text, fix))
    if not revision.startswith(f"{setting.service.name}-"):
        text = f"is no revision of {setting.service.name}: their names begin with {setting.service.name}-"
        return refused(Problem("to_revision", revision, text, "name a revision of this service"))
    pin = Pin(revision=revision, reason=PIN_REASON, author=author_of(fact), created_at=setting.now)
    held = next((hold for hold in document.holds if hold.stops(OwnedField.TEMPLATE, setting.now)), None)
    waits = f"; hold {held.hold_id} keeps it from being done: release it" if held is not None else ""
    return Changed(
        document.model_copy(update={"pin": pin}), f"all traffic to {revision}, until the spec is changed or applied again{waits}"
    )


def _delete(command: DeleteCommand, fact: CommandFact, document: ServiceDocument) -> Changed | NotDone:
    not_any_more = _moved_on(command.if_generation, document)
    if command.if_generation is None:
        not_any_more = _too_late(fact.published_at, "the message", document)
    return not_any_more or Changed(None, "Trimtab looks after it no more")


def _with_spec(document: ServiceDocument, spec: ServiceSpec, given_at: datetime, *, unpin: bool) -> ServiceDocument:
    changed = document.spec != spec
    last = document.spec_changed_at
    update: dict[str, Any] = {"spec_changed_at": given_at if last is None else max(last, given_at)}
    if changed:
        update |= {"spec": spec, "generation": document.generation + 1}
    if unpin:
        update["pin"] = None
    return document.model_copy(update=update)


def _of_spec(before: ServiceDocument, spec: ServiceSpec, *, unpinned: bool) -> str:
    words = f"generation {before.generation + 1}" if spec != before.spec else f"the spec is that of generation {before.generation} already"
    return f"{words}; the rollback to {before.pin.revision} is over" if unpinned and before.pin is not None else words


def _moved_on(if_generation: int | None, document: ServiceDocument | None) -> NotDone | None:
    there = 0 if document is None else document.generation
    if if_generation is None or if_generation == there:
        return None
    text = "there is no spec of this service" if document is None else f"the spec has generation {there} now"
    fix = f"look at the spec as it is, and give the command with if_generation {there}"
    return superseded(Problem("if_generation", str(if_generation), text, fix))


def _too_late(given_at: datetime | None, field: str, document: ServiceDocument) -> NotDone | None:
    changed_at = document.spec_changed_at
    if given_at is None or changed_at is None or given_at >= changed_at:
        return None
    text = f"the spec was changed since, at {changed_at:%Y-%m-%dT%H:%M:%S.%fZ} (generation {document.generation})"
    fix = "look at the spec as it is; if the change is still wanted, send it again with a new command_id"
    return superseded(Problem(field, f"{given_at:%Y-%m-%dT%H:%M:%S.%fZ}", text, fix))


def _problem(refusal: Refusal) -> Problem:
    return Problem(refusal.field, refusal.value, f"{refusal.why}; allowed: {refusal.limit}", refusal.fix)


def _of_patch(problem: Problem, patch: dict[str, Any]) -> Problem:
    """The problem where the sender wrote it, or in the spec that the patch would make."""
    at: Any = patch
    for part in problem.field.split("."):
        at = at.get(part) if isinstance(at, dict) else None
    written = at is not None
    field = "spec" if problem.field == "the file" else f"{'patch' if written else 'spec'}.{problem.field}"
    return Problem(field, problem.value, problem.wrong, problem.fix)
