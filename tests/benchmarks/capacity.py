"""The capacity model: evaluations a second, and its formulas against an event loop of one instance and the exact chain.

`python -m tests.benchmarks.capacity` prints the table.
"""

import itertools
import statistics
import time
from collections.abc import Callable

from shared.tfserving.capacity.carried import carried
from shared.tfserving.capacity.chain import one_thread
from shared.tfserving.capacity.concurrency import Admission, concurrency_to_fill, slo_concurrency
from shared.tfserving.capacity.fleet import concurrency_target, instances_needed, planned_rows_per_second
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.inverses import max_batch_rows_within
from shared.tfserving.capacity.latency import mean_ms, p50_ms, p99_ms
from shared.tfserving.capacity.queueing import enqueued_batches_never_full
from tests.benchmarks.capacity_reference import large_model, observe, small_model
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
LARGEST_P99_ERROR = 0.05
HOW = (
    "Evaluations a second are the best of {rounds} rounds on one core. A plan looks at {candidates} settings (batch threads 1 and 2), "
    "takes the one that may be given most and works out concurrency, queue, target and instances. Errors are against an event loop of "
    "one instance, with {requests:,} requests in each of {cells} settings: two models, 1-4 threads, batches of 16-64, loads of 0.2-0.92."
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


def measure(*, rounds: int = 5, requests: int = 100_000) -> Area:
    cells = list(itertools.product(MODELS, THREADS, BATCHES, LOADS))
    return Area(
        title="Capacity model",
        how=HOW.format(rounds=rounds, candidates=2 * len(CANDIDATE_BATCHES), requests=requests, cells=len(cells)),
        rows=(*_speeds(rounds), *_errors(cells, requests)),
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


def _errors(cells: list[tuple[str, int, int, float]], requests: int) -> list[Row]:
    light: dict[str, list[float]] = {}
    heavy: dict[str, list[float]] = {}
    chain: list[float] = []
    for seed, (model, threads, batch, load) in enumerate(cells):
        instance = MODELS[model][0](batch_rows=batch, threads=threads)
        rate = load * instance.capacity_rows_per_second
        seen = observe(instance, rate, requests=requests, seed=seed)
        found = light if load <= 0.85 else heavy
        for name, predicted, true in (
            ("99th percentile", p99_ms(instance, rate), seen.p99_ms),
            ("middle", p50_ms(instance, rate), seen.p50_ms),
            ("mean", mean_ms(instance, rate), seen.mean_ms),
            ("mean batch", instance.mean_batch_rows(rate), seen.mean_batch_rows),
        ):
            found.setdefault(name, []).append(abs(predicted / true - 1.0))
        if threads == 1:
            exact = one_thread(instance.batch_time, max_batch_rows=batch, rows_per_second=rate)
            chain.append(abs((instance.cpu_ms_per_request + exact.quantile_ms(0.99)) / seen.p99_ms - 1.0))
    rows = [
        at_most(
            "99th percentile, loads up to 0.8, mean error", 100 * statistics.mean(light["99th percentile"]), 100 * LARGEST_P99_ERROR, " %"
        ),
        at_most("chain's 99th percentile, one thread, mean error", 100 * statistics.mean(chain), 3.0, " %"),
    ]
    rows += [
        Row(f"{name}, {where}", f"mean error {100 * statistics.mean(errors):.1f} %, worst {100 * max(errors):.1f} %")
        for where, by_name in (("loads up to 0.8", light), ("load 0.92", heavy))
        for name, errors in by_name.items()
    ]
    return rows


if __name__ == "__main__":
    print(measure().markdown())
