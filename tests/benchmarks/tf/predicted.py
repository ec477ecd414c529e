"""The capacity model, fitted from the server's own counters at three loads of one setting, against what it does with other settings."""

import contextlib
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.chain import NoSteadyStateError, one_thread
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.latency import p99_ms
from tests.benchmarks.table import Area, Row
from tests.benchmarks.tf.served import AMPLE, Served, serving
from tests.support.tf_server.rules import Rules

FITTED_ROWS = 16
"""max_batch_size of the setting that is fitted."""
FITTED_LOADS = (0.3, 0.5, 0.7)
OTHER_ROWS = (4, 8, 32)
P99_ROWS, P99_LOADS = (8, 32), (0.5, 0.8)
CLIENTS_PER_ROW = 3
"""Clients at saturation: one batch runs, one waits, and one is on its way."""
THROUGHPUT_OFF, P99_OFF = 0.10, 0.20

HOW = (
    "TensorFlow {version}'s batch scheduler (BatchFunction, one batch thread, timeout 0) with a real model on this machine's CPU, no GPU: "
    "one core computes the batches, as a card would, and the {others} has the server's other threads and the clients, who ask for one row "
    "at a time over gRPC. The fixed time a and the time of a row c of a batch are fitted by least squares from the server's own counters "
    "(runtime less queuing latency, and the sizes of the batches) at loads of about 0.3, 0.5 and 0.7 with max_batch_size {fitted}; what a "
    "request takes outside its run is request less runtime latency. From these the model says what other values of max_batch_size carry, "
    "and what p99 they have at a share of the throughput measured just before. {repeats} repetitions in turns: medians, in brackets the "
    "smallest and the largest, and the difference of the middle repetition. Load average {load_before:.1f} before and {load_after:.1f} "
    "after, of which the measurement itself is about 1.5{priority}."
)


@dataclass
class Measured:
    """By max_batch_size, and by load of it."""

    windows: list[tuple[float, float]] = field(default_factory=list)
    """The mean batch as rows see it, and the mean time of a batch."""
    beside_ms: list[float] = field(default_factory=list)
    saturated: dict[int, list[float]] = field(default_factory=dict)
    """Requests per second."""
    p99: dict[tuple[int, float], list[tuple[float, float]]] = field(default_factory=dict)
    """The rate, and the clients' 99th percentile."""
    late_ms: float = 0.0
    version: str = ""


def fitted(windows: Sequence[tuple[float, float]]) -> AffineBatchTime:
    """The line through the windows by least squares, its fixed time not below zero.

    Raises:
        ValueError: fewer than two different batches.
    """
    rows, times = np.array(windows).reshape(-1, 2).T
    if len(rows) < 2 or np.ptp(rows) == 0:
        raise ValueError(f"{len(rows)} windows of one mean batch: a line needs two different ones")
    slope, fixed = (float(each) for each in np.polyfit(rows, times, 1))
    return AffineBatchTime(fixed, slope) if fixed >= 0 else AffineBatchTime(0.0, float(times.mean() / rows.mean()))


def measure(tensorflow: Path, *, repeats: int, seconds: float) -> Area:
    """
    Raises:
        ValueError: the machine has one core only.
    """
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        raise ValueError("1 core: the batches need one of their own, and the clients another")
    before = os.getloadavg()[0]
    compute = min(cores)
    found = Measured()
    os.sched_setaffinity(0, cores - {compute})
    try:
        for repeat in range(repeats):
            _measure_once(lambda rows: _server(tensorflow, rows, compute), found, repeat, seconds)
    finally:
        os.sched_setaffinity(0, cores)
    how = HOW.format(
        version=found.version,
        others="other one" if len(cores) == 2 else f"other {len(cores) - 1}",
        fitted=FITTED_ROWS,
        repeats=repeats,
        load_before=before,
        load_after=os.getloadavg()[0],
        priority=_priority(),
    )
    return Area("The capacity model", how, tuple(_rows(found)))


def _priority() -> str:
    """The priority of this terminal's processes before those of others, where Linux groups them so."""
    group = Path("/proc/self/autogroup")
    nice = group.read_text().split()[-1] if group.exists() else "0"
    return "" if nice == "0" else f"; its processes went before the others' (nice {nice} for the group)"


