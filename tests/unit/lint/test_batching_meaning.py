"""What the numbers of a batching file do together with Cloud Run's concurrency."""

from typing import Any

import pytest

from shared.cloudrun.described import Form
from shared.lint.batching_meaning import (
    RULES,
    fill_rules,
    queue_depth_rules,
    queue_room_rules,
    size_rules,
    thread_rules,
    timeout_rules,
)
from shared.lint.deployment import Deployment
from tests.support.lint_deployments import codes, deployed, found, service


def file(
    size: int | None = None,
    timeout: int | None = None,
    queue: int | None = None,
    threads: int | None = None,
    *,
    execution: int | None = None,
    allowed: tuple[int, ...] = (),
) -> str:
    values = {
        "max_batch_size": size,
        "batch_timeout_micros": timeout,
        "max_enqueued_batches": queue,
        "num_batch_threads": threads,
        "max_execution_batch_size": execution,
    }
    lines = [f"{name} {{ value: {value} }}" for name, value in values.items() if value is not None]
    if execution is not None:
        lines.append("enable_large_batch_splitting { value: true }")
    return "\n".join([*lines, *(f"allowed_batch_sizes: {size}" for size in allowed)])


def on_gpu(batching: str, *, concurrency: int | None = 96, cpu: str | None = "8", **rest: Any) -> Deployment:
    return deployed(
        service(concurrency=concurrency, cpu=cpu, args=["--enable_batching", "--batching_parameters_file=/b"]), batching=batching, **rest
    )


def on_cpu(batching: str, *, concurrency: int | None = 24, cpu: str = "4", **rest: Any) -> Deployment:
    return deployed(service(concurrency=concurrency, cpu=cpu, gpu=False), batching=batching, **rest)


# --- The timeout -------------------------------------------------------------------------------------------------------------------


def test_five_million_microseconds_are_five_seconds_and_the_fix_is_five_milliseconds() -> None:
    (finding,) = found(timeout_rules, deployed(batching=file(32, 5_000_000, 4, 2), p99_ms=150))
    assert finding.code == "batch-timeout-seconds"
    assert "5 s" in finding.message
    assert finding.fix == "batch_timeout_micros { value: 5000 }"
    assert (finding.where.line, finding.where.field) == (2, "batch_timeout_micros")


def test_the_first_timeout_of_seconds_is_one_second() -> None:
    assert codes(RULES, deployed(batching=file(32, 1_000_000, 4, 2))) == ["batch-timeout-seconds"]
    assert codes(RULES, deployed(batching=file(32, 999_999, 4, 2))) == []


def test_the_timeout_that_was_meant_is_cut_to_what_the_objective_allows() -> None:
    (finding,) = found(timeout_rules, deployed(batching=file(32, 60_000_000, 4, 2), p99_ms=100))
    assert finding.fix == "batch_timeout_micros { value: 25000 }"


def test_seconds_are_right_for_bulk_work() -> None:
    assert found(timeout_rules, deployed(batching=file(64, 2_000_000, 1000, 2), bulk=True)) == []


def test_a_timeout_may_take_a_quarter_of_the_objective_and_no_more() -> None:
    assert found(timeout_rules, deployed(batching=file(16, 25_000, 4, 2), p99_ms=100)) == []
    (finding,) = found(timeout_rules, deployed(batching=file(16, 25_001, 4, 2), p99_ms=100))
    assert finding.code == "batch-timeout-over-budget"


def test_a_timeout_is_no_longer_than_one_batch_takes() -> None:
    (finding,) = found(timeout_rules, on_gpu(file(16, 50_000, 4, 2), concurrency=48, p99_ms=100, batch_ms={1: 6, 16: 12}))
    assert finding.code == "batch-timeout-over-budget"
    assert "batch_timeout_micros { value: 12000 }" in finding.fix


def test_without_an_objective_no_timeout_below_a_second_is_judged() -> None:
    assert found(timeout_rules, deployed(batching=file(16, 900_000, 4, 2))) == []


# --- How deep the queue is ---------------------------------------------------------------------------------------------------------


