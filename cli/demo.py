"""`trimtab demo`: the alert, the decision with its why, the write, the slow way down, on a simulated Cloud Run."""

import json
import logging
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

WHO = {"world": "world", "monitoring": "alert", "decision": "decision", "cloud-run": "cloud run"}


def demo(*, json_lines: Annotated[bool, typer.Option("--json", help="One JSON object per step instead of a table.")] = False) -> None:
    """One service at its cap: a real alert body, the decision and why, one write, the slow way down. All figures are simulated."""
    from cli.story import START, tell
    from shared import log

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with log.silenced():
        steps = list(tell())
    if json_lines:
        for step in steps:
            typer.echo(json.dumps(step._asdict()))
        return
    console = Console(highlight=False)
    console.print("ranker: TF Serving on one L4 per instance.")
    console.print("Real: the functions, the store, the push bodies, the google-cloud-run client.")
    console.print("Simulated: Cloud Run, the traffic, the time.\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("UTC", style="dim", no_wrap=True)
    table.add_column("who", no_wrap=True)
    table.add_column("what", overflow="fold")
    for step in steps:
        table.add_row(f"{START + timedelta(seconds=step.at_seconds):%H:%M}", WHO[step.who], step.what)
    with console.capture() as captured:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
    last = steps[-1].data
    console.print(
        f"{last['cloud_run_writes']} Cloud Run writes in all; max {last['max_instance_count']}, "
        f"{last['simulated_instances']} simulated instances run at the end."
    )
