"""One serving instance under a steady load: the cycle of its batches, what it can carry, the mean batch, how busy card and CPU are.

Assumptions of every formula here: one device that runs one batch at a time, first come first served; batch threads whose host parts run
on the CPU while another batch is on the device; a batch timeout of (almost) zero, so that a free thread takes what waits; CPU that is not
the bottleneck, which `cpu` judges.
"""

import math
from dataclasses import dataclass, field

from shared.tfserving.capacity.batch_time import BatchTime, Piece

MS_PER_SECOND = 1_000.0


@dataclass(frozen=True, slots=True)
class Instance:
    """What serves: a model's batch time, and the settings that shape its batches.

    Raises:
        ValueError: a count below 1, a negative time, or CPU that is not above zero.
    """

    batch_time: BatchTime
    max_batch_rows: int
    """B: rows of a batch as it runs, thus max_execution_batch_size where splitting is on."""
    batch_threads: int
    """N: num_batch_threads."""
    cpu_ms_per_request: float = 0.0
    """d: CPU time of a request outside its batch."""
    vcpus: float = math.inf
    """K."""
    rows_per_request: float = 1.0
    """s: the mean."""
    capacity_rows_per_second: float = field(init=False, repr=False, compare=False)
    """X_max(B) = B / Delta(B): what no settings but B and N can raise. With batching off, set `max_batch_rows` to a request's rows."""

    def __post_init__(self) -> None:
        for name, count in (("max_batch_rows", self.max_batch_rows), ("batch_threads", self.batch_threads)):
            if count < 1:
                raise ValueError(f"{name} is {count}: it is 1 or more")
        if not (math.isfinite(self.cpu_ms_per_request) and self.cpu_ms_per_request >= 0):
            raise ValueError(f"cpu_ms_per_request is {self.cpu_ms_per_request}: it is zero or more milliseconds")
        if not self.vcpus > 0:
            raise ValueError(f"vcpus is {self.vcpus}: an instance has some CPU")
        if not self.rows_per_request >= 1:
            raise ValueError(f"rows_per_request is {self.rows_per_request}: a request has one row at least")
        object.__setattr__(self, "capacity_rows_per_second", self.rows_per_second_at(self.max_batch_rows))

    def cycle_ms(self, rows: float) -> float:
        """Delta(b) = max(g(b), t(b) / N): from one batch's start to the next one's, with batches of `rows`.

        The device binds, or the threads that are each busy for all of t(b).
        """
        time = self.batch_time
        return max(time.device_ms(rows), time.total_ms(rows) / self.batch_threads)

    def rows_per_second_at(self, rows: float) -> float:
        """What passes while every batch has `rows`: b / Delta(b)."""
        return MS_PER_SECOND * rows / self.cycle_ms(rows)

    def load(self, rows_per_second: float) -> float:
        """The load rho = rate / X_max(B): 1 - rho is the headroom, which the busy time of the device does not show."""
        return rows_per_second / self.capacity_rows_per_second

    def mean_batch_rows(self, rows_per_second: float) -> float:
        """The batch that the load makes of itself: the smallest b from 1 to B with b >= rate * Delta(b); B where there is none.

        Of a straight line: b = max(1, rate*(a-h)/(1-rate*c), rate*a/(N-rate*c)), at most B. Steady arrivals, not bursts of requests;
        against simulations 0.6-1.2 % off for a load above 0.5, 3-9.5 % below.
        """
        rate = rows_per_second / MS_PER_SECOND
        most = float(self.max_batch_rows)
        time = self.batch_time
        host, threads = time.host_ms, self.batch_threads
        for piece in time.pieces:
            if piece.first_rows > most:
                break
            found = _smallest_batch(piece, rate, host, threads, most)
            if found is not None:
                return found
        return most

    def rows_within_cycle(self, cycle_ms: float) -> float:
        """The largest b with Delta(b) <= `cycle_ms`, whatever B is: the inverse of `cycle_ms`.

        0 where a row alone takes longer, infinite where every batch takes less.
        """
        time = self.batch_time
        allowed = min(cycle_ms + time.host_ms, self.batch_threads * cycle_ms)
        rows = 0.0
        for piece in time.pieces:
            fixed, slope = piece.fixed_ms, piece.per_row_ms
            if fixed + slope * piece.first_rows > allowed:
                break
            rows = piece.last_rows if slope == 0.0 else min(piece.last_rows, max(piece.first_rows, (allowed - fixed) / slope))
        return rows

    def device_busy(self, rows_per_second: float) -> float:
        """(rate / b) * g(b), at most 1: the share of time the device runs a batch.

        Near 1 from rate * Delta(1) = 1 on, where the capacity may be several times as much: batches grow with the load.
        """
        rate = min(rows_per_second, self.capacity_rows_per_second)
        batch = self.mean_batch_rows(rate)
        return min(1.0, rate / MS_PER_SECOND / batch * self.batch_time.device_ms(batch))

    def useful_threads(self, rows: float) -> int:
        """N* = 1 + ceil(h / g(b)): batch threads that keep the device busy with batches of `rows`.

        More add no capacity, and (N - N*) * Delta of latency.

        Raises:
            ValueError: such a batch needs no time on the device, so every thread adds capacity.
        """
        device = self.batch_time.device_ms(rows)
        if device <= 0:
            raise ValueError(f"a batch of {rows} rows needs no device time: every thread adds capacity")
        return 1 + math.ceil(self.batch_time.host_ms / device)


def _smallest_batch(piece: Piece, rate: float, host: float, threads: int, most: float) -> float | None:
    """The smallest b on the piece with b >= rate*(t(b)-h) and b >= rate*t(b)/N; rate in rows per millisecond."""
    low, high = piece.first_rows, min(piece.last_rows, most)
    fixed, slope = piece.fixed_ms, piece.per_row_ms
    for share, constant in ((rate, fixed - host), (rate / threads, fixed)):
        # The spare rows of a batch, b - share * (constant + slope * b), are a straight line in b too.
        gain, loss = 1.0 - share * slope, share * constant
        if gain * low >= loss:
            if gain * high < loss:
                high = loss / gain
        elif gain > 0.0 and gain * high >= loss:
            low = loss / gain
        else:
            return None
    return low if low <= high else None