def test_a_million_batches_may_wait_where_nothing_bounds_them() -> None:
    flags = ["--model_name=m", "--model_base_path=/models/m", "--batching_parameters_file=/etc/batching.txt"]
    (finding,) = found(queue_depth_rules, deployed(batching=file(16, 1000, 1_000_000, 1), flags=flags))
    assert finding.code == "queue-too-deep"
    assert finding.fix == "max_enqueued_batches { value: 4 }"


def test_the_concurrency_bounds_an_endless_queue_so_that_it_is_only_a_note() -> None:
    (finding,) = found(queue_depth_rules, on_gpu(file(128, 0, 1_000_000, 8), concurrency=160))
    assert finding.code == "queue-unbounded"
    assert finding.severity == "info"
    assert "no more than 2 batches" in finding.message


def test_one_hundred_batches_may_wait_and_one_more_is_too_deep() -> None:
    assert found(queue_depth_rules, deployed(batching=file(16, 0, 100, 1))) == []
    assert codes([queue_depth_rules], deployed(batching=file(16, 0, 101, 1))) == ["queue-too-deep"]


def test_a_concurrency_that_fills_more_than_a_hundred_batches_is_to_be_lowered() -> None:
    (finding,) = found(queue_depth_rules, on_gpu(file(4, 0, 1_000_000, 2), concurrency=600))
    assert finding.code == "queue-too-deep"
    assert "--concurrency=12" in finding.fix
    assert "max_enqueued_batches { value: 4 }" in finding.fix


def test_bulk_work_may_queue_as_deep_as_it_likes() -> None:
    assert found(queue_depth_rules, on_gpu(file(64, 2_000_000, 1000, 2), concurrency=200, bulk=True)) == []


def test_the_last_request_of_a_full_queue_ends_within_the_objective() -> None:
    # 7 x 12 + 12 = 96 ms
    assert found(queue_depth_rules, on_gpu(file(16, 0, 7, 2), concurrency=300, p99_ms=96, batch_ms={16: 12})) == []
    (finding,) = found(queue_depth_rules, on_gpu(file(16, 0, 8, 2), concurrency=300, p99_ms=96, batch_ms={16: 12}))
    assert finding.code == "queue-too-deep"
    assert finding.fix == "--concurrency=112 and max_enqueued_batches { value: 7 }"


def test_the_wait_for_the_batch_counts_too() -> None:
    assert found(queue_depth_rules, on_gpu(file(16, 50_000, 4, 2), concurrency=48, p99_ms=100, batch_ms={1: 6, 16: 12})) == []
    assert codes([queue_depth_rules], on_gpu(file(16, 53_000, 4, 2), concurrency=48, p99_ms=100, batch_ms={1: 6, 16: 12})) == [
        "queue-too-deep"
    ]


def test_a_timeout_of_seconds_is_its_own_mistake_and_not_the_queues() -> None:
    assert found(queue_depth_rules, on_gpu(file(16, 5_000_000, 4, 2), concurrency=48, p99_ms=100, batch_ms={16: 12})) == []


def test_without_a_gpu_the_threads_share_the_queue() -> None:
    batching = file(16, 0, 12, 4)
    assert found(queue_depth_rules, on_cpu(batching, concurrency=300, p99_ms=60, batch_ms={16: 12})) == []
    assert codes([queue_depth_rules], on_gpu(batching, concurrency=300, p99_ms=60, batch_ms={16: 12})) == ["queue-too-deep"]


@pytest.mark.parametrize(("measured", "expected"), [({8: 10, 24: 20}, True), ({8: 10}, True), ({24: 20}, False), ({}, False)])
def test_the_time_of_a_batch_is_read_between_measured_sizes_or_is_at_least_that_of_the_largest(
    measured: dict[int, float], expected: bool
) -> None:
    # s(16) is 15 ms between 8 and 24 rows and at least 10 ms beyond 8 rows; below 24 rows nothing is known.
    assert bool(found(queue_depth_rules, on_gpu(file(16, 0, 10, 2), concurrency=300, p99_ms=100, batch_ms=measured))) is expected


def test_where_the_wait_for_the_batch_leaves_no_room_it_goes_first() -> None:
    (finding,) = found(queue_depth_rules, on_gpu(file(32, 60_000, 4, 2), concurrency=300, p99_ms=70, batch_ms={32: 20}))
    assert finding.fix == "batch_timeout_micros { value: 0 } and --concurrency=64 and max_enqueued_batches { value: 2 }"


