"""The commands of `trimtab`."""

from importlib.metadata import version
from typing import Annotated

import typer

from cli.adopt import adopt
from cli.demo import demo
from cli.local import local
from cli.parked import parked
from cli.plan import plan
from cli.read import read
from cli.render import render
from cli.send import discard, redrive, send

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"trimtab {version('trimtab')}")
        raise typer.Exit


@app.callback()
def main(
    *,
    show_version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Trimtab steers TensorFlow Serving on Cloud Run GPUs: it hears alerts, decides, writes, and explains every decision."""


app.command()(demo)
app.command()(local)
app.command()(read)
app.command()(render)
app.command()(plan)
app.command()(adopt)
app.command()(parked)
app.command()(send)
app.command()(redrive)
app.command()(discard)
