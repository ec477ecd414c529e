"""A Terraform plan (`terraform show -json PLAN`) as a picture: offline, of what would be there after it is applied. Pure.

What is known only after apply is not said. The parts of a control plane are looked at where the plan has one of its functions; the
services that both Terraform and a spec own, in every plan. Grants are looked at where every member is known. Attributes as in
google provider 6.50 to 8.7.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.cloudrun.terraform_reading import V1_SERVICE, alert_policies, read_plan, resources
from shared.deployment import CHANGES_SINK, FUNCTIONS, TOPIC_PREFIX, TOPIC_SETTINGS, TOPICS, service_name
from shared.doctor.picture import (
    NOT_ASKED,
    Database,
    Function,
    Job,
    Picture,
    Policies,
    Policy,
    Served,
    Sink,
    Source,
    Subscription,
    Unseen,
)
from shared.doctor.queried import policy_of
from shared.doctor.served import served_of
from shared.records.subject import ServiceId

FUNCTION = "google_cloudfunctions2_function"
ACCOUNT = "google_service_account"
API = "google_project_service"
_NAMES = frozenset(service_name(function) for function in FUNCTIONS)
_MEMBERS: Mapping[str, str] = {
    "google_project_iam_member": "project",
    "google_pubsub_topic_iam_member": "topic",
    "google_pubsub_subscription_iam_member": "subscription",
    "google_service_account_iam_member": "service_account_id",
    "google_cloud_run_v2_service_iam_member": "name",
}
"""Resource type to the attribute that says what the role is granted on."""


class NoPlanError(ValueError):
    """The document is no Terraform plan; the message says what it should be."""


def read_picture(
    document: Mapping[str, Any], *, owned: Collection[ServiceId] = (), project: str | None = None, number: int | None = None
) -> Picture:
    """The picture of a plan. `owned` are services with a spec, `project` the control plane's where the plan does not say it.

    Raises:
        NoPlanError: it is no plan or state as Terraform writes it.
    """
    if not isinstance(document.get("planned_values") or document.get("values"), Mapping):
        raise NoPlanError("no planned_values in it: want the output of `terraform show -json PLAN`")
    parts: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for _, kind, values in resources(document):
        parts[kind].append(values)
    functions = {each.name: each for each in map(_function, parts[FUNCTION])}
    ours = {name: each for name, each in functions.items() if name in _NAMES}
    services = dict(_services(document))
    found = project or next((str(each["project"]) for each in parts[FUNCTION] if each.get("name") in _NAMES and each.get("project")), None)
    picture = Picture(
        project=found or next((service.project for service in services), "PROJECT"),
        source=Source.PLAN,
        topic_prefix=_prefix(ours) or TOPIC_PREFIX,
        number=_number(document) if number is None else number,
        owned=tuple(owned),
        services=services,
        alert_policies=tuple(policy_of(str(values.get("display_name") or address), values) for address, values in alert_policies(document)),
    )
    return _with_parts(picture, parts, ours) if ours else picture


def _number(document: Mapping[str, Any]) -> int | Unseen:
    """The project's number, where the plan was given it as a variable."""
    variables = document.get("variables")
    given = variables.get("project_number") if isinstance(variables, Mapping) else None
    value = str(given.get("value", "")) if isinstance(given, Mapping) else ""
    return int(value) if value.isdecimal() and len(value) < 20 else NOT_ASKED  # noqa: PLR2004 (digits of an int64)


def _with_parts(picture: Picture, parts: Mapping[str, list[Mapping[str, Any]]], functions: Mapping[str, Function]) -> Picture:
    project = picture.project
    sinks = [each for each in parts["google_logging_project_sink"] if each.get("name") == CHANGES_SINK]
    databases = [_database(each) for each in parts["google_firestore_database"]]
    fields = parts["google_firestore_field"]
    policies, project_policy = _policies(parts, project)
    apis = frozenset(str(each.get("service")) for each in parts[API])
    accounts = {
        f"{each.get('account_id')}@{each.get('project') or project}.iam.gserviceaccount.com": not each.get("disabled")
        for each in parts[ACCOUNT]
    }
    return replace(
        picture,
        # A plan that enables no API leaves that to somebody else.
        apis=apis or NOT_ASKED,
        accounts=accounts,
        functions=dict(functions),
        topics=frozenset(str(each.get("name")) for each in parts["google_pubsub_topic"]),
        subscriptions={each.name: each for each in map(_subscription, parts["google_pubsub_subscription"])},
        jobs={each.name: each for each in map(_job, parts["google_cloud_scheduler_job"])},
        sink=Sink(_text(sinks[0].get("destination")), _text(sinks[0].get("writer_identity")), bool(sinks[0].get("disabled")))
        if sinks
        else None,
        database=databases[0] if databases else NOT_ASKED,
        ttl=frozenset((str(each.get("collection")), str(each.get("field"))) for each in fields if each.get("ttl_config")),
        indexes=frozenset((str(each.get("collection")), str(each.get("field"))) for each in fields if _over_all(each)),
        project_policy=project_policy,
        policies=policies,
    )


def _prefix(functions: Mapping[str, Function]) -> str | None:
    """What the functions are told that their topics' names begin with."""
    for each in functions.values():
        topic = (each.environment or {}).get(TOPIC_SETTINGS["reconcile"])
        if topic is not None and topic.endswith(TOPICS["reconcile"]):
            return topic.removesuffix(TOPICS["reconcile"])
    return None


