"""functions/alert: a Cloud Monitoring notification becomes one fact and a wake. Two round trips, nothing decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from shared.errors import Retry
from shared.events.alert import Ignored, parse_alert
from shared.events.envelope import Envelope
from shared.handlers.answer import Handled, ReadBody
from shared.handlers.intake import take
from shared.handlers.recent_facts import RecentFacts
from shared.handlers.wake_limit import WakeLimiter
from shared.ports import Bus, Clock, IntakeStore
from shared.records.subject import Wake


@dataclass(frozen=True)
class AlertPorts:
    """What the alert function needs of the outside."""

    store: IntakeStore
    bus: Bus
    clock: Clock
    limiter: WakeLimiter
    recent: RecentFacts

    @classmethod
    def of(cls, store: IntakeStore, bus: Bus, clock: Clock) -> Self:
        """With an empty memory, as after a cold start."""
        return cls(store, bus, clock, WakeLimiter(clock), RecentFacts(clock))


def handle_alert(headers: Mapping[str, str], read: ReadBody, ports: AlertPorts) -> Handled:
    """Parse, route, create the fact, wake reconcile.

    A duplicate wakes as well: the first delivery may have died between its two steps.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats.
    """

    def work(envelope: Envelope) -> Handled:
        alert = parse_alert(envelope.payload(), published_at=envelope.published_at)
        if isinstance(alert, Ignored):
            return Handled("ignored", envelope.message_id or "", alert.reason)
        subject, fact = str(alert.service), alert.fact
        created = "duplicate" if ports.recent.knows(subject, fact.key) else ports.store.create_fact(alert.service, fact)
        ports.recent.confirm(subject, fact.key)
        if ports.limiter.allows(subject):
            try:
                ports.bus.publish_wakes([Wake.of(alert.service, f"alert {fact.signal} {fact.state}")])
            except Retry:
                ports.limiter.give_back(subject)
                raise
        return Handled("done" if created == "created" else "duplicate", fact.key, f"{subject} {fact.signal}")

    return take("alert", headers, read, work, store=ports.store, clock=ports.clock)
