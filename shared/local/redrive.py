"""Parked events go back to their functions over the bus of this process."""

from collections.abc import Mapping

from shared.local.bus import InProcessBus


class LocalRedriver:
    """`ports.Redriver` on the bus; `topics` says which topic each function listens to."""

    def __init__(self, bus: InProcessBus, topics: Mapping[str, str]) -> None:
        self._bus = bus
        self._topics = dict(topics)

    def republish(self, source: str, data: bytes, attributes: Mapping[str, str]) -> None:
        """Publish it to the topic of the function `source`.

        Raises:
            Retry: the bus is full.
            ValueError: no topic leads to a function of that name.
        """
        topic = self._topics.get(source)
        if topic is None:
            raise ValueError(f"no topic leads to a function {source[:80]!r}")
        self._bus.publish(topic, data, attributes)
