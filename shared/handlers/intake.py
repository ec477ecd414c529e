"""The first step of every event function: bytes to an envelope; what can never work is parked with its body."""

from collections.abc import Callable, Mapping

from shared import trace_context
from shared.errors import Park
from shared.events.envelope import MESSAGE_PUBLISHED, Envelope, open_envelope
from shared.handlers.answer import Handled, ReadBody
from shared.ports import Clock, EventBus, Parking
from shared.records.outgoing import OutgoingEvent
from shared.records.parked import Parked


def take(
    function: str,
    headers: Mapping[str, str],
    read: ReadBody,
    work: Callable[[Envelope], Handled],
    *,
    store: Parking,
    clock: Clock,
    events: EventBus | None = None,
) -> Handled:
    """Open the envelope and hand it to `work`; a Park from either is stored once, whatever the number of deliveries.

    The message's id is the key where there is one: the body of a repeat differs in its delivery attempt. A body that was not read
    is known by its length. What fails otherwise carries the message's id as a note, for the log.

    Raises:
        Retry: the store or the bus could not be reached; delivery repeats.
    """
    body, envelope = None, None
    try:
        body = read()
        envelope = open_envelope(headers, body)
        trace_context.received(envelope.attributes)
        return work(envelope)
    except Park as park:
        parked = Parked.of(
            code=park.code,
            reason=park.reason,
            source=function,
            body=body or b"",
            now=clock.now(),
            message_id=envelope.message_id if envelope is not None else None,
            attributes=envelope.attributes if envelope is not None else None,
            key=_key(function, headers, body, envelope),
        )
        store.park(parked)
        if events is not None:
            events.publish_events([OutgoingEvent.of_parked(parked)])
        return Handled("parked", parked.key, str(park))
    except Exception as failure:
        if envelope is not None and envelope.message_id:
            failure.add_note(envelope.message_id)
        raise


def _key(function: str, headers: Mapping[str, str], body: bytes | None, envelope: Envelope | None) -> str | None:
    if envelope is not None and envelope.message_id:
        return _message_key(function, envelope)
    return f"{function}:unread:{headers.get('Content-Length', 'unknown')}" if body is None else None


def _message_key(function: str, envelope: Envelope) -> str:
    """Pub/Sub's message ids are unique; those of other CloudEvents only together with their source."""
    if envelope.form == "push" or envelope.event_type == MESSAGE_PUBLISHED:
        return f"{function}:{envelope.message_id}"
    return f"{function}:{envelope.event_source}:{envelope.message_id}"
