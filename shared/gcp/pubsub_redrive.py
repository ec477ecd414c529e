"""Parked events go back to their functions over Pub/Sub: by the topic that each function's subscription listens to."""

from collections.abc import Mapping

from shared.gcp.pubsub_bus import PubsubTopic


class PubsubRedriver:
    """`ports.Redriver` on the topics of `project`; `topics` says which of them each function listens to."""

    def __init__(self, project: str, topics: Mapping[str, str]) -> None:
        self._topics = {function: PubsubTopic(project, topic) for function, topic in topics.items()}

    def republish(self, source: str, data: bytes, attributes: Mapping[str, str]) -> None:
        """Publish it to the topic of the function `source`; returns when Pub/Sub has accepted it.

        Raises:
            Retry: not known to have been accepted.
            ValueError: no topic leads to a function of that name.
        """
        topic = self._topics.get(source)
        if topic is None:
            raise ValueError(f"no topic leads to a function {source[:80]!r}")
        topic.publish([(data, attributes)])

    def close(self) -> None:
        """Close the connections; the next publish opens new ones."""
        for topic in self._topics.values():
            topic.close()
