"""What a run came to: figures of a span of minutes, and one line for each minute."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shared.simulation.world.layout import ANSWERED, BUCKETS, CAUSES, LOWEST_EXPONENT, MINUTE_S, STEPS, State
from shared.simulation.world.settings import Revision

Counts = NDArray[np.int64]


def upper_ends_s() -> NDArray[np.float64]:
    """The upper end of each bucket of times, in seconds."""
    octave, step = np.divmod(np.arange(BUCKETS), STEPS)
    ends: NDArray[np.float64] = np.ldexp(0.5 + (step + 1) / (2 * STEPS), octave + LOWEST_EXPONENT)
    return ends


_UPPER = upper_ends_s()


def percentile_s(counts: Counts, share: float) -> float | None:
    """The time that `share` of those counted stay below; None where none was counted.

    Inside a bucket by a straight line; in the first one it is zero.
    """
    total = int(counts.sum())
    if total == 0:
        return None
    cumulative = np.cumsum(counts)
    wanted = share * total
    place = int(np.searchsorted(cumulative, wanted, side="left"))
    if place == 0:
        return 0.0
    inside = (wanted - (cumulative[place] - counts[place])) / counts[place]
    lower = float(_UPPER[place - 1])
    return lower + (float(_UPPER[place]) - lower) * float(inside)


@dataclass(frozen=True, slots=True)
class Minute:
    """One minute: requests per second that came, the share that was good, and so on as in RunResult."""

    at_s: float
    rate: float
    goodput: float | None
    p50_ms: float | None
    p99_ms: float | None
    errors: float
    mean_batch: float | None
    gpu_busy: float | None
    cpu_busy: float | None
    instances: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """Figures of a span. None where there is nothing to say it of."""

    goodput: float | None
    """Requests answered well and in time, of all that came."""
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    """Of requests that were answered well, from the client's first try on."""
    errors: Mapping[str, float]
    """By cause, failed tries for each try."""
    mean_batch: float | None
    """Rows of a batch, without padding."""
    gpu_busy: float | None
    """Share of the time that the GPUs of instances that serve were at work."""
    cpu_busy: float | None
    mean_instances: float
    """That were billed: starting, serving or draining."""
    usd_per_million_good: float | None
    revisions: int
    """That had been made by the end."""
    requests: int
    series: tuple[Minute, ...] = field(repr=False)
    last_20_min: "RunResult | None" = field(default=None, repr=False)


def result_of(s: State, settings: tuple[Revision, ...], first: int, end: int, *, last: int) -> RunResult:
    """Of the minutes from `first` up to `end`; if these are more than `last`, those once more."""
    within = None if end - first <= last else result_of(s, settings, end - last, end, last=last)
    whole = _Span(s, settings, first, end)
    return RunResult(
        goodput=whole.ratio(whole.total("good"), whole.total("arrived")),
        mean_ms=whole.ratio(whole.total("latency_s") * 1000, whole.total("answered")),
        p50_ms=whole.percentile_ms(0.5),
        p95_ms=whole.percentile_ms(0.95),
        p99_ms=whole.percentile_ms(0.99),
        errors=whole.errors(),
        mean_batch=whole.ratio(whole.total("rows"), whole.total("batches")),
        gpu_busy=whole.gpu_busy(),
        cpu_busy=whole.cpu_busy(),
        mean_instances=whole.total("billed_s") / ((end - first) * MINUTE_S),
        usd_per_million_good=whole.ratio(whole.usd() * 1e6, whole.total("good")),
        revisions=len(settings),
        requests=int(whole.total("arrived")),
        series=tuple(_minute(s, settings, minute) for minute in range(first, end)),
        last_20_min=within,
    )


def _minute(s: State, settings: tuple[Revision, ...], minute: int) -> Minute:
    span = _Span(s, settings, minute, minute + 1)
    return Minute(
        at_s=minute * MINUTE_S,
        rate=span.total("arrived") / MINUTE_S,
        goodput=span.ratio(span.total("good"), span.total("arrived")),
        p50_ms=span.percentile_ms(0.5),
        p99_ms=span.percentile_ms(0.99),
        errors=sum(span.errors().values()),
        mean_batch=span.ratio(span.total("rows"), span.total("batches")),
        gpu_busy=span.gpu_busy(),
        cpu_busy=span.cpu_busy(),
        instances=span.total("billed_s") / MINUTE_S,
    )


class _Span:
    """Sums over revisions and minutes."""

    def __init__(self, s: State, settings: tuple[Revision, ...], first: int, end: int) -> None:
        self._minutes = s.minutes[:, first:end]
        self._failures = s.failures[:, first:end]
        self._times = s.times[:, first:end]
        self._settings = settings

    @staticmethod
    def ratio(part: float, whole: float) -> float | None:
        return part / whole if whole else None

    def total(self, name: str) -> float:
        return float(self._minutes[name].sum())

    def _weighted(self, name: str, weights: list[float]) -> float:
        return float(np.dot(self._minutes[name].sum(axis=1), weights))

    def usd(self) -> float:
        return self._weighted("billed_s", [each.cloud_run.usd_per_instance_s for each in self._settings])

    def gpu_busy(self) -> float | None:
        return self.ratio(self.total("gpu_s"), self.total("up_s"))

    def cpu_busy(self) -> float | None:
        return self.ratio(self.total("cpu_s"), self._weighted("up_s", [float(each.cloud_run.vcpus) for each in self._settings]))

    def errors(self) -> dict[str, float]:
        tried = self.total("tried")
        counts = self._failures.sum(axis=(0, 1))
        return {cause: int(count) / tried for cause, count in zip(CAUSES, counts, strict=True) if count and tried}

    def percentile_ms(self, share: float) -> float | None:
        found = percentile_s(self._times[:, :, ANSWERED].sum(axis=(0, 1), dtype=np.int64), share)
        return None if found is None else found * 1000
