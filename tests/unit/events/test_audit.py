"""From an audit log entry to a fact about a service: routing, readiness, callers and hostile content beyond the fixtures."""

import json
from typing import Any

import pytest

from shared.errors import Park
from shared.events.audit import RoutedAudit, parse_audit
from shared.events.audit_reading import client_of, read_audit
from shared.events.ignored import Ignored
from shared.records.facts import AuditFact

V1 = "namespaces/northwind-vision/services/classify-images"
V2 = "projects/northwind-vision/locations/us-east4/services/classify-images"
LABELS = {"project_id": "northwind-vision", "location": "us-east4", "service_name": "classify-images", "revision_name": ""}
UPDATE = "google.cloud.run.v2.Services.UpdateService"


def entry(log: str = "activity", *, labels: dict[str, Any] | None = LABELS, around: dict[str, Any] | None = None, **audit: Any) -> bytes:
    usual = {"serviceName": "run.googleapis.com", "methodName": UPDATE, "resourceName": V2}
    resource = {"type": "cloud_run_revision", "labels": labels}
    name = f"projects/northwind-vision/logs/cloudaudit.googleapis.com%2F{log}"
    return json.dumps(
        {"insertId": "x1", "logName": name, "protoPayload": {**usual, **audit}, "resource": resource, **(around or {})}
    ).encode()


def fact_of(payload: bytes) -> AuditFact:
    found = parse_audit(payload, published_at=None)
    assert isinstance(found, RoutedAudit)
    return found.fact


def service_of(payload: bytes) -> str:
    found = parse_audit(payload, published_at=None)
    assert isinstance(found, RoutedAudit)
    return str(found.service)


def refusal(payload: bytes) -> Park:
    with pytest.raises(Park) as caught:
        parse_audit(payload, published_at=None)
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 1_024
    return caught.value


@pytest.mark.parametrize(
    "payload", [b"", b"\xff", b"[]", b"7", b"{}", b'{"protoPayload": []}', b'{"insertId": "1", "textPayload": "hi"}', b"[" * 100_000]
)
def test_what_is_no_entry_of_an_audit_log_is_parked(payload: bytes) -> None:
    assert refusal(payload).code == "unparsable"


@pytest.mark.parametrize("name", [None, "", 7, "projects/p/logs/run.googleapis.com%2Fstdout", "cloudaudit.googleapis.com"])
def test_an_entry_of_another_log_is_parked(name: object) -> None:
    assert "logName" in refusal(entry(around={"logName": name})).reason


@pytest.mark.parametrize(
    ("resource", "labels", "audit"),
    [
        (V2, None, {}),
        (V2, {}, {}),
        (V2.replace("northwind-vision", "123456789012"), {"project_id": "northwind-vision"}, {}),
        (V1, LABELS, {}),
        (V1, None, {"resourceLocation": {"currentLocations": ["us-east4"]}}),
        (f"{V2}/revisions/classify-images-00001-abc", None, {}),
        ("namespaces/northwind-vision/revisions/classify-images-00001-abc", LABELS, {}),
        (None, LABELS, {}),
    ],
)
def test_the_service_is_found_in_the_name_or_in_the_labels(resource: object, labels: Any, audit: dict[str, Any]) -> None:
    assert service_of(entry(labels=labels, resourceName=resource, **audit)) == "northwind-vision:us-east4:classify-images"


def test_a_domain_scoped_project_keeps_its_colon() -> None:
    resource = "namespaces/example.com:northwind/services/classify-images"
    assert service_of(entry(resourceName=resource, labels={"location": "us-east4"})) == "example.com:northwind:us-east4:classify-images"


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"project_id": "northwind-vision"}, "no region"),
        ({"project_id": "northwind-vision", "location": "everywhere"}, "region 'everywhere'"),
        ({"project_id": "UPPER", "location": "us-east4"}, "project 'UPPER'"),
    ],
)
def test_a_service_that_is_not_named_whole_is_unroutable(labels: dict[str, str], says: str) -> None:
    park = refusal(entry(resourceName=V1, labels=labels))
    assert (park.code, says in park.reason) == ("unroutable", True)


def test_two_locations_are_no_region() -> None:
    park = refusal(entry(resourceName=V1, labels=None, resourceLocation={"currentLocations": ["us-east4", "us-east1"]}))
    assert park.code == "unroutable"


@pytest.mark.parametrize(
    "audit",
    [
        {"serviceName": "cloudfunctions.googleapis.com"},
        {"serviceName": None},
        {"resourceName": "namespaces/northwind-vision/jobs/nightly"},
        {"resourceName": "namespaces/northwind-vision/domainmappings/example.com"},
        {"resourceName": "projects/northwind-vision/locations/us-east4/workerPools/pool"},
    ],
)
def test_an_entry_about_anything_but_a_service_is_ignored(audit: dict[str, Any]) -> None:
    assert isinstance(parse_audit(entry(**audit), published_at=None), Ignored)


@pytest.mark.parametrize("log", ["data_access", "policy", "something_new"])
def test_logs_that_tell_of_no_change_are_ignored(log: str) -> None:
    assert isinstance(parse_audit(entry(log), published_at=None), Ignored)


