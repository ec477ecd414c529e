"""The examples are plans, and what they are there to show is in them."""

import json
from pathlib import Path

import pytest

from shared.doctor.examining import examine
from shared.doctor.plan import read_picture
from tests.support.commands import trimtab
from tests.terraform.contract import FORBIDDEN_ROLES, PUBLIC
from tests.terraform.grants import granted, twice
from tests.terraform.plans import Plan, Terraform
from tests.terraform.sample import CALLER, GRANTS, NUMBER, VARIABLES

NUMBERS = {"acme-control": "111111111111", "acme-ads": "222222222222", "acme-search": "333333333333"}


@pytest.fixture(scope="module")
def several(tf: Terraform) -> Plan:
    models = {
        "ranker": {"project_id": "acme-ads", "region": "europe-west1", "bucket": "acme-ads-models", "p99_ms": 800},
        "bidder": {"project_id": "acme-ads", "region": "europe-west4", "bucket": "acme-ads-models", "p99_ms": 50},
        "embedder": {"project_id": "acme-search", "region": "us-central1", "bucket": "acme-search-models", "p99_ms": 200},
    }
    variables = {"control_project_id": "acme-control", "project_numbers": NUMBERS, "archive": "../../tests/archive.zip", "models": models}
    return tf.plan(variables, folder="examples/several-projects")


@pytest.fixture(scope="module")
def adopted(tf: Terraform) -> Plan:
    variables = {
        "project_id": "acme-ml",
        "project_number": NUMBER,
        "archive": "../../tests/archive.zip",
        "model_bucket": "acme-models",
        "owner": "ada@example.com",
    }
    return tf.plan(variables, folder="examples/adopt-an-existing-service")


def test_an_existing_service_is_adopted(adopted: Plan) -> None:
    members = adopted.of("cloud_run_v2_service_iam_member")
    assert {each.values["name"] for each in members if "trimtabRunUpdater" in each.values["role"]} == {"ranker"}
    (acted_as,) = [each.values["service_account_id"] for each in adopted.of("service_account_iam_member") if "User" in each.values["role"]]
    assert acted_as.endswith("/ranker@acme-ml.iam.gserviceaccount.com")
    assert list(twice(adopted)) == []


