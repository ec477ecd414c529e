"""What an instance carries when concurrency, server threads or the batch timeout is the limit."""

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.concurrency import (
    Admission,
    Beyond,
    concurrency_for_batch,
    concurrency_for_rate,
    concurrency_to_fill,
    lone_request_ms,
    max_batch_timeout_ms,
    refused_share,
    saturated_batch_rows,
    saturated_rows_per_second,
    slo_concurrency,
    timeout_limited_rows_per_second,
    timeout_limits,
)
from shared.tfserving.capacity.instance import Instance
from tests.benchmarks.capacity_reference import large_model, small_model

FORUM_TIMEOUT_MS = 5_000.0


@pytest.mark.parametrize("rows", [8, 16, 1000])
def test_default_threads_keep_batches_at_three_rows_whatever_the_file_says(rows: int) -> None:
    admission = Admission(concurrency=80, server_threads=16)
    assert saturated_batch_rows(small_model(batch_rows=rows, threads=4), admission.requests) == pytest.approx(3.2)


def test_default_threads_carry_what_their_batches_do() -> None:
    assert saturated_rows_per_second(small_model(batch_rows=16, threads=4), 16) == pytest.approx(1142.9, abs=0.1)
    assert saturated_rows_per_second(large_model(batch_rows=16, threads=4), 16) == pytest.approx(296.3, abs=0.1)


def test_more_requests_than_fill_all_batches_carry_no_more() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert saturated_rows_per_second(instance, 96) == saturated_rows_per_second(instance, 1000) == pytest.approx(3200.0)


def test_one_request_at_a_time_takes_its_whole_time() -> None:
    assert saturated_rows_per_second(small_model(batch_rows=32, threads=2), 1) == pytest.approx(1000 / 4.75)


def test_a_request_of_several_rows_is_not_cut_into_batches() -> None:
    instance = Instance(AffineBatchTime(4.0, 0.25), 32, 4, rows_per_request=8.0)
    assert saturated_batch_rows(instance, 2) == 8.0


def test_five_requests_and_a_timeout_of_five_seconds_carry_one_a_second() -> None:
    for instance in (small_model(batch_rows=32, threads=4), large_model(batch_rows=32, threads=4)):
        assert saturated_rows_per_second(instance, 5, batch_timeout_ms=FORUM_TIMEOUT_MS) == pytest.approx(1.00, abs=0.005)
    assert 20 * timeout_limited_rows_per_second(small_model(batch_rows=32, threads=4), 5, batch_timeout_ms=FORUM_TIMEOUT_MS) == (
        pytest.approx(20.0, abs=0.1)
    )


def test_a_batch_that_never_fills_passes_once_in_its_timeout_and_its_time() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert timeout_limited_rows_per_second(instance, 16, batch_timeout_ms=100.0) == pytest.approx(1000 * 16 / 108.0)
    assert saturated_rows_per_second(instance, 16, batch_timeout_ms=100.0) == pytest.approx(1000 * 16 / 108.0)


def test_rows_of_a_request_count_against_the_size_of_a_batch() -> None:
    one_row = Instance(AffineBatchTime(4.0, 0.25), 32, 2)
    eight_rows = Instance(AffineBatchTime(4.0, 0.25), 32, 2, rows_per_request=8.0)
    assert timeout_limits(one_row, 5, batch_timeout_ms=10.0)
    assert not timeout_limits(eight_rows, 5, batch_timeout_ms=10.0)


def test_a_timeout_of_zero_limits_nothing() -> None:
    assert not timeout_limits(small_model(batch_rows=32, threads=2), 5, batch_timeout_ms=0.0)


def test_a_timeout_that_does_not_limit_has_no_rate_of_its_own() -> None:
    with pytest.raises(ValueError, match="32 requests fill a batch of 32 rows"):
        timeout_limited_rows_per_second(small_model(batch_rows=32, threads=2), 32, batch_timeout_ms=5.0)


def test_a_short_timeout_never_makes_an_instance_carry_more() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert saturated_rows_per_second(instance, 16, batch_timeout_ms=0.001) == saturated_rows_per_second(instance, 16)


def test_to_fill_batches_takes_those_that_run_one_that_fills_and_the_requests_in_parse() -> None:
    assert concurrency_to_fill(small_model(batch_rows=32, threads=2)) == 98
    assert concurrency_to_fill(Instance(AffineBatchTime(4.0, 0.25), 32, 2)) == 96
    assert concurrency_to_fill(Instance(AffineBatchTime(4.0, 0.25), 32, 2, rows_per_request=4.0)) == 24


