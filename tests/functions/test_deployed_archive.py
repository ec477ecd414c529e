"""The archive alone: unpacked into an empty folder, installed from its own requirements, started as the buildpack starts it."""

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.package import packaged
from shared.deployment import FUNCTIONS
from shared.simulation.monitoring import notification
from tests.functions.apps import ROOT
from tests.support.audits import entry
from tests.support.processes import Deployment, Emulators, Unpacked, deployed, wait_for

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


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """Installed and byte-compiled as the buildpack does it."""
    base = tmp_path_factory.mktemp("deployed")
    folder, environment = base / "workspace", base / "environment"
    with zipfile.ZipFile(io.BytesIO(packaged(ROOT).content)) as files:
        files.extractall(folder)
    index_or_skip(folder)
    ran(sys.executable, "-m", "venv", "--without-pip", str(environment), cwd=base)
    python = environment / "bin" / "python"
    install = ("install", "--quiet", "--require-hashes", "--no-compile", "--requirement", "requirements.txt")
    ran(*PIP, "--python", str(python), *install, cwd=folder)
    ran(str(python), "-m", "compileall", "-qq", "-j", "2", "--invalidation-mode", "unchecked-hash", str(environment / "lib"), cwd=base)
    return Unpacked(folder, python)


@pytest.fixture(scope="module")
def deployment(
    firestore_emulator: str, pubsub_emulator: str, archive: Unpacked, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    with deployed(Emulators(firestore_emulator, pubsub_emulator), tmp_path_factory.mktemp("functions"), archive) as running:
        yield running


def test_every_function_answers_a_real_event_of_its_kind(deployment: Deployment) -> None:
    """An alert is folded and Cloud Run written; a change, an upload, a command and a tick are taken."""
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


def test_the_code_that_runs_is_the_wheels_and_is_byte_compiled(archive: Unpacked) -> None:
    script = (
        "import functions.alert.main as main, shared.wiring as wiring; print(main.__file__, main.__cached__, wiring.__cached__, sep='\\n')"
    )
    said = subprocess.run([str(archive.python), "-c", script], cwd=archive.folder, capture_output=True, text=True, check=True)
    source, *compiled = said.stdout.split()
    assert Path(source).is_relative_to(archive.python.parent.parent)
    assert all(Path(each).is_file() for each in compiled)
