"""The search for the best static settings: it finds cheap ones that hold, always the same, and nothing outside its bounds."""

from dataclasses import replace

import numpy as np
import pytest

from shared.simulation.oracle import Oracle, Task, search
from shared.simulation.oracle_knobs import HIGHEST_CPU_TARGET, HIGHEST_TARGET, MAX_CONCURRENCY, Asked, Knobs, Space
from shared.simulation.world.settings import CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.streams import stream
from shared.simulation.world.workload import Flash, Sizes, Steady, Workload

MODEL = ModelTimes.affine(12.0, 1.5, host_ms=6.0, cpu_ms_per_request=2.0)
BASE = Revision(MODEL, ServerSettings(), CloudRunSettings(max_instances=5))
TASK = Task(Workload(Steady(300.0)), BASE, 150.0, warm_up_s=60.0, duration_s=120.0)


def found(task: Task = TASK, *, seed: int = 0, evaluations: int = 30) -> Oracle:
    return search(task, seed=seed, seeds=2, evaluations=evaluations)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return found()


def test_one_instance_carries_it_so_one_is_found(oracle: Oracle) -> None:
    assert oracle.met
    assert oracle.outcome.goodput >= 0.99
    assert oracle.outcome.usd_per_million_good == pytest.approx(1e6 * BASE.cloud_run.usd_per_instance_s / 300, rel=0.05)


def test_the_settings_hold_on_a_seed_that_the_search_does_not_know(oracle: Oracle) -> None:
    world = TASK.world(oracle.knobs, 12345)
    world.run_until(180)
    assert (world.result(60).goodput or 0) >= 0.99


def test_the_same_search_finds_the_same(oracle: Oracle) -> None:
    assert found() == oracle


def test_what_follows_from_the_knobs_is_consistent(oracle: Oracle) -> None:
    revision = oracle.revision
    batching = revision.server.batching
    assert batching is not None
    assert revision.server.server_threads == revision.cloud_run.concurrency + 8
    assert batching.timeout_ms == 0
    assert batching.max_enqueued_batches * batching.max_batch_size >= revision.cloud_run.concurrency


def test_where_nothing_reaches_the_target_the_search_says_so() -> None:
    most = replace(BASE, cloud_run=replace(BASE.cloud_run, max_instances=1))
    assert not found(replace(TASK, workload=Workload(Steady(900.0)), base=most), evaluations=12).met


def test_the_quota_bounds_the_search() -> None:
    scarce = found(replace(TASK, quota=1), evaluations=12)
    assert scarce.knobs.max_instances == 1


def test_the_queue_holds_the_largest_requests_of_everybody() -> None:
    knobs = Knobs(20, 2, 50, 0.5, 0.5, 1, 2)
    batching = knobs.revision(BASE, 16).server.batching
    assert batching is not None
    assert batching.max_enqueued_batches * (20 - 16 + 1) >= 50 * 16


def space(workload: Workload) -> Space:
    return Space(BASE, Asked.of(workload, 1, begin_s=60, end_s=660), 150.0, 5)


def test_what_is_asked_is_a_mean_and_a_high() -> None:
    asked = space(Workload(Flash(100.0, 400.0, 60.0, 300.0), Sizes(4, 1.0))).asked
    assert (asked.mean_rows_per_s, asked.highest_rows_per_s, asked.largest_request) == (250, 400, 4)


def test_every_start_and_every_move_is_inside_what_cloud_run_takes() -> None:
    where = space(Workload(Flash(100.0, 2000.0, 60.0, 300.0), Sizes(16, 2.2)))
    chance = stream(0, "test")
    starts = [*where.starts(), *(where.random(chance) for _ in range(50))]
    for knobs in [*starts, *(moved for start in starts for moved in where.near(start, 1.0))]:
        assert knobs.batch_rows >= 16
        assert knobs.batch_threads >= 1
        assert 1 <= knobs.concurrency <= MAX_CONCURRENCY
        assert 0.1 <= knobs.concurrency_target <= HIGHEST_TARGET
        assert 0.1 <= knobs.cpu_target <= HIGHEST_CPU_TARGET
        assert 0 <= knobs.min_instances <= knobs.max_instances <= 5


def test_a_move_never_stays_where_it_was() -> None:
    where = space(Workload(Steady(300.0)))
    knobs = where.random(np.random.default_rng(1))
    assert knobs not in where.near(knobs, 0.15)
