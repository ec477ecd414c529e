"""The capacity model: evaluations a second, and its formulas and the exact chain against one instance of the simulated world.

`python -m tests.benchmarks.capacity` prints the table.
"""

import itertools
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Steady, Workload
from shared.simulation.world.world import simulate
from shared.tfserving.capacity.carried import carried
from shared.tfserving.capacity.chain import one_thread
from shared.tfserving.capacity.concurrency import Admission, concurrency_to_fill, slo_concurrency
from shared.tfserving.capacity.fleet import concurrency_target, instances_needed, planned_rows_per_second
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.inverses import max_batch_rows_within
from shared.tfserving.capacity.latency import mean_ms, p50_ms, p99_ms
from shared.tfserving.capacity.queueing import enqueued_batches_never_full
from tests.benchmarks.capacity_reference import large_model, small_model
from tests.benchmarks.cores import on_all_cores
from tests.benchmarks.table import Area, Row, at_most

MODELS: dict[str, tuple[Callable[..., Instance], float, float]] = {
    "small": (small_model, 50.0, 4_000.0),
    "large": (large_model, 150.0, 1_000.0),
}
"""A builder, the objective in milliseconds, rows per second in all."""
THREADS = (1, 2, 3, 4)
BATCHES = (16, 32, 64)
LOADS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.92)
CANDIDATE_BATCHES = (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128)
REQUESTS = 300_000
WARM_UP_S = 60.0
HEAVY_LOAD = 0.85
"""Above it the model says less, and no bound is kept."""
LARGEST_P99_ERROR = 0.05
HOW = (
    "Evaluations a second are the best of {rounds} rounds on one core. A plan looks at {candidates} settings (batch threads 1 and 2), "
    "takes the one that may be given most and works out concurrency, queue, target and instances. Errors are against the simulated world "
    "with one instance, {requests:,} requests or more in each of {cells} settings: two models, 1-4 threads, batches of 16-64, loads of "
    "0.2-0.92."
)


def plan(model: Callable[..., Instance], slo_ms: float, rows_per_second: float) -> tuple[Instance, int, int | None, float, int | None]:
    """The settings that carry most on one instance, and what follows from them."""
    candidates = [model(batch_rows=rows, threads=threads) for rows, threads in itertools.product(CANDIDATE_BATCHES, (1, 2))]
    rates = [planned_rows_per_second(candidate, slo_ms=slo_ms, cpu_target=0.9) for candidate in candidates]
    best = max(range(len(candidates)), key=rates.__getitem__)
    instance, rate = candidates[best], rates[best]
    concurrency = min(concurrency_to_fill(instance), slo_concurrency(instance, slo_ms))
    return (
        instance,
        concurrency,
        enqueued_batches_never_full(max_batch_rows=instance.max_batch_rows, requests=concurrency),
        concurrency_target(instance, concurrency=concurrency, rows_per_second=rate / 1.1),
        instances_needed(rows_per_second, planned_rows_per_second=rate, headroom=1.1),
    )


def measure(*, rounds: int = 5) -> Area:
    cells = [Cell(*each) for each in itertools.product(MODELS, THREADS, BATCHES, LOADS)]
    return Area(
        title="Capacity model",
        how=HOW.format(rounds=rounds, candidates=2 * len(CANDIDATE_BATCHES), requests=REQUESTS, cells=len(cells)),
        rows=(*_speeds(rounds), *_errors(cells)),
    )


def _speeds(rounds: int) -> list[Row]:
    instance = small_model(batch_rows=56, threads=2)
    admission = Admission(concurrency=98, server_threads=106)
    measured: list[tuple[str, Callable[[], object], int]] = [
        ("mean batch of a rate", lambda: instance.mean_batch_rows(2_000.0), 20_000),
        ("99th percentile of a rate", lambda: p99_ms(instance, 2_000.0), 20_000),
        ("carried, and by which limit", lambda: carried(instance, admission), 20_000),
        ("largest batch within a budget", lambda: max_batch_rows_within(instance, 45.0), 20_000),
        ("largest rate within a budget (search)", lambda: planned_rows_per_second(instance, slo_ms=50.0, cpu_target=0.9), 2_000),
        (
            "largest rate within a budget (closed)",
            lambda: planned_rows_per_second(small_model(batch_rows=16, threads=2), slo_ms=50.0, cpu_target=0.9),
            2_000,
        ),
        ("a whole plan", lambda: plan(small_model, 50.0, 4_000.0), 50),
        ("chain, batches of 32, load 0.8", lambda: one_thread(instance.batch_time, max_batch_rows=32, rows_per_second=2_133.0), 2),
    ]
    rows = []
    for name, evaluate, times in measured:
        seconds = min(_seconds(evaluate, times) for _ in range(rounds))
        rows.append(Row(name, f"{1 / seconds:,.0f} a second; {1e6 * seconds:,.1f} µs"))
    return rows


