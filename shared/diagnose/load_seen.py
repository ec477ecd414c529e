"""What the metrics say of load and its effects: each reading picks the statistic that tells most. Pure.

`mean` of a utilisation hides a busy minute and `max` invents one, so that "busy" is asked of the middle and "idle" of the peak.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from shared.diagnose.measures import Measure, Measures

_MIDDLE = ("p50", "mean", "value", "ratio", "p90", "p95", "p99", "max")
_HIGH = ("p95", "p99", "p90", "max", "mean", "value", "ratio", "p50")
_PEAK = ("max", "p99", "p95", "p90", "value", "mean", "ratio", "p50")
_COUNTS = ("max", "p99", "value", "p95", "mean", "p50")
_RATES = ("rate", "value", "mean", "max", "count", "p50")
_TAIL = ("p99", "p95", "p90", "max", "mean", "value", "p50")
_AVERAGE = ("mean", "p50", "value", "p90", "p95", "p99")
_LATENCIES = ("request_latencies", "request_latency_e2e_latencies", "client_latency", "client_latencies")
FRESH_SECONDS = 180.0
"""Cloud Monitoring's points are complete about this long after their minute."""
NOISE = 0.001
"""Failures over requests that are noise."""
COMPLETE_RATIO = 0.8
"""The least share of the points of a window that a decision may rest on."""


