"""What Terraform's variables refuse is what the code would refuse, and each refusal is tried by a test that ships with its module."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from shared.records.rights import CommandName, Grant
from shared.settings import Pattern, Settings
from tests.terraform.plans import TREE

FOLDERS = sorted({path.parent for path in TREE.rglob("variables.tf")})
CONTROL = (TREE / "modules" / "control-plane" / "variables.tf").read_text()
SERVED = (TREE / "modules" / "served-project" / "variables.tf").read_text()
ROOT_VARIABLES = (TREE / "variables.tf").read_text()
GRANT = json.dumps(Grant.model_json_schema())


def patterns(text: str) -> set[str]:
    """The regular expressions of a text in HCL or JSON."""
    return {found.replace("\\\\", "\\") for found in re.findall(r'"(\^(?:[^"\\]|\\.)*)"', text)}


def variable(name: str) -> str:
    """The block of one variable of the control plane."""
    (found,) = re.findall(rf'^variable "{name}" {{\n(.*?)^}}', CONTROL, flags=re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_validation_is_tried_by_a_test_that_ships(folder: Path) -> None:
    text = (folder / "variables.tf").read_text()
    blocks = re.findall(r'^variable "(\w+)" \{\n(.*?)^\}', text, flags=re.MULTILINE | re.DOTALL)
    wanted = Counter({name: body.count("  validation {") for name, body in blocks if "  validation {" in body})
    tests = "".join(path.read_text() for path in (folder / "tests").glob("*.tftest.hcl"))
    assert wanted - Counter(re.findall(r"expect_failures = \[var\.(\w+)\]", tests)) == Counter()


def test_commands_are_those_that_the_code_knows() -> None:
    asked = variable("command_grants").partition("setsubtract(grant.commands")[2].partition("]")[0]
    assert set(re.findall(r'"(\w+)"', asked)) == set(get_args(CommandName))


def test_grants_are_read_by_the_same_expressions() -> None:
    """Of an identity Terraform asks for more: no `user:` in front, which is an address to the code, and nobody's."""
    of_an_address = r"^[^@\s]{1,128}@[^@\s]{1,190}$"
    assert patterns(GRANT) == (patterns(variable("command_grants")) - {r"^[^@:\s]{1,128}@[^@\s]{1,190}$"}) | {of_an_address}


@pytest.mark.parametrize("name", ["allowed_images", "allowed_service_accounts", "allowed_buckets", "allowed_projects"])
def test_lists_are_read_by_the_same_expressions(name: str) -> None:
    """Terraform takes a list and refuses the comma that would make two names of one."""
    (constraints,) = [each for each in get_args(Pattern) if hasattr(each, "pattern")]
    assert {found.replace("[^*,", "[^*") for found in patterns(variable(name))} == {constraints.pattern}
    assert f"length(name) <= {constraints.max_length}" in variable(name)


def test_the_database_is_named_by_the_same_expression() -> None:
    said = json.dumps(Settings.model_json_schema()["properties"]["firestore_database"])
    assert patterns(said) <= patterns(variable("firestore"))


def test_the_root_asks_of_models_what_the_modules_ask() -> None:
    """In its own words, and before they do: one refusal of one fault."""
    asked = patterns(
        "".join((TREE / "modules" / name / "variables.tf").read_text() for name in ("served-project", "served-model", "alerts"))
    )
    forms = patterns((TREE / "main.tf").read_text())
    location, repository = (each for each in re.findall(r'regex\("(\^[^"]*)", each\.(?:location|name)\)', SERVED))
    assert forms - asked == {f"{location.removesuffix('$')}/{repository.removeprefix('^')}"}
    assert patterns(ROOT_VARIABLES) <= asked | patterns(CONTROL)