@pytest.mark.parametrize(
    ("sentence", "ready", "kind"),
    [
        ("Ready condition status changed to True for Service classify-images.", True, "service"),
        ("Ready condition status changed to False for Revision classify-images-00001-abc with message: no.", False, "revision"),
        ("Ready condition status changed to Unknown for Service classify-images.", None, "service"),
        ("Something else about Ready True", None, None),
        (None, None, None),
        (7, None, None),
    ],
)
def test_readiness_is_read_from_the_sentence(sentence: object, ready: bool | None, kind: str | None) -> None:
    reading = read_audit(entry("system_event", status={"message": sentence}))
    assert (reading.ready, reading.ready_kind) == (ready, kind)


@pytest.mark.parametrize(
    ("response", "ready"),
    [
        (
            {
                "kind": "Service",
                "status": {"conditions": [{"type": "RoutesReady", "status": "False"}, {"type": "Ready", "status": "True"}]},
            },
            True,
        ),
        (
            {
                "@type": "type.googleapis.com/google.cloud.run.v2.Service",
                "terminalCondition": {"type": "Ready", "state": "CONDITION_FAILED"},
            },
            False,
        ),
        ({"@type": "x", "terminalCondition": {"type": "Ready", "state": "CONDITION_PENDING"}}, None),
        ({"kind": [], "status": [], "terminalCondition": 5}, None),
    ],
)
def test_without_a_sentence_readiness_is_read_from_the_condition(response: dict[str, Any], ready: bool | None) -> None:
    assert read_audit(entry("system_event", response=response)).ready is ready


def test_the_answer_of_a_call_says_nothing_of_readiness() -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    assert read_audit(entry(response={"kind": "Service", "status": {"conditions": conditions}})).ready is None


@pytest.mark.parametrize(
    ("status", "code"),
    [({}, None), (None, None), ({"message": "x"}, None), ({"code": 10}, 10), ({"code": "5"}, 5), ({"code": -1}, None), ([], None)],
)
def test_the_status_code_is_a_number_or_none(status: object, code: int | None) -> None:
    assert read_audit(entry(status=status)).status_code == code


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        (UPDATE, True),
        ("google.cloud.run.v1.Services.ReplaceService", True),
        ("google.cloud.run.v1.Services.DeleteService", True),
        ("google.cloud.run.v2.Services.CreateService", True),
        ("google.cloud.serverless.internal.InternalServices.CreateInternalService", True),
        ("google.cloud.run.v1.Services.SetIamPolicy", False),
        ("google.cloud.run.v2.Revisions.DeleteRevision", False),
        (None, False),
    ],
)
def test_only_a_write_of_the_service_is_a_change(method: str | None, changes: bool) -> None:
    assert (fact_of(entry(methodName=method)).change_id is not None) is changes


def test_start_and_end_of_an_operation_are_one_change_whichever_comes_first() -> None:
    first = fact_of(entry(around={"insertId": "a", "operation": {"id": "op-1", "first": True}}))
    last = fact_of(entry(around={"insertId": "b", "operation": {"id": "op-1", "last": True}}))
    assert (first.key, last.key) == ("a", "b")
    assert first.change_id == last.change_id == "op-1"


@pytest.mark.parametrize(
    ("user_agent", "client"),
    [
        ("google-cloud-sdk gcloud/528.0.0 command/gcloud.run.deploy,gzip(gfe)", "gcloud"),
        ("gcloud/528.0.0", "gcloud"),
        ("Terraform/1.9.5 (+https://www.terraform.io) terraform-provider-google/6.1.0", "terraform"),
        ("Mozilla/5.0,gzip(gfe),gzip(gfe)", "cloud-console"),
        ("google-cloud-sdk", ""),
        ("reconciler/0.1,gzip(gfe)", ""),
        ("notgcloud/1", ""),
        ("", ""),
    ],
)
def test_tools_are_told_by_their_user_agent(user_agent: str, client: str) -> None:
    assert client_of(user_agent) == client


def test_everything_foreign_is_bounded_and_on_one_line() -> None:
    long = "x\n\u202e" * 50_000
    fact = fact_of(
        entry(
            methodName=long,
            authenticationInfo={
                "principalEmail": long,
                "principalSubject": long,
                "serviceAccountDelegationInfo": [{"principalSubject": long}] * 20,
            },
            requestMetadata={"callerSuppliedUserAgent": long},
            status={"message": long},
            around={"insertId": long, "operation": {"id": long, "first": "yes"}},
        )
    )
    assert len(fact.model_dump_json()) < 8_000
    assert len(fact.delegation) == 8
    assert fact.message.isprintable()
    assert fact.operation_first is False
    assert fact.key.startswith("sha256:")


@pytest.mark.parametrize(
    "audit",
    [
        {"authenticationInfo": []},
        {"requestMetadata": "x"},
        {"response": []},
        {"request": 7},
        {"status": "x"},
        {"authenticationInfo": {"principalEmail": ""}},
    ],
)
def test_fields_of_an_odd_type_are_none(audit: dict[str, Any]) -> None:
    fact = fact_of(entry(**audit))
    assert (fact.principal, fact.user_agent, fact.generation) == (None, "", None)
