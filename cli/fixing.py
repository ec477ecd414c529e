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


def fix_file(answer: Answer, text: str, *, aside: bool) -> Answer:
    """Write what is certain into the answer's file, show the difference, and answer anew; the same answer where nothing is certain.

    `aside`: the difference is shown on standard error, because standard output is read by a program.

    Raises:
        OSError: the file cannot be written; it is then as it was.
    """
    found = fixed(answer, text)
    if found is None:
        return answer
    name = plain(answer.name)
    for line in difflib.unified_diff(text.splitlines(), found.text.splitlines(), name, f"{name} (fixed)", lineterm="", n=1):
        colour = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
        shown = plain(line)
        typer.echo(coloured(shown, colour) if colour and not aside else shown, err=aside)
    if answer.name == STANDARD_INPUT:
        typer.echo("- is standard input: nothing is written", err=True)
    else:
        _write(Path(answer.name), found.text)
        typer.echo(f"{name}: written; gone: {', '.join(found.codes)}", err=aside)
    typer.echo(err=aside)
    return found.answer


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a new file takes the old one's place, with its permissions."""
    target = path.resolve()
    handle, made = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(made).chmod(target.stat().st_mode & 0o7777)
        Path(made).replace(target)
    except OSError:
        Path(made).unlink(missing_ok=True)
        raise
