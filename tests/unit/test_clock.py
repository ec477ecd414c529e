"""Time and identifiers."""

import re
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from shared.clock import SystemClock, SystemIds, time_ordered_id
from shared.local.clock import SeededIds, VirtualClock
from tests.support.builders import NOW

FORM = re.compile("[0-9A-HJKMNP-TV-Z]{26}")
moments, chances = st.integers(0, 2**48 - 1), st.integers(0, 2**80 - 1)


@given(moments, chances)
def test_an_id_is_26_characters_that_nobody_mistakes_for_others(milliseconds: int, chance: int) -> None:
    assert FORM.fullmatch(time_ordered_id(milliseconds, chance))


@given(moments, chances, moments, chances)
def test_ids_sort_by_time_then_by_chance(early: int, one: int, late: int, other: int) -> None:
    first, second = time_ordered_id(early, one), time_ordered_id(late, other)
    assert (first < second) == ((early, one) < (late, other))
    assert (first == second) == ((early, one) == (late, other))


def test_the_smallest_and_the_largest_id() -> None:
    assert time_ordered_id(0, 0) == "0" * 26
    assert time_ordered_id(2**48 - 1, 2**80 - 1) == "7" + "Z" * 25


def test_the_clock_is_in_utc_and_near_the_machines() -> None:
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)


def test_ids_of_the_system_are_all_different() -> None:
    ids = SystemIds(SystemClock())
    assert len({ids.new_id() for _ in range(2_000)}) == 2_000


def test_ids_of_a_story_are_the_same_every_time_and_sort_by_its_clock() -> None:
    def told() -> list[str]:
        clock = VirtualClock(NOW)
        ids = SeededIds(clock)
        made = []
        for _ in range(5):
            made.append(ids.new_id())
            clock.advance(1)
        return made

    assert told() == told() == sorted(told())


def test_ids_of_a_story_sort_as_they_were_made_while_its_clock_stands() -> None:
    ids = SeededIds(VirtualClock(NOW))
    made = [ids.new_id() for _ in range(50)]
    assert made == sorted(set(made))


def test_virtual_time_never_runs_backwards() -> None:
    clock = VirtualClock(NOW)
    assert clock.advance(-5) == NOW
    assert clock.advance(5) == NOW + timedelta(seconds=5)