def _measure_once(server: Callable[[int], contextlib.AbstractContextManager[Served]], found: Measured, repeat: int, seconds: float) -> None:
    with server(FITTED_ROWS) as served:
        found.version = served.tensorflow
        # Only to know which rates the loads are: it is not fitted.
        most = _saturated(served, FITTED_ROWS, seconds / 2)
        for load in FITTED_LOADS:
            _, counted = served.driven(*_open(load * most, repeat, seconds))
            found.windows.append((counted.batch_of_a_row(FITTED_ROWS), counted.batch_ms))
            found.beside_ms.append(counted.beside_ms)
    for rows in OTHER_ROWS:
        with server(rows) as served:
            saturated = _saturated(served, rows, seconds)
            found.saturated.setdefault(rows, []).append(saturated)
            for load in P99_LOADS if rows in P99_ROWS else ():
                seen, _ = served.driven(*_open(load * saturated, repeat, 2 * seconds))
                found.p99.setdefault((rows, load), []).append((load * saturated, float(np.percentile(seen.latencies_ms, 99))))
                found.late_ms = max(found.late_ms, seen.late_ms)


def _server(tensorflow: Path, rows: int, compute_core: int) -> contextlib.AbstractContextManager[Served]:
    options = (f"--grpc-max-threads={AMPLE}", f"--compute-core={compute_core}")
    return serving(tensorflow, Rules(rows, max_enqueued_batches=AMPLE), *options)


def _open(rate: float, repeat: int, seconds: float) -> tuple[str, ...]:
    return (f"--rate={rate}", f"--seed={repeat}", f"--measured-s={seconds}")


def _saturated(served: Served, rows: int, seconds: float) -> float:
    seen, _ = served.driven(f"--clients={CLIENTS_PER_ROW * rows}", f"--measured-s={seconds}")
    return seen.answered / seen.measured_s


def _rows(found: Measured) -> Iterator[Row]:
    time, beside_ms = fitted(found.windows), statistics.median(found.beside_ms)
    batches = [rows for rows, _ in found.windows]
    off = [abs(time.total_ms(rows) / ms - 1) for rows, ms in found.windows]
    yield Row("fixed time of a batch, a", f"{time.fixed_ms:.1f} ms")
    yield Row("time of a row, c", f"{time.row_ms:.2f} ms")
    yield Row("of a request outside its run", f"{beside_ms:.2f} ms")
    yield Row("batches in the fitted windows", f"{min(batches):.1f} to {max(batches):.1f} rows")
    yield Row("windows off the line, middle and worst", f"{statistics.median(off):.1%}, {max(off):.1%}")
    for rows, rates in found.saturated.items():
        model = Instance(time, rows, 1, cpu_ms_per_request=beside_ms)
        yield _compared(f"throughput, max_batch_size {rows}", "/s", rates, [model.capacity_rows_per_second] * len(rates), THROUGHPUT_OFF)
    for (rows, load), pairs in found.p99.items():
        model = Instance(time, rows, 1, cpu_ms_per_request=beside_ms)
        name = f"p99, max_batch_size {rows}, load {load}"
        measured = [ms for _, ms in pairs]
        yield _compared(name, " ms", measured, [p99_ms(model, rate) for rate, _ in pairs], P99_OFF)
        rate = statistics.median(rate for rate, _ in pairs)
        with contextlib.suppress(NoSteadyStateError):
            exact = one_thread(time, max_batch_rows=rows, rows_per_second=rate).quantile_ms(0.99) + beside_ms
            yield Row("the same by the exact chain of one thread", f"{exact:.1f} ms, {exact / statistics.median(measured) - 1:+.1%}")
    yield Row("the clients' own lag at the worst", f"{found.late_ms:.0f} ms")


def _compared(name: str, unit: str, measured: Sequence[float], predicted: Sequence[float], bound: float) -> Row:
    """The middle of the repetitions' differences; each repetition has a prediction of its own where its rate was its own."""
    off = statistics.median(made / real - 1 for made, real in zip(predicted, measured, strict=True))
    value = (
        f"predicted {statistics.median(predicted):.1f}{unit}, measured {statistics.median(measured):.1f}{unit} "
        f"({min(measured):.1f} to {max(measured):.1f}): {off:+.1%}"
    )
    return Row(name, value, f"within {bound:.0%}", abs(off) <= bound)
