"""The workload of a scenario: how many rows a second are asked for, in requests of which size, by clients that try again or do not. Pure.

Times count from the end of the warm-up, before which a series has its first rate.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from shared.records.base import Record

MAX_ROWS_PER_S = 1_000_000
MAX_ROWS = 10_000
MAX_POINTS = 10_000
MAX_TIME_S = 31 * 86_400
RowsPerSecond = Annotated[float, Field(ge=0, le=MAX_ROWS_PER_S, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=MAX_TIME_S, allow_inf_nan=False)]
Lasting = Annotated[float, Field(gt=0, le=MAX_TIME_S, allow_inf_nan=False)]
Turn = Annotated[float, Field(ge=0.1, le=MAX_TIME_S, allow_inf_nan=False)]
"""A rate that changes more often is, for Cloud Run and for a batch queue, its mean."""
Rows = Annotated[int, Field(ge=1, le=MAX_ROWS, strict=True)]


class HeavyTail(Record):
    """Most requests are small and some are large: 1 to `largest` rows, each with a chance proportional to `rows ** -exponent`."""

    largest: Rows
    """Rows of the largest request."""
    exponent: Annotated[float, Field(ge=0, le=20, allow_inf_nan=False)] = 2.2
    """How quickly large requests become rare; 0: all sizes are as frequent."""


def _whole_or_tail(value: object) -> object:
    """A fraction would be refused twice over, once as rows and once as a mapping."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value != int(value):
        raise ValueError("want a whole number of rows, or a mapping with largest and exponent")
    return value


RowsOfRequests = Annotated[Rows | HeavyTail, BeforeValidator(_whole_or_tail, json_schema_input_type=Rows | HeavyTail)]


class ClientRetries(Record):
    """Clients that try again after RESOURCE_EXHAUSTED, UNAVAILABLE or 429."""

    tries: Annotated[int, Field(ge=1, le=10, strict=True)]
    """Of one request, the first included."""
    backoff_s: Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)] = 0.1
    """Before the second try; then twice as long, and so on, each half to one and a half times that by chance."""


class _Load(Record, ABC):
    rows: RowsOfRequests = 1
    """Rows of a request: a number, or a heavy tail."""
    retries: ClientRetries | None = None
    """Unset: clients do not try again."""

    @property
    @abstractmethod
    def highest_rows_per_s(self) -> float:
        """The highest rate that it comes to."""


class SteadyLoad(_Load):
    """The same rate all the time."""

    kind: Literal["steady"]
    """Which kind it is."""
    rows_per_s: RowsPerSecond
    """Rows a second, over all requests."""

    @property
    def highest_rows_per_s(self) -> float:
        """The rate."""
        return self.rows_per_s


class LowLoad(_Load):
    """A request now and then."""

    kind: Literal["low"]
    """Which kind it is."""
    rows_per_s: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = 1.0
    """Rows a second, over all requests."""

    @property
    def highest_rows_per_s(self) -> float:
        """The rate."""
        return self.rows_per_s


class BurstyLoad(_Load):
    """Two rates in turn, each for a time by chance (a Markov-modulated Poisson process)."""

    kind: Literal["bursty"]
    """Which kind it is."""
    low_rows_per_s: RowsPerSecond
    """Between bursts."""
    high_rows_per_s: RowsPerSecond
    """In a burst."""
    mean_low_s: Turn = 40.0
    """From the end of a burst to the next one, on the average."""
    mean_high_s: Turn = 10.0
    """How long a burst lasts, on the average."""

    @property
    def highest_rows_per_s(self) -> float:
        """Of a burst."""
        return max(self.low_rows_per_s, self.high_rows_per_s)


class DiurnalLoad(_Load):
    """A wave: `rows_per_s * (1 + amplitude * sin(2 pi (t - zero_s) / period_s))`."""

    kind: Literal["diurnal"]
    """Which kind it is."""
    rows_per_s: RowsPerSecond
    """The mean."""
    amplitude: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.8
    """How far it swings, as a part of the mean."""
    period_s: Annotated[float, Field(ge=60, le=MAX_TIME_S, allow_inf_nan=False)] = 1800.0
    """From one high to the next; a day is 86400."""
    zero_s: Annotated[float, Field(ge=-MAX_TIME_S, le=MAX_TIME_S, allow_inf_nan=False)] = 0.0
    """When it passes the mean on its way up."""

    @property
    def highest_rows_per_s(self) -> float:
        """Of the wave's high."""
        return self.rows_per_s * (1 + self.amplitude)


class FlashLoad(_Load):
    """A crowd: the usual rate, from `at_s` on the high one for `length_s`, then the usual one again."""

    kind: Literal["flash"]
    """Which kind it is."""
    low_rows_per_s: RowsPerSecond
    """Before and after the crowd."""
    high_rows_per_s: RowsPerSecond
    """While the crowd is there."""
    at_s: Seconds
    """When it comes."""
    length_s: Lasting = 300.0
    """How long it stays."""

    @property
    def highest_rows_per_s(self) -> float:
        """Of the crowd."""
        return max(self.low_rows_per_s, self.high_rows_per_s)


Point = tuple[Seconds, RowsPerSecond]


def _as_points(value: object) -> object:
    return [tuple(each) if isinstance(each, list) else each for each in value] if isinstance(value, list) else value


class ReplayLoad(_Load):
    """A recorded series: from each time on its rate, the last one for ever."""

    kind: Literal["replay"]
    """Which kind it is."""
    series: Annotated[
        tuple[Point, ...], BeforeValidator(_as_points, json_schema_input_type=Sequence[Point]), Field(min_length=1, max_length=MAX_POINTS)
    ] = ()
    """Pairs of a time in seconds and the rows a second from then on, in order of time. Or name a file with `csv_file`."""
    csv_file: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    """A CSV file beside the scenario's with the columns time_s and rate; a first line with these names may be there."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if bool(self.series) == (self.csv_file is not None):
            raise ValueError("a replay has either series or csv_file: write one of them")
        for (before, _), (after, _) in pairwise(self.series):
            if after <= before:
                raise ValueError(f"series: the time {after:g} comes after {before:g}: write the times in rising order, each once")
        return self

    @property
    def highest_rows_per_s(self) -> float:
        """Of the series."""
        return max((rate for _, rate in self.series), default=0.0)


Load = Annotated[
    SteadyLoad | BurstyLoad | DiurnalLoad | FlashLoad | LowLoad | ReplayLoad,
    Field(discriminator="kind"),
]
"""What is asked of the service over time."""


class CsvError(ValueError):
    """A file of rates that is none; the message says in which line."""


def series_of_csv(text: str) -> list[list[Any]]:
    """The pairs in a CSV text of time_s,rate, as numbers.

    Raises:
        CsvError: a line is none of two numbers, or there are too many.
    """
    found: list[list[Any]] = []
    # Excel begins a CSV in UTF-8 with a byte order mark.
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        if cells == [""] or (not found and cells[:1] == ["time_s"]):
            continue
        if len(found) == MAX_POINTS:
            raise CsvError(f"line {number}: more than {MAX_POINTS:,} lines; take means over longer steps")
        try:
            time_s, rate = map(float, cells)
        except ValueError:
            raise CsvError(f"line {number}: want two numbers, time_s,rate") from None
        found.append([time_s, rate])
    return found
