"""Which parameters TF Serving refuses, when, with which text; and which it takes and gets wrong."""

import pytest

from shared.tfserving.batching import WITHOUT_A_FILE, effective, faults
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.faults import Fault, Found, missing_file_text, unreadable_file_text

P = BatchingParameters
TOO_LARGE = "When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or equal to max_execution_batch_size."


def only(parameters: BatchingParameters) -> Fault:
    (fault,) = faults(parameters)
    return fault


@pytest.mark.parametrize(
    "parameters",
    [
        P(),
        P(max_batch_size=32, allowed_batch_sizes=(1, 8, 32)),
        P(allowed_batch_sizes=(8, 1_000)),
        P(batch_timeout_micros=0, max_enqueued_batches=1, num_batch_threads=1),
        P(enable_large_batch_splitting=True, max_batch_size=128, max_execution_batch_size=32, allowed_batch_sizes=(8, 16, 32, 128)),
        P(enable_large_batch_splitting=True, max_batch_size=128),
        P(enable_large_batch_splitting=True, max_execution_batch_size=1_000),
        P(enable_large_batch_splitting=False, pad_variable_length_inputs=True, thread_pool_name="x"),
    ],
)
def test_nothing_to_say(parameters: BatchingParameters) -> None:
    assert faults(parameters) == []


@pytest.mark.parametrize(
    ("parameters", "field", "text", "found"),
    [
        (P(num_batch_threads=0), "num_batch_threads", "num_batch_threads must be positive; was 0", Found.START),
        (P(num_batch_threads=-2), "num_batch_threads", "num_batch_threads must be positive; was -2", Found.START),
        (
            P(max_batch_size=32, allowed_batch_sizes=(1, 16)),
            "allowed_batch_sizes",
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 16; expected 32",
            Found.MODEL_LOAD,
        ),
        (
            P(allowed_batch_sizes=(1, 16)),
            "allowed_batch_sizes",
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 16; expected 1000",
            Found.MODEL_LOAD,
        ),
        (P(max_batch_size=0), "max_batch_size", "input_batch_size_limit must be positive; was 0", Found.MODEL_LOAD),
        (P(batch_timeout_micros=-5), "batch_timeout_micros", "batch_timeout_micros must be non-negative; was -5", Found.MODEL_LOAD),
        (
            P(max_enqueued_batches=0, enable_large_batch_splitting=True, max_batch_size=8),
            "max_enqueued_batches",
            "max_enqueued_batches must be positive; was 0",
            Found.MODEL_LOAD,
        ),
        (
            P(enable_large_batch_splitting=True, max_batch_size=32, max_execution_batch_size=64),
            "max_execution_batch_size",
            f"{TOO_LARGE}13264",
            Found.MODEL_LOAD,
        ),
        (
            P(enable_large_batch_splitting=True, max_execution_batch_size=1_001),
            "max_execution_batch_size",
            f"{TOO_LARGE}110001001",
            Found.MODEL_LOAD,
        ),
        (P(max_enqueued_batches=0), "max_enqueued_batches", None, Found.NEVER),
        (P(max_batch_size=8, allowed_batch_sizes=(4, 2, 8)), "allowed_batch_sizes", None, Found.NEVER),
        (P(max_batch_size=8, allowed_batch_sizes=(8, 8)), "allowed_batch_sizes", None, Found.NEVER),
        (P(max_batch_size=8, allowed_batch_sizes=(0, 8)), "allowed_batch_sizes", None, Found.NEVER),
        (P(max_batch_size=-1), "max_batch_size", None, Found.NEVER),
        (P(max_enqueued_batches=-1), "max_enqueued_batches", None, Found.NEVER),
        (P(max_batch_size=2**32 + 1), "max_batch_size", None, Found.NEVER),
        (P(num_batch_threads=2**32 + 1), "num_batch_threads", None, Found.NEVER),
        (P(enable_large_batch_splitting=True), "max_execution_batch_size", "but scheduling capacity is only 0", Found.NEVER),
        (
            P(enable_large_batch_splitting=True, max_batch_size=8, max_execution_batch_size=0),
            "max_execution_batch_size",
            "but scheduling capacity is only 0",
            Found.NEVER,
        ),
        (P(max_execution_batch_size=8), "max_execution_batch_size", None, Found.NEVER),
        (P(max_execution_batch_size=8, enable_large_batch_splitting=False), "max_execution_batch_size", None, Found.NEVER),
        (
            P(enable_large_batch_splitting=True, max_batch_size=128, max_execution_batch_size=32, allowed_batch_sizes=(8, 128)),
            "allowed_batch_sizes",
            None,
            Found.NEVER,
        ),
    ],
)
def test_each_rule(parameters: BatchingParameters, field: str, text: str | None, found: Found) -> None:
    fault = only(parameters)
    assert (fault.field, fault.text, fault.found) == (field, text, found)
    assert fault.value == getattr(parameters, field)
    assert fault.rule.endswith(".")


