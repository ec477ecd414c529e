"""Trimtab's repair in the simulated world: from the defaults over gRPC, with no hand but its own, beside common advice and AIMD."""

import itertools
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from cli.steered import Steered, steered
from shared.records.service import OwnedField
from tests.benchmarks.cores import on_all_cores
from tests.benchmarks.repair_cells import CELLS, DURATION_S, LAG_S, LAST_S, MAX_INSTANCES, Cell, Outcome, outcome, running, told
from tests.benchmarks.repair_comparators import AIMD_B, AIMD_CONSISTENT, COMPARED, FORUM_GRPC, FORUM_REST, Ended, run
from tests.benchmarks.table import Area, Row

LEAST_MEDIAN, LEAST_WORST, MOST_REVISIONS = 0.95, 0.85, 3
SLOW_SEEDS = 3
SHORT = {FORUM_GRPC: "forum 1 gRPC", FORUM_REST: "forum 1 REST", AIMD_B: "AIMD B", AIMD_CONSISTENT: "AIMD B,C,G"}
HOW = (
    "All figures are simulated. Two models and five loads; each run begins with TF Serving as it comes, over gRPC, at most {most} "
    "instances, and lasts an hour; metrics are a minute old. Trimtab is the real functions around it, told the objective and that it may "
    "replace the template to repair it. Figures are of the last 20 minutes: good answers of all requests, and dollars per million good; "
    "{seeds}. Of the revisions those made in the whole hour count. Forum 1 is left to itself; AIMD is allowed one step in five minutes, "
    "server threads for all requests from its first step on, and instances that are up before the traffic comes."
)


@dataclass(frozen=True)
class Repaired:
    """One run with Trimtab in the loop."""

    cell: Cell
    seed: int
    outcome: Outcome
    over_bounds: bool
    good_from_min: int | None
    """The first of three minutes in a row in which 99 % of the answers were good."""


def repaired(item: tuple[Cell, int]) -> Repaired:
    cell, seed = item
    found = steered(
        running(),
        told(cell),
        cell.times,
        cell.workload,
        good_ms=cell.good_ms,
        seed=seed,
        duration_s=DURATION_S,
        lag_s=LAG_S,
        warm_instances=1,
        over_grpc=False,
    )
    last = found.span(DURATION_S - LAST_S)
    return Repaired(cell, seed, outcome(last, len(found.revisions) - 1), _over_bounds(found), _good_from(found))


def _over_bounds(found: Steered) -> bool:
    """Whether it asked for more instances than the owner allows."""
    changes = [change for each in found.decisions for change in each.decision.changes]
    wanted = [each.after for each in changes if each.field in {OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT}]
    return any(each > MAX_INSTANCES for each in wanted)


def _good_from(found: Steered) -> int | None:
    goods = [minute.goodput is not None and minute.goodput >= 0.99 for minute in found.result.series]
    for minute in range(len(goods) - 2):
        if all(goods[minute : minute + 3]):
            return minute
    return None


def measure(*, slow: bool = False) -> Area:
    seeds = range(SLOW_SEEDS if slow else 1)
    ours = on_all_cores(repaired, list(itertools.product(CELLS, seeds)))
    others = on_all_cores(run, list(itertools.product(CELLS, COMPARED, seeds)))
    said = f"means of {len(seeds)} seeds" if slow else "one seed (`--slow`: three)"
    return Area("Repair in the simulated world", HOW.format(most=MAX_INSTANCES, seeds=said), (*_bounds(ours), *_cells(ours, others)))


def _bounds(ours: list[Repaired]) -> Iterator[Row]:
    by_cell = {cell: statistics.mean(each.outcome.goodput for each in ours if each.cell == cell) for cell in CELLS}
    middle, worst = statistics.median(by_cell.values()), min(ours, key=lambda each: each.outcome.goodput)
    yield Row("good answers, median of the cells", f"{middle:.3f}", f">= {LEAST_MEDIAN}", middle >= LEAST_MEDIAN)
    value = worst.outcome.goodput
    yield Row(f"good answers, worst run ({worst.cell.name}, seed {worst.seed})", f"{value:.3f}", f">= {LEAST_WORST}", value >= LEAST_WORST)
    most = max(ours, key=lambda each: each.outcome.revisions)
    made = most.outcome.revisions
    yield Row(f"revisions, most ({most.cell.name})", str(made), f"<= {MOST_REVISIONS}", made <= MOST_REVISIONS)
    over = sum(each.over_bounds for each in ours)
    yield Row("runs in which it asked for more than its bounds", str(over), "0", over == 0)


def _cells(ours: list[Repaired], others: list[Ended]) -> Iterator[Row]:
    for cell in CELLS:
        own = [each for each in ours if each.cell == cell]
        good = [each.good_from_min for each in own if each.good_from_min is not None]
        after = f", good from minute {max(good)}" if len(good) == len(own) else ""
        beside = [
            f"{SHORT[policy]} {_said([each.outcome for each in others if (each.cell, each.policy) == (cell, policy)])}"
            for policy in COMPARED
        ]
        outcomes = [each.outcome for each in own]
        revisions = f"revisions {max(each.revisions for each in outcomes)}"
        yield Row(cell.name, "; ".join([f"**{_said(outcomes)}**, {revisions}{after}", *beside]))


def _said(outcomes: list[Outcome]) -> str:
    costs = [each.usd for each in outcomes if each.usd is not None]
    cost = f"${statistics.mean(costs):.3g}" if costs else "no good answer"
    return f"{statistics.mean(each.goodput for each in outcomes):.3f} / {cost}"
