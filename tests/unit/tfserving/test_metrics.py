"""The metrics on TF Serving's page."""

import pytest

from shared.tfserving.metrics import PREFIX, TF_SERVING_METRICS, Kind, base_name, is_metric, is_wrong, nearest


@pytest.mark.parametrize("name", TF_SERVING_METRICS)
def test_every_metric_is_known_with_the_series_of_its_kind(name: str) -> None:
    assert is_metric(name)
    assert is_metric(f"{name}_bucket") is (TF_SERVING_METRICS[name].kind is Kind.HISTOGRAM)
    assert not is_wrong(name)


def test_the_series_of_a_histogram_belong_to_it() -> None:
    assert base_name(f"{PREFIX}runtime_latency_sum") == f"{PREFIX}runtime_latency"
    assert base_name(f"{PREFIX}request_count_sum") is None


@pytest.mark.parametrize(
    ("wrong", "real"),
    [
        ("request_counts", "request_count"),
        ("requests_total", "request_count"),
        ("queuing_latency", "batching_session:queuing_latency"),
        ("batching_session:queue_latency", "batching_session:queuing_latency"),
        ("runtime_latencies_sum", "runtime_latency_sum"),
    ],
)
def test_the_name_that_was_meant(wrong: str, real: str) -> None:
    assert is_wrong(f"{PREFIX}{wrong}")
    assert nearest(f"{PREFIX}{wrong}") == f"{PREFIX}{real}"


def test_metrics_of_batching_inside_a_graph_and_of_tensorflow_are_not_called_wrong() -> None:
    assert not is_wrong(f"{PREFIX}batching:batch_delay_us_v2")
    assert not is_wrong(":tensorflow:core:bfc_allocator_delay")
