"""The search for the best static settings against what an earlier, longer search found for the same ten loads."""

import statistics
import time
from dataclasses import dataclass

from shared.simulation.oracle import Oracle, Task, search
from shared.simulation.world.settings import CloudRunSettings, Revision, ServerSettings
from tests.benchmarks.table import Area, Row
from tests.benchmarks.world_policies import LOADS, MEASURED_S, MODELS, WARM_INSTANCES, WARM_UP_S, load

EARLIER = {
    "A": ((1.0, 0.145), (1.0, 0.270), (1.0, 0.150), (1.0, 0.258), (1.0, 0.272)),
    "B": ((1.0, 0.581), (1.0, 1.71), (0.999, 0.743), (1.0, 1.55), (0.993, 1.10)),
}
"""Goodput and dollars per million good answers, in the order of the loads: means of six seeds that the search had not seen."""
DEARER, GOODPUT_LOWER = 1.05, 0.01

HOW = (
    "Settings searched for each load on three seeds of the search's own (`trimtab simulate --oracle` does the same), then six other seeds "
    "of 20 minutes after 7 of warm-up. The bounds are the figures of an earlier search of 184 to 240 settings a load: at most "
    "{dearer:.0%} of its cost, at a goodput at most {lower} below its own. The search took {seconds:,.0f} s of CPU time for all."
)


@dataclass(frozen=True)
class Found:
    """What the search found for one load, and what that came to on other seeds."""

    oracle: Oracle
    goodput: float
    usd: float
    seconds: float


def task(model: str, load_name: str) -> Task:
    """One load, on one L4 for each instance and at most twenty of them."""
    times, good_ms, mean = MODELS[model]
    base = Revision(times, ServerSettings(), CloudRunSettings())
    return Task(load(load_name, mean), base, good_ms, warm_up_s=WARM_UP_S, duration_s=MEASURED_S, warm_instances=WARM_INSTANCES)


def found(model: str, load_name: str, *, seeds: int) -> Found:
    """Search, then run on seeds that the search does not know."""
    began = time.process_time()
    sought = task(model, load_name)
    oracle = search(sought)
    seconds = time.process_time() - began
    results = []
    for seed in range(seeds):
        world = sought.world(oracle.knobs, seed)
        world.run_until(WARM_UP_S + MEASURED_S)
        results.append(world.result(WARM_UP_S))
    costs = [each.usd_per_million_good for each in results if each.usd_per_million_good is not None]
    return Found(oracle, statistics.mean(each.goodput or 0.0 for each in results), statistics.mean(costs), seconds)


def measure(*, seeds: int = 6) -> Area:
    """All ten loads."""
    rows: list[Row] = []
    seconds = 0.0
    for model, earlier in EARLIER.items():
        for load_name, (goodput, usd) in zip(LOADS, earlier, strict=True):
            made = found(model, load_name, seeds=seeds)
            seconds += made.seconds
            rows.append(_row(f"{model} {load_name}", made, goodput, usd))
    return Area("The oracle (simulated)", HOW.format(dearer=DEARER, lower=GOODPUT_LOWER, seconds=seconds), tuple(rows))


def _row(name: str, made: Found, goodput: float, usd: float) -> Row:
    knobs = made.oracle.knobs
    settings = (
        f"B {knobs.batch_rows}, N {knobs.batch_threads}, C {knobs.concurrency}, targets {knobs.concurrency_target:.2f} and "
        f"{knobs.cpu_target:.2f}, {knobs.min_instances} to {knobs.max_instances} instances"
    )
    least, most = goodput - GOODPUT_LOWER, DEARER * usd
    return Row(
        f"{name}: {settings}",
        f"{made.goodput:.4f} good, ${made.usd:.3f}",
        f">= {least:.3f}, <= ${most:.3f}",
        made.goodput >= least and made.usd <= most,
    )