def test_the_last_size_is_the_batch_size_also_when_splitting_although_the_guide_says_otherwise() -> None:
    fault = only(P(enable_large_batch_splitting=True, max_batch_size=128, max_execution_batch_size=32, allowed_batch_sizes=(8, 32)))
    assert fault.text == "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 32; expected 128"
    assert fault.found is Found.MODEL_LOAD


def test_sizes_and_threads_are_cut_to_32_bits() -> None:
    cut = faults(P(max_batch_size=8, allowed_batch_sizes=(1, 2**32 + 8)))
    assert [(fault.field, fault.found) for fault in cut] == [("allowed_batch_sizes", Found.NEVER)]
    none = faults(P(num_batch_threads=2**32))
    assert [fault.found for fault in none] == [Found.START, Found.NEVER]
    assert none[0].text == "num_batch_threads must be positive; was 0"


def test_what_stops_the_server_comes_first() -> None:
    found = faults(P(max_enqueued_batches=-1, batch_timeout_micros=-1, num_batch_threads=0))
    assert [fault.found for fault in found] == [Found.START, Found.MODEL_LOAD, Found.NEVER]


def test_an_unlimited_split_batch_is_larger_than_any_limit() -> None:
    load, never = faults(P(enable_large_batch_splitting=True, max_batch_size=8, max_execution_batch_size=-1))
    assert load.text is not None
    assert load.text.endswith(f".18{2**64 - 1}")
    assert (load.found, never.found) == (Found.MODEL_LOAD, Found.NEVER)


def test_defaults_of_the_scheduler() -> None:
    scheduler = effective(P(), cpus=4)
    assert scheduler.max_batch_size == 1_000
    assert scheduler.batch_timeout_micros == 0
    assert scheduler.max_enqueued_batches == 10
    assert scheduler.num_batch_threads == 4
    assert scheduler.thread_pool_name == "batch_threads"
    assert scheduler.allowed_batch_sizes == ()
    assert not scheduler.pad_variable_length_inputs
    assert not scheduler.enable_large_batch_splitting
    assert scheduler.max_execution_batch_size == 1_000
    assert effective(WITHOUT_A_FILE, cpus=4).thread_pool_name == "model_server_batch_threads"


@pytest.mark.parametrize(
    ("parameters", "size", "queue", "execution"),
    [
        (P(max_batch_size=8, max_execution_batch_size=4), 8, 10, 8),
        (P(max_batch_size=8, max_execution_batch_size=4, enable_large_batch_splitting=True), 8, 10, 4),
        (P(max_batch_size=8, enable_large_batch_splitting=True), 8, 10, 8),
        (P(enable_large_batch_splitting=True), 1_000, 10, 0),
        (P(max_enqueued_batches=0), 1_000, 1, 1_000),
        (P(max_enqueued_batches=0, max_batch_size=8, enable_large_batch_splitting=True), 8, 0, 8),
        (P(max_enqueued_batches=-1, max_batch_size=-1), 2**64 - 1, 2**64 - 1, 2**64 - 1),
    ],
)
def test_what_the_scheduler_works_with(parameters: BatchingParameters, size: int, queue: int, execution: int) -> None:
    scheduler = effective(parameters, cpus=4)
    assert (scheduler.max_batch_size, scheduler.max_enqueued_batches, scheduler.max_execution_batch_size) == (size, queue, execution)


def test_texts_about_files() -> None:
    assert missing_file_text("/b") == "NOT_FOUND: /b; No such file or directory"
    assert unreadable_file_text("/b") == "Invalid protobuf file: '/b'"
