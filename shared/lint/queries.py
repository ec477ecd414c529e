"""Metrics and aligners that a monitoring query names: an alert policy or dashboard as YAML, JSON or Terraform, a filter, MQL, PromQL. Pure.

A document is read as such, so that prose about metrics is not taken for a query; what is no document is searched as text. Whatever
cannot be read gives nothing.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shared.cloudrun.metrics import PREFIX as CLOUD_RUN
from shared.cloudrun.yaml_values import YamlTextError, load_yaml, plain_value

PROMETHEUS = "prometheus.googleapis.com/"
"""Of metrics that a Prometheus sidecar writes to Cloud Monitoring: the name on the page, and `/counter` or `/histogram` behind it."""
MAX_QUERY = 200_000
"""Characters; of a longer text only so many are read."""

_NAME = r"[A-Za-z0-9_./:-]+"
_QUOTE = r"\\*[\"'`]?"
_COMPARED = re.compile(
    rf"\bmetric\s*\.\s*type\s*(?:!?=|:|==)\s*(?:(?P<function>[a-z_.]+)\s*\()?\s*(?P<names>{_QUOTE}{_NAME}{_QUOTE}(?:\s*,\s*{_QUOTE}{_NAME}{_QUOTE})*)"
)
_MQL = re.compile(rf"(?:\bmetric\s+|::\s*){_QUOTE}(?P<names>{_NAME})")
_FIELD = re.compile(rf"\b(?:metricType|metric_type|__name__)\\*[\"']?\s*[:=]\s*{_QUOTE}(?P<names>{_NAME})")
_SELECTOR = re.compile(rf"{{\s*\\*[\"'](?P<names>(?:{re.escape(CLOUD_RUN)}|{re.escape(PROMETHEUS)}){_NAME})")
_PROMQL = re.compile(r"(?<![\w:])(?P<names>run_googleapis_com:[A-Za-z0-9_]+)")
_SERVING = re.compile(r"(?<![\w:/])(?P<names>:tensorflow:serving:[A-Za-z0-9_:]+)")
_NAME_PATTERNS = (_COMPARED, _MQL, _FIELD, _SELECTOR, _PROMQL, _SERVING)
_RESOURCE = re.compile(rf"\bresource\s*\.\s*type\s*(?:!?=|:|==)\s*{_QUOTE}(?P<name>[A-Za-z0-9_]+)")
_ALIGNER = re.compile(r"per_?series_?aligner\W{1,8}(?P<name>ALIGN_[A-Z0-9_]+)", re.IGNORECASE)
_CONDITION = re.compile(
    r"\bcondition_?(?:threshold|absent|monitoring_?query_?language|prometheus_?query_?language)\b|\bdata_?sets?\b", re.IGNORECASE
)
_DENOMINATOR = re.compile(r"denominator_?(?:filter|aggregations?)\b", re.IGNORECASE)
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))(?:#|//).*$")
_LISTS = frozenset({"one_of"})
"""Functions of a filter whose arguments are whole names; those of others are beginnings and patterns."""
_UNFINISHED = ("*", "$", "%", "<", "{{")
"""What makes a name a pattern, or a template's."""
_FILTERS = {
    "filter": ("aggregations", "aggregation"),
    "denominatorFilter": ("denominatorAggregations", "denominatorAggregation"),
}
_QUERIES = frozenset({"query", "expr", "promql", "prometheusQuery", "timeSeriesQueryLanguage", "metricType", "opsAnalyticsQuery"})


@dataclass(frozen=True, slots=True)
class Aligned:
    """One part of a query: the metrics it names, the first per-series aligner applied to them, and its resource types."""

    metrics: tuple[str, ...]
    aligner: str | None
    resources: tuple[str, ...] = ()


def read_queries(text: str) -> list[Aligned]:
    """All parts of all queries in a text, in its order."""
    text = text[:MAX_QUERY]
    try:
        document, _ = load_yaml(text, plain_value)
    except YamlTextError:
        document = None
    found = list(_in_document(document)) if isinstance(document, dict | list) else []
    return found or list(_in_text(text))


def _in_document(value: Any) -> Iterator[Aligned]:
    if isinstance(value, list):
        for each in value:
            yield from _in_document(each)
    if not isinstance(value, dict):
        return
    fields = {_camel(str(name)): each for name, each in value.items()}
    for name, each in fields.items():
        if name in _FILTERS and isinstance(each, str):
            yield Aligned(_names(each), _aligner(fields, _FILTERS[name]), _resources(each))
        elif name in _QUERIES and isinstance(each, str):
            yield Aligned(_names(f"{name}: {each}" if name == "metricType" else each), None, _resources(each))
        else:
            yield from _in_document(each)


def _aligner(fields: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Of the first aggregation: a second one works on its result."""
    for name in names:
        each = fields.get(name)
        first = each[0] if isinstance(each, list) and each else each
        if isinstance(first, dict):
            stated = next((value for key, value in first.items() if _camel(str(key)) == "perSeriesAligner"), None)
            if isinstance(stated, str):
                return stated
    return None


def _in_text(text: str) -> Iterator[Aligned]:
    """Conditions one by one: what stands in front of the first, then each with what belongs to it."""
    plain = _COMMENT.sub("", text)
    starts = [0, *(found.start() for found in _CONDITION.finditer(plain)), len(plain)]
    for begin, end in itertools.pairwise(starts):
        part = plain[begin:end]
        divided = _DENOMINATOR.search(part)
        own, below = (part[: divided.start()], part[divided.start() :]) if divided else (part, "")
        aligner = _ALIGNER.search(own)
        if (names := _names(own)) or (aligner and not divided) or _resources(own):
            yield Aligned(names, aligner["name"] if aligner and len(set(names)) <= 1 else None, _resources(own))
        if below and (names := _names(below)):
            yield Aligned(names, None, _resources(below))


def _names(text: str) -> tuple[str, ...]:
    """Names of metrics in a query, in its order, each once."""
    found: dict[int, str] = {}
    for pattern in _NAME_PATTERNS:
        for match in pattern.finditer(text):
            if (function := match.groupdict().get("function")) and function not in _LISTS:
                continue
            if text[match.end("names") :].startswith(_UNFINISHED):
                continue
            for part in re.finditer(_NAME, match["names"]):
                found.setdefault(match.start("names") + part.start(), part[0].rstrip(".:"))
    return tuple(dict.fromkeys(name for _, name in sorted(found.items())))


def _resources(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match["name"] for match in _RESOURCE.finditer(text)))


def _camel(name: str) -> str:
    """`per_series_aligner`, as Terraform has it, is `perSeriesAligner`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
