"""The bus inside one process: topics, push subscriptions and delivery as Pub/Sub does it.

Subscribers get the very body that Pub/Sub pushes, through a callable of the caller's choice (an HTTP POST, a WSGI test client), so
that the functions' own parsing is part of the run. Delivery is at least once: an answer that is no acknowledgement is repeated
after 10 to 600 seconds of the injected clock, and given up to the dead letters after `max_attempts`. Acknowledgement deadlines are
not modelled: a delivery lasts as long as the callable takes.
"""

import base64
import heapq
import itertools
import json
import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from shared.errors import Retry
from shared.events.wake import encode_wake
from shared.ports import Clock
from shared.records.outgoing import OutgoingEvent
from shared.records.subject import Wake

ACKNOWLEDGED = frozenset({102, 200, 201, 202, 204})
"""The statuses that Pub/Sub takes as an acknowledgement of a push; all others are repeated, 400 and 404 as well."""
NO_ANSWER = 0
"""The status of a delivery whose callable raised: nobody answered."""
MESSAGE_LIMIT_BYTES = 10_000_000
"""Pub/Sub's own limit of one message."""
WAKES_TOPIC = "wakes"
EVENTS_TOPIC = "events"
EVENTS_SOURCE = "//trimtab/local"

Deliver = Callable[[str, Mapping[str, str], bytes], int]
"""Takes the subscription's name, the headers and the body of a push; returns the HTTP status of the answer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """How a subscription delivers: backoff doubles between the two bounds, and ends in the dead letters."""

    max_attempts: int = 10
    min_backoff_seconds: float = 10.0
    max_backoff_seconds: float = 600.0

    def backoff(self, attempt: int) -> timedelta:
        """How long to wait after the failed attempt of that number (from 1)."""
        return timedelta(seconds=min(self.max_backoff_seconds, self.min_backoff_seconds * 2.0 ** min(attempt - 1, 32)))


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a test does to the messages. All chance comes from `seed`.

    `repeat`: each message is delivered that many times; `shuffle`: what is due is delivered in any order; `drop_ratio`: this share
    of the deliveries is lost for ever; `delay_seconds`: first deliveries are late by up to this.
    """

    seed: int = 0
    repeat: int = 1
    shuffle: bool = False
    drop_ratio: float = 0.0
    delay_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """A published message."""

    message_id: str
    data: bytes
    attributes: Mapping[str, str]
    published_at: datetime


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was given up: as Pub/Sub forwards it, with the attributes it adds, and the last status."""

    subscription: str
    message: Message
    status: int


@dataclass(slots=True)
class _Delivery:
    message: Message
    subscription: str
    attempt: int = 1


@dataclass(slots=True)
class Counts:
    """What happened so far."""

    published: int = 0
    delivered: int = 0
    acknowledged: int = 0
    refused: int = 0
    dropped: int = 0
    dead_lettered: int = 0
    unrouted: int = 0
    """Messages of topics without a subscription: Pub/Sub forgets those, too."""


@dataclass(slots=True)
class _Queue:
    later: list[tuple[datetime, int, _Delivery]] = field(default_factory=list)
    ready: deque[_Delivery] = field(default_factory=deque)
    in_flight: int = 0

    def __len__(self) -> int:
        return len(self.later) + len(self.ready) + self.in_flight


class InProcessBus:
    """`ports.Bus` and more: `publish` to any topic, `subscribe`, and either of two ways to deliver.

    * Virtual time: `run_until_idle()` delivers all that is due by the clock, also what is published meanwhile; `next_due()` says
      to which time the clock must be moved for the next delivery.
    * Real time: `start(workers)` delivers in threads until `stop()`.

    `capacity` bounds the waiting deliveries, `kept_dead_letters` the dead letters (the newest are kept). `project` is the one in the
    names that a body carries. Thread-safe; `deliver` is called without any lock, by several threads if there are several workers.
    """

    def __init__(
        self,
        deliver: Deliver,
        clock: Clock,
        *,
        policy: Policy | None = None,
        trouble: Trouble | None = None,
        capacity: int = 100_000,
        kept_dead_letters: int = 1_000,
        project: str = "local",
    ) -> None:
        self._deliver = deliver
        self._clock = clock
        self._policy = policy or Policy()
        self._trouble = trouble or Trouble()
        self._chance = random.Random(self._trouble.seed)  # noqa: S311 (a repeatable disturbance, no secret)
        self._capacity = capacity
        self._project = project
        self._changed = threading.Condition()
        self._subscriptions: dict[str, list[str]] = {}
        self._queue = _Queue()
        self._numbers = itertools.count(1)
        self._dead: deque[DeadLetter] = deque(maxlen=kept_dead_letters)
        self._workers: list[threading.Thread] = []
        self._stopping = False
        self._counts = Counts()

    def subscribe(self, topic: str, subscription: str) -> None:
        """Deliver the messages of `topic` that are published from now on to `subscription` (its name is all `deliver` gets)."""
        with self._changed:
            names = self._subscriptions.setdefault(topic, [])
            if subscription not in names:
                names.append(subscription)

    def publish_wakes(self, wakes: Sequence[Wake]) -> None:
        """Publish the wakes to the topic `wakes`.

        Raises:
            Retry: the bus is full; some of them may have been accepted.
        """
        for wake in wakes:
            self.publish(WAKES_TOPIC, *encode_wake(wake))

    def publish_events(self, events: Sequence[OutgoingEvent]) -> None:
        """Publish the events to the topic `events`, as CloudEvents.

        Raises:
            Retry: the bus is full; some of them may have been accepted.
        """
        for event in events:
            self.publish(EVENTS_TOPIC, json.dumps(event.data).encode(), event.attributes(EVENTS_SOURCE))

    def publish(self, topic: str, data: bytes, attributes: Mapping[str, str] | None = None) -> str:
        """Publish a message; returns its id.

        Raises:
            Retry: the bus is full.
            ValueError: the message is larger than Pub/Sub takes.
        """
        if len(data) > MESSAGE_LIMIT_BYTES:
            raise ValueError(f"a message of {len(data)} bytes: Pub/Sub takes at most {MESSAGE_LIMIT_BYTES}")
        with self._changed:
            names = self._subscriptions.get(topic, [])
            copies = len(names) * self._trouble.repeat
            if len(self._queue) + copies > self._capacity:
                raise Retry(f"the bus is full: {len(self._queue)} deliveries wait, at most {self._capacity} may", after_seconds=1.0)
            message = Message(f"{next(self._numbers)}", data, dict(attributes or {}), self._clock.now())
            self._counts.published += 1
            self._counts.unrouted += not names
            for name in names:
                for _ in range(self._trouble.repeat):
                    self._accept(_Delivery(message, name), message.published_at)
            self._changed.notify_all()
            return message.message_id

    def run_until_idle(self, *, limit: int = 1_000_000) -> int:
        """Deliver in this thread all that is due now and what becomes so meanwhile; returns the number of deliveries.

        Raises:
            RuntimeError: `limit` deliveries did not make an end; somebody publishes in a circle.
        """
        for done in range(limit):
            with self._changed:
                delivery = self._take()
            if delivery is None:
                return done
            self._attempt(delivery)
        raise RuntimeError(f"still not idle after {limit} deliveries: does a subscriber publish to itself?")

    def next_due(self) -> datetime | None:
        """When the next delivery is due (in the past: now); None if nothing waits."""
        with self._changed:
            if self._queue.ready:
                return self._clock.now()
            return self._queue.later[0][0] if self._queue.later else None

    def start(self, workers: int = 2) -> None:
        """Deliver in that many threads, in real time, until `stop()`.

        Raises:
            RuntimeError: it was started already.
        """
        with self._changed:
            if self._workers:
                raise RuntimeError("the bus is started already")
            self._stopping = False
            self._workers = [threading.Thread(target=self._work, name=f"bus-{number}", daemon=True) for number in range(workers)]
        for worker in self._workers:
            worker.start()

    def stop(self, *, timeout_seconds: float = 30.0) -> None:
        """End the threads after the deliveries they are at; what waits goes on waiting.

        Raises:
            TimeoutError: a delivery took longer than `timeout_seconds`.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join(timeout_seconds)
            if worker.is_alive():
                raise TimeoutError(f"{worker.name} still delivers after {timeout_seconds} s")
        self._workers = []

    @property
    def waiting(self) -> int:
        """Deliveries that are due, in progress or for later."""
        with self._changed:
            return len(self._queue)

    @property
    def counts(self) -> Counts:
        """What happened so far, as of now."""
        with self._changed:
            return Counts(*(getattr(self._counts, name) for name in Counts.__slots__))

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """The newest messages that were given up, oldest first."""
        with self._changed:
            return list(self._dead)

    def _accept(self, delivery: _Delivery, now: datetime) -> None:
        if self._trouble.drop_ratio and self._chance.random() < self._trouble.drop_ratio:
            self._counts.dropped += 1
        elif self._trouble.delay_seconds:
            self._put_off(delivery, now + timedelta(seconds=self._chance.uniform(0, self._trouble.delay_seconds)))
        else:
            self._queue.ready.append(delivery)

    def _put_off(self, delivery: _Delivery, due: datetime) -> None:
        heapq.heappush(self._queue.later, (due, next(self._numbers), delivery))

    def _take(self) -> _Delivery | None:
        now, queue = self._clock.now(), self._queue
        while queue.later and queue.later[0][0] <= now:
            queue.ready.append(heapq.heappop(queue.later)[2])
        if not queue.ready:
            return None
        if self._trouble.shuffle:
            queue.ready.rotate(self._chance.randrange(len(queue.ready)))
        queue.in_flight += 1
        return queue.ready.popleft()

    def _attempt(self, delivery: _Delivery) -> None:
        try:
            status = self._deliver(delivery.subscription, {"Content-Type": "application/json"}, self._body(delivery))
        except Exception:  # noqa: BLE001 (whatever a subscriber raises, nobody answered; it is logged and delivered again)
            _log.exception("delivery %s of message %s to %s", delivery.attempt, delivery.message.message_id, delivery.subscription)
            status = NO_ANSWER
        with self._changed:
            self._queue.in_flight -= 1
            self._counts.delivered += 1
            if status in ACKNOWLEDGED:
                self._counts.acknowledged += 1
            else:
                self._counts.refused += 1
                self._repeat_or_give_up(delivery, status)
            self._changed.notify_all()

    def _repeat_or_give_up(self, delivery: _Delivery, status: int) -> None:
        if delivery.attempt < self._policy.max_attempts:
            due = self._clock.now() + self._policy.backoff(delivery.attempt)
            self._put_off(_Delivery(delivery.message, delivery.subscription, delivery.attempt + 1), due)
            return
        message = delivery.message
        added = {
            "CloudPubSubDeadLetterSourceSubscription": delivery.subscription,
            "CloudPubSubDeadLetterSourceSubscriptionProject": self._project,
            "CloudPubSubDeadLetterSourceDeliveryCount": str(delivery.attempt),
            "CloudPubSubDeadLetterSourceTopicPublishTime": _time_text(message.published_at),
        }
        forwarded = Message(message.message_id, message.data, {**message.attributes, **added}, message.published_at)
        self._dead.append(DeadLetter(delivery.subscription, forwarded, status))
        self._counts.dead_lettered += 1

    def _body(self, delivery: _Delivery) -> bytes:
        message = delivery.message
        published = _time_text(message.published_at)
        wrapped = {
            "data": base64.b64encode(message.data).decode("ascii"),
            "attributes": dict(message.attributes),
            "messageId": message.message_id,
            "message_id": message.message_id,
            "publishTime": published,
            "publish_time": published,
        }
        subscription = f"projects/{self._project}/subscriptions/{delivery.subscription}"
        return json.dumps({"message": wrapped, "subscription": subscription, "deliveryAttempt": delivery.attempt}).encode()

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._stopping:
                    return
                delivery = self._take()
                if delivery is None:
                    self._changed.wait(self._patience())
            if delivery is not None:
                self._attempt(delivery)

    def _patience(self) -> float:
        if not self._queue.later:
            return 1.0
        return min(1.0, max(0.001, (self._queue.later[0][0] - self._clock.now()).total_seconds()))


def _time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
