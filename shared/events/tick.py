"""A tick: the clock says "look". It carries no content: whatever is in the message, it is a tick."""

from dataclasses import dataclass
from datetime import datetime

from shared.events.envelope import Envelope


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick; `published_at` is when Pub/Sub accepted it, if the envelope said so: Cloud Scheduler sends no time of its own there."""

    published_at: datetime | None = None
    message_id: str | None = None


def parse_tick(envelope: Envelope) -> Tick:
    """Any message of the ticks topic is a tick, an unreadable one included."""
    return Tick(published_at=envelope.published_at, message_id=envelope.message_id)
