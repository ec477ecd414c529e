"""Ports in memory, as small as the alert function needs them: they cost next to nothing, so that what is measured is Trimtab."""

import threading
from collections.abc import Sequence
from typing import Literal, cast

from shared.events.wake import encode_wake
from shared.ports import Bus, Store
from shared.records.facts import Fact
from shared.records.parked import Parked
from shared.records.subject import ServiceId, Wake


class MemoryStore:
    """A dictionary of facts and one of parked entries, each in the form that a store keeps."""

    def __init__(self) -> None:
        self.facts: dict[tuple[str, str], object] = {}
        self.parked_entries: dict[str, Parked] = {}
        self.last_parked: Parked | None = None
        self._lock = threading.Lock()

    def create_fact(self, service: ServiceId, fact: Fact) -> Literal["created", "duplicate"]:
        place, stored = (str(service), fact.key), fact.to_stored()
        with self._lock:
            known = place in self.facts
            self.facts.setdefault(place, stored)
            return "duplicate" if known else "created"

    def park(self, parked: Parked) -> None:
        with self._lock:
            self.last_parked = parked
            self.parked_entries.setdefault(parked.key, parked)


class ListBus:
    """Keeps the subjects of what was published, one list entry per publish."""

    def __init__(self) -> None:
        self.published: list[list[str]] = []

    def publish_wakes(self, wakes: Sequence[Wake]) -> None:
        self.published.append([wake.subject_id for wake in wakes])


class EncodingBus:
    """Makes the messages, as every bus does, and keeps none of them."""

    def publish_wakes(self, wakes: Sequence[Wake]) -> None:
        for wake in wakes:
            encode_wake(wake)


def memory_store() -> Store:
    return cast("Store", MemoryStore())


def as_store(twin: MemoryStore) -> Store:
    return cast("Store", twin)


def as_bus(twin: ListBus) -> Bus:
    return twin
