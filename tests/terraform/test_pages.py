"""What the pages say of the modules is what Terraform says of them."""

import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

from shared.deployment import Switch, grants
from shared.doctor.rules_services import OWNED
from tests.terraform.contract_details import switches
from tests.terraform.plans import ROOT, TREE, Plan, Terraform
from tests.terraform.sample import NUMBER, PROFILER_REQUIREMENT, SERVICE, archive_of

GUIDE = ROOT / "docs" / "guides" / "deploy.md"


@pytest.fixture(scope="module")
def pages() -> Iterator[ModuleType]:
    path = ROOT / "docs" / "terraform_pages.py"
    spec = importlib.util.spec_from_file_location("terraform_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["terraform_pages"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["terraform_pages"]


def test_every_page_is_as_it_would_be_made_now(pages: ModuleType) -> None:
    assert {path: path.read_text() for path in pages.terraform_pages()} == pages.terraform_pages()


def test_every_variable_has_a_type_and_says_what_it_is(pages: ModuleType) -> None:
    for folder in pages.folders():
        for variable in pages.variables(folder):
            assert variable.type not in {"any", ""}, f"{folder.name}: {variable.name}"
            assert len(variable.description) > 10, f"{folder.name}: {variable.name}"


def test_every_page_says_which_versions_it_takes_and_how_it_is_called(pages: ModuleType) -> None:
    for folder in pages.folders():
        text = pages.readme(folder)
        assert "Terraform `>= 1.11`, provider `hashicorp/google` `>= 6.50, < 9.0`." in text
        (called,) = re.findall(r"^## (?:Usage|main\.tf)\n.*?```hcl\n(.*?)```", text, re.MULTILINE | re.DOTALL)
        assert 'module "' in called


def test_what_must_be_written_is_shown_with_its_fields_and_their_defaults(pages: ModuleType) -> None:
    """A table can only say that there is an object: the block below has what may stand in it."""
    text = pages.readme(TREE)
    for name in ("models", "model_buckets", "command_grants", "firestore", "alert_thresholds"):
        assert f"(object(...))`](#{name})" in text or f"object(...)`](#{name})" in text
        assert f"### {name}\n\n```hcl\n" in text
    assert "  delete_protection      = optional(bool, true)\n})\n```" in text
    for folder in pages.folders():
        for name in re.findall(r"\(#(\w+)\)", pages.readme(folder)):
            assert f"\n### {name}\n" in pages.readme(folder)


def test_the_page_of_the_example_shows_the_block_that_a_service_needs(pages: ModuleType) -> None:
    example = (TREE / "examples" / "adopt-an-existing-service" / "README.md").read_text()
    (block,) = re.findall(r"```hcl\n(lifecycle .*?)```", GUIDE.read_text(), re.DOTALL)
    assert re.sub(r"\s+", " ", block) in re.sub(r"\s+", " ", example)


@pytest.mark.parametrize("module", [".", "control_plane", "served_project", "served_model", "alerts", "dashboard", "function"])
def test_inputs_and_outputs_are_those_that_terraform_sees(module: str, pages: ModuleType, plan: Plan) -> None:
    folder = TREE if module == "." else TREE / "modules" / module.replace("_", "-")
    seen = _configuration(plan, module)
    assert {each.name: (each.description, each.default is not None) for each in pages.variables(folder)} == {
        name: (variable["description"], "default" in variable) for name, variable in seen["variables"].items()
    }
    assert {each.name: each.description for each in pages.outputs(folder)} == {
        name: output["description"] for name, output in seen["outputs"].items()
    }


def test_the_variables_of_the_guide_can_be_planned(tf: Terraform) -> None:
    (shown,) = re.findall(r"```hcl\n(project_id = .*?)```", GUIDE.read_text(), flags=re.DOTALL)
    planned = tf.plan({"project_number": NUMBER}, tfvars=shown, built={"trimtab.zip": archive_of()})
    assert [each.values["name"] for each in planned.of("cloudfunctions2_function")]
    assert {each.values["name"] for each in planned.of("cloud_run_v2_service_iam_member")} >= {SERVICE, "trimtab-command"}


def test_the_pages_that_the_guide_names_exist_with_the_headings_that_it_names() -> None:
    for target, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", GUIDE.read_text()):
        path = GUIDE.parent / target if target else GUIDE
        assert path.exists(), target
        headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE) if heading else []
        assert not heading or heading in {each.lower().replace(" ", "-") for each in headings}, f"{target}#{heading}"


def test_a_second_project_gets_a_state_and_a_file_of_its_own() -> None:
    """The guide's way to one is that which a refused plan names."""
    (shown,) = re.findall(r"```sh\n(trimtab init --output .*?)```", GUIDE.read_text(), flags=re.DOTALL)
    written, _, workspace, deploy = shown.splitlines()
    assert deploy.endswith(f"VARS={written.rpartition(' ')[2]}")
    refusal = (TREE / "modules/control-plane/main.tf").read_text()
    assert workspace.removesuffix("acme-prod") in refusal
    assert "(docs/guides/deploy.md, State)" in refusal
    assert "\n## State\n" in GUIDE.read_text()


@pytest.mark.parametrize(("switch", "variable"), [(Switch.PROFILER, "cloud_profiler"), (Switch.TRACES, "trace_ratio")])
def test_what_a_switch_grants_stands_among_what_is_asked_for_with_its_variable(switch: Switch, variable: str) -> None:
    always, asked = (ROOT / "docs/reference/roles.md").read_text().split("## Only where asked for")
    for role in {grant.role for grant in set(grants({switch})) - set(grants())}:
        assert f"`{role}`" not in always
        (row,) = (line for line in asked.splitlines() if f"`{role}`" in line)
        assert f"`{variable}`" in row


def test_the_switches_of_the_guide_are_variables_that_can_be_planned(tf: Terraform) -> None:
    (shown,) = re.findall(r"```hcl\n(trace_ratio .*?)```", GUIDE.read_text(), flags=re.DOTALL)
    said = {"project_id": "acme-ml", "region": "europe-west1", "project_number": NUMBER}
    planned = tf.plan(said, tfvars=shown, built={"trimtab-profiler.zip": archive_of(PROFILER_REQUIREMENT)})
    assert switches(planned) == set(Switch)


def test_what_terraform_leaves_alone_is_what_trimtab_writes() -> None:
    """The block of the guide is that of the example, and names what `trimtab doctor` would."""
    pattern = r"ignore_changes = \[([^\]]*)\]"
    (guide,) = re.findall(pattern, GUIDE.read_text())
    (example,) = re.findall(pattern, (TREE / "examples" / "adopt-an-existing-service" / "main.tf").read_text())
    assert guide == example
    assert {each.strip() for each in guide.split(",")} == set(OWNED)


def _configuration(plan: Plan, module: str) -> Mapping[str, Any]:
    root: Mapping[str, Any] = plan.configuration["root_module"]
    if module == ".":
        return root
    if module == "function":
        root = root["module_calls"]["control_plane"]["module"]
    found: Mapping[str, Any] = root["module_calls"][module]["module"]
    return found
