"""The server with TensorFlow's scheduler, started, driven and read: what its own counters say of a time, and what the clients saw."""

import contextlib
import json
import math
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from tests.benchmarks.sources import ROOT
from tests.benchmarks.tf.load import Seen
from tests.support.tf_server.counters import PATH, PREFIX
from tests.support.tf_server.rules import Rules

AMPLE = 400
"""Server threads, so that they are not the limit."""
_STEEPEST = 10.0
"""Logarithm of the factor from one size to the next."""
_SESSION = f"{PREFIX}batching_session:"
_SIZES = f"{_SESSION}processed_batch_size"


@dataclass(frozen=True)
class Counted:
    """What the server's metrics page says of a stretch of time."""

    requests: float
    batches: float
    rows: float
    queuing_us: float
    runtime_us: float
    request_us: float
    by_size: tuple[tuple[float, float], ...]
    """Batches by the end of their bucket, which it does not hold."""

    @property
    def mean_batch(self) -> float:
        return self.rows / self.batches

    def batch_of_a_row(self, largest: int) -> float:
        """The mean batch as the rows see it, E[b^2] / E[b], from the buckets of sizes up to `largest` and the exact mean.

        Within a bucket each size is as frequent as the one before it times a factor, which is the one that gives the mean. Of sizes that
        are spread by chance around a middle this is up to 7 % too much.
        """
        buckets, first = [], 1
        for end, count in self.by_size:
            sizes = np.arange(first, largest + 1 if math.isinf(end) else min(int(end), largest + 1))
            first += len(sizes)
            if count and len(sizes):
                buckets.append((count, sizes))

        def moment(log_factor: float, power: int) -> float:
            weights = [(count, sizes, np.exp(log_factor * (sizes - sizes[0]))) for count, sizes in buckets]
            return sum(float(count * (sizes**power * each).sum() / each.sum()) for count, sizes, each in weights) / self.batches

        low, high = -_STEEPEST, _STEEPEST
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if moment(middle, 1) < self.mean_batch else (low, middle)
        return moment(low, 2) / self.mean_batch

    @property
    def batch_ms(self) -> float:
        """From the begin of a row's batch to the answer of the run."""
        return (self.runtime_us - self.queuing_us) / self.requests / 1000

    @property
    def beside_ms(self) -> float:
        """What a request takes in the server outside its run."""
        return (self.request_us - self.runtime_us) / self.requests / 1000


def _page(text: str) -> dict[str, float]:
    """Sums over all labels; buckets by their end."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = f"{sample.name}<{sample.labels['le']}" if "le" in sample.labels else sample.name
            found[name] = found.get(name, 0.0) + sample.value
    return found


@dataclass(frozen=True)
class Served:
    """A running server."""

    grpc_port: int
    rest_port: int
    tensorflow: str

    def page(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.rest_port}{PATH}", timeout=30) as answer:
            return str(answer.read().decode())

    def driven(self, *options: str) -> tuple[Seen, Counted]:
        """What clients with these options saw, and what the server counted from their beginning to their end."""
        before = _page(self.page())
        command = [sys.executable, "-m", "tests.benchmarks.tf.load", str(self.grpc_port), *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        after = _page(self.page())

        def grown(name: str) -> float:
            return after.get(name, 0.0) - before.get(name, 0.0)

        cumulative = sorted((float(name.split("<")[1]), grown(name)) for name in after if name.startswith(f"{_SIZES}_bucket<"))
        counts = [(end, count - cumulative[at - 1][1] if at else count) for at, (end, count) in enumerate(cumulative)]
        return Seen(**json.loads(done.stdout)), Counted(
            requests=grown(f"{_SESSION}queuing_latency_count"),
            batches=grown(f"{_SESSION}wrapped_run_count_total"),
            rows=grown(f"{_SIZES}_sum") - grown(f"{_SESSION}padding_size_sum"),
            queuing_us=grown(f"{_SESSION}queuing_latency_sum"),
            runtime_us=grown(f"{PREFIX}runtime_latency_sum"),
            request_us=grown(f"{PREFIX}request_latency_sum"),
            by_size=tuple(counts),
        )


@contextlib.contextmanager
def serving(tensorflow: Path, rules: Rules, *options: str) -> Iterator[Served]:
    """A server with these rules, until the block ends. `tensorflow` is the Python that has it."""
    flags = [
        f"--max-batch-size={rules.max_batch_size}",
        f"--num-batch-threads={rules.num_batch_threads}",
        f"--max-enqueued-batches={rules.max_enqueued_batches}",
        f"--batch-timeout-ms={rules.batch_timeout_ms}",
    ]
    command = [str(tensorflow), "-m", "tests.support.tf_server", *flags, *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        ports = json.loads(process.stdout.readline() or "null")
        if ports is None:
            raise RuntimeError(f"the server did not start: try {' '.join(command)}")
        yield Served(ports["grpc"], ports["rest"], ports["tensorflow"])
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
