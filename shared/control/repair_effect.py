"""How a service does, by the metrics of one window. Pure."""

from shared.records.evidence import NO_SERIES, Evidence, Readings, Statistic, reading_key
from shared.records.evidence_keys import CLOUD_RUN, REQUEST_COUNT, SERVED_KEYS, TOTAL_KEY
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Shape
from shared.records.repair import Effect, known_value
from shared.records.serving import Protocol

KEPT_REASON = 80
"""Characters of why a part of an effect is unknown."""

CPU_KEY, CPU_HIGH_KEY = (reading_key(f"{CLOUD_RUN}container/cpu/utilizations", each, "ratio") for each in (Statistic.P50, Statistic.P95))
GPU_KEY, GPU_HIGH_KEY = (reading_key(f"{CLOUD_RUN}container/gpu/utilizations", each, "ratio") for each in (Statistic.P50, Statistic.P95))
BATCH_KEY = reading_key(":tensorflow:serving:batching_session:processed_batch_size", Statistic.MEAN, "rows")
_SERVED_OR_CLIENTS_FAULT = ("OK", "INVALID_ARGUMENT", "NOT_FOUND")
_P50, _P95, _P99 = (reading_key(f"{CLOUD_RUN}request_latencies", each, "ms") for each in (Statistic.P50, Statistic.P95, Statistic.P99))
_PENDING = reading_key(f"{CLOUD_RUN}request_latency/pending", Statistic.P99, "ms")
_SERVER_ERRORS = reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": "5xx"})
_NO_INSTANCE = reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code": "429"})
_SERVED = {status: key for key, status in SERVED_KEYS.items()}


def effect(evidence: Evidence | None, protocol: Protocol) -> Effect:
    """How the service does, by the readings of a look."""
    readings = evidence.readings if evidence is not None else Unknown(reason="metrics were not asked for")
    if isinstance(readings, Unknown):
        return Effect.model_validate(dict.fromkeys(Effect.model_fields, _in_short(readings)))
    parts = {
        "requests_per_second": reading_of(readings, TOTAL_KEY),
        "failed_ratio": failed_ratio(readings, protocol),
        "p99_ms": reading_of(readings, _P99),
        "p50_ms": reading_of(readings, _P50),
        "p95_ms": reading_of(readings, _P95),
        "mean_batch_rows": reading_of(readings, BATCH_KEY),
        "gpu_busy_ratio": reading_of(readings, GPU_KEY),
        "cpu_busy_ratio": reading_of(readings, CPU_KEY),
    }
    return Effect.model_validate({name: _in_short(metric) for name, metric in parts.items()})


def _in_short(metric: Metric) -> Metric:
    """An effect is kept in the state, which has no room for long reasons."""
    return Unknown(reason=metric.reason[:KEPT_REASON]) if isinstance(metric, Unknown) else metric


def device_busy(evidence: Evidence | None, shape: Shape) -> Metric:
    """Share of the time that the device of the middle instance is busy: its GPU, without one its CPU."""
    readings = evidence.readings if evidence is not None else Unknown(reason="metrics were not asked for")
    return readings if isinstance(readings, Unknown) else reading_of(readings, GPU_KEY if shape.accelerator else CPU_KEY)


def pending_p99_ms(evidence: Evidence | None) -> Metric:
    """How long the slowest requests wait for an instance before they run."""
    readings = evidence.readings if evidence is not None else Unknown(reason="metrics were not asked for")
    return readings if isinstance(readings, Unknown) else reading_of(readings, _PENDING)


def reading_of(readings: Readings, key: str) -> Metric:
    """The reading of that key; Unknown where it was not asked for or has no series."""
    return readings.values.get(key, Unknown(reason=NO_SERIES))


def failed_ratio(readings: Readings, protocol: Protocol) -> Metric:
    """What TF Serving answered well, against all that Cloud Run counted; without TF Serving's counts, over REST, Cloud Run's own errors.

    Over gRPC every answer of the server is an HTTP 200, so without TF Serving's counts nothing is known.
    """
    total = reading_of(readings, TOTAL_KEY)
    if isinstance(total, Unknown):
        return total
    if total.value <= 0:
        return Unknown(reason="no requests in the window")
    served = [reading_of(readings, key) for key in _SERVED.values()]
    if any(isinstance(each, Known) for each in served):
        unread = next((each for each in served if isinstance(each, Unknown) and each.reason != NO_SERIES), None)
        if unread is not None:
            return unread
        good = sum(known_value(reading_of(readings, _SERVED[status])) or 0.0 for status in _SERVED_OR_CLIENTS_FAULT)
        return total.model_copy(update={"value": min(max(1.0 - good / total.value, 0.0), 1.0)})
    errors = [reading_of(readings, _SERVER_ERRORS), reading_of(readings, _NO_INSTANCE)]
    unread = next((each for each in errors if isinstance(each, Unknown) and each.reason != NO_SERIES), None)
    if unread is not None:
        return unread
    failed = sum(known_value(each) or 0.0 for each in errors)
    if protocol is Protocol.GRPC:
        return Unknown(reason="TF Serving's own counts are not there, and over gRPC its refusals are HTTP 200")
    return total.model_copy(update={"value": min(failed / total.value, 1.0)})
