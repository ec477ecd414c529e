"""The metrics that tensorflow_model_server exports for Prometheus: names, kinds, units, labels, and the real name behind a wrong one. Pure.

As in servables/tensorflow/util.cc, session_bundle_util.cc, batching_session.cc and prometheus_exporter.cc: every character of
`/tensorflow/serving/request_count` outside [a-zA-Z0-9_] becomes a colon. Each instance counts from zero.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

PREFIX = ":tensorflow:serving:"
"""Of the server's own metrics; others (:tensorflow:core:, :tensorflow:cc:) are TensorFlow's, and not all are listed here."""
GRAPH_BATCHING = f"{PREFIX}batching:"
"""Of batch operations inside a graph, which --enable_batching does not count in."""
HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")


class Kind(StrEnum):
    """What Prometheus calls it."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class ServingMetric:
    """One metric. `unit` is `us` for microseconds, `rows`, or `1` for things counted."""

    kind: Kind
    unit: str
    labels: tuple[str, ...]
    note: str = ""


TF_SERVING_METRICS: Mapping[str, ServingMetric] = {
    f"{PREFIX}request_count": ServingMetric(
        Kind.COUNTER,
        "1",
        ("model_name", "status"),
        "over REST also every look at a model's status; calls refused for want of a thread are not in it",
    ),
    f"{PREFIX}request_latency": ServingMetric(
        Kind.HISTOGRAM, "us", ("model_name", "API", "entrypoint"), "answered calls only; 2.5 and later"
    ),
    f"{PREFIX}runtime_latency": ServingMetric(
        Kind.HISTOGRAM, "us", ("model_name", "API", "runtime"), "with batching the wait in the queue is in it"
    ),
    f"{PREFIX}batching_session:queuing_latency": ServingMetric(
        Kind.HISTOGRAM, "us", ("thread_pool_name",), "the last finite bucket ends at 1.09 s: use sum and count"
    ),
    f"{PREFIX}batching_session:wrapped_run_count": ServingMetric(Kind.COUNTER, "1", (), "batches run"),
    f"{PREFIX}batching_session:processed_batch_size": ServingMetric(
        Kind.HISTOGRAM, "rows", (), "padding included; buckets 1, 2, 4 to 8192"
    ),
    f"{PREFIX}batching_session:padding_size": ServingMetric(Kind.HISTOGRAM, "rows", ("execution_batch_size",)),
    f"{PREFIX}batching_session:input_batch_size": ServingMetric(Kind.HISTOGRAM, "rows", (), "once for each input tensor, refused ones too"),
    f"{PREFIX}request_example_counts": ServingMetric(Kind.HISTOGRAM, "rows", ("model",), "Classify and Regress only"),
    f"{PREFIX}request_example_count_total": ServingMetric(Kind.COUNTER, "rows", ("model",), "Classify and Regress only"),
    f"{PREFIX}model_warmup_latency": ServingMetric(Kind.HISTOGRAM, "us", ("model_path", "status")),
    f"{PREFIX}model_warmup_records_read": ServingMetric(Kind.COUNTER, "1", ("model_path", "status")),
    f"{PREFIX}request_log_count": ServingMetric(Kind.COUNTER, "1", ("model_name", "status_code"), "only with request logging"),
    ":tensorflow:cc:saved_model:load_attempt_count": ServingMetric(Kind.COUNTER, "1", ("model_path", "status")),
    ":tensorflow:cc:saved_model:load_latency": ServingMetric(Kind.COUNTER, "us", ("model_path",)),
    ":tensorflow:cc:saved_model:load_latency_by_stage": ServingMetric(Kind.HISTOGRAM, "us", ("model_path", "stage")),
    ":tensorflow:core:graph_runs": ServingMetric(Kind.COUNTER, "1", ()),
    ":tensorflow:core:direct_session_runs": ServingMetric(Kind.COUNTER, "1", ()),
    ":tensorflow:core:graph_run_time_usecs": ServingMetric(Kind.COUNTER, "us", ()),
    ":tensorflow:core:graph_run_time_usecs_histogram": ServingMetric(Kind.HISTOGRAM, "us", ()),
}
"""Name on the metrics page to what it is."""

_ALIKE = 0.6
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


def is_metric(name: str) -> bool:
    """Whether the name is one of the table, or a series of one of its histograms (`_bucket`, `_sum`, `_count`)."""
    return base_name(name) is not None


def base_name(name: str) -> str | None:
    """The metric that a series belongs to; None where there is none."""
    if name in TF_SERVING_METRICS:
        return name
    for suffix in HISTOGRAM_SUFFIXES:
        base = name.removesuffix(suffix)
        if base != name and base in TF_SERVING_METRICS and TF_SERVING_METRICS[base].kind is Kind.HISTOGRAM:
            return base
    return None


def is_wrong(name: str) -> bool:
    """Whether it is certainly no metric of the server: under its prefix, and not in the table."""
    return name.startswith(PREFIX) and not name.startswith(GRAPH_BATCHING) and not is_metric(name)


def nearest(name: str) -> str | None:
    """The metric that a name most likely means; None where none is alike."""
    suffix = next((suffix for suffix in ("_bucket", "_sum") if name.endswith(suffix)), "")
    known = {_NOT_A_WORD.sub("_", metric): metric for metric in TF_SERVING_METRICS if metric.startswith(PREFIX)}
    by_last_part = {metric.rpartition(":")[2]: metric for metric in known.values()}
    plain = name.removesuffix(suffix)[:200].lower()
    found = by_last_part.get(plain.rpartition(":")[2])
    if found is None:
        close = get_close_matches(plain.rpartition(":")[2], by_last_part, n=1, cutoff=_ALIKE)
        whole = get_close_matches(_NOT_A_WORD.sub("_", plain), known, n=1, cutoff=_ALIKE)
        found = by_last_part[close[0]] if close else known[whole[0]] if whole else None
    if found is None:
        return None
    return f"{found}{suffix}" if TF_SERVING_METRICS[found].kind is Kind.HISTOGRAM else found
