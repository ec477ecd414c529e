"""The symbols of TF Serving's batch scheduler as the rules about batching use them: what was written, and the server's defaults. Pure."""

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass

from shared.cloudrun.limits import MAX_CONCURRENCY
from shared.lint.deployment import Deployment
from shared.tfserving.batching import DEFAULT_BATCH_TIMEOUT_MICROS, DEFAULT_MAX_BATCH_SIZE, DEFAULT_MAX_ENQUEUED_BATCHES
from shared.tfserving.batching_parameters import BatchingParameters

GPU_BATCH_THREADS = 2
"""On one card: while one batch computes, the next is prepared."""
MIN_ENQUEUED_BATCHES = 4
"""A queue of fewer is full after every burst."""
START_MAX_BATCH_SIZE = 32
"""Where nothing was measured: on every GPU far from its memory, and half or more of the way to what batching can gain."""
_STILL_GAINS = 0.9
"""A step to larger batches is worth it while it takes a tenth off the time of a row."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """One deployment's batching. A number that is not known, or that TF Serving refuses, is None: rules that need it are skipped.

    `size` B, `timeout` tau in microseconds, `queue` Q, `threads` T, `execution` E the rows of a batch as it runs; `concurrency` C,
    `rows` r. Left out, B is 1000, tau 0, Q 10 and T the number of vCPU.
    """

    given: BatchingParameters
    splitting: bool
    size: int | None
    timeout: int | None
    queue: int | None
    threads: int | None
    execution: int | None
    concurrency: int | None
    rows: int
    cpus: int | None
    gpu: bool

    @property
    def queued_rows(self) -> int:
        """Rows that a request brings into the queue: r, at most E unless batches are split, since a larger request is refused."""
        return self.rows if self.splitting or self.execution is None else min(self.rows, self.execution)

    @property
    def admitted_rows(self) -> int | None:
        """C x r: what Cloud Run lets into an instance at once."""
        return None if self.concurrency is None else self.concurrency * self.queued_rows

    @property
    def deepest_queue(self) -> int | None:
        """Qe: batches that can really wait; Cloud Run's concurrency bounds them too."""
        if self.queue is None or self.execution is None:
            return None
        return self.queue if self.admitted_rows is None else min(self.queue, -(-self.admitted_rows // self.execution))

    @property
    def parallel_batches(self) -> int | None:
        """T': batches that really run at once; the threads of a GPU service share one card."""
        return 1 if self.gpu else self.threads

    @property
    def good_threads(self) -> int:
        """T as a service starts with it: 2 on a GPU, else one for each CPU; fewer where requests would be too few to share them."""
        most = GPU_BATCH_THREADS if self.gpu else (self.cpus or 1)
        return most if self.concurrency is None else max(1, min(most, self.concurrency // 2))

    @property
    def good_size(self) -> int:
        """The largest power of two of which T + 1 batches are filled by C x r rows, at most 32; 32 where C is not known."""
        if self.admitted_rows is None:
            return START_MAX_BATCH_SIZE
        filled = self.concurrency_rows() // (self.good_threads + 1)
        return max(self.queued_rows, min(START_MAX_BATCH_SIZE, 1 << (filled.bit_length() - 1) if filled else 1))

    def concurrency_rows(self) -> int:
        """C x r as the user states r; 0 where C is not known."""
        return (self.concurrency or 0) * self.rows

    def good_concurrency(self, execution: int, threads: int | None = None) -> int:
        """C = (T + 1) x E / r: the batches that run, and one more that fills; 1 to 1000."""
        threads = self.good_threads if threads is None else threads
        return max(1, min(MAX_CONCURRENCY, -(-(threads + 1) * execution // self.rows)))

    def good_queue(self, concurrency: int, execution: int) -> int:
        """Q in which the requests of an instance always find room, with one batch to spare; at least 4."""
        whole_requests = max(1, execution // self.rows)
        batches = -(-concurrency * self.rows // execution) if self.splitting else -(-concurrency // whole_requests)
        return max(MIN_ENQUEUED_BATCHES, batches + 1)


def scheduling(deployment: Deployment) -> Scheduling | None:
    """The symbols of a deployment whose batching file is given and can be read.

    A file that is given is judged whether or not the flags pass it: its numbers are meant. Of one that is only named by a flag, and of
    the defaults without a file, nothing is said.
    """
    given = deployment.batching.meant if deployment.batching is not None else None
    if given is None:
        return None
    splitting = bool(given.enable_large_batch_splitting)
    size = _positive(DEFAULT_MAX_BATCH_SIZE if given.max_batch_size is None else given.max_batch_size)
    timeout = DEFAULT_BATCH_TIMEOUT_MICROS if given.batch_timeout_micros is None else given.batch_timeout_micros
    cpus = None if deployment.vcpu is None else max(1, int(deployment.vcpu))
    concurrency = deployment.concurrency
    return Scheduling(
        given=given,
        splitting=splitting,
        size=size,
        timeout=timeout if timeout >= 0 else None,
        queue=_queue(given.max_enqueued_batches, splitting=splitting),
        threads=cpus if given.num_batch_threads is None else _positive(given.num_batch_threads),
        execution=_execution(given, size, splitting=splitting),
        concurrency=concurrency if concurrency is not None and concurrency <= MAX_CONCURRENCY else None,
        rows=deployment.rows,
        cpus=cpus,
        gpu=deployment.gpu,
    )


def batch_time_ms(measured: Mapping[int, float], rows: int) -> float | None:
    """s(rows), milliseconds that a batch takes at least; None where the measured points do not say.

    At a measured size its time, between two sizes the straight line. Above the largest it is that size's time: a larger batch never
    takes less. Below the smallest nothing is safe to say.
    """
    if rows in measured:
        return measured[rows]
    sizes = sorted(measured)
    if not sizes or rows < sizes[0]:
        return None
    if rows > sizes[-1]:
        return measured[sizes[-1]]
    above = bisect.bisect(sizes, rows)
    lower, upper = sizes[above - 1], sizes[above]
    part = (rows - lower) / (upper - lower)
    return measured[lower] + part * (measured[upper] - measured[lower])


def knee(measured: Mapping[int, float]) -> int | None:
    """The measured size from which on larger batches gain less than a tenth a row; None with fewer than two sizes."""
    sizes = sorted(size for size, time in measured.items() if size > 0 and time > 0)
    if len(sizes) < 2:  # noqa: PLR2004 (a gain is between two)
        return None
    best = sizes[0]
    for size in sizes[1:]:
        if measured[size] / size > _STILL_GAINS * measured[best] / best:
            break
        best = size
    return best


def affordable_queue(plan: Scheduling, *, batch_ms: float, timeout_ms: float, p99_ms: float) -> int:
    """Batches that may wait so that the last of them, and the batch behind it, end within the objective; below 1: none may."""
    return math.floor((p99_ms - batch_ms - timeout_ms) * (plan.parallel_batches or 1) / batch_ms) if batch_ms > 0 else 0


def _positive(value: int) -> int | None:
    return value if value > 0 else None


def _queue(stated: int | None, *, splitting: bool) -> int | None:
    """Q as the server takes it: without splitting 0 is silently made 1."""
    if stated is None:
        return DEFAULT_MAX_ENQUEUED_BATCHES
    if stated == 0 and not splitting:
        return 1
    return _positive(stated)


def _execution(given: BatchingParameters, size: int | None, *, splitting: bool) -> int | None:
    if not splitting:
        return size
    stated = given.max_execution_batch_size if given.max_execution_batch_size is not None else given.max_batch_size
    if stated is None or stated <= 0 or size is None or stated > size:
        return None
    return stated
