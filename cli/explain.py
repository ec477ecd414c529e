"""`trimtab explain`: what a lint code, a cause or a remedy means, or the list of all of them."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cli.explaining import Known


class Format(StrEnum):
    """How it is printed."""

    TEXT = "text"
    JSON = "json"


def explain(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A lint code, a cause or a remedy; without it all are listed.")
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="Text as wide as the terminal, or one JSON object.")] = Format.TEXT,
) -> None:
    """Say what a lint code, a cause or a remedy means: when it is reported, why, what mends it, and where the rule comes from.

    Exit code 0: explained or listed. 2: there is no such name; the nearest ones are named.
    """
    import json

    from cli import explaining

    known = explaining.everything()
    if output_format is Format.JSON:
        typer.echo(json.dumps(known.as_json() if name is None else _found(known, name).as_json(), indent=2, ensure_ascii=False))
        return
    lines = known.listed(_page()) if name is None else _found(known, name).lines(_page())
    for line in lines:
        typer.echo(line)


def _found(known: "Known", name: str) -> Any:
    from cli.shown import one_line, stop

    found = known.find(name)
    if found is None:
        near = known.nearest(name)
        rest = f" Near: {', '.join(near)}." if near else ""
        stop(f"{one_line(name, 80)}: no lint code, cause or remedy has this name.{rest} `trimtab explain` lists all.")
    return found


def _page() -> Any:
    import os
    import shutil
    import sys

    from cli.explaining import Page

    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Page(shutil.get_terminal_size((80, 24)).columns, coloured=coloured)
