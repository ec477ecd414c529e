"""Monitoring files as people have them."""

import pytest

from shared.tfserving.monitoring import MonitoringConfig, PrometheusConfig
from shared.tfserving.monitoring_reading import read_monitoring_file
from shared.tfserving.reading import FormFault

PAGE = MonitoringConfig(prometheus_config=PrometheusConfig(enable=True, path="/metrics"))


def test_a_file_that_the_server_reads_has_no_problem() -> None:
    reading = read_monitoring_file('prometheus_config { enable: true path: "/metrics" }')
    assert (reading.problems, reading.meant) == ((), PAGE)
    assert reading.lines["prometheus_config.path"] == 1


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('enable: true\npath: "/metrics"', [FormFault.UNKNOWN_FIELD, FormFault.UNKNOWN_FIELD]),
        ('prometheus_config { enabled: true path: "/metrics" }', [FormFault.UNKNOWN_FIELD]),
        ("prometheus_config { enable: TRUE path: /metrics }", [FormFault.SYNTAX, FormFault.SYNTAX]),
        ('{"prometheus_config": {"enable": true, "path": "/metrics"}}', [FormFault.SYNTAX]),
        ("prometheus_config:\n  enable: true\n  path: /metrics\n", [FormFault.SYNTAX]),
        ('prometheus_config = { enable = true path: "/metrics" }', [FormFault.SYNTAX, FormFault.SYNTAX]),
    ],
)
def test_a_wrong_file_is_read_past_its_mistakes(text: str, faults: list[FormFault]) -> None:
    reading = read_monitoring_file(text)
    assert [problem.fault for problem in reading.problems] == faults
    assert reading.meant == PAGE
