"""A wake survives the wire; what is no wake is parked."""

import json
from typing import Any

import pytest

from shared.errors import Park
from shared.events.wake import encode_wake, parse_wake
from shared.records.subject import ServiceId, Wake

RANKER = ServiceId(project="example.com:northwind", region="europe-west4", name="ranker")


def test_a_wake_that_was_sent_is_read_as_it_was() -> None:
    wake = Wake.of(RANKER, "alert 0.aa11 is open: p99 “slow”")
    payload, attributes = encode_wake(wake)
    assert parse_wake(payload) == (RANKER, wake)
    assert attributes == {"kind": "wake", "subject_kind": "service", "subject_id": "example.com:northwind:europe-west4:ranker"}


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"subject_id": "ranker"}, "unroutable", "project:region:name"),
        ({"subject_id": "Northwind:europe-west4:ranker"}, "unroutable", "project:region:name"),
        ({"subject_id": "x" * 201}, "unparsable", "subject_id"),
        ({"subject_id": None}, "unparsable", "subject_id"),
        ({"subject_id": "\ud800"}, "unparsable", "subject_id"),
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
