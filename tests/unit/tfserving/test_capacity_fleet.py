"""Several instances: what one is given, how many there are, where the autoscaler aims, what it costs."""

import math

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.fleet import (
    concurrency_target,
    headroom,
    instances_for_bursts,
    instances_needed,
    least_usd_per_million,
    planned_rows_per_second,
    usd_per_million_good,
)
from shared.tfserving.capacity.instance import Instance
from tests.benchmarks.capacity_reference import USD_PER_INSTANCE_SECOND, large_model, small_model


def floor_usd(rate: float) -> float:
    return least_usd_per_million(usd_per_instance_second=USD_PER_INSTANCE_SECOND, planned_rows_per_second=rate)


def test_the_floor_of_the_cost_is_that_of_the_best_plan() -> None:
    assert floor_usd(planned_rows_per_second(small_model(batch_rows=56, threads=2), slo_ms=50.0, cpu_target=0.9)) == (
        pytest.approx(0.090, abs=5e-4)
    )
    assert floor_usd(planned_rows_per_second(large_model(batch_rows=32, threads=2), slo_ms=150.0, cpu_target=0.9)) == (
        pytest.approx(0.554, rel=0.005)
    )


def test_without_batching_it_is_the_cost_of_lone_requests() -> None:
    assert floor_usd(small_model(batch_rows=1, threads=4).capacity_rows_per_second) == pytest.approx(0.654, abs=5e-4)
    assert floor_usd(large_model(batch_rows=1, threads=4).capacity_rows_per_second) == pytest.approx(2.18, abs=5e-3)


def test_the_cpu_target_bounds_what_an_instance_is_given() -> None:
    instance = Instance(AffineBatchTime(4.0, 0.25, 2.0), 32, 2, cpu_ms_per_request=6.0, vcpus=4.0)
    assert planned_rows_per_second(instance, slo_ms=50.0, cpu_target=0.6) == pytest.approx(0.6 * 4000 / (6 + 2 / 32))


def test_an_objective_that_no_request_meets_plans_nothing() -> None:
    nothing = planned_rows_per_second(small_model(batch_rows=32, threads=2), slo_ms=5.0, cpu_target=0.9)
    assert nothing == 0.0
    assert instances_needed(4000.0, planned_rows_per_second=nothing) is None
    assert floor_usd(nothing) == math.inf


def test_two_instances_carry_the_steady_load_of_either_model() -> None:
    small = planned_rows_per_second(small_model(batch_rows=32, threads=2), slo_ms=50.0, cpu_target=0.9)
    large = planned_rows_per_second(large_model(batch_rows=32, threads=2), slo_ms=150.0, cpu_target=0.9)
    assert instances_needed(4000.0, planned_rows_per_second=small, headroom=1.03) == 2
    assert instances_needed(1000.0, planned_rows_per_second=large, headroom=1.03) == 2


def test_two_instances_cost_what_the_best_static_settings_cost() -> None:
    def cost(rate: float) -> float:
        return usd_per_million_good(usd_per_instance_second=USD_PER_INSTANCE_SECOND, instances=2.0, good_per_second=rate)

    assert cost(4000.0) == pytest.approx(0.145, abs=5e-4)
    assert cost(1000.0) == pytest.approx(0.581, abs=5e-4)


def test_one_warm_card_at_one_request_a_second_costs_nearly_three_hundred_dollars_a_million() -> None:
    assert usd_per_million_good(usd_per_instance_second=USD_PER_INSTANCE_SECOND, instances=1.0, good_per_second=1.0) == pytest.approx(290.7)


def test_what_is_never_good_has_no_price() -> None:
    assert usd_per_million_good(usd_per_instance_second=USD_PER_INSTANCE_SECOND, instances=20.0, good_per_second=0.0) == math.inf


@pytest.mark.parametrize(("rate", "instances"), [(0.0, 1), (3000.0, 3), (3000.1, 4)])
def test_instances_are_whole_and_one_at_least(rate: float, instances: int) -> None:
    assert instances_needed(rate, planned_rows_per_second=1000.0) == instances


def test_a_product_that_is_whole_but_for_rounding_needs_no_instance_more() -> None:
    assert instances_needed(100.0, planned_rows_per_second=110.0, headroom=1.1) == 1


def test_bursts_are_kept_up_for_all_the_time() -> None:
    assert instances_for_bursts(2500.0, planned_rows_per_second=520.0) == 6


@pytest.mark.parametrize(
    ("instance", "concurrency", "rate", "target"),
    [(small_model(batch_rows=32, threads=2), 96, 4000.0, 0.219), (large_model(batch_rows=32, threads=2), 160, 1000.0, 0.194)],
)
def test_the_target_is_the_requests_that_the_load_keeps_in_an_instance(
    instance: Instance, concurrency: int, rate: float, target: float
) -> None:
    found = concurrency_target(instance, concurrency=concurrency, rows_per_second=rate / 2)
    assert found == pytest.approx(target, abs=5e-4)
    in_flight = 2 * found * concurrency
    assert [math.ceil(in_flight / (setting * concurrency)) for setting in (0.3, 0.6)] == [2, 1]


def test_the_target_stays_within_what_cloud_run_takes() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert concurrency_target(instance, concurrency=1000, rows_per_second=100.0) == 0.10
    assert concurrency_target(instance, concurrency=20, rows_per_second=3000.0) == 0.95


def test_the_headroom_is_the_growth_of_a_busy_minute() -> None:
    assert headroom([1000.0, 1200.0, 1200.0, 1000.0], planned_rate=1000.0) == pytest.approx(1.2)


def test_quiet_minutes_do_not_count() -> None:
    assert headroom([10.0, 400.0, 480.0], planned_rate=1000.0) == 1.03


def test_the_headroom_is_bounded() -> None:
    assert headroom([1000.0, 9000.0], planned_rate=1000.0) == 3.0
    assert headroom([1000.0, 900.0], planned_rate=1000.0) == 1.03
    assert headroom([], planned_rate=1000.0) == 1.03
    assert headroom([0.0, 5.0], planned_rate=0.0) == 1.03
