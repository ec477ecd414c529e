"""`trimtab simulate`: settings under a workload, in the simulated world. Nothing is deployed, and every figure is simulated.

`--json` is one object. Of one run: `goodput` (answered within the objective, of all that was asked), `p50_ms`, `p95_ms`, `p99_ms`,
`errors` (cause to the share of tries that failed by it), `mean_batch` (rows), `gpu_busy`, `cpu_busy`, `mean_instances` (billed),
`usd_per_million_good`, `revisions`, and all of these once more for the last 20 minutes as `last_20_min`. Where more is asked for, the
runs by name: `static`, `steered`, `oracle`, and with --compare `compare`, in which each of the settings has its name. null: there is
nothing to say it of. The same scenario gives the same bytes. What else is to be said, as the oracle's settings, is on standard error.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.shown import one_line, stop

if TYPE_CHECKING:
    from cli.simulating import Ran
    from shared.simulation.scenario import Scenario, ServiceSettings

STATIC, STEERED, ORACLE, COMPARE = "static", "steered", "oracle", "compare"


def simulate(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO [OTHER...]",
            help="The scenario's YAML or JSON file, - for standard input; docs/examples/scenario.yaml is one. With --compare, others "
            "behind it: their service is simulated under the first one's workload.",
        ),
    ],
    *,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also the settings under `compare` in the scenario, and those of other files, in one table.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw latency, instances and traffic over time: a .png or an .svg.")
    ] = None,
    steered: Annotated[
        bool, typer.Option("--steered", help="Also with Trimtab in the loop: alerts, decisions and writes from the first minute on.")
    ] = False,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Also search the best settings for the workload, as if it were known beforehand: minutes.")
    ] = False,
) -> None:
    """Say what settings come to under a workload: good answers, latency, failures by cause, batches, GPU, CPU, instances, dollars.

    The service is Trimtab's spec, or a gcloud command with its batching file; nothing is deployed, and every figure is simulated.

    Exit code 0: simulated, also where the answer is that no server comes up. 2: something given cannot be read, or is not known.
    """
    from cli.needs import picture, simulation
    from cli.simulation_input import need, scenario_of, settings_of

    simulation()
    if plot is not None:
        picture(plot)
    for name in scenarios:
        need(name)
    if len(scenarios) > 1 and not compare:
        stop(f"{one_line(scenarios[1])}: one scenario is simulated; to compare others with it, add --compare")
    scenario = scenario_of(scenarios[0])
    settings: dict[str, ServiceSettings] = dict(scenario.compare) if compare else {}
    for name in scenarios[1:]:
        settings[_free_name(Path(name).stem, settings)] = settings_of(name)
    if not settings and compare:
        stop(f"{scenarios[0]}: --compare: nothing to compare with: write settings by name under compare, or name other files")
    static, compared, others = _simulated(scenario, settings, steered=steered, oracle=oracle)
    runs = [static, *compared, *others]
    if plot is not None:
        _draw(plot, runs, scenario, scenarios[0])
    if json_output:
        from cli.simulated import written_json

        for line in (f"{each.name}: {note}" for each in runs for note in each.notes):
            typer.echo(line, err=True)
        written_json(_document(static, compared, others, compare=compare))
        return
    _print(scenarios[0], scenario, runs)


def _free_name(name: str, taken: "dict[str, ServiceSettings]") -> str:
    plain = one_line(name, 30) or "other"
    number = 2
    found = plain
    while found in taken or found in {STATIC, STEERED, ORACLE}:
        found = f"{plain} {number}"
        number += 1
    return found


def _simulated(
    scenario: "Scenario", settings: "dict[str, ServiceSettings]", *, steered: bool, oracle: bool
) -> "tuple[Ran, list[Ran], list[Ran]]":
    from cli.simulating import prepared, run, run_oracle

    first = prepared(STATIC, scenario, scenario.service)
    compared = [prepared(name, scenario, each) for name, each in settings.items()]
    if first.revision is None and (steered or oracle):
        stop(f"no server comes up with the scenario's own settings, so only they can be told: {first.stops[0]}")
    others = []
    if steered:
        from cli.simulating_steered import run_steered

        others.append(run_steered(STEERED, scenario, scenario.service, first))
    if oracle and first.revision is not None:
        others.append(run_oracle(ORACLE, scenario, first, first.revision, progress=lambda line: typer.echo(f"{ORACLE}: {line}", err=True)))
    return run(scenario, first), [run(scenario, each) for each in compared], others


def _document(static: "Ran", compared: "list[Ran]", others: "list[Ran]", *, compare: bool) -> dict[str, Any]:
    if not compare and not others:
        return static.figures
    document: dict[str, Any] = {STATIC: static.figures, **{each.name: each.figures for each in others}}
    return document | ({COMPARE: {each.name: each.figures for each in compared}} if compare else {})


def _draw(plot: Path, runs: "list[Ran]", scenario: "Scenario", name: str) -> None:
    from cli.picture import draw

    results = {each.name: each.result for each in runs if each.result is not None}
    if not results:
        stop(f"--plot {plot}: nothing was simulated, so there is nothing to draw")
    marks = [mark for each in runs for mark in each.marks if mark[0] >= scenario.warm_up_s]
    title = f"{one_line(Path(name).name, 60)}: {scenario.workload.kind} load"
    try:
        draw(plot, results, title=title, objective_ms=scenario.good_ms, marks=marks, zero_s=scenario.warm_up_s)
    except OSError as error:
        stop(f"--plot {plot}: cannot be written: {error.strerror or error}")


def _print(name: str, scenario: "Scenario", runs: "list[Ran]") -> None:
    from cli.simulated import table
    from shared.simulation.scenario_world import model_times

    minutes, before = scenario.duration_s // 60, scenario.warm_up_s // 60
    how = f"{scenario.workload.kind} load, {minutes} simulated minutes after {before} of warm-up, seed {scenario.seed}"
    typer.echo(f"{one_line(name)}: {how}\n")
    budget = scenario.objective.usd_per_hour if scenario.objective is not None else None
    for line in table(runs, good_ms=scenario.good_ms, budget=budget, batch_time=model_times(scenario.model).batch_time):
        typer.echo(line)