def _function(values: Mapping[str, Any]) -> Function:
    build, service = _block(values, "build_config"), _block(values, "service_config")
    environment = service.get("environment_variables")
    return Function(
        name=str(values.get("name")),
        region=_text(values.get("location")),
        state=None,
        entry_point=_text(build.get("entry_point")),
        runtime=_text(build.get("runtime")),
        source_object=_text(_block(_block(build, "source"), "storage_source").get("object")),
        account=_text(service.get("service_account_email")),
        environment={str(key): str(value) for key, value in environment.items()} if isinstance(environment, Mapping) else None,
        uri=_text(service.get("uri")),
        ingress=_text(service.get("ingress_settings")),
    )


def _subscription(values: Mapping[str, Any]) -> Subscription:
    push, token = _block(values, "push_config"), _block(_block(values, "push_config"), "oidc_token")
    expiration = values.get("expiration_policy")
    deadline = values.get("ack_deadline_seconds")
    return Subscription(
        name=str(values.get("name")),
        topic=_short(values.get("topic")),
        push_endpoint=_text(push.get("push_endpoint")),
        push_audience=_text(token.get("audience")),
        push_account=_text(token.get("service_account_email")),
        has_push=bool(values.get("push_config")),
        has_token=bool(push.get("oidc_token")),
        ack_deadline_seconds=deadline if isinstance(deadline, int) else None,
        # Without the block Pub/Sub's 31 days hold.
        expires=not expiration or bool(_block(values, "expiration_policy").get("ttl")),
        has_dead_letters=bool(values.get("dead_letter_policy")),
        dead_letter_topic=_short(_block(values, "dead_letter_policy").get("dead_letter_topic")),
        has_retry_policy=bool(values.get("retry_policy")),
    )


def _job(values: Mapping[str, Any]) -> Job:
    state = "PAUSED" if values.get("paused") is True else None
    target = _block(values, "pubsub_target")
    return Job(str(values.get("name")), _short(target.get("topic_name")), _text(values.get("schedule")), state)


def _database(values: Mapping[str, Any]) -> Database:
    return Database(_text(values.get("type")), _text(values.get("concurrency_mode")))


def _over_all(values: Mapping[str, Any]) -> bool:
    indexes = _block(values, "index_config").get("indexes")
    return isinstance(indexes, list) and any(
        isinstance(each, Mapping) and each.get("query_scope") == "COLLECTION_GROUP" and each.get("order") == "ASCENDING" for each in indexes
    )


def _policies(parts: Mapping[str, list[Mapping[str, Any]]], project: str) -> tuple[Policies, Policy | Unseen]:
    """The grants that the plan makes; not asked for where a member is known only after apply."""
    granted: dict[str, dict[str, dict[str, set[str]]]] = {kind: defaultdict(lambda: defaultdict(set)) for kind in _MEMBERS}
    complete = True
    for kind, attribute in _MEMBERS.items():
        for values in parts[kind]:
            member, role, on = (_text(values.get(each)) for each in ("member", "role", attribute))
            complete = complete and None not in (member, role, on)
            if member and role and on:
                granted[kind][on.rpartition("/")[2]][role].add(member)
    made = {kind: {on: _frozen(policy) for on, policy in each.items()} for kind, each in granted.items()}
    topics, subscriptions, accounts, functions = (made[kind] for kind in list(_MEMBERS)[1:])
    empty: Policy = {}
    names = [*(str(each.get("name")) for each in parts["google_pubsub_topic"])]
    policies = Policies(
        topics={name: topics.get(name, empty) for name in names},
        subscriptions={
            str(each.get("name")): subscriptions.get(str(each.get("name")), empty) for each in parts["google_pubsub_subscription"]
        },
        functions={name: functions.get(name, empty) for name in _NAMES},
        accounts=dict(accounts),
    )
    return policies, made["google_project_iam_member"].get(project, empty) if complete else NOT_ASKED


def _frozen(policy: Mapping[str, set[str]]) -> Policy:
    return {role: frozenset(members) for role, members in policy.items()}


def _services(document: Mapping[str, Any]) -> Iterator[tuple[ServiceId, Served]]:
    changes = {str(each.get("address")): each for each in _mappings(document.get("resource_changes"))}
    for address, described in read_plan(document):
        name = str(described.service.get("name", "")).rpartition("/")[2]
        if not (described.project and described.region and name):
            continue
        try:
            service = ServiceId(project=described.project, region=described.region, name=name)
        except ValueError:
            continue  # no name that Cloud Run takes: lint says so
        change = changes.get(address, {})
        v1 = change.get("type") == V1_SERVICE or f"{V1_SERVICE}." in address
        yield service, served_of(service, described.service, terraform=address, v1=v1, changed=_changed(change))


def _changed(change: Mapping[str, Any]) -> tuple[str, ...]:
    """The attributes whose values an update of the resource changes."""
    inner = change.get("change")
    if not isinstance(inner, Mapping) or inner.get("actions") != ["update"]:
        return ()
    before, after = inner.get("before"), inner.get("after")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return ()
    return tuple(sorted(name for name in after if after[name] != before.get(name)))


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _block(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The block of that name, which Terraform writes as a list of one."""
    found = _mappings(values.get(name))
    return found[0] if found else {}


def _short(value: Any) -> str | None:
    text = _text(value)
    return None if text is None else text.rpartition("/")[2]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
