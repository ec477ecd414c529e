"""Where a service starts: every auto and latest decided by rules that belong together."""

from typing import Any

import pytest

from shared.records.desired import VersionUnknown, desired_serving
from shared.records.service import ServiceSpec
from shared.records.serving import DesiredServing
from shared.tfserving.batching_parameters import BatchingParameters
from tests.support.specs import OWN_ENTRY, a_spec

CPU_ONLY: dict[str, Any] = {"accelerator": None, "gpu_zonal_redundancy": None, "image": "tensorflow/serving:2.20.0", "memory": "8Gi"}
LATEST = {"name": "ranker", "uri": "gs://acme-models/ranker"}


def desired(spec: ServiceSpec | None = None, **serving: Any) -> DesiredServing:
    return desired_serving(spec or a_spec(**serving))


def numbers(**serving: Any) -> tuple[int | None, ...]:
    """C, B, Q and N."""
    wanted = desired(**serving)
    batching = wanted.batching or BatchingParameters()
    return (wanted.max_instance_request_concurrency, batching.max_batch_size, batching.max_enqueued_batches, batching.num_batch_threads)


def test_a_gpu_starts_with_two_batches_of_32_and_a_third_waiting() -> None:
    wanted = desired()
    assert wanted.max_instance_request_concurrency == 96
    assert wanted.batching == BatchingParameters(
        max_batch_size=32,
        batch_timeout_micros=0,
        max_enqueued_batches=4,
        num_batch_threads=2,
        allowed_batch_sizes=(1, 2, 4, 8, 16, 32),
    )


@pytest.mark.parametrize(("cpu", "threads", "concurrency"), [("1", 1, 64), ("2", 2, 96), ("8", 8, 288)])
def test_without_a_gpu_each_cpu_runs_a_batch(cpu: str, threads: int, concurrency: int) -> None:
    memory = {"1": "1Gi", "2": "2Gi", "8": "8Gi"}[cpu]
    found = numbers(**{**CPU_ONLY, "cpu": cpu, "memory": memory})
    assert (found[0], found[3]) == (concurrency, threads)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (1, (96, 32, 4, 2)),
        (8, (12, 32, 4, 2)),
        (20, (5, 32, 6, 2)),
        (32, (3, 32, 4, 2)),
        (33, (6, 64, 7, 2)),
        (1_000, (4, 1_024, 5, 2)),
    ],
)
def test_larger_requests_fill_batches_with_fewer_and_never_exceed_them(rows: int, expected: tuple[int, ...]) -> None:
    assert numbers(rows_per_request=rows) == expected


@pytest.mark.parametrize(
    ("concurrency", "rows", "expected"),
    [
        (1, 1, (1, 1, 4, 2)),
        (2, 1, (2, 1, 4, 2)),
        (12, 1, (12, 4, 4, 2)),
        (80, 1, (80, 16, 6, 2)),
        (1_000, 1, (1_000, 32, 33, 2)),
        (1, 50, (1, 64, 4, 2)),
        (6, 8, (6, 16, 4, 2)),
    ],
)
def test_the_owners_concurrency_decides_how_large_batches_can_get(concurrency: int, rows: int, expected: tuple[int, ...]) -> None:
    assert numbers(max_instance_request_concurrency=concurrency, rows_per_request=rows) == expected


@pytest.mark.parametrize(
    ("batching", "rows", "concurrency"),
    [
        ({"max_batch_size": 16, "num_batch_threads": 3}, 1, 64),
        ({"max_batch_size": 16, "num_batch_threads": 3}, 4, 16),
        ({"max_batch_size": 32, "num_batch_threads": 2, "max_enqueued_batches": 2}, 1, 64),
        ({"max_batch_size": 32, "num_batch_threads": 2, "max_enqueued_batches": 1}, 20, 1),
        ({"max_batch_size": 8}, 1, 24),
        ({"max_batch_size": 64, "max_execution_batch_size": 8, "enable_large_batch_splitting": True, "num_batch_threads": 2}, 16, 2),
    ],
)
def test_the_owners_batching_decides_the_concurrency_that_fills_it_and_not_its_queue(
    batching: dict[str, Any], rows: int, concurrency: int
) -> None:
    wanted = desired(batching=batching, rows_per_request=rows)
    assert wanted.batching is not None
    assert {name: getattr(wanted.batching, name) for name in batching} == batching
    assert wanted.max_instance_request_concurrency == concurrency


@pytest.mark.parametrize(
    ("batching", "serving", "expected"),
    [
        ({}, {}, (96, 32, 4, 2)),
        ({"batch_timeout_micros": 2_000}, {}, (96, 32, 4, 2)),
        ({"max_batch_size": 64}, {}, (192, 64, 4, 2)),
        ({"num_batch_threads": 1}, {}, (64, 32, 4, 1)),
        ({"max_enqueued_batches": 1}, {}, (32, 32, 1, 2)),
        ({"allowed_batch_sizes": (1, 16)}, {}, (48, 16, 4, 2)),
        ({"batch_timeout_micros": 500}, {"rows_per_request": 100}, (4, 128, 5, 2)),
        ({"batch_timeout_micros": 500}, {"max_instance_request_concurrency": 12}, (12, 4, 4, 2)),
        ({"max_batch_size": 7}, {"max_instance_request_concurrency": 500}, (500, 7, 73, 2)),
        ({"max_batch_size": 64}, CPU_ONLY, (320, 64, 6, 4)),
        ({"enable_large_batch_splitting": True, "max_execution_batch_size": 48}, {}, (144, 48, 4, 2)),
        ({"enable_large_batch_splitting": True, "max_execution_batch_size": 8}, {"rows_per_request": 100}, (1, 128, 14, 2)),
    ],
)
def test_fields_of_batching_that_are_left_out_follow_from_those_that_are_there(
    batching: dict[str, Any], serving: dict[str, Any], expected: tuple[int, ...]
) -> None:
    assert numbers(batching=batching, **serving) == expected
    wanted = desired(batching=batching, **serving).batching
    assert wanted is not None
    assert {name: getattr(wanted, name) for name in batching} == batching
    assert wanted.batch_timeout_micros == batching.get("batch_timeout_micros", 0)


