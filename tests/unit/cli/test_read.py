"""`trimtab read`: what it says of bodies, and of files that cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cli.read import read, read_event

FIXTURES = Path(__file__).parents[2] / "fixtures" / "events"
APP = typer.Typer()
APP.command()(read)


def fixture(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(next(FIXTURES.glob(f"*-{name}.json")).read_text())
    return content


def row_of(name: str) -> dict[str, Any]:
    return read_event(json.dumps(fixture(name)["body"]).encode())


def test_a_bare_notification_is_an_alert_with_key_and_subject() -> None:
    row = row_of("latency-open")
    assert {name: row[name] for name in ("kind", "parked", "key", "subject")} == {
        "kind": "alert",
        "parked": None,
        "key": "0.aa11:open",
        "subject": "northwind-vision:us-east4:classify-images",
    }
    wanted = {
        "state": "open",
        "incident_id": "0.aa11",
        "service_name": "classify-images",
        "metric_type": "run.googleapis.com/request_latencies",
        "observed": 612.5,
        "threshold": 250.0,
        "test": False,
        "signal": "latency",
    }
    assert {name: row["fields"][name] for name in wanted} == wanted


def test_an_alert_in_a_push_body_carries_the_fields_of_both() -> None:
    row = row_of("push-alert-inside")
    assert (row["kind"], row["key"], row["fields"]["message_id"], row["fields"]["data_base64_ok"]) == (
        "alert",
        "0.aa51:open",
        "55015",
        True,
    )


ENVELOPE = ("message_id", "data_base64_ok", "attributes", "ordering_key", "delivery_attempt")


def row_in(name: str) -> dict[str, Any]:
    return read_event(json.dumps(fixture(name)).encode())


def test_headers_beside_the_body_are_used() -> None:
    row = row_in("ce-binary-other-type")
    assert (row["kind"], row["fields"]["message_id"], row["fields"]["name"]) == ("storage", "55016", "classify/3/saved_model.pb")


def test_a_cloud_event_of_another_type_is_parked_with_its_type() -> None:
    event = fixture("ce-binary-other-type")
    event["headers"]["ce-type"] = "google.cloud.firestore.document.v1.created"
    row = read_event(json.dumps(event).encode())
    assert (row["kind"], row["key"], row["fields"]["message_id"]) == ("unknown", "55016", "55016")
    assert row["parked"].startswith("unsupported: CloudEvent of type 'google.cloud.firestore.document.v1.created'")


@pytest.mark.parametrize(
    ("name", "kind", "key", "subject"),
    [
        ("ce-object-finalized", "storage", "northwind-models/classify/12/saved_model.pb#1793604900500001", "56da3c043adf1c9822a8"),
        ("push-object-none", "storage", "northwind-models/classify/12/saved_model.pb#1793604900500001:archive", "56da3c043adf1c9822a8"),
        ("ce-audit-v1-replace", "audit", "aa1", "northwind-vision:us-east4:classify-images"),
        ("audit-system-service-ready", "audit", "aa6", "northwind-vision:us-east4:classify-images"),
        ("push-audit-system-revision", "audit", "aa7", "northwind-vision:us-east4:classify-images"),
        ("push-command-apply", "command", "deploy-81", "northwind-vision:us-east4:classify-images"),
        ("ce-command-hold", "command", "evt-5", "fleet"),
    ],
)
def test_every_kind_has_its_key_and_its_subject(name: str, kind: str, key: str, subject: str) -> None:
    row = row_in(name)
    assert (row["kind"], row["parked"], row["key"], row["subject"]) == (kind, None, key, subject)
    assert [field for field in ENVELOPE if field not in row["fields"]] == []
    assert row["fields"]["problem"] is None


def test_an_upload_says_which_object_and_which_model() -> None:
    fields = row_in("push-object-delete-overwritten")["fields"]
    wanted = {
        "bucket": "northwind-models",
        "name": "classify/12/saved_model.pb",
        "generation": 1793604900500001,
        "event": "delete",
        "overwritten_by_generation": 1793605000600000,
        "model": "gs://northwind-models/classify",
    }
    assert {name: fields[name] for name in wanted} == wanted


def test_an_audit_entry_says_who_called_what() -> None:
    fields = row_in("ce-audit-v2-last")["fields"]
    wanted = {
        "service": "run.googleapis.com",
        "method": "google.cloud.run.v2.Services.UpdateService",
        "principal": "sam@example.net",
        "resource": "projects/northwind-vision/locations/us-east4/services/classify-images",
        "status_code": None,
        "log": "activity",
        "operation": "last",
        "ready": None,
    }
    assert {name: fields[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ce-object-no-version", "no part of its path is a version's number"),
        ("ce-audit-other-service", "not of Cloud Run"),
        ("push-audit-read", "nothing was changed"),
        ("audit-no-region", "no region"),
    ],
)
def test_what_is_about_nothing_of_ours_is_not_parked_and_says_why(name: str, says: str) -> None:
    row = row_in(name)
    assert (row["parked"], row["subject"]) == (None, None)
    assert says in row["fields"]["problem"]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("ce-object-no-generation", "name", "classify/12/saved_model.pb"),
        ("push-object-new-event", "generation", 1793604900500001),
        ("audit-no-id", "principal", "sam@example.net"),
        ("push-command-wrong", "service", "classify-images"),
    ],
)
def test_what_could_be_read_of_a_parked_body_is_shown(name: str, field: str, value: object) -> None:
    row = row_in(name)
    assert row["parked"] is not None
    assert row["fields"][field] == value


def test_every_problem_of_a_command_is_listed() -> None:
    assert len(row_in("push-command-wrong")["fields"]["problems"]) == 4


def test_a_bare_command_without_an_id_is_not_parked_and_has_no_key() -> None:
    row = read_event(b'{"command": "reconcile", "service": "northwind-vision:us-east4:classify-images"}')
    assert (row["parked"], row["key"], row["subject"]) == (None, None, "northwind-vision:us-east4:classify-images")
    assert "no command_id" in row["fields"]["problem"]


def test_a_bare_body_has_the_fields_of_an_envelope_that_says_nothing() -> None:
    for name in ("latency-open", "audit-system-service-ready"):
        fields = row_of(name)["fields"]
        assert [fields[field] for field in ENVELOPE] == [None, True, {}, None, None]


def test_the_body_beside_headers_may_be_text() -> None:
    text = json.dumps(fixture("push")["body"])
    assert read_event(json.dumps({"headers": {"content-type": "application/json"}, "body": text}).encode())["key"] == "55001"


def test_an_unroutable_alert_is_not_parked_but_has_no_subject() -> None:
    row = row_of("aggregated-without-labels")
    assert (row["parked"], row["subject"], row["key"]) == (None, None, "0.aa16:open")
    assert "trimtab_region" in row["fields"]["problem"]


def test_an_alert_without_meaning_has_a_subject_and_says_what_is_missing() -> None:
    row = row_of("cpu-alone")
    assert (row["parked"], row["subject"]) == (None, "northwind-vision:us-east4:classify-images")
    assert (row["fields"]["signal"], "trimtab_signal" in row["fields"]["problem"]) == (None, True)


def test_a_test_message_is_neither_parked_nor_a_subject() -> None:
    row = row_of("console-test-message")
    assert (row["parked"], row["subject"], row["fields"]["test"]) == (None, None, True)


def test_the_fields_of_a_parked_alert_are_shown() -> None:
    row = row_of("no-incident-id")
    assert row["parked"].startswith("unparsable: ")
    assert (row["kind"], row["fields"]["service_name"]) == ("alert", "classify-images")


def test_the_envelope_of_spoilt_base64_is_shown() -> None:
    row = row_of("push-bad-base64")
    assert row["parked"].startswith("unparsable: message: data: not base64")
    assert (row["kind"], row["fields"]["data_base64_ok"], row["fields"]["attributes"]) == ("pubsub", False, {"origin": "press"})


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"headers": {}, "body": ' + b"[" * 900 + b"]" * 900 + b"}"])
def test_what_nothing_is_known_of_is_parked(raw: bytes) -> None:
    row = read_event(raw)
    assert (row["kind"], row["fields"]) == ("unknown", {})
    assert row["parked"].startswith("unparsable: body: ")


def test_one_json_object_is_printed_for_each_file(tmp_path: Path) -> None:
    names = ("latency-open", "push-bad-base64")
    for name in names:
        (tmp_path / name).write_text(json.dumps(fixture(name)))
    done = CliRunner().invoke(APP, ["--format", "jsonl", *(str(tmp_path / name) for name in names)])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert [(Path(row["file"]).name, row["kind"]) for row in rows] == [("latency-open", "alert"), ("push-bad-base64", "pubsub")]


def test_text_is_one_line_for_each_file(tmp_path: Path) -> None:
    for name in ("latency-open", "console-test-message", "push-bad-base64", "cpu-alone"):
        (tmp_path / name).write_text(json.dumps(fixture(name)))
    done = CliRunner().invoke(APP, [str(path) for path in sorted(tmp_path.iterdir())])
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert "console test notification, ignored" in lines[0]
    assert "no-signal" in lines[1]
    assert lines[2].endswith("northwind-vision:us-east4:classify-images, key 0.aa11:open, signal latency")
    assert "parked: unparsable" in lines[3]


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "event").write_text(json.dumps(fixture("push")))
    done = CliRunner().invoke(APP, ["--format", "jsonl", str(tmp_path / "absent"), str(tmp_path), str(tmp_path / "event")])
    assert done.exit_code == 2
    assert [json.loads(line)["key"] for line in done.stdout.splitlines()] == ["55001"]
    assert "absent: cannot be read: No such file or directory" in done.stderr
    assert "Is a directory" in done.stderr
