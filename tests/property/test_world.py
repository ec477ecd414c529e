"""What holds in every simulated world: where a run stops does not matter, a seed means the same again, and no request is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Bursty, Retries, Sizes, Workload
from shared.simulation.world.world import World

UNTIL_S = 180.0

batchings = st.none() | st.builds(
    Batching,
    max_batch_size=st.integers(4, 64),
    timeout_ms=st.sampled_from([0.0, 2.0, 50.0]),
    max_enqueued_batches=st.integers(1, 20),
    threads=st.integers(1, 4),
    splitting=st.booleans(),
    max_execution_batch_size=st.just(4),
)
servers = st.builds(
    ServerSettings,
    batching=batchings,
    rest=st.booleans(),
    server_threads=st.none() | st.integers(1, 100),
    rest_timeout_s=st.sampled_from([0.05, 30.0]),
)
clouds = st.builds(
    CloudRunSettings,
    concurrency=st.integers(1, 100),
    min_instances=st.integers(0, 2),
    max_instances=st.integers(2, 6),
    start_s=st.sampled_from([1.0, 7.5, 25.0]),
    long_window_s=st.sampled_from([0.0, 600.0]),
    scale_in_hold_s=st.sampled_from([10.0, 300.0]),
)
revisions = st.builds(
    Revision,
    model=st.just(ModelTimes.affine(6.0, 0.5, host_ms=2.0, cpu_ms_per_request=1.0)),
    server=servers,
    cloud_run=clouds,
    client_timeout_s=st.sampled_from([0.1, float("inf")]),
)
workloads = st.builds(
    Workload,
    rate=st.builds(Bursty, low=st.floats(1, 100), high=st.floats(100, 500), mean_low_s=st.just(20.0), mean_high_s=st.just(5.0)),
    sizes=st.sampled_from([Sizes(), Sizes(16, 2.2)]),
    retries=st.sampled_from([Retries(), Retries(3, 0.05)]),
)


def made(workload: Workload, revision: Revision, seed: int, stops: list[float]) -> World:
    world = World(workload, revision, good_ms=100, seed=seed, quota=5)
    for stop in [*sorted(stops), UNTIL_S]:
        world.run_until(stop)
    return world


@settings(max_examples=40, deadline=None)
@given(workloads, revisions, st.integers(0, 1000), st.lists(st.floats(0.5, UNTIL_S - 0.5), max_size=5))
def test_stops_on_the_way_change_nothing(workload: Workload, revision: Revision, seed: int, stops: list[float]) -> None:
    through, stopped = made(workload, revision, seed, []), made(workload, revision, seed, stops)
    assert through.result(0) == stopped.result(0)
    assert through.metrics(lag_s=0) == stopped.metrics(lag_s=0)


@settings(max_examples=40, deadline=None)
@given(workloads, revisions, st.integers(0, 1000))
def test_every_request_is_answered_refused_or_still_there(workload: Workload, revision: Revision, seed: int) -> None:
    world = made(workload, revision, seed, [])
    tally = world.tally()
    assert tally.tried == tally.answered + tally.failed + tally.inside
    assert 0 <= tally.inside <= 5 * revision.cloud_run.concurrency + tally.pending
    result = world.result(0)
    assert result.goodput is not None
    assert 0.0 <= result.goodput <= 1.0
    assert 0.0 <= sum(result.errors.values()) <= 1.0
    assert 0.0 <= result.mean_instances <= 5.0
    assert result.gpu_busy is None or 0.0 <= result.gpu_busy <= 1.05
    assert result.mean_batch is None or result.mean_batch >= 1.0 or revision.server.batching is not None


@settings(max_examples=10, deadline=None)
@given(workloads, revisions, st.integers(0, 1000))
def test_another_seed_is_another_run(workload: Workload, revision: Revision, seed: int) -> None:
    assert made(workload, revision, seed, []).result(0) != made(workload, revision, seed + 1, []).result(0)