def test_the_concurrency_for_a_rate_carries_it() -> None:
    instance = small_model(batch_rows=32, threads=2)
    needed = concurrency_for_rate(instance, 2000.0)
    assert needed == concurrency_for_batch(instance, 8.0) == 25
    assert saturated_rows_per_second(instance, needed) >= 2000.0


def test_no_concurrency_carries_more_than_the_capacity() -> None:
    assert concurrency_for_rate(small_model(batch_rows=32, threads=2), 3201.0) is None


def test_the_objective_allows_what_a_saturated_instance_ends_in_time() -> None:
    assert slo_concurrency(small_model(batch_rows=32, threads=2), 50.0) == 150
    assert slo_concurrency(large_model(batch_rows=32, threads=2), 150.0) == 83
    assert slo_concurrency(large_model(batch_rows=32, threads=2), 2.0) == 0


def test_too_few_grpc_threads_refuse_what_cloud_run_lets_in() -> None:
    admission = Admission(concurrency=60, server_threads=16, protocol="grpc")
    assert (admission.requests, admission.beyond) == (16, Beyond.REFUSED)


def test_too_few_rest_threads_let_it_wait_and_one_of_them_runs_the_loop() -> None:
    admission = Admission(concurrency=60, server_threads=16, protocol="rest")
    assert (admission.requests, admission.beyond) == (15, Beyond.WAITS)


def test_enough_threads_leave_nothing_over() -> None:
    assert Admission(concurrency=96, server_threads=98).beyond is None
    assert Admission(concurrency=16, server_threads=16, protocol="rest").beyond is Beyond.WAITS


def test_one_rest_thread_serves_nobody() -> None:
    assert Admission(concurrency=4, server_threads=1, protocol="rest").requests == 0


@pytest.mark.parametrize(("concurrency", "target", "hidden"), [(80, 0.6, True), (320, 0.6, True), (20, 0.8, False), (20, 0.81, True)])
def test_cloud_run_is_blind_where_its_target_is_above_the_threads(concurrency: int, target: float, *, hidden: bool) -> None:
    assert Admission(concurrency=concurrency, server_threads=16).hides_load(target) is hidden


def test_requests_that_wait_are_seen() -> None:
    assert not Admission(concurrency=80, server_threads=16, protocol="rest").hides_load(0.6)


@pytest.mark.parametrize(("concurrency", "threads", "message"), [(0, 16, "concurrency is 0"), (80, 0, "server_threads is 0")])
def test_an_instance_that_lets_nobody_in_is_refused(concurrency: int, threads: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Admission(concurrency=concurrency, server_threads=threads)


def test_defaults_without_batching_turn_nearly_nine_in_ten_away() -> None:
    alone = small_model(batch_rows=1, threads=4)
    assert refused_share(4000.0, alone.capacity_rows_per_second) == pytest.approx(1 - 0.111, abs=5e-4)
    assert refused_share(1000.0, large_model(batch_rows=1, threads=4).capacity_rows_per_second) == pytest.approx(1 - 0.133, abs=5e-4)


def test_below_capacity_and_without_load_nothing_is_refused() -> None:
    assert refused_share(400.0, 444.0) == refused_share(0.0, 444.0) == 0.0


def test_a_lone_request_waits_for_the_timeout_unless_it_fills_a_batch() -> None:
    instance = small_model(batch_rows=32, threads=2)
    assert lone_request_ms(instance, batch_timeout_ms=FORUM_TIMEOUT_MS) == pytest.approx(5004.75)
    full = Instance(AffineBatchTime(4.0, 0.25), 8, 2, rows_per_request=8.0)
    assert lone_request_ms(full, batch_timeout_ms=FORUM_TIMEOUT_MS) == pytest.approx(6.0)


@pytest.mark.parametrize(("slo_ms", "timeout_ms"), [(50.0, 5.0), (30.0, 3.0), (5.0, 0.25), (4.0, 0.0)])
def test_a_timeout_is_small_beside_the_objective(slo_ms: float, timeout_ms: float) -> None:
    assert max_batch_timeout_ms(small_model(batch_rows=32, threads=2), slo_ms) == pytest.approx(timeout_ms)
