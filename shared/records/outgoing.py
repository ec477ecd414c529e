"""What Trimtab tells the world: CloudEvents on the topic `events`. Consumers know a repeat by its id."""

import hashlib
from enum import StrEnum
from typing import Any, Self

from shared.records.base import Record, UtcTime
from shared.records.facts import ShortText
from shared.records.parked import Parked

SPEC_VERSION = "1.0"
"""Of the CloudEvents specification."""


class EventType(StrEnum):
    """What happened. A change of a type's data that old consumers could misread is a new type."""

    DECISION = "trimtab.decision.v1"
    """Something was changed, recommended or refused for a service; the data is the decision's record."""
    ROLLOUT = "trimtab.rollout.v1"
    """A rollout ended: promoted, failed, superseded or overtaken; the data says of which revision, and why."""
    HOLD = "trimtab.hold.v1"
    """Somebody gave or released a hold by command; the data says which, of which service and by whom. One that came over HTTPS while the
    topic was away is told when it is given again."""
    PARKED = "trimtab.parked.v1"
    """An event could never work and was parked; the data says why and under which key, without its body."""


class OutgoingEvent(Record):
    """One CloudEvent. The same happening has the same id, however often it is published."""

    id: ShortText
    type: EventType
    subject: ShortText
    """The service as `project:region:name`; `fleet` of a hold of all of them; of a parked event of no service, who parked it."""
    time: UtcTime
    data: dict[str, Any]

    @classmethod
    def of_parked(cls, parked: Parked) -> Self:
        """A parked event."""
        told = {"key", "code", "reason", "source", "subject", "message_id", "body_bytes", "body_sha256", "parked_at"}
        return cls(
            id=f"parked:{hashlib.sha256(parked.key.encode()).hexdigest()}",
            type=EventType.PARKED,
            subject=parked.subject or parked.source,
            time=parked.parked_at,
            data={name: value for name, value in parked.to_stored().items() if name in told},
        )

    def attributes(self, source: str) -> dict[str, str]:
        """The attributes of the Pub/Sub message (CloudEvents' Pub/Sub binding, binary mode)."""
        return {
            "ce-specversion": SPEC_VERSION,
            "ce-id": self.id,
            "ce-type": self.type.value,
            "ce-source": source,
            "ce-subject": self.subject,
            "ce-time": self.time.isoformat().replace("+00:00", "Z"),
            "content-type": "application/json",
        }
