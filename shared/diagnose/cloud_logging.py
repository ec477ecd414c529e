"""An export of Cloud Logging as log lines: a JSON array, one entry a line, or one entry. Pure.

`gcloud logging read --format=json` writes an array, newest first; sinks and `jq -c` write an entry a line. Lines come out oldest first:
`request log: 12:00:03 severity=WARNING httpRequest.status=429 "..."`. A text that is no JSON is taken as plain lines.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shared.diagnose.evidence_text import EvidenceTextError, bounded, load_json
from shared.diagnose.lines import MAX_LINES

_WHAT = "log of Cloud Logging"
_MAX_ENTRIES = 4 * MAX_LINES
_LONG = 4_000
"""Characters of one entry's text that are kept."""
_MESSAGES = ("message", "msg", "error", "text", "event")
_PAYLOADS = ("textPayload", "jsonPayload", "protoPayload", "httpRequest", "logName")
_CODE = {
    10: "ABORTED",
    6: "ALREADY_EXISTS",
    3: "INVALID_ARGUMENT",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
}


def read_cloud_logging(text: str) -> tuple[str, ...]:
    """The entries as lines, oldest first where they have times; plain text as its own lines.

    Raises:
        EvidenceTextError: too long, or JSON that holds no entries.
    """
    bounded(text, _WHAT)
    body = text.removeprefix("\ufeff").strip()
    if body[:1] not in {"[", "{"}:
        return tuple(line for line in body.splitlines() if line.strip())[:_MAX_ENTRIES]
    entries = [each for each in _entries(body) if isinstance(each, dict)]
    if body[:1] == "{" and not any(each.keys() & set(_PAYLOADS) for each in entries):
        raise EvidenceTextError(f"{_WHAT}: no entry has one of {', '.join(_PAYLOADS)}")
    timed = sorted(entries[:_MAX_ENTRIES], key=lambda each: str(each.get("timestamp") or ""))
    return tuple(line for entry in timed for line in _lines(entry))


def _entries(body: str) -> list[Any]:
    if body[:1] == "[":
        value = load_json(body, _WHAT)
        return value if isinstance(value, list) else []
    try:
        return [json.loads(body)]
    except (ValueError, RecursionError):
        return [load_json(line, f"{_WHAT}, line {number}") for number, line in enumerate(body.splitlines(), start=1) if line.strip()]


def _lines(entry: Mapping[str, Any]) -> Iterator[str]:
    head = " ".join(part for part in (_who(entry), _time(entry), _status(entry)) if part)
    texts = [text for text in _texts(entry) if text.strip()]
    for text in texts or ([""] if "httpRequest" in entry else []):
        flat = " ".join(text[:_LONG].split())
        quoted = f'"{flat}"' if "httpRequest" in entry and flat else flat
        yield f"{head} {quoted}".strip()


def _who(entry: Mapping[str, Any]) -> str:
    name = str(entry.get("logName") or "").replace("%2F", "/")
    if name.endswith("run.googleapis.com/requests") or "httpRequest" in entry:
        return "request log:"
    if name.endswith(("/stdout", "/stderr")):
        return "server:"
    return "platform:" if name.endswith(("varlog/system", "/system_event", "/activity")) else ""


def _time(entry: Mapping[str, Any]) -> str:
    stamp = str(entry.get("timestamp") or "")
    return stamp.partition("T")[2][:8] if "T" in stamp else ""


def _status(entry: Mapping[str, Any]) -> str:
    parts = []
    severity = entry.get("severity")
    request = entry.get("httpRequest")
    if isinstance(severity, str) and severity not in {"DEFAULT", "INFO"}:
        parts.append(f"severity={severity[:20]}")
    if isinstance(request, dict):
        if isinstance(request.get("requestMethod"), str) and isinstance(request.get("requestUrl"), str):
            parts.append(f"{request['requestMethod'][:10]} {request['requestUrl'].partition('?')[0][:200]}")
        if isinstance(request.get("status"), int):
            parts.append(f"httpRequest.status={request['status']}")
        if request.get("latency"):
            parts.append(f"latency={str(request['latency'])[:20]}")
    resource = entry.get("resource")
    labels = resource.get("labels") if isinstance(resource, dict) else None
    revision = labels.get("revision_name") if isinstance(labels, dict) else None
    if isinstance(revision, str) and revision:
        parts.append(f"revision={revision[:63]}")
    return " ".join(parts)


def _texts(entry: Mapping[str, Any]) -> Iterator[str]:
    text = entry.get("textPayload")
    if isinstance(text, str):
        yield text
    payload = entry.get("jsonPayload")
    if isinstance(payload, dict):
        said = next((payload[name] for name in _MESSAGES if isinstance(payload.get(name), str)), None)
        yield said if said is not None else json.dumps(payload, ensure_ascii=False, default=str)[:_LONG]
    audit = entry.get("protoPayload")
    if isinstance(audit, dict):
        yield from _of_audit(audit)


def _of_audit(audit: Mapping[str, Any]) -> Iterator[str]:
    method = str(audit.get("methodName") or "")[:100]
    status = audit.get("status")
    if isinstance(status, dict) and isinstance(status.get("message"), str):
        code = status.get("code")
        yield " ".join(part for part in (method, _CODE.get(code, "") if isinstance(code, int) else "", status["message"]) if part)
    response = audit.get("response")
    conditions = response.get("status") if isinstance(response, dict) else None
    listed = conditions.get("conditions") if isinstance(conditions, dict) else None
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and each.get("type") == "Ready":
            yield f"Ready: {each.get('status')}, reason: {each.get('reason') or ''} {each.get('message') or ''}".strip()
