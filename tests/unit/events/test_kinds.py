"""Which kind a body is told to be, bare or in whatever carries it."""

import base64
import json
from typing import Any

import pytest

from shared.errors import Park
from shared.events.kinds import Kind, opened, request_in

ALERT = {"version": "1.2", "incident": {}}
OBJECT = {"kind": "storage#object", "bucket": "b"}
ENTRY = {"insertId": "1", "protoPayload": {}}
COMMAND = {"command": "reconcile"}
CONTENTS = [(ALERT, Kind.ALERT), (OBJECT, Kind.STORAGE), (ENTRY, Kind.AUDIT), (COMMAND, Kind.COMMAND)]


def headers(type_: str) -> dict[str, str]:
    return {"CE-Id": "1", "CE-Specversion": "1.0", "CE-Type": type_, "CE-Source": "//here"}


def push(content: object, **attributes: str) -> bytes:
    data = base64.b64encode(json.dumps(content).encode()).decode()
    return json.dumps({"message": {"messageId": "1", "data": data, "attributes": attributes}}).encode()


@pytest.mark.parametrize(("content", "kind"), CONTENTS)
def test_a_bare_body_is_known_by_its_content(content: dict[str, Any], kind: Kind) -> None:
    found, envelope = opened({"content-type": "application/json"}, json.dumps(content).encode())
    assert (found, json.loads(envelope.data), envelope.message_id) == (kind, content, None)


@pytest.mark.parametrize(("content", "kind"), [*CONTENTS, ({"step": 1}, Kind.PUBSUB), ([], Kind.PUBSUB), ("reconcile ranker", Kind.PUBSUB)])
def test_a_pushed_message_is_known_by_its_data(content: object, kind: Kind) -> None:
    assert opened({}, push(content))[0] is kind
    assert opened(headers("google.cloud.pubsub.topic.v1.messagePublished"), push(content))[0] is kind


def test_attributes_of_cloud_storage_go_before_the_data() -> None:
    assert opened({}, push({"n": 1}, eventType="OBJECT_FINALIZE"))[0] is Kind.STORAGE
    assert opened({}, push({"n": 1}, command="reconcile", command_id="c-1"))[0] is Kind.PUBSUB


@pytest.mark.parametrize(
    ("type_", "content", "kind"),
    [
        ("google.cloud.storage.object.v1.deleted", {"x": 1}, Kind.STORAGE),
        ("google.cloud.audit.log.v1.written", {"x": 1}, Kind.AUDIT),
        ("com.example.anything", COMMAND, Kind.COMMAND),
        ("com.example.anything", OBJECT, Kind.UNKNOWN),
        ("com.example.anything", {"x": 1}, Kind.UNKNOWN),
    ],
)
def test_a_cloud_event_is_known_by_its_type(type_: str, content: dict[str, Any], kind: Kind) -> None:
    assert opened(headers(type_), json.dumps(content).encode())[0] is kind
    structured = {"specversion": "1.0", "id": "1", "source": "//here", "type": type_, "data": content}
    assert opened({}, json.dumps(structured).encode())[0] is kind


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"n": 1}', b'{"message": 5}', b'{"command": 1, "message": 2}'])
def test_what_is_none_of_them_is_parked(body: bytes) -> None:
    with pytest.raises(Park, match="unparsable"):
        opened({}, body)


def test_a_request_may_stand_in_a_file_with_its_headers() -> None:
    assert request_in(b'{"headers": {"a": "b", "c": 5}, "body": {"x": "\\u00e9"}}') == ({"a": "b"}, b'{"x": "\\u00e9"}')
    assert request_in(b'{"headers": {}, "body": "text"}') == ({}, b"text")
    assert request_in(b'{"x": 1}') == ({}, b'{"x": 1}')
