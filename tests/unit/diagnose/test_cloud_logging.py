"""An export of Cloud Logging as lines."""

import json

import pytest

from shared.diagnose.cloud_logging import read_cloud_logging
from shared.diagnose.evidence_text import EvidenceTextError
from tests.unit.diagnose.questions import first

REQUEST = {
    "logName": "projects/p/logs/run.googleapis.com%2Frequests",
    "timestamp": "2026-11-30T12:00:03.5Z",
    "severity": "WARNING",
    "httpRequest": {"requestMethod": "POST", "requestUrl": "https://r.run.app/v1/models/m:predict?k=1", "status": 429, "latency": "0.01s"},
    "textPayload": "The request was aborted because there was no available instance.",
    "resource": {"type": "cloud_run_revision", "labels": {"revision_name": "r-00007-abc"}},
}
SERVER = {
    "logName": "projects/p/logs/run.googleapis.com%2Fstderr",
    "timestamp": "2026-11-30T12:00:01Z",
    "textPayload": "Running gRPC ModelServer",
}
SYSTEM = {
    "logName": "projects/p/logs/run.googleapis.com%2Fvarlog%2Fsystem",
    "timestamp": "2026-11-30T12:00:02Z",
    "severity": "ERROR",
    "jsonPayload": {"message": "Container called exit(255)."},
}
AUDIT = {
    "logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity",
    "timestamp": "2026-11-30T12:00:04Z",
    "protoPayload": {
        "methodName": "google.cloud.run.v2.Services.UpdateService",
        "status": {"code": 10, "message": "Conflict for resource 'r': version '1' was specified but current version is '2'."},
    },
}


def test_an_array_newest_first_becomes_lines_oldest_first() -> None:
    refused = (
        f'POST https://r.run.app/v1/models/m:predict httpRequest.status=429 latency=0.01s revision=r-00007-abc "{REQUEST["textPayload"]}"'
    )
    conflict = "Conflict for resource 'r': version '1' was specified but current version is '2'."
    assert read_cloud_logging(json.dumps([AUDIT, REQUEST, SYSTEM, SERVER])) == (
        "server: 12:00:01 Running gRPC ModelServer",
        "platform: 12:00:02 severity=ERROR Container called exit(255).",
        f"request log: 12:00:03 severity=WARNING {refused}",
        f"platform: 12:00:04 google.cloud.run.v2.Services.UpdateService ABORTED {conflict}",
    )


def test_an_entry_a_line_and_one_entry_are_read_too() -> None:
    assert len(read_cloud_logging("\n".join(map(json.dumps, (SERVER, SYSTEM))))) == 2
    assert len(read_cloud_logging(json.dumps(SERVER, indent=2))) == 1


def test_a_condition_of_an_audit_entry_is_told() -> None:
    condition = {"type": "Ready", "status": "False", "reason": "HealthCheckContainerError", "message": "failed to start"}
    entry = {"protoPayload": {"methodName": "/Services.ReplaceService", "response": {"status": {"conditions": [condition]}}}}
    assert read_cloud_logging(json.dumps([entry])) == ("Ready: False, reason: HealthCheckContainerError failed to start",)


def test_plain_text_is_its_own_lines() -> None:
    assert read_cloud_logging("a\n\nb\n") == ("a", "b")


def test_what_comes_out_is_evidence() -> None:
    assert first(*read_cloud_logging(json.dumps([AUDIT]))) == "stale-etag"
    assert first(*read_cloud_logging(json.dumps([REQUEST]))) == "instance-cap-reached"


@pytest.mark.parametrize("text", ['{"a": 1}', "[", '{"textPayload": ', "[" * 100_000])
def test_what_is_no_export_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(EvidenceTextError, match="log of Cloud Logging"):
        read_cloud_logging(text)
