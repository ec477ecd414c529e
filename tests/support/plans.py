"""Terraform plans as JSON (`terraform show -json`): a whole control plane as google provider 7 writes it, of which tests break parts."""

from collections.abc import Callable
from typing import Any

from shared.deployment import (
    ACCOUNTS,
    APIS,
    FUNCTIONS,
    REQUIRED_INDEXES,
    TOPIC_SETTINGS,
    TTL_FIELDS,
    Agent,
    Grant,
    On,
    account_address,
    dead_letter_subscription,
    dead_letter_topic,
    grants,
    service_name,
    source_file,
    topic_name,
)

PROJECT, NUMBER, REGION = "acme-ml", 123456789012, "europe-west1"
BUCKET, SERVING = "acme-models", f"trimtab-serving@{PROJECT}.iam.gserviceaccount.com"
PUSH = f"serviceAccount:{account_address('push', PROJECT)}"
Json = dict[str, Any]
Resource = tuple[str, str, Json]
"""Address, type, values."""


def plan(*resources: Resource, changes: dict[str, Json] | None = None, number: int | None = NUMBER) -> Json:
    """The plan with these resources, one module down; `changes` are those of an address, else each is created.

    `number` is the project's, as Terraform looked it up; None: it did not.
    """
    written = [
        {"address": address, "mode": "managed", "type": kind, "name": "main", "values": values} for address, kind, values in resources
    ]
    module = {"address": "module.trimtab", "resources": written}
    changed = [
        {
            "address": address,
            "mode": "managed",
            "type": kind,
            "change": (changes or {}).get(address, {"actions": ["create"], "after": values}),
        }
        for address, kind, values in resources
    ]
    looked_up = {"mode": "data", "type": "google_project", "values": {"project_id": PROJECT, "number": str(number)}}
    return {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "planned_values": {"root_module": {"child_modules": [module]}},
        "resource_changes": changed,
        "prior_state": {"values": {"root_module": {"resources": [] if number is None else [looked_up]}}},
        "applyable": True,
        "complete": True,
        "errored": False,
    }


def failed(document: Json) -> Json:
    """As Terraform writes a plan whose error it printed."""
    return {**document, "applyable": False, "complete": False, "errored": True}


def destroying(*resources: Resource) -> Json:
    """The plan of `terraform plan -destroy`."""
    changes = {address: {"actions": ["delete"], "before": values, "after": None} for address, _, values in resources}
    return {**plan(*resources, changes=changes), "planned_values": {"root_module": {}}}


def control_plane() -> list[Resource]:
    """Every part of a deployment; what Google's API decides (addresses of functions, who the sink and the bucket write as) is not said."""
    own = {"project": PROJECT}
    found: list[Resource] = [(f"api[{each}]", "google_project_service", {**own, "service": each}) for each in APIS]
    found += [
        (f"account.{each}", "google_service_account", {**own, "account_id": f"trimtab-{each}", "disabled": False}) for each in ACCOUNTS
    ]
    found.append(("topic.events", "google_pubsub_topic", {**own, "name": topic_name("events")}))
    for name in FUNCTIONS:
        found += _of_function(name, own)
    target = {"topic_name": f"projects/{PROJECT}/topics/{topic_name('schedule')}", "data": "eyJ0aWNrIjoibWludXRlIn0="}
    job = {**own, "region": REGION, "name": "trimtab-tick", "schedule": "* * * * *", "pubsub_target": [target]}
    sink = {**own, "name": "trimtab-changes", "destination": f"pubsub.googleapis.com/projects/{PROJECT}/topics/{topic_name('audit')}"}
    database = {**own, "name": "(default)", "type": "FIRESTORE_NATIVE", "concurrency_mode": "OPTIMISTIC"}
    found += [
        ("tick", "google_cloud_scheduler_job", job),
        ("sink", "google_logging_project_sink", sink),
        ("database", "google_firestore_database", database),
    ]
    for group, name in TTL_FIELDS:
        value = {**own, "collection": group, "field": name, "ttl_config": [{}], "index_config": [{"indexes": []}]}
        found.append((f"ttl.{group}", "google_firestore_field", value))
    for group, (ordered,), scope in REQUIRED_INDEXES:
        name, order = ordered.split(" ")
        value = {**own, "collection": group, "field": name, "index_config": [{"indexes": [{"order": order, "query_scope": scope}]}]}
        found.append((f"index.{group}.{name}", "google_firestore_field", {**value, "ttl_config": []}))
    told = {
        "bucket": BUCKET,
        "topic": f"//pubsub.googleapis.com/projects/{PROJECT}/topics/{topic_name('upload')}",
        "payload_format": "JSON_API_V1",
        "event_types": ["OBJECT_FINALIZE", "OBJECT_ARCHIVE", "OBJECT_DELETE"],
        "object_name_prefix": None,
    }
    stored = [f"trimtabStore{name.title()}" for name in FUNCTIONS]
    found += [
        (f"role.{name}", "google_project_iam_custom_role", {**own, "role_id": name})
        for name in (*stored, "trimtabRunReader", "trimtabRunUpdater")
    ]
    watched = 'resource.type="cloud_run_revision" AND metric.type="logging.googleapis.com/user/trimtab/bugs"'
    alert = {**own, "display_name": "Trimtab: bugs", "conditions": [{"condition_threshold": [{"filter": watched}]}]}
    channel = {**own, "type": "pubsub", "labels": {"topic": f"projects/{PROJECT}/topics/{topic_name('alert')}"}}
    found += [
        ("notification", "google_storage_notification", told),
        ("repository", "google_artifact_registry_repository", {**own, "location": REGION, "repository_id": "trimtab"}),
        ("archive", "google_storage_bucket_object", {"bucket": f"{PROJECT}-trimtab-source", "name": "trimtab-0123456789abcdef.zip"}),
        ("counted", "google_logging_metric", {**own, "name": "trimtab/bugs"}),
        ("alert", "google_monitoring_alert_policy", alert),
        ("channel", "google_monitoring_notification_channel", channel),
    ]
    return found + [_granted(grant) for grant in grants() if grant.on in PLACES]


