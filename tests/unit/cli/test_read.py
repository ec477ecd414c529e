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


def test_headers_beside_the_body_are_used() -> None:
    row = read_event(json.dumps(fixture("ce-binary-other-type")).encode())
    assert (row["kind"], row["fields"]["message_id"]) == ("unknown", "55016")
    assert "google.cloud.storage.object.v1.finalized" in row["parked"]


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
