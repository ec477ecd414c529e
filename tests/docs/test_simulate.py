"""The guide to the simulation: its commands run, and its tables name what there is."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shared.simulation.figures import KEYS
from shared.simulation.scenario import Scenario

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs/guides/simulate.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()]


def named_in(heading: str) -> set[str]:
    rows = GUIDE.partition(heading)[2].partition("\n\n")[0]
    return {name for row in re.findall(r"^\| (`[^|]*`) \|", rows, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_guide_answers(command: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(command.replace("/tmp/", f"{tmp_path}/"))
    done = subprocess.run([Path(sys.executable).parent / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_guide_names_every_part_of_a_scenario() -> None:
    assert named_in("| part | what it says |") == set(Scenario.model_fields)


def test_the_guide_names_every_figure() -> None:
    assert named_in("| key | what it is |") == {*KEYS, "last_20_min"}
