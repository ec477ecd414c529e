"""What a repair is expected to do, without a fitted model. Pure.

What one request costs the GPU and the CPU is measured (utilization x instances / answered requests, the utilization law). How a batch's
time grows with its rows is not known, nor how much of the CPU's work is a batch's and how much a request's, so both ends are computed with
the capacity model: all of it grows with the rows (batching gains nothing), none of it does.
"""

import math

from shared.control.repair_effect import BATCH_KEY, CPU_HIGH_KEY, CPU_KEY, GPU_HIGH_KEY, GPU_KEY, failed_ratio, reading_of
from shared.records.evidence import Evidence, Readings, Statistic, reading_key
from shared.records.evidence_keys import INSTANCE_COUNT, TOTAL_KEY
from shared.records.repair import Prediction, known_value
from shared.records.serving import DesiredServing
from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.concurrency import saturated_rows_per_second
from shared.tfserving.capacity.instance import Instance

MS_PER_SECOND = 1_000.0
FILLED_RATIO = 0.8
"""Of an instance's capacity that is planned with."""
ALIKE = 1.05
"""Rates within this ratio are said to be the same."""
LEAST = 1e-3
"""Of instances, requests a second and utilization: what is less is no measurement of what a request costs."""
MIXED_RATIO = 0.15
"""Between the middle and the 95th percentile of utilization: more, and the window has seen two different loads."""
FAILING_RATIO = 0.05
_ACTIVE = reading_key(INSTANCE_COUNT, Statistic.VALUE, "instances", {"state": "active"})


def predict(
    wanted: DesiredServing, evidence: Evidence | None, *, rows_per_request: int | None, allowed_now: int, allowed: int
) -> Prediction:
    """What the wanted settings do to the share of failed requests and to what an instance carries.

    `allowed_now` is the maximum of instances in force, `allowed` the most that spec, quota and budget let the bounds rise to.
    """
    readings = evidence.readings if evidence is not None else None
    batching, concurrency = wanted.batching, wanted.max_instance_request_concurrency
    if not isinstance(readings, Readings) or concurrency is None:
        return Prediction(text="not predicted: no metrics of the service were read")
    device, device_high = (GPU_KEY, GPU_HIGH_KEY) if wanted.accelerator else (CPU_KEY, CPU_HIGH_KEY)
    needed = {
        "the rate of requests": reading_of(readings, TOTAL_KEY),
        "the share of them that failed": failed_ratio(readings, wanted.protocol),
        "the number of active instances": reading_of(readings, _ACTIVE),
        "GPU utilization" if wanted.accelerator else "CPU utilization": reading_of(readings, device),
    }
    missing = [name for name, metric in needed.items() if known_value(metric) is None]
    if missing:
        return Prediction(text=f"not predicted: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not known")
    rate, failed, active, busy = (known_value(metric) or 0.0 for metric in needed.values())
    if _mixed(readings, ((device, device_high), (CPU_KEY, CPU_HIGH_KEY))):
        text = "not predicted: the load changed within the window that was measured, so what a request costs cannot be told"
        return Prediction(instances_needed=2 * allowed_now if failed > FAILING_RATIO else None, text=text)
    answered = rate * (1.0 - failed) / active if active > LEAST else 0.0
    if answered <= LEAST or busy <= LEAST:
        return Prediction(text="not predicted: no request was answered in the window, so what one costs is not known")
    rows = float(rows_per_request or 1)
    batch = max(known_value(reading_of(readings, BATCH_KEY)) or rows, rows)
    device_ms = MS_PER_SECOND * busy * (batch / rows) / answered
    cpu = known_value(reading_of(readings, CPU_KEY))
    bounds = []
    for time, grows in ((AffineBatchTime(0.0, device_ms / batch), True), (AffineBatchTime(device_ms, 0.0), False)):
        instance = Instance(
            time,
            max_batch_rows=int(rows) if batching is None else (batching.max_batch_size or 1),
            batch_threads=1 if batching is None else (batching.num_batch_threads or 1),
            rows_per_request=rows,
        )
        carried = saturated_rows_per_second(instance, concurrency) / rows
        # The CPU's work is a request's, or a batch's and then shared by all rows of the larger one.
        larger = 1.0 if grows else max(1.0, _rows(wanted, rows) / batch)
        bounds.append(min(carried, answered / cpu * larger) if cpu else carried)
    # Of batches that become smaller than those measured, it is those whose time does not shrink with their rows that carry less.
    low, high = sorted(bounds)
    refused_now, refused = (max(0.0, 1.0 - instances * low / rate) for instances in (allowed_now, allowed))
    later = f", {refused:.1%} in the {allowed} that may be allowed" if allowed > allowed_now else ""
    text = (
        f"{_carries(low, high, answered, cpu)}; of {rate:,.0f} requests/s that come, {failed:.1%} fail now; at worst {refused_now:.1%} "
        f"find no room in the {allowed_now} instances allowed now{later}"
    )
    return Prediction(
        failed_ratio=refused,
        requests_per_second_low=low,
        requests_per_second_high=high,
        instances_needed=max(1, math.ceil(rate / (low * FILLED_RATIO))) if low > 0 else None,
        text=text,
    )


def _rows(wanted: DesiredServing, rows: float) -> float:
    """Of a full batch, as far as the concurrency fills one."""
    batching, concurrency = wanted.batching, wanted.max_instance_request_concurrency or 1
    if batching is None:
        return rows
    return min(float(batching.max_batch_size or 1), concurrency * rows / ((batching.num_batch_threads or 1) + 1))


def _mixed(readings: Readings, pairs: tuple[tuple[str, str], ...]) -> bool:
    """Whether the window has seen two loads: half of its samples are far below its high ones."""
    for middle, high in pairs:
        low_value, high_value = (known_value(reading_of(readings, key)) for key in (middle, high))
        if low_value is not None and high_value is not None and high_value - low_value > MIXED_RATIO:
            return True
    return False


def _carries(low: float, high: float, answered: float, cpu: float | None) -> str:
    if high <= ALIKE * answered and cpu is not None:
        return f"an instance carries about {answered:,.0f} requests/s, as now: its CPU is busy {cpu:.0%}; none is refused unseen"
    return f"an instance carries {low:,.0f} to {high:,.0f} requests/s ({answered:,.0f} now), by how a batch's cost grows with its rows"
