"""`trimtab demo`: an incident from the rise of the load to the measured effect of the repair, in the simulated world."""

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from cli.story import Story
    from shared.simulation.world.results import RunResult

PICTURE = Path("trimtab-demo.svg")
LOWEST_LOAD, HIGHEST_LOAD = 0.1, 3.0


class Row(NamedTuple):
    """A line of the timeline."""

    at_s: float
    who: str
    what: str


def demo(
    *,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of everything that is chance.")] = 1,
    load: Annotated[float, typer.Option(min=LOWEST_LOAD, max=HIGHEST_LOAD, help="Multiplies the rate of requests.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Before, after and every decision as one JSON object.")] = False,
    plot: Annotated[Path | None, typer.Option(help=f"The picture's file, .svg or .png; without --json {PICTURE}.")] = None,
) -> None:
    """A service with the common bad advice, and the load rises: alerts, cause, repair, effect. All figures are simulated."""
    from cli.needs import picture, simulation

    simulation()
    path = plot if plot is not None or as_json else PICTURE
    if path is not None:
        picture(path)
    from cli import story

    told = story.tell(seed=seed, load=load)
    if path is not None:
        _draw(told, path)
    if as_json:
        typer.echo(json.dumps(story.as_json(told), allow_nan=False))
        return
    _show(told, load)
    if path is not None:
        typer.echo(f"\nLatency, instances and traffic over time (simulated): {path}")


def _draw(told: "Story", path: Path) -> None:
    from cli.picture import draw
    from cli.story import OBJECTIVE_MS, changed, changes

    marks = [(each.at_s, ", ".join(changes(each.decision))) for each in told.run.decisions if changed(each.decision)]
    try:
        draw(path, {"with Trimtab": told.run.result}, title="ranker: the load rises", objective_ms=OBJECTIVE_MS, marks=marks)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--plot") from error


def _show(told: "Story", load: float) -> None:
    from cli.story import CALM, OBJECTIVE_MS, RISES_S, RUSH, changed

    console = Console(highlight=False)
    console.print("ranker: TF Serving on one L4 per instance, deployed with --concurrency=60 --max-instances=3, and no batching.")
    console.print(f"Its owner told Trimtab: p99 within {OBJECTIVE_MS:g} ms, at most 3 instances, repair it when its trouble is explained.")
    console.print("Real: the functions, the store, the push bodies, the google-cloud-run client, the decisions.")
    console.print("Simulated: Cloud Run, TF Serving, the traffic, the time, and so every figure.\n")
    rows = [Row(RISES_S, "traffic", f"rises from {CALM * load:,.0f} to {RUSH * load:,.0f} requests/s"), *_alerts(told), *_decisions(told)]
    with console.capture() as captured:
        console.print(_timeline(sorted(rows, key=lambda row: row.at_s)))
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
    typer.echo()
    with console.capture() as captured:
        console.print(_compared(told))
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
    typer.echo("before: from the rise of the load to the first write; after: the last ten minutes.")
    quiet = sum(1 for each in told.run.decisions if not changed(each.decision))
    console.print(
        f"\n{told.run.platform_writes} writes to Cloud Run; {quiet} more decisions changed nothing and say why (--json has them)."
    )


def _alerts(told: "Story") -> list[Row]:
    rows = [Row(each.opened_s, "alert", f"{each.signal} opens") for each in told.run.alerts]
    return rows + [Row(each.closed_s, "alert", f"{each.signal} closes") for each in told.run.alerts if each.closed_s is not None]


def _decisions(told: "Story") -> list[Row]:
    from cli.story import changed, changes, why

    rows = []
    for each in told.run.decisions:
        decision = each.decision
        if not changed(decision):
            continue
        if decision.repair is not None and decision.repair.kind == "ask":
            expected = decision.repair.repair.predicted.text
            rows.append(
                Row(each.at_s, "decision", f"repair, because {why(decision)}: {', '.join(changes(decision))}; expected: {expected}")
            )
        elif decision.repair is not None:
            rows.append(Row(each.at_s, "effect", f"the repair is {decision.repair.repair.phase}: {why(decision)}"))
        elif decision.rollout is not None:
            rows.append(Row(each.at_s, "cloud run", ", ".join(changes(decision))))
        else:
            said = (f"{one.field} from {one.before} to {one.after}, because {one.reason}" for one in decision.changes)
            rows.append(Row(each.at_s, "decision", "; ".join(said)))
    return rows


def _timeline(rows: list[Row]) -> Table:
    from cli.steered import START

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("UTC", style="dim", no_wrap=True)
    table.add_column("who", no_wrap=True)
    table.add_column("what", overflow="fold")
    for row in rows:
        table.add_row(f"{START + timedelta(seconds=row.at_s):%H:%M}", row.who, row.what)
    return table


def _compared(told: "Story") -> Table:
    from cli.story import OBJECTIVE_MS

    spans = (told.before, told.between, told.after)

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("simulated")
    for name in ("before", "meanwhile", "after"):
        table.add_column(name, justify="right")
    rows = {
        f"goodput (answered within {OBJECTIVE_MS:g} ms)": [_percent(each.goodput) for each in spans],
        "p99 of those answered": [_ms(each.p99_ms) for each in spans],
        "errors": [_errors(each) for each in spans],
        "rows of a batch": [_number(each.mean_batch) for each in spans],
        "CPU busy": [_percent(each.cpu_busy) for each in spans],
        "GPU busy": [_percent(each.gpu_busy) for each in spans],
        "instances": [_number(each.mean_instances) for each in spans],
        "$ per million good": [_number(each.usd_per_million_good) for each in spans],
    }
    for name, values in rows.items():
        table.add_row(name, *values)
    return table


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f} ms"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _errors(result: "RunResult") -> str:
    return ", ".join(f"{share:.1%} {cause}" for cause, share in result.errors.items()) or "none"
