"""What can be switched on is all there when it is, and nothing of it when it is not; and each has the archive that fits."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from cli.init import Answers, Model, tfvars
from cli.package import ROOT, Archives, packaged
from shared.deployment import FUNCTIONS, Switch
from shared.settings import Settings
from tests.terraform.contract import problems
from tests.terraform.contract_details import switches
from tests.terraform.plans import TREE, Broken, Edit, Plan, Terraform
from tests.terraform.sample import NUMBER, PROFILER_ARCHIVE, PROFILER_REQUIREMENT, RATIO, SWITCHED, VARIABLES, archive_of

ALONE: dict[Switch, dict[str, Any]] = {
    Switch.PROFILER: {"cloud_profiler": True, "archive": PROFILER_ARCHIVE},
    Switch.TRACES: {"trace_ratio": RATIO},
}
LEAST = {"project_id": "acme-ml", "region": "europe-west1", "project_number": NUMBER}
"""What must be said; the number only because nobody is there who could be asked for it."""
PROFILED = archive_of(PROFILER_REQUIREMENT)
WITHOUT = r"cloud_profiler:\s[^:]*\sis\s+without\s+the\s+profiler"


@pytest.fixture(scope="module")
def made() -> Archives:
    """What `make package` makes of this tree."""
    return packaged(ROOT)


def source(plan: Plan) -> str:
    """The file that is uploaded."""
    (found,) = plan.of("storage_bucket_object")
    return str(found.values["source"])


def settings(plan: Plan) -> list[Settings]:
    """What each function reads of its environment."""
    functions = [each.values["service_config"][0]["environment_variables"] for each in plan.of("cloudfunctions2_function")]
    assert len(functions) == len(FUNCTIONS)
    return [Settings.from_environment(given) for given in functions]


def test_switched_off_nothing_speaks_of_it(plan: Plan) -> None:
    said = json.dumps([dict(each.values) for each in plan.resources]).lower()
    assert re.findall(r"profiler|telemetry|cloudtrace|trace_ratio", said) == []
    assert {(each.profiler, each.trace_ratio) for each in settings(plan)} == {(False, 0.0)}


def test_switched_on_the_contract_holds_with_all_that_is_asked_besides(switched: Plan) -> None:
    assert problems(switched) == []
    assert switches(switched) == set(Switch)
    assert {(each.profiler, each.trace_ratio) for each in settings(switched)} == {(True, RATIO)}


@pytest.mark.parametrize("switch", Switch)
def test_each_is_switched_on_without_the_other(switch: Switch, tf: Terraform) -> None:
    plan = tf.plan({**VARIABLES, **ALONE[switch]})
    assert problems(plan) == []
    assert switches(plan) == {switch}
    wanted = (True, 0.0) if switch is Switch.PROFILER else (False, RATIO)
    assert {(each.profiler, each.trace_ratio) for each in settings(plan)} == {wanted}


def test_project_and_region_are_all_that_must_be_said(tf: Terraform, made: Archives) -> None:
    plan = tf.plan(LEAST, built={made.plain.fixed_name: made.plain.content})
    assert source(plan).endswith("/build/trimtab.zip")
    (uploaded,) = plan.of("storage_bucket_object")
    assert uploaded.values["name"].removeprefix("trimtab-") == made.plain.name.rpartition("-")[2]


def test_the_profiler_takes_the_archive_that_has_it(tf: Terraform, made: Archives) -> None:
    plan = tf.plan({**LEAST, "cloud_profiler": True}, built={each.fixed_name: each.content for each in made})
    assert source(plan).endswith("/build/trimtab-profiler.zip")
    assert switches(plan) == {Switch.PROFILER}


@pytest.mark.parametrize("more", [{}, {"cloud_profiler": True}], ids=["plain", "profiler"])
def test_before_anything_was_packaged_the_plan_says_what_to_do(more: dict[str, Any], tf: Terraform) -> None:
    with pytest.raises(Broken) as refused:
        tf.plan({**LEAST, **more})
    said = " ".join(str(refused.value).partition("Error:")[2].split())
    assert f"/build/trimtab{'-profiler' if more else ''}.zip yet: run `make package` in the checkout of Trimtab" in said
    assert "filesha256" not in said


def refused(tf: Terraform, archive: str, built: Mapping[str, bytes]) -> str:
    """Why the plan is, in one line."""
    with pytest.raises(Broken) as found:
        tf.plan({**LEAST, "archive": archive}, built=built)
    assert str(found.value).count("Error: ") == 1
    return " ".join(str(found.value).partition("Error:")[2].split())


@pytest.mark.parametrize("path", ["build/trimtab.zip", "tests"], ids=["read from terraform/", "a folder"])
def test_a_path_that_leads_to_no_file_is_refused_with_where_it_leads(path: str, tf: Terraform) -> None:
    said = refused(tf, path, {"trimtab.zip": archive_of()})
    assert f"/terraform/{path}. Say the whole path, as `make package` prints it" in said


@pytest.mark.parametrize(
    "content", [b"# A page", b"PK\x03\x04 of somebody", archive_of()[2:]], ids=["text", "another zip", "the rest of one"]
)
def test_a_file_that_is_no_archive_of_trimtabs_is_refused(content: bytes, tf: Terraform) -> None:
    """Also where no profiler is asked for: the functions would fail to build, minutes later."""
    assert "/build/mine.zip is none that `make package` made" in refused(tf, "../build/mine.zip", {"mine.zip": content})


def test_the_archives_beside_the_modules_are_those_that_the_tests_make() -> None:
    made = {VARIABLES["archive"]: archive_of(), SWITCHED["archive"]: archive_of(PROFILER_REQUIREMENT)}
    assert {name: (TREE / name).read_bytes() for name in made} == made


@pytest.mark.parametrize("built", [True, False], ids=["under the other's name", "by its path"])
def test_a_profiler_in_an_archive_without_it_is_refused(built: bool, tf: Terraform, made: Archives) -> None:
    """It would be built and deployed, and no profile would ever come."""
    given = {} if built else {"archive": "../build/trimtab.zip"}
    files = dict.fromkeys(("trimtab.zip", "trimtab-profiler.zip"), made.plain.content)
    with pytest.raises(Broken, match=WITHOUT):
        tf.plan({**LEAST, **given, "cloud_profiler": True}, built=files)


def test_a_tree_that_would_take_the_wrong_one_is_refused(tf: Terraform, made: Archives) -> None:
    wrong = Edit("modules/control-plane/archive.tf", '? "trimtab-profiler" : "trimtab"', '? "trimtab" : "trimtab-profiler"')
    with pytest.raises(Broken, match=WITHOUT):
        tf.plan({**LEAST, "cloud_profiler": True}, edits=(wrong,), built={each.fixed_name: each.content for each in made})


def test_an_archive_with_the_profiler_may_run_without_it(tf: Terraform) -> None:
    plan = tf.plan({**LEAST, "archive": "../build/mine.zip"}, built={"mine.zip": PROFILED})
    assert switches(plan) == set()


def test_an_archive_that_is_named_is_taken_whatever_was_packaged(tf: Terraform) -> None:
    plan = tf.plan({**LEAST, "archive": "tests/archive.zip"}, built={"trimtab.zip": archive_of("another==1")})
    assert source(plan) == "tests/archive.zip"


@pytest.mark.parametrize("ratio", [-0.1, 1.1])
def test_a_ratio_that_the_settings_refuse_is_no_plan(ratio: float, tf: Terraform) -> None:
    with pytest.raises(Broken, match="trace_ratio: want a share of requests from 0 to 1"):
        tf.plan({**VARIABLES, "trace_ratio": ratio})


@pytest.mark.parametrize("ratio", [1, 0.000001])
def test_a_ratio_is_read_as_it_was_said(ratio: float, tf: Terraform) -> None:
    assert {each.trace_ratio for each in settings(tf.plan({**VARIABLES, "trace_ratio": ratio}))} == {ratio}


def test_null_is_off(tf: Terraform) -> None:
    plan = tf.plan(VARIABLES, tfvars="cloud_profiler = null\ntrace_ratio = null\n")
    assert problems(plan) == []
    assert switches(plan) == set()


def test_what_init_writes_of_switches_and_objectives_is_planned(tf: Terraform) -> None:
    models = (Model("ranker", None, None, 800.0), Model("scorer", None, None))
    text = tfvars(Answers("acme-ml", "europe-west1", models, (), (), cloud_profiler=True, trace_ratio=RATIO))
    plan = tf.plan({"project_number": NUMBER}, tfvars=text, built={"trimtab-profiler.zip": PROFILED})
    assert switches(plan) == set(Switch)
    slow = [each.values["display_name"] for each in plan.of("monitoring_alert_policy") if each.key == "latency"]
    assert slow == ["ranker: slow answers"]


def test_a_control_plane_for_several_projects_has_the_switches_and_the_archive_as_well(tf: Terraform) -> None:
    models = {"ranker": {"project_id": "acme-ads", "region": "europe-west1", "bucket": "acme-ads-models", "p99_ms": 800}}
    numbers = {"acme-control": "111111111111", "acme-ads": "222222222222"}
    variables = {"control_project_id": "acme-control", "project_numbers": numbers, "models": models}
    on = {"cloud_profiler": True, "trace_ratio": RATIO}
    plan = tf.plan({**variables, **on}, folder="examples/several-projects", built={"trimtab-profiler.zip": PROFILED})
    assert {(each.profiler, each.trace_ratio) for each in settings(plan)} == {(True, RATIO)}
    assert source(plan).endswith("/build/trimtab-profiler.zip")
