"""functions/upload: a notification of Cloud Storage becomes one fact of its model and a wake. Two round trips, nothing decided."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from shared.errors import Retry
from shared.events.envelope import Envelope
from shared.events.ignored import Ignored
from shared.events.storage import parse_upload
from shared.handlers.answer import Handled, ReadBody
from shared.handlers.intake import take
from shared.handlers.recent_facts import RecentFacts
from shared.handlers.wake_limit import WakeLimiter
from shared.ports import Bus, Clock, EventBus, UploadStore
from shared.records.subject import Wake

REMEMBERED_KEY_CHARACTERS = 32


@dataclass(frozen=True)
class UploadPorts:
    """What the upload function needs of the outside."""

    store: UploadStore
    bus: Bus
    clock: Clock
    limiter: WakeLimiter
    recent: RecentFacts
    events: EventBus | None = None

    @classmethod
    def of(cls, store: UploadStore, bus: Bus, clock: Clock, events: EventBus | None = None) -> Self:
        """With an empty memory, as after a cold start."""
        return cls(store, bus, clock, WakeLimiter(clock), RecentFacts(clock), events)


def handle_upload(headers: Mapping[str, str], read: ReadBody, ports: UploadPorts) -> Handled:
    """Parse, route, create the fact, wake reconcile for the model.

    A duplicate wakes as well: the first delivery may have died between its two steps. A version is thousands of objects: few of them
    need a wake, because each look lists them all.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats.
    """

    def work(envelope: Envelope) -> Handled:
        upload = parse_upload(envelope)
        if isinstance(upload, Ignored):
            return Handled("ignored", envelope.message_id or "", upload.reason)
        model, fact = upload.model, upload.fact
        # Names have a kilobyte: they are remembered by their digest.
        key = hashlib.sha256(fact.key.encode()).hexdigest()[:REMEMBERED_KEY_CHARACTERS]
        created = "duplicate" if ports.recent.knows(model.id, key) else ports.store.create_upload(model, fact)
        ports.recent.confirm(model.id, key)
        if ports.limiter.allows(model.id):
            try:
                ports.bus.publish_wakes([Wake.of_model(model.uri, f"upload {fact.event}")])
            except Retry:
                ports.limiter.give_back(model.id)
                raise
        return Handled("done" if created == "created" else "duplicate", fact.key, f"{model.uri} {fact.event}")

    return take("upload", headers, read, work, store=ports.store, clock=ports.clock, events=ports.events)
