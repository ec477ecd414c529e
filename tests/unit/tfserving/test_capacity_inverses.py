"""The largest batch and the largest rate within a budget."""

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime, TableBatchTime
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.inverses import max_batch_rows_within, rate_within_p50, rate_within_p99
from shared.tfserving.capacity.latency import p50_ms, p99_ms
from tests.benchmarks.capacity_reference import large_model, small_model


def test_the_largest_batch_within_an_objective() -> None:
    assert max_batch_rows_within(small_model(batch_rows=1, threads=2), 50.0) == 58
    assert max_batch_rows_within(large_model(batch_rows=1, threads=2), 150.0) == 28


def test_with_one_thread_its_whole_batch_time_counts() -> None:
    assert max_batch_rows_within(small_model(batch_rows=1, threads=1), 50.0) == 83


def test_a_budget_that_is_met_exactly_counts() -> None:
    assert max_batch_rows_within(Instance(AffineBatchTime(0.1, 0.1), 1, 1), 2 * (0.1 + 0.1 * 7)) == 7


def test_a_budget_below_one_row_allows_none() -> None:
    assert max_batch_rows_within(small_model(batch_rows=1, threads=2), 7.0) == 0


def test_a_time_that_does_not_grow_allows_any() -> None:
    assert max_batch_rows_within(Instance(AffineBatchTime(4.0, 0.0), 1, 1), 10.0) is None


@pytest.mark.parametrize("budget_ms", [10.0, 20.0, 27.5, 30.0, 45.0, 200.0])
@pytest.mark.parametrize("rows", [1, 8, 32, 96])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_largest_rate_meets_its_budget_and_the_next_does_not(threads: int, rows: int, budget_ms: float) -> None:
    instance = small_model(batch_rows=rows, threads=threads)
    rate = rate_within_p99(instance, budget_ms)
    if rate > 0.0:
        assert p99_ms(instance, rate) <= budget_ms * (1 + 1e-12)
    assert p99_ms(instance, rate * (1 + 1e-5) + 1e-6) > budget_ms


def test_a_budget_that_no_request_meets_leaves_no_rate() -> None:
    assert rate_within_p99(small_model(batch_rows=32, threads=2), 7.0) == 0.0
    assert rate_within_p99(small_model(batch_rows=32, threads=2), 0.1) == 0.0
    assert rate_within_p50(small_model(batch_rows=32, threads=2), 0.1) == 0.0


def test_a_budget_that_only_the_spread_of_lone_requests_breaks_leaves_no_rate() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert p99_ms(instance, 0.0) > 8.0 > 0.5 + 3 * instance.cycle_ms(1.0)
    assert rate_within_p99(instance, 8.0) == 0.0


def test_the_rate_of_a_middle_is_that_of_its_batch() -> None:
    instance = small_model(batch_rows=32, threads=2)
    rate = rate_within_p50(instance, 12.0)
    assert p50_ms(instance, rate) == pytest.approx(12.0)


def test_a_middle_longer_than_full_batches_take_allows_all_there_is() -> None:
    assert rate_within_p50(small_model(batch_rows=32, threads=2), 100.0) == 3200.0


@pytest.mark.parametrize("budget_ms", [8.01 + 0.13 * step for step in range(60)])
def test_batches_that_all_take_the_same_time_leave_only_the_backlog_to_the_budget(budget_ms: float) -> None:
    instance = Instance(AffineBatchTime(4.0, 0.0, 1.0), 64, 1)
    rate = rate_within_p99(instance, budget_ms)
    assert p99_ms(instance, rate) <= budget_ms * (1 + 1e-9)
    assert p99_ms(instance, rate * (1 + 1e-5)) >= budget_ms * (1 - 1e-5)
    assert rate > 0.8 * instance.capacity_rows_per_second


def test_a_table_has_a_largest_rate_too() -> None:
    instance = Instance(TableBatchTime({1: 5.5, 8: 9.5, 32: 14.5, 128: 28.5}, host_ms=2.0), 64, 2)
    rate = rate_within_p99(instance, 45.0)
    assert p99_ms(instance, rate) <= 45.0 < p99_ms(instance, rate * 1.0001)
