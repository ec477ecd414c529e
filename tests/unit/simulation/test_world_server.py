"""One simulated instance follows the rules of TF Serving's batch queue, server threads and deadlines."""

import pytest

from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Recorded
from shared.simulation.world.world import World

MODEL = ModelTimes.affine(100.0, 0.0)
"""Any batch takes 100 ms of the GPU."""


def run(
    times_s: list[float],
    server: ServerSettings,
    *,
    rows: list[int] | None = None,
    model: ModelTimes = MODEL,
    concurrency: int = 1000,
    client_timeout_s: float = float("inf"),
    timeout_s: float = 300.0,
) -> RunResult:
    cloud_run = CloudRunSettings(concurrency=concurrency, min_instances=1, max_instances=1, timeout_s=timeout_s)
    recorded = Recorded(tuple(times_s), tuple(rows or [1] * len(times_s)))
    revision = Revision(model, server, cloud_run, client_timeout_s)
    world = World(recorded, revision, good_ms=60_000, seed=1, warm_instances=1)
    world.run_until(120)
    return world.result(0)


def batched(batching: Batching, *, threads: int = 1000) -> ServerSettings:
    return ServerSettings(batching, server_threads=threads)


def test_a_free_thread_takes_the_first_request_alone_and_the_rest_in_full_batches() -> None:
    result = run([1.0] * 65, batched(Batching(16, threads=1)))
    assert result.mean_batch == 65 / 5
    assert result.p99_ms == pytest.approx(500, rel=0.01)


def test_a_timeout_lets_a_lone_batch_wait_for_more_rows() -> None:
    result = run([1.0, 1.05, 1.1, 1.15, 1.19], batched(Batching(16, 200.0, threads=1)))
    assert result.mean_batch == 5
    assert result.p99_ms == pytest.approx(300.5, rel=0.01)


def test_a_batch_that_is_full_does_not_wait() -> None:
    result = run([1.0, 1.01, 1.02, 1.03], batched(Batching(4, 5_000.0, threads=1)))
    assert result.p99_ms == pytest.approx(130, rel=0.01)


@pytest.mark.parametrize(("threads", "queued", "accepted"), [(1, 1, 8), (1, 2, 12), (2, 2, 16)])
def test_the_queue_holds_the_batches_at_work_and_those_enqueued(threads: int, queued: int, accepted: int) -> None:
    result = run([1.0] * 40, batched(Batching(4, 50.0, queued, threads)))
    assert result.errors == {"batch-queue-full": (40 - accepted) / 40}


def test_without_a_timeout_the_batches_at_work_are_small() -> None:
    result = run([1.0] * 60, batched(Batching(8, 0.0, 4, 2)))
    assert result.errors == {"batch-queue-full": (60 - (1 + 1 + 32)) / 60}


def test_a_request_larger_than_a_batch_is_refused_unless_it_may_be_split() -> None:
    whole = run([1.0], batched(Batching(8, threads=1)), rows=[10])
    split = run([1.0], batched(Batching(16, threads=1, splitting=True, max_execution_batch_size=4)), rows=[10])
    assert whole.errors == {"request-rows-over-limit": 1.0}
    assert split.goodput == 1.0
    assert split.mean_batch == pytest.approx(10 / 3)
    assert split.p50_ms == pytest.approx(300, rel=0.01)


def test_with_splitting_the_queue_counts_rows() -> None:
    # One batch of 4 rows runs, one of 4 is queued with 4 more rows of room: 8 rows do not fit, 4 do.
    rules = Batching(16, 0.0, 2, 1, splitting=True, max_execution_batch_size=4)
    assert run([1.0, 1.01, 1.02], batched(rules), rows=[4, 4, 8]).errors == {"batch-queue-full": 1 / 3}
    assert not run([1.0, 1.01, 1.02], batched(rules), rows=[4, 4, 4]).errors


def test_a_batch_is_padded_to_the_smallest_allowed_size() -> None:
    model = ModelTimes.measured({1: 10.0, 2: 20.0, 4: 40.0})
    result = run([1.0], batched(Batching(4, threads=1, allowed_batch_sizes=(2, 4))), model=model)
    assert result.p50_ms == pytest.approx(20, rel=0.01)
    assert result.mean_batch == 1


def test_over_grpc_a_request_without_a_server_thread_is_refused_and_over_rest_it_waits() -> None:
    grpc = run([1.0] * 20, ServerSettings())
    rest = run([1.0] * 20, ServerSettings(rest=True))
    assert grpc.errors == {"server-thread-quota": 4 / 20}
    assert rest.goodput == 1.0
    assert rest.p99_ms == pytest.approx(2_000, rel=0.01)


def test_threads_that_grpc_keeps_for_itself_serve_nobody() -> None:
    assert run([1.0] * 20, ServerSettings(kept_threads=2)).errors == {"server-thread-quota": 6 / 20}


def test_a_batch_of_which_nobody_waits_any_more_is_not_run() -> None:
    result = run([1.0, 1.01], batched(Batching(1, threads=1)), client_timeout_s=0.05)
    assert result.errors == {"request-timeout": 0.5, "batch-queue-wait-timeout": 0.5}
    assert result.mean_batch == 1
    assert result.series[0].mean_batch == 1


def test_a_batch_of_which_one_request_is_awaited_runs_for_all() -> None:
    result = run([1.0, 1.01, 1.08], batched(Batching(2, threads=1)), client_timeout_s=0.05, model=ModelTimes.affine(90.0, 0.0))
    assert result.errors == {"request-timeout": 1.0}
    assert result.mean_batch == 1.5


def test_a_request_that_takes_longer_than_cloud_run_allows_is_a_timeout() -> None:
    assert run([1.0, 1.0], ServerSettings(), timeout_s=0.15).errors == {"request-timeout": 0.5}


def test_over_rest_the_servers_own_timeout_ends_a_request() -> None:
    assert run([1.0, 1.0], ServerSettings(rest=True, rest_timeout_s=0.15)).errors == {"request-timeout": 0.5}


def test_host_work_of_one_batch_overlaps_with_gpu_work_of_another() -> None:
    model = ModelTimes.affine(100.0, 0.0, host_ms=50.0)
    one = run([1.0] * 8, batched(Batching(1, threads=1)), model=model)
    two = run([1.0] * 8, batched(Batching(1, threads=2)), model=model)
    assert one.p99_ms == pytest.approx(800, rel=0.01)
    assert two.p99_ms == pytest.approx(450, rel=0.01)


def test_the_cpus_work_on_so_many_requests_at_once_as_there_are_vcpus() -> None:
    model = ModelTimes.affine(0.001, 0.0, cpu_ms_per_request=100.0)
    result = run([1.0] * 8, ServerSettings(), model=model)
    assert result.p99_ms == pytest.approx(200, rel=0.01)
    assert result.cpu_busy == pytest.approx(0.8 / (4 * 120))