@dataclass(frozen=True)
class Load:
    """Readings of one question. None: not measured, or the query returned no points."""

    measures: Measures

    # --- Busy or idle -------------------------------------------------------------------------------------------------------------

    @cached_property
    def gpu(self) -> Measure | None:
        """GPU utilisation in the middle of the window, as a ratio."""
        return self.measures.pick("container_gpu_utilizations", "gpu_utilizations", statistics=_MIDDLE)

    @cached_property
    def gpu_peak(self) -> Measure | None:
        """GPU utilisation at its highest."""
        return self.measures.pick("container_gpu_utilizations", "gpu_utilizations", statistics=_PEAK)

    @cached_property
    def gpu_memory(self) -> Measure | None:
        """GPU memory in use, as a ratio. TensorFlow takes nearly all of it at start: high is normal."""
        return self.measures.pick("container_gpu_memory_utilizations", statistics=_PEAK)

    @cached_property
    def gpu_memory_used(self) -> Measure | None:
        """GPU memory in use, in bytes."""
        return self.measures.pick("container_gpu_memory_usages", statistics=_PEAK)

    @cached_property
    def cpu(self) -> Measure | None:
        """CPU utilisation, as a ratio."""
        return self.measures.pick("container_cpu_utilizations", statistics=_HIGH)

    @cached_property
    def memory(self) -> Measure | None:
        """Host memory at its highest, as a ratio."""
        return self.measures.pick("container_memory_utilizations", statistics=_PEAK)

    # --- Instances and requests in flight ------------------------------------------------------------------------------------------

    @cached_property
    def instances(self) -> Measure | None:
        """Active instances at their most, of any one revision."""
        return self.measures.pick("container_instance_count", statistics=_COUNTS, where=_not_idle)

    @cached_property
    def instance_total(self) -> float | None:
        """Active instances, all revisions together."""
        return self.measures.total("container_instance_count", statistics=_COUNTS, where=_not_idle)

    @cached_property
    def idle_instances(self) -> Measure | None:
        """Instances kept without work."""
        return self.measures.pick("container_instance_count", statistics=("p50", "mean", "value", "min", "max"), where=_idle)

    @cached_property
    def in_flight(self) -> Measure | None:
        """Requests at once in one instance, as Cloud Run counts them."""
        return self.measures.pick("container_max_request_concurrencies", statistics=_TAIL)

    @cached_property
    def callers(self) -> Measure | None:
        """Calls at once, as the client counts them."""
        return self.measures.pick("client_parallel_callers", "client_in_flight", "client_concurrency", statistics=_PEAK)

    @cached_property
    def pending(self) -> Measure | None:
        """Milliseconds that requests waited for an instance."""
        return self.measures.pick("request_latency_pending", statistics=_TAIL)

    @cached_property
    def startup(self) -> Measure | None:
        """Milliseconds from an instance's start to its readiness."""
        return self.measures.pick("container_startup_latencies", statistics=_HIGH)

    @cached_property
    def starts(self) -> Measure | None:
        """How many instances started."""
        return self.measures.pick("container_startup_latencies", statistics=("count",))

    # --- Requests -----------------------------------------------------------------------------------------------------------------

    def answered(self, code: str) -> float | None:
        """Requests a second that Cloud Run answered with a status (`429`) or a class (`5xx`)."""
        exact = self.measures.total("request_count", statistics=_RATES, where=lambda labels: labels.get("response_code") == code)
        if exact is not None:
            return exact
        return self.measures.total("request_count", statistics=_RATES, where=lambda labels: labels.get("response_code_class") == code)

    @cached_property
    def answered_all(self) -> float | None:
        """All requests a second that Cloud Run counts."""
        whole = self.measures.total("request_count", statistics=_RATES, where=lambda labels: not labels.keys() & _ANSWER_LABELS)
        if whole is not None:
            return whole
        for label in ("response_code_class", "response_code"):
            summed = self.measures.total("request_count", statistics=_RATES, where=lambda labels, label=label: label in labels)  # type: ignore[misc]
            if summed is not None:
                return summed
        return self.measures.total("request_count", statistics=_RATES, where=lambda _: True)

    @cached_property
    def errors(self) -> tuple[Measure, ...]:
        """Every known count of failures that is above zero: Cloud Run's 4xx and 5xx, TF Serving's and the client's codes."""
        cloud_run = [
            each
            for each in self.measures.named("request_count")
            if each.labels.get("response_code", each.labels.get("response_code_class", "2"))[:1] in {"4", "5"}
        ]
        serving = [each for each in self.measures.named("tensorflow_serving_request_count") if each.labels.get("status", "OK") != "OK"]
        clients = [each for each in self.measures.all if each.name.startswith("client_error")]
        return tuple(each for each in (*cloud_run, *serving, *clients) if each.value)

    def served(self, status: str) -> Measure | None:
        """Requests a second that reached TF Serving and ended so."""
        return self.measures.pick(
            "tensorflow_serving_request_count", statistics=_RATES, where=lambda labels: labels.get("status") == status
        )

    def refusing(self, status: str) -> Measure | None:
        """As `served`, where it is more than noise beside all requests."""
        own, whole = self.served(status), self.served_all
        return own if own is not None and (own.value or 0.0) > NOISE * (whole or 0.0) else None

    @cached_property
    def served_all(self) -> float | None:
        """All requests a second that TF Serving counts."""
        return self.measures.total("tensorflow_serving_request_count", statistics=_RATES, where=lambda _: True)

    def client_errors(self, code: str) -> Measure | None:
        """Failures a second that the client counts under a gRPC code."""
        return self.measures.pick(
            "client_errors", "client_error_count", statistics=_RATES, where=lambda labels: labels.get("code", labels.get("status")) == code
        )

    @cached_property
    def per_instance(self) -> Measure | None:
        """Requests a second of one instance, where a key says so."""
        found = [
            each
            for each in self.measures.named("request_count")
            if "instance" in (each.point.get("per"), each.labels.get("per")) and each.value
        ]
        return max(found, key=lambda each: (each.value or 0.0, each.key), default=None)

    # --- Latency, queue, batches ----------------------------------------------------------------------------------------------------

    @cached_property
    def latency(self) -> Measure | None:
        """Milliseconds of the slow requests."""
        return self.measures.pick(*_LATENCIES, statistics=_TAIL, where=_no_code)

    @cached_property
    def latency_middle(self) -> Measure | None:
        """Milliseconds of the request in the middle."""
        return self.measures.pick(*_LATENCIES, statistics=("p50", "mean"), where=_no_code)

    @cached_property
    def queue_wait(self) -> Measure | None:
        """Milliseconds that a request waited in the batching queue."""
        return self.measures.pick("tensorflow_serving_batching_session_queuing_latency", statistics=_AVERAGE)

    @cached_property
    def run_time(self) -> Measure | None:
        """Milliseconds of a session's run, its wait in the queue included."""
        return self.measures.pick("tensorflow_serving_runtime_latency", statistics=_AVERAGE)

    @cached_property
    def server_time(self) -> Measure | None:
        """Milliseconds of a request inside TF Serving, decoding included."""
        return self.measures.pick("tensorflow_serving_request_latency", statistics=_AVERAGE)

    @cached_property
    def batch_rows(self) -> Measure | None:
        """Rows of a batch, padding included."""
        return self.measures.pick("tensorflow_serving_batching_session_processed_batch_size", statistics=_AVERAGE)

    @cached_property
    def padding(self) -> Measure | None:
        """Rows of padding in a batch."""
        return self.measures.pick("tensorflow_serving_batching_session_padding_size", statistics=_AVERAGE)

    @cached_property
    def real_rows(self) -> float | None:
        """Rows of a batch that somebody asked for."""
        if self.batch_rows is None or self.batch_rows.value is None:
            return None
        padding = self.padding.value if self.padding is not None and self.padding.value is not None else 0.0
        return max(0.0, self.batch_rows.value - padding)

    # --- How much it can be trusted -------------------------------------------------------------------------------------------------

    @cached_property
    def age_seconds(self) -> float | None:
        """How long ago the window ended when it was read."""
        age = self.measures.pick("window_end_age")
        return age.value / 1000 if age is not None and age.value is not None else None

    @cached_property
    def too_fresh(self) -> bool:
        """Whether the window is newer than the delay with which points appear."""
        return self.age_seconds is not None and self.age_seconds < FRESH_SECONDS

    @cached_property
    def sparse(self) -> Measure | None:
        """The share of points present, where it is too small."""
        share = self.measures.pick("points", statistics=("present", "ratio", "value")) or self.measures.pick("points_present")
        return share if share is not None and share.value is not None and share.value < COMPLETE_RATIO else None

    @cached_property
    def span_seconds(self) -> float | None:
        """The longest time that a value or the window is made of."""
        window = self.measures.pick("window")
        spans = [each.span_seconds for each in self.measures.known if each.span_seconds is not None]
        if window is not None and window.value is not None:
            spans.append(window.value / 1000)
        return max(spans, default=None)


_ANSWER_LABELS = frozenset({"response_code", "response_code_class", "revision_name", "status", "per"})


def _not_idle(labels: Mapping[str, str]) -> bool:
    return labels.get("state") != "idle"


def _idle(labels: Mapping[str, str]) -> bool:
    return labels.get("state") == "idle"


def _no_code(labels: Mapping[str, str]) -> bool:
    return not labels.keys() & {"response_code", "response_code_class"}


def number(measure: Measure | None) -> float | None:
    """Its value."""
    return None if measure is None else measure.value


def above(measure: Measure | None, limit: float) -> bool:
    """Whether it is known and at least `limit`."""
    return measure is not None and measure.value is not None and measure.value >= limit


def below(measure: Measure | None, limit: float) -> bool:
    """Whether it is known and less than `limit`."""
    return measure is not None and measure.value is not None and measure.value < limit
