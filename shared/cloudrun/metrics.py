"""The metrics of Cloud Run in Cloud Monitoring: their names, what kind of points they have, and the real name behind a wrong one. Pure.

Kinds, units and labels are those of the metric descriptors as public exporters and dashboards quote them. Points are taken every 60 s
and can be read up to 120 s later. All utilisations are distributions over the instances; their names are plural.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

PREFIX = "run.googleapis.com/"
RESOURCES = ("cloud_run_revision", "cloud_run_job", "cloud_run_worker_pool")
"""The monitored resources that have them; a service's metrics are its revisions'."""


class Kind(StrEnum):
    """What a point covers (google.api.MetricDescriptor.MetricKind)."""

    GAUGE = "GAUGE"
    """A value at one time."""
    DELTA = "DELTA"
    """The change since the point before."""
    CUMULATIVE = "CUMULATIVE"
    """The sum since a start time."""


class Value(StrEnum):
    """What a point is (google.api.MetricDescriptor.ValueType)."""

    INT64 = "INT64"
    DOUBLE = "DOUBLE"
    DISTRIBUTION = "DISTRIBUTION"


@dataclass(frozen=True, slots=True)
class MetricKind:
    """One metric. `kind` is None where no descriptor could be seen; `unit` as in the descriptor: `1`, `ms`, `By`, `s`."""

    kind: Kind | None
    value: Value
    unit: str
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.value if self.kind is None else f"{self.kind} {self.value}"


_PROBE = ("probe_type", "probe_action", "is_healthy", "is_default", "container_name")
_THROTTLED = MetricKind(Kind.DELTA, Value.INT64, "By", ("network", "transport", "type"))
_COUNT = MetricKind(Kind.DELTA, Value.INT64, "1")
_BYTES = MetricKind(Kind.DELTA, Value.INT64, "By", ("kind",))
_MILLISECONDS = MetricKind(Kind.DELTA, Value.DISTRIBUTION, "ms")
_ANSWERED = ("response_code", "response_code_class")
_SHARES = MetricKind(Kind.DELTA, Value.DISTRIBUTION, "1", ("container_name",))

CLOUD_RUN_METRICS: Mapping[str, MetricKind] = {
    f"{PREFIX}{name}": kind
    for name, kind in {
        "request_count": MetricKind(Kind.DELTA, Value.INT64, "1", _ANSWERED),
        "request_latencies": MetricKind(Kind.DELTA, Value.DISTRIBUTION, "ms", _ANSWERED),
        "request_latency/e2e_latencies": _MILLISECONDS,
        "request_latency/ingress_to_region": _MILLISECONDS,
        "request_latency/pending": _MILLISECONDS,
        "request_latency/routing": _MILLISECONDS,
        "request_latency/user_execution": _MILLISECONDS,
        "request_latency/response_egress": _MILLISECONDS,
        "pending_queue/pending_requests": MetricKind(Kind.GAUGE, Value.INT64, "1"),
        "scaling/recommended_instances": MetricKind(Kind.GAUGE, Value.INT64, "1", ("scaling_driver",)),
        "container/billable_instance_time": MetricKind(Kind.DELTA, Value.DOUBLE, "s"),
        "container/completed_probe_attempt_count": MetricKind(Kind.DELTA, Value.INT64, "1", _PROBE),
        "container/completed_probe_count": MetricKind(Kind.DELTA, Value.INT64, "1", _PROBE),
        "container/containers": MetricKind(Kind.GAUGE, Value.INT64, "1", ("container_name", "state")),
        "container/cpu/allocation_time": MetricKind(Kind.DELTA, Value.DOUBLE, "s"),
        "container/cpu/usage": MetricKind(Kind.GAUGE, Value.DISTRIBUTION, "s", ("container_name",)),
        "container/cpu/utilizations": _SHARES,
        "container/gpu/memory_usages": MetricKind(None, Value.DISTRIBUTION, "By"),
        "container/gpu/memory_utilizations": MetricKind(None, Value.DISTRIBUTION, "1"),
        "container/gpu/utilizations": MetricKind(None, Value.DISTRIBUTION, "1"),
        "container/instance_count": MetricKind(Kind.GAUGE, Value.INT64, "1", ("state",)),
        "container/max_request_concurrencies": MetricKind(Kind.DELTA, Value.DISTRIBUTION, "1", ("state",)),
        "container/memory/allocation_time": MetricKind(Kind.DELTA, Value.DOUBLE, "GBy.s"),
        "container/memory/usage": MetricKind(Kind.GAUGE, Value.DISTRIBUTION, "By", ("container_name",)),
        "container/memory/utilizations": _SHARES,
        "container/network/received_bytes_count": _BYTES,
        "container/network/sent_bytes_count": _BYTES,
        "container/network/throttled_inbound_bytes_count": _THROTTLED,
        "container/network/throttled_inbound_packets_count": _THROTTLED,
        "container/network/throttled_outbound_bytes_count": _THROTTLED,
        "container/network/throttled_outbound_packets_count": _THROTTLED,
        "container/probe_attempt_latencies": MetricKind(Kind.DELTA, Value.DISTRIBUTION, "ms", _PROBE),
        "container/probe_latencies": MetricKind(Kind.DELTA, Value.DISTRIBUTION, "ms", _PROBE),
        "container/startup_latencies": _MILLISECONDS,
        "job/completed_execution_count": MetricKind(Kind.DELTA, Value.INT64, "1", ("result",)),
        "job/completed_task_attempt_count": MetricKind(Kind.DELTA, Value.INT64, "1", ("result", "attempt")),
        "job/running_executions": MetricKind(Kind.GAUGE, Value.INT64, "1"),
        "job/running_task_attempts": MetricKind(Kind.GAUGE, Value.INT64, "1"),
        "infrastructure/cloudsql/connection_latencies": MetricKind(Kind.DELTA, Value.DISTRIBUTION, "us"),
        "infrastructure/cloudsql/connection_refused_count": _COUNT,
        "infrastructure/cloudsql/connection_request_count": _COUNT,
        "infrastructure/cloudsql/received_bytes_count": MetricKind(Kind.DELTA, Value.INT64, "By"),
        "infrastructure/cloudsql/sent_bytes_count": MetricKind(Kind.DELTA, Value.INT64, "By"),
    }.items()
}
"""Metric type to what it is."""

_WHOLE_FAMILIES = frozenset({"", "container", "request_latency", "pending_queue"})
"""Of these, all names are in the table; of others there may be more."""
_ALIKE = 0.6
_CERTAIN = 0.9
_PART = re.compile(r"[a-z0-9]+")
_SAME_MEANING = {
    "concurrent": "concurrency",
    "used": "usage",
    "duty": "utilization",
    "accelerator": "gpu",
    "cold": "startup",
    "coldstart": "startup",
    "latency": "latency",
    "duration": "latency",
    "requests": "request",
    "vram": "memory",
    "instances": "instance",
}
_FILLERS = frozenset({"cycle", "total", "avg", "average", "start"})
_MEANT = {
    **dict.fromkeys(("concurrency", "concurrencies", "concurrent_requests"), "container/max_request_concurrencies"),
    **dict.fromkeys(("active_instances", "instances", "instance_counts"), "container/instance_count"),
    **dict.fromkeys(("requests", "request_errors", "errors", "error_count", "error_rate", "response_count"), "request_count"),
    **dict.fromkeys(("latency", "latencies", "response_latency", "response_latencies", "request_latency"), "request_latencies"),
    **dict.fromkeys(("cold_starts", "cold_start_count", "cold_start_latency"), "container/startup_latencies"),
}
"""Last part of a name that shares too few words with the metric it means."""


def is_metric(name: str) -> bool:
    """Whether Cloud Run has a metric of that type, `run.googleapis.com/...`."""
    return name in CLOUD_RUN_METRICS


def is_wrong(name: str) -> bool:
    """Whether it is certainly no metric of Cloud Run: not in the table, in a family that the table has whole, or a slip of a known name."""
    if is_metric(name) or not name.startswith(PREFIX):
        return False
    family, slash, _ = name.removeprefix(PREFIX).partition("/")
    if (family if slash else "") in _WHOLE_FAMILIES:
        return True
    best = max(CLOUD_RUN_METRICS, key=lambda known: _likeness(name, known))
    return _likeness(name, best) >= _CERTAIN


def nearest(name: str) -> str | None:
    """The metric that a name most likely means, whatever separates its parts; None where none is alike."""
    meant = _MEANT.get(name.rpartition("/")[2].lower())
    if meant is not None:
        return f"{PREFIX}{meant}"
    best = max(CLOUD_RUN_METRICS, key=lambda known: _likeness(name, known))
    return best if _likeness(name, best) >= _ALIKE else None


def _likeness(name: str, known: str) -> float:
    """From 0 to 1: the share of common words, with the likeness of the letters where words are equally common."""
    ours, theirs = _words(name), _words(known)
    common = len(ours & theirs) / max(1, len(ours | theirs))
    letters = SequenceMatcher(None, name.removeprefix(PREFIX)[:100], known.removeprefix(PREFIX), autojunk=False).ratio()
    return 0.75 * common + 0.25 * letters


def _words(name: str) -> frozenset[str]:
    """The words of a name, singular, synonyms as one."""
    words = _PART.findall(name.lower().removeprefix(PREFIX).replace("run_googleapis_com", ""))
    found = {_SAME_MEANING.get(word, _singular(word)) for word in words if word not in _FILLERS}
    return frozenset(found)


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word.removesuffix("s")
