"""Many spoilt requests through the alert function: always an answer that ends the delivery, nothing lost, no long log line."""

import base64
import contextlib
import hashlib
import io
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.clock import SystemClock
from shared.handlers.alert import handle_alert
from shared.handlers.answer import Handled, ReadBody, serve
from shared.handlers.keeping import FactPorts
from shared.log import LINE_LIMIT_BYTES
from tests.benchmarks.table import Area, Row, at_most
from tests.benchmarks.twins import ListBus, MemoryStore, as_bus, as_store
from tests.support.mutate import Mutator
from tests.support.rig import PostedRequest

FIXTURES = Path(__file__).parents[1] / "fixtures" / "events"
SEED = 20_261_130
TEST_MESSAGE = "console test notification"

HOW = (
    "{cases:,} requests made from the {valid} event fixtures (notifications wrapped as Pub/Sub pushes them) by a seeded mutator (bits, "
    "bytes, JSON values, nesting, base64, headers; about one in eight is left whole), through the function's own answer and handler with "
    "ports in memory. Nothing lost: whatever is answered with success is the console's test message, or its fact is in the store, or the "
    "store was given exactly these bytes to park. "
    "Time is that of the handling alone, without making the requests."
)


@dataclass
class Found:
    """What the requests came to."""

    statuses: Counter[int] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    longest_line_bytes: int = 0
    lines: int = 0
    seconds: float = 0.0
    slowest_seconds: float = 0.0
    slowest: str = ""


class _Lines(io.TextIOBase):
    """Standard output that keeps only the length of its longest line."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def write(self, text: str) -> int:
        self._found.lines += text.count("\n")
        self._found.longest_line_bytes = max(self._found.longest_line_bytes, *(len(line.encode()) for line in text.split("\n")))
        return len(text)


def measure(*, cases: int = 100_000) -> Area:
    valid = [_delivered(json.loads(path.read_text()), path.stem) for path in sorted(FIXTURES.glob("*.json"))]
    found = run(cases, valid)
    server_errors = sum(count for status, count in found.statuses.items() if status >= 500)
    rows = (
        Row("answers of 5xx", f"{server_errors}", "0", server_errors == 0),
        Row("statuses", _counted(found.statuses), "200 and 405 only", set(found.statuses) <= {200, 405}),
        Row("what became of those answered 200", _counted(found.verdicts)),
        Row("lost", f"{found.lost}", "0", found.lost == 0),
        at_most(f"longest of {found.lines:,} log lines", found.longest_line_bytes, LINE_LIMIT_BYTES, " bytes", digits=0),
        Row("slowest request", f"{1e3 * found.slowest_seconds:.1f} ms ({found.slowest})"),
        Row("requests/s, one thread, without HTTP", f"{cases / found.seconds:,.0f}"),
    )
    return Area("Bad input", HOW.format(cases=cases, valid=len(valid)), rows)


def _delivered(fixture: dict[str, Any], name: str) -> tuple[dict[str, str], bytes]:
    """The fixture as HTTP brings it: a bare notification is wrapped in a push."""
    headers, body = fixture["headers"], json.dumps(fixture["body"]).encode()
    if headers or not isinstance(fixture["body"], dict) or "incident" not in fixture["body"]:
        return headers, body
    message = {"data": base64.b64encode(body).decode(), "messageId": name, "attributes": {}, "publishTime": "2026-11-01T08:00:01.5Z"}
    return headers, json.dumps({"message": message, "subscription": "projects/acme-ml/subscriptions/alerts"}).encode()


def run(cases: int, valid: list[tuple[dict[str, str], bytes]]) -> Found:
    """Spoil and send; one request in a hundred comes with another method than POST."""
    found, mutator, clock = Found(), Mutator(SEED), SystemClock()
    store, bus = MemoryStore(), ListBus()
    ports = FactPorts.of(as_store(store), as_bus(bus), clock)
    with contextlib.redirect_stdout(_Lines(found)):
        for case in range(cases):
            headers, body = mutator.request(*valid[case % len(valid)])
            request = PostedRequest(body, headers, method=("GET", "PUT", "HEAD")[case % 3] if case % 100 == 99 else "POST")
            seen: list[Handled] = []

            def handle(headers: object, read: ReadBody, into: list[Handled] = seen) -> Handled:
                assert isinstance(headers, dict)
                into.append(handle_alert(headers, read, ports))
                return into[0]

            store.last_parked = None
            began = time.perf_counter()
            status = serve("alert", request, handle)[1]
            spent = time.perf_counter() - began
            found.seconds += spent
            if spent > found.slowest_seconds:
                found.slowest_seconds, found.slowest = spent, f"{len(body):,} bytes, {seen[0].verdict if seen else 'no verdict'}"
            found.statuses[status] += 1
            if status == 200:
                found.verdicts[seen[0].verdict] += 1
                found.lost += not _kept(seen[0], body, store)
            bus.published.clear()
    return found


def _kept(handled: Handled, body: bytes, store: MemoryStore) -> bool:
    if handled.verdict == "ignored":
        return handled.detail == TEST_MESSAGE
    if handled.verdict == "parked":
        given = store.last_parked
        return given is not None and given.body_sha256 == hashlib.sha256(body).hexdigest() and given.key in store.parked_entries
    return (handled.detail.rsplit(" ", 1)[0], handled.key) in store.facts


def _counted(counts: Counter[int] | Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
