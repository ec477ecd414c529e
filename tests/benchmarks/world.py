"""The world against what it claims: its speed, an independent slow reference, and the figures of common advice in an earlier simulation."""

import functools
import time
from collections.abc import Iterator

import numpy as np

from shared.simulation.world.world import World
from tests.benchmarks.table import Area, Row, at_most
from tests.benchmarks.world_cells import CELLS, Cell
from tests.benchmarks.world_policies import EARLIER_GOODPUT, EARLIER_USD, LOADS, Figures, figures
from tests.benchmarks.world_reference import reference

LEAST_REQUESTS_PER_S = 1_000_000
MEAN_ERROR, P99_ERROR = 0.01, 0.05
GOODPUT_OFF, GOODPUT_OFF_BY_CHANCE = 0.02, 0.05
COST_OFF, COST_OFF_BY_CHANCE = 0.10, 0.30
FORUM_2_GOODPUT = 0.02
WARM_UP_S, UNTIL_S, SEED = 60.0, 120.0, 3

HOW = (
    "Simulated requests per second of CPU time, arrivals included, in the slowest of the runs below; then the world and a simulation in "
    "SimPy that shares no code with it, on the same arrivals, {cells} cells; then {seeds} seeds of 20 minutes after 7 of warm-up against "
    "the figures of the same settings in an earlier simulation of the same rules. Each row has its largest difference, with its cell."
)


@functools.cache
def policy_figures(model: str, policy: str, load: str, seeds: int) -> tuple[Figures, float]:
    began = time.process_time()
    made = figures(model, policy, load, range(seeds))
    return made, time.process_time() - began


def measure(*, seeds: int = 6) -> Area:
    compared = [_compared(cell) for cell in CELLS]
    rows = [_speed(seeds), *_reference_rows(compared), *_policy_rows(seeds)]
    return Area("The simulated world", HOW.format(cells=len(CELLS), seeds=seeds), tuple(rows))


def _all_figures(seeds: int) -> Iterator[tuple[str, str, str, Figures, float]]:
    for model, policy in EARLIER_GOODPUT:
        for load in LOADS:
            made, seconds = policy_figures(model, policy, load, seeds)
            yield model, policy, load, made, seconds


def _speed(seeds: int) -> Row:
    policy_figures("B", "defaults, gRPC", "steady", 1)  # compiled before the clock runs
    speeds = {f"{model} {policy} {load}": made.requests / seconds for model, policy, load, made, seconds in _all_figures(seeds)}
    slowest = min(speeds, key=lambda name: speeds[name])
    value = speeds[slowest]
    return Row(
        f"requests per second and core, slowest: {slowest}", f"{value:,.0f}", f">= {LEAST_REQUESTS_PER_S:,}", value >= LEAST_REQUESTS_PER_S
    )


def _compared(cell: Cell) -> tuple[str, float, float, float, float]:
    """Relative differences of mean, p99 and batch, and the difference in the share of failures."""
    slow = reference(cell.workload, cell.revision, seed=SEED, warm_up_s=WARM_UP_S, until_s=UNTIL_S)
    world = World(cell.workload, cell.revision, good_ms=50.0, seed=SEED, warm_instances=1)
    world.run_until(UNTIL_S)
    quick = world.result(WARM_UP_S)
    if quick.mean_ms is None or quick.p99_ms is None or quick.mean_batch is None:
        raise ValueError(f"nothing was answered in the cell {cell.name}")
    latencies_ms = np.array(slow.latencies_s) * 1000
    failed = sum(slow.failures.values()) / slow.arrived
    return (
        cell.name,
        abs(quick.mean_ms / float(latencies_ms.mean()) - 1),
        abs(quick.p99_ms / float(np.percentile(latencies_ms, 99)) - 1),
        abs(quick.mean_batch / (slow.rows / slow.batches) - 1),
        abs(sum(quick.errors.values()) - failed),
    )


def _reference_rows(compared: list[tuple[str, float, float, float, float]]) -> Iterator[Row]:
    for place, (what, bound) in enumerate(
        (("mean latency", MEAN_ERROR), ("p99", P99_ERROR), ("mean batch", MEAN_ERROR), ("share of failures", MEAN_ERROR)), start=1
    ):
        worst = max(compared, key=lambda each: float(each[place]))
        yield at_most(f"SimPy, {what}, off by at most ({worst[0]})", float(worst[place]), bound, digits=5)


def _by_chance(model: str, load: str) -> bool:
    """Loads whose own chance moves the figures more than the rules do."""
    return load == "bursty" or (model, load) == ("B", "diurnal")


def _policy_rows(seeds: int) -> Iterator[Row]:
    off: dict[tuple[str, bool], list[tuple[float, str]]] = {}
    costs: dict[bool, list[tuple[float, str]]] = {}
    for model, policy, load, made, _ in _all_figures(seeds):
        place, loose = LOADS.index(load), _by_chance(model, load)
        name = f"{model} {load}: {made.goodput:.3f} for {EARLIER_GOODPUT[model, policy][place]:.3f}"
        off.setdefault((policy, loose), []).append((abs(made.goodput - EARLIER_GOODPUT[model, policy][place]), name))
        if (model, policy) in EARLIER_USD and made.usd is not None:
            earlier = EARLIER_USD[model, policy][place]
            costs.setdefault(loose, []).append((abs(made.usd / earlier - 1), f"{model} {load}: ${made.usd:.3g} for ${earlier:.3g}"))
    for (policy, loose), differences in off.items():
        value, name = max(differences)
        bound = FORUM_2_GOODPUT if policy == "forum 2" else GOODPUT_OFF_BY_CHANCE if loose else GOODPUT_OFF
        yield at_most(f"{policy}, goodput off by at most ({name})", value, bound, digits=3)
    for loose, differences in costs.items():
        value, name = max(differences)
        yield at_most(f"forum 1, REST, cost off by at most ({name})", value, COST_OFF_BY_CHANCE if loose else COST_OFF, digits=3)
