"""Cloud Monitoring: what is asked of `timeSeries:list` and of the Prometheus API, and what their answers mean."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.auth import exceptions as auth

from shared.errors import Retry
from shared.gcp import cloud_monitoring
from shared.gcp.cloud_monitoring import CloudMonitoring, promql
from shared.gcp.filters import quoted
from shared.records.evidence import Readings
from shared.records.evidence_keys import ALL_KEYS
from shared.records.metric import Known, Metric, Unknown
from tests.support.builders import NOW, RANKER, at
from tests.support.clocks import HandClock
from tests.support.json_door import Asked, JsonDoor, refusal

PREFIX = "run.googleapis.com/"
PROMETHEUS = "/v1/projects/acme-ml/location/global/prometheus/api/v1/query"


def series(points: list[tuple[float, dict[str, Any]]], **labels: str) -> dict[str, Any]:
    """Points are (seconds from now, value), the newest first."""
    shown = [{"interval": {"endTime": at(seconds).isoformat()}, "value": value} for seconds, value in points]
    return {"metric": {"labels": labels}, "points": shown}


def whole(count: int) -> dict[str, Any]:
    return {"int64Value": str(count)}


class World:
    """A Cloud Monitoring that has these series by metric, and this answer of Prometheus."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self.vector: list[dict[str, Any]] = []
        self.answers: dict[str, tuple[int, Any]] = {}
        self.door = JsonDoor(self._answer)
        self.clock = HandClock(NOW)

    def _answer(self, asked: Asked) -> tuple[int, Any]:
        if asked.path == PROMETHEUS:
            return self.answers.get("prometheus", (200, {"status": "success", "data": {"resultType": "vector", "result": self.vector}}))
        name = asked.one("filter").split('"')[1].removeprefix(PREFIX)
        return self.answers.get(name) or self.answers.get("every") or (200, {"timeSeries": self.metrics.get(name, [])})

    def client(self) -> CloudMonitoring:
        return CloudMonitoring(self.clock, endpoint=self.door.endpoint)

    def readings(self) -> Readings:
        client = self.client()
        try:
            return client.readings(RANKER)
        finally:
            client.close()

    def count(self) -> Metric:
        client = self.client()
        try:
            return client.instance_count(RANKER)
        finally:
            client.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    with made.door:
        yield made


def value(found: Readings, key: str) -> float:
    metric = found.values[key]
    assert isinstance(metric, Known), (key, metric)
    return metric.value


def why(found: Readings, key: str) -> str:
    metric = found.values[key]
    assert isinstance(metric, Unknown), (key, metric)
    return metric.reason


def test_a_look_asks_eleven_questions_about_one_service_in_a_window_that_ended_three_minutes_ago(world: World) -> None:
    found = world.readings()
    assert len(world.door.seen) == 11
    first = world.door.seen[0]
    assert first.path == "/v3/projects/acme-ml/timeSeries"
    assert first.one("filter") == (
        'metric.type="run.googleapis.com/request_count" AND resource.type="cloud_run_revision" '
        'AND resource.labels.project_id="acme-ml" AND resource.labels.location="europe-west1" AND resource.labels.service_name="ranker"'
    )
    assert (first.one("interval.startTime"), first.one("interval.endTime")) == (
        "2026-11-30T02:52:00.000000Z",
        "2026-11-30T02:57:00.000000Z",
    )
    assert first.parameters["aggregation.groupByFields"] == ["metric.labels.response_code", "metric.labels.response_code_class"]
    assert (found.window_seconds, found.end_age_seconds) == (300, 180)


def test_where_there_are_no_series_every_reading_is_unknown_and_none_is_zero(world: World) -> None:
    found = world.readings()
    assert set(found.values) == set(ALL_KEYS)
    assert {why(found, key) for key in ALL_KEYS} == {"no such series in the window"}


def test_requests_are_rates_by_class_and_by_code_of_one_answer(world: World) -> None:
    world.metrics["request_count"] = [
        series([(-180, whole(3_000))], response_code="200", response_code_class="2xx"),
        series([(-180, whole(600))], response_code="429", response_code_class="4xx"),
    ]
    found = world.readings()
    assert value(found, "run.googleapis.com/request_count rate [1/s]") == 12
    assert value(found, "run.googleapis.com/request_count{response_code_class=2xx} rate [1/s]") == 10
    assert value(found, "run.googleapis.com/request_count{response_code=429} rate [1/s]") == 2
    assert value(found, "run.googleapis.com/request_count{response_code_class=4xx} rate [1/s]") == 2
    assert why(found, "run.googleapis.com/request_count{response_code_class=5xx} rate [1/s]") == "no such series in the window"


