"""`make deploy`: what it calls, with a terraform that only writes down how it was called."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functions.apps import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def deploy(folder: Path, *variables: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What it said, and each call of terraform."""
    recorder = folder / "terraform"
    recorder.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" --end-- >> {folder}/calls\n")
    recorder.chmod(0o755)
    (folder / "calls").write_text("")
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    # What makes the virtual environment is taken as done: this one runs the tests.
    command = ["make", "--no-print-directory", "deploy", "--old-file=.venv/installed", f"BIN={Path(sys.executable).parent}", *variables]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    calls = [call.split("\n")[:-1] for call in (folder / "calls").read_text().split("--end--\n")[:-1]]
    return done, calls


def test_it_packages_then_has_terraform_show_the_plan_and_ask(tmp_path: Path) -> None:
    done, calls = deploy(tmp_path, "PROJECT=acme-ml", "REGION=europe-west1")
    assert done.returncode == 0, done.stderr
    init, apply = calls
    assert init == ["-chdir=terraform", "init", "-input=false"]
    assert apply[:2] == ["-chdir=terraform", "apply"]
    assert "-auto-approve" not in apply
    given = dict(each.split("=", 1) for each in apply[3::2])
    assert (given["project_id"], given["region"]) == ("acme-ml", "europe-west1")
    assert re.fullmatch(r"trimtab-[0-9.]+-[0-9a-f]{16}\.zip", Path(given["archive"]).name)
    assert Path(given["archive"]).is_file()


@pytest.mark.parametrize("variables", [(), ("PROJECT=acme-ml",), ("REGION=europe-west1",)])
def test_without_project_or_region_it_calls_nothing(variables: tuple[str, ...], tmp_path: Path) -> None:
    done, calls = deploy(tmp_path, *variables)
    assert (done.returncode, calls) == (2, [])
    assert "PROJECT=... REGION=...: both must be given" in done.stderr
