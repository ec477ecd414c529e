"""How a service does by its metrics, what a repair is expected to change about that, and whether it did. Pure.

The expectation needs no fitted model. What one request costs the GPU and the CPU is measured (utilization x instances / answered
requests, the utilization law); how a batch's time grows with its rows is not known, so both ends are computed with the capacity model: all
of it grows (c only: batching gains nothing), none of it does (a only).
"""

import math
from dataclasses import dataclass

from shared.records.evidence import NO_SERIES, Evidence, Readings, Statistic, reading_key
from shared.records.evidence_keys import CLOUD_RUN, INSTANCE_COUNT, REQUEST_COUNT, SERVED_KEYS, TOTAL_KEY
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Shape
from shared.records.repair import Effect, Prediction, known_value
from shared.records.serving import DesiredServing, Protocol
from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.concurrency import saturated_rows_per_second
from shared.tfserving.capacity.instance import Instance

MS_PER_SECOND = 1_000.0
CLEARLY_RATIO = 0.01
"""Ratios of failed requests that differ by less are alike: windows of the two counts do not end at the same moment."""
FILLED_RATIO = 0.8
"""Of an instance's capacity that is planned with."""
ALIKE = 1.05
"""Rates within this ratio are said to be the same."""
CLEARLY_SLOWER = 1.25
"""A 99th percentile below this multiple of another is not slower: Cloud Run's buckets grow by some 20 %."""
MUCH_MORE_LOAD = 1.5
"""Under this much more load than before, a service that does worse is not shown to be the worse service; nor, under this much less, one
that does better the better one."""

KEPT_REASON = 80
"""Characters of why a part of an effect is unknown."""
LEAST = 1e-3
"""Of instances, requests a second and utilization: what is less is no measurement of what a request costs."""

_SERVED_OR_CLIENTS_FAULT = ("OK", "INVALID_ARGUMENT", "NOT_FOUND")
_CPU = reading_key(f"{CLOUD_RUN}container/cpu/utilizations", Statistic.P50, "ratio")
_GPU = reading_key(f"{CLOUD_RUN}container/gpu/utilizations", Statistic.P50, "ratio")
_P99 = reading_key(f"{CLOUD_RUN}request_latencies", Statistic.P99, "ms")
_PENDING = reading_key(f"{CLOUD_RUN}request_latency/pending", Statistic.P99, "ms")
_BATCH = reading_key(":tensorflow:serving:batching_session:processed_batch_size", Statistic.MEAN, "rows")
_ACTIVE = reading_key(INSTANCE_COUNT, Statistic.VALUE, "instances", {"state": "active"})
_SERVER_ERRORS = reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": "5xx"})
_NO_INSTANCE = reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code": "429"})
_SERVED = {status: key for key, status in SERVED_KEYS.items()}


def effect(evidence: Evidence | None, protocol: Protocol) -> Effect:
    """How the service does, by the readings of a look."""
    readings = evidence.readings if evidence is not None else Unknown(reason="metrics were not asked for")
    if isinstance(readings, Unknown):
        return Effect.model_validate(dict.fromkeys(Effect.model_fields, _in_short(readings)))
    parts = {
        "requests_per_second": _of(readings, TOTAL_KEY),
        "failed_ratio": _failed_ratio(readings, protocol),
        "p99_ms": _of(readings, _P99),
        "mean_batch_rows": _of(readings, _BATCH),
        "gpu_busy_ratio": _of(readings, _GPU),
        "cpu_busy_ratio": _of(readings, _CPU),
    }
    return Effect.model_validate({name: _in_short(metric) for name, metric in parts.items()})


def _in_short(metric: Metric) -> Metric:
    """An effect is kept in the state, which has no room for long reasons."""
    return Unknown(reason=metric.reason[:KEPT_REASON]) if isinstance(metric, Unknown) else metric


