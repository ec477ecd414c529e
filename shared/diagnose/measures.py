"""Metric keys (`name{label=value} statistic{point} [unit]`) read into values of one unit. Pure.

Times become milliseconds, sizes bytes, rates per second, percents ratios. None is a query that returned no points: it is unknown, and
never counts as zero.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_KEY = re.compile(
    r"(?P<name>[^{}\[\]]{1,300}?)(?:\{(?P<labels>[^{}]{0,500})\})?"
    r"(?: (?P<statistic>value|rate|mean|avg|average|median|max|min|count|ratio|present|sum|p\d{1,4})(?:\{(?P<point>[^{}]{0,300})\})?)?"
    r"(?: ?\[(?P<unit>[^\[\]]{1,40})\])?"
)
_STATISTICS = {"avg": "mean", "average": "mean", "median": "p50"}
_POINTS = frozenset(
    {"minute", "minutes_ago", "seconds_ago", "hours_ago", "at", "time", "t", "hour", "phase", "when", "during", "point", "day"}
)
"""Labels that tell points of one series apart; others (`window=14d`) say how a value was made."""
_TIMES_MS = {
    "ns": 1e-6,
    "us": 1e-3,
    "µs": 1e-3,
    "usec": 1e-3,
    "micros": 1e-3,
    "microseconds": 1e-3,
    "ms": 1.0,
    "msec": 1.0,
    "milliseconds": 1.0,
    "s": 1e3,
    "sec": 1e3,
    "seconds": 1e3,
    "min": 6e4,
    "minutes": 6e4,
    "h": 3.6e6,
    "hours": 3.6e6,
    "d": 8.64e7,
    "days": 8.64e7,
}
_SIZES = {"b": 1.0, "by": 1.0, "bytes": 1.0} | {
    f"{prefix.lower()}{ending}": base ** (power + 1)
    for base, ending in ((1000.0, "b"), (1024.0, "ib"))
    for power, prefix in enumerate("KMGT")
}
_RATIOS = {"ratio": 1.0, "1": 1.0, "%": 0.01, "percent": 0.01, "pct": 0.01, "fraction": 1.0}
_PER = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}
_RATES = {"rps": 1.0, "qps": 1.0, "hz": 1.0, "rpm": 1 / 60.0}
_PERCENT_FROM = 1.5
_PREFIXES = ("prometheus_googleapis_com_", "workload_googleapis_com_", "custom_googleapis_com_")
_ENDINGS = re.compile(r"_(?:counter|gauge|histogram|summary|unknown)$")
_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s?(ms|s|m|min|h|d|w)?")
_DURATION_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class Measure:
    """One value. `value` is in milliseconds, bytes, per second, or a plain number or ratio; None: no points."""

    key: str
    name: str
    """Canonical: lower case, everything else than letters and digits as `_`, Cloud Run's and Prometheus' prefixes taken off."""
    labels: Mapping[str, str]
    statistic: str
    point: Mapping[str, str]
    unit: str
    value: float | None
    raw: float | None

    def __str__(self) -> str:
        return f"{self.key} = {'no points' if self.raw is None else f'{self.raw:g}'}"

    @property
    def is_point(self) -> bool:
        """Whether it is one point of a series."""
        return any(label in _POINTS for label in self.point)

    @property
    def span_seconds(self) -> float | None:
        """How long a time the value is made of (`{window=14d}`); None where the key does not say."""
        said = self.point.get("window") or self.labels.get("window")
        found = _DURATION.fullmatch(said.strip()) if said else None
        return float(found[1]) * _DURATION_S[found[2]] if found is not None else None


@dataclass(frozen=True, slots=True)
class Measures:
    """All of a question's, in its order."""

    all: tuple[Measure, ...]
    by_name: Mapping[str, tuple[Measure, ...]] = field(default_factory=dict)

    def named(self, *names: str) -> tuple[Measure, ...]:
        """Every one of these canonical names, points without a value included."""
        return tuple(measure for name in names for measure in self.by_name.get(name, ()))

    def pick(self, *names: str, statistics: Sequence[str] = (), where: Callable[[Mapping[str, str]], bool] | None = None) -> Measure | None:
        """The known value whose statistic stands first in `statistics` (empty: any); of a series its newest point.

        `where` looks at the labels.
        """
        known = [each for each in self.named(*names) if each.value is not None and (where is None or where(each.labels))]
        wanted = [each for each in known if not statistics or each.statistic in statistics]
        if not wanted:
            return None
        best = min((statistics.index(each.statistic) if statistics else 0) for each in wanted)
        same = [each for each in wanted if not statistics or statistics.index(each.statistic) == best]
        plain = [each for each in same if not each.is_point]
        return plain[0] if plain else newest(same)

    def total(self, *names: str, statistics: Sequence[str], where: Callable[[Mapping[str, str]], bool]) -> float | None:
        """The sum of the known values with such labels, of the first statistic of which there is one; None without any."""
        for statistic in statistics:
            found = [
                each.value
                for each in self.named(*names)
                if each.value is not None and each.statistic == statistic and not each.is_point and where(each.labels)
            ]
            if found:
                return sum(found)
        picked = self.pick(*names, statistics=statistics, where=where)
        return picked.value if picked is not None else None

    def series(self, *names: str) -> tuple[Measure, ...]:
        """The known points of series of these names, in their order."""
        return tuple(each for each in self.named(*names) if each.is_point and each.value is not None)

    @property
    def unknown(self) -> tuple[Measure, ...]:
        """Queries that returned no points."""
        return tuple(each for each in self.all if each.value is None)

    @property
    def known(self) -> tuple[Measure, ...]:
        """Queries that returned some."""
        return tuple(each for each in self.all if each.value is not None)


