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
from shared.doctor.picture import NOT_ASKED, Database, Function, Job, Picture, Project, Served, Sink, Source, Subscription, Unseen
from shared.doctor.plan_grants import PlannedGrants
from shared.doctor.plan_values import Values, block, mappings, short, text
from shared.doctor.queried import policy_of
from shared.doctor.served import served_of
from shared.records.subject import ServiceId

FUNCTION = "google_cloudfunctions2_function"
ACCOUNT = "google_service_account"
API = "google_project_service"
INT64_DIGITS = 20
_NAMES = frozenset(service_name(function) for function in FUNCTIONS)
READER = "trimtabRunReader"
"""The custom role that the module served-project makes in each served project."""


class NoPlanError(ValueError):
    """The document is no Terraform plan; the message says what it should be."""


def read_picture(
    document: Mapping[str, Any],
    *,
    owned: Collection[ServiceId] = (),
    models: Mapping[ServiceId, str] | None = None,
    project: str | None = None,
    number: int | None = None,
) -> Picture:
    """The picture of a plan. `owned` are services with a spec, `models` the folders of buckets that those name.

    `project` is the control plane's where the plan does not say it, `number` its number.

    Raises:
        NoPlanError: it is no plan or state as Terraform writes it.
    """
    if not isinstance(document.get("planned_values") or document.get("values"), Mapping):
        raise NoPlanError("no planned_values in it: want the output of `terraform show -json PLAN`")
    parts: dict[str, list[Values]] = defaultdict(list)
    for _, kind, values in resources(document):
        parts[kind].append(values)
    functions = {each.name: each for each in map(_function, parts[FUNCTION])}
    ours = {name: each for name, each in functions.items() if name in _NAMES}
    services = dict(_services(document))
    found = project or next((str(each["project"]) for each in parts[FUNCTION] if each.get("name") in _NAMES and each.get("project")), None)
    named = found or next((service.project for service in services), "PROJECT")
    picture = Picture(
        project=named,
        source=Source.PLAN,
        topic_prefix=_prefix(ours) or TOPIC_PREFIX,
        projects={named: Project(number=_number(document, named) if number is None else number)},
        owned=tuple(owned),
        services=services,
        alert_policies=tuple(policy_of(str(values.get("display_name") or address), values) for address, values in alert_policies(document)),
    )
    return _with_parts(picture, parts, ours, models or {}) if ours else picture


def _number(document: Mapping[str, Any], project: str) -> int | Unseen:
    """The project's number, where the plan was given it as a variable, or looked it up."""
    variables = document.get("variables")
    given = variables.get("project_number") if isinstance(variables, Mapping) else None
    said = [given.get("value")] if isinstance(given, Mapping) else []
    state = document.get("prior_state")
    for _, kind, values in resources(state if isinstance(state, Mapping) else {}, mode="data"):
        if kind == "google_project" and values.get("project_id") == project:
            said.append(values.get("number"))
    found = (str(each) for each in said)
    return next((int(each) for each in found if each.isdecimal() and each.isascii() and len(each) < INT64_DIGITS), NOT_ASKED)


def _with_parts(
    picture: Picture, parts: Mapping[str, list[Values]], functions: Mapping[str, Function], models: Mapping[ServiceId, str]
) -> Picture:
    project = picture.project
    databases = [_database(each) for each in parts["google_firestore_database"]]
    fields = parts["google_firestore_field"]
    grants = PlannedGrants(parts)
    apis = frozenset(str(each.get("service")) for each in parts[API])
    accounts = {
        f"{each.get('account_id')}@{each.get('project') or project}.iam.gserviceaccount.com": not each.get("disabled")
        for each in parts[ACCOUNT]
    }
    roles = parts["google_project_iam_custom_role"]
    served = tuple(dict.fromkeys(str(each.get("project") or project) for each in roles if each.get("role_id") == READER))
    wired = {service: uri for service, uri in models.items() if service.project in served}
    topics = frozenset(str(each.get("name")) for each in parts["google_pubsub_topic"])
    subscriptions = {each.name: each for each in map(_subscription, parts["google_pubsub_subscription"])}
    return replace(
        picture,
        # A plan that enables no API leaves that to somebody else.
        apis=apis or NOT_ASKED,
        accounts=accounts,
        functions=dict(functions),
        topics=topics,
        subscriptions=subscriptions,
        jobs={each.name: each for each in map(_job, parts["google_cloud_scheduler_job"])},
        served=served,
        sinks={each: _sink(parts["google_logging_project_sink"], each, project) for each in served},
        database=databases[0] if databases else NOT_ASKED,
        ttl=frozenset((str(each.get("collection")), str(each.get("field"))) for each in fields if each.get("ttl_config")),
        indexes=frozenset((str(each.get("collection")), str(each.get("field"))) for each in fields if _over_all(each)),
        projects={each: Project(picture.in_project(each).number, grants.of_project(each)) for each in dict.fromkeys((project, *served))},
        models=wired,
        buckets=grants.buckets(wired.values(), picture),
        policies=grants.policies(topics=topics, subscriptions=subscriptions, functions=_NAMES, accounts=accounts, project=project),
    )