def test_nothing_is_wrong_with_the_service_that_is_adopted(adopted: Plan, tmp_path: Path) -> None:
    """By our own tools: lint finds nothing to say of it, the doctor misses nothing in its plan."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(adopted.document))
    linted = trimtab("lint", path)
    assert (linted.exit_code, linted.stdout) == (0, f"{path}: nothing found (read as Terraform plan)\n")
    assert examine(read_picture(adopted.document, number=int(NUMBER))) == ()


def test_the_service_may_read_its_model_before_it_starts(adopted: Plan) -> None:
    (service,) = adopted.of("cloud_run_v2_service")
    assert adopted.written(service.address)["depends_on"] == ["google_storage_bucket_iam_member.ranker"]


def test_whoever_is_named_commands_services_of_several_projects(tf: Terraform) -> None:
    models = {"ranker": {"project_id": "acme-ads", "region": "europe-west1", "bucket": "acme-models", "p99_ms": 800}}
    variables = {"control_project_id": "acme-control", "project_numbers": NUMBERS, "archive": "../../tests/archive.zip", "models": models}
    plan = tf.plan({**variables, "command_callers": [CALLER], "command_grants": GRANTS}, folder="examples/several-projects")
    callers = {each.values["member"] for each in plan.of("cloud_run_v2_service_iam_member") if each.values["name"] == "trimtab-command"}
    assert CALLER in callers
    (command,) = (each for each in plan.of("cloudfunctions2_function") if each.values["name"] == "trimtab-command")
    environment = command.values["service_config"][0]["environment_variables"]
    assert [each["identity"] for each in json.loads(environment["TRIMTAB_COMMAND_GRANTS"])[:1]] == ["ada@example.com"]
    assert "command_uri" in plan.configuration["root_module"]["outputs"]


def test_each_project_is_wired_by_its_own_agents_to_one_control_plane(several: Plan) -> None:
    grants = [each.values for each in several.of("pubsub_topic_iam_member") if "served_project" in each.address]
    assert {values["project"] for values in grants} == {"acme-control"}
    agents = {str(values.get("member")) for values in grants if "monitoring" in str(values.get("member"))}
    assert agents == {
        f"serviceAccount:service-{NUMBERS[name]}@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
        for name in ("acme-ads", "acme-search")
    }


def test_two_models_of_one_bucket_are_told_of_once(several: Plan) -> None:
    assert sorted(each.values["bucket"] for each in several.of("storage_notification")) == ["acme-ads-models", "acme-search-models"]


def test_a_bucket_of_a_third_project_is_wired_once_and_told_of_by_that_projects_agent(tf: Terraform) -> None:
    models = {
        "ranker": {"project_id": "acme-ads", "region": "europe-west1", "bucket": "acme-models", "p99_ms": 800},
        "embedder": {"project_id": "acme-search", "region": "europe-west1", "bucket": "acme-models", "p99_ms": 200},
    }
    variables = {"control_project_id": "acme-control", "project_numbers": NUMBERS, "archive": "../../tests/archive.zip", "models": models}
    plan = tf.plan({**variables, "bucket_projects": {"acme-models": "acme-data"}}, folder="examples/several-projects")
    assert [each.key for each in plan.of("storage_notification")] == ["acme-models"]
    assert [each.key for each in plan.of("pubsub_topic_iam_member") if "storage_publisher" in each.address] == ["acme-data"]
    assert sorted(each.values["member"].partition("@")[2] for each in plan.of("storage_bucket_iam_member")) == [
        "acme-ads.iam.gserviceaccount.com",
        "acme-control.iam.gserviceaccount.com",
        "acme-search.iam.gserviceaccount.com",
    ]
    assert list(twice(plan)) == []


def test_a_model_that_goes_takes_nothing_from_those_that_share_with_it(tf: Terraform, plan: Plan) -> None:
    kept = {name: model for name, model in VARIABLES["models"].items() if name != "ranker-us"}
    gone = granted(plan) - granted(tf.plan({**VARIABLES, "models": kept}))
    assert {(each.role, each.on) for each in gone} == {
        ("projects/acme-ml/roles/trimtabRunUpdater", "service us-central1/ranker"),
        ("roles/run.invoker", "service us-central1/ranker"),
        ("roles/storage.objectViewer", "bucket acme-models"),
    }


def test_a_model_may_run_as_the_account_that_is_made_for_another(tf: Terraform) -> None:
    models = {"ranker": {}, "scorer": {"service_account_email": "trimtab-serving-ranker@acme-ml.iam.gserviceaccount.com"}}
    plan = tf.plan({**VARIABLES, "models": models})
    assert [each.key for each in plan.of("service_account_iam_member") if "act_as" in each.address] == ["ranker"]
    assert list(twice(plan)) == []


def test_trimtab_acts_as_the_serving_accounts_and_on_the_served_services_alone(several: Plan) -> None:
    accounts = {
        each.values["service_account_id"]
        for each in several.of("service_account_iam_member")
        if "serviceAccountUser" in each.values["role"]
    }
    assert accounts == {
        f"projects/{project}/serviceAccounts/trimtab-serving-{name}@{project}.iam.gserviceaccount.com"
        for name, project in (("ranker", "acme-ads"), ("bidder", "acme-ads"), ("embedder", "acme-search"))
    }
    members = [each for each in several.resources if each.kind.endswith("_iam_member")]
    assert not [each.address for each in members if FORBIDDEN_ROLES.fullmatch(str(each.values["role"]))]
    assert not [each.address for each in members if each.values.get("member") in PUBLIC]


def test_policies_notify_through_a_channel_of_their_own_project(several: Plan) -> None:
    channels = {each.values["project"] for each in several.of("monitoring_notification_channel")}
    served = {each.values["project"] for each in several.of("monitoring_alert_policy") if "module.alerts" in each.address}
    assert channels == served == {"acme-ads", "acme-search"}
