"""Cloud Logging's `entries:list`: what is asked of it, and what its entries say."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from shared.errors import Refused, Retry
from shared.gcp.cloud_logging import CloudLogging
from shared.records.evidence import KEPT_ALIKE, LINE_LIMIT, LogLines, LogSource
from tests.support.builders import NOW, RANKER, at
from tests.support.json_door import Asked, JsonDoor, refusal

LOG = "projects/acme-ml/logs/run.googleapis.com%2F"
Answer = Callable[[Asked], tuple[int, Any]]


def entry(text: str, *, log: str = "stderr", seconds: float = -60, **fields: Any) -> dict[str, Any]:
    labels = {"service_name": "ranker", "revision_name": "ranker-00007-abc", "location": "europe-west1"}
    resource = {"type": "cloud_run_revision", "labels": labels}
    return {"logName": LOG + log, "timestamp": at(seconds).isoformat(), "resource": resource, "textPayload": text, **fields}


class Reader:
    """A client before a door whose answers are two: what was written, and the refused requests."""

    def __init__(self) -> None:
        self.written: tuple[int, Any] = (200, {})
        self.requests: tuple[int, Any] = (200, {})
        self.door = JsonDoor(lambda asked: self.requests if "requests" in asked.body["filter"] else self.written)

    def recent(self, limit: int = 100) -> LogLines:
        client = CloudLogging(endpoint=self.door.endpoint)
        try:
            return client.recent(RANKER, since=NOW - timedelta(seconds=900), until=NOW, limit=limit)
        finally:
            client.close()


@pytest.fixture
def reader() -> Iterator[Reader]:
    made = Reader()
    with made.door:
        yield made


def test_two_calls_ask_for_one_services_lines_of_a_quarter_of_an_hour(reader: Reader) -> None:
    reader.recent()
    written, requests = (asked.body for asked in reader.door.seen)
    assert (written["resourceNames"], written["orderBy"]) == (["projects/acme-ml"], "timestamp desc")
    assert written["filter"] == (
        'resource.type=("cloud_run_revision" OR "cloud_run_service") AND resource.labels.service_name="ranker" '
        'AND resource.labels.location="europe-west1" '
        f'AND logName=("{LOG}stdout" OR "{LOG}stderr" OR "{LOG}varlog%2Fsystem" '
        'OR "projects/acme-ml/logs/cloudaudit.googleapis.com%2Fsystem_event") '
        'AND timestamp>="2026-11-30T02:45:00.000000Z" AND timestamp<"2026-11-30T03:00:00.000000Z"'
    )
    assert requests["filter"].endswith("AND severity>=WARNING")
    assert (written["pageSize"], requests["pageSize"]) == (200, 50)


def test_lines_come_oldest_first_with_who_wrote_them(reader: Reader) -> None:
    reader.written = (
        200,
        {
            "entries": [
                entry("Container called exit(255).", log="varlog%2Fsystem", seconds=-10, severity="WARNING"),
                entry("Failed to start server. Error: INVALID_ARGUMENT", seconds=-20),
            ]
        },
    )
    aborted = "The request was aborted because there was no available instance."
    reader.requests = (200, {"entries": [entry(aborted, log="requests", seconds=-15, severity="WARNING", httpRequest={"status": 429})]})
    found = reader.recent()
    assert [(line.source, line.text, line.status) for line in found.lines] == [
        (LogSource.SERVER, "Failed to start server. Error: INVALID_ARGUMENT", None),
        (LogSource.REQUEST, aborted, 429),
        (LogSource.PLATFORM, "Container called exit(255).", None),
    ]
    assert (found.complete, found.lines[0].revision, found.lines[2].severity) == (True, "ranker-00007-abc", "WARNING")


def test_messages_of_json_and_of_audit_entries_are_read(reader: Reader) -> None:
    structured, audit = entry("", seconds=-9), entry("", log="x", seconds=-5)
    del structured["textPayload"], audit["textPayload"]
    structured["jsonPayload"] = {"message": "OOM when allocating tensor", "other": 1}
    audit["protoPayload"] = {"status": {"message": "Revision 'ranker-00008-xyz' is not ready and cannot serve traffic."}}
    audit["timestamp"] = "2026-11-30T02:59:55.123456789Z"
    reader.written = (200, {"entries": [structured, audit]})
    first, second = reader.recent().lines
    assert (first.text, first.source) == ("OOM when allocating tensor", LogSource.SERVER)
    assert (second.text.split()[0], second.source) == ("Revision", LogSource.PLATFORM)


def test_a_refusal_without_a_text_is_the_containers_own(reader: Reader) -> None:
    silent = entry("", log="requests", httpRequest={"status": 503})
    del silent["textPayload"]
    reader.requests = (200, {"entries": [silent]})
    (line,) = reader.recent().lines
    assert (line.status, line.text) == (503, "answered by the container")


def test_a_flood_of_one_line_does_not_hide_another(reader: Reader) -> None:
    flood = [entry(f"Retrying of Loading servable: retry: {n}", seconds=-n) for n in range(1, 150)]
    reader.written = (200, {"entries": [*flood, entry("the one that matters", seconds=-200)], "nextPageToken": "more"})
    found = reader.recent()
    assert found.lines[0].text == "the one that matters"
    assert (len(found.lines), found.complete) == (1 + KEPT_ALIKE, False)


def test_lines_are_cut_and_counted(reader: Reader) -> None:
    reader.written = (200, {"entries": [entry("x" * 5_000, seconds=-1), entry("a"), entry("b"), entry("c")]})
    found = reader.recent(limit=2)
    assert (len(found.lines), len(found.lines[-1].text), found.complete) == (2, LINE_LIMIT, False)


@pytest.mark.parametrize("spoilt", [7, {}, {"timestamp": "yesterday", "textPayload": "x"}, {"timestamp": 1}, {"textPayload": " "}])
def test_an_entry_that_is_not_as_documented_is_passed_over(reader: Reader, spoilt: Any) -> None:
    reader.written = (200, {"entries": [spoilt, entry("good")]})
    assert [line.text for line in reader.recent().lines] == ["good"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_too_many_reads_and_outages_are_retried(reader: Reader, status: int) -> None:
    reader.written = refusal(status, "Quota exceeded for quota metric 'Read requests'")
    with pytest.raises(Retry, match=f"the logs of acme-ml:europe-west1:ranker: HTTP {status}: Quota exceeded"):
        reader.recent()


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_told_in_googles_words(reader: Reader, status: int) -> None:
    reader.written = refusal(status, "Permission denied for all log views")
    with pytest.raises(Refused, match="Permission denied for all log views"):
        reader.recent()


@pytest.mark.parametrize("body", [b"", b"[]", b"no json", b"[" * 100_000, b'{"entries": 7}'])
def test_an_answer_that_is_none_is_not_guessed_at(reader: Reader, body: bytes) -> None:
    reader.written = (200, body)
    with pytest.raises(Retry):
        reader.recent()
