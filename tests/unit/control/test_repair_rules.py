"""The step that each cause asks for, in numbers."""

import pytest

from shared.control.repair_rules import STEPS, TEMPLATE_REMEDIES, InForce
from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.remedy_catalog import REMEDIES
from shared.records.repair import RepairSettings
from shared.tfserving.batching_parameters import BatchingParameters

START = BatchingParameters(max_batch_size=32, num_batch_threads=2, batch_timeout_micros=0, max_enqueued_batches=4)


def now(
    batching: BatchingParameters | None = START, *, concurrency: int = 96, rows: int = 1, decided: RepairSettings | None = None
) -> InForce:
    return InForce(batching=batching, concurrency=concurrency, rows_per_request=rows, decided=decided or RepairSettings())


def step(cause: str, in_force: InForce) -> RepairSettings | None:
    found = STEPS[cause](in_force)
    return None if found is None else found.settings


def sized(size: int) -> BatchingParameters:
    return START.model_copy(update={"max_batch_size": size})


def test_out_of_memory_halves_the_batch_and_remembers_that_more_did_not_fit() -> None:
    assert step("gpu-out-of-memory", now()) == RepairSettings(max_batch_size=16, batch_size_ceiling=24)


def test_out_of_memory_again_lowers_what_is_remembered() -> None:
    decided = RepairSettings(max_batch_size=16, batch_size_ceiling=24)
    assert step("gpu-out-of-memory", now(sized(16), decided=decided)) == RepairSettings(max_batch_size=8, batch_size_ceiling=12)


def test_where_a_request_fills_the_batch_half_as_many_run_at_once() -> None:
    assert step("gpu-out-of-memory", now(rows=32)) == RepairSettings(num_batch_threads=1, batch_size_ceiling=32)


def test_of_one_batch_of_one_row_at_a_time_nothing_is_left_to_take_away() -> None:
    assert step("gpu-out-of-memory", now(sized(1).model_copy(update={"num_batch_threads": 1}))) is None


def test_without_batching_there_is_no_batch_to_make_smaller() -> None:
    assert step("gpu-out-of-memory", now(None)) is None


def test_requests_that_are_too_large_double_the_batch() -> None:
    assert step("request-rows-over-limit", now()) == RepairSettings(max_batch_size=64)


def test_a_batch_is_not_doubled_to_what_did_not_fit_into_the_gpu() -> None:
    decided = RepairSettings(max_batch_size=16, batch_size_ceiling=24)
    assert step("request-rows-over-limit", now(sized(16), decided=decided)) is None


def test_a_full_queue_gets_room_for_all_that_an_instance_holds() -> None:
    assert step("batch-queue-full", now()) == RepairSettings(max_enqueued_batches=96)


def test_a_queue_with_room_for_all_is_not_what_refuses() -> None:
    assert step("batch-queue-full", now(START.model_copy(update={"max_enqueued_batches": 96}))) is None


@pytest.mark.parametrize("cause", ["batch-queue-wait-timeout", "queue-too-deep", "concurrency-too-high", "host-memory-exceeded"])
def test_requests_that_are_too_many_become_half_as_many(cause: str) -> None:
    assert step(cause, now()) == RepairSettings(max_instance_request_concurrency=48)


def test_so_many_requests_stay_as_keep_every_batch_thread_busy_and_one_more() -> None:
    assert step("host-memory-exceeded", now(concurrency=5)) == RepairSettings(max_instance_request_concurrency=3)
    assert step("host-memory-exceeded", now(concurrency=3)) is None


def test_every_cause_with_a_step_and_every_remedy_is_in_its_catalog() -> None:
    assert set(STEPS) <= set(CAUSES)
    assert set(REMEDIES) >= TEMPLATE_REMEDIES
