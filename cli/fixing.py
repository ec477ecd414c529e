"""`trimtab lint --fix`: what is certain is written into the files, and shown."""

import difflib
import os
import tempfile
from pathlib import Path

import typer

from cli.findings import coloured, plain
from cli.input import STANDARD_INPUT
from shared.lint.asking import Answer
from shared.lint.fixing import fixed


class NotWrittenError(Exception):
    """The file cannot be written, and why."""


def fix_file(answer: Answer, text: str, *, aside: bool) -> Answer:
    """Write what is certain into the answer's file, show the difference, and answer anew; the same answer where nothing is certain.

    `aside`: the difference is shown on standard error, because standard output is read by a program.

    Raises:
        NotWrittenError: the file cannot be written; it is then as it was.
    """
    found = fixed(answer, text)
    if found is None:
        return answer
    name = plain(answer.name)
    is_file = answer.name != STANDARD_INPUT
    if is_file:
        _write(Path(answer.name), found.text)
    for line in difflib.unified_diff(text.splitlines(), found.text.splitlines(), name, f"{name} (fixed)", lineterm="", n=1):
        colour = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
        shown = plain(line)
        typer.echo(coloured(shown, colour) if colour and not aside else shown, err=aside)
    if is_file:
        typer.echo(f"{name}: written; gone: {', '.join(found.codes)}", err=aside)
    else:
        typer.echo("- is standard input: nothing is written", err=True)
    typer.echo(err=aside)
    return found.answer


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a new file takes the old one's place, with its permissions."""
    target = path.resolve()
    try:
        handle, made = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise NotWrittenError(error.strerror or str(error)) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(made).chmod(target.stat().st_mode & 0o7777)
        Path(made).replace(target)
    except OSError as error:
        Path(made).unlink(missing_ok=True)
        raise NotWrittenError(error.strerror or str(error)) from None
