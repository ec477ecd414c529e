"""A command with its rights is done: read, effect, commit, wake. Three round trips, and as many more as somebody else commits between."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from shared import log
from shared.control.command_verdict import NotDone, forbidden, refused
from shared.control.commands import Setting, author_of, effect, fleet_effect
from shared.errors import Refused, Retry, ServiceMissing, TokenConflict
from shared.handlers.command_parked import discard, redrive
from shared.ports import Bus, Clock, CommandStore, EventBus, Redriver, ServiceDeleter, StateReader
from shared.records.allow_lists import AllowLists
from shared.records.commands import (
    CommandFact,
    DeleteCommand,
    DiscardCommand,
    HoldCommand,
    ReconcileCommand,
    RedriveCommand,
    RollbackCommand,
    service_of,
)
from shared.records.fleet import Fleet
from shared.records.hold_change import HoldChange
from shared.records.parked import ParkCode
from shared.records.rights import Caller, Grants
from shared.records.service import Hold, HoldKind, ServiceDocument
from shared.records.spec_problems import Problem
from shared.records.subject import ServiceId, Wake

COMMIT_TRIES = 6
"""Each lost race means that another command of the same service was done; more than a few in a row are a storm, and wait."""
CONTENDED_SECONDS = 2.0


@dataclass(frozen=True)
class CommandPorts:
    """What the command function needs of the outside, and the trusted settings that give rights."""

    store: CommandStore
    states: StateReader
    bus: Bus
    clock: Clock
    redriver: Redriver
    deleter: Callable[[], ServiceDeleter]
    """Made only for the command that deletes a Cloud Run service."""
    grants: Grants = field(default_factory=Grants)
    allowed: AllowLists = field(default_factory=AllowLists)
    push_account: str | None = None
    """The service account that Pub/Sub's pushes come as; None: no request is a push."""
    trusted_local: bool = False
    """Nobody but the owner of this machine can call: everything is allowed, and no token is asked for."""
    events: EventBus | None = None
    """Where it is told that a command was parked, and that a hold was given or released."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command."""

    outcome: Literal["done", "duplicate", "refused", "forbidden", "superseded"]
    generation: int | None = None
    """Of the service's spec, where the command is about one and it was read."""
    detail: str = ""
    problems: tuple[Problem, ...] = ()
    code: ParkCode | None = None
    """Under which it is parked, if it is not done."""


def do(fact: CommandFact, caller: Caller, ports: CommandPorts) -> Outcome:
    """Do the command once, if the caller may.

    Raises:
        Retry: the store, the bus or Cloud Run could not be reached; the same command may be given again.
    """
    command, service = fact.command, service_of(fact.command)
    if not ports.grants.allows(caller, command.command, service):
        return _not_done(forbidden([_no_right(caller, command.command, service)]))
    if isinstance(command, RedriveCommand):
        return _parked(
            redrive(command, fact, caller, store=ports.store, bus=ports.bus, redriver=ports.redriver, grants=ports.grants), fact, ports
        )
    if isinstance(command, DiscardCommand):
        return _parked(discard(command, fact, ports.store), fact, ports)
    if service is None:
        return _on_fleet(fact, ports)
    if isinstance(command, ReconcileCommand):
        created = ports.store.create_command(service, fact)
        _wake(service, fact, ports)
        return Outcome("done", detail="looked at now") if created == "created" else _done_before()
    return _on_service(fact, service, caller, ports)


def _on_service(fact: CommandFact, service: ServiceId, caller: Caller, ports: CommandPorts) -> Outcome:
    command = fact.command
    may_apply = ports.grants.allows(caller, "apply", service)
    wants_state = isinstance(command, RollbackCommand) and command.to_revision is None
    wants_state = wants_state or (isinstance(command, HoldCommand) and command.kind is HoldKind.PIN)
    state = ports.states.read(service).state if wants_state else None
    deleted = ""
    for _ in range(COMMIT_TRIES):
        reading = ports.store.read_spec(service)
        if reading.unreadable is not None:
            return _not_done(_unreadable("the service's document", reading.unreadable))
        setting = Setting(service=service, allowed=ports.allowed, now=ports.clock.now(), may_apply=may_apply)
        verdict = effect(fact, reading.document, setting, state)
        generation = _generation(reading.document)
        if isinstance(verdict, NotDone):
            # What it asked for may be what it did itself when it came first.
            if ports.store.has_command(service, fact.command_id):
                _wake(service, fact, ports)
                _tell(fact, _holds(reading.document), ports, again=True)
                return _done_before(generation)
            return _not_done(verdict, generation, detail=deleted)
        if isinstance(command, DeleteCommand) and command.delete_cloud_run_service is not None and not deleted:
            if ports.store.has_command(service, fact.command_id):
                return _done_before(generation)
            answered = _delete_cloud_run(service, ports)
            if isinstance(answered, NotDone):
                return _not_done(answered, generation)
            deleted = answered
        try:
            outcome = ports.store.commit_spec(service, fact, document=verdict.document, token=reading.token)
        except TokenConflict:
            continue
        _wake(service, fact, ports)
        again = outcome == "duplicate"
        _tell(fact, _holds(reading.document if again else verdict.document), ports, again=again)
        if again:
            return _done_before(generation)
        return Outcome("done", _generation(verdict.document), "; ".join(filter(None, (verdict.detail, deleted))))
    raise Retry(f"{service}: {COMMIT_TRIES} other commands were done meanwhile", after_seconds=CONTENDED_SECONDS)


