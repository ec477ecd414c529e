"""One batch thread, exactly: the Markov chain of the rows that wait whenever a batch ends. The check of the formulas in `latency`.

With N = 1 the thread takes min(q, B) of the q rows that it finds, and t(min(q, B)) later it finds

    q' = max(0, q - B) + Poisson(rate * t(min(q, B)));    from q = 0 the next arrival starts alone, with t(1).

Assumptions: requests of one row, Poisson arrivals, a batch timeout of zero, no limit but B. Host and device part follow each other in the
one thread, so `host_ms` plays no part. The chain is cut where less than 1e-9 of its weight lies beyond. Mean, batches and busy time are
exact but for that; percentiles are read off a grid of 1/64 of the longest batch time, or 1/16 of the shortest where that is less.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from shared.errors import TrimtabError
from shared.tfserving.capacity.batch_time import BatchTime
from shared.tfserving.capacity.instance import MS_PER_SECOND

MAX_STATES = 1_024
"""Waiting rows that the chain looks at; the work grows with their square and more."""
_FIRST_STATES = 64
_CUT = 1e-9
_NEGLIGIBLE = 1e-14
_MOMENTS = 32
"""Moments within a batch at which arrivals are placed."""
_STEPS_PER_LONGEST = 64
_STEPS_PER_SHORTEST = 16


class NoSteadyStateError(TrimtabError):
    """The load is at the capacity or above it, or so close below that the queue is longer than can be looked at."""


@dataclass(frozen=True, slots=True)
class OneThread:
    """The steady state of one batch thread. Times are from a request's arrival to the end of its batch, without `cpu_ms_per_request`."""

    mean_batch_rows: float
    busy: float
    """The share of time in which a batch runs."""
    mean_ms: float
    step_ms: float
    """The grid of `quantile_ms`."""
    reached: tuple[float, ...]
    """The share of requests answered within half a step, one and a half, and so on."""

    def quantile_ms(self, share: float) -> float:
        """The time within which `share` of the requests are answered.

        Raises:
            ValueError: `share` is not between 0 and 1.
        """
        if not 0.0 < share < 1.0:
            raise ValueError(f"share is {share}: it is above 0 and below 1")
        at = min(bisect_left(self.reached, share), len(self.reached) - 1)
        before = self.reached[at - 1] if at else 0.0
        within = (share - before) / (self.reached[at] - before) if self.reached[at] > before else 1.0
        return self.step_ms * (at - 0.5 + min(1.0, within))


def one_thread(batch_time: BatchTime, *, max_batch_rows: int, rows_per_second: float) -> OneThread:
    """Solve the chain. From a few milliseconds at light load to some seconds at `MAX_STATES`.

    Raises:
        ValueError: the rate is not above zero.
        NoSteadyStateError: the rate is at or above B / t(B), or so close below that more than `MAX_STATES` rows wait.
    """
    rate = rows_per_second / MS_PER_SECOND
    if not rate > 0.0:
        raise ValueError(f"rows_per_second is {rows_per_second}: it is above zero")
    longest = batch_time.total_ms(max_batch_rows)
    if rate * longest >= max_batch_rows:
        raise NoSteadyStateError(f"{rows_per_second} rows per second are more than batches of {max_batch_rows} rows in {longest} ms carry")
    waiting = _waiting(batch_time, max_batch_rows, rate)
    # Whoever arrives at an idle thread starts a batch of one, as from one waiting row.
    idle = waiting[0]
    waiting[1] += idle
    waiting[0] = 0.0
    times = [batch_time.total_ms(max(1, rows)) for rows in range(max_batch_rows + 1)]
    batches = [(share, rows, times[min(rows, max_batch_rows)]) for rows, share in enumerate(waiting)]
    busy_ms = sum(share * time for share, _, time in batches)
    cycle_ms = busy_ms + idle / rate
    # Little's law: the rows in the system, at the batch's start and as they arrive during it.
    rows_ms = sum(share * (rows * time + rate * time * time / 2.0) for share, rows, time in batches)
    step = min(longest / _STEPS_PER_LONGEST, times[1] / _STEPS_PER_SHORTEST)
    return OneThread(
        mean_batch_rows=sum(share * min(rows, max_batch_rows) for share, rows, _ in batches),
        busy=busy_ms / cycle_ms,
        mean_ms=rows_ms / cycle_ms / rate,
        step_ms=step,
        reached=tuple(accumulate(_Latency(waiting, times, rate, step).shares(idle / (rate * cycle_ms)))),
    )


def _waiting(batch_time: BatchTime, most: int, rate: float) -> list[float]:
    """The share of batch ends at which 0, 1, 2... rows wait."""
    states = _FIRST_STATES
    while True:
        waiting = _stationary([_next_waiting(rows, most, batch_time, rate, states) for rows in range(states)])
        if waiting[-1] <= _CUT:
            return waiting
        if states >= MAX_STATES:
            raise NoSteadyStateError(f"more than {MAX_STATES} rows wait at {MS_PER_SECOND * rate} rows per second")
        states = min(2 * states, MAX_STATES)


def _next_waiting(rows: int, most: int, batch_time: BatchTime, rate: float, states: int) -> list[float]:
    """One row of the transition matrix; what lies beyond the last state is put into it."""
    batch = min(max(rows, 1), most)
    left = max(0, rows - most)
    arrivals = poisson(rate * batch_time.total_ms(batch))
    chances = ([0.0] * left + arrivals)[:states]
    chances += [0.0] * (states - len(chances))
    chances[-1] += max(0.0, 1.0 - sum(chances))
    return chances


