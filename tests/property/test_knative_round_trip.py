"""A service goes to v1 and comes back as it was, and what v1 has no place for is a short, known list."""

import copy
import json
import re
from typing import Any

import pytest
import yaml
from google.cloud import run_v2
from google.protobuf import json_format
from hypothesis import given, settings

from shared.cloudrun.documents import read_service_document, to_v1_yaml
from shared.cloudrun.knative import to_v1, to_v2
from tests.support.v2_services import EVERYTHING, services

NO_PLACE_IN_V1 = re.compile(
    r"/(updateTime|expireTime|satisfiesPzs|etag|reconciling)"
    r"|/(terminalCondition|conditions/\d+)/state"  # v1 has one word for pending and reconciling
    r"|/template/containers/\d+/resources/(cpuIdle|startupCpuBoost)"  # v1 has one for the whole revision
    r"|/template/(volumes|containers/\d+/volumeMounts)"  # their order, where a Cloud SQL volume is not the last
    r"|/latest(Ready|Created)Revision"  # a full name, in a service whose own name is short
)


WRITTEN_BY_CLOUD_RUN = {
    "uid",
    "generation",
    "createTime",
    "deleteTime",
    "creator",
    "lastModifier",
    "urls",
    "uri",
    "observedGeneration",
    "terminalCondition",
    "conditions",
    "latestReadyRevision",
    "latestCreatedRevision",
    "trafficStatuses",
}


def _json_of(document: dict[str, Any]) -> dict[str, Any]:
    message = run_v2.Service.pb(run_v2.Service())
    json_format.ParseDict(document, message)
    return dict(json_format.MessageToDict(message))


def _fields_of(document: Any, descriptor: Any, way: str = "") -> set[str]:
    found = set()
    for name, value in document.items():
        field = next(each for each in descriptor.fields if each.json_name == name)
        found.add(f"{way}.{name}".strip("."))
        if field.message_type and not field.message_type.GetOptions().map_entry and isinstance(value, dict | list):
            for each in value if isinstance(value, list) else [value]:
                found |= _fields_of(each, field.message_type, f"{way}.{name}")
    return found


def _all_fields(descriptor: Any, way: str = "") -> set[str]:
    found = set()
    for field in descriptor.fields:
        found.add(f"{way}.{field.json_name}".strip("."))
        inner = field.message_type
        if inner and not inner.GetOptions().map_entry and inner.full_name.startswith("google.cloud"):
            found |= _all_fields(inner, f"{way}.{field.json_name}")
    return found


def test_the_service_with_every_field_has_every_field() -> None:
    descriptor = run_v2.Service.pb(run_v2.Service()).DESCRIPTOR
    one_of_several = re.compile(
        r".*Probe\.(httpGet|tcpSocket|grpc).*|(terminalCondition|conditions)\.(r|revisionR|executionR)eason|.*\.policy"
    )
    absent = _all_fields(descriptor) - _fields_of(EVERYTHING, descriptor)
    assert {field for field in absent if not one_of_several.fullmatch(field)} == set()


@settings(max_examples=60, deadline=None)
@given(service=services)
def test_what_the_strategy_builds_is_json_of_cloud_runs_message(service: dict[str, Any]) -> None:
    assert _json_of(service) == service


@settings(max_examples=150, deadline=None)
@given(service=services)
def test_a_service_comes_back_from_v1_as_it_was(service: dict[str, Any]) -> None:
    before = copy.deepcopy(service)
    there = to_v1(service)
    back = to_v2(there.document, there.unmapped)
    assert back.document == service
    assert service == before
    assert {field for field in there.unmapped if not NO_PLACE_IN_V1.fullmatch(field)} == set()


@settings(max_examples=60, deadline=None)
@given(service=services)
def test_a_v1_document_comes_back_from_v2_as_it_was(service: dict[str, Any]) -> None:
    document = to_v1(service).document
    there = to_v2(document)
    assert to_v1(there.document, there.unmapped).document == document


def test_the_service_with_every_field_comes_back_from_v1() -> None:
    there = to_v1(EVERYTHING)
    assert to_v2(there.document, there.unmapped).document == EVERYTHING


@settings(max_examples=60, deadline=None)
@given(service=services)
def test_the_yaml_of_a_service_reads_back_as_the_same_v1_document(service: dict[str, Any]) -> None:
    settings_only = {name: part for name, part in service.items() if name not in WRITTEN_BY_CLOUD_RUN}
    assert yaml.safe_load(to_v1_yaml(service)) == to_v1(settings_only).document


@pytest.mark.parametrize("write", [lambda v2: yaml.safe_dump(v2, allow_unicode=True), json.dumps])
@settings(max_examples=40, deadline=None)
@given(service=services)
def test_a_v2_document_reads_back_as_it_was_written(write: Any, service: dict[str, Any]) -> None:
    if service.get("name"):
        assert read_service_document(write({"template": {}, **service})).service == {"template": {}, **service}