def test_a_queue_that_is_too_slow_is_not_told_again_as_unbounded() -> None:
    assert codes([queue_depth_rules], on_gpu(file(16, 0, 1_000_000, 2), concurrency=500, p99_ms=1000, batch_ms={16: 120})) == [
        "queue-too-deep"
    ]


def test_where_not_even_one_batch_may_wait_batches_are_too_large() -> None:
    (finding,) = found(queue_depth_rules, on_gpu(file(64, 0, 2, 2), concurrency=200, p99_ms=100, batch_ms={64: 80}))
    assert "smaller batches" in finding.fix


# --- Room for what Cloud Run lets in -----------------------------------------------------------------------------------------------


def test_a_burst_that_the_batches_cannot_hold_is_refused() -> None:
    (finding,) = found(queue_room_rules, on_gpu(file(8, 1000, 2, 2), concurrency=40))
    assert finding.code == "queue-below-concurrency"
    assert "hold 32" in finding.message
    assert finding.fix == "max_enqueued_batches { value: 6 }, or --concurrency=16"


def test_exactly_what_running_and_waiting_batches_hold_is_enough() -> None:
    assert found(queue_room_rules, on_gpu(file(8, 1000, 2, 2), concurrency=32)) == []
    assert codes([queue_room_rules], on_gpu(file(8, 1000, 2, 2), concurrency=33)) == ["queue-below-concurrency"]


def test_where_a_longer_queue_would_break_the_objective_only_less_concurrency_helps() -> None:
    (finding,) = found(queue_room_rules, on_gpu(file(8, 0, 2, 2), concurrency=40, p99_ms=35, batch_ms={8: 10}))
    assert finding.fix == "--concurrency=16"


def test_the_queue_left_out_holds_ten_batches() -> None:
    assert found(queue_room_rules, on_gpu(file(8, 0, None, 2), concurrency=96)) == []
    assert codes([queue_room_rules], on_gpu(file(8, 0, None, 2), concurrency=97)) == ["queue-below-concurrency"]


def test_a_queue_of_zero_is_one_unless_batches_are_split() -> None:
    assert found(queue_room_rules, on_gpu(file(8, 0, 0, 2), concurrency=24)) == []
    assert codes([queue_room_rules], on_gpu(file(8, 0, 0, 2), concurrency=25)) == ["queue-below-concurrency"]
    assert codes(RULES, on_gpu(file(64, 0, 0, 2, execution=8), concurrency=300)) == []


def test_without_a_concurrency_nothing_is_said_of_bursts() -> None:
    assert found(queue_room_rules, on_gpu(file(8, 0, 1, 1), concurrency=None)) == []


def test_a_concurrency_that_cloud_run_refuses_is_not_judged_again() -> None:
    assert codes(RULES, on_gpu(file(8, 0, 4, 2), concurrency=2000)) == []


# --- Threads -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threads", "said"), [(4, []), (5, ["batch-threads-too-many"])])
def test_four_threads_share_a_card_and_five_do_not(threads: int, said: list[str]) -> None:
    assert codes([thread_rules], on_gpu(file(32, 0, 8, threads))) == said


def test_on_a_gpu_two_threads_are_the_fix() -> None:
    (finding,) = found(thread_rules, on_gpu(file(128, 0, 1_000_000, 8), concurrency=160, cpu="4"))
    assert finding.fix == "num_batch_threads { value: 2 }"


def test_threads_left_out_are_one_for_each_vcpu() -> None:
    (finding,) = found(thread_rules, on_gpu(file(32, 0, 8), cpu="8"))
    assert "left out" in finding.message
    assert found(thread_rules, on_gpu(file(32, 0, 8), cpu="4")) == []


def test_without_a_gpu_there_are_as_many_threads_as_cpus() -> None:
    assert found(thread_rules, on_cpu(file(10_000, 0, 4, 4))) == []
    (finding,) = found(thread_rules, on_cpu(file(10_000, 0, 4, 5)))
    assert finding.fix == "num_batch_threads { value: 4 }"


