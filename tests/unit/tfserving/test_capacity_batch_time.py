"""The time of a batch by its rows."""

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime, TableBatchTime


def test_a_straight_line_is_a_fixed_part_and_a_part_for_each_row() -> None:
    time = AffineBatchTime(4.0, 0.25, host_ms=2.0)
    assert time.total_ms(32) == 12.0
    assert time.device_ms(32) == 10.0


@pytest.mark.parametrize(
    ("fixed", "row", "host", "message"),
    [
        (-1.0, 0.25, 0.0, "fixed_ms is -1.0"),
        (4.0, float("nan"), 0.0, "row_ms is nan"),
        (4.0, 0.25, 5.0, "host_ms is 5.0: it is a part of fixed_ms, which is 4.0"),
        (0.0, 0.0, 0.0, "a batch takes some time"),
    ],
)
def test_a_line_that_no_batch_can_follow_is_refused(fixed: float, row: float, host: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AffineBatchTime(fixed, row, host)


def test_a_table_gives_the_measured_times_and_the_straight_line_between_them() -> None:
    time = TableBatchTime({1: 5.5, 8: 9.5, 32: 14.5, 128: 28.5})
    assert [time.total_ms(rows) for rows in (1, 8, 32, 128)] == [5.5, 9.5, 14.5, 28.5]
    assert time.total_ms(20) == pytest.approx(12.0)


def test_below_the_smallest_measured_size_its_time_holds() -> None:
    assert TableBatchTime({8: 9.5, 32: 14.5}).total_ms(1) == 9.5


def test_above_the_largest_size_rows_gain_nothing_more() -> None:
    time = TableBatchTime({1: 5.5, 8: 9.5})
    assert time.total_ms(16) == pytest.approx(19.0)
    assert 16 / time.total_ms(16) == pytest.approx(8 / 9.5)


def test_above_the_largest_size_a_slope_that_was_steeper_goes_on() -> None:
    assert TableBatchTime({8: 10.0, 16: 30.0}).total_ms(24) == pytest.approx(50.0)


def test_one_measured_size_is_a_table() -> None:
    time = TableBatchTime({16: 8.0})
    assert (time.total_ms(4), time.total_ms(32)) == (8.0, 16.0)


def test_a_size_that_was_quicker_than_a_smaller_one_counts_as_slow_as_that() -> None:
    time = TableBatchTime({16: 10.0, 17: 14.0, 32: 12.0})
    assert time.total_ms(32) == 14.0


@pytest.mark.parametrize(
    ("measured", "host", "message"),
    [
        ({}, 0.0, "the table of batch times is empty"),
        ({0: 5.0}, 0.0, "the batch time of 0 rows is 5.0 ms"),
        ({1: 0.0}, 0.0, "the batch time of 1 rows is 0.0 ms"),
        ({1: float("inf")}, 0.0, "the batch time of 1 rows is inf ms"),
        ({1: 5.0, 8: 9.0}, 5.5, "the shortest of which takes 5.0 ms"),
    ],
)
def test_a_table_that_measures_nothing_is_refused(measured: dict[int, float], host: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TableBatchTime(measured, host)


def test_a_table_of_a_straight_line_is_that_line() -> None:
    line = AffineBatchTime(4.0, 0.25, host_ms=2.0)
    table = TableBatchTime({rows: line.total_ms(rows) for rows in (1, 16, 64)}, host_ms=2.0)
    assert [table.device_ms(rows) for rows in (1, 7, 33, 64)] == pytest.approx([line.device_ms(rows) for rows in (1, 7, 33, 64)])
    assert table.per_row_ms(64) == pytest.approx(0.25)


def test_a_table_keeps_what_it_was_given_when_the_caller_changes_it() -> None:
    measured = {1: 5.0}
    time = TableBatchTime(measured)
    measured[1] = 50.0
    assert time.measured_ms[1] == 5.0
