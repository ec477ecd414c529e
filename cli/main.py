"""The commands of `trimtab`. A command's module is imported when the command is asked for, so that each starts as fast as it can."""

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command as command_of

COMMANDS = (
    *("demo", "local", "lint", "diagnose", "explain", "simulate", "read"),
    *("render", "plan", "adopt", "parked", "send", "redrive", "discard"),
    *("doctor", "init"),
)
"""In the order of the help; each is a function of its name in the module of its name, `cli.send` has three."""
_MODULES = {"redrive": "send", "discard": "send"}


class Commands(TyperGroup):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the base class's signature)
        """All of them, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (the base class's signature)
        """The command; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"cli.{_MODULES.get(cmd_name, cmd_name)}")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name)(getattr(module, cmd_name))
        return command_of(alone)


app = typer.Typer(
    cls=Commands,
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
