"""Slow or wasteful: how full batches are, how long requests wait and how a batch's time grows decide, never GPU use alone."""

from tests.unit.diagnose.questions import (
    CLOUD_RUN,
    CPU_USE,
    GPU_USE,
    IN_FLIGHT,
    INSTANCES,
    QUEUE,
    REQUESTS,
    ROWS,
    SLOW,
    answered,
    ask,
    avoided,
    batching,
    confidence,
    first,
    gpu_service,
    remedies,
    served,
)

BATCHED = "--enable_batching=true,--batching_parameters_file=/b.txt"
LATENCY = f"{CLOUD_RUN}request_latencies"


def test_a_thread_a_request_keeps_batches_small() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=40", args=BATCHED),
        batching=batching(16, threads=12, allowed=(4, 16)),
        metrics={ROWS: 4.2, ":tensorflow:serving:batching_session:padding_size mean [rows]": 2.4, GPU_USE: 0.4, IN_FLIGHT: 14, QUEUE: 300},
    )
    assert answer.causes[0].cause == "batch-underfilled"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("lower-batch-threads", "12", "2")
    assert "add-small-allowed-size" in remedies(answer)
    assert "lower-concurrency" in avoided(answer)


def test_a_batch_out_of_reach_of_the_concurrency() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=8", args=BATCHED),
        batching=batching(64, timeout=5000),
        metrics={ROWS: 6.4, GPU_USE: 0.3, IN_FLIGHT: 8, QUEUE: 5100},
    )
    assert answer.causes[0].cause == "batch-underfilled"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("raise-concurrency", "8", "128")


def test_a_busy_card_with_small_batches_is_not_underfilled() -> None:
    answer = ask(batching=batching(32), metrics={ROWS: 3, GPU_USE: 0.97, IN_FLIGHT: 20})
    assert confidence(answer, "batch-underfilled") == 0


def test_lone_requests_that_wait_out_the_timeout() -> None:
    answer = ask(
        batching=batching(16, timeout=20_000),
        metrics={REQUESTS: 5, QUEUE: 20_100, ROWS: 1.0, GPU_USE: 0.04},
        p99_ms=40,
    )
    assert answer.causes[0].cause == "batch-timeout-latency"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("lower-batch-timeout", "20000", "1600")
    assert "raise-max-instances" in avoided(answer)


def test_a_wait_far_above_the_timeout_is_a_queue() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=300", "--max-instances=2", args=BATCHED),
        batching=batching(32, timeout=2000, queue=500),
        metrics={QUEUE: 1_900_000, GPU_USE: 0.99, served("UNAVAILABLE"): 0, served("OK"): 400, INSTANCES: 2},
        batch_ms={1: 10, 32: 80},
        p99_ms=320,
    )
    assert answer.causes[0].cause == "queue-too-deep"
    assert [(each.remedy, each.before, each.after) for each in answer.remedies] == [
        ("lower-max-enqueued-batches", "500", "2"),
        ("lower-concurrency", "300", "96"),
    ]
    assert "raise-max-enqueued-batches" in avoided(answer)


def test_a_deep_queue_is_right_for_bulk_work() -> None:
    metrics = {QUEUE: 1_900_000, GPU_USE: 0.99}
    assert confidence(ask(batching=batching(32, queue=500), metrics=metrics, bulk=True), "queue-too-deep") == 0


def test_json_that_is_parsed_on_the_cpu() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=12", "--max-instances=2", port="--port=8501"),
        metrics={
            CPU_USE: 0.99,
            GPU_USE: 0.12,
            ":tensorflow:serving:request_latency{API=predict,entrypoint=REST} mean [ms]": 410,
            ":tensorflow:serving:runtime_latency mean [ms]": 31,
        },
    )
    assert answer.causes[0].cause == "cpu-bound-host"
    assert remedies(answer) == ["offload-host-work", "raise-cpu"]
    assert answer.remedies[1].after == "8"


def test_more_threads_than_processors() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=12", args=f"{BATCHED},--tensorflow_intra_op_parallelism=32"),
        batching=batching(16, threads=16),
        metrics={CPU_USE: 0.98, GPU_USE: 0.2},
    )
    assert answer.causes[0].cause == "cpu-bound-host"
    assert [(each.remedy, each.before, each.after) for each in answer.remedies[:2]] == [
        ("limit-op-parallelism", "32", "4"),
        ("lower-batch-threads", "16", "2"),
    ]


def test_full_batches_on_a_full_card_want_more_cards() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=8", "--max-instances=2", args=BATCHED),
        batching=batching(4, queue=2),
        metrics={GPU_USE: 0.98, ROWS: 3.9, INSTANCES: 2, SLOW: 1300, IN_FLIGHT: 8},
        batch_ms={1: 80, 4: 315},
        gpu_quota=5,
        p99_ms=600,
    )
    assert answer.causes[0].cause == "compute-bound-model"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("raise-max-instances", "4")
    assert "raise-max-batch-size" in avoided(answer)


