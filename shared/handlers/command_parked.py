"""Parked events: handled again, or dropped for good.

Handled again means published to the topic of the function that parked it, as the message that it was. It is deleted from where it was
parked only after that, so that nothing is lost in between; a repeat is what every function is made for.
"""

import base64

from shared.control.command_verdict import NotDone, forbidden, refused
from shared.control.commands import may_need_apply
from shared.errors import Park
from shared.events.command import read_command
from shared.events.envelope import open_envelope
from shared.ports import Bus, CommandStore, Redriver
from shared.records.commands import CommandFact, DiscardCommand, PatchCommand, RedriveCommand, service_of
from shared.records.parked import BODY_LIMIT_BYTES, ParkCode, Parked
from shared.records.refusal import shown
from shared.records.rights import Caller, Grants
from shared.records.spec_problems import Problem
from shared.records.subject import ServiceId, Wake

RECONCILE, COMMAND = "reconcile", "command"
_LOOKED_AT = "unreadable:"
"""How the keys of documents begin that reconcile could not read."""


def redrive(
    command: RedriveCommand,
    fact: CommandFact,
    caller: Caller,
    *,
    store: CommandStore,
    bus: Bus,
    redriver: Redriver,
    grants: Grants,
) -> str | NotDone:
    """Hand a parked event back to its function: "duplicate", what was done, or why not.

    Raises:
        Retry: the store or the bus could not be reached.
    """
    parked = store.read_parked(command.key)
    if parked is None:
        return refused(_no_such_event(command.key))
    if parked.source == RECONCILE and parked.subject is not None:
        answer = _looked_at_again(parked, ServiceId.parse(parked.subject), store, bus)
        if answer is not None:
            return answer
    else:
        message = message_of(parked)
        if isinstance(message, NotDone):
            return message
        denied = _not_theirs(parked, message[0], caller, grants)
        if denied is not None:
            return denied
        try:
            redriver.republish(parked.source, *message)
        except ValueError as error:
            return refused(Problem("key", command.key, f"it came from {parked.source}: {error}", "discard it"))
    done = store.discard_parked(fact, key=command.key)
    return "duplicate" if done == "duplicate" else f"given to {parked.source} again"


def discard(command: DiscardCommand, fact: CommandFact, store: CommandStore) -> str | NotDone:
    """Drop a parked event: "duplicate", what was done, or why not.

    Raises:
        Retry: the store could not be reached.
    """
    if store.read_parked(command.key) is None:
        return refused(_no_such_event(command.key))
    return "duplicate" if store.discard_parked(fact, key=command.key) == "duplicate" else "dropped"


def message_of(parked: Parked) -> tuple[bytes, dict[str, str]] | NotDone:
    """The message that a parked event was: its data and attributes, taken out of what Pub/Sub or Eventarc had put around it."""
    if parked.body_bytes > BODY_LIMIT_BYTES:
        text = f"its body had {parked.body_bytes} bytes, and only {BODY_LIMIT_BYTES} are kept of what is parked"
        return refused(Problem("key", parked.key, text, "send the event itself again, then discard this"))
    body = base64.b64decode(parked.body) if parked.body_encoding == "base64" else parked.body.encode()
    if not body and parked.code == ParkCode.TOO_LARGE:
        return refused(Problem("key", parked.key, "nothing was kept of its body", "send the event itself again, then discard this"))
    data, attributes = body, dict(parked.attributes)
    try:
        envelope = open_envelope({}, body)
        if envelope.fault is None:
            data, attributes = envelope.data, dict(envelope.attributes)
    except Park:
        pass  # it came without an envelope, or with a spoilt one: as the message's data it is parked again, and nothing is lost
    if not data and not attributes:
        return refused(Problem("key", parked.key, "it holds neither data nor attributes, and Pub/Sub takes no such message", "discard it"))
    return data, attributes


def _not_theirs(parked: Parked, data: bytes, caller: Caller, grants: Grants) -> NotDone | None:
    """A parked command must not gain rights on its way back: whoever has it done again must have the right to give it."""
    if parked.source != COMMAND:
        return None
    try:
        inner = read_command(data).command
    except Park:
        return None  # it will be parked again, whoever sends it
    service = service_of(inner)
    on = "all services and parked events" if service is None else str(service)
    if not grants.allows(caller, inner.command, service):
        text = f"it is a command to {inner.command}, and {caller} has no right to that on {on}"
    elif isinstance(inner, PatchCommand) and may_need_apply(inner.patch) and not grants.allows(caller, "apply", service):
        # Without a look at the spec: it may be another one when the command comes back.
        text = f"it is a patch of the autonomy or of serving, which takes the right to apply, and {caller} has none on {on}"
    else:
        return None
    return forbidden([Problem("key", parked.key, text, "have somebody redrive it who may give that command")])


def _looked_at_again(parked: Parked, service: ServiceId, store: CommandStore, bus: Bus) -> NotDone | None:
    """What reconcile itself parked was no message: its service is looked at again, where that can help.

    An alert that came before there was a spec is folded by the first look that finds one; a fact that could not be read is behind the
    cursor for good.
    """
    if parked.code is ParkCode.NO_SPEC and store.read_spec(service).document is None:
        fix = "apply one, and the alert is taken up; or discard this"
        return refused(Problem("key", parked.key, f"there still is no spec of {service}", fix), code=ParkCode.NO_SPEC)
    if parked.code is ParkCode.NO_SPEC or parked.key.startswith(_LOOKED_AT):
        bus.publish_wakes([Wake.of(service, f"redrive {parked.key}")])
        return None
    text = "reconcile has passed over this fact, and facts are folded once"
    fix = "an incident that lasts is reported again by its policy's next notification; discard this"
    return refused(Problem("key", parked.key, text, fix))


def _no_such_event(key: str) -> Problem:
    return Problem("key", shown(key), "no event is parked under this key", "trimtab parked lists them")
