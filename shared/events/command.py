"""A command on the wire becomes a fact, or an answer that names every field that is wrong.

It comes as the data of a Pub/Sub message, as the data of a CloudEvent, or as the body of an HTTPS request. What it says of its author
is kept as a claim.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from shared.errors import Park
from shared.events.envelope import Envelope
from shared.events.lenient import INT64_LIMIT, clean, load_json, shown
from shared.records.commands import COMMANDS, AnyCommand, CommandFact, PatchCommand, service_of
from shared.records.parked import ParkCode
from shared.records.spec_problems import Problem, problems_of
from shared.records.subject import ServiceId

COMMAND_LIMIT_BYTES = 256 * 1_024
"""A command is stored in a document of at most 1 MiB, with its spec in another one."""
DEPTH_LIMIT = 32
PROBLEMS_LIMIT = 50
"""So many problems are told, of a command that has more."""
REASON_LIMIT = 1_000
ID_ATTRIBUTE = "command_id"
"""The attribute of a Pub/Sub message that may carry the command's id."""

_ID_LIMIT = 128


class InvalidCommand(Park):
    """The command can never be done: `problems` name each field that is wrong, its value, and what to do.

    The reason, which is kept with a parked command, has room for the first few of them.
    """

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems[:PROBLEMS_LIMIT])
        named: list[str] = []
        for problem in self.problems:
            text = clean(str(problem), REASON_LIMIT // 2)
            if sum(map(len, named)) + len(text) > REASON_LIMIT - 80:
                break
            named.append(text)
        more = ["and more"] if len(problems) > len(named) else []
        super().__init__(ParkCode.UNPARSABLE, f"command: {' | '.join([*named, *more])}")


@dataclass(frozen=True, slots=True)
class CommandReading:
    """A command as it was written, and what it is known by so far."""

    command: AnyCommand
    command_id: str | None

    @property
    def service(self) -> ServiceId | None:
        """The service that it is about; None where it is about all of them, or about a parked event."""
        return service_of(self.command)


def parse_command(envelope: Envelope) -> CommandFact:
    """The command in an envelope as a fact.

    Its id is the one that it states, else the message's attribute `command_id`, else the message's id. A patch that says neither which
    generation it is for nor when it was issued counts as issued when Pub/Sub took it.

    Raises:
        Park: unparsable (`InvalidCommand`, with every field that is wrong), or too large.
    """
    reading = read_command(envelope.payload(), attributes=envelope.attributes, message_id=envelope.message_id)
    return fact_of(reading, published_at=envelope.published_at, subscription=envelope.subscription)


def fact_of(
    reading: CommandReading,
    *,
    published_at: datetime | None = None,
    subscription: str | None = None,
    verified_author: str | None = None,
) -> CommandFact:
    """The fact that a reading becomes: over HTTPS `verified_author` is the caller, through Pub/Sub `subscription` is known.

    Raises:
        Park: unparsable: nothing gives the command an id.
    """
    if reading.command_id is None:
        fix = "add one of your own, and keep it when you send the command again"
        raise InvalidCommand([Problem("command_id", "", "is not there and is needed where no message carries the command", fix)])
    command = reading.command
    if isinstance(command, PatchCommand) and command.if_generation is None and command.issued_at is None:
        command = command.model_copy(update={"issued_at": published_at})
    return CommandFact(
        command_id=reading.command_id,
        command=command,
        claimed_author=command.author,
        verified_author=verified_author,
        subscription=subscription,
        published_at=published_at,
    )


def read_command(payload: bytes, *, attributes: Mapping[str, str] | None = None, message_id: str | None = None) -> CommandReading:
    """Read a command: the bytes of a message, of a CloudEvent's data, or of an HTTPS request.

    Raises:
        Park: unparsable (`InvalidCommand`, with every field that is wrong), or too large.
    """
    if len(payload) > COMMAND_LIMIT_BYTES:
        raise Park(ParkCode.TOO_LARGE, f"command: {len(payload)} bytes; taken are {COMMAND_LIMIT_BYTES}")
    content = load_json(payload, "command")
    if not isinstance(content, dict):
        raise InvalidCommand([Problem("the command", shown(content), "want a JSON object", f"one of {', '.join(COMMANDS)}")])
    broken = list(islice(_unreadable(content), PROBLEMS_LIMIT + 1))
    if broken:
        raise InvalidCommand(broken)
    name = content.get("command")
    model = COMMANDS.get(name) if isinstance(name, str) else None
    if model is None:
        value = "" if name is None else shown(name)
        wrong = "is not there and is needed" if name is None else "there is no such command"
        raise InvalidCommand([Problem("command", value, wrong, f"one of {', '.join(COMMANDS)}")])
    try:
        command = cast("AnyCommand", model.model_validate(content))
    except ValidationError as error:
        found = problems_of(_first_of(error), model, content)
        raise InvalidCommand([replace(problem, field=_field(problem.field)) for problem in found]) from None
    return CommandReading(command, command.command_id or _message_key(attributes or {}, message_id))


def _message_key(attributes: Mapping[str, str], message_id: str | None) -> str | None:
    """What the message around a command gives it for an id."""
    stated = attributes.get(ID_ATTRIBUTE)
    if stated is not None:
        if not _is_id(stated):
            fix = "send the same one again with a repeat"
            raise InvalidCommand([Problem("attribute command_id", shown(stated), f"want 1 to {_ID_LIMIT} printable characters", fix)])
        return stated
    if message_id is None or _is_id(message_id):
        return message_id
    return f"sha256:{hashlib.sha256(message_id.encode()).hexdigest()}"


def _is_id(text: str) -> bool:
    return 0 < len(text) <= _ID_LIMIT and all("!" <= char <= "~" for char in text)


def _first_of(error: ValidationError) -> ValidationError:
    """The error with hardly more parts than are told: a sender may spoil thousands of fields, and each takes a while to explain."""
    if error.error_count() <= 2 * PROBLEMS_LIMIT:
        return error
    kept = error.errors(include_url=False)[: 2 * PROBLEMS_LIMIT]
    parts = [InitErrorDetails(type=part["type"], loc=part["loc"], input=part["input"], ctx=part.get("ctx", {})) for part in kept]
    return ValidationError.from_exception_data(error.title, parts)


def _field(field: str) -> str:
    return "the command" if field == "the file" else field


def _unreadable(content: dict[str, Any]) -> Iterator[Problem]:
    """What no command can hold, whatever the field: levels without end, numbers and texts that cannot be stored."""
    pending: list[tuple[str, Any, int]] = [("", content, 1)]
    while pending:
        path, value, depth = pending.pop()
        if depth > DEPTH_LIMIT:
            yield Problem(path, f"more than {DEPTH_LIMIT} levels", "no command is nested that deep", "write it flatter")
            return
        if isinstance(value, dict):
            for name, inner in value.items():
                if not _is_text(name):
                    yield Problem(path or "the command", shown(name), "the name has half of a surrogate pair", "write the character itself")
                pending.append((_joined(path, name), inner, depth + 1))
        elif isinstance(value, list):
            pending.extend((_joined(path, str(at)), inner, depth + 1) for at, inner in enumerate(value))
        elif isinstance(value, str) and not _is_text(value):
            yield Problem(path, shown(value), "the text has half of a surrogate pair", "write the character itself")
        elif isinstance(value, float) and not math.isfinite(value):
            yield Problem(path, shown(value), "this is no number that JSON can hold", "write a smaller one, or a text")
        elif isinstance(value, int) and not -INT64_LIMIT <= value < INT64_LIMIT:
            yield Problem(path, shown(value), "the number has more than 64 bits", "write a smaller one, or a text")


def _joined(path: str, part: str) -> str:
    name = shown(part)[1:-1]
    return f"{path}.{name}"[-200:] if path else name


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
