"""The examples are plans, and what they are there to show is in them."""

import pytest

from tests.terraform.contract import FORBIDDEN_ROLES, PUBLIC
from tests.terraform.plans import Plan, Terraform

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


def test_an_existing_service_is_adopted(tf: Terraform) -> None:
    variables = {
        "project_id": "acme-ml",
        "project_number": "123456789012",
        "archive": "../../tests/archive.zip",
        "model_bucket": "acme-models",
        "owner": "ada@example.com",
    }
    plan = tf.plan(variables, folder="examples/adopt-an-existing-service")
    changed = {each.values["name"] for each in plan.of("cloud_run_v2_service_iam_member") if "trimtabRunUpdater" in each.values["role"]}
    assert changed == {"ranker"}
    (acted_as,) = [each.values["service_account_id"] for each in plan.of("service_account_iam_member") if "User" in each.values["role"]]
    assert acted_as.endswith("/ranker@acme-ml.iam.gserviceaccount.com")


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
