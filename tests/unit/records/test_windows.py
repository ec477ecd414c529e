"""Windows: weekly times in UTC at which template changes may start."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.records.windows import Weekday, Window, opens_at

MONDAY = datetime(2026, 11, 30, tzinfo=UTC)
WORKDAYS = (Weekday.MONDAY, Weekday.TUESDAY, Weekday.WEDNESDAY, Weekday.THURSDAY, Weekday.FRIDAY)


def window(*days: Weekday, start: str = "08:00", end: str = "12:00") -> Window:
    return Window(days=days or (Weekday.MONDAY,), start=start, end=end)


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return MONDAY + timedelta(days=day, hours=hour, minutes=minute, seconds=second)


def test_without_windows_a_change_may_start_now() -> None:
    assert opens_at((), at(0, 3, 14, 15)) == at(0, 3, 14, 15)


@pytest.mark.parametrize("now", [at(0, 8), at(0, 11, 59, 59)])
def test_inside_a_window_a_change_may_start_now(now: datetime) -> None:
    assert opens_at((window(),), now) == now


@pytest.mark.parametrize(
    ("now", "opens"),
    [(at(0, 7, 59, 59), at(0, 8)), (at(0, 12), at(7, 8)), (at(6, 23), at(7, 8)), (at(3, 0), at(7, 8))],
)
def test_outside_it_waits_for_the_next_that_opens(now: datetime, opens: datetime) -> None:
    assert opens_at((window(),), now) == opens


def test_of_several_windows_the_first_to_open_counts() -> None:
    assert opens_at((window(Weekday.FRIDAY), window(Weekday.WEDNESDAY, start="22:30")), at(1, 0)) == at(2, 22, 30)


def test_an_end_before_its_start_is_on_the_following_day() -> None:
    night = (window(Weekday.SUNDAY, start="22:00", end="06:00"),)
    assert opens_at(night, at(6, 23)) == at(6, 23)
    assert opens_at(night, at(7, 5, 59)) == at(7, 5, 59)
    assert opens_at(night, at(7, 6)) == at(13, 22)


def test_the_same_end_as_start_is_a_whole_day() -> None:
    assert opens_at((window(start="08:00", end="08:00"),), at(1, 7, 59)) == at(1, 7, 59)
    assert opens_at((window(start="08:00", end="08:00"),), at(1, 8)) == at(7, 8)


@pytest.mark.parametrize(("start", "end"), [("8:00", "12:00"), ("24:00", "12:00"), ("08:60", "12:00"), ("08:00", "noon")])
def test_a_time_is_hours_and_minutes_of_a_day(start: str, end: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        window(start=start, end=end)


def test_a_day_is_named_once() -> None:
    with pytest.raises(ValidationError, match="days names a day twice: name it once"):
        window(Weekday.MONDAY, Weekday.MONDAY)


def test_a_window_has_a_day() -> None:
    with pytest.raises(ValidationError, match="at least 1"):
        Window(days=(), start="08:00", end="12:00")


@given(
    st.lists(st.sampled_from(Weekday), min_size=1, max_size=7, unique=True),
    st.times(),
    st.times(),
    st.integers(0, 14 * 24 * 3_600),
)
def test_when_it_opens_it_is_open_and_within_a_week(days: list[Weekday], start: object, end: object, seconds: int) -> None:
    windows = (window(*days, start=f"{start:%H:%M}", end=f"{end:%H:%M}"),)
    now = MONDAY + timedelta(seconds=seconds)
    opens = opens_at(windows, now)
    assert now <= opens <= now + timedelta(days=7)
    assert opens_at(windows, opens) == opens
