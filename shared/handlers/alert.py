"""functions/alert: a Cloud Monitoring notification becomes one fact and a wake."""

from collections.abc import Mapping

from shared.events.alert import Ignored, parse_alert
from shared.events.envelope import Envelope
from shared.handlers.answer import Handled, ReadBody
from shared.handlers.intake import take
from shared.handlers.keeping import FactPorts, keep_and_wake


def handle_alert(headers: Mapping[str, str], read: ReadBody, ports: FactPorts) -> Handled:
    """Parse, route, create the fact, wake reconcile.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats.
    """

    def work(envelope: Envelope) -> Handled:
        alert = parse_alert(envelope.payload(), published_at=envelope.published_at)
        if isinstance(alert, Ignored):
            return Handled("ignored", envelope.message_id or "", alert.reason)
        fact = alert.fact
        created = keep_and_wake(alert.service, fact, f"alert {fact.signal} {fact.state}", ports)
        return Handled("done" if created == "created" else "duplicate", fact.key, f"{alert.service} {fact.signal}")

    return take("alert", headers, read, work, store=ports.store, clock=ports.clock, events=ports.events)
