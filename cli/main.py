"""The commands of `trimtab`."""

import typer

from cli.demo import demo
from cli.local import local
from cli.read import read

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
    help="Trimtab steers TensorFlow Serving on Cloud Run GPUs: it hears alerts, decides, writes, and explains every decision.",
)
app.command()(demo)
app.command()(local)
app.command()(read)
