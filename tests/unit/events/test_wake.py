"""A wake survives the wire; what is no wake is parked."""

import json
from typing import Any

import pytest

from shared.errors import Park
from shared.events.wake import encode_wake, parse_wake
from shared.records.model_subject import ModelSubject
from shared.records.subject import ServiceId, Wake

RANKER = ServiceId(project="example.com:northwind", region="europe-west4", name="ranker")


def test_a_wake_that_was_sent_is_read_as_it_was() -> None:
    wake = Wake.of(RANKER, "alert 0.aa11 is open: p99 “slow”")
    payload, attributes = encode_wake(wake)
    assert parse_wake(payload) == (RANKER, wake)
    assert attributes == {"kind": "wake", "subject_kind": "service", "subject_id": "example.com:northwind:europe-west4:ranker"}


@pytest.mark.parametrize("uri", ["gs://acme-models/ranker", "gs://acme-models", "gs://acme-models/a\nb/../é"])
def test_a_wake_of_a_model_is_read_as_it_was(uri: str) -> None:
    wake = Wake.of_model(uri, "upload finalize")
    payload, attributes = encode_wake(wake)
    assert parse_wake(payload) == (ModelSubject(uri=uri), wake)
    assert attributes == {"kind": "wake", "subject_kind": "model", "subject_id": uri}


def test_an_attribute_is_no_longer_than_pubsub_takes() -> None:
    uri = f"gs://acme-models/{'é' * 600}"
    payload, attributes = encode_wake(Wake.of_model(uri, "upload"))
    assert parse_wake(payload)[0] == ModelSubject(uri=uri)
    assert 1_020 < len(attributes["subject_id"].encode()) <= 1_024


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"subject_id": "ranker"}, "unroutable", "project:region:name"),
        ({"subject_id": "Northwind:europe-west4:ranker"}, "unroutable", "project:region:name"),
        ({"subject_id": "x" * 1_301}, "unparsable", "subject_id"),
        ({"subject_id": None}, "unparsable", "subject_id"),
        ({"subject_id": "\ud800"}, "unparsable", "subject_id"),
        ({"subject_kind": "model"}, "unroutable", "want gs://bucket/prefix"),
        ({"subject_kind": "model", "subject_id": "gs://"}, "unroutable", "want gs://bucket/prefix"),
        ({"subject_kind": "model", "subject_id": "gs://../etc"}, "unroutable", "want gs://bucket/prefix"),
        ({"subject_kind": "model", "subject_id": "gs://acme-models?x/ranker"}, "unroutable", "want gs://bucket/prefix"),
        ({"subject_kind": "planet"}, "unparsable", "subject_kind"),
        ({"reason": 7}, "unparsable", "reason"),
        ({"extra\x00" * 900: 1}, "unparsable", "extra"),
        ({"schema_version": 2}, "unsupported", "schema_version 2"),
        ({"schema_version": 10**300}, "unsupported", "a huge number"),
        ({"schema_version": "one"}, "unparsable", "schema_version"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)
def test_what_is_no_wake_is_parked(change: dict[str, Any], code: str, says: str) -> None:
    payload = json.dumps({**Wake.of(RANKER, "tick").to_stored(), **change}).encode()
    with pytest.raises(Park, match=says) as caught:
        parse_wake(payload)
    assert caught.value.code == code
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 400


@pytest.mark.parametrize("payload", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"subject_id": "a", "subject_id": "b"}'])
def test_what_is_no_object_is_parked_as_unparsable(payload: bytes) -> None:
    with pytest.raises(Park) as caught:
        parse_wake(payload)
    assert caught.value.code == "unparsable"
