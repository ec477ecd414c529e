"""One instance of TF Serving on Cloud Run once more, in SimPy: slow, written from the same rules and sharing no code with the world.

Everything is a process: requests, batch threads, the CPUs and the GPU as resources that serve in the order of asking. Idle batch threads
look once a millisecond, as the server's do.
"""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import simpy

from shared.simulation.world.settings import Batching, Revision
from shared.simulation.world.workload import Arrivals, Workload

Steps = Generator[simpy.Event, Any, Any]
POLL_S = 0.001


@dataclass
class Batch:
    began: float
    rows: int = 0
    parts: list["Part"] = field(default_factory=list)


@dataclass
class Part:
    rows: int
    done: simpy.Event


@dataclass
class Seen:
    """What a run came to, after its warm-up."""

    latencies_s: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    batches: int = 0
    rows: int = 0
    arrived: int = 0


class Refused(Exception):
    """The server answered with an error."""


class BatchQueue:
    """The shared batch scheduler with one queue."""

    def __init__(self, env: simpy.Environment, rules: Batching, threads: int) -> None:
        self.env = env
        self.rules = rules
        self.batches = [Batch(0.0)]
        self.woken = [env.event() for _ in range(threads)]

    def add(self, rows: int) -> simpy.Event:
        self.refuse(rows)
        waits = [self.put(size) for size in self.pieces(rows)]
        if self.ready():
            for each in self.woken:
                if not each.triggered:
                    each.succeed()
        return simpy.AllOf(self.env, waits) if len(waits) > 1 else waits[0]

    def refuse(self, rows: int) -> None:
        filled, limit, room = self.batches[-1].rows, self.rules.batch_rows, self.rules.max_enqueued_batches - len(self.batches)
        if rows > self.rules.max_batch_size:
            raise Refused("request-rows-over-limit")
        full = rows > room * limit + limit - filled if self.rules.splitting else filled + rows > limit and room <= 0
        if full:
            raise Refused("batch-queue-full")

    def pieces(self, rows: int) -> list[int]:
        if not self.rules.splitting:
            return [rows]
        limit = self.rules.batch_rows
        sizes = [min(rows, limit - self.batches[-1].rows)]
        while sum(sizes) < rows:
            sizes.append(min(limit, rows - sum(sizes)))
        return [size for size in sizes if size]

    def put(self, size: int) -> simpy.Event:
        if self.batches[-1].rows + size > self.rules.batch_rows:
            self.batches.append(Batch(self.env.now))
        batch = self.batches[-1]
        if not batch.parts:
            batch.began = self.env.now
        batch.rows += size
        batch.parts.append(Part(size, self.env.event()))
        return batch.parts[-1].done

    def ready(self) -> bool:
        first = self.batches[0]
        waited = self.env.now - first.began >= self.rules.timeout_ms / 1000
        return len(self.batches) > 1 or first.rows >= self.rules.batch_rows or (bool(first.parts) and waited)

    def take(self) -> Batch:
        batch = self.batches.pop(0)
        if not self.batches:
            self.batches.append(Batch(self.env.now))
        return batch


class Instance:
    """CPUs, GPU, server threads, and Cloud Run's places before them."""

    def __init__(self, env: simpy.Environment, revision: Revision, seen: Seen, measured_from: float) -> None:
        self.env = env
        self.revision = revision
        self.seen = seen
        self.measured_from = measured_from
        self.places = simpy.Resource(env, revision.cloud_run.concurrency)
        self.cpus = simpy.Resource(env, revision.cloud_run.vcpus)
        self.gpu = simpy.Resource(env, 1)
        self.threads = simpy.Resource(env, revision.usable_threads)
        self.queue: BatchQueue | None = None
        if revision.server.batching is not None:
            self.queue = BatchQueue(env, revision.server.batching, revision.batch_threads)
            for number in range(revision.batch_threads):
                env.process(self.batch_thread(number, self.queue))

    def on_cpu(self, ms: float) -> Steps:
        if ms:
            with self.cpus.request() as turn:
                yield turn
                yield self.env.timeout(ms / 1000)

    def batch(self, rows: int) -> Steps:
        times = self.revision.model.batch_time
        if self.env.now >= self.measured_from:
            self.seen.batches += 1
            self.seen.rows += rows
        yield from self.on_cpu(times.host_ms)
        padded = self.revision.server.batching.padded(rows) if self.revision.server.batching else rows
        with self.gpu.request() as turn:
            yield turn
            yield self.env.timeout(times.device_ms(padded) / 1000)

    def batch_thread(self, number: int, queue: BatchQueue) -> Steps:
        while True:
            while not queue.ready():
                queue.woken[number] = self.env.event()
                polls = queue.rules.timeout_ms > 0
                yield (queue.woken[number] | self.env.timeout(POLL_S)) if polls else queue.woken[number]
            batch = queue.take()
            yield from self.batch(batch.rows)
            for part in batch.parts:
                part.done.succeed()

    def served(self, rows: int) -> Steps:
        rest = self.revision.server.rest
        if not rest and self.threads.count >= self.threads.capacity:
            raise Refused("server-thread-quota")
        with self.threads.request() as thread:
            yield thread
            yield from self.on_cpu(self.revision.model.cpu_ms_per_request)
            if self.queue is None:
                yield from self.batch(rows)
            else:
                yield self.queue.add(rows)

    def placed(self, rows: int) -> Steps:
        with self.places.request() as place:
            answer = yield place | self.env.timeout(self.revision.cloud_run.pending_s)
            if place in answer:
                yield from self.served(rows)
                return True
            return False

    def request(self, rows: int) -> Steps:
        came = self.env.now
        self.seen.arrived += came >= self.measured_from
        try:
            failure = "" if (yield from self.placed(rows)) else "instance-cap-reached"
        except Refused as refusal:
            failure = str(refusal)
        if self.env.now < self.measured_from:
            return
        if failure:
            self.seen.failures[failure] += 1
        else:
            self.seen.latencies_s.append(self.env.now - came)


def reference(workload: Workload, revision: Revision, *, seed: int, warm_up_s: float, until_s: float) -> Seen:
    """One instance from the beginning on, with the arrivals that the world has for that seed."""
    env = simpy.Environment()
    seen = Seen()
    instance = Instance(env, revision, seen, warm_up_s)
    arrivals = Arrivals(workload, seed)

    def clients() -> Steps:
        while True:
            times, rows, _ = arrivals.next_chunk()
            for at, size in zip(times.tolist(), rows.tolist(), strict=True):
                yield env.timeout(max(at - env.now, 0.0))
                env.process(instance.request(int(size)))

    env.process(clients())
    env.run(until=until_s)
    return seen
