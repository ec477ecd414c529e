"""The world against what it claims: its speed, an independent slow reference, and the figures of common advice in an earlier simulation."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shared.simulation.world.world import World
from tests.benchmarks.cores import on_all_cores
from tests.benchmarks.table import Area, Row, at_most
from tests.benchmarks.world_cells import CELLS, Cell
from tests.benchmarks.world_policies import EARLIER_GOODPUT, EARLIER_USD, LOADS, Figures, figures
from tests.benchmarks.world_reference import reference

LEAST_REQUESTS_PER_S = 1_000_000
MEAN_ERROR, P99_ERROR = 0.01, 0.05
GOODPUT_OFF, GOODPUT_OFF_BY_CHANCE = 0.02, 0.05
COST_OFF, COST_OFF_BY_CHANCE = 0.10, 0.30
FORUM_2_GOODPUT = 0.02
SEEDS = 6
WARM_UP_S, UNTIL_S, SEED = 60.0, 120.0, 3

HOW = (
    "All figures are simulated. Requests per second of CPU time, arrivals included, in the slowest of the cells below; then the world and "
    "a simulation in SimPy that shares no code with it, on the same arrivals, {cells} cells; then {seeds} seeds of 20 minutes after 7 of "
    "warm-up against the figures of the same settings in an earlier simulation of the same rules. Each row with a bound has its largest "
    "difference, with its cell; bursts, and the daily wave of model B, whose own chance moves them most, have wider bounds."
)


@dataclass(frozen=True)
class Fixed:
    """One policy under one load, and the CPU seconds of its runs."""

    model: str
    policy: str
    load: str
    made: Figures
    seconds: float

    @property
    def earlier_goodput(self) -> float:
        return EARLIER_GOODPUT[self.model, self.policy][LOADS.index(self.load)]

    @property
    def earlier_usd(self) -> float | None:
        costs = EARLIER_USD.get((self.model, self.policy))
        return None if costs is None else costs[LOADS.index(self.load)]

    @property
    def by_chance(self) -> bool:
        """Whether the load's own chance moves the figures more than the rules do."""
        return self.load == "bursty" or (self.model, self.load) == ("B", "diurnal")


def fixed(item: tuple[str, str, str, int]) -> Fixed:
    model, policy, load, seeds = item
    began = time.process_time()
    made = figures(model, policy, load, range(seeds))
    return Fixed(model, policy, load, made, time.process_time() - began)


def measure() -> Area:
    compared = on_all_cores(compare, CELLS)
    items = [(model, policy, load, SEEDS) for (model, policy), load in itertools.product(EARLIER_GOODPUT, LOADS)]
    policies = on_all_cores(fixed, items)
    rows = [_speed(policies), *_reference_rows(compared), *_policy_rows(policies), *_cost_rows(policies)]
    return Area("The simulated world", HOW.format(cells=len(CELLS), seeds=SEEDS), tuple(rows))


def _speed(policies: list[Fixed]) -> Row:
    slowest = min(policies, key=lambda each: each.made.requests / each.seconds)
    value = slowest.made.requests / slowest.seconds
    name = f"{slowest.model} {slowest.policy} {slowest.load}"
    return Row(
        f"requests per second and core, slowest: {name}", f"{value:,.0f}", f">= {LEAST_REQUESTS_PER_S:,}", value >= LEAST_REQUESTS_PER_S
    )


def compare(cell: Cell) -> tuple[str, float, float, float, float]:
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


def _policy_rows(policies: list[Fixed]) -> Iterator[Row]:
    groups: dict[tuple[str, bool], list[Fixed]] = {}
    for each in policies:
        groups.setdefault((each.policy, each.by_chance), []).append(each)
    for (policy, by_chance), group in groups.items():
        usual = GOODPUT_OFF_BY_CHANCE if by_chance else GOODPUT_OFF
        bound = FORUM_2_GOODPUT if policy == "forum 2" else usual
        worst = max(group, key=_goodput_off)
        name = f"{worst.model} {worst.load}: {worst.made.goodput:.3f} for {worst.earlier_goodput:.3f}"
        yield at_most(f"{policy}, goodput off by at most ({name})", _goodput_off(worst), bound, digits=3)


def _goodput_off(each: Fixed) -> float:
    return abs(each.made.goodput - each.earlier_goodput)


def _cost_off(each: Fixed) -> float:
    if each.made.usd is None or each.earlier_usd is None:
        raise ValueError(f"{each.model} {each.policy} {each.load} has no cost to compare")
    return each.made.usd / each.earlier_usd - 1


def _cost_rows(policies: list[Fixed]) -> Iterator[Row]:
    for each in policies:
        if each.earlier_usd is None:
            continue
        bound, value = COST_OFF_BY_CHANCE if each.by_chance else COST_OFF, _cost_off(each)
        name = f"{each.policy}, {each.model} {each.load}, dollars per million good ({each.made.usd:.3g} for {each.earlier_usd:.3g})"
        yield Row(name, f"{100 * value:+.1f} %", f"within {100 * bound:.0f} %", abs(value) <= bound)
