"""What a cold start loads and how long it takes, against a program that only imports all the Google clients there are to import."""

import base64
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shared.clock import SystemClock
from shared.events.wake import encode_wake
from shared.gcp.firestore_store import FirestoreStore
from shared.local.cloud_run_door import CloudRunDoor
from shared.records.observed import Bounds
from shared.records.subject import Wake
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.gpu_service import place_service
from tests.benchmarks.emulated import firestore_or_none, pubsub_or_none
from tests.benchmarks.load import push_body
from tests.benchmarks.servers import compiled_environment, pinned, serving
from tests.benchmarks.sources import APPS, main_of
from tests.benchmarks.table import Area, Row, at_most, spread
from tests.support.builders import RANKER, document
from tests.support.emulators import firestore_client

PROJECT, TOPIC = "demo-cold-start", "wakes"
EVENT_FUNCTION_MODULES, RECONCILE_MODULES = 1_150, 1_550
LARGEST_RATIO = 0.80
LATER_CLIENTS = ("google.cloud.monitoring_v3", "google.cloud.logging_v2", "google.cloud.storage")
"""What reconcile will hold when metrics and logs have a source on Google Cloud."""
FOREIGN = ("google.cloud.run_v2", "google.cloud.monitoring_v3", "google.cloud.storage", "google.cloud.logging_v2")
"""What no event function may load."""
YARDSTICK = "import google.cloud.{firestore, pubsub_v1, run_v2, monitoring_v3, storage, logging_v2}"
YARDSTICK_CODE = "from google.cloud import firestore, pubsub_v1, run_v2, monitoring_v3, storage, logging_v2"
YARDSTICKS = {"yardstick": YARDSTICK_CODE, "yardstick without its end": f"{YARDSTICK_CODE}; import os; os._exit(0)"}
TEST_NOTIFICATION = json.dumps({"version": "test", "incident": {"incident_id": "12345", "state": "OPEN"}}).encode()

HOW = (
    "Each function's own main.py, served by functions-framework under gunicorn from byte-compiled modules (page cache warm), pinned to "
    "one core where `taskset` is there; from the start of the process to the whole answer to its first event, {rounds} times, in turns "
    "with the yardstick: plain Python with `{yardstick}`, run to its exit. Taking the interpreter down is a part of that, so the "
    "yardstick is also shown without its end, for information. {outside} Modules are those in `sys.modules` of the process that "
    "answered; they are asked for through a wrapper around the same main.py, whose own modules are not counted."
)
WITH_EMULATORS = (
    "The outside is emulated: Google's Firestore and Pub/Sub emulators and a simulated Cloud Run behind its gRPC door, all warm and in "
    "other processes; the alert stores a fact and publishes a wake, the tick asks for what is due, the wake reads and decides."
)
WITHOUT_EMULATORS = (
    "No emulator was found: alert answers the console's test notification, which needs no client; the other functions answer a GET, and "
    "their first event is not measured."
)


@dataclass(frozen=True)
class Outside:
    """Where the functions find what they call; without emulators there is nothing to call."""

    emulated: bool
    variables: dict[str, str]


def measure(*, rounds: int = 7) -> Area:
    with tempfile.TemporaryDirectory() as name, _outside() as outside:
        scratch = Path(name)
        loaded = {function: _modules(function, scratch, outside) for function in ("alert", "schedule", "reconcile")}
        loaded["reconcile, later"] = _modules("reconcile", scratch, outside, also=LATER_CLIENTS)
        walls, cpu = _times(scratch, outside, rounds)
    how = HOW.format(rounds=rounds, yardstick=YARDSTICK, outside=WITH_EMULATORS if outside.emulated else WITHOUT_EMULATORS)
    return Area("Cold start", how, (*_module_rows(loaded), *_time_rows(walls, cpu)))


def _module_rows(loaded: dict[str, list[str]]) -> Iterator[Row]:
    for function in ("alert", "schedule"):
        yield at_most(f"modules after the first answer, {function}", len(loaded[function]), EVENT_FUNCTION_MODULES, digits=0)
        foreign = [name for name in FOREIGN if name in loaded[function]]
        yield Row(f"clients in {function} that it does not need", ", ".join(foreign) or "none", "none", not foreign)
    yield Row("modules after the first answer, reconcile today", f"{len(loaded['reconcile']):,}")
    also = "with monitoring_v3, logging_v2 and storage as well"
    yield at_most(f"modules after the first answer, reconcile {also}", len(loaded["reconcile, later"]), RECONCILE_MODULES, digits=0)


