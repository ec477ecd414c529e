"""What carries a message: a Pub/Sub push body, or a CloudEvent in binary or structured form.

Three forms are read, whatever the function behind them:

* `push`: the wrapped body of a Pub/Sub push subscription. Production sends camelCase and snake_case copies of the same fields.
* `binary`: a CloudEvent with `ce-*` headers, which is what Eventarc sends. Of type messagePublished its body wraps a Pub/Sub message;
  of any other type the body is the event's data as it is.
* `structured`: a CloudEvent as one JSON object (`application/cloudevents+json`).

Opening has two steps, so that what can be read of a spoilt message (its id, its attributes) is kept with it when it is parked:
`open_envelope` raises `Park` where there is no envelope at all; an envelope whose message cannot be used carries `fault`, its `data` is
empty, and `payload()` raises `Park`.

This is the only module that imports the cloudevents package: its second major version moved everything.
"""

import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NoReturn, Self

from cloudevents.abstract import CloudEvent
from cloudevents.conversion import from_http

from shared.errors import Park
from shared.events.lenient import load_json, mapping, moment, number, shown
from shared.records.parked import ParkCode

STORAGE_EVENT = "google.cloud.storage.object.v1."
"""What the types of Cloud Storage's CloudEvents begin with."""
AUDIT_LOG_WRITTEN = "google.cloud.audit.log.v1.written"
"""The type of the CloudEvent that carries an audit log entry."""
MESSAGE_PUBLISHED = "google.cloud.pubsub.topic.v1.messagePublished"
"""The CloudEvent type that wraps a Pub/Sub message."""

BODY_LIMIT_BYTES = 16 * 1024 * 1024
"""Pub/Sub carries messages of at most 10 MB; as base64, with its attributes around it, that stays below this."""
ATTRIBUTE_COUNT_LIMIT = 100
ATTRIBUTE_NAME_LIMIT_BYTES = 256
ATTRIBUTE_VALUE_LIMIT_BYTES = 1_024
"""Pub/Sub's own limits on a message's attributes: what lies beyond them never came through it."""
IDENTIFIER_LIMIT_BYTES = 2_048
"""No id, name or ordering key is longer: Pub/Sub allows 1,024 bytes for a key."""
SUBJECT_LIMIT_BYTES = 4_096
"""Cloud Storage allows 1,024 bytes for an object's name, and a subject may hold it percent-encoded: three bytes for each."""

_VERSIONS = ("1.0", "0.3")
_REQUIRED = ("specversion", "id", "source", "type")
_ATTRIBUTES = (*_REQUIRED, "subject", "time")
_ATTEMPT_LIMIT = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One delivery, opened.

    Fields that the delivery does not state are None, or empty. `data` are the message's decoded bytes (of a CloudEvent that wraps no
    Pub/Sub message: its body); it is empty where `fault` says why the message cannot be used.
    """

    form: Literal["push", "binary", "structured"]
    message_id: str | None = None
    """Pub/Sub's message id, else the CloudEvent's id. A publisher's retry gets a new one: it is no key for a dedupe."""
    published_at: datetime | None = None
    """When Pub/Sub accepted the message, else the CloudEvent's time; UTC."""
    data: bytes = b""
    data_base64_ok: bool = True
    """Whether `data` was strict base64; true where there is no data, or none in base64."""
    attributes: dict[str, str] = field(default_factory=dict)
    subscription: str | None = None
    """`projects/P/subscriptions/S`."""
    delivery_attempt: int | None = None
    """Which delivery this is, counted by Pub/Sub (approximately) where the subscription has a dead-letter topic."""
    ordering_key: str | None = None
    event_type: str | None = None
    event_source: str | None = None
    event_subject: str | None = None
    """As in the header: whether senders percent-encode it differs, so a name in it is not to be relied on."""
    fault: str | None = None
    """Why the message cannot be used, if so."""

    def payload(self) -> bytes:
        """The message's bytes.

        Raises:
            Park: unparsable: the message cannot be used, for the reason in `fault`.
        """
        if self.fault is not None:
            raise Park(ParkCode.UNPARSABLE, self.fault)
        return self.data


_PUSH = Envelope(form="push")
"""What is known of a push before its message is read."""


