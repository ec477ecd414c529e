"""How long a batch takes, by its rows: a straight line, or a table of measured sizes.

The time of a batch on one device hardly varies from run to run (Clockwork, OSDI 2020), so a number for each size is enough; Nexus
(SOSP 2019) and Clipper (NSDI 2017) use the straight line. Real cards have steps in it (kernel shapes, padding): then measure a table.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of sizes on which the batch time is `fixed_ms + per_row_ms * rows`. `fixed_ms` may be below zero beside a step."""

    first_rows: float
    last_rows: float
    """Infinity for the last piece."""
    fixed_ms: float
    per_row_ms: float


class BatchTime(Protocol):
    """The time of a batch by its rows: never falling with them, made of straight pieces without a jump, known from one row on."""

    @property
    def host_ms(self) -> float:
        """CPU part of each batch, the same for every size; another thread's batch may be on the device meanwhile."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The straight pieces of `total_ms`, host part included, in order of size; the last has no end."""

    def total_ms(self, rows: float) -> float:
        """t(rows): one batch from its start to its end, with nothing else running. `rows` may be a mean, thus a fraction."""

    def device_ms(self, rows: float) -> float:
        """g(rows): what of it needs the device alone."""

    def per_row_ms(self, max_rows: int) -> float:
        """The time that a row more costs on the average of the sizes up to `max_rows`."""


@dataclass(frozen=True, slots=True)
class AffineBatchTime:
    """t(b) = fixed_ms + per_row_ms * b, of which `host_ms` are on the CPU.

    Raises:
        ValueError: a number is negative or not finite, the host part exceeds the fixed part, or a batch takes no time.
    """

    fixed_ms: float
    row_ms: float
    host_ms: float = 0.0
    pieces: tuple[Piece, ...] = field(init=False, repr=False, compare=False)
    """One, from one row on."""

    def __post_init__(self) -> None:
        for name, value in (("fixed_ms", self.fixed_ms), ("row_ms", self.row_ms), ("host_ms", self.host_ms)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}: it is a time, zero or more milliseconds")
        if self.host_ms > self.fixed_ms:
            raise ValueError(f"host_ms is {self.host_ms}: it is a part of fixed_ms, which is {self.fixed_ms}")
        if self.fixed_ms + self.row_ms == 0:
            raise ValueError("fixed_ms and row_ms are both 0: a batch takes some time")
        object.__setattr__(self, "pieces", (Piece(1.0, math.inf, self.fixed_ms, self.row_ms),))

    def total_ms(self, rows: float) -> float:
        """The straight line."""
        return self.fixed_ms + self.row_ms * rows

    def device_ms(self, rows: float) -> float:
        """The straight line without the host part."""
        return self.fixed_ms - self.host_ms + self.row_ms * rows

    def per_row_ms(self, max_rows: int) -> float:  # noqa: ARG002 (of a straight line it is the same for all sizes)
        """Its slope."""
        return self.row_ms


@dataclass(frozen=True, slots=True)
class TableBatchTime:
    """Measured times (milliseconds, host part included) by rows of a batch, joined by straight lines.

    * Below the smallest size its time holds: a smaller batch is not promised to be quicker.
    * A size that was measured quicker than a smaller one counts as slow as that one: a dip is noise, or a shape that only padding reaches.
    * Above the largest size, the steeper of two lines goes on: through the last two sizes, or through the last one and the origin. So the
      rows of a second never grow beyond the largest size by more than what was measured.

    Raises:
        ValueError: no size, a size below one row, a time that is not finite and above zero, or a host part above the smallest time.
    """

    measured_ms: Mapping[int, float]
    host_ms: float = 0.0
    pieces: tuple[Piece, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sizes = sorted(self.measured_ms)
        if not sizes:
            raise ValueError("the table of batch times is empty: it needs one size at least")
        for size in sizes:
            time = self.measured_ms[size]
            if size < 1 or not (math.isfinite(time) and time > 0):
                raise ValueError(f"the batch time of {size} rows is {time} ms: sizes are 1 or more, times above zero")
        times = list(itertools.accumulate((self.measured_ms[size] for size in sizes), max))
        if not 0 <= self.host_ms <= times[0]:
            raise ValueError(f"host_ms is {self.host_ms}: it is a part of every batch, the shortest of which takes {times[0]} ms")
        object.__setattr__(self, "measured_ms", dict(self.measured_ms))
        object.__setattr__(self, "pieces", tuple(_pieces(sizes, times)))

    def total_ms(self, rows: float) -> float:
        """The line of the piece that `rows` is on."""
        piece = next(piece for piece in self.pieces if rows <= piece.last_rows)
        return piece.fixed_ms + piece.per_row_ms * max(rows, piece.first_rows)

    def device_ms(self, rows: float) -> float:
        """The same without the host part."""
        return self.total_ms(rows) - self.host_ms

    def per_row_ms(self, max_rows: int) -> float:
        """From one row to `max_rows`; of one row alone, the slope there."""
        if max_rows <= 1:
            return self.pieces[0].per_row_ms
        return (self.total_ms(max_rows) - self.total_ms(1)) / (max_rows - 1)


def _pieces(sizes: list[int], times: list[float]) -> list[Piece]:
    pieces = [Piece(1.0, sizes[0], times[0], 0.0)] if sizes[0] > 1 else []
    slope = 0.0
    for (rows, time), (next_rows, next_time) in itertools.pairwise(zip(sizes, times, strict=True)):
        slope = (next_time - time) / (next_rows - rows)
        pieces.append(Piece(rows, next_rows, time - slope * rows, slope))
    beyond = max(slope, times[-1] / sizes[-1])
    return [*pieces, Piece(sizes[-1], math.inf, times[-1] - beyond * sizes[-1], beyond)]
