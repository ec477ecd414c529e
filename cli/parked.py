"""`trimtab parked`: what could not be understood, routed or done, newest first.

`--format jsonl` is one object a line with the fields of docs/reference/documents.md: `key`, `code`, `reason`, `source`, `subject`,
`message_id`, `attributes`, `body`, `body_encoding`, `body_bytes`, `body_sha256`, `parked_at`.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.shown import EXIT_UNANSWERED, EXIT_WRONG, one_line, stop

if TYPE_CHECKING:
    from shared.records.parked import Parked

LINE_LIMIT = 4_096


class Format(StrEnum):
    """How the entries are printed."""

    TEXT = "text"
    JSONL = "jsonl"


def parked(
    data: Annotated[
        Path | None, typer.Option(help="The SQLite file of a local edition; without it the Firestore of TRIMTAB_PROJECT.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many of the newest.")] = 50,
    output_format: Annotated[Format, typer.Option("--format", help="One line of text, or one JSON object, per entry.")] = Format.TEXT,
) -> None:
    """List the events that can never work as they are, newest first. trimtab redrive handles one again, trimtab discard drops it.

    Exit code 0: listed. 2: wrong usage. 3: the store did not answer.
    """
    with _answers():
        entries = _of_file(data, limit) if data is not None else _of_project(limit)
    for entry in entries:
        typer.echo(json.dumps(entry.to_stored()) if output_format is Format.JSONL else _line(entry))


def _of_file(data: Path, limit: int) -> "list[Parked]":
    from shared.clock import SystemClock
    from shared.local.sqlite_store import SqliteStore

    if not data.is_file():
        stop(f"--data {one_line(str(data))}: there is no such file", EXIT_WRONG)
    try:
        store = SqliteStore(data, SystemClock())
        try:
            return store.parked(limit=limit)
        finally:
            store.close()
    except (ValueError, OSError, sqlite3.Error) as error:
        stop(f"--data {one_line(str(data))}: {one_line(str(error))}; want the file of trimtab local --data", EXIT_WRONG)


def _of_project(limit: int) -> "list[Parked]":
    from shared import wiring
    from shared.settings import Settings

    try:
        settings = Settings.from_environment()
    except ValueError as error:
        stop(f"{error}; or name a local edition's file with --data", EXIT_WRONG)
    return wiring.command_store(settings).parked(limit=limit)


@contextmanager
def _answers() -> Iterator[None]:
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:  # noqa: BLE001 (Google's clients raise many kinds; each of them says that the store did not answer)
        stop(f"the store did not answer: {type(error).__name__}: {one_line(str(error))}", EXIT_UNANSWERED)


def _line(entry: "Parked") -> str:
    about = f" {entry.subject}" if entry.subject else ""
    return one_line(f"{entry.parked_at:%Y-%m-%dT%H:%M:%SZ} {entry.key} {entry.code}{about}: {entry.reason}", LINE_LIMIT)
