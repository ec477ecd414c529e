"""functions/audit: what Cloud Run's audit log says of a service becomes one fact and a wake.

The fact brings the look: reconcile compares the service with what it was left as, whoever changed it, so a lost entry costs no more
than the time until the next look. What Trimtab wrote itself is recognised by its principals and left out: a wake follows each of its
writes anyway.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.events.audit import parse_audit
from shared.events.envelope import Envelope
from shared.events.ignored import Ignored
from shared.handlers.answer import Handled, ReadBody
from shared.handlers.intake import take
from shared.handlers.keeping import FactPorts, keep_and_wake


@dataclass(frozen=True)
class AuditPorts:
    """What the audit function needs of the outside, and the principals that Trimtab runs as."""

    facts: FactPorts
    ours: tuple[str, ...] = ()


def handle_audit(headers: Mapping[str, str], read: ReadBody, ports: AuditPorts) -> Handled:
    """Parse, route, create the fact, wake reconcile.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats.
    """

    def work(envelope: Envelope) -> Handled:
        entry = parse_audit(envelope.payload(), published_at=envelope.published_at)
        if isinstance(entry, Ignored):
            return Handled("ignored", envelope.message_id or "", entry.reason)
        fact = entry.fact
        if fact.principal is not None and fact.principal.lower() in {each.lower() for each in ports.ours}:
            return Handled("ignored", fact.key, f"{entry.service}: Trimtab's own write")
        who = fact.principal or "Cloud Run"
        created = keep_and_wake(entry.service, fact, f"changed by {who}", ports.facts)
        return Handled("done" if created == "created" else "duplicate", fact.key, f"{entry.service} {fact.method or fact.log} by {who}")

    return take("audit", headers, read, work, store=ports.facts.store, clock=ports.facts.clock, events=ports.facts.events)