def test_with_a_free_thread_for_each_request_no_batch_forms() -> None:
    (finding,) = found(thread_rules, on_cpu(file(32, 0, 8, 8), concurrency=8, cpu="8"))
    assert "no batch ever forms" in finding.message
    assert found(thread_rules, on_cpu(file(32, 0, 8, 8), concurrency=9, cpu="8")) == []
    assert found(thread_rules, on_cpu(file(32, 500, 8, 8), concurrency=8, cpu="8")) == []


def test_one_thread_is_never_too_many() -> None:
    assert found(thread_rules, on_gpu(file(4, 0, 4, 1), concurrency=1)) == []


def test_where_the_number_of_cpus_is_not_known_they_are_not_compared() -> None:
    assert found(thread_rules, deployed(batching=file(32, 1000, 8, 64))) == []


# --- Batches that fill -------------------------------------------------------------------------------------------------------------


def test_a_batch_larger_than_all_that_cloud_run_lets_in_waits_in_vain() -> None:
    (finding,) = found(fill_rules, on_gpu(file(64, 10_000, 4, 2), concurrency=8, p99_ms=200))
    assert finding.code == "batch-unreachable"
    assert "waits the whole batch_timeout_micros of 10000" in finding.message
    assert finding.fix.startswith("max_batch_size { value: 2 }, or --concurrency=192 with --grpc_max_threads=200, or ")
    assert "batch_timeout_micros { value: 0 }" in finding.fix


def test_a_concurrency_of_one_makes_every_batch_one_request() -> None:
    (finding,) = found(fill_rules, on_gpu(file(50, 0, 2, 1), concurrency=1, form=Form.V1))
    assert "containerConcurrency: 100" in finding.fix
    assert "no --enable_batching" in finding.fix


def test_with_timeout_zero_an_unreachable_size_costs_nothing() -> None:
    assert found(fill_rules, on_cpu(file(10_000, 0, 4, 4), concurrency=24)) == []


def test_rows_count_and_not_requests() -> None:
    assert found(fill_rules, on_gpu(file(64, 500, 8, 2), concurrency=8, rows_per_request=8)) == []


def test_a_size_that_nobody_wrote_is_not_unreachable() -> None:
    assert found(fill_rules, on_gpu(file(None, 500, 8, 2), concurrency=8)) == []


def test_with_splitting_the_size_that_runs_counts() -> None:
    assert found(fill_rules, on_gpu(file(128, 500, 8, 2, execution=8), concurrency=16)) == []
    (finding,) = found(fill_rules, on_gpu(file(128, 500, 8, 2, execution=32), concurrency=16))
    assert finding.message.startswith("max_execution_batch_size 32")


# --- Rows of a request, and of a batch ---------------------------------------------------------------------------------------------


def test_a_request_of_more_rows_than_a_batch_is_refused() -> None:
    (finding,) = found(size_rules, on_gpu(file(32, 500, 16, 2), concurrency=8, rows_per_request=64))
    assert finding.code == "request-rows-exceed-batch"
    assert "Task size 64 is larger than maximum input batch size 32" in finding.message
    assert finding.fix.startswith("max_batch_size { value: 64 }, or max_batch_size { value: 64 } with enable_large_batch_splitting")


def test_a_request_may_have_the_rows_of_a_whole_batch() -> None:
    assert found(size_rules, on_gpu(file(64, 500, 16, 2), rows_per_request=64)) == []


def test_split_requests_may_be_larger_than_the_batches_that_run() -> None:
    assert found(size_rules, on_gpu(file(128, 1000, 16, 2, execution=32), rows_per_request=40)) == []


def test_splitting_does_not_lift_the_limit_of_one_request() -> None:
    (finding,) = found(size_rules, on_gpu(file(32, 1000, 16, 2, execution=32), rows_per_request=40))
    assert finding.code == "request-rows-exceed-batch"


def test_a_refused_request_says_nothing_of_queues_and_fill() -> None:
    assert codes(RULES, on_gpu(file(32, 500, 4, 2), concurrency=6, rows_per_request=640)) == ["request-rows-exceed-batch"]


def test_a_hundred_thousand_rows_are_no_limit_for_a_card() -> None:
    (finding,) = found(size_rules, on_gpu(file(100_000, 0, 3, 1), concurrency=24))
    assert finding.code == "max-batch-size-unbounded"
    assert finding.fix.startswith("max_batch_size { value: 32 }")


