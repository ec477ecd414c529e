"""Whether the metrics are served."""

import pytest

from shared.lint.monitoring_rules import RULES, file_rules, flag_rules
from tests.support.lint_deployments import codes, found, service
from tests.support.lint_files import asked

FILE = "--monitoring_config_file=/etc/monitoring.config"
RIGHT = 'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }'


def test_a_rest_port_and_an_absolute_path_serve_the_metrics() -> None:
    assert codes(RULES, asked(flags=["--port=8500", "--rest_api_port=8501", FILE], monitoring=RIGHT)) == []
    assert codes(RULES, asked(service=service(args=[FILE]))) == []
    assert codes(RULES, asked()) == []


def test_metrics_need_the_rest_port() -> None:
    (finding,) = found(flag_rules, asked(flags=["--port=8500", "--model_base_path=/models/m", FILE]))
    assert (finding.code, finding.fix) == ("monitoring-not-served", "--rest_api_port=8501")
    (finding,) = found(flag_rules, asked(flags=["--port=8501", "--model_base_path=/models/m", FILE]))
    assert finding.fix == "--rest_api_port=8502"


def test_without_the_flag_nothing_is_asked_of_the_ports() -> None:
    assert found(flag_rules, asked(flags=["--port=8500", "--model_base_path=/models/m"])) == []


@pytest.mark.parametrize("path", ["monitoring.config", "./monitoring.config", "etc/monitoring.config"])
def test_a_relative_path_is_not_found(path: str) -> None:
    (finding,) = found(flag_rules, asked(flags=["--rest_api_port=8501", f"--monitoring_config_file={path}"]))
    assert "relative" in finding.message
    assert finding.fix == f"--monitoring_config_file=/{path.removeprefix('./')}"


@pytest.mark.parametrize("path", ["/etc/m.config", "gs://acme/m.config", "$CONFIG/m.config"])
def test_a_path_that_does_not_depend_on_the_folder(path: str) -> None:
    assert found(flag_rules, asked(flags=["--rest_api_port=8501", f"--monitoring_config_file={path}"])) == []


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("prometheus_config { enabled: true }", "prometheus_config { enable: true }"),
        ("enable: true", "prometheus_config { enable: true }"),
        ("prometheus_config { enable: false }", "prometheus_config { enable: true }"),
        ("", "prometheus_config { enable: true }"),
        (
            'prometheus_config { enable: true path: "metrics" }',
            'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }',
        ),
    ],
)
def test_a_file_that_does_not_parse_or_switches_nothing_on(text: str, fix: str) -> None:
    (finding,) = found(file_rules, asked(monitoring=text))
    assert (finding.code, finding.fix) == ("monitoring-not-served", fix)


def test_a_finding_names_the_line_of_the_file() -> None:
    (finding,) = found(file_rules, asked(monitoring="prometheus_config {\n  enable: false\n}\n"))
    assert str(finding.where) == "monitoring.config:2: prometheus_config.enable"
