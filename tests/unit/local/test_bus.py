"""The bus of the local edition delivers as Pub/Sub push does."""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from shared.errors import Retry
from shared.events.wake import parse_wake
from shared.local.bus import InProcessBus, Policy, Trouble
from shared.records.subject import ServiceId, Wake
from tests.support.clocks import START, HandClock

RANKER = ServiceId(project="acme-ml", region="europe-west1", name="ranker")


class Subscriber:
    """Answers with `status` (a number, or one for each attempt) and remembers what came."""

    def __init__(self, status: Callable[[int], int] = lambda _attempt: 200) -> None:
        self.status = status
        self.bodies: list[dict[str, object]] = []
        self.names: list[str] = []

    def __call__(self, subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        assert headers["Content-Type"] == "application/json"
        content = json.loads(body)
        self.bodies.append(content)
        self.names.append(subscription)
        return self.status(content["deliveryAttempt"])

    def payloads(self) -> list[bytes]:
        return [base64.b64decode(body["message"]["data"]) for body in self.bodies]  # type: ignore[index]


def bus_of(subscriber: Callable[[str, Mapping[str, str], bytes], int], **options: object) -> tuple[InProcessBus, HandClock]:
    clock = HandClock()
    bus = InProcessBus(subscriber, clock, **options)  # type: ignore[arg-type]
    bus.subscribe("alerts", "alerts-push")
    return bus, clock


def drain(bus: InProcessBus, clock: HandClock) -> list[datetime]:
    """Deliver all there will ever be, moving the clock; returns when something was delivered."""
    times = []
    bus.run_until_idle()
    while (due := bus.next_due()) is not None:
        clock.move_to(due)
        bus.run_until_idle()
        times.append(due)
    return times


def test_the_body_is_the_one_pubsub_pushes() -> None:
    subscriber = Subscriber()
    bus, _ = bus_of(subscriber, project="acme-ml")
    message_id = bus.publish("alerts", b'{"a": "\xc3\xa9"}', {"kind": "x"})
    assert bus.run_until_idle() == 1
    assert subscriber.names == ["alerts-push"]
    assert subscriber.bodies == [
        {
            "message": {
                "data": base64.b64encode(b'{"a": "\xc3\xa9"}').decode(),
                "attributes": {"kind": "x"},
                "messageId": message_id,
                "message_id": message_id,
                "publishTime": "2026-03-01T12:00:00.000Z",
                "publish_time": "2026-03-01T12:00:00.000Z",
            },
            "subscription": "projects/acme-ml/subscriptions/alerts-push",
            "deliveryAttempt": 1,
        }
    ]


def test_every_subscription_of_a_topic_gets_every_message_and_no_other() -> None:
    subscriber = Subscriber()
    bus, _ = bus_of(subscriber)
    bus.subscribe("alerts", "second")
    bus.subscribe("alerts", "second")
    bus.subscribe("ticks", "ticks-push")
    bus.publish("alerts", b"1")
    bus.publish("nobody", b"2")
    bus.run_until_idle()
    assert sorted(subscriber.names) == ["alerts-push", "second"]
    assert bus.counts.unrouted == 1


def test_a_wake_is_published_in_its_own_form_to_the_topic_wakes() -> None:
    subscriber = Subscriber()
    bus, _ = bus_of(subscriber)
    bus.subscribe("wakes", "wakes-push")
    wake = Wake.of(RANKER, "alert")
    bus.publish_wakes([wake, wake])
    bus.run_until_idle()
    assert [parse_wake(payload) for payload in subscriber.payloads()] == [(RANKER, wake)] * 2


@pytest.mark.parametrize("status", [102, 200, 201, 202, 204])
def test_acknowledging_statuses_end_the_delivery(status: int) -> None:
    bus, clock = bus_of(Subscriber(lambda _attempt: status))
    bus.publish("alerts", b"")
    assert drain(bus, clock) == []
    assert (bus.counts.delivered, bus.counts.acknowledged, bus.waiting) == (1, 1, 0)


@pytest.mark.parametrize("status", [0, 203, 206, 301, 400, 401, 403, 404, 409, 415, 422, 429, 500, 503])
def test_every_other_status_is_delivered_again(status: int) -> None:
    subscriber = Subscriber(lambda attempt: status if attempt == 1 else 200)
    bus, clock = bus_of(subscriber)
    bus.publish("alerts", b"")
    assert drain(bus, clock) == [START + timedelta(seconds=10)]
    assert [body["deliveryAttempt"] for body in subscriber.bodies] == [1, 2]


def test_backoff_doubles_from_ten_to_six_hundred_seconds_and_ends_in_the_dead_letters() -> None:
    subscriber = Subscriber(lambda _attempt: 503)
    bus, clock = bus_of(subscriber, project="acme-ml")
    message_id = bus.publish("alerts", b"lost?", {"own": "kept"})
    waits = [10, 20, 40, 80, 160, 320, 600, 600, 600]
    at, expected = START, []
    for wait in waits:
        at += timedelta(seconds=wait)
        expected.append(at)
    assert drain(bus, clock) == expected
    (letter,) = bus.dead_letters
    assert (letter.subscription, letter.status) == ("alerts-push", 503)
    assert (letter.message.message_id, letter.message.data) == (message_id, b"lost?")
    assert letter.message.attributes == {
        "own": "kept",
        "CloudPubSubDeadLetterSourceSubscription": "alerts-push",
        "CloudPubSubDeadLetterSourceSubscriptionProject": "acme-ml",
        "CloudPubSubDeadLetterSourceDeliveryCount": "10",
        "CloudPubSubDeadLetterSourceTopicPublishTime": "2026-03-01T12:00:00.000Z",
    }
    assert bus.waiting == 0


def test_a_subscriber_that_raises_is_an_answer_that_did_not_come(caplog: pytest.LogCaptureFixture) -> None:
    attempts = []

    def subscriber(subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        attempts.append(body)
        if len(attempts) == 1:
            raise ConnectionRefusedError("nobody listens")
        return 200

    bus, clock = bus_of(subscriber)
    bus.publish("alerts", b"")
    drain(bus, clock)
    assert len(attempts) == 2
    assert "nobody listens" in caplog.text


def test_what_subscribers_publish_is_delivered_in_the_same_run_and_circles_are_reported() -> None:
    seen: list[str] = []

    def subscriber(subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        seen.append(subscription)
        bus.publish("ticks" if subscription == "alerts-push" else "nobody", b"")
        return 200

    bus, _ = bus_of(subscriber)
    bus.subscribe("ticks", "ticks-push")
    bus.publish("alerts", b"")
    assert bus.run_until_idle() == 2
    assert seen == ["alerts-push", "ticks-push"]
    bus.subscribe("nobody", "ticks-push")
    bus.publish("alerts", b"")
    with pytest.raises(RuntimeError, match="not idle after 50"):
        bus.run_until_idle(limit=50)


def test_repeat_delivers_the_same_message_several_times() -> None:
    subscriber = Subscriber()
    bus, _ = bus_of(subscriber, trouble=Trouble(repeat=3))
    for number in range(5):
        bus.publish("alerts", f"{number}".encode())
    bus.run_until_idle()
    assert Counter(subscriber.payloads()) == {f"{number}".encode(): 3 for number in range(5)}
    assert len({body["message"]["messageId"] for body in subscriber.bodies}) == 5  # type: ignore[index]


def shuffled(seed: int) -> list[bytes]:
    subscriber = Subscriber()
    bus, _ = bus_of(subscriber, trouble=Trouble(seed=seed, shuffle=True))
    for number in range(50):
        bus.publish("alerts", f"{number:02d}".encode())
    bus.run_until_idle()
    return subscriber.payloads()


def test_shuffle_changes_the_order_repeatably_and_loses_nothing() -> None:
    assert shuffled(1) == shuffled(1) != shuffled(2)
    assert shuffled(1) != sorted(shuffled(1))
    assert sorted(shuffled(2)) == [f"{number:02d}".encode() for number in range(50)]


def test_drop_loses_its_share_for_ever() -> None:
    subscriber = Subscriber()
    bus, clock = bus_of(subscriber, trouble=Trouble(seed=7, drop_ratio=0.3))
    for _ in range(1_000):
        bus.publish("alerts", b"")
    drain(bus, clock)
    assert 200 < bus.counts.dropped < 400
    assert len(subscriber.bodies) == 1_000 - bus.counts.dropped


def test_delay_makes_first_deliveries_late_but_never_later_than_asked() -> None:
    subscriber = Subscriber()
    bus, clock = bus_of(subscriber, trouble=Trouble(seed=7, delay_seconds=30.0))
    for _ in range(100):
        bus.publish("alerts", b"")
    assert bus.run_until_idle() == 0
    times = drain(bus, clock)
    assert len(subscriber.bodies) == 100
    assert min(times) > START
    assert max(times) <= START + timedelta(seconds=30)
    assert len(set(times)) == 100


def test_memory_is_bounded() -> None:
    bus, clock = bus_of(Subscriber(lambda _attempt: 500), capacity=5, kept_dead_letters=3, policy=Policy(max_attempts=1))
    for _ in range(5):
        bus.publish("alerts", b"")
    with pytest.raises(Retry, match="bus is full"):
        bus.publish("alerts", b"")
    drain(bus, clock)
    for number in range(4):
        bus.publish("alerts", f"{number}".encode())
    drain(bus, clock)
    assert [letter.message.data for letter in bus.dead_letters] == [b"1", b"2", b"3"]
    assert bus.counts.dead_lettered == 9
    with pytest.raises(ValueError, match="at most 10000000"):
        bus.publish("alerts", b"x" * 10_000_001)


class WallClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def test_workers_deliver_in_real_time_and_repeat_what_was_refused() -> None:
    guard, attempts = threading.Lock(), Counter[str]()

    def subscriber(subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        message_id = json.loads(body)["message"]["messageId"]
        with guard:
            attempts[message_id] += 1
            return 503 if attempts[message_id] == 1 else 204

    bus = InProcessBus(subscriber, WallClock(), policy=Policy(min_backoff_seconds=0.05))
    bus.subscribe("alerts", "alerts-push")
    bus.start(workers=3)
    try:
        with pytest.raises(RuntimeError, match="started already"):
            bus.start()
        for _ in range(100):
            bus.publish("alerts", b"")
        deadline = time.monotonic() + 10
        while bus.waiting and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        bus.stop()
    assert bus.waiting == 0
    assert set(attempts.values()) == {2}
    assert len(attempts) == 100
    bus.publish("alerts", b"")
    time.sleep(0.05)
    assert bus.waiting == 1
    bus.start(workers=1)
    bus.stop()
