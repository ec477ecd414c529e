"""Which per-series aligner Cloud Monitoring applies to which kind of metric. Pure.

From the API's own documentation of Aggregation.Aligner (google.monitoring.v3, common.proto). A query with another one is refused: `The
aligner cannot be applied to metrics with kind DELTA and value type DISTRIBUTION.`
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.cloudrun.metrics import Kind, MetricKind, Value

_NUMBERS = frozenset({Value.INT64, Value.DOUBLE})
_NUMBERS_AND_DISTRIBUTIONS = frozenset(Value)
_DISTRIBUTIONS = frozenset({Value.DISTRIBUTION})
_NOTHING: frozenset[Value] = frozenset()
"""Truth values, which no metric here has."""
_POINTS = frozenset({Kind.GAUGE, Kind.DELTA})
_SUMS = frozenset({Kind.DELTA, Kind.CUMULATIVE})
_GAUGES = frozenset({Kind.GAUGE})


@dataclass(frozen=True, slots=True)
class Aligner:
    """What it can be applied to."""

    kinds: frozenset[Kind]
    values: frozenset[Value]


ALIGNERS: Mapping[str, Aligner] = {
    "ALIGN_NONE": Aligner(frozenset(Kind), _NUMBERS_AND_DISTRIBUTIONS),
    "ALIGN_DELTA": Aligner(_SUMS, _NUMBERS_AND_DISTRIBUTIONS),
    "ALIGN_RATE": Aligner(_SUMS, _NUMBERS),
    "ALIGN_INTERPOLATE": Aligner(_GAUGES, _NUMBERS),
    "ALIGN_NEXT_OLDER": Aligner(_GAUGES, _NUMBERS_AND_DISTRIBUTIONS),
    "ALIGN_MIN": Aligner(_POINTS, _NUMBERS),
    "ALIGN_MAX": Aligner(_POINTS, _NUMBERS),
    "ALIGN_MEAN": Aligner(_POINTS, _NUMBERS),
    "ALIGN_COUNT": Aligner(_POINTS, _NUMBERS),
    "ALIGN_SUM": Aligner(_POINTS, _NUMBERS_AND_DISTRIBUTIONS),
    "ALIGN_STDDEV": Aligner(_POINTS, _NUMBERS),
    "ALIGN_COUNT_TRUE": Aligner(_GAUGES, _NOTHING),
    "ALIGN_COUNT_FALSE": Aligner(_GAUGES, _NOTHING),
    "ALIGN_FRACTION_TRUE": Aligner(_GAUGES, _NOTHING),
    "ALIGN_PERCENTILE_99": Aligner(_POINTS, _DISTRIBUTIONS),
    "ALIGN_PERCENTILE_95": Aligner(_POINTS, _DISTRIBUTIONS),
    "ALIGN_PERCENTILE_50": Aligner(_POINTS, _DISTRIBUTIONS),
    "ALIGN_PERCENTILE_05": Aligner(_POINTS, _DISTRIBUTIONS),
    "ALIGN_PERCENT_CHANGE": Aligner(frozenset(Kind), _NUMBERS),
}


def is_aligner(name: str) -> bool:
    """Whether the API has it."""
    return name in ALIGNERS


def fits(name: str, metric: MetricKind) -> bool:
    """Whether the aligner can be applied to such a metric; a kind that is not known fits."""
    aligner = ALIGNERS[name]
    return metric.value in aligner.values and (metric.kind is None or metric.kind in aligner.kinds)


def fitting(name: str, metric: MetricKind) -> str:
    """The aligner that comes nearest to what another one, or a name that is none, was to say of the metric."""
    if metric.value is Value.DISTRIBUTION:
        if metric.kind is Kind.CUMULATIVE:
            return "ALIGN_DELTA"
        middle = any(word in name for word in ("MEAN", "AVG", "AVERAGE", "P50", "50", "MEDIAN"))
        low = any(word in name for word in ("MIN", "05"))
        return "ALIGN_PERCENTILE_50" if middle else "ALIGN_PERCENTILE_05" if low else _percentile(name)
    if metric.kind is Kind.GAUGE:
        return next((f"ALIGN_{word}" for word in ("MIN", "MEAN", "SUM") if word in name), "ALIGN_MAX")
    return "ALIGN_DELTA" if any(word in name for word in ("SUM", "COUNT", "DELTA")) else "ALIGN_RATE"


def _percentile(name: str) -> str:
    return "ALIGN_PERCENTILE_95" if "95" in name else "ALIGN_PERCENTILE_99"
