"""The events for others on Pub/Sub, as CloudEvents (Pub/Sub binding, binary mode)."""

import json
from collections.abc import Sequence

from shared.gcp.pubsub_bus import PubsubTopic
from shared.records.outgoing import OutgoingEvent


class PubsubEvents:
    """`ports.EventBus` on the topic `projects/{project}/topics/{topic}`."""

    def __init__(self, project: str, topic: str) -> None:
        self._topic = PubsubTopic(project, topic)
        self._source = f"//trimtab/projects/{project}"

    def publish_events(self, events: Sequence[OutgoingEvent]) -> None:
        """Hand the events over; returns when Pub/Sub has accepted them all.

        Raises:
            Retry: not known to have been accepted; some of them may have been.
        """
        self._topic.publish([(json.dumps(event.data).encode(), event.attributes(self._source)) for event in events])

    def close(self) -> None:
        """Close the connection; the next publish opens a new one."""
        self._topic.close()
