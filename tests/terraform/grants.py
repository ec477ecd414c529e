"""Who has which role on what, in words that the plan and the list of roles share."""

from typing import NamedTuple

from shared import deployment as parts
from tests.terraform.plans import Plan, Resource
from tests.terraform.sample import BUCKET, CALLER, NUMBER, PROJECT, PUBLISHER, REGION, SERVICE

SERVICES = {SERVICE: REGION, "scorer": "us-central1"}
SERVING = {
    SERVICE: f"trimtab-serving-{SERVICE}@{PROJECT}.iam.gserviceaccount.com",
    "scorer": "scorer@acme-ml.iam.gserviceaccount.com",
}
WRITER = "the sink's writer"


class Granted(NamedTuple):
    """One role of one account."""

    member: str
    role: str
    on: str


def granted(plan: Plan) -> set[Granted]:
    """What the plan grants."""
    return {_read(each) for each in plan.resources if each.kind.endswith(("_iam_member", "_iam_binding", "_iam_policy"))}


def needed() -> set[Granted]:
    """What the list of roles says for the sample, and the three that are granted on demand: callers, publishers, a deleter."""
    listed = {found for grant in parts.grants() for found in _expanded(grant)}
    command = f"serviceAccount:{parts.account_address('command', PROJECT)}"
    return listed | {
        Granted(CALLER, "roles/run.invoker", "service trimtab-command"),
        Granted(PUBLISHER, "roles/pubsub.publisher", f"topic {parts.topic_name('command')}"),
        Granted(command, f"projects/{PROJECT}/roles/trimtabRunDeleter", f"service {SERVICE}"),
    }


def _expanded(grant: parts.Grant) -> list[Granted]:
    role = grant.role_in(PROJECT)
    if grant.account == parts.SERVING_ACCOUNT:
        # Only the first of the two has its model in a bucket.
        with_bucket = [SERVICE] if grant.on is parts.On.MODEL_BUCKET else list(SERVING)
        place = f"bucket {BUCKET}" if grant.on is parts.On.MODEL_BUCKET else f"project {PROJECT}"
        return [Granted(f"serviceAccount:{SERVING[name]}", role, place) for name in with_bucket]
    return [Granted(_member(grant.account), role, place) for place in _places(grant)]


def _member(account: str | parts.Agent) -> str:
    if account is parts.Agent.LOGGING:
        return WRITER
    if isinstance(account, parts.Agent):
        return f"serviceAccount:{account.address(int(NUMBER))}"
    return f"serviceAccount:{parts.account_address(account, PROJECT)}"


def _places(grant: parts.Grant) -> list[str]:
    on, name = parts.On, grant.name
    places = {
        on.PROJECT: lambda: [f"project {PROJECT}"],
        on.SERVED_PROJECT: lambda: [f"project {PROJECT}"],
        on.TOPIC: lambda: [f"topic {parts.topic_name(name)}"],
        on.DEAD_LETTER_TOPIC: lambda: [f"topic {parts.dead_letter_topic(name)}"],
        on.SUBSCRIPTION: lambda: [f"subscription {parts.service_name(name)}"],
        on.FUNCTION: lambda: [f"service {parts.service_name(name)}"],
        on.ACCOUNT: lambda: [f"account {parts.account_address(name, PROJECT)}"],
        on.REPOSITORY: lambda: ["repository trimtab"],
        on.SERVED_SERVICE: lambda: [f"service {each}" for each in SERVICES],
        on.SERVING_ACCOUNT: lambda: [f"account {address}" for address in SERVING.values()],
        on.MODEL_BUCKET: lambda: [f"bucket {BUCKET}"],
        on.IMAGE_REPOSITORY: lambda: ["repository serving"],
    }
    return places[grant.on]()


def _read(each: Resource) -> Granted:
    values = each.values
    places = {
        "google_project_iam_member": "project",
        "google_pubsub_topic_iam_member": "topic",
        "google_pubsub_subscription_iam_member": "subscription",
        "google_cloud_run_v2_service_iam_member": "name",
        "google_storage_bucket_iam_member": "bucket",
        "google_artifact_registry_repository_iam_member": "repository",
        "google_service_account_iam_member": "service_account_id",
    }
    field = places.get(each.kind)
    if field is None:
        return Granted(each.address, str(values.get("role")), f"a kind of grant that is not additive: {each.kind}")
    word = {"name": "service", "service_account_id": "account"}.get(field, field)
    member = WRITER if "member" in each.unknown and "sink" in each.address else str(values.get("member"))
    return Granted(member, str(values["role"]), f"{word} {str(values[field]).rpartition('/')[2]}")
