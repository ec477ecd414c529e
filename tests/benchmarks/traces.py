"""What spans cost an event: switched off, switched on and the request not recorded, recorded and sent."""

import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.overhead import CONNECTIONS, drive
from tests.benchmarks.servers import Server, compiled_environment, serving
from tests.benchmarks.sources import APPS
from tests.benchmarks.table import Area, Row
from tests.support.telemetry_door import telemetry_door

SIDES = {"off": "0", "not recorded": "1e-12", "recorded": "1"}
LEAST_RATIO = 0.85
"""Of events per second where traces are on but a request is not recorded: what all but a few requests are."""

HOW = (
    "The alert function as in Overhead, three times: without spans, with spans switched on at a ratio at which no request is recorded, and "
    "with every request recorded (a span of the request and one of each call of a port, sent as OTLP over HTTP before the answer to a "
    "collector on this machine, in the process of the benchmark). {connections} connections, {rounds} rounds of {requests} requests in "
    "turns. To Google's Telemetry API the way is longer: a recorded request waits for it, at most two seconds."
)


def measure(*, rounds: int = 12, requests: int = 300) -> Area:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scratch, door = Path(name), stack.enter_context(telemetry_door())
        servers: list[Server] = []
        for label, share in SIDES.items():
            environment = compiled_environment(scratch / "compiled", BENCH_RATIO=share, BENCH_COLLECTOR=door.endpoint)
            servers.append(stack.enter_context(serving("alert", APPS / "alert_traced.py", environment, scratch / f"{label}.log")))
        for server in servers:
            server.first_answer(b"{}")
        warm = len(door.spans())
        before = [server.cpu_seconds() for server in servers]
        results = drive([server.port for server in servers], rounds, requests)
        used = [server.cpu_seconds() - start for server, start in zip(servers, before, strict=True)]
        spans = len(door.spans()) - warm
    rows = []
    for number, label in enumerate(SIDES):
        ratio = statistics.median(row[0].wall_seconds / row[number].wall_seconds for row in results)
        milliseconds = 1_000 * (used[number] - used[0]) / (rounds * requests)
        if number:
            judged = label == "not recorded"
            bound, holds = (f">= {LEAST_RATIO:.2f}", ratio >= LEAST_RATIO) if judged else ("", None)
            rows.append(Row(f"events/s, {label} / off", f"median {ratio:.2f}", bound, holds))
            rows.append(Row(f"processor time of an event, {label} more than off", f"{milliseconds:.2f} ms"))
    failed = sum(side.failed for row in results for side in row)
    rows.append(Row("spans of a recorded event", f"{spans / (rounds * requests):.2f}"))
    rows.append(Row("answers that were no success", f"{failed}", "0", failed == 0))
    return Area("Traces", HOW.format(connections=CONNECTIONS, rounds=rounds, requests=requests), tuple(rows))
