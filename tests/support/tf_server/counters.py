"""The metrics page as TF Serving's: names, labels and buckets of util.cc, batching_session.cc and prometheus_exporter.cc."""

import threading
from bisect import bisect_right
from collections.abc import Sequence

PREFIX = ":tensorflow:serving:"
PATH = "/monitoring/prometheus/metrics"
_LATENCY_LIMITS = [10 * 1.8**power for power in range(33)]
_QUEUING_LIMITS = [100 * 1.2**power for power in range(52)]
_SIZE_LIMITS = [2.0**power for power in range(14)]


class _Histogram:
    def __init__(self, limits: Sequence[float]) -> None:
        self._limits = limits
        self._counts = [0] * (len(limits) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        # A value that equals a limit is counted in the bucket above it.
        self._counts[bisect_right(self._limits, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str) -> list[str]:
        cumulative, lines = 0, []
        for limit, count in zip([*(f"{limit:.6g}" for limit in self._limits), "+Inf"], self._counts, strict=True):
            cumulative += count
            lines.append(f'{name}_bucket{{{labels}{"," if labels else ""}le="{limit}"}} {cumulative}')
        return [*lines, f"{name}_sum{{{labels}}} {self._sum:.17g}", f"{name}_count{{{labels}}} {cumulative}"]


class Counters:
    """All of them, for one model."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], int] = {}
        self._histograms: dict[tuple[str, str], _Histogram] = {}

    def request(self, status: str) -> None:
        """A request that reached a handler has ended so."""
        self._count("request_count", f'model_name="{self._model}",status="{status}"')

    def answered(self, api: str, entrypoint: str, *, request_us: float, runtime_us: float) -> None:
        """An answer: the time inside the server, and of it the time of the run, its wait in the queue included."""
        with self._lock:
            labels = f'model_name="{self._model}",API="{api}"'
            self._add("request_latency", f'{labels},entrypoint="{entrypoint}"', _LATENCY_LIMITS, request_us)
            self._add("runtime_latency", f'{labels},runtime="TF1"', _LATENCY_LIMITS, runtime_us)

    def entered(self, rows: int) -> None:
        """A request comes to the queue, which may still refuse it."""
        with self._lock:
            self._add("batching_session:input_batch_size", "", _SIZE_LIMITS, rows)

    def queued(self, queuing_us: float) -> None:
        """A request's wait in the queue is over."""
        with self._lock:
            self._add("batching_session:queuing_latency", 'thread_pool_name=""', _QUEUING_LIMITS, queuing_us)

    def batch(self, *, rows: int, ran: int) -> None:
        """A batch of so many rows ran, padded to `ran`."""
        self._count("batching_session:wrapped_run_count", "")
        with self._lock:
            self._add("batching_session:processed_batch_size", "", _SIZE_LIMITS, ran)
            self._add("batching_session:padding_size", f'execution_batch_size="{ran}"', _SIZE_LIMITS, ran - rows)

    def page(self) -> str:
        """The page as text."""
        with self._lock:
            lines: list[str] = []
            typed: set[str] = set()
            for (name, labels), count in sorted(self._counts.items()):
                full = PREFIX + name
                lines += [] if full in typed else [f"# TYPE {full} counter"]
                typed.add(full)
                lines.append(f"{full}{{{labels}}} {count}")
            for (name, labels), histogram in sorted(self._histograms.items()):
                full = PREFIX + name
                lines += [] if full in typed else [f"# TYPE {full} histogram"]
                typed.add(full)
                lines += histogram.lines(full, labels)
        return "\n".join(lines) + "\n"

    def _count(self, name: str, labels: str) -> None:
        with self._lock:
            self._counts[name, labels] = self._counts.get((name, labels), 0) + 1

    def _add(self, name: str, labels: str, limits: Sequence[float], value: float) -> None:
        found = self._histograms.get((name, labels))
        if found is None:
            found = self._histograms[name, labels] = _Histogram(limits)
        found.add(value)
