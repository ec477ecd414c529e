"""What `make package` makes: the same bytes from the same source, and all that the functions need, far from the source tree."""

import contextlib
import hashlib
import http.client
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from cli.package import Archive, packaged
from shared.deployment import FUNCTIONS, source_file
from tests.functions.apps import ROOT, TEST_NOTIFICATION, pushed

DEPENDENCIES = sysconfig.get_paths()["purelib"]
START_SECONDS = 60.0


def run(*command: str, cwd: Path) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def archive() -> Archive:
    return packaged(ROOT)


@pytest.fixture(scope="module")
def unpacked(archive: Archive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive's files (`source`), and beside them the wheel as it is when installed (`site`)."""
    folder = tmp_path_factory.mktemp("archive")
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        files.extractall(folder / "source")
    (wheel,) = (folder / "source").glob("trimtab-*.whl")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--target", str(folder / "site"), str(wheel), cwd=folder)
    return folder


def copied(into: Path) -> Path:
    """The source tree, as a checkout has it."""
    into.mkdir(parents=True)
    for name in ("cli", "functions", "shared", "requirements"):
        shutil.copytree(ROOT / name, into / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile)
    for name in ("pyproject.toml", "README.md", ".gitignore"):
        shutil.copyfile(ROOT / name, into / name)
    return into


def test_two_trees_with_one_content_make_the_same_bytes(archive: Archive, tmp_path: Path) -> None:
    """Elsewhere, later, with another umask and another time stamp asked for by the environment."""
    before = os.umask(0o077)
    try:
        tree = copied(tmp_path / "another" / "place")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", "1000000000")
            again = packaged(tree)
    finally:
        os.umask(before)
    assert again.name == archive.name
    assert again.content == archive.content


def test_its_name_says_its_content(archive: Archive) -> None:
    assert archive.name == f"trimtab-{version('trimtab')}-{hashlib.sha256(archive.content).hexdigest()[:16]}.zip"


def test_another_content_has_another_name(archive: Archive, tmp_path: Path) -> None:
    tree = copied(tmp_path / "tree")
    (tree / "shared" / "settings.py").write_text((tree / "shared" / "settings.py").read_text() + "\n")
    assert packaged(tree).name != archive.name


def test_its_root_has_one_file_a_function_the_requirements_and_the_wheel(archive: Archive) -> None:
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        assert files.namelist() == [
            *(source_file(function) for function in sorted(FUNCTIONS)),
            "requirements.txt",
            f"trimtab-{version('trimtab')}-py3-none-any.whl",
        ]
        assert {entry.external_attr >> 16 for entry in files.infolist()} == {0o100_644}
        assert {entry.date_time for entry in files.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_every_requirement_is_pinned_and_has_hashes(archive: Archive) -> None:
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        said = files.read("requirements.txt").decode()
        wheel = files.read(f"trimtab-{version('trimtab')}-py3-none-any.whl")
    entries = [line for line in said.splitlines() if line and not line.startswith((" ", "#"))]
    assert entries[-1] == f"./trimtab-{version('trimtab')}-py3-none-any.whl \\"
    assert said.rstrip().endswith(f"--hash=sha256:{hashlib.sha256(wheel).hexdigest()}")
    assert all(re.match(r"[a-z0-9-]+==[^ ]+ (; .*)?\\$", entry) for entry in entries[:-1])
    assert said.count("--hash=sha256:") >= len(entries)


def test_no_function_carries_what_only_the_command_line_needs(archive: Archive) -> None:
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        names = {line.split("==")[0] for line in files.read("requirements.txt").decode().splitlines() if "==" in line}
    assert "functions-framework" in names, "else the buildpack installs one of its own choice before ours"
    assert names.isdisjoint({"typer", "rich", "pyyaml", "prometheus-client", "numba", "numpy", "matplotlib", "pytest", "hatchling"})


def test_without_a_wheel_it_says_what_hatchling_said(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with pytest.raises(RuntimeError, match=r"hatchling build in .* ended with 1"):
        packaged(tmp_path)


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
    where = ("--source", str(folder / "source" / "fn_alert.py"), "--host", "127.0.0.1", "--port", str(port))
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
        assert "No module named 'functions'" in server.communicate(timeout=START_SECONDS)[0]
        assert server.returncode != 0


def test_the_wheel_carries_the_functions_and_the_rooms_and_nothing_else(unpacked: Path) -> None:
    assert sorted(path.name for path in (unpacked / "site").iterdir() if path.suffix != ".dist-info") == [
        "bin",
        "cli",
        "functions",
        "shared",
    ]
