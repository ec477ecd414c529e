"""What Cloud Monitoring and TF Serving's page say of the simulated service: their names, late, and with holes."""

import pytest

from shared.records.evidence_keys import ALL_KEYS
from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Replay, Steady, Workload
from shared.simulation.world.world import World

MODEL = ModelTimes.affine(10.0, 0.0)
ONE = CloudRunSettings(min_instances=1, max_instances=1)
REQUESTS = "run.googleapis.com/request_count"
OK = ":tensorflow:serving:request_count{status=OK} rate [1/s]"


def seen(rate: float, server: ServerSettings, *, until_s: float = 900) -> World:
    world = World(Workload(Steady(rate)), Revision(MODEL, server, ONE), good_ms=1_000, seed=7, warm_instances=1)
    world.run_until(until_s)
    return world


def test_every_key_is_one_that_a_diagnosis_asks_for() -> None:
    readings = seen(150, ServerSettings(Batching(4, max_enqueued_batches=1, threads=1))).metrics()
    assert set(readings) <= set(ALL_KEYS)
    assert {OK, f"{REQUESTS} rate [1/s]", "run.googleapis.com/container/gpu/utilizations p95 [ratio]"} <= set(readings)


def test_a_refusal_for_want_of_a_grpc_thread_looks_like_success_and_never_reached_the_server() -> None:
    readings = seen(200, ServerSettings()).metrics()
    total = readings[f"{REQUESTS} rate [1/s]"]
    assert readings[f"{REQUESTS}{{response_code_class=2xx}} rate [1/s]"] == total == pytest.approx(200, rel=0.05)
    assert readings[OK] == pytest.approx(100, rel=0.01)


def test_over_rest_a_full_queue_is_a_503() -> None:
    readings = seen(300, ServerSettings(Batching(1, max_enqueued_batches=1, threads=1), rest=True)).metrics()
    refused = readings[":tensorflow:serving:request_count{status=UNAVAILABLE} rate [1/s]"]
    assert readings[f"{REQUESTS}{{response_code=503}} rate [1/s]"] == refused == pytest.approx(200, rel=0.05)


def test_the_means_of_the_servers_histograms_are_in_its_units() -> None:
    readings = seen(5, ServerSettings(Batching(4, threads=1, allowed_batch_sizes=(2, 4)))).metrics()
    assert readings[":tensorflow:serving:batching_session:processed_batch_size mean [rows]"] == pytest.approx(2.0, abs=0.05)
    assert readings[":tensorflow:serving:batching_session:padding_size mean [rows]"] == pytest.approx(1.0, abs=0.1)
    assert readings[":tensorflow:serving:runtime_latency mean [us]"] == pytest.approx(10_000, rel=0.1)


def test_without_batching_the_batch_queue_has_no_histograms() -> None:
    assert not [key for key in seen(5, ServerSettings()).metrics() if "batching_session" in key]


def test_a_reading_is_of_the_window_that_ended_a_lag_ago() -> None:
    world = World(
        Workload(Replay((0.0, 600.0), (10.0, 50.0))), Revision(MODEL, ServerSettings(), ONE), good_ms=1_000, seed=7, warm_instances=1
    )
    world.run_until(900)
    key = f"{REQUESTS} rate [1/s]"
    assert world.metrics(300, lag_s=0)[key] == pytest.approx(50, rel=0.05)
    assert world.metrics(300, lag_s=300)[key] == pytest.approx(10, rel=0.1)


def test_points_can_be_lost_and_a_metric_without_points_is_missing() -> None:
    world = seen(20, ServerSettings())
    assert world.metrics(loss=1.0) == {}
    some = world.metrics(loss=0.5)
    assert some == world.metrics(loss=0.5)
    assert some != world.metrics(loss=0.0)


def test_before_the_lag_has_passed_there_is_nothing() -> None:
    assert seen(20, ServerSettings(), until_s=60).metrics() == {}