def _time_rows(walls: dict[str, list[float]], cpu: dict[str, list[float]]) -> Iterator[Row]:
    yardstick = walls["yardstick"]
    for what, seconds in walls.items():
        if what in YARDSTICKS:
            yield Row(f"wall, {what}", spread(seconds, " s"))
            continue
        ratio, middle = min(seconds) / min(yardstick), statistics.median(seconds) / statistics.median(yardstick)
        judged = what.startswith(("alert", "schedule"))
        yield Row(f"wall to the first answer, {what}", spread(seconds, " s"))
        yield Row(
            f"{what} / yardstick",
            f"of minima {ratio:.2f}, of medians {middle:.2f}",
            f"<= {LARGEST_RATIO:.2f}" if judged else "",
            ratio <= LARGEST_RATIO if judged else None,
        )
        shorter = min(seconds) / min(walls["yardstick without its end"])
        text = f"wall {shorter:.2f}, processor time {min(cpu[what]) / min(cpu['yardstick without its end']):.2f} (of minima)"
        yield Row(f"{what} / yardstick without its end", text)


def _modules(function: str, scratch: Path, outside: Outside, *, also: tuple[str, ...] = ()) -> list[str]:
    variables = {**outside.variables, "BENCH_FUNCTION": function, "BENCH_ALSO_IMPORT": ",".join(also)}
    with serving("probe", APPS / "probe.py", compiled_environment(scratch, **variables), scratch / "probe.log") as server:
        _first_event(function, server.first_answer, outside, unique=f"modules-{len(also)}")
        status, names = server.request(None, method="GET", path="/modules")
        assert status == 200
        own = {"probe", "tests.benchmarks.sources", "tests.benchmarks", "tests"}
        return [name for name in json.loads(names) if name not in own]


def _first_event(function: str, ask: object, outside: Outside, *, unique: str) -> None:
    assert callable(ask)
    if function == "alert":
        body = push_body(1, RANKER, f"0.{unique}") if outside.emulated else _wrapped(TEST_NOTIFICATION)
    elif not outside.emulated:
        assert ask(None, method="GET")[0] == 405
        return
    else:
        body = _wrapped(b"" if function == "schedule" else encode_wake(Wake.of(RANKER, "tick"))[0])
    status, text = ask(body)
    assert (status, text.strip()) in {(200, "done"), (200, "ignored")}, (function, status, text)


def _wrapped(data: bytes) -> bytes:
    message = {"data": base64.b64encode(data).decode(), "messageId": "1", "attributes": {}}
    return json.dumps({"message": message, "subscription": "projects/acme-ml/subscriptions/s"}).encode()


def _times(scratch: Path, outside: Outside, rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Wall and processor seconds by what was measured; the round that fills the page cache and the byte-code is left out."""
    core = max(os.sched_getaffinity(0)) if shutil.which("taskset") else None
    sides = [*YARDSTICKS, "alert (ignored)"]
    if outside.emulated:
        sides += ["alert (new)", "schedule (tick)", "reconcile (wake)"]
    walls: dict[str, list[float]] = {side: [] for side in sides}
    cpu: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for side in sides:
            wall, used = _ends(side, scratch, core) if side in YARDSTICKS else _first_answer(side, scratch, outside, core, number)
            if number:
                walls[side].append(wall)
                cpu[side].append(used)
    return walls, cpu


def _first_answer(side: str, scratch: Path, outside: Outside, core: int | None, number: int) -> tuple[float, float]:
    function = side.split(" ", maxsplit=1)[0]
    variables = {**outside.variables, "TRIMTAB_PROJECT": PROJECT}
    began = time.perf_counter()
    with serving(function, main_of(function), compiled_environment(scratch, **variables), scratch / "log", core=core) as server:
        if side == "alert (ignored)":
            assert server.first_answer(_wrapped(TEST_NOTIFICATION)) == (200, "ignored\n")
        else:
            _first_event(function, server.first_answer, outside, unique=f"time-{number}")
        return time.perf_counter() - began, server.cpu_seconds()


def _ends(side: str, scratch: Path, core: int | None) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(pinned([sys.executable, "-c", YARDSTICKS[side]], core), check=True, env=compiled_environment(scratch))
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.contextmanager
def _outside() -> Iterator[Outside]:
    """Emulators and a simulated Cloud Run with one service in them, or nothing."""
    with contextlib.ExitStack() as stack:
        firestore = stack.enter_context(firestore_or_none())
        pubsub = stack.enter_context(pubsub_or_none(PROJECT, TOPIC)) if firestore else None
        if firestore is None or pubsub is None:
            yield Outside(emulated=False, variables={"TRIMTAB_PROJECT": PROJECT})
            return
        with firestore_client(firestore, PROJECT) as client:
            FirestoreStore(client).put_service(document(high=10), if_generation=None)
        cloud_run = SimulatedCloudRun(now=SystemClock().now)
        place_service(cloud_run, RANKER, Bounds(max_instance_count=4))
        door = stack.enter_context(CloudRunDoor(cloud_run))
        variables = {
            "TRIMTAB_PROJECT": PROJECT,
            "TRIMTAB_WAKES_TOPIC": TOPIC,
            "TRIMTAB_CLOUD_RUN_ENDPOINT": door.endpoint,
            "FIRESTORE_EMULATOR_HOST": firestore,
            "PUBSUB_EMULATOR_HOST": pubsub,
        }
        yield Outside(emulated=True, variables=variables)