def _stationary(matrix: list[list[float]]) -> list[float]:
    """The stationary distribution by Grassmann, Taksar and Heyman's elimination: no subtraction, so no cancellation.

    A row's first possible successor lies at most B below it, and elimination from the last state down keeps that shape.
    """
    size = len(matrix)
    leaves = [1.0] * size
    for state in range(size - 1, 0, -1):
        row = matrix[state]
        first = next((at for at in range(state) if row[at] > 0.0), 0)
        below = row[first:state]
        leaves[state] = sum(below)
        for other in matrix[:state]:
            factor = other[state] / leaves[state]
            if factor > _NEGLIGIBLE * _NEGLIGIBLE:
                other[first:state] = [old + factor * new for old, new in zip(other[first:state], below, strict=True)]
    weights = [1.0]
    for state in range(1, size):
        weights.append(sum(weight * matrix[at][state] for at, weight in enumerate(weights)) / leaves[state])
    total = sum(weights)
    return [weight / total for weight in weights]


def poisson(mean: float) -> list[float]:
    """The chances of 0, 1, 2... arrivals when `mean` are expected, up to where less than 1e-14 is left."""
    if mean <= 0.0:
        return [1.0]
    first = max(0, int(mean - 9.0 * math.sqrt(mean)) - 10)
    chance = math.exp(first * math.log(mean) - mean - math.lgamma(first + 1))
    chances = [0.0] * first
    arrivals = first
    while arrivals <= mean or chance > _NEGLIGIBLE * 1e-2:
        chances.append(chance)
        arrivals += 1
        chance *= mean / arrivals
    return chances


class _Latency:
    """Where the requests of a steady state end up, by the time from arrival to answer.

    A request that arrives `rest` before the running batch's end and finds p rows before it waits for p // B full batches too, and
    starts at `wait = rest + (p // B) * t(B)` as row p % B of its batch; those who arrive during `wait` fill that batch up.
    """

    def __init__(self, waiting: list[float], times: list[float], rate: float, step: float) -> None:
        self._waiting = waiting
        self._times = times
        self._rate = rate
        self._step = step
        self._most = len(times) - 1
        self._starts: dict[int, list[float]] = {}
        """By wait, in steps: the weight of each place in the batch."""

    def shares(self, idle_share: float) -> Iterator[float]:
        """The share of requests for each step of the grid; `idle_share` of them find the thread idle."""
        for ahead, time in self._running():
            self._place_arrivals(ahead, time)
        found: dict[int, float] = {}
        for wait, places in self._starts.items():
            for batch, weight in self._batches(wait * self._step, places):
                self._add(found, wait * self._step + self._times[batch], weight)
        total = sum(found.values())
        scaled = {at: (1.0 - idle_share) * weight / total for at, weight in found.items()}
        self._add(scaled, self._times[1], idle_share)
        return (scaled.get(at, 0.0) for at in range(max(scaled) + 1))

    def _running(self) -> Iterator[tuple[list[float], float]]:
        """For each batch time: the weights of 0, 1, 2... rows left behind by such a batch."""
        for rows in range(1, min(self._most, len(self._waiting))):
            yield [self._waiting[rows]], self._times[rows]
        yield self._waiting[self._most :], self._times[self._most]

    def _place_arrivals(self, left: list[float], time: float) -> None:
        share = self._rate * time / _MOMENTS
        if not left or sum(left) * share < _NEGLIGIBLE:
            return
        for moment in range(_MOMENTS):
            passed = (moment + 0.5) / _MOMENTS * time
            for ahead, weight in enumerate(_sum_of(left, poisson(self._rate * passed))):
                if weight * share > _NEGLIGIBLE:
                    full, place = divmod(ahead, self._most)
                    self._start(time - passed + full * self._times[self._most], place, weight * share)

    def _start(self, wait_ms: float, place: int, weight: float) -> None:
        lower, part = self._on_grid(wait_ms)
        for at, share in ((lower, 1.0 - part), (lower + 1, part)):
            places = self._starts.get(at)
            if places is None:
                places = self._starts[at] = [0.0] * self._most
            places[place] += weight * share

    def _batches(self, wait_ms: float, places: list[float]) -> Iterator[tuple[int, float]]:
        """The batches, by rows, in which those requests are that start after `wait_ms`."""
        sizes = _sum_of(places, poisson(self._rate * wait_ms))
        for place, weight in enumerate(sizes[: self._most - 1]):
            yield place + 1, weight
        yield self._most, sum(sizes[self._most - 1 :])

    def _add(self, found: dict[int, float], time_ms: float, weight: float) -> None:
        if weight > 0.0:
            lower, part = self._on_grid(time_ms)
            found[lower] = found.get(lower, 0.0) + weight * (1.0 - part)
            found[lower + 1] = found.get(lower + 1, 0.0) + weight * part

    def _on_grid(self, time_ms: float) -> tuple[int, float]:
        steps = time_ms / self._step
        lower = int(steps)
        return lower, steps - lower


def _sum_of(first: list[float], second: list[float]) -> list[float]:
    """The distribution of the sum of two independent counts."""
    if len(first) == 1:
        return [first[0] * chance for chance in second]
    together = [0.0] * (len(first) + len(second) - 1)
    for at, weight in enumerate(first):
        if weight > _NEGLIGIBLE:
            end = at + len(second)
            together[at:end] = [old + weight * chance for old, chance in zip(together[at:end], second, strict=True)]
    return together
