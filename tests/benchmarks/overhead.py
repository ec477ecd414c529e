"""Events per second of the alert function against a function that does nothing, both as real servers."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.load import Drive
from tests.benchmarks.servers import Server, compiled_environment, serving
from tests.benchmarks.sources import APPS
from tests.benchmarks.table import Area, Row

CONNECTIONS = 8
LEAST_RATIO = 0.5
MOST_GENERATOR_SHARE = 0.5

HOW = (
    "Both functions run under functions-framework and gunicorn with its default settings, in processes of their own, and get the same "
    "distinct Cloud Monitoring notifications as Pub/Sub pushes them (2,000 services in turns; each event stores a fact and publishes a "
    "wake). Load: {connections} keep-alive connections from a third process, {rounds} rounds of {requests} requests, the sides in turns "
    "within each round. The store in memory is a dictionary of the records in their stored form; the bus makes the messages and keeps "
    "none. Log lines go to standard output, which leads to a file. The bound is judged by the median of the rounds' ratios. For "
    "comparison, the same with the SQLite store in memory: its SQL and its locks are then part of the event."
)


def measure(*, rounds: int = 12, requests: int = 500) -> Area:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scratch = Path(name)
        servers: dict[str, Server] = {}
        for label, target, app, variables in (
            ("no-op", "no_op", "no_op.py", {}),
            ("alert", "alert", "alert_in_memory.py", {}),
            ("alert, SQLite", "alert", "alert_in_memory.py", {"BENCH_STORE": "sqlite"}),
        ):
            environment = compiled_environment(scratch / "compiled", **variables)
            servers[label] = stack.enter_context(serving(target, APPS / app, environment, scratch / f"{label}.log"))
        for server in servers.values():
            server.first_answer(b"{}")
        before = [server.cpu_seconds() for server in servers.values()]
        results = drive([server.port for server in servers.values()], rounds, requests)
        used = [server.cpu_seconds() - start for server, start in zip(servers.values(), before, strict=True)]
    return Area(
        "Overhead", HOW.format(connections=CONNECTIONS, rounds=rounds, requests=requests), _rows(list(servers), results, used, requests)
    )


def drive(ports: list[int], rounds: int, requests: int) -> list[list[Drive]]:
    """Each round's sides, in the order of the ports."""
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.load",
        f"--rounds={rounds}",
        f"--requests={requests}",
        f"--connections={CONNECTIONS}",
    ]
    output = subprocess.run([*command, *map(str, ports)], check=True, capture_output=True, text=True, timeout=600).stdout
    return [[Drive(*side) for side in row] for row in json.loads(output)]


def _rows(labels: list[str], results: list[list[Drive]], used: list[float], requests: int) -> tuple[Row, ...]:
    failed = sum(side.failed for row in results for side in row)
    share = max(side.own_cpu_seconds / side.wall_seconds for row in results for side in row)
    rows = []
    for number, label in enumerate(labels):
        rates = [requests / row[number].wall_seconds for row in results]
        rows.append(Row(f"events/s, {label}", f"best {max(rates):,.0f}, median {statistics.median(rates):,.0f}"))
    for number, label in enumerate(labels[1:], start=1):
        ratio = statistics.median(row[0].wall_seconds / row[number].wall_seconds for row in results)
        best = min(row[0].wall_seconds for row in results) / min(row[number].wall_seconds for row in results)
        text = f"median {ratio:.2f}, best against best {best:.2f}"
        judged = number == 1
        rows.append(
            Row(
                f"events/s of {label} / no-op",
                text,
                f">= {LEAST_RATIO:.2f}" if judged else "",
                ratio >= LEAST_RATIO if judged else None,
            )
        )
        if used[0] and used[number]:
            rows.append(Row(f"processor time of no-op / {label}", f"{used[0] / used[number]:.2f}"))
    rows += [
        Row("answers that were no success", f"{failed}", "0", failed == 0),
        Row(
            "load generator's use of its core, at most",
            f"{share:.0%}",
            f"<= {MOST_GENERATOR_SHARE:.0%} (it is not the bottleneck)",
            share <= MOST_GENERATOR_SHARE or (os.cpu_count() or 1) == 1,
        ),
    ]
    return tuple(rows)
