"""Lint in front of a stored spec and of a written template: errors refuse in lint's words, warnings are told."""

from typing import Any

import pytest

from shared.control.spec_lint import MOST_FAULTS, NOTES_LIMIT, faults, in_words, linted
from shared.lint.finding import Finding, Where
from shared.records.service import ServiceSpec
from shared.rendering.plain import plain_service
from tests.support.specs import OWN_ENTRY, SERVICE, a_spec


def finding(code: str, message: str = "m") -> Finding:
    return Finding(code, message, Where("deploy", "spec", 1, "/template/timeout"), "the fix")


def test_a_sound_spec_has_neither_problems_nor_notes() -> None:
    found = linted(SERVICE, a_spec(scale={"max_instance_count": 3}))
    assert (found.problems, found.notes) == ((), "")


def test_a_warning_is_told_with_its_code_and_its_words() -> None:
    found = linted(SERVICE, a_spec(scale={"max_instance_count": 1}))
    assert found.problems == ()
    assert found.notes.startswith("lint warns: max-instances-one: At most one instance")


def test_what_is_left_to_its_owner_is_not_judged() -> None:
    for spec in (a_spec(**OWN_ENTRY), ServiceSpec.model_validate({"scale": {"max_instance_count": 900}})):
        assert (linted(SERVICE, spec).problems, linted(SERVICE, spec).notes) == ((), "")


def test_an_error_is_a_problem_with_the_field_the_code_the_words_and_the_fix() -> None:
    (problem,) = in_words([finding("cpu-memory-shape", "4 vCPU take 16Gi"), finding("load-retries-outlive-probe")]).problems
    assert (problem.field, problem.value) == ("spec (/template/timeout)", "cpu-memory-shape")
    assert (problem.wrong, problem.fix) == ("4 vCPU take 16Gi", "the fix")


def test_notes_are_bounded() -> None:
    assert len(in_words([finding("max-instances-one", "x" * 2_000)]).notes) == NOTES_LIMIT


def test_a_rendered_service_without_a_fault_has_none_and_a_spoilt_one_says_which() -> None:
    from shared.records.desired import desired_serving  # noqa: PLC0415 (only here)

    document = plain_service(SERVICE.resource_name, desired_serving(a_spec()), min_instance_count=0, max_instance_count=3)
    assert faults(SERVICE, document) == ()
    spoilt: dict[str, Any] = {**document, "template": {**document["template"], "timeout": "9000s"}}
    (fault,) = faults(SERVICE, spoilt)
    assert fault.startswith("cloud-run-limit: ")
    many = {**spoilt, "template": {**spoilt["template"], "containers": document["template"]["containers"] * 30}}
    assert len(faults(SERVICE, many)) <= MOST_FAULTS


@pytest.mark.parametrize("field", ["memory"])
def test_a_command_whose_spec_would_be_rendered_wrong_is_refused(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = plain_service

    def doctored(name: str, desired: Any, **bounds: int) -> dict[str, Any]:
        return sound(name, desired.model_copy(update={field: "8Gi"}), **bounds)

    monkeypatch.setattr("shared.lint.specs.plain_service", doctored)
    (problem,) = linted(SERVICE, a_spec()).problems
    assert problem.value == "cpu-memory-shape"
