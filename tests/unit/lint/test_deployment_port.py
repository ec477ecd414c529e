"""The variable PORT, which Cloud Run sets to the port that it sends to."""

import pytest

from tests.support.lint_deployments import PRIVATE_SHELL, deployed, service


@pytest.mark.parametrize("command", [["/bin/sh", "-c", PRIVATE_SHELL], ["/bin/bash", "-ec", PRIVATE_SHELL.replace("$PORT", "${PORT}")]])
def test_a_shell_puts_the_port_of_the_service_where_the_flag_says_port(command: list[str]) -> None:
    deployment = deployed(service(command=command, port=8501))
    assert deployment.rest_port == 8501
    assert deployment.protocol == "rest"


def test_cloud_run_itself_puts_it_into_an_argument() -> None:
    assert deployed(service(args=["--rest_api_port=$(PORT)"], port=9001)).rest_port == 9001


def test_without_a_port_it_is_the_default_one() -> None:
    assert deployed(service(args=["--rest_api_port=$(PORT)"], port=None)).rest_port == 8080


def test_a_list_of_flags_alone_has_no_such_variable() -> None:
    flags = deployed(flags=["--rest_api_port=$(PORT)"]).flags
    assert flags is not None
    assert "rest_api_port" not in flags.given
