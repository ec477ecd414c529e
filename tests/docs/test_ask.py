"""The guide to lint, diagnose and explain: its commands run, and its tables name what there is."""

import dataclasses
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shared.lint.bundle import PARTS
from shared.lint.given import Workload

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs/guides/ask.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_guide_answers(command: str) -> None:
    program, *arguments = shlex.split(command)
    done = subprocess.run([Path(sys.executable).parent / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}
    assert done.stdout
    assert done.stderr == ""


def test_the_guide_names_every_part_of_a_bundle() -> None:
    rows = GUIDE.partition("| part | what it holds |")[2].partition("\n\n")[0]
    named = {name for row in re.findall(r"^\| (`[^|]*`) \|", rows, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == set(PARTS)


def test_the_guide_names_everything_that_a_workload_says() -> None:
    (row,) = re.findall(r"^\| `workload` \|(.*)\|$", GUIDE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == {field.name for field in dataclasses.fields(Workload)}
