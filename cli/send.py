"""`trimtab send`, `trimtab redrive`, `trimtab discard`: events and commands to a function, of the local edition or a deployed one.

Exit code 0: done, done before, or ignored. 1: the function refused or parked it. 2: wrong usage. 3: nobody answered, or not now.
"""

import base64
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.calling import DEFAULT_BASE, SHOWN_CHARACTERS, Told, address, exit_code, post
from cli.shown import EXIT_WRONG, one_line, stop
from shared.errors import Park
from shared.events.kinds import Kind, object_in, opened, request_in

To = Annotated[
    str | None,
    typer.Option("--to", help=f"The function's URL, or host and port of a local edition.  [default: {DEFAULT_BASE}]", show_default=False),
]
Token = Annotated[
    str | None,
    typer.Option(help="An identity token, as gcloud auth print-identity-token prints it; without it one of the environment's credentials."),
]


class Sent(StrEnum):
    """What is sent, and so to which function."""

    ALERT = "alert"
    UPLOAD = "upload"
    COMMAND = "command"
    AUDIT = "audit"


KINDS = {Sent.ALERT: Kind.ALERT, Sent.UPLOAD: Kind.STORAGE, Sent.COMMAND: Kind.COMMAND, Sent.AUDIT: Kind.AUDIT}
NAMES = {kind: sent for sent, kind in KINDS.items()}


def send(
    kind: Annotated[Sent, typer.Argument(help="What the file holds: it goes to the function of that name.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A body as received, a bare event or command, or {headers, body}.")],
    to: To = None,
    token: Token = None,
) -> None:
    """Post an event or a command to a function, as Pub/Sub or a caller would.

    A bare notification, log entry or object is wrapped as Pub/Sub would push it; a command without command_id gets a fresh one. A spec's
    file (.yaml), sent as a command, is applied.

    Exit code 0: done, done before, or ignored. 1: refused or parked. 2: wrong usage. 3: nobody answered, or not now.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        stop(f"{one_line(str(file))}: cannot be read: {error.strerror or type(error).__name__}", EXIT_WRONG)
    url = address(to, kind)
    if kind is Sent.COMMAND and file.suffix in {".yaml", ".yml"}:
        raw = _apply(file)
    headers, body = _as_sent(kind, raw, str(file))
    _end(post(url, headers, body, token=token))


def redrive(
    key: Annotated[str, typer.Argument(help="The parked event's key, as trimtab parked lists it.")], to: To = None, token: Token = None
) -> None:
    """Have a parked event handled again, as if it had just come.

    Exit code 0: done. 1: refused. 2: wrong usage. 3: nobody answered, or not now.
    """
    _give("redrive", key, to, token)


def discard(
    key: Annotated[str, typer.Argument(help="The parked event's key, as trimtab parked lists it.")], to: To = None, token: Token = None
) -> None:
    """Drop a parked event for good.

    Exit code 0: done. 1: refused. 2: wrong usage. 3: nobody answered, or not now.
    """
    _give("discard", key, to, token)


def _give(command: str, key: str, to: str | None, token: str | None) -> None:
    url = address(to, Sent.COMMAND)
    _end(post(url, {}, json.dumps({"command": command, "command_id": _fresh_id(), "key": key}).encode(), token=token))


def _apply(file: Path) -> bytes:
    """The command that applies the spec in the file; ends the command with everything that is wrong with it."""
    from cli.spec_input import spec_of

    found = spec_of(file)
    return json.dumps({"command": "apply", "service": str(found.service), "spec": found.spec.to_stored()}).encode()


def _as_sent(kind: Sent, raw: bytes, file: str) -> tuple[Mapping[str, str], bytes]:
    """Headers and body of the request. Only headers that say what the body is are sent on."""
    try:
        headers, body = request_in(raw)
        found, envelope = opened(headers, body)
    except Park:
        return {}, raw  # what cannot be read is for the function to park
    if found in NAMES and found is not KINDS[kind]:
        stop(f"{one_line(file)}: holds an event of kind {NAMES[found]}: trimtab send {NAMES[found]} FILE", EXIT_WRONG)
    telling = {name: value for name, value in headers.items() if name.lower() == "content-type" or name.lower().startswith("ce-")}
    if envelope.message_id is not None or envelope.data != body:
        return telling, body
    content = object_in(body)
    if kind is not Sent.COMMAND:
        return {}, _pushed(kind, body, content)
    return {}, body if content.get("command_id") is not None else json.dumps({**content, "command_id": _fresh_id()}).encode()


def _pushed(kind: Sent, data: bytes, content: Mapping[str, Any]) -> bytes:
    """The body that Pub/Sub pushes for a message with this data; of an object with the attributes of its notification."""
    attributes: dict[str, str] = {}
    if kind is Sent.UPLOAD:
        told = {"bucketId": "bucket", "objectId": "name", "objectGeneration": "generation"}
        attributes = {"eventType": "OBJECT_FINALIZE", "payloadFormat": "JSON_API_V1"}
        attributes |= {name: str(content[field]) for name, field in told.items() if field in content}
    message = {
        "data": base64.b64encode(data).decode(),
        "attributes": attributes,
        "messageId": _fresh_id(),
        "publishTime": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    return json.dumps({"message": message, "subscription": f"projects/local/subscriptions/{kind}"}).encode()


def _fresh_id() -> str:
    return f"cli-{uuid.uuid4().hex}"


def _end(told: Told) -> None:
    text = told.text.strip()
    try:
        content = json.loads(text)
    except ValueError:
        typer.echo(one_line(text or f"HTTP {told.status}", SHOWN_CHARACTERS))
    else:
        typer.echo(json.dumps(content, ensure_ascii=True, indent=2))
    raise typer.Exit(exit_code(told))
