"""What repairs decided is filled in where the spec leaves it to Trimtab, and nowhere else."""

from typing import Any

import pytest

from shared.records.desired import desired_serving
from shared.records.repair import RepairSettings
from shared.records.repaired import leaves_to_trimtab, repaired
from shared.tfserving.batching_parameters import BatchingParameters
from tests.support.specs import OWN_ENTRY, a_spec

SMALLER = RepairSettings(max_batch_size=16, batch_size_ceiling=24)


def settled(settings: RepairSettings, **serving: Any) -> tuple[int | None, tuple[int, ...], int | None, int | None]:
    """B, the allowed sizes, Q and C of the spec with those settings."""
    desired = desired_serving(a_spec(**serving), version=42, settings=settings)
    assert desired.batching is not None
    batching = desired.batching
    return batching.max_batch_size, batching.allowed_batch_sizes, batching.max_enqueued_batches, desired.max_instance_request_concurrency


def test_no_settings_leave_the_spec_as_it_is() -> None:
    serving = a_spec().serving
    assert serving is not None
    assert repaired(serving, RepairSettings()) == serving


def test_a_smaller_batch_takes_allowed_sizes_queue_and_concurrency_with_it() -> None:
    assert settled(SMALLER) == (16, (1, 2, 4, 8, 16), 4, 48)


def test_a_size_that_is_no_power_of_two_is_the_last_allowed_one() -> None:
    assert settled(RepairSettings(max_batch_size=24))[:2] == (24, (1, 2, 4, 8, 16, 24))


def test_fewer_requests_and_a_deeper_queue_are_filled_in() -> None:
    settings = RepairSettings(max_instance_request_concurrency=48, max_enqueued_batches=96)
    assert settled(settings)[2:] == (96, 48)


def test_the_owners_size_stays() -> None:
    assert settled(SMALLER, batching={"max_batch_size": 64})[0] == 64


def test_the_owners_allowed_sizes_say_the_size_too() -> None:
    assert settled(SMALLER, batching={"allowed_batch_sizes": (8, 64)})[:2] == (64, (8, 64))


def test_a_request_has_room_for_as_many_rows_as_the_owner_lets_a_batch_have_when_it_runs() -> None:
    batching = {"enable_large_batch_splitting": True, "max_execution_batch_size": 32}
    assert settled(SMALLER, batching=batching)[0] == 32


def test_the_owners_concurrency_stays() -> None:
    assert settled(RepairSettings(max_instance_request_concurrency=48), max_instance_request_concurrency=96)[3] == 96


def test_what_the_owner_says_of_batching_stays_beside_what_a_repair_decided() -> None:
    serving = a_spec(batching={"num_batch_threads": 3, "batch_timeout_micros": 500}).serving
    assert serving is not None
    found = repaired(serving, SMALLER).batching
    assert isinstance(found, BatchingParameters)
    assert (found.num_batch_threads, found.batch_timeout_micros, found.max_batch_size) == (3, 500, 16)


def test_batching_that_is_off_stays_off() -> None:
    serving = a_spec(batching="off").serving
    assert serving is not None
    assert repaired(serving, SMALLER) == serving


def test_a_command_of_the_owners_leaves_nothing_to_trimtab() -> None:
    serving = a_spec(**OWN_ENTRY).serving
    assert serving is not None
    assert repaired(serving, SMALLER) == serving


@pytest.mark.parametrize(
    ("given", "name", "left"),
    [
        ({}, "max_batch_size", True),
        ({"batching": {"num_batch_threads": 2}}, "max_batch_size", True),
        ({"batching": {"num_batch_threads": 2}}, "num_batch_threads", False),
        ({"batching": {"allowed_batch_sizes": (8, 32)}}, "max_batch_size", False),
        ({"batching": "off"}, "max_enqueued_batches", False),
        ({}, "max_instance_request_concurrency", True),
        ({"max_instance_request_concurrency": 8}, "max_instance_request_concurrency", False),
    ],
)
def test_what_the_spec_leaves_to_trimtab(given: Any, name: str, *, left: bool) -> None:
    serving = a_spec(**given).serving
    assert serving is not None
    assert leaves_to_trimtab(serving, name) is left