def _seconds(evaluate: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        evaluate()
    return (time.perf_counter() - began) / times


@dataclass(frozen=True)
class Cell:
    """Settings and load; a load of 1 is what the instance can do."""

    model: str
    threads: int
    batch: int
    load: float

    @property
    def instance(self) -> Instance:
        return MODELS[self.model][0](batch_rows=self.batch, threads=self.threads)

    @property
    def rows_per_second(self) -> float:
        return self.load * self.instance.capacity_rows_per_second

    @property
    def name(self) -> str:
        return f"{self.model} model, N {self.threads}, B {self.batch}"


def observe(cell: Cell) -> RunResult:
    """One instance of the world that nothing but the batches limits."""
    instance = cell.instance
    times = ModelTimes(instance.batch_time, instance.cpu_ms_per_request)
    batching = Batching(cell.batch, timeout_ms=0.0, max_enqueued_batches=1_000_000, threads=cell.threads)
    revision = Revision(
        times,
        ServerSettings(batching, server_threads=1_000_000),
        CloudRunSettings(concurrency=1_000_000, min_instances=1, max_instances=1, vcpus=int(instance.vcpus)),
    )
    duration_s = 60.0 * math.ceil(REQUESTS / cell.rows_per_second / 60)
    return simulate(
        Workload(Steady(cell.rows_per_second)),
        revision,
        good_ms=MODELS[cell.model][1],
        seed=1,
        duration_s=duration_s,
        warm_up_s=WARM_UP_S,
        warm_instances=1,
    )


Errors = dict[str, list[tuple[float, Cell]]]
"""By what is predicted: how far off, and where."""


def _errors(cells: list[Cell]) -> list[Row]:
    found: Errors = {}
    for cell, seen in zip(cells, on_all_cores(observe, cells), strict=True):
        instance, rate = cell.instance, cell.rows_per_second
        predictions = [
            ("99th percentile", p99_ms(instance, rate), seen.p99_ms),
            ("middle", p50_ms(instance, rate), seen.p50_ms),
            ("mean", mean_ms(instance, rate), seen.mean_ms),
            ("mean batch", instance.mean_batch_rows(rate), seen.mean_batch),
        ]
        if cell.threads == 1:
            exact = one_thread(instance.batch_time, max_batch_rows=cell.batch, rows_per_second=rate)
            predictions.append(("chain's 99th percentile", instance.cpu_ms_per_request + exact.quantile_ms(0.99), seen.p99_ms))
        for name, predicted, true in predictions:
            if true is None:
                raise ValueError(f"nothing was answered: {cell}")
            found.setdefault(name, []).append((100 * abs(predicted / true - 1.0), cell))
    usual = [error for error, cell in found["99th percentile"] if cell.load <= HEAVY_LOAD]
    chain = [error for error, _ in found["chain's 99th percentile"]]
    return [
        at_most(f"99th percentile, loads up to {HEAVY_LOAD}, mean error", statistics.mean(usual), 100 * LARGEST_P99_ERROR, " %"),
        at_most("chain's 99th percentile, one thread, mean error", statistics.mean(chain), 3.0, " %"),
        *(Row(f"99th percentile, load {load}", _spread(found["99th percentile"], load, load)) for load in LOADS),
        *(
            Row(f"{name}, {where}", _spread(errors, least, most))
            for name, errors in found.items()
            for where, least, most in (("loads up to 0.8", 0.0, 0.8), ("load 0.92", 0.92, 0.92))
            if name != "99th percentile"
        ),
    ]


def _spread(errors: list[tuple[float, Cell]], least: float, most: float) -> str:
    among = [each for each in errors if least <= each[1].load <= most]
    worst, cell = max(among, key=lambda each: each[0])
    return f"mean error {statistics.mean(error for error, _ in among):.1f} %, worst {worst:.1f} % ({cell.name}, load {cell.load})"


if __name__ == "__main__":
    print(measure().markdown())
