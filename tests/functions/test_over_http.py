"""The functions over HTTP, as functions-framework serves them: every form of event, every way a request can be spoilt."""

import io
import json
from collections.abc import Iterator

import pytest

from shared.errors import Retry
from shared.events.envelope import BODY_LIMIT_BYTES
from shared.records.parked import ParkCode
from shared.records.plan import DenialCode
from tests.functions.apps import NAMES, TEST_NOTIFICATION, Functions, alert, cloud_event, pushed, wake, wired
from tests.support.builders import RANKER


@pytest.fixture
def functions() -> Iterator[Functions]:
    with wired() as ready:
        yield ready


def structured(body: bytes) -> bytes:
    """The event of `cloud_event` as one JSON object."""
    attributes = {name.removeprefix("ce-"): value for name, value in cloud_event().items() if name.startswith("ce-")}
    return json.dumps({**attributes, "data": json.loads(body)}).encode()


def test_a_raw_push_becomes_a_fact(functions: Functions) -> None:
    assert functions.post("alert", pushed(alert())) == (200, "done\n")
    assert functions.facts() == ["0.a1:open"]


def test_a_binary_cloudevent_becomes_a_fact(functions: Functions) -> None:
    assert functions.post("alert", pushed(alert()), cloud_event()) == (200, "done\n")
    assert functions.facts() == ["0.a1:open"]


def test_a_structured_cloudevent_becomes_a_fact(functions: Functions) -> None:
    answer = functions.post("alert", structured(pushed(alert())), {"content-type": "application/cloudevents+json"})
    assert answer == (200, "done\n")
    assert functions.facts() == ["0.a1:open"]


def test_the_same_incident_in_all_three_forms_is_one_fact(functions: Functions) -> None:
    functions.post("alert", pushed(alert(), "1"))
    again = functions.post("alert", pushed(alert(), "2"), cloud_event("2"))
    third = functions.post("alert", structured(pushed(alert(), "3")), {"content-type": "application/cloudevents+json; charset=utf-8"})
    assert (again, third) == ((200, "duplicate\n"), (200, "duplicate\n"))
    assert functions.facts() == ["0.a1:open"]


def test_an_alert_of_attributes_only_is_parked_under_its_message_id(functions: Functions) -> None:
    assert functions.post("alert", pushed(None, "77", attributes={"a": "b"})) == (200, "parked\n")
    assert functions.parked() == [(ParkCode.UNPARSABLE, "alert:77")]


def test_a_tick_of_attributes_only_is_a_tick(functions: Functions) -> None:
    assert functions.post("schedule", pushed(None, "78", attributes={"a": "b"})) == (200, "done\n")


def test_a_wake_is_looked_at(functions: Functions) -> None:
    functions.rig.minutes(1)
    functions.post("alert", pushed(alert()))
    assert functions.post("reconcile", pushed(wake())) == (200, "done\n")
    assert functions.rig.bounds() == (0, 8)


def test_the_consoles_test_message_is_ignored(functions: Functions) -> None:
    assert functions.post("alert", pushed(TEST_NOTIFICATION)) == (200, "ignored\n")
    assert (functions.facts(), functions.parked()) == ([], [])


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_the_content_type_of_a_push_does_not_matter(functions: Functions, content_type: str) -> None:
    assert functions.post("alert", pushed(alert()), {"content-type": content_type}) == (200, "done\n")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_but_post_is_taken(functions: Functions, name: str, method: str) -> None:
    assert functions.request(name, method, pushed(alert())).status == 405
    assert functions.parked() == []


def test_a_body_larger_than_any_message_is_parked_with_its_beginning(functions: Functions) -> None:
    assert functions.post("alert", b"x" * (BODY_LIMIT_BYTES + 1)) == (200, "parked\n")
    (parked,) = functions.rig.store.parked(limit=5)
    assert (parked.code, parked.body_bytes, len(parked.body)) == (ParkCode.TOO_LARGE, BODY_LIMIT_BYTES + 1, 64 * 1024)


