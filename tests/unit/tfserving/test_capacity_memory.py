"""What fits into the memory of card and instance."""

from shared.tfserving.capacity.memory import GIB, CardMemory, InstanceMemory

L4 = 24 * 10**9


def test_batches_of_all_threads_lie_on_the_card_beside_weights_and_runtime() -> None:
    card = CardMemory(card_bytes=L4, weights_bytes=4 * GIB, row_bytes=100 << 20)
    assert card.used_bytes(max_batch_rows=32, batch_threads=2) == 5 * GIB + 64 * (100 << 20)
    assert card.fits(max_batch_rows=32, batch_threads=2)
    assert not card.fits(max_batch_rows=128, batch_threads=2)


def test_a_version_loaded_in_place_lies_beside_the_old_one() -> None:
    card = CardMemory(card_bytes=L4, weights_bytes=10 * GIB, row_bytes=1 << 20, reloads_in_place=True)
    assert not card.fits(max_batch_rows=1, batch_threads=1)
    assert card.max_batch_rows(batch_threads=1) == 0


def test_the_largest_batch_fits_and_the_next_does_not() -> None:
    card = CardMemory(card_bytes=L4, weights_bytes=4 * GIB, row_bytes=100 << 20)
    largest = card.max_batch_rows(batch_threads=2)
    assert largest is not None
    assert card.fits(max_batch_rows=largest, batch_threads=2)
    assert not card.fits(max_batch_rows=largest + 1, batch_threads=2)


def test_fewer_threads_leave_room_for_larger_batches() -> None:
    card = CardMemory(card_bytes=L4, weights_bytes=4 * GIB, row_bytes=100 << 20)
    assert (card.max_batch_rows(batch_threads=1), card.max_batch_rows(batch_threads=2)) == (154, 77)


def test_rows_that_need_nothing_limit_no_batch() -> None:
    assert CardMemory(card_bytes=L4, weights_bytes=GIB, row_bytes=0).max_batch_rows(batch_threads=2) is None


def test_model_files_and_requests_share_the_memory_of_the_instance() -> None:
    memory = InstanceMemory(instance_bytes=16 * GIB, model_bytes=5 * GIB, exchange_bytes=1 << 20, files_in_memory=True)
    assert memory.fixed_bytes == 11 * GIB
    assert memory.max_requests() == 921
    assert memory.fits(requests=921)
    assert not memory.fits(requests=922)


def test_a_mounted_model_is_in_memory_once() -> None:
    memory = InstanceMemory(instance_bytes=16 * GIB, model_bytes=5 * GIB, exchange_bytes=1 << 20)
    assert memory.used_bytes(requests=10) == 6 * GIB + 20 * (1 << 20)


def test_a_model_that_does_not_fit_leaves_room_for_nobody() -> None:
    assert InstanceMemory(instance_bytes=8 * GIB, model_bytes=6 * GIB, exchange_bytes=1).max_requests() == 0


def test_requests_that_need_nothing_are_not_limited() -> None:
    assert InstanceMemory(instance_bytes=8 * GIB, model_bytes=GIB, exchange_bytes=0).max_requests() is None
