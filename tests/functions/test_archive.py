"""What `make package` makes: the same bytes from the same source, and all that the functions need, far from the source tree.

Twice, with Cloud Profiler and without: the two differ by their requirements alone.
"""

import contextlib
import errno
import hashlib
import http.client
import io
import os
import re
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

from cli import package
from cli.package import Archive, Archives, packaged, write
from shared.deployment import FUNCTIONS, source_file
from tests.functions.apps import ROOT, TEST_NOTIFICATION, copied, pushed

DEPENDENCIES = sysconfig.get_paths()["purelib"]
START_SECONDS = 60.0


def run(*command: str, cwd: Path) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def both() -> Archives:
    return packaged(ROOT)


@pytest.fixture(scope="module", params=Archives._fields)
def archive(request: pytest.FixtureRequest, both: Archives) -> Archive:
    """One of the two, then the other."""
    found: Archive = getattr(both, request.param)
    return found


@pytest.fixture(scope="module")
def unpacked(both: Archives, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plain archive's files (`source`), and beside them the wheel as it is when installed (`site`)."""
    folder = tmp_path_factory.mktemp("archive")
    with zipfile.ZipFile(io.BytesIO(both.plain.content)) as files:
        files.extractall(folder / "source")
    (wheel,) = (folder / "source").glob("trimtab-*.whl")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--target", str(folder / "site"), str(wheel), cwd=folder)
    return folder


def test_two_trees_with_one_content_make_the_same_bytes(both: Archives, tmp_path: Path) -> None:
    """Elsewhere, later, with another umask and another time stamp asked for by the environment."""
    before = os.umask(0o077)
    try:
        tree = copied(tmp_path / "another" / "place")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", "1000000000")
            again = packaged(tree)
    finally:
        os.umask(before)
    assert again == both


def test_their_names_say_their_content(both: Archives) -> None:
    for archive, kind in zip(both, ("trimtab", "trimtab-profiler"), strict=True):
        assert archive.name == f"{kind}-{version('trimtab')}-{hashlib.sha256(archive.content).hexdigest()[:16]}.zip"
        assert archive.fixed_name == f"{kind}.zip"


JUNK = (".alert.swp", "alert.py~", "#alert.py#", "alert.py.orig", "4913", ".alert.py.un~", "notes.txt", ".hidden.py", ".DS_Store")


def test_what_editors_leave_is_not_deployed_and_changes_no_byte(both: Archives, tmp_path: Path) -> None:
    tree = copied(tmp_path / "edited")
    for room in ("cli", "functions/alert", "shared/handlers"):
        for name in JUNK:
            (tree / room / name).write_text("x")
        (tree / room / ".#alert.py").symlink_to("ada@laptop.4711")
    assert packaged(tree) == both


def test_another_content_has_another_name(both: Archives, tmp_path: Path) -> None:
    tree = copied(tmp_path / "tree")
    (tree / "shared" / "settings.py").write_text((tree / "shared" / "settings.py").read_text() + "\n")
    assert {each.name for each in packaged(tree)}.isdisjoint(each.name for each in both)


def test_a_requirement_of_the_profiler_changes_its_archive_alone(both: Archives, tmp_path: Path) -> None:
    tree = copied(tmp_path / "tree")
    locked = tree / "requirements" / "functions-profiler.txt"
    locked.write_text(locked.read_text() + "# another\n")
    again = packaged(tree)
    assert again.plain == both.plain
    assert again.profiler.name != both.profiler.name


def test_the_two_differ_by_their_requirements_alone(both: Archives) -> None:
    plain, profiler = (contents(each) for each in both)
    assert {name for name in plain | profiler if plain.get(name) != profiler.get(name)} == {"requirements.txt"}


def test_the_wheel_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    make = package._wheel

    def counted(root: Path) -> tuple[str, bytes]:
        built.append(root)
        return make(root)

    monkeypatch.setattr(package, "_wheel", counted)
    packaged(ROOT)
    assert built == [ROOT]


def test_its_root_has_one_file_a_function_the_requirements_and_the_wheel(archive: Archive) -> None:
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        assert files.namelist() == [
            *(source_file(function) for function in sorted(FUNCTIONS)),
            "requirements.txt",
            f"trimtab-{version('trimtab')}-py3-none-any.whl",
        ]
        assert {entry.external_attr >> 16 for entry in files.infolist()} == {0o100_644}
        assert {entry.date_time for entry in files.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def contents(archive: Archive) -> dict[str, bytes]:
    """The files of an archive."""
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        return {name: files.read(name) for name in files.namelist()}


def required(archive: Archive) -> dict[str, str]:
    """What an archive asks for, and in which version."""
    said = contents(archive)["requirements.txt"].decode()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", said, re.MULTILINE))


def test_the_profiler_and_what_it_needs_is_in_its_own_archive_and_all_else_is_the_same(both: Archives) -> None:
    """What runs with the profiler is what everybody runs: no requirement has another version."""
    plain, profiler = (required(each) for each in both)
    assert "google-cloud-profiler" not in plain
    assert plain.items() <= profiler.items()
    assert {"google-cloud-profiler", "google-api-python-client"} <= profiler.keys() - plain.keys()


def test_the_profiler_is_seen_in_the_archive_as_it_is(both: Archives) -> None:
    """Terraform reads this line in the file, which holds as long as nothing is compressed."""
    line = b"\ngoogle-cloud-profiler=="
    assert [each.content.count(line) for each in both] == [0, 1]
    assert '"\\ngoogle-cloud-profiler=="' in (ROOT / "terraform/modules/control-plane/archive.tf").read_text()


def test_both_lie_under_the_name_of_their_content_and_under_a_fixed_one(both: Archives, tmp_path: Path) -> None:
    write(both, tmp_path / "build")
    assert {path.name: path.read_bytes() for path in (tmp_path / "build").iterdir()} == {
        name: each.content for each in both for name in (each.name, each.fixed_name)
    }


def test_the_fixed_name_has_what_was_packaged_last_and_what_was_before_is_kept(both: Archives, tmp_path: Path) -> None:
    earlier = Archives(Archive("trimtab-1-a.zip", "trimtab.zip", b"1"), Archive("trimtab-profiler-1-b.zip", "trimtab-profiler.zip", b"2"))
    write(earlier, tmp_path)
    write(both, tmp_path)
    assert (tmp_path / "trimtab.zip").read_bytes() == both.plain.content
    assert (tmp_path / "trimtab-profiler.zip").read_bytes() == both.profiler.content
    assert (tmp_path / "trimtab-1-a.zip").read_bytes() == b"1"


def test_a_disk_that_is_full_leaves_the_archive_that_was_there(both: Archives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trimtab.zip").write_bytes(b"the last")

    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:1_000])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write(both, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trimtab.zip"]
    assert (tmp_path / "trimtab.zip").read_bytes() == b"the last"


def test_every_requirement_is_pinned_and_has_hashes(archive: Archive) -> None:
    files = contents(archive)
    said, wheel = files["requirements.txt"].decode(), files[f"trimtab-{version('trimtab')}-py3-none-any.whl"]
    entries = [line for line in said.splitlines() if line and not line.startswith((" ", "#"))]
    assert entries[-1] == f"./trimtab-{version('trimtab')}-py3-none-any.whl \\"
    assert said.rstrip().endswith(f"--hash=sha256:{hashlib.sha256(wheel).hexdigest()}")
    assert all(re.match(r"[a-z0-9-]+==[^ ]+ (; .*)?\\$", entry) for entry in entries[:-1])
    assert said.count("--hash=sha256:") >= len(entries)


def test_no_function_carries_what_only_the_command_line_needs(archive: Archive) -> None:
    names = required(archive).keys()
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
