"""Weekly times at which template changes may start. Pure; all times are UTC."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from shared.records.base import Record

_TIME = r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"
_MINUTES_OF_DAY = 24 * 60
_MINUTES_OF_WEEK = 7 * _MINUTES_OF_DAY


class Weekday(StrEnum):
    """A day of the week."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


class Window(Record):
    """A time of the week. With an end that is not after its start it ends on the following day."""

    days: Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)]
    """On which days it begins."""
    start: Annotated[str, StringConstraints(pattern=_TIME)]
    """`HH:MM`, UTC."""
    end: Annotated[str, StringConstraints(pattern=_TIME)]
    """`HH:MM`, UTC, itself no longer inside; the same as `start`: a whole day."""

    @model_validator(mode="after")
    def _each_day_once(self) -> Self:
        if len(set(self.days)) < len(self.days):
            raise ValueError("days names a day twice: name it once")
        return self

    def spans(self) -> list[tuple[int, int]]:
        """Begin and end in minutes since Monday 00:00; an end may lie past the week's."""
        begins, ends = _minutes(self.start), _minutes(self.end)
        length = (ends - begins) % _MINUTES_OF_DAY or _MINUTES_OF_DAY
        order = list(Weekday)
        return [(order.index(day) * _MINUTES_OF_DAY + begins, order.index(day) * _MINUTES_OF_DAY + begins + length) for day in self.days]


def opens_at(windows: tuple[Window, ...], now: datetime) -> datetime:
    """When a template change may start: `now` inside a window or where there is none, else when the next one opens."""
    if not windows:
        return now
    minute = now.weekday() * _MINUTES_OF_DAY + now.hour * 60 + now.minute
    spans = [span for window in windows for span in window.spans()]
    if any(begin <= at < end for begin, end in spans for at in (minute, minute + _MINUTES_OF_WEEK)):
        return now
    wait = min((begin - minute) % _MINUTES_OF_WEEK for begin, _ in spans)
    return now.replace(second=0, microsecond=0) + timedelta(minutes=wait)


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)
