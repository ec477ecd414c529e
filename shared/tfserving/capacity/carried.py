"""What one instance carries at most as it is configured, and which of its limits that is."""

from dataclasses import dataclass
from enum import StrEnum

from shared.tfserving.capacity.concurrency import Admission, saturated_batch_rows, saturated_rows_per_second, timeout_limits
from shared.tfserving.capacity.cpu import cpu_busy_at, cpu_rows_per_second
from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance


class Limit(StrEnum):
    """What keeps an instance from carrying more."""

    DEVICE = "device"
    """Full batches, one after the other."""
    BATCH_THREADS = "batch threads"
    """Full batches; the threads that run them are all busy before the device is."""
    CPU = "cpu"
    CONCURRENCY = "concurrency"
    """Cloud Run lets in too few requests to fill batches."""
    SERVER_THREADS = "server threads"
    """Cloud Run would let in more than the server has threads for, and those are too few to fill batches."""
    BATCH_TIMEOUT = "batch timeout"
    """Batches never fill, so each waits for the timeout."""


@dataclass(frozen=True, slots=True)
class Carried:
    """An instance under more load than it can carry."""

    rows_per_second: float
    batch_rows: float
    device_busy: float
    cpu_busy: float
    limit: Limit


def carried(instance: Instance, admission: Admission, *, batch_timeout_ms: float = 0.0) -> Carried:
    """The least of `saturated_rows_per_second` and `cpu_rows_per_second`, both with the batch that the requests let in make.

    Where the CPU binds, fewer requests wait for batches than here, so batches are smaller and the CPU's rate is an upper bound; it is
    exact where nothing is batched.
    """
    requests = admission.requests
    timed_out = timeout_limits(instance, requests, batch_timeout_ms=batch_timeout_ms)
    batch = requests * instance.rows_per_request if timed_out else saturated_batch_rows(instance, requests)
    rate = saturated_rows_per_second(instance, requests, batch_timeout_ms=batch_timeout_ms)
    of_cpu = cpu_rows_per_second(instance, batch_rows=batch)
    if of_cpu < rate:
        rate, limit = of_cpu, Limit.CPU
    elif timed_out:
        limit = Limit.BATCH_TIMEOUT
    elif batch < instance.max_batch_rows:
        limit = Limit.SERVER_THREADS if admission.beyond else Limit.CONCURRENCY
    else:
        device_bound = instance.batch_time.device_ms(batch) >= instance.batch_time.total_ms(batch) / instance.batch_threads
        limit = Limit.DEVICE if device_bound else Limit.BATCH_THREADS
    return Carried(
        rows_per_second=rate,
        batch_rows=batch,
        device_busy=min(1.0, rate / MS_PER_SECOND / batch * instance.batch_time.device_ms(batch)),
        cpu_busy=cpu_busy_at(instance, rate, batch_rows=batch),
        limit=limit,
    )
