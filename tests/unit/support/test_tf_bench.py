"""The arithmetic of `make bench-tf`: from counters to batches and times."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.tf.agreement import cause_of
from tests.benchmarks.tf.cases import CASES, CLEAR_MS, NAMED, Case, drawn
from tests.benchmarks.tf.predicted import fitted
from tests.benchmarks.tf.served import Counted


def counted(sizes: list[int]) -> Counted:
    """What the counters say of batches of these sizes: buckets end at powers of two, which they do not hold."""
    ends = Counter(2.0 ** (math.floor(math.log2(size)) + 1) for size in sizes)
    by_size = tuple((end, float(ends[end])) for end in (*(2.0**power for power in range(14)), math.inf))
    return Counted(len(sizes), len(sizes), sum(sizes), 0.0, 0.0, 0.0, by_size)


def seen_by_rows(sizes: list[int]) -> float:
    return sum(size * size for size in sizes) / sum(sizes)


def test_times_on_a_line_give_the_line() -> None:
    line = fitted([(2.0, 15.0), (4.0, 20.0), (8.0, 30.0)])
    assert [line.fixed_ms, line.row_ms] == pytest.approx([10.0, 2.5])


def test_a_line_never_begins_below_zero() -> None:
    assert fitted([(2.0, 1.0), (4.0, 6.0)]).fixed_ms == 0.0


def test_one_mean_batch_is_no_line() -> None:
    with pytest.raises(ValueError, match=r"2 windows of one mean batch"):
        fitted([(4.0, 20.0), (4.0, 21.0)])


@pytest.mark.parametrize("sizes", [[1] * 5, [16] * 5, [1, 1, 1, 16]])
def test_buckets_with_one_size_each_tell_the_batch_that_a_row_sees(sizes: list[int]) -> None:
    assert counted(sizes).batch_of_a_row(16) == pytest.approx(seen_by_rows(sizes))


@pytest.mark.parametrize("mean", [1.5, 3.0, 6.0, 9.0])
def test_wider_buckets_tell_it_within_eight_percent_where_sizes_are_spread_by_chance(mean: float) -> None:
    chance = np.random.default_rng(1)
    sizes = [int(size) for size in np.clip(chance.poisson(mean, 500), 1, 16)]
    assert counted(sizes).batch_of_a_row(16) == pytest.approx(seen_by_rows(sizes), rel=0.08)


@given(st.lists(st.integers(1, 16), min_size=1, max_size=60))
def test_a_row_never_sees_a_smaller_batch_than_the_mean_nor_one_that_cannot_be(sizes: list[int]) -> None:
    seen = counted(sizes).batch_of_a_row(16)
    assert sum(sizes) / len(sizes) <= seen * 1.001
    assert seen <= 16 * 1.001


def test_the_drawn_cases_are_always_the_same_and_leave_room_around_timeouts() -> None:
    again = [*NAMED, *drawn(len(CASES) - len(NAMED), seed=20261130)]
    assert again == list(CASES)
    assert len({case.name for case in CASES}) == len(CASES) >= 30
    assert CLEAR_MS >= 100


@pytest.mark.parametrize("case", NAMED[::7], ids=lambda case: case.name)
def test_a_case_survives_its_journey_as_json(case: Case) -> None:
    assert Case.from_json(case.as_json()) == case


def test_a_text_that_nobody_knows_has_no_cause() -> None:
    assert cause_of("UNAVAILABLE: The batch scheduling queue to which this task was submitted is full; currently 1") == "batch-queue-full"
    assert cause_of("INTERNAL: something else") is None
