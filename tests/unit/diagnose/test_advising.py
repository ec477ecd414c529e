"""Advice as a whole."""

from shared.diagnose.advising import ADVISERS
from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.ranking import EXPLAINS
from tests.unit.diagnose.questions import ask, gpu_service, remedies

FULL_QUEUE = "The batch scheduling queue to which this task was submitted is full"
TOO_LARGE = "client: Received message larger than max (9000000 vs. 4194304)"


def test_every_cause_has_an_adviser() -> None:
    assert ADVISERS.keys() == CAUSES.keys()


def test_what_explains_another_is_a_cause() -> None:
    named = {*EXPLAINS, *(general for generals in EXPLAINS.values() for general in generals)}
    assert named <= CAUSES.keys()
    assert all(specific not in generals for specific, generals in EXPLAINS.items())


def test_two_faults_that_have_nothing_to_do_with_each_other_are_both_mended() -> None:
    answer = ask(FULL_QUEUE, TOO_LARGE, deploy=gpu_service("--concurrency=64", "--max-instances=2"))
    assert [each.cause for each in answer.causes[:2]] == ["batch-queue-full", "client-message-limit"]
    assert "raise-client-message-limit" in remedies(answer)


def test_a_consequence_gets_no_remedy_of_its_own() -> None:
    answer = ask(
        "No versions of servable m found under base path gs://acme/m",
        'Default STARTUP TCP probe failed 1 time consecutively for container "m-1" on port 8500. The instance was not started.',
    )
    assert [each.cause for each in answer.causes] == ["model-path-empty", "startup-window-too-short"]
    assert remedies(answer) == ["fix-model-path"]
    assert answer.causes[1].against == ("model-path-empty explains it",)


def test_evidence_quotes_the_line_and_says_who_wrote_it() -> None:
    (sentence,) = ask(TOO_LARGE).causes[0].evidence
    assert sentence.startswith("log line 1 (client): Received message larger than max (9000000 vs. 4194304) [the client's library: ")


def test_lines_that_say_the_same_count_once() -> None:
    (sentence,) = ask(TOO_LARGE, TOO_LARGE, TOO_LARGE).causes[0].evidence
    assert sentence.endswith(", and 2 more lines like it")


def test_a_remedy_says_whether_it_makes_a_revision_and_what_it_risks() -> None:
    answer = ask(FULL_QUEUE, deploy=gpu_service("--concurrency=64", "--max-instances=2"))
    assert answer.remedies[0].remedy == "lower-concurrency"
    assert answer.remedies[0].new_revision is True
    assert answer.remedies[0].risk
