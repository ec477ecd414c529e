"""Holds that people give and release by command: of a service, and of the whole fleet. Pure."""

from datetime import datetime, timedelta

from shared.control.command_verdict import Changed, FleetChanged, NotDone, refused
from shared.records.commands import HOLD_MINUTES_LIMIT, CommandFact, HoldCommand, ReleaseCommand
from shared.records.fleet import Fleet
from shared.records.service import MAX_HOLDS, Hold, HoldKind, OwnedField, PinnedValues, ServiceDocument
from shared.records.spec_problems import Problem
from shared.records.state import ServiceState

SHOWN_HOLDS = 8
"""So many ids of holds a message names."""


def hold_service(
    command: HoldCommand, fact: CommandFact, document: ServiceDocument, author: str, now: datetime, *, state: ServiceState | None
) -> Changed | NotDone:
    """The document with the hold; one of the same id is replaced, those that are over are dropped. `state` is asked by a pin."""
    made = _hold(command, fact, author, now)
    if isinstance(made, NotDone):
        return made
    if made.kind is HoldKind.PIN:
        pinned = _pinned(command, document, state)
        if isinstance(pinned, NotDone):
            return pinned
        made = made.model_copy(update={"pinned": pinned})
    kept = tuple(hold for hold in document.holds if hold.hold_id != made.hold_id and not _is_over(hold, now))
    if len(kept) >= MAX_HOLDS:
        text = f"{document.id} has {len(kept)} holds, as many as are kept"
        return refused(Problem("hold_id", made.hold_id, text, "release some, or hold the service as a whole"))
    return Changed(document.model_copy(update={"holds": (*kept, made)}), _words(made))


def release_service(command: ReleaseCommand, document: ServiceDocument, now: datetime) -> Changed | NotDone:
    """The document without the hold. `all` also ends what came of changes by others before now."""
    if command.all:
        ended = len(document.holds)
        return Changed(document.model_copy(update={"holds": (), "released_at": now}), f"{ended} holds released")
    kept = tuple(hold for hold in document.holds if hold.hold_id != command.hold_id)
    if len(kept) == len(document.holds):
        return refused(_no_such_hold(command, [hold.hold_id for hold in document.holds]))
    return Changed(document.model_copy(update={"holds": kept}), f"hold {command.hold_id} released")


def hold_fleet(command: HoldCommand, fact: CommandFact, fleet: Fleet, author: str, now: datetime) -> FleetChanged | NotDone:
    """The fleet's document with the hold. It has one: another one that is in force must be released first, or given again."""
    made = _hold(command, fact, author, now)
    if isinstance(made, NotDone):
        return made
    there = fleet.hold
    if there is not None and there.hold_id != made.hold_id and not _is_over(there, now):
        fix = f"release that one first, or give this under hold_id {there.hold_id} to take its place"
        return refused(Problem("hold_id", made.hold_id, f"all services are held already, under {there.hold_id}: {_words(there)}", fix))
    return FleetChanged(fleet.model_copy(update={"hold": made}), _words(made))


def release_fleet(command: ReleaseCommand, fleet: Fleet) -> FleetChanged | NotDone:
    """The fleet's document without its hold."""
    there = fleet.hold
    if not command.all and (there is None or there.hold_id != command.hold_id):
        return refused(_no_such_hold(command, [there.hold_id] if there is not None else []))
    detail = "no hold of all services was there" if there is None else f"hold {there.hold_id} of all services released"
    return FleetChanged(fleet.model_copy(update={"hold": None}), detail)


