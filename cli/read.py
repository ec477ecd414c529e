"""`trimtab read`: what would each of these bodies become? Nothing is touched: files are read and a verdict is printed.

A file holds a body as a function would receive it (a Pub/Sub push body, a structured CloudEvent), or what is otherwise inside one (a
Cloud Monitoring notification, an audit log entry, a command), or `{"headers": {...}, "body": ...}` for a request whose headers matter.
The kind is told by content.

One row per file:

* `file`, `kind`: `alert`, `storage`, `audit`, `command`, `pubsub` (a Pub/Sub message with nothing in it that is known) or `unknown`.
* `parked`: why it can never be parsed, or null. What is well formed but about nothing that Trimtab looks after, or has no meaning, is
  not parked here: then `subject` is null or `fields.signal` is, and `fields.problem` says why.
* `key`: what the event would be deduplicated by: of an alert `incident_id:state`, of an upload `bucket/name#generation`, of an audit
  log entry its `insertId`, of a command its `command_id`, of another message its id.
* `subject`: what it is about: a service, `project:region:name`; of an upload the id of the model, whose uri is in `fields.model`; of a
  hold of all services `fleet`.
* `fields`: what could be read, also of a parked body.
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.read_rows import row_of
from shared.errors import Park
from shared.events.kinds import object_in, opened, request_in
from shared.events.lenient import clean

EXIT_UNREADABLE = 2
"""At least one file could not be read at all."""
LINE_LIMIT = 4_096
"""Characters of one line of text output."""


class Format(StrEnum):
    """How the rows are printed."""

    TEXT = "text"
    JSONL = "jsonl"


def read(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Bodies as received, bare notifications, log entries or commands, or {headers, body} objects."
        ),
    ],
    output_format: Annotated[Format, typer.Option("--format", help="One line of text, or one JSON object, per file.")] = Format.TEXT,
) -> None:
    """Say what each event body would become, touching nothing. Exit code 2 if a file cannot be read; a parked body is an answer, too."""
    unreadable = False
    for file in files:
        try:
            raw = file.read_bytes()
        except OSError as error:
            unreadable = True
            typer.echo(f"{clean(str(file), 1_024)}: cannot be read: {error.strerror or type(error).__name__}", err=True)
            continue
        row = {"file": str(file), **read_event(raw)}
        typer.echo(json.dumps(row) if output_format is Format.JSONL else _line(row))
    if unreadable:
        raise typer.Exit(EXIT_UNREADABLE)


def read_event(raw: bytes) -> dict[str, Any]:
    """The row of one body, without its file: `kind`, `parked`, `key`, `subject`, `fields`. Raises nothing, whatever the bytes."""
    content: dict[str, Any] = {}
    try:
        headers, body = request_in(raw)
        content = object_in(body)
        kind, envelope = opened(headers, body)
    except Park as park:
        return {"kind": "pubsub" if "message" in content else "unknown", "parked": str(park), "key": None, "subject": None, "fields": {}}
    return row_of(kind, envelope)


def _line(row: dict[str, Any]) -> str:
    """The row as one line for people."""
    fields = row["fields"]
    if row["parked"]:
        verdict = f"parked: {row['parked']}"
    elif fields.get("test"):
        verdict = "console test notification, ignored"
    else:
        verdict = f"{row['subject'] or 'no subject'}, key {row['key']}"
        verdict += f", signal {fields['signal']}" if fields.get("signal") else ""
        verdict += f"; {fields['problem']}" if fields.get("problem") else ""
    return clean(f"{row['file']}: {row['kind']}: {verdict}", LINE_LIMIT)