def _sink(sinks: list[Values], project: str, own: str) -> Sink | None:
    found = next((each for each in sinks if each.get("name") == CHANGES_SINK and (each.get("project") or own) == project), None)
    return None if found is None else Sink(text(found.get("destination")), text(found.get("writer_identity")), bool(found.get("disabled")))


def _prefix(functions: Mapping[str, Function]) -> str | None:
    """What the functions are told that their topics' names begin with."""
    for each in functions.values():
        topic = (each.environment or {}).get(TOPIC_SETTINGS["reconcile"])
        if topic is not None and topic.endswith(TOPICS["reconcile"]):
            return topic.removesuffix(TOPICS["reconcile"])
    return None


def _function(values: Values) -> Function:
    build, service = block(values, "build_config"), block(values, "service_config")
    environment = service.get("environment_variables")
    return Function(
        name=str(values.get("name")),
        region=text(values.get("location")),
        state=None,
        entry_point=text(build.get("entry_point")),
        runtime=text(build.get("runtime")),
        source_object=text(block(block(build, "source"), "storage_source").get("object")),
        account=text(service.get("service_account_email")),
        environment={str(key): str(value) for key, value in environment.items()} if isinstance(environment, Mapping) else None,
        uri=text(service.get("uri")),
        ingress=text(service.get("ingress_settings")),
    )


def _subscription(values: Values) -> Subscription:
    push, token = block(values, "push_config"), block(block(values, "push_config"), "oidc_token")
    expiration = values.get("expiration_policy")
    deadline = values.get("ack_deadline_seconds")
    return Subscription(
        name=str(values.get("name")),
        topic=short(values.get("topic")),
        push_endpoint=text(push.get("push_endpoint")),
        push_audience=text(token.get("audience")),
        push_account=text(token.get("service_account_email")),
        has_push=bool(values.get("push_config")),
        has_token=bool(push.get("oidc_token")),
        ack_deadline_seconds=deadline if isinstance(deadline, int) else None,
        # Without the block Pub/Sub's 31 days hold.
        expires=not expiration or bool(block(values, "expiration_policy").get("ttl")),
        has_dead_letters=bool(values.get("dead_letter_policy")),
        dead_letter_topic=short(block(values, "dead_letter_policy").get("dead_letter_topic")),
        has_retry_policy=bool(values.get("retry_policy")),
    )


def _job(values: Values) -> Job:
    state = "PAUSED" if values.get("paused") is True else None
    target = block(values, "pubsub_target")
    return Job(str(values.get("name")), short(target.get("topic_name")), text(values.get("schedule")), state)


def _database(values: Values) -> Database:
    return Database(text(values.get("type")), text(values.get("concurrency_mode")))


def _over_all(values: Mapping[str, Any]) -> bool:
    indexes = block(values, "index_config").get("indexes")
    return isinstance(indexes, list) and any(
        isinstance(each, Mapping) and each.get("query_scope") == "COLLECTION_GROUP" and each.get("order") == "ASCENDING" for each in indexes
    )


def _services(document: Mapping[str, Any]) -> Iterator[tuple[ServiceId, Served]]:
    changes = {str(each.get("address")): each for each in mappings(document.get("resource_changes"))}
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
