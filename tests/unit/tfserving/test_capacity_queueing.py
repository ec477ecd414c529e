"""When the batch queue can be full, and how often it then is."""

import pytest

from shared.tfserving.capacity.queueing import (
    enqueued_batches_for_share,
    enqueued_batches_never_full,
    full_share_bound,
    never_full,
    queue_rows,
)
from tests.benchmarks.capacity_reference import small_model


def test_requests_of_one_row_find_room_for_as_many_as_there_are() -> None:
    assert never_full(max_batch_rows=32, max_enqueued_batches=3, requests=96)
    assert not never_full(max_batch_rows=32, max_enqueued_batches=3, requests=97)


def test_large_requests_leave_room_in_each_batch_unused() -> None:
    assert queue_rows(max_batch_rows=16, max_enqueued_batches=4, max_request_rows=5) == 48
    assert never_full(max_batch_rows=16, max_enqueued_batches=4, requests=9, max_request_rows=5)
    assert not never_full(max_batch_rows=16, max_enqueued_batches=4, requests=10, max_request_rows=5)


def test_split_requests_use_it() -> None:
    assert never_full(max_batch_rows=16, max_enqueued_batches=4, requests=12, max_request_rows=5, splitting=True)


def test_a_request_larger_than_a_batch_never_finds_room() -> None:
    assert queue_rows(max_batch_rows=16, max_enqueued_batches=4, max_request_rows=17) == 0
    assert enqueued_batches_never_full(max_batch_rows=16, requests=9, max_request_rows=17) is None


@pytest.mark.parametrize(("requests", "batches"), [(1, 1), (96, 3), (97, 4)])
def test_the_least_queue_that_is_never_full(requests: int, batches: int) -> None:
    assert enqueued_batches_never_full(max_batch_rows=32, requests=requests) == batches
    assert never_full(max_batch_rows=32, max_enqueued_batches=batches, requests=requests)


def test_the_share_refused_is_bounded_some_times_above_the_simulated_one() -> None:
    instance = small_model(batch_rows=16, threads=2)
    bound = full_share_bound(instance, 0.9 * instance.capacity_rows_per_second, max_enqueued_batches=2)
    assert bound == pytest.approx(2.86e-3, rel=0.01)
    assert 2.8 <= bound / 3.7e-4 <= 7.8


def test_without_load_nothing_is_refused_and_at_capacity_all_may_be() -> None:
    instance = small_model(batch_rows=16, threads=2)
    assert full_share_bound(instance, 0.0, max_enqueued_batches=1) == 0.0
    assert full_share_bound(instance, instance.capacity_rows_per_second, max_enqueued_batches=100) == 1.0


def test_the_queue_for_a_share_is_the_least_that_keeps_it() -> None:
    instance = small_model(batch_rows=16, threads=2)
    rate = 0.9 * instance.capacity_rows_per_second
    found = enqueued_batches_for_share(instance, rate, share=1e-6)
    assert found == 5
    assert full_share_bound(instance, rate, max_enqueued_batches=5) <= 1e-6 < full_share_bound(instance, rate, max_enqueued_batches=4)


def test_a_share_that_even_the_shortest_queue_keeps_needs_no_more() -> None:
    instance = small_model(batch_rows=16, threads=2)
    assert enqueued_batches_for_share(instance, 0.9 * instance.capacity_rows_per_second, share=0.2) == 1
    assert enqueued_batches_for_share(instance, 0.0, share=0.001) == 1


def test_no_queue_keeps_a_share_at_capacity() -> None:
    instance = small_model(batch_rows=16, threads=2)
    assert enqueued_batches_for_share(instance, instance.capacity_rows_per_second, share=0.1) is None


def test_a_queue_that_is_never_full_by_chance_does_not_exist() -> None:
    with pytest.raises(ValueError, match="enqueued_batches_never_full"):
        enqueued_batches_for_share(small_model(batch_rows=16, threads=2), 100.0, share=0.0)
