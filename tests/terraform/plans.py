"""Terraform's plans of the modules, as values: made with the true schema of the google provider, without an account."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

ROOT = Path(__file__).parents[2]
TREE = ROOT / "terraform"
FOLDER_VARIABLE = "TFCHECK_HOME"
SCHEMA = "schemas/google-7.json.gz"
INIT_SECONDS = 90
NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Edit(NamedTuple):
    """A change of a copy of the tree: in that file, this text, which stands there once, becomes that."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Resource:
    """One resource of a plan. What is known only after apply is not in `values`; `unknown` names it."""

    address: str
    kind: str
    key: str | None
    values: Mapping[str, Any]
    unknown: Mapping[str, Any]


class Plan:
    """What Terraform would make of a configuration."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.document = content
        """As `terraform show -json` has it."""
        self.configuration: Mapping[str, Any] = content["configuration"]
        self.variables: Mapping[str, Any] = {name: each.get("value") for name, each in content.get("variables", {}).items()}
        self._changes = content["resource_changes"]

    @cached_property
    def resources(self) -> list[Resource]:
        """All of them, without what is only read."""
        return [
            Resource(
                address=each["address"],
                kind=each["type"],
                key=each.get("index") if isinstance(each.get("index"), str) else None,
                values=each["change"]["after"] or {},
                unknown=each["change"]["after_unknown"] or {},
            )
            for each in self._changes
            if each["mode"] == "managed"
        ]

    def module(self, *names: str) -> Mapping[str, Any]:
        """What the configuration says of a module: of the root without names."""
        found: Mapping[str, Any] = self.configuration["root_module"]
        for name in names:
            found = found["module_calls"][name]["module"]
        return found

    def written(self, address: str) -> Mapping[str, Any]:
        """What the configuration says of the resource of that address: its expressions, what it depends on."""
        *path, kind, name = re.sub(r'\["[^"]*"\]|\[\d+\]', "", address).split(".")
        data = path[-1:] == ["data"]
        resources = self.module(*path[1 : -1 if data else None : 2])["resources"]
        mode = "data" if data else "managed"
        (found,) = [each for each in resources if (each["mode"], each["type"], each["name"]) == (mode, kind, name)]
        return {"depends_on": (), **found}

    def of(self, kind: str) -> list[Resource]:
        """The resources of a type, `google_` left out of its name."""
        return [each for each in self.resources if each.kind == f"google_{kind}"]


class Broken(Exception):
    """Terraform refuses the configuration; the text is its own."""


class Terraform(Protocol):
    """What the tests ask of a Terraform with a google provider."""

    def plan(
        self,
        variables: Mapping[str, Any],
        *,
        folder: str = ".",
        edits: tuple[Edit, ...] = (),
        tfvars: str = "",
        built: Mapping[str, bytes] = NOTHING,
    ) -> Plan:
        """The plan of that folder of a copy of the tree, with the edits made in it.

        `tfvars` is a file of variables in the folder; `built` are the files in `build/` beside the tree, by their names.
        """

    def validate(self, *, folder: str = ".", edits: tuple[Edit, ...] = ()) -> None:
        """Only whether the configuration is one."""

    def test(self, *, folder: str = ".", edits: tuple[Edit, ...] = ()) -> None:
        """The tests that ship with that folder."""


class _Shared(ABC):
    """How a copy is made, initialised and planned; where the commands run is the subclass's business."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._copies = 0

    @property
    def _copy(self) -> Path:
        """The checkout that the newest copy is part of."""
        return self._scratch / f"copy-{self._copies}"

    def _build(self, files: Mapping[str, bytes]) -> None:
        (self._copy / "build").mkdir()
        for name, content in files.items():
            (self._copy / "build" / name).write_bytes(content)

    @abstractmethod
    def run(self, folder: Path, *arguments: str, offline: bool = True) -> subprocess.CompletedProcess[str]: ...

    def plan(
        self,
        variables: Mapping[str, Any],
        *,
        folder: str = ".",
        edits: tuple[Edit, ...] = (),
        tfvars: str = "",
        built: Mapping[str, bytes] = NOTHING,
    ) -> Plan:
        work = self.initialised(folder, edits)
        (work / "terraform.tfvars").write_text(tfvars)
        self._build(built)
        given = [f"-var={name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in variables.items()]
        planned = self.run(work, "plan", "-input=false", "-no-color", "-lock=false", "-refresh=false", "-out=p.tfplan", *given)
        _check(planned)
        shown = self.run(work, "show", "-json", "p.tfplan")
        _check(shown)
        return Plan(json.loads(shown.stdout))

    def validate(self, *, folder: str = ".", edits: tuple[Edit, ...] = ()) -> None:
        _check(self.run(self.initialised(folder, edits), "validate", "-no-color"))

    def test(self, *, folder: str = ".", edits: tuple[Edit, ...] = ()) -> None:
        _check(self.run(self.initialised(folder, edits), "test", "-no-color"))

    def initialised(self, folder: str = ".", edits: tuple[Edit, ...] = ()) -> Path:
        self._copies += 1
        tree = self._copy / TREE.name
        shutil.copytree(TREE, tree, ignore=shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "terraform.tfstate*", "*.tfvars"))
        for edit in edits:
            path = tree / edit.file
            text = path.read_text()
            assert text.count(edit.old) == 1, f"{edit.file}: {edit.old!r} stands there {text.count(edit.old)} times"
            path.write_text(text.replace(edit.old, edit.new))
        _check(self.run(tree / folder, "init", "-backend=false", "-input=false", "-no-color", offline=False))
        return tree / folder


