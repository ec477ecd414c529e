"""Who has which role on what, in words that the plan and the list of roles share."""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from shared import deployment as parts
from tests.terraform.plans import Plan, Resource
from tests.terraform.sample import BUCKET, CALLER, MADE_BUCKET, NUMBER, OTHER_REGION, PROJECT, PUBLISHER, REGION, SCORER, SERVICE

SERVED = ((REGION, SERVICE), (OTHER_REGION, "scorer"), (OTHER_REGION, SERVICE))
SERVING = (f"trimtab-serving-{SERVICE}@{PROJECT}.iam.gserviceaccount.com", SCORER)
"""Whom the three run as; both read a model from the first of the buckets."""
WRITER = "the sink's writer"
CONDITIONS = {
    "trimtabStore": f'resource.name == "projects/{PROJECT}/databases/(default)"',
    "storage": f'resource.name.startsWith("projects/_/buckets/gcf-v2-sources-{NUMBER}-")',
}
"""Of what is granted on the project, the part that reaches further than it should without."""


class Granted(NamedTuple):
    """One role of one account."""

    member: str
    role: str
    on: str
    condition: str | None = None


def iam(plan: Plan) -> list[Resource]:
    """The resources that grant something."""
    return [each for each in plan.resources if each.kind.endswith(("_iam_member", "_iam_binding", "_iam_policy"))]


def granted(plan: Plan) -> set[Granted]:
    """What the plan grants."""
    return {_read(each, plan) for each in iam(plan)}


def twice(plan: Plan) -> Iterator[str]:
    """Grants that two resources make: when one of them goes, what the other says is gone as well. Of whom nothing is known, each is one."""
    members = [each.address if "member" in each.unknown else each.values.get("member") for each in iam(plan)]
    granting = zip(iam(plan), members, strict=True)
    said = [(each.kind, json.dumps({**each.values, "member": member}, sort_keys=True)) for each, member in granting]
    yield from (f"roles: granted twice: {kind} {values}" for (kind, values), number in Counter(said).items() if number > 1)


def needed(switches: Collection[parts.Switch]) -> set[Granted]:
    """What the list of roles says for the sample, and the three that are granted on demand: callers, publishers, a deleter."""
    listed = {found for grant in parts.grants(switches) for found in _expanded(grant)}
    command = f"serviceAccount:{parts.account_address('command', PROJECT)}"
    return listed | {
        Granted(CALLER, "roles/run.invoker", f"service {REGION}/trimtab-command"),
        Granted(PUBLISHER, "roles/pubsub.publisher", f"topic {parts.topic_name('command')}"),
        Granted(command, f"projects/{PROJECT}/roles/trimtabRunDeleter", f"service {REGION}/{SERVICE}"),
    }


def _expanded(grant: parts.Grant) -> list[Granted]:
    role = grant.role_in(PROJECT)
    if grant.account == parts.SERVING_ACCOUNT:
        place = f"bucket {BUCKET}" if grant.on is parts.On.MODEL_BUCKET else f"project {PROJECT}"
        return [Granted(f"serviceAccount:{account}", role, place) for account in SERVING]
    condition = next((text for word, text in CONDITIONS.items() if grant.on is parts.On.PROJECT and word in role), None)
    return [Granted(_member(grant.account), role, place, condition) for place in _places(grant)]


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
        on.FUNCTION: lambda: [f"service {REGION}/{parts.service_name(name)}"],
        on.ACCOUNT: lambda: [f"account {parts.account_address(name, PROJECT)}"],
        on.REPOSITORY: lambda: ["repository trimtab"],
        on.SERVED_SERVICE: lambda: [f"service {region}/{service}" for region, service in SERVED],
        on.SERVING_ACCOUNT: lambda: [f"account {address}" for address in SERVING],
        on.MODEL_BUCKET: lambda: [f"bucket {BUCKET}", f"bucket {MADE_BUCKET}"],
        on.IMAGE_REPOSITORY: lambda: ["repository serving"],
    }
    return places[grant.on]()


def _read(each: Resource, plan: Plan) -> Granted:
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
    place = str(values[field]).rpartition("/")[2]
    where = f"{values['location']}/{place}" if field == "name" else place
    condition = (values.get("condition") or [{}])[0].get("expression")
    return Granted(_member_of(each, plan), str(values["role"]), f"{word} {where}", condition)


def _member_of(each: Resource, plan: Plan) -> str:
    """Whom the role is granted to; of who is known only after apply, whom the configuration names."""
    if "member" not in each.unknown:
        return str(each.values.get("member"))
    references = plan.written(each.address)["expressions"]["member"].get("references", ())
    if "google_logging_project_sink.changes.writer_identity" in references:
        return WRITER
    if "data.google_storage_project_service_account.main" in references:
        return f"serviceAccount:{parts.Agent.STORAGE.address(int(NUMBER))}"
    return f"known after apply: {references}"