PLACES: dict[On, tuple[str, Callable[[str], Json]]] = {
    On.PROJECT: ("google_project", lambda _: {"project": PROJECT}),
    On.SERVED_PROJECT: ("google_project", lambda _: {"project": PROJECT}),
    On.TOPIC: ("google_pubsub_topic", lambda name: {"topic": topic_name(name)}),
    On.DEAD_LETTER_TOPIC: ("google_pubsub_topic", lambda name: {"topic": f"projects/{PROJECT}/topics/{dead_letter_topic(name)}"}),
    On.SUBSCRIPTION: ("google_pubsub_subscription", lambda name: {"subscription": service_name(name)}),
    On.ACCOUNT: ("google_service_account", lambda name: {"service_account_id": f"{PROJECT}/{account_address(name, PROJECT)}"}),
    On.SERVING_ACCOUNT: ("google_service_account", lambda _: {"service_account_id": f"projects/{PROJECT}/serviceAccounts/{SERVING}"}),
    On.REPOSITORY: ("google_artifact_registry_repository", lambda _: {"location": REGION, "repository": "trimtab"}),
    On.IMAGE_REPOSITORY: ("google_artifact_registry_repository", lambda _: {"location": REGION, "repository": "serving"}),
    On.MODEL_BUCKET: ("google_storage_bucket", lambda _: {"bucket": BUCKET}),
}
"""What Terraform calls a resource that something is granted on, and how it names it; of served services there are none here."""
CONDITIONS = {
    "Store": f'resource.name == "projects/{PROJECT}/databases/(default)"',
    "objectViewer": f'resource.name.startsWith("projects/_/buckets/gcf-v2-sources-{NUMBER}-")',
}


def _granted(grant: Grant) -> Resource:
    kind, named = PLACES[grant.on]
    unknown = grant.account in (Agent.LOGGING, Agent.STORAGE)
    address = grant.account.address(NUMBER) if isinstance(grant.account, Agent) else account_address(grant.account, PROJECT)
    condition = next((text for word, text in CONDITIONS.items() if grant.on is On.PROJECT and word in grant.role), None)
    values = {
        "project": PROJECT,
        **named(grant.name),
        "role": grant.role_in(PROJECT),
        "condition": [] if condition is None else [{"title": "x", "expression": condition}],
        **({} if unknown else {"member": f"serviceAccount:{address}"}),
    }
    return f"{grant.account} {grant.role} {grant.on} {grant.name}", f"{kind}_iam_member", values


def _of_function(name: str, own: Json) -> list[Resource]:
    variables = {setting: topic_name(each) for each, setting in TOPIC_SETTINGS.items()}
    function = {
        **own,
        "location": REGION,
        "name": service_name(name),
        "build_config": [
            {"runtime": "python311", "entry_point": name, "source": [{"storage_source": [{"object": "trimtab-0123456789abcdef.zip"}]}]}
        ],
        "service_config": [
            {
                "service_account_email": account_address(name, PROJECT),
                "environment_variables": {**variables, "FUNCTION_SOURCE": source_file(name)},
            }
        ],
    }
    dead = f"projects/{PROJECT}/topics/{dead_letter_topic(name)}"
    pushed = {
        **own,
        "name": service_name(name),
        "topic": f"projects/{PROJECT}/topics/{topic_name(name)}",
        "ack_deadline_seconds": 60,
        "push_config": [{"oidc_token": [{"service_account_email": account_address("push", PROJECT)}]}],
        "dead_letter_policy": [{"dead_letter_topic": dead, "max_delivery_attempts": 30}],
        "expiration_policy": [{"ttl": ""}],
        "retry_policy": [{"minimum_backoff": "10s", "maximum_backoff": "600s"}],
    }
    kept = {**own, "name": dead_letter_subscription(name), "topic": dead, "expiration_policy": [{"ttl": ""}]}
    return [
        (f"function.{name}", "google_cloudfunctions2_function", function),
        (f"topic.{name}", "google_pubsub_topic", {**own, "name": topic_name(name)}),
        (f"dead.{name}", "google_pubsub_topic", {**own, "name": dead_letter_topic(name)}),
        (f"subscription.{name}", "google_pubsub_subscription", pushed),
        (f"kept.{name}", "google_pubsub_subscription", kept),
        (
            f"invoker.{name}",
            "google_cloud_run_v2_service_iam_member",
            {**own, "location": REGION, "name": service_name(name), "role": "roles/run.invoker", "member": PUSH},
        ),
    ]


def service(name: str = "ranker", **values: Any) -> Resource:
    """A google_cloud_run_v2_service."""
    limits = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    template = {
        "scaling": [{"max_instance_count": 4}],
        "node_selector": [{"accelerator": "nvidia-l4"}],
        "containers": [{"image": "tensorflow/serving:2.19.1-gpu", "resources": [{"limits": limits}]}],
    }
    said = {"project": PROJECT, "location": REGION, "name": name, "template": [template], **values}
    return f"google_cloud_run_v2_service.{name}", "google_cloud_run_v2_service", said