def test_the_limit_proposed_is_the_measured_size_from_which_rows_get_no_cheaper() -> None:
    measured = {1: 5.0, 16: 8.0, 64: 20.0, 256: 79.0}
    (finding,) = found(size_rules, on_gpu(file(100_000, 0, 3, 1), concurrency=24, batch_ms=measured))
    assert finding.fix.startswith("max_batch_size { value: 64 }")


@pytest.mark.parametrize("deployment", [on_gpu(file(8192, 0, 3, 2)), on_cpu(file(10_000, 0, 4, 4))])
def test_what_a_histogram_shows_is_no_finding_nor_what_a_cpu_runs(deployment: Deployment) -> None:
    assert found(size_rules, deployment) == []


# --- What is never judged ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "batching",
    [
        file(0, 1000, 8, 2),
        file(-5, 1000, 8, 2),
        file(32, -1, 8, 2),
        file(32, 1000, -3, 2),
        file(32, 1000, 8, 0),
        file(32, 1000, 8, -1),
        file(32, 1000, 8, 2, execution=128),
        file(64, 1000, 0, 2, execution=32),
        "enable_large_batch_splitting { value: true }\nnum_batch_threads { value: 2 }",
    ],
)
def test_numbers_that_tf_serving_refuses_have_no_second_finding(batching: str) -> None:
    assert codes(RULES, on_gpu(batching, concurrency=200, p99_ms=200, batch_ms={32: 5}, rows_per_request=1)) == []


def test_a_size_of_zero_gives_no_finding_about_sizes() -> None:
    assert codes(RULES, on_gpu(file(0, 1000, 8, 2), concurrency=1, rows_per_request=64)) == []


def test_without_a_file_nothing_is_judged_even_if_batching_is_on() -> None:
    assert codes(RULES, deployed(service(concurrency=1, args=["--enable_batching=true", "--batching_parameters_file=/b.txt"]))) == []
    assert codes(RULES, deployed(service(concurrency=24, args=["--enable_batching=true"]))) == []


def test_a_file_is_judged_although_the_flags_do_not_pass_it() -> None:
    assert codes(RULES, deployed(service(concurrency=24), batching=file(16, 5_000_000, 8, 2))) == ["batch-timeout-seconds"]


def test_a_limit_is_proposed_that_holds_a_request() -> None:
    (finding,) = found(size_rules, on_gpu(file(100_000, 0, 3, 1), concurrency=24, rows_per_request=50))
    assert finding.fix.startswith("max_batch_size { value: 64 }")


@pytest.mark.parametrize("measured", [{}, {1: 5.0, 16_384: 6.0}])
def test_requests_larger_than_any_limit_for_a_card_are_split(measured: dict[int, float]) -> None:
    (rows, size) = found(size_rules, on_gpu(file(100_000, 0, 3, 1), concurrency=24, rows_per_request=200_000, batch_ms=measured))
    execution = 8192 if measured else 32
    split = (
        "max_batch_size { value: 262144 } with enable_large_batch_splitting { value: true } and "
        f"max_execution_batch_size {{ value: {execution} }}"
    )
    assert (rows.code, size.code) == ("request-rows-exceed-batch", "max-batch-size-unbounded")
    assert rows.fix == f"{split}; allowed_batch_sizes, if any, end with 262144"
    assert size.fix == split


def test_a_lower_limit_brings_its_allowed_sizes() -> None:
    (finding,) = found(size_rules, on_gpu(f"{file(100_000, 0, 3, 1)} allowed_batch_sizes: [1, 8, 100000]", concurrency=24))
    assert finding.fix.startswith("max_batch_size { value: 32 } with allowed_batch_sizes: [1, 8, 32],")


def test_where_batches_are_split_the_size_of_execution_is_the_limit() -> None:
    text = f"{file(100_000, 0, 3, 1)} enable_large_batch_splitting {{ value: true }} max_execution_batch_size {{ value: 50000 }}"
    (finding,) = found(size_rules, on_gpu(text, concurrency=24))
    assert finding.fix.startswith("max_execution_batch_size { value: 32 }")
