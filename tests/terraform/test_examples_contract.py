"""The examples keep what the root keeps: nobody is let in without a name, nobody has more than the list says, and nothing else is set."""

import json
from typing import Any

import pytest

from shared import deployment as parts
from shared.local.world.alerts import policies
from shared.records.service import Objective
from shared.records.subject import ServiceId
from tests.terraform.attributes import nothing_else_is_set
from tests.terraform.contract import FORBIDDEN_ROLES, PUBLIC
from tests.terraform.contract_details import served_policy
from tests.terraform.contract_orders import served_projects_have_their_apis
from tests.terraform.grants import iam, twice
from tests.terraform.plans import TREE, Plan, Terraform
from tests.terraform.sample import NUMBER

CONTROL, ADS, SEARCH = "acme-control", "acme-ads", "acme-search"
OWN_ACCOUNT = f"bidder@{ADS}.iam.gserviceaccount.com"
MODELS: dict[str, dict[str, Any]] = {
    "ranker": {"project_id": ADS, "region": "europe-west1", "bucket": "acme-ads-models", "p99_ms": 800},
    "bidder": {
        "service": "bids",
        "project_id": ADS,
        "region": "europe-west4",
        "bucket": "acme-ads-models",
        "p99_ms": 50,
        "service_account_email": OWN_ACCOUNT,
    },
    "embedder": {"project_id": SEARCH, "region": "us-central1", "bucket": "acme-search-models", "p99_ms": 200},
}
ACCOUNTS = {
    "ranker": f"trimtab-serving-ranker@{ADS}.iam.gserviceaccount.com",
    "bidder": OWN_ACCOUNT,
    "embedder": f"trimtab-serving-embedder@{SEARCH}.iam.gserviceaccount.com",
}
OWN_OF_THE_ADOPTED = {
    "google_cloud_run_v2_service.ranker",
    "google_service_account.ranker",
    "google_storage_bucket_iam_member.ranker",
}
"""What the owner of an adopted service has made; all else is the module's."""


@pytest.fixture(scope="module")
def several(tf: Terraform) -> Plan:
    numbers = {CONTROL: "111111111111", ADS: "222222222222", SEARCH: "333333333333"}
    variables = {"control_project_id": CONTROL, "project_numbers": numbers, "archive": "../../tests/archive.zip", "models": MODELS}
    return tf.plan(variables, folder="examples/several-projects")


@pytest.fixture(scope="module")
def adopted(tf: Terraform) -> Plan:
    variables = {"project_id": "acme-ml", "project_number": NUMBER, "archive": "../../tests/archive.zip", "model_bucket": "acme-models"}
    return tf.plan({**variables, "owner": "ada@example.com"}, folder="examples/adopt-an-existing-service")


@pytest.fixture(params=["several", "adopted"])
def example(request: pytest.FixtureRequest) -> Plan:
    found: Plan = request.getfixturevalue(request.param)
    return found


def test_every_example_is_tried_here() -> None:
    assert {path.name for path in (TREE / "examples").iterdir() if path.is_dir()} == {"several-projects", "adopt-an-existing-service"}


def test_nobody_is_let_in_and_nobody_has_too_much(example: Plan) -> None:
    assert [each.address for each in iam(example) if not each.kind.endswith("_iam_member")] == []
    assert [each.address for each in iam(example) if FORBIDDEN_ROLES.fullmatch(str(each.values["role"]))] == []
    assert [each.address for each in iam(example) if each.values.get("member") in PUBLIC] == []
    assert list(twice(example)) == []


def test_nothing_is_set_that_nobody_thought_of(example: Plan) -> None:
    own = tuple(f"{address}:" for address in OWN_OF_THE_ADOPTED)
    assert [problem for problem in nothing_else_is_set(example) if not problem.startswith(own)] == []
    assert list(served_projects_have_their_apis(example)) == []


def test_the_owner_of_an_adopted_service_makes_it_and_no_more(adopted: Plan) -> None:
    outside = {each.address for each in adopted.resources if not each.address.startswith("module.")}
    assert outside == OWN_OF_THE_ADOPTED
    granted = [(each.values["role"], each.values["bucket"]) for each in iam(adopted) if each.address in outside]
    assert granted == [("roles/storage.objectViewer", "acme-models")]


