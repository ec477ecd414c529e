"""What the search for the best static settings turns, where it begins and how it moves on. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shared.cloudrun.template_limits import MIN_SET_POINT, SET_POINTS
from shared.simulation.world.settings import Batching, Revision
from shared.simulation.world.streams import stream
from shared.simulation.world.workload import Rate, Workload
from shared.tfserving.capacity.concurrency import concurrency_to_fill
from shared.tfserving.capacity.fleet import concurrency_target
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.inverses import rate_within_p99

MAX_CONCURRENCY = 1_000
HIGHEST_TARGET = SET_POINTS["concurrencyUtilization"]
HIGHEST_CPU_TARGET = SET_POINTS["cpuUtilization"]
MAX_BATCH_THREADS = 4
MAX_BATCH_ROWS = 512
SPARE_THREADS = 8
"""Server threads above the concurrency: gRPC keeps some for itself."""
SPARE_REQUESTS = 1.3
"""Concurrency above the one that just fills a batch, where the search begins: requests in parse and encode, and chance."""
CLOSE = 0.9
"""Shapes that the capacity model gives less than this part of the best one's rate are not looked at."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """One choice of everything that is turned.

    What follows from it is not: the queue holds whoever is let in, nobody waits for a batch to fill, each request has a server thread.
    """

    batch_rows: int
    batch_threads: int
    concurrency: int
    concurrency_target: float
    cpu_target: float
    min_instances: int
    max_instances: int

    def revision(self, base: Revision, largest_request: int) -> Revision:
        """The revision with these settings; vCPUs, protocol, price and times are the base's."""
        batching = Batching(
            max_batch_size=self.batch_rows,
            timeout_ms=0.0,
            max_enqueued_batches=self._batches(largest_request),
            threads=self.batch_threads,
        )
        server = replace(base.server, batching=batching, server_threads=self.concurrency + max(SPARE_THREADS, base.server.kept_threads))
        cloud_run = replace(
            base.cloud_run,
            concurrency=self.concurrency,
            concurrency_target=self.concurrency_target,
            cpu_target=self.cpu_target,
            min_instances=self.min_instances,
            max_instances=self.max_instances,
        )
        return replace(base, server=server, cloud_run=cloud_run)

    def _batches(self, largest_request: int) -> int:
        """A batch that is closed for want of room has at least `batch_rows - largest + 1` rows."""
        least = self.batch_rows - largest_request + 1
        return max(4, math.ceil(self.concurrency * largest_request / least) + 1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked: rows a second over the measured time, and the size of requests."""

    mean_rows_per_s: float
    highest_rows_per_s: float
    mean_rows: float
    largest_request: int

    @classmethod
    def of(cls, workload: Workload, seed: int, *, begin_s: float, end_s: float) -> "Asked":
        """Of a workload, its rate by chance as of one seed."""
        starts, rates = _rates(workload.rate, seed, begin_s, end_s)
        lengths = np.diff(starts, append=end_s)
        mean = float((rates * lengths).sum() / (end_s - begin_s))
        return cls(mean, float(rates.max()), workload.sizes.mean, workload.largest)


def _rates(rate: Rate, seed: int, begin_s: float, end_s: float) -> tuple[np.ndarray, np.ndarray]:
    return rate.steps(begin_s, end_s, stream(seed, "rate"))


@dataclass(frozen=True, slots=True)
class Space:
    """Where to look: the shapes of batches that the capacity model finds fit, and how many instances may run."""

    base: Revision
    asked: Asked
    good_ms: float
    most: int
    """Instances at most."""

    def instance(self, batch_rows: int, batch_threads: int) -> Instance:
        """For the capacity model."""
        return Instance(
            self.base.model.batch_time,
            batch_rows,
            batch_threads,
            cpu_ms_per_request=self.base.model.cpu_ms_per_request,
            vcpus=self.base.cloud_run.vcpus,
            rows_per_request=self.asked.mean_rows,
        )

    def shapes(self) -> list[tuple[float, int, int]]:
        """Rate within the objective, batch rows and batch threads: the fit ones, the best first."""
        found = []
        for threads in range(1, MAX_BATCH_THREADS + 1):
            rows = self.asked.largest_request
            while rows <= max(MAX_BATCH_ROWS, self.asked.largest_request):
                found.append((rate_within_p99(self.instance(rows, threads), self.good_ms), rows, threads))
                rows = math.ceil(rows * 1.15)
        found.sort(key=lambda each: (-each[0], each[1], each[2]))
        best = found[0][0]
        return [each for each in found if each[0] >= CLOSE * best and each[0] > 0] or found[:1]

    def shaped(self, batch_rows: int, batch_threads: int, **others: float) -> Knobs:
        """Knobs of that shape; concurrency that fills the batches."""
        fill = concurrency_to_fill(self.instance(batch_rows, batch_threads))
        concurrency = min(MAX_CONCURRENCY, math.ceil(SPARE_REQUESTS * fill))
        return self.inside(
            Knobs(
                batch_rows,
                batch_threads,
                concurrency,
                others.get("concurrency_target", HIGHEST_TARGET),
                others.get("cpu_target", HIGHEST_CPU_TARGET),
                int(others.get("least", 0)),
                int(others.get("most", self.most)),
            )
        )

    def inside(self, knobs: Knobs) -> Knobs:
        """The nearest knobs that Cloud Run and TF Serving take."""
        most = min(max(knobs.max_instances, 1), self.most)
        return Knobs(
            batch_rows=max(knobs.batch_rows, self.asked.largest_request),
            batch_threads=min(max(knobs.batch_threads, 1), 2 * MAX_BATCH_THREADS),
            concurrency=min(max(knobs.concurrency, 1), MAX_CONCURRENCY),
            concurrency_target=_target(knobs.concurrency_target, HIGHEST_TARGET),
            cpu_target=_target(knobs.cpu_target, HIGHEST_CPU_TARGET),
            min_instances=min(max(knobs.min_instances, 0), most),
            max_instances=most,
        )

    def starts(self) -> Iterator[Knobs]:
        """Where to begin: as many instances as the highest rate needs all the time, then fewer, then as many as Cloud Run sees fit."""
        shapes = self.shapes()
        rate, rows, threads = shapes[0]
        per_instance = max(rate, 1e-9)
        top = min(self.most, math.ceil(1.2 * self.asked.highest_rows_per_s / per_instance) + 1)
        low = max(1, min(top, math.floor(self.asked.mean_rows_per_s / self.instance(rows, threads).capacity_rows_per_second)))
        for count in range(top, low - 1, -1):
            yield self.shaped(rows, threads, least=count, most=count)
        for share in (0.6, 0.75, 0.9):
            for least in sorted({low, 1, (low + top) // 2}):
                for each_rate, each_rows, each_threads in _spread(shapes):
                    instance = self.instance(each_rows, each_threads)
                    knobs = self.shaped(each_rows, each_threads, least=least)
                    aim = concurrency_target(instance, concurrency=knobs.concurrency, rows_per_second=share * each_rate)
                    yield replace(knobs, concurrency_target=aim)

    def random(self, chance: np.random.Generator) -> Knobs:
        """Anywhere in it."""
        shapes = self.shapes()
        rate, rows, threads = shapes[int(chance.integers(len(shapes)))]
        top = min(self.most, math.ceil(1.3 * self.asked.highest_rows_per_s / max(rate, 1e-9)) + 1)
        least = int(chance.integers(0, top + 1))
        knobs = self.shaped(rows, threads, least=least, cpu_target=chance.uniform(0.5, HIGHEST_CPU_TARGET))
        aim = concurrency_target(
            self.instance(rows, threads), concurrency=knobs.concurrency, rows_per_second=chance.uniform(0.3, 1.0) * rate
        )
        return self.inside(
            replace(
                knobs,
                concurrency=math.ceil(knobs.concurrency * chance.uniform(0.6, 1.5)),
                concurrency_target=aim * chance.uniform(0.7, 1.5),
                max_instances=least + int(chance.integers(0, top + 1)),
            )
        )

    def near(self, knobs: Knobs, step: float) -> list[Knobs]:
        """One coordinate moved, or two that belong together; `step` 1 is a large one."""
        larger, smaller = 1 + 0.25 * step, 1 / (1 + 0.25 * step)
        moved = [
            replace(knobs, min_instances=knobs.min_instances - 1),
            replace(knobs, min_instances=knobs.min_instances - 1, max_instances=knobs.max_instances - 1),
            replace(knobs, max_instances=max(knobs.max_instances - 1, knobs.min_instances)),
            replace(knobs, max_instances=knobs.max_instances + 1),
            replace(knobs, min_instances=knobs.min_instances + 1, max_instances=max(knobs.max_instances, knobs.min_instances + 1)),
            replace(knobs, batch_threads=knobs.batch_threads + 1),
            replace(knobs, batch_threads=knobs.batch_threads - 1),
        ]
        for factor in (larger, smaller):
            rows, concurrency = round(knobs.batch_rows * factor), round(knobs.concurrency * factor)
            moved += [
                replace(knobs, concurrency_target=knobs.concurrency_target * factor),
                replace(knobs, concurrency=concurrency),
                replace(knobs, concurrency=concurrency, concurrency_target=knobs.concurrency_target / factor),
                replace(knobs, batch_rows=rows, concurrency=concurrency),
                replace(knobs, batch_rows=rows),
                replace(knobs, cpu_target=knobs.cpu_target * factor),
            ]
        found = dict.fromkeys(self.inside(each) for each in moved)
        found.pop(knobs, None)
        return list(found)


def _target(share: float, highest: float) -> float:
    return round(min(highest, max(MIN_SET_POINT, share)), 3)


def _spread(shapes: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """The best shape, and the best one of other threads."""
    best = shapes[0]
    other = next((each for each in shapes if each[2] != best[2]), None)
    return [best] if other is None else [best, other]