def test_no_fields_of_batching_are_as_good_as_auto() -> None:
    assert desired(batching={}) == desired(batching="auto")


def test_batching_that_is_whole_is_left_as_it_is_without_allowed_sizes_too() -> None:
    whole = {"max_batch_size": 7, "batch_timeout_micros": 1, "max_enqueued_batches": 1, "num_batch_threads": 9}
    wanted = desired(batching=whole, max_instance_request_concurrency=500)
    assert (wanted.batching, wanted.max_instance_request_concurrency) == (BatchingParameters.model_validate(whole), 500)


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (None, (1, 2, 4, 8, 16, 32)),
        (1, (1, 2, 4, 8, 16, 32)),
        (8, (2, 4, 8, 16, 32)),
        (33, (8, 16, 32, 64)),
        (1_000, (128, 256, 512, 1_024)),
        (1_000_000, (131_072, 262_144, 524_288, 1_048_576)),
    ],
)
def test_the_allowed_sizes_begin_at_a_quarter_of_a_request_and_are_few(rows: int | None, sizes: tuple[int, ...]) -> None:
    batching = desired(rows_per_request=rows).batching
    assert batching is not None
    assert batching.allowed_batch_sizes == sizes


def test_without_batching_as_many_requests_as_run_and_one_more() -> None:
    assert (desired(batching="off").batching, desired(batching="off").max_instance_request_concurrency) == (None, 3)
    assert desired(**CPU_ONLY, batching="off").max_instance_request_concurrency == 5
    assert desired(batching="off", max_instance_request_concurrency=10).max_instance_request_concurrency == 10


@pytest.mark.parametrize(
    ("measured", "seconds"),
    [(None, 1_800), (0.5, 60), (20, 60), (20.1, 61), (100, 300), (601, 1_800)],
)
def test_the_start_up_window_is_three_times_what_was_measured(measured: float | None, seconds: int) -> None:
    assert desired_serving(a_spec(), measured_start_seconds=measured).start_up_seconds == seconds


def test_without_a_gpu_the_longest_window_is_ten_minutes() -> None:
    assert desired(**CPU_ONLY).start_up_seconds == 600
    assert desired_serving(a_spec(**CPU_ONLY), measured_start_seconds=500).start_up_seconds == 600


def test_a_window_that_the_owner_names_is_left_alone() -> None:
    assert desired_serving(a_spec(start_up_seconds=45), measured_start_seconds=500).start_up_seconds == 45


def test_latest_is_the_version_that_is_known() -> None:
    model = desired_serving(a_spec(model=LATEST), version=7).model
    assert model is not None
    assert model.version == 7


def test_latest_without_a_known_version_cannot_be_decided() -> None:
    with pytest.raises(VersionUnknown, match=r"no complete version of ranker is known under gs://acme-models/ranker: upload one"):
        desired_serving(a_spec(model=LATEST))


def test_a_version_that_the_owner_names_is_kept_whatever_is_newer() -> None:
    model = desired_serving(a_spec(), version=43).model
    assert model is not None
    assert model.version == 42


def test_a_flag_of_fractions_given_as_a_whole_number_is_what_a_revision_reads_back() -> None:
    flags = desired(extra_flags={"per_process_gpu_memory_fraction": 1, "num_load_threads": 1, "enable_profiler": True}).extra_flags
    assert [type(value) for value in flags.values()] == [float, int, bool]


def test_the_specs_ceiling_is_the_revisions() -> None:
    assert desired(a_spec(scale={"max_instance_count": 9})).max_instance_count == 9


def test_a_command_of_the_owners_keeps_its_model_and_its_batching_to_itself() -> None:
    wanted = desired(**OWN_ENTRY, model=LATEST)
    assert (wanted.model, wanted.batching, wanted.start_up_seconds, wanted.metrics_sidecar) == (None, None, None, False)
    assert wanted.max_instance_request_concurrency == 16
    assert desired(**{**OWN_ENTRY, "max_instance_request_concurrency": None}).max_instance_request_concurrency is None


def test_a_spec_that_leaves_the_template_to_its_owner_has_nothing_to_decide() -> None:
    with pytest.raises(ValueError, match=r"spec\.serving is not set"):
        desired_serving(ServiceSpec.model_validate({"scale": {"max_instance_count": 4}}))


def test_an_owners_template_keeps_the_revisions_own_maximum() -> None:
    assert desired(**OWN_ENTRY).max_instance_count is None
    assert desired().max_instance_count == 4
