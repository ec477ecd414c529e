"""The archives alone: unpacked into an empty folder, installed from their own requirements, started as the buildpack starts them.

With spans switched on, which need nothing besides; the profiler is tried with the archive that it is in.
"""

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from cli.package import Archive, Archives, packaged
from shared.deployment import FUNCTIONS
from shared.simulation.monitoring import notification
from tests.functions.apps import ROOT, TEST_NOTIFICATION
from tests.support.audits import entry
from tests.support.processes import Deployment, Emulators, FunctionProcess, Unpacked, deployed, plain_environment, wait_for
from tests.support.push_identity import http_post
from tests.support.telemetry_door import TelemetryDoor, profiled, telemetry_door

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(400)]

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def ran(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def index_or_skip(folder: Path) -> None:
    """Skip where no package index answers: the first locked package, which is small, says so."""
    first = re.match(r"\S.*\n(?:[ #].*\n)+", (folder / "requirements.txt").read_text())
    assert first is not None
    (folder.parent / "one.txt").write_text(first[0])
    command = [*PIP, "download", "--quiet", "--no-deps", "--retries", "0", "--dest", str(folder.parent / "one"), "--require-hashes"]
    asked = subprocess.run([*command, "-r", str(folder.parent / "one.txt")], capture_output=True, text=True, check=False)
    assert "DO NOT MATCH THE HASHES" not in asked.stderr
    if asked.returncode != 0:
        pytest.skip(f"no package index to install the archive's requirements from: {asked.stderr.strip().splitlines()[-1][:200]}")


def unpacked(archive: Archive, base: Path) -> Path:
    folder = base / archive.fixed_name.removesuffix(".zip")
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        files.extractall(folder)
    return folder


def install(folder: Path, environment: Path) -> None:
    """What the archive requires into the environment, as the buildpack does it."""
    options = ("--quiet", "--require-hashes", "--no-compile", "--requirement", "requirements.txt")
    ran(*PIP, "--python", str(environment / "bin" / "python"), "install", *options, cwd=folder)


@pytest.fixture(scope="module")
def archives() -> Archives:
    return packaged(ROOT)


@pytest.fixture(scope="module")
def archive(archives: Archives, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """Installed and byte-compiled as the buildpack does it."""
    base = tmp_path_factory.mktemp("deployed")
    folder, environment = unpacked(archives.plain, base), base / "environment"
    index_or_skip(folder)
    ran(sys.executable, "-m", "venv", "--without-pip", str(environment), cwd=base)
    python = environment / "bin" / "python"
    install(folder, environment)
    ran(str(python), "-m", "compileall", "-qq", "-j", "2", "--invalidation-mode", "unchecked-hash", str(environment / "lib"), cwd=base)
    return Unpacked(folder, python)


@pytest.fixture(scope="module")
def telemetry() -> Iterator[TelemetryDoor]:
    with telemetry_door() as door:
        yield door


@pytest.fixture(scope="module")
def deployment(
    firestore_emulator: str, pubsub_emulator: str, archive: Unpacked, telemetry: TelemetryDoor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    traced = {"TRIMTAB_TRACE_RATIO": "1", "TRIMTAB_TELEMETRY_ENDPOINT": telemetry.endpoint}
    with deployed(Emulators(firestore_emulator, pubsub_emulator), tmp_path_factory.mktemp("functions"), archive, traced) as running:
        yield running


def test_every_function_answers_a_real_event_of_its_kind(deployment: Deployment, telemetry: TelemetryDoor) -> None:
    """An alert is folded and Cloud Run written; a change, an upload, a command and a tick are taken. Of each there are spans."""
    service, now = deployment.place("archived"), deployment.clock.now()
    deployment.publish("alerts", json.dumps(notification(service, "0.z1", "open", started_at=now, now=now)).encode())
    deployment.settled(service, ["0.z1:open"])
    assert deployment.bounds(service) == (0, 8)

    deployment.publish("changes", entry(service, "archived-1", principal="kim@example.com", at=now))
    deployment.upload(deployment.bucket.put("acme-models", "archived/7/saved_model.pb", b"x"))
    status, _ = deployment.command("hold", service=str(service), command_id="z1", hold_id="launch", reason="launch day")
    assert status == 200
    deployment.tick()

    def answered() -> bool:
        return all("done" in {line["message"] for line in deployment.answered(function)} for function in FUNCTIONS)

    wait_for(answered, "each function to say that it has dealt with its event")
    wait_for(lambda: {span.name for span in telemetry.spans()} >= set(FUNCTIONS), "the spans of each function")
    assert {span.name for span in telemetry.spans()} >= {
        "store.create_fact",
        "bus.publish_wakes",
        "platform.update_scaling",
        "events.publish_events",
    }


def test_a_span_of_a_port_lies_in_the_trace_of_its_request(deployment: Deployment, telemetry: TelemetryDoor) -> None:
    """Another request of the same process may send it before its own has ended."""
    deployment.command("reconcile", service="acme-ml:europe-west1:archived", command_id="z2")

    def requests_and_below() -> tuple[dict[bytes, Span], list[Span]]:
        spans = telemetry.spans()
        return {span.span_id: span for span in spans if span.name in FUNCTIONS}, [span for span in spans if span.name not in FUNCTIONS]

    def whole() -> bool:
        requests, below = requests_and_below()
        return bool(below) and {span.parent_span_id for span in below} <= set(requests)

    wait_for(whole, "the request of each span")
    requests, below = requests_and_below()
    assert all(span.trace_id == requests[span.parent_span_id].trace_id for span in below)


def test_the_code_that_runs_is_the_wheels_and_is_byte_compiled(archive: Unpacked) -> None:
    script = (
        "import functions.alert.main as main, shared.wiring as wiring; print(main.__file__, main.__cached__, wiring.__cached__, sep='\\n')"
    )
    said = subprocess.run([str(archive.python), "-c", script], cwd=archive.folder, capture_output=True, text=True, check=True)
    source, *compiled = said.stdout.split()
    assert Path(source).is_relative_to(archive.python.parent.parent)
    assert all(Path(each).is_file() for each in compiled)


def test_a_look_is_linked_with_the_event_that_it_was_woken_by(deployment: Deployment, telemetry: TelemetryDoor) -> None:
    service, now = deployment.place("linked"), deployment.clock.now()
    deployment.publish("alerts", json.dumps(notification(service, "0.z3", "open", started_at=now, now=now)).encode())

    def linked() -> bool:
        spans = telemetry.spans()
        alerts = {span.span_id for span in spans if span.name == "alert"}
        return any(link.span_id in alerts for span in spans if span.name == "reconcile" for link in span.links)

    wait_for(linked, "a look that names the alert")


def profiled_function(archive: Unpacked, telemetry: TelemetryDoor, folder: Path) -> FunctionProcess:
    """The alert function with the profiler switched on, and a key of nobody. What it keeps facts in is not there."""
    variables = {
        "TRIMTAB_PROJECT": "acme-ml",
        "TRIMTAB_PROFILER": "true",
        "TRIMTAB_TELEMETRY_ENDPOINT": telemetry.endpoint,
        "GOOGLE_APPLICATION_CREDENTIALS": str(telemetry.key_file(folder)),
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1",
        "PUBSUB_EMULATOR_HOST": "127.0.0.1:1",
        "K_REVISION": "trimtab-alert-00007-abc",
        "NO_PROXY": "*",
    }
    return FunctionProcess("alert", plain_environment() | variables, folder, archive)


def said_of_the_profiler(function: FunctionProcess) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in function.log_tail().splitlines() if line.startswith("{")]
    return [line for line in lines if line["message"] == "profiler"]


def test_the_plain_archive_with_the_profiler_switched_on_serves_and_says_what_is_missing(
    archive: Unpacked, telemetry: TelemetryDoor, tmp_path: Path
) -> None:
    function = profiled_function(archive, telemetry, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(function.stop)
        function.launch()
        function.wait_until_up()
        status, _ = http_post(function.port, TEST_NOTIFICATION, {"Content-Type": "application/json"})
        wait_for(lambda: said_of_the_profiler(function), "what is said of the profiler")
    (said,) = said_of_the_profiler(function)
    assert (status, said["severity"]) == (503, "WARNING")
    assert "build/trimtab-profiler.zip" in said["problem"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler to build Cloud Profiler's library with")
def test_the_archive_with_the_profiler_uploads_what_the_function_spends_its_time_on(
    archives: Archives, archive: Unpacked, telemetry: TelemetryDoor, tmp_path: Path
) -> None:
    """Its environment is the plain archive's with what the other requires besides."""
    environment = archive.python.parent.parent
    folder = unpacked(archives.profiler, tmp_path)
    install(folder, environment)
    function = profiled_function(Unpacked(folder, archive.python), telemetry, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(function.stop)
        function.launch()
        function.wait_until_up()

        def busy() -> bool:
            for _ in range(20):
                http_post(function.port, TEST_NOTIFICATION, {"Content-Type": "application/json"})
            return any(b"handle_alert" in profiled(each) for each in telemetry.profiles)

        wait_for(busy, "a profile with our own code in it", seconds=60)
    assert telemetry.asked[0]["deployment"]["target"] == "trimtab-alert"
    assert telemetry.asked[0]["deployment"]["labels"]["version"] == "trimtab-alert-00007-abc"
    assert telemetry.asked[0]["profileType"] == ["CPU"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler to build Cloud Profiler's library with")
def test_a_profiler_that_may_not_says_so_in_the_log(archive: Unpacked, telemetry: TelemetryDoor, tmp_path: Path) -> None:
    """With the environment of the test before."""
    telemetry.refusing = 403
    function = profiled_function(archive, telemetry, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(function.stop)
        function.launch()
        function.wait_until_up()
        http_post(function.port, TEST_NOTIFICATION, {"Content-Type": "application/json"})
        wait_for(
            lambda: any("HttpError 403" in line.get("problem", "") for line in said_of_the_profiler(function)), "the refusal in the log"
        )
    assert {line["severity"] for line in said_of_the_profiler(function) if "problem" in line} == {"WARNING"}
