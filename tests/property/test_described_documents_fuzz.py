"""Any text is read as somebody's service or refused in one way, and every rule can look at what was read."""

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shared.cloudrun.described import Form
from shared.cloudrun.described_documents import read_described_document
from shared.cloudrun.documents import read_service_document, to_v1_yaml
from shared.cloudrun.fields import ServiceDocumentError
from shared.lint.checking import check
from shared.lint.given import Given, Text, Workload
from tests.support.service_mutants import healthy
from tests.support.v2_services import EVERYTHING, services

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    0.5,
    "",
    "x",
    "1e999",
    "\x00",
    "é" * 300,
    [],
    {},
    [[]],
    [None],
    {"": ""},
    {"a": {"b": []}},
)


def spoilt(document: Any, way: list[int], value: Any) -> Any:
    """The document with the value at some place, which the numbers lead to."""
    if not way or not isinstance(document, dict | list) or not document:
        return value
    first, *rest = way
    if isinstance(document, list):
        at = first % len(document)
        return [spoilt(each, rest, value) if number == at else each for number, each in enumerate(document)]
    name = sorted(document)[first % len(document)]
    return {**document, name: spoilt(document[name], rest, value)}


def looked_at(text: str) -> None:
    try:
        described = read_described_document(text)
    except ServiceDocumentError:
        return
    lines = text.count("\n") + 1
    for problem in described.problems:
        assert problem.message
        assert problem.line is None or 1 <= problem.line <= lines
    check(Given("q", deploy=Text(text, "service.yaml"), workload=Workload(start_s=300.0)), described)


ways = st.lists(st.integers(0, 30), min_size=1, max_size=9)


@given(st.sampled_from([*healthy().values(), EVERYTHING]), ways, st.sampled_from(HOSTILE), st.booleans())
def test_a_v2_service_spoilt_anywhere(service: Any, way: list[int], value: Any, as_json: bool) -> None:
    changed = spoilt(copy.deepcopy(service), way, value)
    looked_at(json.dumps(changed) if as_json else yaml.safe_dump(changed, allow_unicode=True))


@given(st.sampled_from([*healthy().values(), EVERYTHING]), ways, st.sampled_from(HOSTILE))
def test_a_v1_service_spoilt_anywhere(service: Any, way: list[int], value: Any) -> None:
    changed = spoilt(yaml.safe_load(to_v1_yaml(service)), way, value)
    looked_at(yaml.safe_dump(changed, allow_unicode=True))


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    looked_at(text)


@given(st.text(alphabet="{}[]:,-&*!|>'\"\n\t #ab1", max_size=80))
def test_any_text_that_looks_like_yaml(text: str) -> None:
    looked_at(text)


@given(services)
def test_a_service_in_order_is_read_without_a_problem_and_to_the_letter(service: Any) -> None:
    """As v2 it is what it was; as v1 it means what the strict reader says, but for what silence on CPU throttling means there."""
    if not service.get("template"):
        return
    read = read_described_document(json.dumps(service))
    assert read.problems == ()
    assert read.service == service
    text = to_v1_yaml(service)
    again = read_described_document(text)
    assert again.form is Form.V1
    assert [each for each in again.problems if "network-interfaces" not in each.field] == []
    strict = read_service_document(text).service
    assert without_cpu_idle(again.service) == without_cpu_idle(strict)


def without_cpu_idle(service: Any) -> Any:
    found = copy.deepcopy(service)
    for container in found.get("template", {}).get("containers", []):
        container.get("resources", {}).pop("cpuIdle", None)
    return found


@pytest.mark.parametrize("name", sorted(healthy()))
def test_a_healthy_service_has_the_same_places_in_both_forms(name: str) -> None:
    """Every field that v2 has in its own words has a line in the v1 document too."""
    service = healthy()[name]
    v1 = read_described_document(to_v1_yaml(service))
    for way in ("/template/maxInstanceRequestConcurrency", "/template/containers/0/image", "/template/containers/0/resources/limits/cpu"):
        assert way in v1.lines
