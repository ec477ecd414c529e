"""The guide to init and the doctor: its commands run, its block is what the doctor pastes, its exit codes are those of the command."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.init import _describe
from shared.doctor.rules_services import OWNED
from tests.support.commands import trimtab
from tests.support.plans import plan, service

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/doctor.md").read_text(encoding="utf-8")
SHOWN = [line for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL) for line in block.replace("\\\n", "").splitlines()]
COMMANDS = [line for line in SHOWN if line.startswith("trimtab ")]


def test_every_command_of_the_guide_is_tried_here() -> None:
    assert [shlex.split(command)[1] for command in COMMANDS] == ["init", "init", "doctor", "doctor"]


def test_the_command_for_a_script_writes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = trimtab(*shlex.split(COMMANDS[1])[1:])
    assert done.exit_code == 0, done.output
    assert 'project_id = "acme-ml"' in (tmp_path / "acme.tfvars").read_text()
    assert re.findall(r"^warning: (?:ranker: )?no (\w+) was given", done.stderr, re.MULTILINE) == ["p99", "channel"]
    deploy = next(line for line in SHOWN if line.startswith("make deploy"))
    assert f"  {deploy}\n" in done.stderr


def test_the_plan_that_is_read_is_the_one_that_is_made_and_git_ignores_both() -> None:
    made, shown = (next(line for line in SHOWN if f" {verb} " in line) for verb in ("plan", "show"))
    name = made.partition("-out=")[2].split()[0]
    assert shown == f"terraform -chdir=terraform show -json {name} > plan.json"
    assert '-var="archive=$archive"' in made
    assert "$(make --silent package)" in GUIDE
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no checkout: git cannot be asked")
    files = ["plan.json", f"terraform/{name}", "terraform/tfplan", "acme.tfvars"]
    done = subprocess.run(["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == files


def test_the_command_that_says_whom_a_service_runs_as_is_the_one_that_init_prints() -> None:
    (shown,) = (line for line in SHOWN if line.startswith("gcloud "))
    assert shlex.split(shown) == shlex.split(_describe("ranker", "acme-ml", "europe-west1"))


def test_the_command_for_a_plan_says_what_to_ignore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "plan.json").write_text(json.dumps(plan(service())))
    monkeypatch.chdir(tmp_path)
    done = trimtab(*shlex.split(COMMANDS[2])[1:])
    assert done.exit_code == 1
    (block,) = re.findall(r"```hcl\n(.*?)```", GUIDE, re.DOTALL)
    assert block in re.sub(r"(?m)^ {6}", "", done.stdout)
    assert re.findall(r"^    (\w+),$", block, re.MULTILINE) == list(OWNED)


def test_without_credentials_the_command_for_a_project_ends_with_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert trimtab(*shlex.split(COMMANDS[3])[1:]).exit_code == 2