def test_a_body_that_the_server_refuses_to_read_is_parked_and_not_sent_again(functions: Functions) -> None:
    functions.applications["alert"].config["MAX_CONTENT_LENGTH"] = 100
    assert functions.post("alert", b"x" * 101) == (200, "parked\n")
    (parked,) = functions.rig.store.parked(limit=5)
    assert (parked.code, parked.body, parked.key) == (ParkCode.TOO_LARGE, "", "alert:unread:101")
    assert "101 bytes" in parked.reason


def test_an_unread_body_is_not_taken_for_an_empty_one(functions: Functions) -> None:
    functions.applications["alert"].config["MAX_CONTENT_LENGTH"] = 100
    functions.post("alert", b"")
    functions.post("alert", b"x" * 101)
    assert [code for code, _ in functions.parked()] == [ParkCode.TOO_LARGE, ParkCode.UNPARSABLE]


@pytest.mark.parametrize("ends_the_stream", [None, True], ids=["werkzeug says so", "gunicorn hands over what came"])
def test_a_sender_that_goes_away_in_the_middle_may_come_back(functions: Functions, ends_the_stream: bool | None) -> None:
    whole = pushed(alert())
    environ = {"CONTENT_LENGTH": str(len(whole)), "wsgi.input": io.BytesIO(whole[:50]), "wsgi.input_terminated": ends_the_stream}
    assert functions.raw("alert", b"", **environ) == (503, "later\n")
    assert functions.parked() == []
    assert functions.post("alert", whole) == (200, "done\n")


def test_a_chunked_body_without_a_length_is_read_whole(functions: Functions) -> None:
    body = io.BytesIO(pushed(alert()))
    environ = {"CONTENT_LENGTH": None, "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": body, "wsgi.input_terminated": True}
    assert functions.raw("alert", b"", **environ) == (200, "done\n")
    assert functions.facts() == ["0.a1:open"]


@pytest.mark.parametrize("length", ["²", "-5", "9" * 5_000, "10, 20", "abc"])
def test_a_length_that_is_no_number_breaks_nothing(functions: Functions, length: str) -> None:
    environ = {"CONTENT_LENGTH": length, "wsgi.input": io.BytesIO(pushed(alert())), "wsgi.input_terminated": True}
    assert functions.raw("alert", b"", **environ).status in {200, 503}


def test_every_path_leads_to_the_function_so_that_any_push_endpoint_works(functions: Functions) -> None:
    assert functions.raw("alert", pushed(alert()), PATH_INFO="/projects/acme-ml/topics/alerts") == (200, "done\n")


def test_an_unreachable_store_is_later_and_leaves_nothing_behind(functions: Functions, capsys: pytest.CaptureFixture[str]) -> None:
    def unreachable(*_: object) -> str:
        raise Retry("Firestore is not there", after_seconds=3)

    functions.rig.alert_ports.store.create_fact = unreachable  # type: ignore[method-assign, assignment]  # the rig's port is a twin
    assert functions.post("alert", pushed(alert(), "42")) == (503, "later\n")
    said = json.loads(capsys.readouterr().out)
    assert (said["message"], said["key"], said["reason"]) == ("will be tried again", "42", "Firestore is not there")


def test_a_decision_can_be_read_back_after_events_over_http(functions: Functions) -> None:
    functions.rig.load.set_quota_unknown("no quota source")
    functions.rig.minutes(1)
    functions.post("alert", pushed(alert(policy_user_labels={"trimtab_service": "ranker", "trimtab_signal": "latency"})))
    functions.post("reconcile", pushed(wake()))
    (decision,) = functions.rig.store.decisions(RANKER, limit=5)
    assert [denial.code for denial in decision.denials] == [DenialCode.NO_FAST_REMEDY]


@pytest.mark.parametrize("name", ["alert", "reconcile", "schedule"])
def test_what_is_answered_is_logged_as_one_line(functions: Functions, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    functions.post(name, pushed({"alert": alert(), "schedule": b"", "reconcile": wake()}[name]))
    lines = capsys.readouterr().out.splitlines()
    assert [(json.loads(line)["message"], json.loads(line)["function"]) for line in lines] == [("done", name)]