def device_busy(evidence: Evidence | None, shape: Shape) -> Metric:
    """Share of the time that the device of the middle instance is busy: its GPU, without one its CPU."""
    readings = evidence.readings if evidence is not None else Unknown(reason="metrics were not asked for")
    return readings if isinstance(readings, Unknown) else _of(readings, _GPU if shape.accelerator else _CPU)


def pending_p99_ms(evidence: Evidence | None) -> Metric:
    """How long the slowest requests wait for an instance before they run."""
    readings = evidence.readings if evidence is not None else Unknown(reason="metrics were not asked for")
    return readings if isinstance(readings, Unknown) else _of(readings, _PENDING)


def _of(readings: Readings, key: str) -> Metric:
    return readings.values.get(key, Unknown(reason=NO_SERIES))


def _failed_ratio(readings: Readings, protocol: Protocol) -> Metric:
    """What TF Serving answered well, against all that Cloud Run counted; without TF Serving's counts, over REST, Cloud Run's own errors.

    Over gRPC every answer of the server is an HTTP 200, so without TF Serving's counts nothing is known.
    """
    total = _of(readings, TOTAL_KEY)
    if isinstance(total, Unknown):
        return total
    if total.value <= 0:
        return Unknown(reason="no requests in the window")
    served = [_of(readings, key) for key in _SERVED.values()]
    if any(isinstance(each, Known) for each in served):
        unread = next((each for each in served if isinstance(each, Unknown) and each.reason != NO_SERIES), None)
        if unread is not None:
            return unread
        good = sum(known_value(_of(readings, _SERVED[status])) or 0.0 for status in _SERVED_OR_CLIENTS_FAULT)
        return total.model_copy(update={"value": min(max(1.0 - good / total.value, 0.0), 1.0)})
    errors = [_of(readings, _SERVER_ERRORS), _of(readings, _NO_INSTANCE)]
    unread = next((each for each in errors if isinstance(each, Unknown) and each.reason != NO_SERIES), None)
    if unread is not None:
        return unread
    failed = sum(known_value(each) or 0.0 for each in errors)
    if protocol is Protocol.GRPC:
        return Unknown(reason="TF Serving's own counts are not there, and over gRPC its refusals are HTTP 200")
    return total.model_copy(update={"value": min(failed / total.value, 1.0)})


def predict(
    wanted: DesiredServing, evidence: Evidence | None, *, rows_per_request: int | None, allowed_now: int, allowed: int
) -> Prediction:
    """What the wanted settings do to the share of failed requests and to what an instance carries.

    `allowed_now` is the maximum of instances in force, `allowed` the spec's, up to which the bounds can rise.
    """
    readings = evidence.readings if evidence is not None else None
    batching, concurrency = wanted.batching, wanted.max_instance_request_concurrency
    if not isinstance(readings, Readings) or concurrency is None:
        return Prediction(text="not predicted: no metrics of the service were read")
    needed = {
        "the rate of requests": _of(readings, TOTAL_KEY),
        "the share of them that failed": _failed_ratio(readings, wanted.protocol),
        "the number of active instances": _of(readings, _ACTIVE),
        "GPU utilization" if wanted.accelerator else "CPU utilization": _of(readings, _GPU if wanted.accelerator else _CPU),
    }
    missing = [name for name, metric in needed.items() if known_value(metric) is None]
    if missing:
        return Prediction(text=f"not predicted: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not known")
    rate, failed, active, busy = (known_value(metric) or 0.0 for metric in needed.values())
    answered = rate * (1.0 - failed) / active if active > LEAST else 0.0
    if answered <= LEAST or busy <= LEAST:
        return Prediction(text="not predicted: no request was answered in the window, so what one costs is not known")
    rows = float(rows_per_request or 1)
    batch = max(known_value(_of(readings, _BATCH)) or rows, rows)
    device_ms = MS_PER_SECOND * busy * (batch / rows) / answered
    bounds = []
    for time in (AffineBatchTime(0.0, device_ms / batch), AffineBatchTime(device_ms, 0.0)):
        instance = Instance(
            time,
            max_batch_rows=int(rows) if batching is None else (batching.max_batch_size or 1),
            batch_threads=1 if batching is None else (batching.num_batch_threads or 1),
            rows_per_request=rows,
        )
        bounds.append(saturated_rows_per_second(instance, concurrency) / rows)
    cpu = known_value(_of(readings, _CPU))
    most = answered / cpu if cpu else None
    # Of batches that become smaller than those measured, it is those whose time does not shrink with their rows that carry less.
    low, high = sorted(value if most is None else min(value, most) for value in bounds)
    refused_now, refused = (max(0.0, 1.0 - instances * low / rate) for instances in (allowed_now, allowed))
    text = (
        f"{_carries(low, high, answered, cpu)}; of {rate:,.0f} requests/s that come, {failed:.1%} fail now; at worst {refused_now:.1%} "
        f"find no room in the {allowed_now} instances allowed now, {refused:.1%} in the {allowed} that the spec allows"
    )
    return Prediction(
        failed_ratio=refused,
        requests_per_second_low=low,
        requests_per_second_high=high,
        instances_needed=max(1, math.ceil(rate / (low * FILLED_RATIO))) if low > 0 else None,
        text=text,
    )


