"""The readings that a diagnosis asks for: one list for Cloud Monitoring and for the simulation, so that both say the same names.

Cloud Run's names as in Google's list of metrics (the plural ones: `container/cpu/utilization` does not exist); TF Serving's as its
Prometheus page has them.
"""

from dataclasses import dataclass

from shared.records.evidence import Statistic, reading_key

CLOUD_RUN = "run.googleapis.com/"
REQUEST_COUNT = f"{CLOUD_RUN}request_count"
INSTANCE_COUNT = f"{CLOUD_RUN}container/instance_count"
SERVED = ":tensorflow:serving:request_count"

CLASSES = ("2xx", "4xx", "5xx")
CODES = ("429", "503", "504")
"""Those that Cloud Run itself answers with a meaning of its own: no instance, a broken connection, the request's timeout."""
STATES = ("active", "idle")
STATUSES = ("OK", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "NOT_FOUND", "DEADLINE_EXCEEDED")


@dataclass(frozen=True, slots=True)
class Distribution:
    """A metric of Cloud Run that is a distribution, and what is read of it."""

    name: str
    unit: str
    statistics: tuple[Statistic, ...]
    count_unit: str = ""
    """What its count counts, where that is read too."""

    @property
    def keys(self) -> dict[str, Statistic]:
        """Key to statistic."""
        return {reading_key(self.name, each, self.count_unit if each is Statistic.COUNT else self.unit): each for each in self.statistics}


P50, P95, P99 = Statistic.P50, Statistic.P95, Statistic.P99

DISTRIBUTIONS = (
    Distribution(f"{CLOUD_RUN}container/max_request_concurrencies", "requests", (P99,)),
    Distribution(f"{CLOUD_RUN}container/cpu/utilizations", "ratio", (P50, P95)),
    Distribution(f"{CLOUD_RUN}container/memory/utilizations", "ratio", (P95, P99)),
    Distribution(f"{CLOUD_RUN}container/gpu/utilizations", "ratio", (P50, P95)),
    Distribution(f"{CLOUD_RUN}container/gpu/memory_utilizations", "ratio", (P95, P99)),
    Distribution(f"{CLOUD_RUN}container/startup_latencies", "ms", (P95, Statistic.COUNT), "starts"),
    Distribution(f"{CLOUD_RUN}request_latency/pending", "ms", (P95, P99)),
    Distribution(f"{CLOUD_RUN}request_latencies", "ms", (P50, P95, P99)),
)


@dataclass(frozen=True, slots=True)
class ServerMean:
    """A histogram of TF Serving of which the mean is read: its buckets are too wide for percentiles, sum and count are exact."""

    name: str
    unit: str

    @property
    def key(self) -> str:
        """Of the reading."""
        return reading_key(self.name, Statistic.MEAN, self.unit)


SERVER_MEANS = (
    ServerMean(":tensorflow:serving:batching_session:queuing_latency", "us"),
    ServerMean(":tensorflow:serving:batching_session:processed_batch_size", "rows"),
    ServerMean(":tensorflow:serving:batching_session:padding_size", "rows"),
    ServerMean(":tensorflow:serving:runtime_latency", "us"),
)

TOTAL_KEY = reading_key(REQUEST_COUNT, Statistic.RATE, "1/s")
REQUEST_KEYS = {
    TOTAL_KEY: ("", ""),
    **{reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": each}): ("response_code_class", each) for each in CLASSES},
    **{reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code": each}): ("response_code", each) for each in CODES},
}
"""Key to the label and its value; all of them come from one series list."""
INSTANCE_KEYS = {
    reading_key(INSTANCE_COUNT, statistic, "instances", {"state": state}): (state, statistic)
    for state in STATES
    for statistic in (Statistic.VALUE, Statistic.MAX)
}
SERVED_KEYS = {reading_key(SERVED, Statistic.RATE, "1/s", {"status": status}): status for status in STATUSES}

EXPECTED_KEYS = (
    TOTAL_KEY,
    reading_key(INSTANCE_COUNT, Statistic.VALUE, "instances", {"state": "active"}),
    *(
        key
        for each in DISTRIBUTIONS
        if each.name in {f"{CLOUD_RUN}container/cpu/utilizations", f"{CLOUD_RUN}request_latencies"}
        for key in each.keys
    ),
)
"""Those that every service with traffic has: where one of them has no points, nothing is known of it. Others may have none in good order:
nothing was started or refused, there is no GPU, or no metrics sidecar."""

ALL_KEYS = (
    *REQUEST_KEYS,
    *INSTANCE_KEYS,
    *(key for each in DISTRIBUTIONS for key in each.keys),
    *SERVED_KEYS,
    *(each.key for each in SERVER_MEANS),
)
