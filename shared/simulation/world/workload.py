"""What is asked of the service: a rate over time, sizes of requests, clients that try again or do not."""

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shared.simulation.world.streams import stream

CHUNK_S = 10.0
"""Arrivals are drawn for so long at once, wherever a run stops between: stops do not change them."""
KNOT_S = 1.0
"""A rate that moves on by itself is held for so long."""

Floats = NDArray[np.float64]


class Rate(Protocol):
    """Rows per second, at steps: from each start on until the next."""

    def steps(self, begin: float, end: float, chance: np.random.Generator) -> tuple[Floats, Floats]:
        """The starts (the first is `begin`) and the rates from `begin` to `end`. Asked for in order of time."""


def _held(begin: float, end: float) -> Floats:
    return np.arange(begin, end, KNOT_S)


@dataclass(frozen=True, slots=True)
class Steady:
    """The same all the time."""

    rate: float

    def steps(self, begin: float, end: float, chance: np.random.Generator) -> tuple[Floats, Floats]:  # noqa: ARG002 (one form for all)
        """One step."""
        return np.array([begin]), np.array([self.rate])


@dataclass(frozen=True, slots=True)
class Bursty:
    """Two rates in turn, each for an exponential time (a Markov-modulated Poisson process). It begins with the low one."""

    low: float
    high: float
    mean_low_s: float = 40.0
    mean_high_s: float = 10.0

    def steps(self, begin: float, end: float, chance: np.random.Generator) -> tuple[Floats, Floats]:
        """The turns up to `end`: all of them, from the beginning, so that the same chance always gives the same ones."""
        state = chance.bit_generator.state
        turns, lasting = 0, np.zeros(1)
        while lasting.sum() <= end:
            turns = 2 * turns + 16
            chance.bit_generator.state = state
            lasting = chance.exponential(size=turns) * np.resize([self.mean_low_s, self.mean_high_s], turns)
        times = np.concatenate(([0.0], np.cumsum(lasting)))
        values = np.resize([self.low, self.high], turns + 1)
        first = int(np.searchsorted(times, begin, side="right")) - 1
        last = int(np.searchsorted(times, end, side="left"))
        starts = times[first:last].copy()
        starts[0] = begin
        return starts, values[first:last]


@dataclass(frozen=True, slots=True)
class Diurnal:
    """A wave: `rate * (1 + amplitude * sin(2 pi (t - zero_s) / period_s))`."""

    rate: float
    amplitude: float = 0.8
    period_s: float = 1800.0
    zero_s: float = 0.0

    def steps(self, begin: float, end: float, chance: np.random.Generator) -> tuple[Floats, Floats]:  # noqa: ARG002 (one form for all)
        """A step for each second, with the rate of its middle."""
        starts = _held(begin, end)
        phase = 2 * math.pi * (starts + KNOT_S / 2 - self.zero_s) / self.period_s
        return starts, self.rate * (1 + self.amplitude * np.sin(phase))


@dataclass(frozen=True, slots=True)
class Flash:
    """A crowd: `low`, from `start_s` on `high` for `length_s`, then `low` again."""

    low: float
    high: float
    start_s: float
    length_s: float

    def steps(self, begin: float, end: float, chance: np.random.Generator) -> tuple[Floats, Floats]:
        """Three steps at most."""
        return Replay((0.0, self.start_s, self.start_s + self.length_s), (self.low, self.high, self.low)).steps(begin, end, chance)


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded series: from each time on its rate, the last one for ever; before the first time the first."""

    starts_s: tuple[float, ...]
    rates: tuple[float, ...]

    def steps(self, begin: float, end: float, chance: np.random.Generator) -> tuple[Floats, Floats]:  # noqa: ARG002 (one form for all)
        """Those of its steps that lie between."""
        times, values = np.array(self.starts_s), np.array(self.rates)
        first = max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
        last = max(int(np.searchsorted(times, end, side="left")), first + 1)
        starts = times[first:last].copy()
        starts[0] = begin
        return starts, values[first:last]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of a request: 1 to `largest`, each with a chance proportional to `rows ** -exponent`."""

    largest: int = 1
    exponent: float = 0.0

    def chances(self) -> Floats:
        """Of 1, 2, ... rows."""
        weights = np.arange(1, self.largest + 1, dtype=np.float64) ** -self.exponent
        return np.asarray(weights / weights.sum())

    @property
    def mean(self) -> float:
        """Rows of a request on the average."""
        return float((self.chances() * np.arange(1, self.largest + 1)).sum())