def test_instances_are_the_newest_minute_and_the_highest_by_state(world: World) -> None:
    world.metrics["container/instance_count"] = [
        series([(-200, whole(2)), (-260, whole(4)), (-320, whole(3))], state="active"),
        series([(-200, whole(1))], state="idle"),
    ]
    found = world.readings()
    assert value(found, "run.googleapis.com/container/instance_count{state=active} value [instances]") == 2
    assert value(found, "run.googleapis.com/container/instance_count{state=active} max [instances]") == 4
    assert world.count() == Known(value=3, age_seconds=200, samples=3)


def test_the_count_without_a_series_is_unknown(world: World) -> None:
    counted = world.count()
    assert isinstance(counted, Unknown)
    assert counted.reason == "no instance count of acme-ml:europe-west1:ranker in the 300 s before the last 180 s"


def test_all_percentiles_come_from_one_distribution(world: World) -> None:
    buckets = {"explicitBuckets": {"bounds": [0, 100, 200, 400]}}
    latencies = {"distributionValue": {"count": "100", "bucketOptions": buckets, "bucketCounts": ["0", "50", "45", "5"]}}
    world.metrics["request_latencies"] = [series([(-180, latencies)])]
    found = world.readings()
    assert value(found, "run.googleapis.com/request_latencies p50 [ms]") == 100
    assert value(found, "run.googleapis.com/request_latencies p95 [ms]") == 200
    assert value(found, "run.googleapis.com/request_latencies p99 [ms]") == 360
    metric = found.values["run.googleapis.com/request_latencies p99 [ms]"]
    assert isinstance(metric, Known)
    assert metric.samples == 100


def test_starts_are_counted_too(world: World) -> None:
    buckets = {"exponentialBuckets": {"numFiniteBuckets": 3, "growthFactor": 10, "scale": 100}}
    starts = {"distributionValue": {"count": "4", "bucketOptions": buckets, "bucketCounts": [0, 0, 4]}}
    world.metrics["container/startup_latencies"] = [series([(-180, starts)])]
    found = world.readings()
    assert value(found, "run.googleapis.com/container/startup_latencies count [starts]") == 4
    assert value(found, "run.googleapis.com/container/startup_latencies p95 [ms]") == 1_000 + 9_000 * 0.95


def test_a_distribution_without_samples_is_unknown(world: World) -> None:
    buckets = {"linearBuckets": {"numFiniteBuckets": 10, "width": 0.1}}
    world.metrics["container/gpu/utilizations"] = [series([(-180, {"distributionValue": {"bucketOptions": buckets}})])]
    assert why(world.readings(), "run.googleapis.com/container/gpu/utilizations p50 [ratio]") == "no such series in the window"


def test_what_tf_serving_says_comes_from_one_query(world: World) -> None:
    queuing = ":tensorflow:serving:batching_session:queuing_latency"
    world.vector = [
        {"metric": {"reading": "served", "status": "OK"}, "value": [1, "410.5"]},
        {"metric": {"reading": "served", "status": "UNAVAILABLE"}, "value": [1, "52"]},
        {"metric": {"reading": queuing}, "value": [1, "91000"]},
        {"metric": {"reading": ":tensorflow:serving:runtime_latency"}, "value": [1, "NaN"]},
    ]
    found = world.readings()
    (asked,) = (each for each in world.door.seen if each.path == PROMETHEUS)
    assert (asked.one("query"), asked.one("time")) == (promql(RANKER, 300), "2026-11-30T02:57:00.000000Z")
    assert value(found, ":tensorflow:serving:request_count{status=UNAVAILABLE} rate [1/s]") == 52
    assert value(found, f"{queuing} mean [us]") == 91_000
    assert why(found, ":tensorflow:serving:request_count{status=NOT_FOUND} rate [1/s]") == "no such series in the window"
    assert why(found, ":tensorflow:serving:runtime_latency mean [us]") == "no such series in the window"


def test_the_query_names_series_as_tf_serving_exports_them_and_marks_what_each_is() -> None:
    said = promql(RANKER, 300)
    assert said.startswith(
        'label_replace(sum by (status) (rate({__name__=":tensorflow:serving:request_count",cluster="__run__",namespace="ranker",'
        'location="europe-west1",project_id="acme-ml"}[300s])), "reading", "served", "status", ".*") or '
    )
    assert 'rate({__name__=":tensorflow:serving:batching_session:queuing_latency_sum",' in said


