"""The second step of an event function: one fact, one wake. Two round trips, nothing decided."""

from dataclasses import dataclass
from typing import Literal, Self

from shared.errors import Retry
from shared.handlers.recent_facts import RecentFacts
from shared.handlers.wake_limit import WakeLimiter
from shared.ports import Bus, Clock, EventBus, IntakeStore
from shared.records.facts import Fact
from shared.records.subject import ServiceId, Wake


@dataclass(frozen=True)
class FactPorts:
    """What a function that keeps facts of services needs of the outside."""

    store: IntakeStore
    bus: Bus
    clock: Clock
    limiter: WakeLimiter
    recent: RecentFacts
    events: EventBus | None = None
    """Where it is told that something was parked."""

    @classmethod
    def of(cls, store: IntakeStore, bus: Bus, clock: Clock, events: EventBus | None = None) -> Self:
        """With an empty memory, as after a cold start."""
        return cls(store, bus, clock, WakeLimiter(clock), RecentFacts(clock), events)


def keep_and_wake(service: ServiceId, fact: Fact, reason: str, ports: FactPorts) -> Literal["created", "duplicate"]:
    """Create the fact and wake reconcile. A duplicate wakes as well: the first delivery may have died between the two steps.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats.
    """
    subject = str(service)
    created = "duplicate" if ports.recent.knows(subject, fact.key) else ports.store.create_fact(service, fact)
    ports.recent.confirm(subject, fact.key)
    if ports.limiter.allows(subject):
        try:
            ports.bus.publish_wakes([Wake.of(service, reason)])
        except Retry:
            ports.limiter.give_back(subject)
            raise
    return created
