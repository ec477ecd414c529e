"""Parked events on their way back, over Google's Pub/Sub emulator."""

from typing import Any

import grpc
import pytest
from google.pubsub_v1.services.subscriber import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from shared.gcp.pubsub_redrive import PubsubRedriver
from shared.settings import Settings
from tests.support.emulators import fresh_project, pubsub_publisher

pytestmark = pytest.mark.emulator


@pytest.mark.parametrize("function", ["alert", "upload", "command", "audit", "schedule", "reconcile"])
def test_an_event_goes_to_the_topic_of_its_function_with_its_attributes(
    function: str, pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    project = fresh_project()
    topics = Settings.from_environment({"TRIMTAB_PROJECT": project}).function_topics
    topic, subscription = f"projects/{project}/topics/{topics[function]}", f"projects/{project}/subscriptions/kept"
    publisher = pubsub_publisher(pubsub_emulator)
    subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=grpc.insecure_channel(pubsub_emulator)))
    redriver = PubsubRedriver(project, topics)
    try:
        publisher.create_topic(name=topic, retry=None, timeout=10)
        subscriber.create_subscription(name=subscription, topic=topic, retry=None, timeout=10)
        redriver.republish(function, b"\x00{}", {"eventType": "OBJECT_FINALIZE"})
        answer: Any = subscriber.pull(subscription=subscription, max_messages=1, retry=None, timeout=20)
    finally:
        redriver.close()
        publisher.transport.close()  # type: ignore[no-untyped-call]
        subscriber.transport.close()  # type: ignore[no-untyped-call]
    (received,) = answer.received_messages
    assert (received.message.data, dict(received.message.attributes)) == (b"\x00{}", {"eventType": "OBJECT_FINALIZE"})


def test_a_function_without_a_topic_is_named() -> None:
    redriver = PubsubRedriver("acme-ml", {})
    with pytest.raises(ValueError, match="console"):
        redriver.republish("console", b"{}", {})