def test_one_metric_that_is_not_there_leaves_the_others(world: World) -> None:
    world.answers["container/gpu/utilizations"] = refusal(404, "Cannot find metric(s) that match type")
    world.metrics["request_count"] = [series([(-180, whole(300))], response_code="200", response_code_class="2xx")]
    found = world.readings()
    assert "Cannot find metric(s)" in why(found, "run.googleapis.com/container/gpu/utilizations p50 [ratio]")
    assert value(found, "run.googleapis.com/request_count rate [1/s]") == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_outage_makes_readings_unknown_with_its_words_and_the_count_a_retry(world: World, status: int) -> None:
    world.answers["every"] = refusal(status, "try again")
    assert why(world.readings(), "run.googleapis.com/request_count rate [1/s]").endswith(f"HTTP {status}: try again")
    with pytest.raises(Retry, match="try again"):
        world.count()


def test_who_may_not_read_one_series_is_not_asked_for_ten_others(world: World) -> None:
    world.answers["every"] = refusal(403, "Permission monitoring.timeSeries.list denied")
    found = world.readings()
    assert len(world.door.seen) == 1
    assert all("Permission monitoring.timeSeries.list denied" in why(found, key) for key in ALL_KEYS)
    assert isinstance(world.count(), Unknown)


def test_what_the_time_did_not_suffice_for_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_monitoring, "WORK_SECONDS", 0.0)
    assert "not asked" in why(world.readings(), ALL_KEYS[0])
    assert world.door.seen == []


@pytest.mark.parametrize(
    "answer",
    [
        b"no json",
        {"timeSeries": 7},
        {"timeSeries": [7]},
        {"timeSeries": [{"points": 7}]},
        {"timeSeries": [{"points": [{"value": {}}]}]},
        {"timeSeries": [{"points": [{"value": {"int64Value": "many"}}]}]},
        {"timeSeries": [{"points": [{"value": {"int64Value": "1"}, "interval": {"endTime": "now"}}]}]},
        {"timeSeries": [{"points": [{"value": {"int64Value": "1"}, "interval": {"endTime": "2026-11-30T03:00:00"}}]}]},
        {"timeSeries": [], "nextPageToken": "more"},
    ],
)
def test_an_answer_that_is_none_is_not_guessed_at(world: World, answer: Any) -> None:
    world.answers["container/instance_count"] = (200, answer)
    assert why(world.readings(), "run.googleapis.com/container/instance_count{state=active} value [instances]")
    with pytest.raises(Retry):
        world.count()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"bucketOptions": {}, "bucketCounts": ["1"]},
        {"bucketOptions": {"linearBuckets": {"numFiniteBuckets": 10**9, "width": 1}}, "bucketCounts": ["1"]},
        {"bucketOptions": {"explicitBuckets": {"bounds": [1]}}, "bucketCounts": ["1", "2", "3"]},
        {"bucketOptions": {"explicitBuckets": {"bounds": [1]}}, "bucketCounts": ["-1"]},
        {"bucketOptions": {"exponentialBuckets": {"numFiniteBuckets": 2_000, "growthFactor": 10, "scale": 1}}, "bucketCounts": ["1"]},
    ],
)
def test_a_distribution_that_is_none_is_not_guessed_at(world: World, value: Any) -> None:
    world.metrics["request_latencies"] = [series([(-180, {"distributionValue": value})])]
    assert "not as documented" in why(world.readings(), "run.googleapis.com/request_latencies p50 [ms]")


@pytest.mark.parametrize("answer", [{}, {"data": 7}, {"data": {"result": [{}]}}, {"data": {"result": [{"metric": {}, "value": [1, "x"]}]}}])
def test_a_prometheus_answer_that_is_none_is_not_guessed_at(world: World, answer: Any) -> None:
    world.answers["prometheus"] = (200, answer)
    assert "not as documented" in why(world.readings(), ":tensorflow:serving:request_count{status=OK} rate [1/s]")


def test_missing_credentials_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise auth.DefaultCredentialsError("none here")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.default", fail)
    assert "no credentials from the environment: none here" in why(CloudMonitoring(HandClock(NOW)).readings(RANKER), ALL_KEYS[0])


@pytest.mark.parametrize("hostile", ['x" OR resource.type="gce_instance', "a\nb", "", "\\", "x" * 300])
def test_no_filter_is_built_from_what_is_no_name(hostile: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        quoted(hostile)
