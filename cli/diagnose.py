"""`trimtab diagnose`: from logs, metrics and configuration to causes and remedies. Nothing is changed or sent."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.diagnose.asking import Answer

EXIT_UNREADABLE = 2
MAX_FILES = 200
"""Of one folder."""


class Format(StrEnum):
    """How the answers are written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


def diagnose(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="A bundle of evidence, or a folder with what you have: logs (text, or Cloud Logging as JSON), a page of "
            "TF Serving's metrics, a service document, a command, batching and model files, an alert notification. "
            "Each is its own question; - is standard input.",
        ),
    ],
    *,
    output_format: Annotated[Format, typer.Option("--format", help="jsonl: an object a question.")] = Format.TEXT,
) -> None:
    """Say what is probably wrong, what speaks for and against it, what to do, what not to do, and where to look next.

    Exit status: 0 if every question was answered (an answer may be that nothing is known), 2 if one cannot be read.
    """
    from cli.diagnoses import written
    from cli.findings import Unread
    from shared.lint.recognition import UnreadableError

    answers: list[Answer | Unread] = []
    for name in files:
        try:
            answers.append(_answer(name))
        except UnreadableError as error:
            answers.append(Unread(name, str(error)))
    written(answers, output_format)
    if any(isinstance(each, Unread) for each in answers):
        raise typer.Exit(EXIT_UNREADABLE)


def _answer(name: str) -> "Answer":
    from cli.input import read_text
    from shared.diagnose.asking import ask, ask_folder
    from shared.lint.recognition import UnreadableError

    folder = Path(name)
    if not folder.is_dir():
        return ask(name, read_text(name))
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not any(part.startswith(".") for part in path.parts[-2:]))
    if len(paths) > MAX_FILES:
        raise UnreadableError(f"the folder has {len(paths):,} files; at most {MAX_FILES} are read. Name the one with the evidence")
    texts: list[tuple[str, str]] = []
    unread: list[tuple[str, str]] = []
    for path in paths:
        try:
            texts.append((str(path), read_text(str(path))))
        except UnreadableError as error:
            unread.append((str(path), str(error)))
    return ask_folder(name, texts, unread)
