"""Middle, mean and 99th percentile below capacity, against the numbers of simulations and against an event loop of one instance."""

import math
from collections.abc import Callable

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime, TableBatchTime
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.latency import backlog_p99_ms, large_batch_rows, mean_ms, mean_ms_of_one_thread, p50_ms, p99_ms
from tests.benchmarks.capacity_reference import large_model, observe, small_model


@pytest.mark.parametrize(("threads", "simulated"), [(1, 11.5), (2, 9.8), (4, 16.4)])
def test_the_mean_at_1600_a_second_is_near_the_simulated_one(threads: int, simulated: float) -> None:
    assert mean_ms(small_model(batch_rows=32, threads=threads), 1600.0) == pytest.approx(simulated, rel=0.11)


def test_threads_beyond_the_useful_ones_add_a_cycle_each() -> None:
    two, four = (p50_ms(small_model(batch_rows=32, threads=threads), 1600.0) for threads in (2, 4))
    cycle = small_model(batch_rows=32, threads=2).cycle_ms(3.2 / 0.6)
    assert four - two == pytest.approx(2 * cycle)


def test_the_middle_is_half_a_cycle_and_as_many_as_there_are_threads() -> None:
    assert p50_ms(small_model(batch_rows=32, threads=2), 1600.0) == pytest.approx(0.5 + 2.5 * 10.0 / 3.0)


def test_the_percentile_is_the_cycles_of_a_large_batch() -> None:
    instance = small_model(batch_rows=64, threads=2)
    spread = math.sqrt((3.2 / 0.6) / (1 - 0.4**2))
    large = 3.2 / 0.6 + 1.75 * math.sqrt(2 / 3) * spread
    assert large_batch_rows(instance, 1600.0) == pytest.approx(large)
    assert p99_ms(instance, 1600.0) == pytest.approx(0.5 + 3 * (2 + 0.25 * large))


def test_the_backlog_counts_only_near_capacity() -> None:
    instance = small_model(batch_rows=16, threads=2)
    assert backlog_p99_ms(instance, 0.80 * instance.capacity_rows_per_second) == 0.0
    assert backlog_p99_ms(instance, 0.92 * instance.capacity_rows_per_second) == pytest.approx(
        (4.6 - 2 * 0.08 / 0.92 * 2.5 * 4) * 0.92 / (2 * 0.08 * 0.92 * 16 / 6), rel=1e-9
    )


def test_at_capacity_nothing_ends() -> None:
    instance = small_model(batch_rows=32, threads=2)
    for figure in (p50_ms, p99_ms, mean_ms, backlog_p99_ms):
        assert figure(instance, 3200.0) == math.inf


def test_without_load_there_is_no_backlog() -> None:
    assert backlog_p99_ms(small_model(batch_rows=32, threads=2), 0.0) == 0.0


@pytest.mark.parametrize("load", [0.35, 0.5, 0.65, 0.8])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("model", [small_model, large_model])
def test_the_percentile_is_that_of_an_event_loop_within_seven_percent(model: Callable[..., Instance], threads: int, load: float) -> None:
    instance = model(batch_rows=32, threads=threads)
    rate = load * instance.capacity_rows_per_second
    assert p99_ms(instance, rate) == pytest.approx(observe(instance, rate, requests=40_000, seed=3).p99_ms, rel=0.07)


def test_the_mean_of_one_thread_is_the_known_bound() -> None:
    time = AffineBatchTime(4.0, 0.25)
    assert mean_ms_of_one_thread(time, 1600.0, cpu_ms_per_request=0.5) == pytest.approx(0.5 + 10.0 + 0.125 * 2.4 / 0.84)


def test_the_mean_of_one_thread_without_load_is_a_batch_of_one() -> None:
    assert mean_ms_of_one_thread(AffineBatchTime(4.0, 0.25), 1e-6) == pytest.approx(4.25, rel=1e-6)


def test_the_mean_of_one_thread_has_no_end_where_every_row_takes_its_whole_time() -> None:
    assert mean_ms_of_one_thread(AffineBatchTime(4.0, 0.25), 4000.0) == math.inf


def test_a_table_has_no_known_mean_but_its_middle() -> None:
    instance = Instance(TableBatchTime({1: 4.25, 64: 20.0}), 64, 1)
    assert mean_ms(instance, 1600.0) == p50_ms(instance, 1600.0)


def test_a_table_as_steep_as_the_load_meets_full_batches() -> None:
    instance = Instance(TableBatchTime({1: 1.0, 15: 2.0, 16: 32.0}), 16, 1)
    assert large_batch_rows(instance, 499.0) == 16.0
