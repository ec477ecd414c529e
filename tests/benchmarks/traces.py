"""What spans cost an event: switched off, switched on and the request not recorded, recorded and sent to a collector near and far."""

import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.overhead import CONNECTIONS, drive
from tests.benchmarks.servers import Server, compiled_environment, serving
from tests.benchmarks.sources import APPS
from tests.benchmarks.table import Area, Row
from tests.support.telemetry_door import telemetry_door

SIDES = {"off": "0", "not recorded": "1e-12", "recorded": "1", "recorded, answered after 100 ms": "1"}
DELAY_SECONDS = 0.1
LEAST_RATIO = 0.85
"""Of events per second where traces are on but a request is not recorded: what all but a few requests are."""

HOW = (
    "The alert function as in Overhead, four times: without spans, with spans switched on at a ratio at which no request is recorded, and "
    "with every request recorded (a span of the request and one of each call of a port, sent as OTLP over HTTP before the answer to a "
    "collector on this machine, in the process of the benchmark), and the same with a collector that takes {delay:.0f} ms. "
    "{connections} connections, {rounds} rounds of {requests} requests in "
    "turns. A recorded request waits for the answer, at most two seconds; what is handed over meanwhile goes together."
)


def measure(*, rounds: int = 12, requests: int = 300) -> Area:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scratch, near, far = Path(name), stack.enter_context(telemetry_door()), stack.enter_context(telemetry_door())
        far.delay_seconds = DELAY_SECONDS
        servers: list[Server] = []
        for number, (label, share) in enumerate(SIDES.items()):
            collector = far if label.endswith("ms") else near
            environment = compiled_environment(scratch / "compiled", BENCH_RATIO=share, BENCH_COLLECTOR=collector.endpoint)
            servers.append(stack.enter_context(serving("alert", APPS / "alert_traced.py", environment, scratch / f"{number}.log")))
        for server in servers:
            server.first_answer(b"{}")
        warm = len(near.spans())
        before = [server.cpu_seconds() for server in servers]
        results = drive([server.port for server in servers], rounds, requests)
        used = [server.cpu_seconds() - start for server, start in zip(servers, before, strict=True)]
        spans = len(near.spans()) - warm
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
    how = HOW.format(connections=CONNECTIONS, rounds=rounds, requests=requests, delay=1_000 * DELAY_SECONDS)
    return Area("Traces", how, tuple(rows))
