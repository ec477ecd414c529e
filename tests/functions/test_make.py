"""`make package`: what it writes and prints. `make deploy`: what it calls, with a terraform that only writes down how it was called."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functions.apps import copied

# What makes the virtual environment is taken as done: this one runs the tests.
MAKE = ("make", "--no-print-directory", "--old-file=.venv/installed", f"BIN={Path(sys.executable).parent}")
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of its own: what somebody packaged in this one is theirs, and Terraform would deploy it."""
    return copied(tmp_path_factory.mktemp("make") / "trimtab")


def make(tree: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    return subprocess.run([*MAKE, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False)


def deploy(tree: Path, folder: Path, *variables: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What it said, and each call of terraform; the archive that terraform would have found is kept in the folder."""
    recorder = folder / "terraform"
    recorder.write_text(f"#!/bin/sh\ncp build/trimtab.zip '{folder}' || exit 1\nprintf '%s\\n' \"$@\" --end-- >> {folder}/calls\n")
    recorder.chmod(0o755)
    (folder / "calls").write_text("")
    done = make(tree, "deploy", *variables, path=str(folder))
    calls = [call.split("\n")[:-1] for call in (folder / "calls").read_text().split("--end--\n")[:-1]]
    return done, calls


def test_package_prints_the_path_of_the_plain_archive_alone_and_names_the_other_on_standard_error(tree: Path) -> None:
    """Scripts read the first: `archive="$(make --silent package)"`."""
    done = make(tree, "--silent", "package")
    assert done.returncode == 0, done.stderr
    (path,) = done.stdout.splitlines()
    assert re.fullmatch(r"trimtab-[0-9.]+-[0-9a-f]{16}\.zip", Path(path).name)
    (other,) = re.findall(r"^\S+/trimtab-profiler-[0-9.]+-[0-9a-f]{16}\.zip", done.stderr, re.MULTILINE)
    for named, fixed in ((path, "trimtab.zip"), (other, "trimtab-profiler.zip")):
        content = (tree / "build" / fixed).read_bytes()
        assert Path(named).read_bytes() == content
        assert hashlib.sha256(content).hexdigest()[:16] in named


def test_it_packages_then_has_terraform_show_the_plan_and_ask(tree: Path, tmp_path: Path) -> None:
    """Terraform is told of no archive: it takes the one with the profiler where a file of variables says `cloud_profiler`."""
    shutil.rmtree(tree / "build", ignore_errors=True)
    done, calls = deploy(tree, tmp_path, "PROJECT=acme-ml", "REGION=europe-west1")
    assert done.returncode == 0, done.stderr
    assert calls == [
        ["-chdir=terraform", "init", "-input=false"],
        ["-chdir=terraform", "apply", "-var", "project_id=acme-ml", "-var", "region=europe-west1"],
    ]
    assert (tmp_path / "trimtab.zip").read_bytes() == (tree / "build/trimtab.zip").read_bytes()


def test_what_cannot_be_packaged_is_not_deployed(tree: Path, tmp_path: Path) -> None:
    """An archive of before lies there still, and would be taken."""
    broken = tmp_path / "broken"
    shutil.copytree(tree, broken)
    (broken / "build").mkdir(exist_ok=True)
    (broken / "build/trimtab.zip").write_bytes(b"an older one")
    (broken / "requirements/functions-profiler.txt").unlink()
    done, calls = deploy(broken, tmp_path, "PROJECT=acme-ml", "REGION=europe-west1")
    assert (done.returncode, calls) == (2, [])
    assert "functions-profiler.txt" in done.stderr


@pytest.mark.parametrize("variables", [(), ("PROJECT=acme-ml",), ("REGION=europe-west1",)])
def test_without_project_or_region_it_calls_nothing(variables: tuple[str, ...], tree: Path, tmp_path: Path) -> None:
    done, calls = deploy(tree, tmp_path, *variables)
    assert (done.returncode, calls) == (2, [])
    assert "PROJECT=... REGION=...: both must be given" in done.stderr
