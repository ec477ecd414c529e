"""What is deployed: the entry point in a folder of its own, and the project beside it as a wheel, far from the source tree."""

import contextlib
import http.client
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functions.apps import ROOT, TEST_NOTIFICATION, pushed

DEPENDENCIES = sysconfig.get_paths()["purelib"]
START_SECONDS = 60.0


def run(*command: str, cwd: Path) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed wheel (`site`) and a copy of one entry point (`source`)."""
    folder = tmp_path_factory.mktemp("archive")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheels"), cwd=ROOT)
    (wheel,) = (folder / "wheels").glob("trimtab-*.whl")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--target", str(folder / "site"), str(wheel), cwd=folder)
    (folder / "source").mkdir()
    shutil.copy(ROOT / "functions" / "alert" / "main.py", folder / "source" / "main.py")
    return folder


@contextlib.contextmanager
def serving(folder: Path, *paths: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """functions-framework by its command line. `-S`: the editable install of the source tree is out of sight."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        "PYTHONPATH": ":".join(paths),
        "TRIMTAB_PROJECT": "acme-ml",
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1",
        "PUBSUB_EMULATOR_HOST": "127.0.0.1:1",
    }
    where = ("--source", str(folder / "source" / "main.py"), "--host", "127.0.0.1", "--port", str(port))
    command = [sys.executable, "-S", "-m", "functions_framework", "--target", "alert", *where]
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield server, port
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()
        server.communicate()


def connected(server: subprocess.Popen[str], port: int) -> socket.socket:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            assert server.poll() is None, server.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_entry_point_answers_an_event_far_from_the_source_tree(unpacked: Path) -> None:
    with serving(unpacked, str(unpacked / "site"), DEPENDENCIES) as (server, port):
        connected(server, port).close()
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("POST", "/", pushed(TEST_NOTIFICATION), {"content-type": "application/json"})
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"ignored\n")
        client.close()


def test_the_real_server_does_not_take_half_a_body_for_a_message(unpacked: Path) -> None:
    whole = pushed(TEST_NOTIFICATION)
    head = f"POST / HTTP/1.1\r\nHost: trimtab\r\nContent-Type: application/json\r\nContent-Length: {len(whole)}\r\n\r\n"
    with serving(unpacked, str(unpacked / "site"), DEPENDENCIES) as (server, port), connected(server, port) as line:
        line.sendall(head.encode() + whole[:40])
        line.shutdown(socket.SHUT_WR)
        assert line.recv(4_096).startswith(b"HTTP/1.1 503 ")


def test_without_the_wheel_the_command_line_does_not_find_shared(unpacked: Path) -> None:
    """The trap: only the source file's own folder is put on the path."""
    with serving(unpacked, DEPENDENCIES) as (server, _):
        assert "No module named 'shared'" in server.communicate(timeout=START_SECONDS)[0]
        assert server.returncode != 0


def test_the_wheel_carries_the_functions_and_the_rooms_and_nothing_else(unpacked: Path) -> None:
    assert sorted(path.name for path in (unpacked / "site").iterdir() if path.suffix != ".dist-info") == [
        "bin",
        "cli",
        "functions",
        "shared",
    ]
