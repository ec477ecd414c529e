"""Metric keys (`name{label=value} statistic{point} [unit]`) read into values of one unit. Pure.

Times become milliseconds, sizes bytes, rates per second, percents ratios. None is a query that returned no points: it is unknown, and
never counts as zero.
"""

import math
import re
from collections import defaultdict
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
_AGES = {"minutes_ago": 60.0, "seconds_ago": 1.0, "hours_ago": 3600.0}
_PLAIN = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_SENSES = (
    ("before", "start", "first", "earlier", "calm", "baseline"),
    ("during", "dip", "spike", "load", "peak"),
    ("after", "now", "last", "end"),
)
"""Words for a point's time, from early to late."""
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
    def window(self) -> str:
        """Over how long a time the value was made, as the key says it; empty where it does not."""
        return self.point.get("window") or self.labels.get("window") or ""

    @property
    def span_seconds(self) -> float | None:
        """How long a time the value is made of (`{window=14d}`); None where the key does not say."""
        found = _DURATION.fullmatch(self.window.strip())
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
        """The known value whose statistic stands first in `statistics` (empty: any), whatever the order they are given in.

        `where` looks at the labels. A value without labels is of the whole and comes first; of several with labels it is the largest, of
        points of a series the newest.
        """
        known = [each for each in self.named(*names) if each.value is not None and (where is None or where(each.labels))]
        wanted = [each for each in known if not statistics or each.statistic in statistics]
        if not wanted:
            return None
        best = min((statistics.index(each.statistic) if statistics else 0) for each in wanted)
        same = [each for each in wanted if not statistics or statistics.index(each.statistic) == best]
        plain = [each for each in same if not each.is_point]
        whole = [each for each in plain if not each.labels] or plain
        return max(whole, key=_size) if whole else newest(same)

    def total(self, *names: str, statistics: Sequence[str], where: Callable[[Mapping[str, str]], bool]) -> float | None:
        """The sum of the known values with such labels, of the first statistic of which there is one; None without any.

        Only what was measured at the same time or over the same window is added up: of several windows the largest sum counts, of points
        those of the newest time.
        """
        known = [each for each in self.named(*names) if each.value is not None and where(each.labels)]
        for points in (False, True):
            for statistic in statistics:
                found = [each for each in known if each.statistic == statistic and each.is_point is points]
                if points and found:
                    last = newest(found)
                    found = [each for each in found if each.point == last.point]
                if found:
                    return max(_sums(found))
        return None

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
    """The point least long ago as the points say it; of points of one time, or whose times cannot be compared, the largest."""
    return max(points, key=lambda each: (when(each), _size(each)))


def when(point: Measure) -> tuple[str, float]:
    """When a point was: its date, then its time; a later one compares greater, whatever the order in which they are given.

    Ages (`minutes_ago=5`) and plain numbers count as such, times of day and dates by their digits, `before`, `during` and `after` by their
    sense.
    """
    for label, text in point.point.items():
        if label not in _POINTS:
            continue
        said = text.strip().lower()
        if label.endswith("_ago"):
            age = _DURATION.fullmatch(said)
            return ("", -float(age[1]) * (_DURATION_S[age[2]] if age[2] else _AGES[label])) if age is not None else ("", -math.inf)
        if _PLAIN.fullmatch(said):
            return "", float(said)
        clock = _CLOCK.search(said)
        if clock is not None:
            return said[: clock.start()], float(clock[1]) * 3600 + float(clock[2]) * 60 + float(clock[3] or 0)
        sense = next((rank for rank, words in enumerate(_SENSES) if any(word in said for word in words)), None)
        return (said, 0.0) if sense is None else ("", float(sense))
    return "", -math.inf


def _size(measure: Measure) -> tuple[float, str]:
    return (measure.value if measure.value is not None else -math.inf), measure.key


def _sums(measures: Sequence[Measure]) -> list[float]:
    """The values added up, each window by itself."""
    windows: defaultdict[str, list[float]] = defaultdict(list)
    for each in measures:
        windows[each.window].append(each.value or 0.0)
    return [math.fsum(values) for values in windows.values()]


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
    labels, point = _labels(found["labels"]), _labels(found["point"])
    point |= {label: labels.pop(label) for label in list(labels) if label in _POINTS and label not in point}
    statistic = (found["statistic"] or "value").lower()
    unit = (found["unit"] or "").strip()
    name = canonical(found["name"])
    return Measure(
        key=key,
        name=name,
        labels=labels,
        statistic=_STATISTICS.get(statistic, statistic),
        point=point,
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
