"""A small event loop of one instance, written apart from the formulas: what they are held against.

Requests of one row arrive as a Poisson process. A free thread takes what waits, up to B rows; its batch needs the CPU for the host part
(which never waits here), then the one device, first come first served. Deterministic by seed.
"""

import heapq
import random
from dataclasses import dataclass

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance

USD_PER_INSTANCE_SECOND = 2.907e-4
"""4 vCPU, 16 GiB and an L4 without zonal redundancy."""


def small_model(*, batch_rows: int, threads: int) -> Instance:
    """Model A: 4 ms and 0.25 ms a row, half of the 4 ms on the CPU; 0.5 ms of CPU for a request; its objective is 50 ms."""
    return Instance(AffineBatchTime(4.0, 0.25, 2.0), batch_rows, threads, cpu_ms_per_request=0.5, vcpus=4.0)


def large_model(*, batch_rows: int, threads: int) -> Instance:
    """Model B: 12 ms and 1.5 ms a row, 6 ms on the CPU; 2 ms of CPU for a request; its objective is 150 ms."""
    return Instance(AffineBatchTime(12.0, 1.5, 6.0), batch_rows, threads, cpu_ms_per_request=2.0, vcpus=4.0)


@dataclass(frozen=True)
class Observed:
    """Over the requests after a tenth of them."""

    mean_ms: float
    p50_ms: float
    p99_ms: float
    mean_batch_rows: float
    device_busy: float


def observe(instance: Instance, rows_per_second: float, *, requests: int, seed: int) -> Observed:
    chance = random.Random(seed)
    rate = rows_per_second / MS_PER_SECOND
    arrivals: list[float] = []
    now = 0.0
    for _ in range(requests):
        now += chance.expovariate(rate)
        arrivals.append(now)
    host = instance.batch_time.host_ms
    device_times = [instance.batch_time.device_ms(max(1, rows)) for rows in range(instance.max_batch_rows + 1)]
    threads = [0.0] * instance.batch_threads
    device_free = device_used = 0.0
    latencies: list[float] = []
    batches = taken = 0
    while taken < requests:
        start = max(threads[0], arrivals[taken])
        rows = 0
        while rows < instance.max_batch_rows and taken + rows < requests and arrivals[taken + rows] <= start:
            rows += 1
        device_free = max(start + host, device_free) + device_times[rows]
        device_used += device_times[rows]
        heapq.heapreplace(threads, device_free)
        latencies.extend(device_free - arrival for arrival in arrivals[taken : taken + rows])
        taken += rows
        batches += 1
    kept = sorted(latencies[requests // 10 :])
    cpu = instance.cpu_ms_per_request
    return Observed(
        mean_ms=cpu + sum(kept) / len(kept),
        p50_ms=cpu + kept[len(kept) // 2],
        p99_ms=cpu + kept[int(0.99 * len(kept))],
        mean_batch_rows=requests / batches,
        device_busy=device_used / device_free,
    )