class StandIn(_Shared):
    """Terraform with a stand-in for the provider that has its schema and its rules."""

    def __init__(self, scratch: Path, tool: Any) -> None:
        super().__init__(scratch)
        self._tool = tool

    def run(self, folder: Path, *arguments: str, offline: bool = True) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = self._tool.run(folder, *arguments, attach=offline)
        return done


class Installed(_Shared):
    """The Terraform of this machine, with the provider that it gets itself. No credentials: a plan of new things asks Google nothing."""

    def run(self, folder: Path, *arguments: str, offline: bool = True) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_VAR_", "GOOGLE_", "CLOUDSDK_"))}
        environment = kept | {"GOOGLE_OAUTH_ACCESS_TOKEN": "none", "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
        command = ["terraform", *arguments]
        limit = INIT_SECONDS if not offline else 300
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit, check=False)


@contextmanager
def terraform(scratch: Path) -> Iterator[Terraform | str]:
    """One that can plan: the folder that `TFCHECK_HOME` names, else the installed one; or why there is none."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        with _stand_in(Path(named), scratch) as found:
            yield found
        return
    if shutil.which("terraform") is None:
        yield f"terraform is not installed, and {FOLDER_VARIABLE} names no stand-in"
        return
    installed = Installed(scratch)
    try:
        installed.initialised("modules/dashboard")
    except (Broken, subprocess.TimeoutExpired) as error:
        reason = " ".join(str(error).partition("Error: ")[2].split()) or str(error)
        yield f"terraform init could not get the google provider, and {FOLDER_VARIABLE} is not set: {reason[:200]}"
    else:
        yield installed


@contextmanager
def _stand_in(folder: Path, scratch: Path) -> Iterator[StandIn]:
    sys.path.insert(0, str(folder))
    try:
        tfcheck, provider = importlib.import_module("tfcheck"), importlib.import_module("provider")
    finally:
        sys.path.remove(str(folder))
    schema = _only_used(provider.load(folder / SCHEMA))
    with tfcheck.Terraform([schema], json.loads((folder / "rules.json").read_text())) as tool:
        yield StandIn(scratch, tool)


def _only_used(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of the types that the tree uses, and of none of the other thirteen hundred: each command reads it anew."""
    text = "".join(path.read_text() for path in TREE.rglob("*.tf"))
    parts = {
        part: {name: one for name, one in schema[part].items() if f'"{name}"' in text}
        for part in ("resource_schemas", "data_source_schemas")
    }
    return {**schema, **parts}


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 0:
        raise Broken(done.stdout + done.stderr)
