"""Random edits of healthy configurations, judged by the tools and services that read them, not by lint's own rules.

A hundred here; `make bench` tries thousands.
"""

import pytest

from tests.support import gcloud_parser
from tests.support.lint_healthy import Form
from tests.support.lint_mutants import mutants
from tests.support.lint_trial import Tally, together, trial

SEED = 2_611
PARSED_HERE = (Form.V2_YAML, Form.V2_JSON, Form.BATCHING, Form.MODELS, Form.MONITORING)
READ_BY_GCLOUD = (Form.DEPLOY, Form.UPDATE, Form.V1)


def _agrees(tally: Tally) -> None:
    assert not tally.missed, "\n\n".join(str(each) for each in tally.missed)
    assert not tally.contradicted, "\n\n".join(str(each) for each in tally.contradicted)


def test_what_protobuf_and_the_simulated_cloud_run_refuse_lint_refuses_too_and_nothing_else() -> None:
    tally = together(trial(mutants(SEED, 55, PARSED_HERE)).values())
    assert tally.refused >= 25
    _agrees(tally)


@pytest.mark.skipif(not gcloud_parser.installed(), reason="gcloud is not installed: its own parser cannot be asked")
def test_what_gcloud_refuses_lint_refuses_too_and_nothing_else() -> None:
    tally = together(trial(mutants(SEED, 45, READ_BY_GCLOUD)).values())
    assert tally.refused >= 20
    _agrees(tally)
