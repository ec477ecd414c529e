"""Which kind of event a body is, by what stands in it: for tools that are given any of them.

A function knows what comes through its own subscription and asks nobody.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from shared.errors import Park
from shared.events.envelope import AUDIT_LOG_WRITTEN, MESSAGE_PUBLISHED, STORAGE_EVENT, Envelope, open_envelope
from shared.events.lenient import load_json, mapping
from shared.events.storage import is_notification
from shared.records.parked import ParkCode


class Kind(StrEnum):
    """What an event is about."""

    ALERT = "alert"
    STORAGE = "storage"
    AUDIT = "audit"
    COMMAND = "command"
    PUBSUB = "pubsub"
    """A Pub/Sub message with nothing in it that is known."""
    UNKNOWN = "unknown"


def request_in(raw: bytes) -> tuple[dict[str, str], bytes]:
    """Headers and body of a file that holds a bare body, or `{"headers": {...}, "body": ...}`.

    Raises:
        Park: unparsable: it is no JSON, or nested too deeply to be written again.
    """
    content = mapping(load_json(raw, "body", non_finite_as_null=True))
    if not (isinstance(content.get("headers"), dict) and "body" in content):
        return {}, raw
    headers = {name: value for name, value in content["headers"].items() if isinstance(value, str)}
    inner = content["body"]
    if isinstance(inner, str):
        return headers, inner.encode("utf-8", "surrogatepass")
    try:
        return headers, json.dumps(inner).encode()
    except RecursionError:
        raise Park(ParkCode.UNPARSABLE, "body: JSON nested too deeply") from None


def opened(headers: Mapping[str, str], body: bytes) -> tuple[Kind, Envelope]:
    """The kind of a request, and its envelope; a bare body (what is otherwise the data of a message) has one that says nothing.

    Raises:
        Park: there is no envelope, and the body is none of what is known.
    """
    content = object_in(body)
    if "message" not in content:
        bare = _of_content(content)
        wrapped = "specversion" in content or any(name.lower() == "ce-type" for name in headers)
        if bare is Kind.ALERT or (bare is not None and not wrapped):
            return bare, Envelope(form="push", data=body)
    envelope = open_envelope(headers, body)
    return kind_of(envelope), envelope


def kind_of(envelope: Envelope) -> Kind:
    """The kind of what an envelope carries: by the type of the CloudEvent, by the attributes of the message, else by the data."""
    kind_of_type = envelope.event_type or MESSAGE_PUBLISHED
    if kind_of_type.startswith(STORAGE_EVENT):
        return Kind.STORAGE
    if kind_of_type == AUDIT_LOG_WRITTEN:
        return Kind.AUDIT
    found = _of_content(object_in(envelope.data))
    if kind_of_type != MESSAGE_PUBLISHED:
        return found if found is Kind.COMMAND else Kind.UNKNOWN
    return Kind.STORAGE if is_notification(envelope.attributes) else found or Kind.PUBSUB


def object_in(raw: bytes) -> dict[str, Any]:
    """The JSON object in these bytes; an empty one where there is none."""
    try:
        return mapping(load_json(raw, "body", non_finite_as_null=True))
    except Park:
        return {}


def _of_content(content: Mapping[str, Any]) -> Kind | None:
    if "incident" in content:
        return Kind.ALERT
    if content.get("kind") == "storage#object":
        return Kind.STORAGE
    if "protoPayload" in content or "cloudaudit.googleapis.com" in str(content.get("logName"))[:512]:
        return Kind.AUDIT
    return Kind.COMMAND if "command" in content else None