class _Received(CloudEvent):
    """A CloudEvent as received. The package's own class invents an id and a time where the sender gave none."""

    def __init__(self, attributes: Mapping[str, Any], data: object) -> None:
        self.attributes = dict(attributes)
        self.body = data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else b""

    @classmethod
    def create(cls, attributes: Mapping[str, Any], data: object) -> Self:
        return cls(attributes, data)

    def _get_attributes(self) -> dict[str, Any]:
        return self.attributes

    def get_data(self) -> bytes:
        return self.body


def open_envelope(headers: Mapping[str, str], body: bytes) -> Envelope:
    """Read the envelope of one HTTP request.

    Header names are compared without regard to case. The form is told by content where the content type does not tell it.

    Raises:
        Park: too large, of an unknown CloudEvents version, or unparsable: no JSON, no message in it, an incomplete CloudEvent.
    """
    if len(body) > BODY_LIMIT_BYTES:
        raise Park(ParkCode.TOO_LARGE, f"body: {len(body)} bytes are more than any Pub/Sub message can take")
    known = {name.lower(): value for name, value in headers.items()}
    content_type = known.get("content-type", "").strip().lower()
    if content_type.startswith("application/cloudevents-batch"):
        raise Park(ParkCode.UNSUPPORTED, "body: a batch of CloudEvents; only single ones are taken")
    if content_type.startswith("application/cloudevents"):
        return _structured(body)
    if any(f"ce-{name}" in known for name in _REQUIRED):
        return _binary(known, body)
    content = load_json(body, "body")
    if isinstance(content, dict) and "specversion" in content and "message" not in content:
        return _structured(body)
    return _pubsub(content, _PUSH)


def _binary(headers: Mapping[str, str], body: bytes) -> Envelope:
    missing = [name for name in _REQUIRED if not headers.get(f"ce-{name}", "").strip()]
    if missing:
        _refuse(f"CloudEvent: the header ce-{missing[0]} is missing or empty")
    own = {f"ce-{name}": headers[f"ce-{name}"] for name in _ATTRIBUTES if f"ce-{name}" in headers}
    return _cloud_event("binary", own["ce-specversion"], own, body)


def _structured(body: bytes) -> Envelope:
    content = load_json(body, "body")
    if not isinstance(content, dict):
        _refuse(f"body: want a CloudEvent as a JSON object, got {shown(content)}")
    for name in _REQUIRED:
        if not isinstance(content.get(name), str) or not content[name].strip():
            _refuse(f"CloudEvent: {name}: want a text that is not empty, got {shown(content.get(name))}")
    own = {name: content[name] for name in (*_ATTRIBUTES, "data", "data_base64") if content.get(name) is not None}
    if "data" in own and "data_base64" in own:
        _refuse("CloudEvent: data and data_base64 exclude each other")
    decoded = _from_base64("data_base64", own["data_base64"]) if "data_base64" in own else b""
    spoilt = decoded if isinstance(decoded, str) else None
    if spoilt is not None:
        del own["data_base64"]
    try:
        plain = json.dumps(own).encode()
    except RecursionError:
        _refuse("CloudEvent: data nested too deeply")
    return _cloud_event("structured", own["specversion"], {}, plain, spoilt=spoilt)


def _cloud_event(
    form: Literal["binary", "structured"], version: str, headers: Mapping[str, str], body: bytes, *, spoilt: str | None = None
) -> Envelope:
    """Let the cloudevents package read what is known to be complete; `spoilt` says that its data was not base64."""
    if version not in _VERSIONS:
        raise Park(ParkCode.UNSUPPORTED, f"CloudEvent: specversion {shown(version)}; taken are {' and '.join(_VERSIONS)}")
    try:
        event = from_http(_Received, headers, body, data_unmarshaller=lambda data: data)
    except Exception as error:  # noqa: BLE001 (the package raises errors of its own, and whatever it trips over)
        _refuse(f"CloudEvent: {shown(str(error))}")
    faults: list[str] = []
    attributes = event.get_attributes()
    base = Envelope(
        form=form,
        message_id=_text(attributes, ("id",), faults),
        published_at=moment(attributes.get("time")),
        event_type=_text(attributes, ("type",), faults),
        event_source=_text(attributes, ("source",), faults),
        event_subject=_text(attributes, ("subject",), faults, SUBJECT_LIMIT_BYTES),
    )
    if faults:
        _refuse(f"CloudEvent: {faults[0]}")
    if spoilt is not None:
        return replace(base, data_base64_ok=False, fault=f"CloudEvent: {spoilt}")
    if base.event_type == MESSAGE_PUBLISHED:
        return _pubsub(load_json(event.get_data(), "body"), base)
    return replace(base, data=event.get_data())


