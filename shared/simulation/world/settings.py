"""What the simulated service is: the model's times, the server's settings, Cloud Run's settings. Frozen; a change is a new revision."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.tfserving.batching import (
    DEFAULT_BATCH_TIMEOUT_MICROS,
    DEFAULT_MAX_BATCH_SIZE,
    DEFAULT_MAX_ENQUEUED_BATCHES,
)
from shared.tfserving.capacity.batch_time import AffineBatchTime, BatchTime, TableBatchTime

L4_USD_PER_S = 4 * 0.000018 + 16 * 0.000002 + 0.0001867
"""Cloud Run's list price of a second of one instance: 4 vCPU, 16 GiB, one L4 without zonal redundancy."""
THREADS_PER_VCPU = 4
"""TF Serving's default for gRPC and REST alike."""


@dataclass(frozen=True, slots=True)
class ModelTimes:
    """How long the model takes. `cpu_ms_per_request` is CPU work of each request before it reaches the queue: parse, decode."""

    batch_time: BatchTime
    cpu_ms_per_request: float = 0.0

    @classmethod
    def affine(cls, a_ms: float, c_ms: float, *, host_ms: float = 0.0, cpu_ms_per_request: float = 0.0) -> "ModelTimes":
        """A batch of b rows takes `a_ms + c_ms * b`, of which `host_ms` are on the CPU."""
        return cls(AffineBatchTime(a_ms, c_ms, host_ms), cpu_ms_per_request)

    @classmethod
    def measured(cls, ms_by_rows: Mapping[int, float], *, host_ms: float = 0.0, cpu_ms_per_request: float = 0.0) -> "ModelTimes":
        """Measured times of batches, host part included; between them straight lines."""
        return cls(TableBatchTime(ms_by_rows, host_ms), cpu_ms_per_request)


@dataclass(frozen=True, slots=True)
class Batching:
    """The numbers the batch scheduler works with; TF Serving's defaults, of which the number of threads is the vCPUs'."""

    max_batch_size: int = DEFAULT_MAX_BATCH_SIZE
    timeout_ms: float = DEFAULT_BATCH_TIMEOUT_MICROS / 1000
    max_enqueued_batches: int = DEFAULT_MAX_ENQUEUED_BATCHES
    threads: int | None = None
    allowed_batch_sizes: tuple[int, ...] = ()
    splitting: bool = False
    max_execution_batch_size: int | None = None
    """Read only with splitting on; None is `max_batch_size`."""

    @property
    def batch_rows(self) -> int:
        """Rows of a batch that runs, at most."""
        if self.splitting and self.max_execution_batch_size is not None:
            return self.max_execution_batch_size
        return self.max_batch_size

    def padded(self, rows: int) -> int:
        """Rows of the batch that runs for so many: the smallest allowed size that holds them; above all of them no padding."""
        return min((size for size in self.allowed_batch_sizes if size >= rows), default=rows)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One TF Serving. `batching` None: not enabled, each request runs alone at once."""

    batching: Batching | None = None
    rest: bool = False
    """Requests come over REST, and wait for a server thread; over gRPC they are refused where none is free."""
    server_threads: int | None = None
    """`--grpc_max_threads` or `--rest_api_num_threads`; None is four for each vCPU."""
    kept_threads: int = 0
    """Of them, those that gRPC needs for itself."""
    rest_timeout_s: float = 30.0
    """`--rest_api_timeout_in_ms`, over REST only."""
    poll_ms: float = 0.5
    """An idle batch thread notices an open batch's timeout so much later: it looks once a millisecond."""


@dataclass(frozen=True, slots=True)
class CloudRunSettings:
    """One revision on Cloud Run. A target None means that driver is disabled."""

    concurrency: int = 80
    min_instances: int = 0
    max_instances: int = 20
    vcpus: int = 4
    concurrency_target: float | None = 0.6
    cpu_target: float | None = 0.6
    start_s: float = 25.0
    """From the decision to the first request: image, GPU, model load."""
    timeout_s: float = 300.0
    usd_per_instance_s: float = L4_USD_PER_S
    short_window_s: float = 60.0
    long_window_s: float = 0.0
    """Of the concurrency driver; the larger of both windows' means counts. Zero: no long window."""
    scale_in_hold_s: float = 300.0
    """Instances end that were wanted at no tick of so long a time, and not while the last start is younger."""

    @property
    def pending_s(self) -> float:
        """A request waits so long for an instance, then it is a 429."""
        return max(3.5 * self.start_s, 10.0)


@dataclass(frozen=True, slots=True)
class Revision:
    """All that a revision is."""

    model: ModelTimes
    server: ServerSettings = field(default_factory=ServerSettings)
    cloud_run: CloudRunSettings = field(default_factory=CloudRunSettings)
    client_timeout_s: float = math.inf
    """The deadline of the clients' calls; the server knows it over gRPC."""

    @property
    def usable_threads(self) -> int:
        """Requests that the server works on at once."""
        given = self.server.server_threads
        return (THREADS_PER_VCPU * self.cloud_run.vcpus if given is None else given) - self.server.kept_threads

    @property
    def batch_threads(self) -> int:
        """Batches that run at once."""
        if self.server.batching is None:
            return 0
        given = self.server.batching.threads
        return self.cloud_run.vcpus if given is None else given
