"""Configurations with nothing wrong in them: lint keeps quiet."""

import pytest

from shared.lint.asking import ask
from shared.lint.finding import Severity
from tests.support.lint_healthy import HEALTHY, Healthy


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda each: each.name)
def test_a_healthy_configuration_gives_no_error_and_no_warning(healthy: Healthy) -> None:
    answer = ask(healthy.name, healthy.text)
    assert answer.kinds == (healthy.kind,)
    assert [finding for finding in answer.findings if finding.severity is not Severity.INFO] == []
