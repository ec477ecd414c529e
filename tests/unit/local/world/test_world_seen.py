"""What can be seen of a served world: nothing is invented, and what cannot be seen is Unknown."""

from datetime import timedelta
from typing import Any

import pytest

from shared.local.world.seen import NOT_SCRAPED, NOT_SIMULATED, SeenWorld
from shared.ports import Logs, Metrics, Quota
from shared.records.evidence import NO_SERIES, LogLines, LogSource
from shared.records.evidence_keys import ALL_KEYS, SERVED_KEYS
from shared.records.metric import Known, Unknown
from shared.records.observed import Shape
from shared.tfserving.command import BATCHING, BATCHING_FILE
from tests.support.running import running, served
from tests.support.specs import SERVICE

L4 = Shape(accelerator="nvidia-l4", gpu_count=1, gpu_zonal_redundancy=False)
TOTAL = "run.googleapis.com/request_count rate [1/s]"
OK = ":tensorflow:serving:request_count{status=OK} rate [1/s]"


def seen_after(seconds: float, *args: str, rate: float = 4000, lag_s: float = 60, scraped: bool = True, **service: Any) -> SeenWorld:
    cloud_run, world = served(running(*args, max_instances=1, **service), rate=rate, lag_s=lag_s)
    world.advance(seconds)
    return SeenWorld(world, cloud_run, scraped=scraped)


def lines(seen: SeenWorld, seconds: float) -> LogLines:
    now = seen._world.moment(seconds)
    return seen.recent(SERVICE, since=now - timedelta(seconds=900), until=now, limit=120)


def test_it_is_all_three_ports() -> None:
    seen = seen_after(5)
    ports: tuple[Metrics, Quota, Logs] = (seen, seen, seen)
    assert len(ports) == 3


def test_the_readings_are_those_of_a_diagnosis_and_say_when_their_window_ended() -> None:
    readings = seen_after(690).readings(SERVICE)
    assert tuple(readings.values) == ALL_KEYS
    assert (readings.window_seconds, readings.end_age_seconds) == (300, 90)
    total, served_well = readings.values[TOTAL], readings.values[OK]
    assert isinstance(total, Known)
    assert isinstance(served_well, Known)
    assert (total.age_seconds, total.samples) == (90, 5)
    assert total.value == pytest.approx(4000, rel=0.02)
    assert served_well.value == pytest.approx(444, rel=0.01)


def test_what_has_no_points_is_unknown_and_says_why() -> None:
    values = seen_after(600).readings(SERVICE).values
    assert values["run.googleapis.com/request_count{response_code=429} rate [1/s]"] == Unknown(reason=NO_SERIES)
    assert values["run.googleapis.com/container/gpu/memory_utilizations p99 [ratio]"] == Unknown(reason=NOT_SIMULATED)


def test_before_the_lag_has_passed_nothing_is_known() -> None:
    seen = seen_after(60)
    assert all(isinstance(each, Unknown) for each in seen.readings(SERVICE).values.values())
    assert seen.instance_count(SERVICE) == Unknown(reason=NO_SERIES)


def test_without_a_sidecar_tf_servings_page_is_not_seen() -> None:
    seen = seen_after(600, scraped=False)
    values = seen.readings(SERVICE).values
    assert {values[key] for key in SERVED_KEYS} == {Unknown(reason=NOT_SCRAPED)}
    assert isinstance(values[TOTAL], Known)
    assert OK not in seen.points(60)


def test_instances_are_counted_active_and_idle_alike() -> None:
    assert seen_after(600).instance_count(SERVICE) == Known(value=1.0, age_seconds=60, samples=1)


def test_the_quota_is_that_of_the_simulated_project() -> None:
    seen = seen_after(5)
    assert seen.instances(SERVICE, L4) == Known(value=40, age_seconds=0, samples=1)
    assert isinstance(seen.instances(SERVICE, Shape(cpu=4)), Unknown)


def test_of_another_service_nothing_is_known() -> None:
    seen, other = seen_after(600), SERVICE.model_copy(update={"name": "other"})
    assert isinstance(seen.instance_count(other), Unknown)
    assert all(isinstance(each, Unknown) for each in seen.readings(other).values.values())
    assert seen.recent(other, since=seen._world.moment(0), until=seen._world.moment(600), limit=9) == LogLines()


def test_no_log_tells_of_server_threads_or_a_full_queue_over_grpc() -> None:
    assert lines(seen_after(300), 300) == LogLines()
    numbers = "max_batch_size { value: 1 } max_enqueued_batches { value: 1 } num_batch_threads { value: 1 }"
    flags = ("--enable_batching", f"--batching_parameters_file={BATCHING_FILE}", "--grpc_max_threads=96")
    full = seen_after(300, *flags, rate=1000, env={BATCHING: numbers})
    assert full.points(60)[":tensorflow:serving:request_count{status=UNAVAILABLE} rate [1/s]"] > 400
    assert lines(full, 300) == LogLines()


def test_cloud_runs_own_refusals_are_in_the_log_of_requests() -> None:
    refused = lines(seen_after(300, rate=1000, port=8501), 300)
    assert {(each.source, each.status, each.severity) for each in refused.lines} == {(LogSource.REQUEST, 429, "WARNING")}
    assert "no available instance" in refused.lines[0].text
