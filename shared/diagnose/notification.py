"""The body of a Cloud Monitoring notification as the incident that a diagnosis takes. Pure.

As it is sent to a webhook (`{"incident": {...}, "version": "1.2"}`), as Pub/Sub pushes it (`message.data` in base64), or the incident
alone.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from shared.diagnose.evidence_text import EvidenceTextError, load_json

_WHAT = "notification of Cloud Monitoring"
_FIELDS = frozenset({"incident_id", "policy_name", "condition_name", "condition", "started_at"})


def read_notification(text: str) -> Mapping[str, Any]:
    """The `incident` object.

    Raises:
        EvidenceTextError: too long, no JSON, or there is no incident in it.
    """
    body = load_json(text.removeprefix("\ufeff"), _WHAT)
    if isinstance(body, dict) and isinstance(body.get("message"), dict):
        body = _pushed(body["message"])
    if isinstance(body, dict):
        incident = body.get("incident", body if body.keys() & _FIELDS else None)
        if isinstance(incident, dict):
            return incident
    raise EvidenceTextError(f"{_WHAT}: it has no object named incident")


def _pushed(message: Mapping[str, Any]) -> Any:
    data = message.get("data")
    if not isinstance(data, str):
        raise EvidenceTextError(f"{_WHAT}: the Pub/Sub message has no data")
    try:
        return load_json(base64.b64decode(data, validate=True).decode("utf-8"), _WHAT)
    except (binascii.Error, UnicodeDecodeError):
        raise EvidenceTextError(f"{_WHAT}: the Pub/Sub message's data is no base64 of UTF-8") from None
