"""One instance: cycle, capacity, mean batch, busy device, useful threads."""

from typing import Any

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime, TableBatchTime
from shared.tfserving.capacity.instance import Instance
from tests.benchmarks.capacity_reference import large_model, observe, small_model


def test_the_device_sets_the_cycle_with_two_threads_and_the_threads_with_one() -> None:
    assert small_model(batch_rows=32, threads=2).cycle_ms(32) == 10.0
    assert small_model(batch_rows=32, threads=1).cycle_ms(32) == 12.0


def test_capacity_is_a_full_batch_each_cycle() -> None:
    assert small_model(batch_rows=32, threads=2).capacity_rows_per_second == pytest.approx(3200.0)
    assert large_model(batch_rows=32, threads=2).capacity_rows_per_second == pytest.approx(592.6, abs=0.1)


def test_the_device_reads_busy_long_before_capacity() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert instance.device_busy(444.4) == pytest.approx(1.0, abs=1e-3)
    assert instance.load(444.4) == pytest.approx(0.139, abs=1e-3)


def test_the_device_is_busy_for_its_share_while_requests_run_alone() -> None:
    assert small_model(batch_rows=32, threads=2).device_busy(200.0) == pytest.approx(0.45)


def test_a_busy_device_stays_at_one_above_capacity() -> None:
    assert small_model(batch_rows=16, threads=2).device_busy(10_000.0) == 1.0


@pytest.mark.parametrize(
    ("threads", "rate", "rows"),
    [(1, 1600.0, 6.4 / 0.6), (2, 1600.0, 3.2 / 0.6), (4, 1600.0, 3.2 / 0.6), (2, 100.0, 1.0), (2, 9000.0, 32.0)],
)
def test_the_mean_batch_is_what_the_load_makes_of_itself(threads: int, rate: float, rows: float) -> None:
    assert small_model(batch_rows=32, threads=threads).mean_batch_rows(rate) == pytest.approx(rows)


@pytest.mark.parametrize("load", [0.65, 0.8])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_mean_batch_is_that_of_an_event_loop_within_two_percent(threads: int, load: float) -> None:
    instance = large_model(batch_rows=32, threads=threads)
    rate = load * instance.capacity_rows_per_second
    seen = observe(instance, rate, requests=60_000, seed=5)
    assert instance.mean_batch_rows(rate) == pytest.approx(seen.mean_batch_rows, rel=0.02)


def test_a_table_of_a_straight_line_makes_the_same_batches() -> None:
    line = AffineBatchTime(4.0, 0.25, 2.0)
    table = TableBatchTime({rows: line.total_ms(rows) for rows in (1, 4, 16, 64)}, 2.0)
    for rate in (100.0, 700.0, 1600.0, 3000.0):
        assert Instance(table, 64, 2).mean_batch_rows(rate) == pytest.approx(Instance(line, 64, 2).mean_batch_rows(rate))


def test_a_step_in_the_table_holds_the_batch_where_it_still_fits() -> None:
    stepped = TableBatchTime({1: 4.0, 8: 4.0, 9: 8.0, 16: 8.0})
    instance = Instance(stepped, 16, 1)
    assert instance.mean_batch_rows(2000.0) == pytest.approx(8.0)
    assert instance.mean_batch_rows(1999.0) == pytest.approx(7.996)


def test_rows_within_a_cycle_is_the_cycle_the_other_way_round() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert instance.rows_within_cycle(instance.cycle_ms(20.0)) == pytest.approx(20.0)
    assert instance.rows_within_cycle(2.0) == 0.0
    assert Instance(AffineBatchTime(4.0, 0.0), 32, 1).rows_within_cycle(5.0) == float("inf")


def test_one_card_is_kept_busy_by_two_threads() -> None:
    assert small_model(batch_rows=32, threads=4).useful_threads(32) == 2
    assert small_model(batch_rows=32, threads=4).useful_threads(1) == 2


def test_a_model_without_host_part_needs_one_thread() -> None:
    assert Instance(AffineBatchTime(4.0, 0.25), 32, 4).useful_threads(32) == 1


def test_useful_threads_are_refused_where_the_device_does_nothing() -> None:
    with pytest.raises(ValueError, match="every thread adds capacity"):
        Instance(AffineBatchTime(4.0, 0.0, 4.0), 32, 4).useful_threads(32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_batch_rows": 0}, "max_batch_rows is 0"),
        ({"batch_threads": 0}, "batch_threads is 0"),
        ({"cpu_ms_per_request": -1.0}, "cpu_ms_per_request is -1.0"),
        ({"vcpus": 0.0}, "vcpus is 0.0"),
        ({"rows_per_request": 0.5}, "rows_per_request is 0.5"),
    ],
)
def test_an_instance_that_cannot_be_is_refused(changes: dict[str, float], message: str) -> None:
    settings: dict[str, Any] = {"max_batch_rows": 32, "batch_threads": 2, **changes}
    with pytest.raises(ValueError, match=message):
        Instance(AffineBatchTime(4.0, 0.25), **settings)
