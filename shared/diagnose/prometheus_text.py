"""A page of TF Serving's metrics as the measures that a diagnosis takes. Pure; the parser is prometheus_client's.

One page counts since the server's start: of a histogram its mean (sum over count) and its count, of a counter its count. Two pages of the
same instance, and the seconds between them, give rates and the means of that time. A counter that went back means that the server was
started anew in between: what it says is then unknown. Buckets are not read: TF Serving's grow by a factor of 1.8.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shared.diagnose.evidence_text import EvidenceTextError, bounded

_WHAT = "page of Prometheus metrics"
_IGNORED_LABELS = frozenset({"le", "quantile"})
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page: counters and gauges by name and labels, histograms as (sum, count)."""

    counters: Mapping[tuple[str, Labels], float] = field(default_factory=dict)
    gauges: Mapping[tuple[str, Labels], float] = field(default_factory=dict)
    histograms: Mapping[tuple[str, Labels], tuple[float, float]] = field(default_factory=dict)


def read_page(text: str) -> Page:
    """Read the page.

    Raises:
        EvidenceTextError: too long, or no page of metrics.
    """
    bounded(text, _WHAT)
    counters: dict[tuple[str, Labels], float] = {}
    gauges: dict[tuple[str, Labels], float] = {}
    parts: dict[tuple[str, Labels], dict[str, float]] = {}
    for family, kind, name, labels, value in _samples(text):
        if kind in {"histogram", "summary"}:
            parts.setdefault((family, labels), {})[name.removeprefix(family)] = value
        elif kind == "counter":
            counters[family, labels] = value
        else:
            gauges[name, labels] = value
    if not (counters or gauges or parts):
        raise EvidenceTextError(f"{_WHAT}: it has no samples")
    histograms = {key: (found["_sum"], found["_count"]) for key, found in parts.items() if {"_sum", "_count"} <= found.keys()}
    return Page(counters, gauges, histograms)


def _samples(text: str) -> Iterator[tuple[str, str, str, Labels, float]]:
    """Family, its type, name, labels and value of every sample; buckets are left out."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 (only who reads such a page pays for it)

    try:
        samples = [
            (family.name, family.type, sample.name, sample.labels, float(sample.value))
            for family in text_string_to_metric_families(text.removeprefix("\ufeff"))
            for sample in family.samples
        ]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise EvidenceTextError(f"{_WHAT}: {type(error).__name__}: {error}") from None
    for family, kind, name, labels, value in samples:
        if _IGNORED_LABELS.isdisjoint(labels) and not name.endswith("_created"):
            yield family, kind, name, tuple(sorted(labels.items())), value


def since_start(page: Page) -> dict[str, float | None]:
    """Measures of one page: everything since the server's start."""
    found: dict[str, float | None] = {_key(name, labels, "count", "requests"): value for (name, labels), value in page.counters.items()}
    found |= {_key(name, labels, "value", "1"): value for (name, labels), value in page.gauges.items()}
    for (name, labels), (total, count) in _with_sums(page.histograms):
        found[_key(name, labels, "mean", _unit(name))] = total / count if count else None
        found[_key(name, labels, "count", "samples")] = count
    return found


def between(earlier: Page, later: Page, seconds: float) -> dict[str, float | None]:
    """Measures of the time between two pages of one instance.

    Raises:
        EvidenceTextError: `seconds` is not above zero.
    """
    if not seconds > 0:
        raise EvidenceTextError(f"{_WHAT}: {seconds:g} s lie between the two pages; the later one must be later")
    found: dict[str, float | None] = {"window [s]": seconds}
    for (name, labels), value in later.counters.items():
        grown = value - earlier.counters.get((name, labels), 0.0)
        found[_key(name, labels, "rate", "1/s")] = grown / seconds if grown >= 0 else None
    found |= {_key(name, labels, "value", "1"): value for (name, labels), value in later.gauges.items()}
    before = dict(_with_sums(earlier.histograms))
    for (name, labels), (total, count) in _with_sums(later.histograms):
        old_total, old_count = before.get((name, labels), (0.0, 0.0))
        samples = count - old_count
        found[_key(name, labels, "mean", _unit(name))] = (total - old_total) / samples if samples > 0 else None
        found[_key(name, labels, "count", "samples")] = samples if samples >= 0 else None
    return found


def _with_sums(
    histograms: Mapping[tuple[str, Labels], tuple[float, float]],
) -> Iterator[tuple[tuple[str, Labels], tuple[float, float]]]:
    """Each histogram, and where a name has several sets of labels, all of them together under the name alone."""
    together: dict[str, list[tuple[float, float]]] = {}
    for (name, _), value in histograms.items():
        together.setdefault(name, []).append(value)
    for name, values in together.items():
        if len(values) > 1 or (name, ()) not in histograms:
            yield (name, ()), (sum(total for total, _ in values), sum(count for _, count in values))
    for key, value in histograms.items():
        if key[1] or len(together[key[0]]) == 1:
            yield key, value


def _key(name: str, labels: Labels, statistic: str, unit: str) -> str:
    shown = ",".join(f"{label}={value}" for label, value in labels if value and not set(value) & set("{},=[]"))
    return f"{name}{{{shown}}} {statistic} [{unit}]" if shown else f"{name} {statistic} [{unit}]"


def _unit(name: str) -> str:
    if "latency" in name or "usecs" in name:
        return "us"
    return "rows" if "batch_size" in name or "padding" in name else "1"
