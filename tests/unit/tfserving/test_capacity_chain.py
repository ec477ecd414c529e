"""One batch thread by its Markov chain: exact against known queues and an event loop, and the yardstick of the formulas."""

from collections.abc import Callable

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime, TableBatchTime
from shared.tfserving.capacity.chain import MAX_STATES, NoSteadyStateError, one_thread, poisson
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.latency import mean_ms_of_one_thread, p99_ms
from tests.benchmarks.capacity_reference import large_model, observe, small_model

SMALL = AffineBatchTime(4.0, 0.25, 2.0)


def test_a_batch_of_one_is_the_queue_with_poisson_arrivals_and_fixed_service() -> None:
    found = one_thread(AffineBatchTime(10.0, 0.0), max_batch_rows=1, rows_per_second=80.0)
    assert found.mean_ms == pytest.approx(10.0 + 0.8 * 10.0 / (2 * 0.2), rel=1e-6)
    assert found.busy == pytest.approx(0.8, rel=1e-6)


def test_of_that_queue_those_who_find_it_idle_take_exactly_one_service() -> None:
    found = one_thread(AffineBatchTime(10.0, 0.0), max_batch_rows=1, rows_per_second=50.0)
    assert found.quantile_ms(0.45) == pytest.approx(10.0, abs=found.step_ms)
    assert found.quantile_ms(0.60) > 11.0


def test_without_load_a_request_is_a_batch_of_its_own() -> None:
    found = one_thread(SMALL, max_batch_rows=32, rows_per_second=0.001)
    assert found.mean_ms == pytest.approx(4.25, rel=1e-4)
    assert found.mean_batch_rows == pytest.approx(1.0, rel=1e-4)
    assert found.quantile_ms(0.99) == pytest.approx(4.25, abs=found.step_ms)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("rows", [16, 64])
@pytest.mark.parametrize("model", [small_model, large_model])
def test_it_agrees_with_an_event_loop(model: Callable[..., Instance], rows: int, load: float) -> None:
    instance = model(batch_rows=rows, threads=1)
    rate = load * instance.capacity_rows_per_second
    seen = observe(instance, rate, requests=60_000, seed=2)
    found = one_thread(instance.batch_time, max_batch_rows=rows, rows_per_second=rate)
    cpu = instance.cpu_ms_per_request
    assert cpu + found.mean_ms == pytest.approx(seen.mean_ms, rel=0.012)
    assert cpu + found.quantile_ms(0.5) == pytest.approx(seen.p50_ms, rel=0.012)
    assert cpu + found.quantile_ms(0.99) == pytest.approx(seen.p99_ms, rel=0.031)
    assert found.mean_batch_rows == pytest.approx(seen.mean_batch_rows, rel=0.015)


def test_it_agrees_with_an_event_loop_on_a_table_with_a_step() -> None:
    time = TableBatchTime({1: 4.0, 8: 5.0, 9: 9.0, 16: 10.0})
    seen = observe(Instance(time, 16, 1), 1000.0, requests=60_000, seed=2)
    found = one_thread(time, max_batch_rows=16, rows_per_second=1000.0)
    assert found.mean_ms == pytest.approx(seen.mean_ms, rel=0.012)
    assert found.quantile_ms(0.99) == pytest.approx(seen.p99_ms, rel=0.031)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("rows", [32, 64])
def test_the_formula_of_the_mean_is_within_three_percent_of_it(rows: int, load: float) -> None:
    rate = load * Instance(SMALL, rows, 1).capacity_rows_per_second
    exact = one_thread(SMALL, max_batch_rows=rows, rows_per_second=rate).mean_ms
    assert mean_ms_of_one_thread(SMALL, rate) == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("load", [0.2, 0.35, 0.5, 0.65, 0.8])
@pytest.mark.parametrize("rows", [16, 32, 64])
@pytest.mark.parametrize("model", [small_model, large_model])
def test_the_formula_of_the_percentile_is_within_five_percent_of_it(model: Callable[..., Instance], rows: int, load: float) -> None:
    instance = model(batch_rows=rows, threads=1)
    rate = load * instance.capacity_rows_per_second
    exact = one_thread(instance.batch_time, max_batch_rows=rows, rows_per_second=rate).quantile_ms(0.99)
    assert p99_ms(instance, rate) == pytest.approx(instance.cpu_ms_per_request + exact, rel=0.05)


def test_above_capacity_there_is_no_steady_state() -> None:
    with pytest.raises(NoSteadyStateError, match=r"more than batches of 32 rows in 12\.0 ms carry"):
        one_thread(SMALL, max_batch_rows=32, rows_per_second=2667.0)


def test_so_close_to_capacity_that_the_queue_is_endless_it_says_so() -> None:
    with pytest.raises(NoSteadyStateError, match=f"more than {MAX_STATES} rows wait"):
        one_thread(AffineBatchTime(10.0, 0.0), max_batch_rows=1, rows_per_second=99.9)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_no_arrivals_make_no_chain(rate: float) -> None:
    with pytest.raises(ValueError, match="rows_per_second is"):
        one_thread(SMALL, max_batch_rows=32, rows_per_second=rate)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_percentile_is_between_none_and_all(share: float) -> None:
    with pytest.raises(ValueError, match="share is"):
        one_thread(SMALL, max_batch_rows=8, rows_per_second=100.0).quantile_ms(share)


@pytest.mark.parametrize("mean", [0.0, 0.3, 7.0, 480.0])
def test_the_chances_of_arrivals_add_up_to_one_and_to_their_mean(mean: float) -> None:
    chances = poisson(mean)
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    assert sum(count * chance for count, chance in enumerate(chances)) == pytest.approx(mean, abs=1e-9)
