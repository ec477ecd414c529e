"""The simulated batch queue does what TensorFlow's own batch scheduler did with the same requests (recorded; `make bench-tf` asks anew)."""

import pytest

from tests.benchmarks.tf import simulated
from tests.benchmarks.tf.agreement import cause_of
from tests.benchmarks.tf.cases import CASES, Case, Outcome
from tests.benchmarks.tf.recorded import read

RECORD = read()


def test_the_record_is_of_the_cases_as_they_are() -> None:
    assert [case for case, _ in RECORD.cases] == list(CASES)
    assert RECORD.tensorflow.startswith("2.")


@pytest.mark.parametrize(("case", "real"), RECORD.cases, ids=[case.name for case in CASES])
def test_it_forms_the_same_batches_and_refuses_the_same_requests_for_the_same_cause(case: Case, real: Outcome) -> None:
    assert simulated.run(case) == Outcome(real.batches, tuple((number, str(cause_of(text))) for number, text in real.refused))


def test_the_recorded_cases_reach_every_rule() -> None:
    refused = [text for _, real in RECORD.cases for _, text in real.refused]
    assert {cause_of(text) for text in refused} == {"batch-queue-full", "request-rows-over-limit"}
    assert any("scheduling capacity is only" in text for text in refused)
    assert any(ran > rows for _, real in RECORD.cases for rows, ran in real.batches)