@dataclass(frozen=True, slots=True)
class Retries:
    """Clients that try again after RESOURCE_EXHAUSTED, UNAVAILABLE or 429.

    They do after `backoff_s`, then twice that, and so on, each time half to one and a half times as long by chance. `tries` counts the
    first.
    """

    tries: int = 1
    backoff_s: float = 0.1


@dataclass(frozen=True, slots=True)
class Workload:
    """Rates are in rows per second: larger requests come less often. `retries`: by default clients do not try again."""

    rate: Rate
    sizes: Sizes = field(default_factory=Sizes)
    retries: Retries = field(default_factory=Retries)

    @property
    def largest(self) -> int:
        """Rows of the largest request."""
        return self.sizes.largest


@dataclass(frozen=True, slots=True)
class Recorded:
    """Requests at known times, in order, with their rows: a trace."""

    times_s: tuple[float, ...]
    rows: tuple[int, ...]
    retries: Retries = field(default_factory=Retries)

    @property
    def largest(self) -> int:
        """Rows of the largest request."""
        return max(self.rows, default=1)


class Source(Protocol):
    """Where a world gets its requests from."""

    @property
    def drawn_to_s(self) -> float:
        """All arrivals before this time have been given out."""

    def next_chunk(self) -> tuple[Floats, Floats, Floats]:
        """The arrivals of the next `CHUNK_S`, their rows, and numbers of chance for what is done with them."""


def source_of(workload: Workload | Recorded, seed: int) -> Source:
    """The requests of a workload for one seed."""
    return RecordedArrivals(workload, seed) if isinstance(workload, Recorded) else Arrivals(workload, seed)


class RecordedArrivals:
    """The requests of a trace, chunk by chunk."""

    def __init__(self, recorded: Recorded, seed: int) -> None:
        self._times = np.array(recorded.times_s, np.float64)
        self._rows = np.array(recorded.rows, np.float64)
        self._draws = stream(seed, "routing")
        self._next_chunk = 0

    @property
    def drawn_to_s(self) -> float:
        """All arrivals before this time have been given out."""
        return self._next_chunk * CHUNK_S

    def next_chunk(self) -> tuple[Floats, Floats, Floats]:
        """Those of the next `CHUNK_S`."""
        first, end = np.searchsorted(self._times, (self.drawn_to_s, self.drawn_to_s + CHUNK_S))
        self._next_chunk += 1
        return self._times[first:end], self._rows[first:end], self._draws.random(2 * int(end - first) + 64)


class Arrivals:
    """The requests of a workload for one seed, chunk by chunk: a Poisson process whose rate is held between its steps."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload = workload
        self._seed = seed
        self._gaps = stream(seed, "arrivals")
        self._sizes = stream(seed, "sizes")
        self._draws = stream(seed, "routing")
        self._cumulative = np.cumsum(workload.sizes.chances())
        self._next_chunk = 0

    @property
    def drawn_to_s(self) -> float:
        """All arrivals before this time have been given out."""
        return self._next_chunk * CHUNK_S

    def next_chunk(self) -> tuple[Floats, Floats, Floats]:
        """The arrivals of the next `CHUNK_S`, their rows, and numbers of chance for what is done with them."""
        begin = self._next_chunk * CHUNK_S
        end = begin + CHUNK_S
        self._next_chunk += 1
        starts, rates = self._workload.rate.steps(begin, end, stream(self._seed, "rate"))
        lengths = np.diff(starts, append=end)
        expected = np.concatenate(([0.0], np.cumsum(rates * lengths))) / self._workload.sizes.mean
        count = int(self._gaps.poisson(expected[-1]))
        at = np.sort(self._gaps.random(count)) * expected[-1]
        times = np.interp(at, expected, np.append(starts, end))
        return times, self._rows(count), self._draws.random(2 * count + 64)

    def _rows(self, count: int) -> Floats:
        if self._workload.sizes.largest == 1:
            return np.ones(count)
        return np.asarray(np.searchsorted(self._cumulative, self._sizes.random(count), side="right") + 1, np.float64)
