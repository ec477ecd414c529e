"""The CPU of an instance as the limit: d for each request, h for each batch, on K vCPU.

Plain conservation of work, so exact for the mean; that CPU waits add to latencies before it is full is not in it.
"""

import math

from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance


def cpu_busy(instance: Instance, rows_per_second: float) -> float:
    """The share rate * (d/s + h/b) / K with the mean batch b of that rate; above 1 where the CPU cannot carry it."""
    return cpu_busy_at(instance, rows_per_second, batch_rows=instance.mean_batch_rows(rows_per_second))


def cpu_busy_at(instance: Instance, rows_per_second: float, *, batch_rows: float) -> float:
    """The same for batches of `batch_rows`."""
    return rows_per_second / MS_PER_SECOND * _cpu_ms_per_row(instance, batch_rows) / instance.vcpus


def cpu_rows_per_second(instance: Instance, *, batch_rows: float | None = None, busy: float = 1.0) -> float:
    """What the CPU carries with batches of `batch_rows` (B where not said): busy * K / (d/s + h/b); infinite where nothing needs CPU.

    `busy` is the share of it in use, Cloud Run's CPU target for one.
    """
    work = _cpu_ms_per_row(instance, float(instance.max_batch_rows) if batch_rows is None else batch_rows)
    return MS_PER_SECOND * busy * instance.vcpus / work if work > 0.0 else math.inf


def cpu_limited_batch_rows(instance: Instance, rows_per_second: float) -> float | None:
    """The mean batch where the CPU may bind: batches grow, beyond what the device makes of them, until their host parts fit.

    max(mean batch, rate*h / (K - rate*d/s)), at most B; None where the CPU cannot carry the rate with any batch up to B. It is
    `cpu_busy` = 1 solved for b.
    """
    rate = rows_per_second / MS_PER_SECOND
    left = instance.vcpus - rate * instance.cpu_ms_per_request / instance.rows_per_request
    host = rate * instance.batch_time.host_ms
    if left < 0.0 or host > left * instance.max_batch_rows:
        return None
    return max(instance.mean_batch_rows(rows_per_second), host / left if host > 0.0 else 0.0)


def _cpu_ms_per_row(instance: Instance, batch_rows: float) -> float:
    return instance.cpu_ms_per_request / instance.rows_per_request + instance.batch_time.host_ms / batch_rows