def _on_fleet(fact: CommandFact, ports: CommandPorts) -> Outcome:
    for _ in range(COMMIT_TRIES):
        reading = ports.store.read_fleet()
        if reading.unreadable is not None:
            return _not_done(_unreadable("the fleet's document", reading.unreadable))
        verdict = fleet_effect(fact, reading.fleet, ports.clock.now())
        if isinstance(verdict, NotDone):
            if ports.store.has_command(None, fact.command_id):
                _tell(fact, _fleet_holds(reading.fleet), ports, again=True)
                return _done_before()
            return _not_done(verdict)
        try:
            outcome = ports.store.commit_fleet(fact, fleet=verdict.fleet, token=reading.token)
        except TokenConflict:
            continue
        again = outcome == "duplicate"
        _tell(fact, _fleet_holds(reading.fleet if again else verdict.fleet), ports, again=again)
        return _done_before() if again else Outcome("done", detail=verdict.detail)
    raise Retry(f"the fleet's document: {COMMIT_TRIES} other commands were done meanwhile", after_seconds=CONTENDED_SECONDS)


def _parked(verdict: str | NotDone, fact: CommandFact, ports: CommandPorts) -> Outcome:
    if isinstance(verdict, str):
        return _done_before() if verdict == "duplicate" else Outcome("done", detail=verdict)
    if verdict.outcome == "refused" and ports.store.has_command(None, fact.command_id):
        return _done_before()
    return _not_done(verdict)


def _delete_cloud_run(service: ServiceId, ports: CommandPorts) -> str | NotDone:
    """Before Trimtab's own documents: if this dies in between, the command comes again and finds the service gone."""
    try:
        ports.deleter().delete_service(service)
    except ServiceMissing:
        return "the Cloud Run service was gone already"
    except Refused as refusal:
        fix = "give Trimtab's service account run.services.delete, or delete the service yourself"
        return refused(Problem("delete_cloud_run_service", str(service), f"Cloud Run refused it: {refusal.message[:300]}", fix))
    return "the Cloud Run service is deleted"


def _wake(service: ServiceId, fact: CommandFact, ports: CommandPorts) -> None:
    """Also for a duplicate: the first one may have died before its wake."""
    ports.bus.publish_wakes([Wake.of(service, f"command {fact.command.command} {fact.command_id}")])


def _tell(fact: CommandFact, holds: tuple[Hold, ...], ports: CommandPorts, *, again: bool) -> None:
    """Also for a duplicate: the first one may have died before it told.

    The command is done, whether this can be told or not: over HTTPS the answer says so. Through Pub/Sub the message comes again, as a
    duplicate, until others were told.
    """
    change = HoldChange.of(fact, holds, author_of(fact), again=again)
    if change is None or ports.events is None:
        return
    event = change.event(fact.published_at or ports.clock.now())
    try:
        ports.events.publish_events([event])
    except Retry as retry:
        if fact.subscription is not None:
            raise
        log.event(
            "WARNING",
            "a hold's change could not be told",
            id=event.id,
            subject=event.subject,
            change=change.change,
            hold_id=change.hold_id,
            reason=retry.reason,
        )


def _holds(document: ServiceDocument | None) -> tuple[Hold, ...]:
    return () if document is None else document.holds


def _fleet_holds(fleet: Fleet) -> tuple[Hold, ...]:
    return () if fleet.hold is None else (fleet.hold,)


def _done_before(generation: int | None = None) -> Outcome:
    return Outcome("duplicate", generation, "a command of this command_id was done before; nothing was done now")


def _generation(document: ServiceDocument | None) -> int | None:
    return None if document is None else document.generation


def _not_done(verdict: NotDone, generation: int | None = None, detail: str = "") -> Outcome:
    return Outcome(verdict.outcome, generation, detail, verdict.problems, verdict.code)


def _unreadable(what: str, error: str) -> NotDone:
    fix = "it was written by newer code, or is damaged: it is never overwritten; deploy the newer code, or mend it"
    return refused(Problem(what, "", f"cannot be read: {error[:300]}", fix), code=ParkCode.UNREADABLE_RECORD)


def _no_right(caller: Caller, command: str, service: ServiceId | None) -> Problem:
    on = "all services and parked events" if service is None else str(service)
    fix = "have TRIMTAB_COMMAND_GRANTS name it, or send it from where the right is"
    return Problem("command", command, f"{caller} has no right to {command} on {on}", fix)