def _pubsub(content: object, base: Envelope) -> Envelope:
    """A wrapped Pub/Sub message, on top of what the CloudEvent around it said."""
    message = mapping(content).get("message")
    if not isinstance(message, dict):
        _refuse(f"body: {shown(content)} in which no Pub/Sub message is (an object under message); a push subscription must wrap it")
    faults: list[str] = []
    data, base64_ok = b"", True
    encoded = message.get("data")
    if encoded is not None:
        decoded = _from_base64("data", encoded)
        if isinstance(decoded, bytes):
            data = decoded
        else:
            base64_ok = False
            faults.append(decoded)
    attributes = _attributes(message.get("attributes"), faults)
    message_id = _text(message, ("messageId", "message_id"), faults)
    subscription = _text(mapping(content), ("subscription",), faults)
    ordering_key = _text(message, ("orderingKey", "ordering_key"), faults)
    attempt = number(mapping(content).get("deliveryAttempt"))
    return Envelope(
        form=base.form,
        data=b"" if faults else data,
        message_id=message_id or base.message_id,
        published_at=moment(message.get("publishTime")) or moment(message.get("publish_time")) or base.published_at,
        data_base64_ok=base64_ok,
        attributes=attributes,
        subscription=subscription,
        delivery_attempt=int(attempt) if attempt is not None and 0 <= attempt < _ATTEMPT_LIMIT else None,
        ordering_key=ordering_key,
        event_type=base.event_type,
        event_source=base.event_source,
        event_subject=base.event_subject,
        fault=f"message: {faults[0]}" if faults else None,
    )


def _from_base64(name: str, encoded: object) -> bytes | str:
    """The decoded bytes, or what is wrong with the text."""
    if not isinstance(encoded, str):
        return f"{name}: want base64 text, got {shown(encoded)}"
    try:
        return binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError as error:
        return f"{name}: not base64 ({error}): {shown(encoded)}"


def _attributes(value: object, faults: list[str]) -> dict[str, str]:
    """The attributes that can be read; what cannot be is named in `faults`."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.append(f"attributes: want an object, got {shown(value)}")
        return {}
    if len(value) > ATTRIBUTE_COUNT_LIMIT:
        faults.append(f"attributes: {len(value)} of them, Pub/Sub allows {ATTRIBUTE_COUNT_LIMIT}")
    read: dict[str, str] = {}
    for name, text in list(value.items())[:ATTRIBUTE_COUNT_LIMIT]:
        if not isinstance(text, str):
            faults.append(f"attributes: {shown(name)}: want a text, got {shown(text)}")
        elif not (_fits(name, ATTRIBUTE_NAME_LIMIT_BYTES) and _fits(text, ATTRIBUTE_VALUE_LIMIT_BYTES)):
            faults.append(
                f"attributes: {shown(name)}: no text that Pub/Sub carries (names of {ATTRIBUTE_NAME_LIMIT_BYTES} bytes, "
                f"values of {ATTRIBUTE_VALUE_LIMIT_BYTES})"
            )
        else:
            read[name] = text
    return read


def _text(
    content: Mapping[str, object], names: tuple[str, ...], faults: list[str], limit_bytes: int = IDENTIFIER_LIMIT_BYTES
) -> str | None:
    """The first of the spellings that is there; None where none is, or it is empty."""
    value = next((content[name] for name in names if content.get(name) is not None), None)
    if value is None or value == "":
        return None
    if isinstance(value, str) and _fits(value, limit_bytes):
        return value
    faults.append(f"{names[0]}: want a text of at most {limit_bytes} bytes, got {shown(value)}")
    return None


def _fits(text: str, limit_bytes: int) -> bool:
    """Whether the text is UTF-8 of at most so many bytes: JSON escapes can smuggle in half of a surrogate pair."""
    try:
        return len(text) <= limit_bytes and len(text.encode()) <= limit_bytes
    except UnicodeEncodeError:
        return False


def _refuse(reason: str) -> NoReturn:
    raise Park(ParkCode.UNPARSABLE, reason) from None
