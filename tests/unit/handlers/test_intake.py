"""The first step of every function: what can never work is kept once, with its body, and acknowledged."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from shared.errors import Park, Retry
from shared.events.envelope import Envelope
from shared.handlers.answer import Handled
from shared.handlers.intake import take
from shared.records.parked import ParkCode, Parked
from tests.functions.apps import pushed
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import ParkingLot


def done(envelope: Envelope) -> Handled:
    return Handled("done", envelope.message_id or "", envelope.payload().decode())


def refusing(_envelope: Envelope) -> Handled:
    raise Park(ParkCode.UNROUTABLE, "it says no region")


class Taker:
    """One function's intake with a parking lot behind it."""

    def __init__(self, work: Callable[[Envelope], Handled] = done) -> None:
        self.lot, self.work = ParkingLot(), work

    def __call__(self, body: bytes | Exception, headers: dict[str, str] | None = None) -> Handled:
        def read() -> bytes:
            if isinstance(body, Exception):
                raise body
            return body

        store: Any = self.lot
        return take("alert", headers or {}, read, self.work, store=store, clock=HandClock(NOW))

    @property
    def parked(self) -> Parked:
        (entry,) = self.lot.entries.values()
        return entry


def test_what_can_be_read_is_handed_on() -> None:
    taker = Taker()
    assert taker(pushed(b"hello", "7")) == Handled("done", "7", "hello")
    assert taker.lot.entries == {}


def test_what_cannot_work_is_parked_with_its_body_its_reason_and_its_message() -> None:
    taker = Taker(refusing)
    body = pushed(b"hello", "7", attributes={"a": "b"})
    assert taker(body) == Handled("parked", "alert:7", "unroutable: it says no region")
    entry = taker.parked
    assert (entry.code, entry.reason, entry.source) == (ParkCode.UNROUTABLE, "it says no region", "alert")
    assert (entry.message_id, entry.attributes, entry.body, entry.parked_at) == ("7", {"a": "b"}, body.decode(), NOW)


def test_a_redelivery_is_parked_once_though_its_body_counts_the_attempts() -> None:
    taker = Taker(refusing)
    for attempt in range(1, 4):
        taker(pushed(b"hello", "7")[:-1] + f', "deliveryAttempt": {attempt}}}'.encode())
    assert json.loads(taker.parked.body)["deliveryAttempt"] == 1


def test_two_messages_with_one_body_are_two_entries() -> None:
    taker = Taker(refusing)
    taker(pushed(b"hello", "7"))
    taker(pushed(b"hello", "8"))
    assert sorted(taker.lot.entries) == ["alert:7", "alert:8"]


def test_a_body_without_an_envelope_is_known_by_its_digest() -> None:
    taker = Taker()
    assert [taker(b"junk").key, taker(b"junk").key] == [taker.parked.key] * 2
    assert taker.parked.key.startswith("alert:")
    assert taker(b"other junk").key != taker(b"junk").key


def test_bytes_that_are_no_text_are_kept_as_base64() -> None:
    taker = Taker()
    taker(b"\xff\xfe\x00")
    assert (taker.parked.body_encoding, base64.b64decode(taker.parked.body)) == ("base64", b"\xff\xfe\x00")


def test_a_body_that_was_not_read_is_known_by_its_length() -> None:
    taker = Taker()
    refused = Park(ParkCode.TOO_LARGE, "it is too large")
    assert taker(refused, {"Content-Length": "5000"}).key == "alert:unread:5000"
    assert taker(refused).key == "alert:unread:unknown"


def test_a_message_id_that_is_no_document_id_still_makes_a_key() -> None:
    taker = Taker(refusing)
    taker(pushed(b"x", "a/b"))
    assert len(taker.parked.key) == 64
    assert taker.parked.message_id == "a/b"


class Closed(ParkingLot):
    def park(self, parked: Parked) -> None:
        raise Retry("the store is not there")


def test_nothing_is_acknowledged_if_it_cannot_be_parked() -> None:
    taker = Taker(refusing)
    taker.lot = Closed()
    with pytest.raises(Retry):
        taker(pushed(b"x"))


@pytest.mark.parametrize("failure", [Retry("busy"), ValueError("a bug")])
def test_what_fails_carries_the_messages_id_for_the_log(failure: Exception) -> None:
    def failing(_envelope: Envelope) -> Handled:
        raise failure

    with pytest.raises(type(failure)) as caught:
        Taker(failing)(pushed(b"x", "77"))
    assert caught.value.__notes__ == ["77"]
    assert caught.value is failure


def test_what_fails_before_the_envelope_is_open_carries_nothing() -> None:
    with pytest.raises(Retry) as caught:
        Taker()(Retry("the sender went away"))
    assert not hasattr(caught.value, "__notes__")