def test_the_owner_of_an_adopted_service_may_command_it_and_not_delete_it(adopted: Plan) -> None:
    assert environment(adopted, "command")["TRIMTAB_COMMAND_GRANTS"] == [
        {
            "commands": ["apply", "patch", "hold", "release", "rollback", "reconcile"],
            "identity": "ada@example.com",
            "services": ["acme-ml:europe-west1:*"],
        }
    ]


def test_grants_on_projects_are_in_the_project_that_they_are_for(several: Plan) -> None:
    found = {(each.values["project"], each.values["member"], each.values["role"]) for each in several.of("project_iam_member")}
    wanted = {
        (project, f"serviceAccount:{parts.account_address(grant.account, CONTROL)}", grant.role_in(project))
        for grant in parts.grants()
        for project in ([CONTROL] if grant.on is parts.On.PROJECT else [ADS, SEARCH])
        if grant.on in {parts.On.PROJECT, parts.On.SERVED_PROJECT} and grant.account != parts.SERVING_ACCOUNT
    }
    metrics = {(model["project_id"], f"serviceAccount:{ACCOUNTS[name]}", "roles/monitoring.metricWriter") for name, model in MODELS.items()}
    assert found == wanted | metrics


def test_each_part_is_in_its_project_and_region(several: Plan) -> None:
    for each in several.resources:
        if each.address.startswith(("module.control_plane.", "module.dashboard.")):
            assert each.values.get("project", CONTROL) == CONTROL, each.address
            assert {each.values.get(name, "europe-west1") for name in ("location", "location_id")} == {"europe-west1"}, each.address
        elif each.kind != "google_pubsub_topic_iam_member":
            assert each.values.get("project", ADS) in {ADS, SEARCH}, each.address
    services = {
        (each.values["project"], each.values["location"], each.values["name"])
        for each in several.of("cloud_run_v2_service_iam_member")
        if each.address.startswith("module.served_model")
    }
    assert services == {(model["project_id"], model["region"], model.get("service", name)) for name, model in MODELS.items()}


def test_a_model_runs_as_its_own_account_and_reads_its_own_bucket(several: Plan) -> None:
    readers = {(each.values["bucket"], each.values["member"]) for each in several.of("storage_bucket_iam_member")}
    reconcile = f"serviceAccount:{parts.account_address('reconcile', CONTROL)}"
    assert readers == {(model["bucket"], f"serviceAccount:{ACCOUNTS[name]}") for name, model in MODELS.items()} | {
        (model["bucket"], reconcile) for model in MODELS.values()
    }


@pytest.mark.parametrize("name", MODELS)
def test_policies_are_of_the_service_and_its_objective(name: str, several: Plan) -> None:
    model = MODELS[name]
    service = ServiceId(project=model["project_id"], region=model["region"], name=model.get("service", name))
    found = {str(each.key): each.values for each in several.of("monitoring_alert_policy") if f'module.alerts["{name}"]' in each.address}
    wanted = {policy.signal.value: policy for policy in policies(Objective(p99_ms=model["p99_ms"], error_ratio=0.01))}
    assert set(found) == set(wanted)
    assert [problem for signal in found for problem in served_policy(found[signal], service, signal, wanted[signal])] == []


def test_specs_may_name_services_of_the_served_projects_alone(several: Plan) -> None:
    assert {environment(several, name)["TRIMTAB_ALLOWED_PROJECTS"] for name in ("command", "reconcile")} == {f"{ADS},{SEARCH}"}


def test_the_dashboard_of_several_projects_waits_for_the_metrics(several: Plan) -> None:
    assert several.module()["module_calls"]["dashboard"]["depends_on"] == ["module.control_plane"]


def environment(plan: Plan, name: str) -> dict[str, Any]:
    """What a function gets as environment; JSON as what it says."""
    (function,) = (each for each in plan.of("cloudfunctions2_function") if each.values["name"] == f"trimtab-{name}")
    given = function.values["service_config"][0]["environment_variables"]
    return {key: json.loads(value) if value.startswith(("[", "{")) else value for key, value in given.items()}
