"""The bus on Pub/Sub: one synchronous publish per call, no batching thread that could lose a message when a function ends."""

import os
import threading
from collections.abc import Mapping, Sequence

import grpc
from google.pubsub_v1.services.publisher import PublisherClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport

from shared import trace_context
from shared.events.wake import encode_wake
from shared.gcp.google_errors import mendable_as_retry
from shared.records.subject import Wake

PUBLISH_TIMEOUT_SECONDS = 10.0
MESSAGES_PER_PUBLISH = 1_000
"""Pub/Sub takes at most this many messages in one call (and 10 MB, which that many wakes never reach)."""


class PubsubTopic:
    """Publishes to `projects/{project}/topics/{topic}`.

    The client is made at the first publish, never at import, because the functions' server forks after importing; a forked child
    makes its own. `PUBSUB_EMULATOR_HOST` (host:port) is honoured here: the generated client does not look at it.
    """

    def __init__(self, project: str, topic: str, *, timeout_seconds: float = PUBLISH_TIMEOUT_SECONDS) -> None:
        self._topic = f"projects/{project}/topics/{topic}"
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._client: PublisherClient | None = None
        self._process_id = 0

    def publish(self, messages: Sequence[tuple[bytes, Mapping[str, str]]]) -> None:
        """Hand the messages (data and attributes) over, up to 1,000 in one call; returns when Pub/Sub has accepted them all.

        Raises:
            Retry: not known to have been accepted; some of them may have been.
        """
        wrapped = [{"data": data, "attributes": trace_context.sent(attributes)} for data, attributes in messages]
        with mendable_as_retry(f"publishing to {self._topic}"):
            for start in range(0, len(wrapped), MESSAGES_PER_PUBLISH):
                self._publisher().publish(
                    request={"topic": self._topic, "messages": wrapped[start : start + MESSAGES_PER_PUBLISH]},
                    retry=None,
                    timeout=self._timeout_seconds,
                )

    def close(self) -> None:
        """Close the connection; the next publish opens a new one."""
        with self._lock:
            if self._client is not None and self._process_id == os.getpid():
                self._client.transport.close()  # type: ignore[no-untyped-call]
            self._client = None

    def _publisher(self) -> PublisherClient:
        with self._lock:
            if self._client is None or self._process_id != os.getpid():
                self._client, self._process_id = _new_client(), os.getpid()
            return self._client


class PubsubBus:
    """`ports.Bus` on a topic."""

    def __init__(self, project: str, topic: str = "wakes", *, timeout_seconds: float = PUBLISH_TIMEOUT_SECONDS) -> None:
        self._topic = PubsubTopic(project, topic, timeout_seconds=timeout_seconds)

    def publish_wakes(self, wakes: Sequence[Wake]) -> None:
        """Hand the wakes over; returns when Pub/Sub has accepted them all.

        Raises:
            Retry: not known to have been accepted; some of them may have been.
        """
        self._topic.publish([encode_wake(wake) for wake in wakes])

    def close(self) -> None:
        """Close the connection; the next publish opens a new one."""
        self._topic.close()


def _new_client() -> PublisherClient:
    emulator = os.environ.get("PUBSUB_EMULATOR_HOST")
    if emulator:
        return PublisherClient(transport=PublisherGrpcTransport(channel=grpc.insecure_channel(emulator)))
    return PublisherClient()