def _hold(command: HoldCommand, fact: CommandFact, author: str, now: datetime) -> Hold | NotDone:
    if command.kind is HoldKind.PIN and command.service is None:
        fix = "pin the services one by one, or pause or freeze all of them"
        return refused(Problem("kind", command.kind.value, "a pin keeps the values of one service", fix))
    if command.kind is HoldKind.FREEZE and command.fields:
        text = "a freeze is of the template and the traffic, whatever fields it names"
        return refused(Problem("fields", ", ".join(command.fields), text, "leave fields out, or use pause"))
    expires_at = command.expires_at
    if command.minutes is not None:
        expires_at = now + timedelta(minutes=command.minutes)
    if expires_at is not None and expires_at <= now:
        text = f"is over already: it is {now:%Y-%m-%dT%H:%M:%SZ} now"
        return refused(Problem("expires_at", f"{expires_at:%Y-%m-%dT%H:%M:%SZ}", text, "name a later time, or say minutes"))
    if expires_at is not None and expires_at > now + timedelta(minutes=HOLD_MINUTES_LIMIT):
        text = f"is more than {HOLD_MINUTES_LIMIT // (24 * 60)} days ahead"
        fix = "name a nearer time, or leave it out: the hold then lasts until it is released"
        return refused(Problem("expires_at", f"{expires_at:%Y-%m-%dT%H:%M:%SZ}", text, fix))
    return Hold(
        hold_id=command.hold_id or fact.command_id,
        kind=command.kind,
        fields=command.fields,
        reason=command.reason,
        author=author,
        created_at=now,
        expires_at=expires_at,
    )


def _pinned(command: HoldCommand, document: ServiceDocument, state: ServiceState | None) -> PinnedValues | NotDone:
    """What the service had when it was last looked at, of the fields that are to be pinned."""
    fields = command.fields or tuple(OwnedField)
    desired = state.desired if state is not None else None
    if state is None or desired is None:
        text = f"{document.id} has not been looked at yet: what its fields hold is not known"
        return refused(Problem("kind", command.kind.value, text, "have it looked at with reconcile, then give the hold again"))
    revision = _serving(state) if document.spec.serving is not None and OwnedField.TEMPLATE in fields else None
    if document.spec.serving is not None and OwnedField.TEMPLATE in fields and revision is None:
        text = f"which revision of {document.id} serves what its spec asks for is not known"
        fix = "wait for its first rollout, name the fields scaling.min_instance_count and scaling.max_instance_count, or freeze it"
        return refused(Problem("kind", command.kind.value, text, fix))
    return PinnedValues(
        min_instance_count=desired.bounds.min_instance_count if OwnedField.MIN_INSTANCE_COUNT in fields else None,
        # 0: it is not set, and Cloud Run goes by a default of its own; that is not written.
        max_instance_count=desired.bounds.max_instance_count or None if OwnedField.MAX_INSTANCE_COUNT in fields else None,
        revision=revision,
    )


def _serving(state: ServiceState) -> str | None:
    """The revision with the most traffic: of a change under way, where it was before."""
    if state.rollout is not None and not state.rollout.rollback:
        shares = [target for target in state.rollout.stable if target.percent]
        return max(shares, key=lambda target: target.percent).revision if shares else None
    if state.rollout is not None:
        return state.rollout.revision
    return state.served.revision if state.served is not None else None


def _is_over(hold: Hold, now: datetime) -> bool:
    return hold.expires_at is not None and hold.expires_at <= now


def _words(hold: Hold) -> str:
    until = "until it is released" if hold.expires_at is None else f"until {hold.expires_at:%Y-%m-%d %H:%M} UTC"
    return f"{hold.kind} {hold.hold_id} by {hold.author} {until}{_kept(hold.pinned)}"


def _kept(pinned: PinnedValues | None) -> str:
    if pinned is None:
        return ""
    parts = [
        f"min instances {pinned.min_instance_count}" if pinned.min_instance_count is not None else "",
        f"max instances {pinned.max_instance_count}" if pinned.max_instance_count is not None else "",
        f"revision {pinned.revision}" if pinned.revision is not None else "",
    ]
    return f": {', '.join(filter(None, parts)) or 'nothing that could be put back'}"


def _no_such_hold(command: ReleaseCommand, there: list[str]) -> Problem:
    ids = ", ".join(there[:SHOWN_HOLDS]) + (" and more" if len(there) > SHOWN_HOLDS else "")
    return Problem("hold_id", str(command.hold_id), "there is no such hold", f"its holds are {ids}" if ids else "nothing is held")