def test_a_full_card_whose_batches_still_save_is_not_used_up() -> None:
    full = {"batching": batching(16), "metrics": {GPU_USE: 0.98, ROWS: 3}}
    assert confidence(ask(**full, batch_ms={1: 20, 16: 40}), "compute-bound-model") == 0


def test_one_saturated_card_below_the_autoscalers_threshold() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=160", "--max-instances=4", args=BATCHED),
        batching=batching(8, queue=40),
        metrics={GPU_USE: 0.99, INSTANCES: 1, IN_FLIGHT: 60, CPU_USE: 0.3, SLOW: 2600},
        batch_ms={1: 30, 8: 120},
        p99_ms=600,
    )
    assert answer.causes[0].cause == "concurrency-too-high"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("lower-concurrency", "160", "16")
    assert "raise-max-instances" in avoided(answer)


def test_at_the_maximum_a_lower_concurrency_adds_no_instance() -> None:
    metrics = {GPU_USE: 0.99, INSTANCES: 4, IN_FLIGHT: 60, CPU_USE: 0.3, SLOW: 2600}
    answer = ask(deploy=gpu_service("--concurrency=160", "--max-instances=4"), metrics=metrics, p99_ms=600)
    assert confidence(answer, "concurrency-too-high") == 0


def quiet(window: str) -> dict[str, float | None]:
    """A service that does next to nothing."""
    return {
        f"{CLOUD_RUN}request_count rate{{window={window}}} [1/s]": 0.4,
        f"{CLOUD_RUN}container/instance_count{{state=active}} max{{window={window}}} [instances]": 1,
        f"{CLOUD_RUN}container/instance_count{{state=idle}} p50{{window={window}}} [instances]": 3,
        f"{CLOUD_RUN}container/gpu/utilizations max{{window={window}}} [ratio]": 0.05,
        f"{LATENCY} p99{{window={window}}} [ms]": 40,
        "window_end_age [s]": 900,
    }


def test_days_of_complete_data_lower_the_minimum() -> None:
    answer = ask(deploy=gpu_service("--concurrency=16", "--min=4", "--max=6"), metrics=quiet("7d"), p99_ms=200)
    assert answer.causes[0].cause == "over-provisioned"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("lower-min-instances", "4", "1")


def test_a_quiet_hour_lowers_nothing() -> None:
    answer = ask(deploy=gpu_service("--concurrency=16", "--min=4", "--max=6"), metrics=quiet("1h"), p99_ms=200)
    assert "lower-min-instances" not in remedies(answer)


def test_one_unknown_metric_lowers_nothing() -> None:
    metrics = {**quiet("7d"), IN_FLIGHT: None}
    assert "lower-min-instances" not in remedies(ask(deploy=gpu_service("--min=4", "--max=6"), metrics=metrics, p99_ms=200))


def test_everything_inside_the_objective_is_no_fault() -> None:
    answer = ask(
        metrics={SLOW: 120, answered("2xx"): 300, answered("5xx"): 0.02, answered("429"): 0, GPU_USE: 0.86, "window_end_age [s]": 300},
        p99_ms=200,
    )
    assert answer.causes[0].cause == "no-fault"
    assert remedies(answer) == ["hold"]


def test_one_slow_minute_among_good_ones_is_no_fault() -> None:
    points = {f"{LATENCY} p99{{minutes_ago={ago}}} [ms]": value for ago, value in ((8, 90), (7, 206), (6, 91), (5, 88), (4, 92))}
    assert first(metrics={**points, answered("5xx"): 0}, p99_ms=200) == "no-fault"


def test_slow_minutes_one_after_the_other_are_a_fault() -> None:
    points = {f"{LATENCY} p99{{minutes_ago={ago}}} [ms]": value for ago, value in ((8, 90), (7, 306), (6, 391), (5, 388), (4, 392))}
    assert first(metrics={**points, answered("5xx"): 0}, p99_ms=200) != "no-fault"


def test_errors_above_noise_are_a_fault_whatever_the_latency() -> None:
    assert first(metrics={SLOW: 120, answered("2xx"): 300, answered("5xx"): 9}, p99_ms=200) != "no-fault"


def test_fewer_instances_are_kept_than_were_ever_active_at_once_and_not_less() -> None:
    days = "{window=21d}"
    metrics = {
        f"{CLOUD_RUN}request_count rate{days} [1/s]": 0.2,
        f"{CLOUD_RUN}container/instance_count{{state=active}} max{days} [instances]": 2,
        f"{CLOUD_RUN}container/instance_count{{state=active}} mean{days} [instances]": 0.4,
        f"{CLOUD_RUN}container/gpu/utilizations p99{days} [ratio]": 0.05,
        f"{CLOUD_RUN}container/max_request_concurrencies p99{days} [requests]": 1,
        f"{CLOUD_RUN}request_latencies p99{days} [ms]": 40,
    }
    answer = ask(deploy=gpu_service("--min-instances=4", "--max-instances=4", "--concurrency=20"), metrics=metrics, p99_ms=300)
    assert answer.causes[0].cause == "over-provisioned"
    assert (answer.remedies[0].before, answer.remedies[0].after) == ("4", "2")
