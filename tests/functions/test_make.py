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


TERRAFORM = """#!/bin/sh
cp build/trimtab.zip '{folder}' || exit 1
printf '%s\\n' "$@" "$TF_VAR_project_id $TF_VAR_region" --end-- >> {folder}/calls
"""
"""It keeps the archive that it would have found, and writes down how it was called and with what in its environment."""


def make(tree: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    return subprocess.run([*MAKE, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False)


def deploy(tree: Path, folder: Path, *variables: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What it said, and each call of terraform: its words, and the project and region that its environment says."""
    recorder = folder / "terraform"
    recorder.write_text(TERRAFORM.format(folder=folder))
    recorder.chmod(0o755)
    (folder / "calls").write_text("")
    done = make(tree, "deploy", *variables, path=str(folder))
    calls = [call.split("\n")[:-1] for call in (folder / "calls").read_text().split("--end--\n")[:-1]]
    return done, calls


def with_files(tree: Path, own: Path, files: dict[str, str]) -> Path:
    """A checkout like the tree with these files in it."""
    shutil.copytree(tree, own)
    for name, text in files.items():
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_text(text)
    return own


@pytest.mark.parametrize(("target", "kind"), [("package", "trimtab"), ("package-profiler", "trimtab-profiler")])
def test_each_archive_has_a_target_that_prints_its_path_and_nothing_else(target: str, kind: str, tree: Path) -> None:
    """Scripts read it: `archive="$(make --silent package)"`. Both make both."""
    shutil.rmtree(tree / "build", ignore_errors=True)
    done = make(tree, "--silent", target)
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = done.stdout.splitlines()
    assert re.fullmatch(rf"{kind}-[0-9.]+-[0-9a-f]{{16}}\.zip", Path(path).name)
    content = (tree / "build" / f"{kind}.zip").read_bytes()
    assert Path(path).read_bytes() == content
    assert hashlib.sha256(content).hexdigest()[:16] in path
    assert {each.name for each in (tree / "build").iterdir()} >= {"trimtab.zip", "trimtab-profiler.zip"}


def test_it_packages_then_has_terraform_show_the_plan_and_ask(tree: Path, tmp_path: Path) -> None:
    """Terraform is told of no archive: it takes the one with the profiler where a file of variables says `cloud_profiler`.

    Project and region come from the environment, which says the least of all: a file that says another is seen beside `deploying`.
    """
    shutil.rmtree(tree / "build", ignore_errors=True)
    done, calls = deploy(tree, tmp_path, "PROJECT=acme-ml", "REGION=europe-west1")
    assert done.returncode == 0, done.stderr
    assert [call[:-1] for call in calls] == [
        ["-chdir=terraform", "init", "-input=false"],
        ["-chdir=terraform", "apply", "-var", "deploying=acme-ml/europe-west1"],
    ]
    assert calls[1][-1] == "acme-ml europe-west1"
    assert (tmp_path / "trimtab.zip").read_bytes() == (tree / "build/trimtab.zip").read_bytes()
    assert done.stdout.splitlines()[-1] == f"Next: {Path(sys.executable).parent}/trimtab doctor --project acme-ml"


def test_without_terraform_nothing_is_packaged_and_the_version_is_named(tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / "build", ignore_errors=True)
    for name in ("sh", "test", "grep", "realpath", "sort", "wc"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    environment = {**os.environ, "PATH": str(tmp_path)}
    command = [str(shutil.which("make")), *MAKE[1:], "deploy", "PROJECT=acme-ml", "REGION=europe-west1"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "terraform is not on the PATH: install Terraform 1.11 or newer" in done.stderr
    assert not (tree / "build").exists()


@pytest.mark.parametrize(
    ("files", "variables"),
    [
        ({"terraform/terraform.tfvars": 'project_id = "acme-ml"\n', "prod.tfvars": 'project_id="acme-prod"\n'}, ("VARS=prod.tfvars",)),
        ({"terraform/a.auto.tfvars": 'project_id = "acme-ml"\n', "terraform/b.auto.tfvars": 'project_id = "acme-prod"\n'}, ()),
        ({"terraform/terraform.tfvars.json": '{\n  "project_id": "a"\n}', "prod.tfvars": 'project_id = "b"\n'}, ("VARS=prod.tfvars",)),
    ],
    ids=["a file beside terraform.tfvars", "two that are read by themselves", "JSON"],
)
def test_files_of_two_projects_are_not_mixed(files: dict[str, str], variables: tuple[str, ...], tree: Path, tmp_path: Path) -> None:
    own = with_files(tree, tmp_path / "own", files)
    done, calls = deploy(own, tmp_path, "PROJECT=acme-prod", "REGION=europe-west1", *variables)
    assert (done.returncode, calls) == (2, [])
    said = done.stderr.splitlines()
    assert "Terraform would mix these" in said[0]
    assert said[1:3] == sorted(str(own / name) for name in files)


def test_one_file_of_a_project_beside_one_of_none_is_deployed(tree: Path, tmp_path: Path) -> None:
    """Of a bucket's project, which a line within says, nothing is thought."""
    common = 'labels = { team = "ml" }\nmodel_buckets = {\n  m = {\n    project_id = "x"\n  }\n}\n'
    files = {"terraform/common.auto.tfvars": common, "terraform/prod.tfvars": 'project_id = "acme-prod"\n'}
    own = with_files(tree, tmp_path / "own", files)
    done, calls = deploy(own, tmp_path, "PROJECT=acme-prod", "REGION=europe-west1", "VARS=terraform/prod.tfvars")
    assert done.returncode == 0, done.stderr
    assert f"-var-file={own}/terraform/prod.tfvars" in calls[1]


@pytest.mark.parametrize(
    "typed", ["x'; touch pwned; echo '", 'a"b', "$(touch pwned)", "`touch pwned`", "$(shell touch pwned)", "a$b", "a$$b", "a b"]
)
@pytest.mark.parametrize("by", ["the command line", "the environment"])
def test_what_is_typed_is_run_by_nobody(typed: str, by: str, tree: Path, tmp_path: Path) -> None:
    """Not by make, not by the shell: it comes to Terraform, which refuses it, as it was typed."""
    given = {"PROJECT": typed, "REGION": typed, "VARS": f"{typed}.tfvars"}
    own = with_files(tree, tmp_path / "own", {given["VARS"]: "labels = {}"})
    words = [f"{name}={value}" for name, value in given.items()] if by == "the command line" else []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items() if by == "the environment" else ():
            patch.setenv(name, value)
        done, calls = deploy(own, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert calls[1] == [
        "-chdir=terraform",
        "apply",
        f"-var-file={own}/{typed}.tfvars",
        "-var",
        f"deploying={typed}/{typed}",
        f"{typed} {typed}",
    ]
    assert not list(own.rglob("pwned"))


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
