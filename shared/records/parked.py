"""`parked/{key}`: what could not be understood or routed, with its reason and its body, for a person to look at.

Fields: `schema_version`, `code`, `reason`, `source` (which function), `subject` (if it was known), `message_id`, `attributes`
(bounded; Firestore keeps them as JSON text: not every name may be a map's key there), `body` (bounded text; bytes that are no UTF-8 are
kept as base64), `body_encoding`, `body_bytes` (its full size), `body_sha256`, `parked_at`. The key is the message's id, or made of the
body where that cannot be read: a repeat of a delivery is the same document.
"""

import base64
import codecs
import hashlib
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field

from shared.records.base import Record, UtcTime
from shared.records.facts import LongText, ShortText
from shared.records.subject import document_id

BODY_LIMIT_BYTES = 64 * 1024
ATTRIBUTE_LIMIT = 32

_UTF_8 = codecs.getincrementaldecoder("utf-8")
"""Leaves out a character that the limit cuts in two."""


class ParkCode(StrEnum):
    """Why something is parked."""

    UNPARSABLE = "unparsable"
    """The body is not what the function takes: no JSON, bad base64, a wrong shape."""
    UNSUPPORTED = "unsupported"
    """It is well formed, but of a type or version that this function does not take."""
    UNROUTABLE = "unroutable"
    """It names no service: project, region or name is missing or malformed."""
    NO_SIGNAL = "no-signal"
    """It is an alert about a service, but neither its label nor its condition says what it means."""
    TOO_LARGE = "too-large"
    """The body is larger than any message Pub/Sub can carry."""
    NO_SPEC = "no-spec"
    """It is about a service that Trimtab does not look after."""
    FORBIDDEN = "forbidden"
    """It is a command that whoever sent it has no right to give. Have the grants extended, and send it again."""
    SUPERSEDED = "superseded"
    """It is a command for a spec that has been changed since."""
    INVALID_COMMAND = "invalid-command"
    """It is a command that was understood and cannot be done: a spec that is not admitted, a hold that is not there."""
    UNREADABLE_RECORD = "unreadable-record"
    """A stored document was written by newer code, or is damaged."""


class Parked(Record):
    """One parked event."""

    schema_version: Literal[1] = 1
    key: str
    code: ParkCode
    reason: LongText
    source: ShortText
    subject: ShortText | None = None
    message_id: ShortText | None = None
    attributes: dict[str, str] = Field(default_factory=dict)
    body: str = ""
    body_encoding: Literal["utf-8", "base64"] = "utf-8"
    body_bytes: int = 0
    body_sha256: str = ""
    parked_at: UtcTime

    @classmethod
    def of(
        cls,
        *,
        code: str,
        reason: str,
        source: str,
        body: bytes,
        now: datetime,
        subject: str | None = None,
        message_id: str | None = None,
        attributes: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Self:
        """Bound everything and derive the key: `source:` and the body's SHA-256 unless a natural key is given."""
        digest = hashlib.sha256(body).hexdigest()
        kept = body[:BODY_LIMIT_BYTES]
        try:
            text, encoding = _UTF_8().decode(kept, final=len(body) <= BODY_LIMIT_BYTES), "utf-8"
        except UnicodeDecodeError:
            text, encoding = base64.b64encode(kept).decode("ascii"), "base64"
        shown = {str(name)[:256]: str(value)[:1024] for name, value in list((attributes or {}).items())[:ATTRIBUTE_LIMIT]}
        return cls.model_validate(
            {
                "key": document_id(key if key is not None else f"{source}:{digest}"),
                "code": code,
                "reason": reason[:1024],
                "source": source[:256],
                "subject": subject[:256] if subject else None,
                "message_id": message_id[:256] if message_id else None,
                "attributes": shown,
                "body": text,
                "body_encoding": encoding,
                "body_bytes": len(body),
                "body_sha256": digest,
                "parked_at": now,
            }
        )
