"""The part of the contract about order: what is named by reference and not by its text, what waits for the APIs, which APIs those are."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.terraform.plans import Plan

APIS = "google_project_service.main"
AFTER_THE_APIS = {
    "control_plane": {
        "google_artifact_registry_repository.main",
        "google_firestore_database.main",
        "google_logging_metric.main",
        "google_project_iam_custom_role.store",
        "google_project_iam_member.build_log_writer",
        "google_pubsub_topic.events",
        "google_service_account.build",
        "google_service_account.function",
        "google_service_account.push",
        "google_storage_bucket.archive",
        "terraform_data.home",
    },
    "served_project": {
        "google_logging_project_sink.changes",
        "google_monitoring_notification_channel.trimtab",
        "google_project_iam_custom_role.deleter",
        "google_project_iam_custom_role.reader",
        "google_project_iam_custom_role.updater",
        "google_project_iam_member.logs",
        "google_project_iam_member.metric_writer",
        "google_project_iam_member.metrics",
        "google_service_account.serving",
        "google_service_account_iam_member.act_as",
        "google_storage_bucket.models",
        "google_storage_project_service_account.main",
    },
}
"""What is made or read first of its kind, so that an API that is not on yet would refuse it; all else refers to one of these."""
SERVED_APIS = {
    "cloudresourcemanager.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
    "serviceusage.googleapis.com",
    "storage.googleapis.com",
}
CONTROL, FUNCTION, SERVED = "module.control_plane.", "module.control_plane.module.function.", "module.served_project."
OWN, STORE, TOPICS = "google_service_account.function", "google_project_iam_custom_role.store", "google_pubsub_topic.main"
DEAD, BUILD, SERVICE = "google_pubsub_topic.dead_letters", "google_service_account.build", "google_cloudfunctions2_function.main"
BY_REFERENCE: Mapping[str, Mapping[str, str]] = {
    f"{CONTROL}google_artifact_registry_repository_iam_member.build_writer": {
        "member": BUILD,
        "repository": "google_artifact_registry_repository.main",
    },
    f"{CONTROL}google_firestore_field.main": {"database": "google_firestore_database.main"},
    f"{CONTROL}google_project_iam_member.build_log_writer": {"member": BUILD},
    f"{CONTROL}google_project_iam_member.build_source_reader": {"member": BUILD},
    f"{CONTROL}google_project_iam_member.store": {"member": OWN, "role": STORE},
    f"{CONTROL}google_project_iam_member.switched": {"member": OWN},
    f"{CONTROL}google_pubsub_topic_iam_member.events_publisher": {"member": OWN, "topic": "google_pubsub_topic.events"},
    f"{CONTROL}google_pubsub_topic_iam_member.publisher": {"member": OWN},
    f"{CONTROL}google_service_account_iam_member.push_token": {"service_account_id": "google_service_account.push"},
    f"{CONTROL}google_storage_bucket_object.archive": {"bucket": "google_storage_bucket.archive"},
    f"{FUNCTION}google_cloud_run_v2_service_iam_member.invoker": {"name": SERVICE},
    f"{FUNCTION}google_pubsub_subscription.dead_letters": {"topic": DEAD},
    f"{FUNCTION}google_pubsub_subscription.main": {"topic": TOPICS, "dead_letter_policy.0.dead_letter_topic": DEAD},
    f"{FUNCTION}google_pubsub_subscription_iam_member.dead_letter_subscriber": {"subscription": "google_pubsub_subscription.main"},
    f"{FUNCTION}google_pubsub_topic_iam_member.dead_letter_publisher": {"topic": DEAD},
    f"{SERVED}google_project_iam_member.reader": {"role": "google_project_iam_custom_role.reader"},
}
"""What is named so that Terraform makes the other first: a text of the same letters names it too, and is too early."""


def what_is_needed_is_referred_to(plan: Plan) -> Iterator[str]:
    """Members, roles, topics and the like are references."""
    for address, expressions in BY_REFERENCE.items():
        written = plan.written(address)["expressions"]
        for path, wanted in expressions.items():
            said: Any = written
            for part in path.split("."):
                said = said[int(part) if part.isdigit() else part]
            if wanted not in said.get("references", ()):
                yield f"{address}: its {path} does not refer to {wanted}: it may be made before"


def apis_come_first(plan: Plan) -> Iterator[str]:
    """What needs an API waits for all of them; a dashboard for the metrics that it shows."""
    for name, wanted in AFTER_THE_APIS.items():
        resources = plan.module(name)["resources"]
        found = {f"{each['type']}.{each['name']}" for each in resources if APIS in each.get("depends_on", ())}
        yield from (f"{name}: {each} may be made before the APIs are on" for each in sorted(wanted - found))
        yield from (f"{name}: {each} waits for the APIs and is not in the table" for each in sorted(found - wanted))
    for name, call in plan.module()["module_calls"].items():
        if name == "dashboard" and "module.control_plane" not in call.get("depends_on", ()):
            yield "dashboard: may be made before the metrics of its charts"


def served_projects_have_their_apis(plan: Plan) -> Iterator[str]:
    """What steering needs is switched on in each served project."""
    found: dict[str, set[str]] = {}
    for each in plan.of("project_service"):
        if "served_project" in each.address:
            found.setdefault(each.values["project"], set()).add(each.values["service"])
    for project, apis in found.items():
        if apis != SERVED_APIS:
            yield f"APIs of {project}: {sorted(apis ^ SERVED_APIS)} are in one of plan and table alone"


ORDERS = (what_is_needed_is_referred_to, apis_come_first, served_projects_have_their_apis)
