"""Opening what carries a message: what is refused, what is kept of a spoilt message, what is bounded."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.errors import Park
from shared.events.envelope import BODY_LIMIT_BYTES, open_envelope

BINARY = {
    "ce-id": "71",
    "ce-specversion": "1.0",
    "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
    "ce-source": "//pubsub.googleapis.com/projects/northwind-vision/topics/alerts",
}


def push(**message: Any) -> bytes:
    return json.dumps({"message": {"messageId": "71", "publishTime": "2026-11-01T08:00:00Z", **message}}).encode()


def refusal(headers: dict[str, str], body: bytes) -> Park:
    with pytest.raises(Park) as caught:
        open_envelope(headers, body)
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 400
    return caught.value


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"message": {"data": NaN}}', "NaN"),
        (b'{"message": {"data": -Infinity}}', "Infinity"),
        (b'{"message": {}, "message": {}}', "'message' stands twice"),
        (b'{"message": {"x": "\xff"}}', "not UTF-8"),
        ('{"message": {}}'.encode("utf-16"), "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"message":' * 100_000, "nested too deeply"),
        (b'{"message": ["a"]}', "no Pub/Sub message"),
        (b"null", "no Pub/Sub message"),
    ],
    ids=["empty", "cut", "nan", "infinity", "twice", "latin-1", "utf-16", "lists", "objects", "list", "null"],
)
def test_a_body_without_a_message_is_parked_as_unparsable(body: bytes, says: str) -> None:
    park = refusal({}, body)
    assert park.code == "unparsable"
    assert says in park.reason


def test_a_body_larger_than_any_message_is_parked_unread() -> None:
    assert refusal({}, b"[" * (BODY_LIMIT_BYTES + 1)).code == "too-large"


def test_a_byte_order_mark_is_passed_over() -> None:
    assert open_envelope({}, b"\xef\xbb\xbf" + push()).message_id == "71"


def test_an_integer_of_five_thousand_digits_is_read_past() -> None:
    body = push().replace(b'"71"', b"9" * 5_000)
    envelope = open_envelope({}, body)
    assert envelope.fault is not None
    assert envelope.fault.startswith("message: messageId: want a text")


@pytest.mark.parametrize("name", ["ce-id", "ce-source", "ce-type", "ce-specversion"])
def test_a_cloudevent_without_a_required_header_is_parked(name: str) -> None:
    park = refusal({key: value for key, value in BINARY.items() if key != name}, push())
    assert (park.code, name in park.reason) == ("unparsable", True)


def test_an_empty_event_id_is_parked() -> None:
    assert "ce-id" in refusal({**BINARY, "ce-id": ""}, push()).reason


def test_header_names_are_compared_without_regard_to_case() -> None:
    envelope = open_envelope({name.upper(): value for name, value in BINARY.items()}, push())
    assert (envelope.form, envelope.message_id) == ("binary", "71")


def test_an_event_without_time_gets_none_invented() -> None:
    envelope = open_envelope({**BINARY, "ce-type": "google.cloud.storage.object.v1.finalized"}, b"{}")
    assert envelope.published_at is None


def test_the_subject_may_hold_the_longest_name_of_an_object_percent_encoded() -> None:
    subject = "objects/" + "%C3%A9" * 512
    headers = {**BINARY, "ce-type": "google.cloud.storage.object.v1.finalized", "ce-subject": subject}
    assert open_envelope(headers, b"{}").event_subject == subject


def test_headers_that_are_no_attributes_of_an_event_are_passed_over() -> None:
    envelope = open_envelope({**BINARY, "ce-data": "x", "ce-extensions": "y", "ce-weird": "z"}, push(data="e30="))
    assert envelope.payload() == b"{}"


def test_an_event_of_another_type_keeps_its_body_as_it_is() -> None:
    body = b'{"bucket": "models",  "size": "12"}\n'
    envelope = open_envelope({**BINARY, "ce-type": "google.cloud.audit.log.v1.written"}, body)
    assert envelope.payload() == body


def test_a_structured_event_of_another_type_keeps_its_data_as_json() -> None:
    event = {"specversion": "1.0", "id": "9", "type": "t.v1", "source": "//here", "data": {"generation": "7"}}
    envelope = open_envelope({"Content-Type": "application/cloudevents+json"}, json.dumps(event).encode())
    assert json.loads(envelope.payload()) == {"generation": "7"}


@pytest.mark.parametrize(
    "change",
    [{"id": 7}, {"id": "  "}, {"type": None}, {"source": {}}, {"specversion": []}, {"data_base64": "e30="}, {"subject": 4}],
    ids=lambda change: next(iter(change)),
)
def test_a_structured_event_of_a_wrong_shape_is_parked(change: dict[str, Any]) -> None:
    event = {"specversion": "1.0", "id": "9", "type": "t.v1", "source": "//here", "data": {}, **change}
    assert refusal({"content-type": "application/cloudevents+json"}, json.dumps(event).encode()).code == "unparsable"


@pytest.mark.parametrize("depth", [200, 940, 5_000])
def test_a_structured_event_nested_deeply_is_read_or_parked(depth: int) -> None:
    data = b"[" * depth + b"]" * depth
    body = b'{"specversion": "1.0", "id": "9", "type": "t.v1", "source": "//here", "data": ' + data + b"}"
    try:
        assert open_envelope({"content-type": "application/cloudevents+json"}, body).payload() == data
    except Park as park:
        assert park.code == "unparsable"  # noqa: PT017 (how deep the interpreter reads depends on who calls)


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7"])
def test_a_structured_event_that_is_no_object_is_parked(body: bytes) -> None:
    assert "want a CloudEvent" in refusal({"content-type": "application/cloudevents+json"}, body).reason


def test_extension_attributes_of_a_structured_event_do_no_harm() -> None:
    event = {"specversion": "1.0", "id": "9", "type": "t.v1", "source": "//here", "extensions": 5, "__class__": [], "x": {"y": 1}}
    assert open_envelope({"content-type": "application/cloudevents+json"}, json.dumps(event).encode()).message_id == "9"


@pytest.mark.parametrize(
    "data",
    ["e30", "e30==", "e3=0", "e30=\n", " e30=", "e30=e30=", "-_8=", "{}", "é", 7, {"a": 1}, ["e30="]],
    ids=repr,
)
def test_data_that_is_not_strict_base64_leaves_the_envelope_readable(data: object) -> None:
    envelope = open_envelope({}, push(data=data, attributes={"origin": "press"}))
    assert (envelope.data_base64_ok, envelope.data, envelope.message_id) == (False, b"", "71")
    assert envelope.attributes == {"origin": "press"}
    with pytest.raises(Park, match=r"^unparsable: message: data: ") as caught:
        envelope.payload()
    assert caught.value.code == "unparsable"


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [
        ({"a": "b", "n": 1}, {"a": "b"}),
        ({"a": None}, {}),
        ({"a": "b" * 1_025}, {}),
        ({"a" * 257: "b"}, {}),
        ({"é" * 129: "b"}, {}),
        ({"a": "\ud800"}, {}),
        (["a"], {}),
        ("a=b", {}),
    ],
    ids=["number", "null", "long value", "long name", "long in bytes", "half a surrogate pair", "list", "text"],
)
def test_attributes_that_pubsub_cannot_carry_spoil_the_message_but_not_the_rest(attributes: object, kept: dict[str, str]) -> None:
    envelope = open_envelope({}, push(data="e30=", attributes=attributes))
    assert (envelope.attributes, envelope.message_id, envelope.data) == (kept, "71", b"")
    with pytest.raises(Park, match="attributes"):
        envelope.payload()


def test_more_than_a_hundred_attributes_are_refused_and_cut() -> None:
    envelope = open_envelope({}, push(attributes={f"a{n}": "v" for n in range(5_000)}))
    assert len(envelope.attributes) == 100
    with pytest.raises(Park, match="5000 of them"):
        envelope.payload()


def test_attributes_at_pubsubs_limits_are_taken() -> None:
    attributes = {f"{n:0256}": "v" * 1_024 for n in range(100)}
    assert open_envelope({}, push(attributes=attributes)).attributes == attributes


def test_nanoseconds_and_offsets_of_the_publish_time_are_read() -> None:
    envelope = open_envelope({}, push(publishTime="2026-11-01T09:30:00.123456789+01:30"))
    assert envelope.published_at == datetime(2026, 11, 1, 8, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    "time", ["yesterday", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "2026-11-01T08:00:00", 0, [], "9" * 400]
)
def test_a_publish_time_that_cannot_be_read_is_none_and_spoils_nothing(time: object) -> None:
    envelope = open_envelope({}, push(publishTime=time, data="e30="))
    assert (envelope.published_at, envelope.payload()) == (None, b"{}")


@pytest.mark.parametrize(
    ("sent", "read"), [(0, 0), (5, 5), ("5", 5), (-1, None), (2**31, None), ("many", None), (True, None), (10**300, None)]
)
def test_the_delivery_attempt_is_a_count_or_none(sent: object, read: int | None) -> None:
    body = json.dumps({"message": {"messageId": "71"}, "deliveryAttempt": sent}).encode()
    assert open_envelope({}, body).delivery_attempt == read


def test_the_message_id_of_pubsub_goes_before_the_id_of_the_event() -> None:
    assert open_envelope({**BINARY, "ce-id": "outer"}, push()).message_id == "71"
    assert open_envelope({**BINARY, "ce-id": "outer"}, b'{"message": {}}').message_id == "outer"


def test_ten_megabytes_of_data_are_read() -> None:
    data = b"x" * 10_000_000
    assert open_envelope({}, push(data=base64.b64encode(data).decode())).payload() == data