def newest(points: Sequence[Measure]) -> Measure:
    """The point least long ago where the points say it, else the last one given."""
    ages = [(float(age), each) for each in points for label, age in each.point.items() if label.endswith("_ago") and _is_number(age)]
    return min(ages, key=lambda pair: pair[0])[1] if len(ages) == len(points) else points[-1]


def read_measures(metrics: Mapping[str, float | None]) -> Measures:
    """Read every key; one that has no such form is kept under its own words, with its value as it is."""
    read = tuple(read_measure(key, value) for key, value in metrics.items())
    by_name: dict[str, list[Measure]] = {}
    for measure in read:
        by_name.setdefault(measure.name, []).append(measure)
    return Measures(read, {name: tuple(found) for name, found in by_name.items()})


def read_measure(key: str, value: float | None) -> Measure:
    """One key and its value."""
    number = value if value is not None and math.isfinite(value) else None
    found = _KEY.fullmatch(" ".join(key.split()))
    if found is None:
        return Measure(key, canonical(key), {}, "value", {}, "", number, number)
    statistic = (found["statistic"] or "value").lower()
    unit = (found["unit"] or "").strip()
    name = canonical(found["name"])
    return Measure(
        key=key,
        name=name,
        labels=_labels(found["labels"]),
        statistic=_STATISTICS.get(statistic, statistic),
        point=_labels(found["point"]),
        unit=unit,
        value=None if number is None else _in_one_unit(number, unit, name),
        raw=number,
    )


def canonical(name: str) -> str:
    """The name by which a metric is looked up, whoever spells it: Cloud Monitoring, PromQL, TF Serving's own page."""
    flat = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    for prefix in _PREFIXES:
        if flat.startswith(prefix):
            flat = _ENDINGS.sub("", flat.removeprefix(prefix))
    return flat.removeprefix("run_googleapis_com_")


def _labels(text: str | None) -> dict[str, str]:
    pairs = (each.partition("=") for each in (text or "").split(","))
    return {label.strip().lower(): value.strip().strip("\"'") for label, is_set, value in pairs if is_set}


def _in_one_unit(number: float, unit: str, name: str) -> float:
    lower = unit.lower()
    if lower in _TIMES_MS:
        return number * _TIMES_MS[lower]
    if lower in _RATIOS:
        scaled = number * _RATIOS[lower]
        return scaled / 100 if lower not in {"%", "percent", "pct"} and "utilization" in name and scaled > _PERCENT_FROM else scaled
    if lower in _SIZES:
        return number * _SIZES[lower]
    if lower in _RATES:
        return number * _RATES[lower]
    what, is_rate, per = lower.partition("/")
    if is_rate and per in _PER:
        return number * _SIZES.get(what, 1.0) / _PER[per]
    return number * _by_name(name) if not unit else number


def _by_name(name: str) -> float:
    """Without a unit: TF Serving measures time in microseconds, Cloud Run in milliseconds."""
    return 1e-3 if name.startswith("tensorflow_") and ("latency" in name or name.endswith("usecs")) else 1.0


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text) is not None