def _carries(low: float, high: float, answered: float, cpu: float | None) -> str:
    if high <= ALIKE * answered and cpu is not None:
        return (
            f"an instance carries about {answered:,.0f} requests/s, as now: its CPU is busy {cpu:.0%} of the time; none is refused unseen"
        )
    return f"an instance carries {low:,.0f} to {high:,.0f} requests/s ({answered:,.0f} now), by how much a batch's time grows with its rows"


@dataclass(frozen=True)
class Verdict:
    """Whether a repair did worse than what it replaced. `worse` None: it cannot be said, for the reason given."""

    worse: bool | None
    text: str


def verdict(before: Effect, after: Effect, *, objective_p99_ms: float | None) -> Verdict:
    """Compare two windows of metrics: the share of failed requests decides; where it is alike, the latency."""
    was, now = known_value(before.failed_ratio), known_value(after.failed_ratio)
    if now is None:
        reason = after.failed_ratio.reason if isinstance(after.failed_ratio, Unknown) else ""
        return Verdict(None, f"what fails now is not known: {reason}")
    said = f"{now:.1%} of requests fail ({'not known' if was is None else f'{was:.1%}'} before)"
    latency = _latency(before, after)
    said = f"{said}, {latency}" if latency else said
    if was is None:
        return Verdict(None, f"{said}: there is nothing to compare with")
    load, load_before = known_value(after.requests_per_second), known_value(before.requests_per_second)
    if now < was - CLEARLY_RATIO:
        if load is not None and load_before is not None and MUCH_MORE_LOAD * load < load_before:
            return Verdict(None, f"{said}, but {load:,.0f} requests/s come, {load_before:,.0f} before: that is no comparison")
        return Verdict(worse=False, text=said)
    slow = _slower(before, after, objective_p99_ms)
    if now <= was + CLEARLY_RATIO and not slow:
        return Verdict(worse=False, text=said)
    if load is None or load_before is None or load > MUCH_MORE_LOAD * load_before:
        known = load is not None and load_before is not None
        more = f"{load:,.0f} requests/s come, {load_before:,.0f} before" if known else "the load is not known"
        return Verdict(None, f"{said}, but {more}: that is no comparison")
    return Verdict(worse=True, text=said)


def _latency(before: Effect, after: Effect) -> str:
    now, was = known_value(after.p99_ms), known_value(before.p99_ms)
    if now is None:
        return ""
    return f"p99 {now:,.0f} ms" + ("" if was is None else f" ({was:,.0f} ms before)")


def _slower(before: Effect, after: Effect, objective_ms: float | None) -> bool:
    """Clearly slower, and slower than it may be."""
    was, now = known_value(before.p99_ms), known_value(after.p99_ms)
    return was is not None and now is not None and now > CLEARLY_SLOWER * was and (objective_ms is None or now > objective_ms)
