"""The logs of a Cloud Run service, over Cloud Logging's REST API (`entries:list`): read, nothing else.

Two calls a look: what containers and Cloud Run wrote, and the requests that were refused. Apart, because a thousand refusals a second
would fill every page before the one line that says why. Cloud Logging takes 60 reads a minute of a project; above that the answer is
429, and the logs are Unknown until the next look.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from shared.errors import Retry
from shared.gcp.filters import quoted, timestamp
from shared.gcp.json_calls import RETRY_SECONDS, JsonCalls
from shared.records.evidence import KEPT_LINES, LogLine, LogLines, LogSource
from shared.records.subject import ServiceId

GOOGLE = "https://logging.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/logging.read"
CALL_SECONDS = 3.0
"""For each of the two: with the six seconds of the readings, a look that began them early enough still has time to write."""
PAGE_OF_REQUESTS = 50
"""Refused requests are alike; a page of them shows every kind there is."""

_REQUESTS = "run.googleapis.com%2Frequests"
_WRITTEN = (
    "run.googleapis.com%2Fstdout",
    "run.googleapis.com%2Fstderr",
    "run.googleapis.com%2Fvarlog%2Fsystem",
    "cloudaudit.googleapis.com%2Fsystem_event",
)
_SOURCES = {_REQUESTS: LogSource.REQUEST, _WRITTEN[0]: LogSource.SERVER, _WRITTEN[1]: LogSource.SERVER}


class CloudLogging:
    """The `Logs` port on Cloud Logging. `endpoint` is for a simulated one on this machine, without credentials."""

    def __init__(self, *, endpoint: str | None = None) -> None:
        self._calls = JsonCalls(GOOGLE, SCOPE, endpoint=endpoint)

    def recent(self, service: ServiceId, *, since: datetime, until: datetime, limit: int) -> LogLines:
        """The newest lines of [since, until), at most `limit`.

        Raises:
            Retry: Cloud Logging did not answer, or not in time, or too many asked.
            Refused: the log may not be read.
        """
        wanted = min(limit, KEPT_LINES)
        written, more = self._list(service, _WRITTEN, since, until, page=2 * wanted, condition="")
        refused, more_refused = self._list(service, (_REQUESTS,), since, until, page=PAGE_OF_REQUESTS, condition="severity>=WARNING")
        return LogLines.of([*written, *refused], complete=not (more or more_refused), limit=wanted)

    def close(self) -> None:
        """Close the session; the next call opens a new one."""
        self._calls.close()

    def _list(
        self, service: ServiceId, logs: tuple[str, ...], since: datetime, until: datetime, *, page: int, condition: str
    ) -> tuple[list[LogLine], bool]:
        body = {
            "resourceNames": [f"projects/{service.project}"],
            "filter": _filter(service, logs, since, until, condition),
            "orderBy": "timestamp desc",
            "pageSize": page,
        }
        what = f"the logs of {service}"
        answer = self._calls.call("POST", "/v2/entries:list", what=what, within_seconds=CALL_SECONDS, body=body)
        entries = answer.get("entries", [])
        if not isinstance(entries, list):
            raise Retry(f"{what}: the answer is not as documented: entries is no list", after_seconds=RETRY_SECONDS)
        return list(_lines(entries)), bool(answer.get("nextPageToken"))


def _filter(service: ServiceId, logs: tuple[str, ...], since: datetime, until: datetime, condition: str) -> str:
    names = " OR ".join(quoted(f"projects/{service.project}/logs/{log}") for log in logs)
    parts = [
        'resource.type=("cloud_run_revision" OR "cloud_run_service")',
        f"resource.labels.service_name={quoted(service.name)}",
        f"resource.labels.location={quoted(service.region)}",
        f"logName=({names})",
        f"timestamp>={_quoted_time(since)}",
        f"timestamp<{_quoted_time(until)}",
    ]
    return " AND ".join([*parts, condition] if condition else parts)


def _quoted_time(moment: datetime) -> str:
    return quoted(timestamp(moment))


def _lines(entries: list[Any]) -> Iterator[LogLine]:
    """The entries that say something; one that is not as documented is passed over: the others are evidence all the same."""
    for entry in entries:
        line = _line(entry) if isinstance(entry, dict) else None
        if line is not None:
            yield line


def _line(entry: Mapping[str, Any]) -> LogLine | None:
    request = entry.get("httpRequest")
    status = request.get("status") if isinstance(request, dict) else None
    text = _text(entry)
    if not text and isinstance(status, int):
        text = "answered by the container"
    log = str(entry.get("logName", "")).rpartition("/logs/")[2]
    resource = entry.get("resource")
    labels = resource.get("labels", {}) if isinstance(resource, dict) else {}
    try:
        return LogLine.of(
            text=text,
            at=datetime.fromisoformat(entry["timestamp"]),
            source=_SOURCES.get(log, LogSource.PLATFORM),
            severity=str(entry.get("severity", "")),
            status=status,
            revision=str(labels.get("revision_name", "")) if isinstance(labels, dict) else "",
        )
    except (KeyError, TypeError, ValueError, ValidationError):
        return None


def _text(entry: Mapping[str, Any]) -> str:
    """What the entry says: as text, as the message of JSON, or as the status of an audit entry."""
    if isinstance(entry.get("textPayload"), str):
        return str(entry["textPayload"])
    structured = entry.get("jsonPayload")
    if isinstance(structured, dict) and isinstance(structured.get("message"), str):
        return str(structured["message"])
    audit = entry.get("protoPayload")
    status = audit.get("status") if isinstance(audit, dict) else None
    return str(status["message"]) if isinstance(status, dict) and isinstance(status.get("message"), str) else ""
