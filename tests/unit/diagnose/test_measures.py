"""Metric keys: one unit for each kind of value, and None for what is not known."""

import math

import pytest

from shared.diagnose.measures import canonical, read_measure, read_measures


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        (":tensorflow:serving:runtime_latency mean [us]", 48_000, 48),
        ("run.googleapis.com/container/startup_latencies p95 [s]", 44, 44_000),
        ("run.googleapis.com/request_latencies p99 [ms]", 180, 180),
        ("run.googleapis.com/container/gpu/utilizations p50 [%]", 93, 0.93),
        ("run.googleapis.com/container/gpu/utilizations p50 [ratio]", 93, 0.93),
        ("run.googleapis.com/container/gpu/memory_usages max [GiB]", 2, 2 * 2**30),
        ("run.googleapis.com/container/network/received_bytes_count rate [MB/s]", 3, 3_000_000),
        ("run.googleapis.com/request_count rate [1/min]", 120, 2),
        ("client/attempts rate [rps]", 12, 12),
        (":tensorflow:serving:batching_session:queuing_latency mean", 5000, 5),
        ("run.googleapis.com/request_count rate [1/s]", math.nan, None),
    ],
)
def test_a_value_in_its_one_unit(key: str, value: float, read: float | None) -> None:
    assert read_measure(key, value).value == (None if read is None else pytest.approx(read))


@pytest.mark.parametrize(
    "spelling",
    [
        "run.googleapis.com/container/gpu/utilizations",
        "run_googleapis_com:container_gpu_utilizations",
        "container/gpu/utilizations",
    ],
)
def test_spellings_of_one_metric(spelling: str) -> None:
    assert canonical(spelling) == "container_gpu_utilizations"


def test_the_type_of_managed_prometheus_is_the_servers_own_name() -> None:
    name = "prometheus.googleapis.com/:tensorflow:serving:request_count/counter"
    assert canonical(name) == canonical(":tensorflow:serving:request_count")


def test_labels_statistic_and_point() -> None:
    measure = read_measure("run.googleapis.com/request_count{response_code=429,revision_name=r-1} rate{minute=12:01} [1/s]", 3)
    assert (measure.labels, measure.statistic, measure.point) == (
        {"response_code": "429", "revision_name": "r-1"},
        "rate",
        {"minute": "12:01"},
    )
    assert measure.is_point


def test_the_time_a_value_is_made_of() -> None:
    assert read_measure("run.googleapis.com/request_count rate{window=14d} [1/s]", 1).span_seconds == 14 * 86_400
    assert read_measure("run.googleapis.com/request_count rate [1/s]", 1).span_seconds is None


def test_the_first_statistic_asked_for_is_taken_and_unknown_never() -> None:
    measures = read_measures({"m p99 [ratio]": None, "m p95 [ratio]": 0.5, "m mean [ratio]": 0.2})
    picked = measures.pick("m", statistics=("p99", "p95", "mean"))
    assert picked is not None
    assert picked.value == 0.5
    assert [each.key for each in measures.unknown] == ["m p99 [ratio]"]


def test_of_a_series_the_newest_point_counts() -> None:
    measures = read_measures({f"m p99{{minutes_ago={ago}}} [ms]": value for ago, value in ((2, 7.0), (9, 90.0), (4, 40.0))})
    picked = measures.pick("m", statistics=("p99",))
    assert picked is not None
    assert picked.value == 7


def test_a_key_in_no_such_form_is_kept_under_its_own_words() -> None:
    assert read_measure("{odd", 3).value == 3


@pytest.mark.parametrize(
    "points",
    [
        {"x mean{minute=09:50} [1]": 1.0, "x mean{minute=10:05} [1]": 2.0},
        {"x mean{minutes_ago=15} [1]": 1.0, "x mean{minutes_ago=1} [1]": 2.0},
        {"x mean{at=2026-11-29T23:50} [1]": 1.0, "x mean{at=2026-11-30T00:10} [1]": 2.0},
        {"x mean{phase=before} [1]": 1.0, "x mean{phase=after} [1]": 2.0},
        {"x{minute=3} mean [1]": 1.0, "x{minute=11} mean [1]": 2.0},
    ],
)
def test_the_newest_point_is_the_newest_in_any_order(points: dict[str, float]) -> None:
    for order in (points, dict(reversed(points.items()))):
        picked = read_measures(order).pick("x")
        assert picked is not None
        assert picked.value == 2.0


def test_windows_of_different_length_are_not_added_up() -> None:
    measures = read_measures({"x rate{window=5m} [1/s]": 30.0, "x rate{window=1d} [1/s]": 12.0})
    assert measures.total("x", statistics=("rate",), where=lambda _: True) == 30.0


def test_points_of_the_newest_time_are_added_up() -> None:
    metrics = {"x{r=a,minute=1} rate [1/s]": 5.0, "x{r=a,minute=2} rate [1/s]": 7.0, "x{r=b,minute=2} rate [1/s]": 1.0}
    assert read_measures(metrics).total("x", statistics=("rate",), where=lambda _: True) == 8.0
