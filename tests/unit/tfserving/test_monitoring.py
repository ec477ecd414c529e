"""The monitoring file and the names on the metrics page."""

import pytest

from shared.tfserving.faults import Found
from shared.tfserving.monitoring import (
    PROMETHEUS_PATH,
    MonitoringConfig,
    MonitoringTextError,
    PrometheusConfig,
    exported_label,
    exported_name,
    faults,
    format_monitoring,
    parse_monitoring,
)


def test_the_file_of_the_guide() -> None:
    config = MonitoringConfig(prometheus_config=PrometheusConfig(enable=True, path=PROMETHEUS_PATH))
    assert format_monitoring(config) == 'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }\n'
    assert parse_monitoring('prometheus_config: {\n  enable: true,\n  path: "/monitoring/prometheus/metrics"\n}') == config
    assert faults(config) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("prometheus_config { enable: true }", PROMETHEUS_PATH),
        ('prometheus_config { enable: true path: "/m" }', "/m"),
        ("prometheus_config { }", None),
        ('prometheus_config { path: "/m" }', None),
    ],
)
def test_where_the_page_is(text: str, path: str | None) -> None:
    config = parse_monitoring(text)
    assert config.prometheus_config is not None
    assert config.prometheus_config.served_path() == path
    assert parse_monitoring(format_monitoring(config)) == config


@pytest.mark.parametrize("text", ["", "prometheus_config { }", "prometheus_config { enable: false }"])
def test_metrics_that_stay_off(text: str) -> None:
    (fault,) = faults(parse_monitoring(text))
    assert (fault.field, fault.found) == ("enable", Found.NEVER)


def test_a_page_nobody_finds() -> None:
    (fault,) = faults(parse_monitoring('prometheus_config { enable: true path: "metrics" }'))
    assert (fault.field, fault.value, fault.found) == ("path", "metrics", Found.NEVER)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("enable: true", "inside prometheus_config"),
        ("prometheus_config { enabled: true }", "The field is enable"),
        ("prometheus: { enable: true }", 'Did you mean "prometheus_config"?'),
        ("prometheus_config: true", "prometheus_config { ... }"),
        ('prometheus_config { enable: "true" }', "without quotes"),
    ],
)
def test_refused_texts(text: str, meaning: str) -> None:
    with pytest.raises(MonitoringTextError) as refused:
        parse_monitoring(text)
    assert meaning in refused.value.meaning


def test_names() -> None:
    assert exported_name("/tensorflow/serving/request_count") == ":tensorflow:serving:request_count"
    assert exported_name("/tensorflow/serving/batching_session/queuing_latency") == ":tensorflow:serving:batching_session:queuing_latency"
    assert exported_name("9é-x.y") == "_9::x:y"
    assert exported_label("model_name") == "model_name"
    assert exported_label("API") == "API"
    assert exported_label("9a-b") == "_9a_b"
    assert exported_name("") == exported_label("") == ""
