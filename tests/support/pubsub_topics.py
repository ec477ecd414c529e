"""Topics and subscriptions on Pub/Sub's emulator, set up as a deployment has them."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import grpc
from google.api_core.exceptions import DeadlineExceeded
from google.pubsub_v1.services.publisher import PublisherClient
from google.pubsub_v1.services.subscriber import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from tests.support.emulators import pubsub_publisher

ACK_DEADLINE_SECONDS = 60
BACKOFF = {"minimum_backoff": timedelta(seconds=1), "maximum_backoff": timedelta(seconds=4)}
"""Shorter than in production (10 to 600 s), so that a test need not wait; the emulator keeps to it."""
MAX_DELIVERY_ATTEMPTS = 30
"""Enough for the outages of these tests."""
RPC_SECONDS = 10.0


class PubsubTopics:
    """Topics, push subscriptions and dead letters, in one project of Pub/Sub's emulator."""

    def __init__(self, host: str, project: str, stack: contextlib.ExitStack, *, topics: Sequence[str]) -> None:
        self._project = project
        self._publisher: PublisherClient = pubsub_publisher(host)
        stack.callback(self._publisher.transport.close)
        self._subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=grpc.insecure_channel(host)))
        stack.callback(self._subscriber.transport.close)
        for topic in topics:
            self.create(topic)

    def listen(self, topic: str) -> None:
        """Keep what is published on the topic from now on, to be pulled."""
        kept = {"name": self.subscription(topic), "topic": self._topic(topic)}
        self._subscriber.create_subscription(kept, retry=None, timeout=RPC_SECONDS)

    def create(self, topic: str) -> None:
        """The topic, and beside it one for what is given up, with a subscription that keeps it."""
        for name in (topic, f"{topic}-dead"):
            self._publisher.create_topic(name=self._topic(name), retry=None, timeout=RPC_SECONDS)
        kept = {"name": self.subscription(f"{topic}-dead-kept"), "topic": self._topic(f"{topic}-dead")}
        self._subscriber.create_subscription(kept, retry=None, timeout=RPC_SECONDS)

    def push(self, topic: str, endpoint: str, *, attempts: int = MAX_DELIVERY_ATTEMPTS) -> None:
        """Push the topic to the endpoint."""
        subscription = {
            "name": self.subscription(topic),
            "topic": self._topic(topic),
            "push_config": {"push_endpoint": endpoint},
            "ack_deadline_seconds": ACK_DEADLINE_SECONDS,
            "retry_policy": BACKOFF,
            "dead_letter_policy": {"dead_letter_topic": self._topic(f"{topic}-dead"), "max_delivery_attempts": attempts},
        }
        self._subscriber.create_subscription(subscription, retry=None, timeout=RPC_SECONDS)

    def publish(self, topic: str, bodies: Sequence[tuple[bytes, Mapping[str, str]]]) -> list[str]:
        messages = [{"data": body, "attributes": dict(attributes)} for body, attributes in bodies]
        answer = self._publisher.publish({"topic": self._topic(topic), "messages": messages}, retry=None, timeout=RPC_SECONDS)
        return list(answer.message_ids)

    def dead_letters(self, topic: str) -> list[Any]:
        return self.pull(f"{topic}-dead-kept")

    def pull(self, name: str) -> list[Any]:
        """Take the messages of a pull subscription, up to 100."""
        request = {"subscription": self.subscription(name), "max_messages": 100}
        try:
            answer = self._subscriber.pull(request, retry=None, timeout=1.0)
        except DeadlineExceeded:
            return []
        received = list(answer.received_messages)
        if received:
            done = {"subscription": self.subscription(name), "ack_ids": [each.ack_id for each in received]}
            self._subscriber.acknowledge(done, retry=None, timeout=RPC_SECONDS)
        return [each.message for each in received]

    def _topic(self, name: str) -> str:
        return f"projects/{self._project}/topics/{name}"

    def subscription(self, name: str) -> str:
        """The full name of a topic's subscription."""
        return f"projects/{self._project}/subscriptions/{name}-sub"
