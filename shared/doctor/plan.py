"""A Terraform plan (`terraform show -json PLAN`) as a picture: offline, of what would be there after it is applied. Pure.

What is known only after apply is not said. The parts of a control plane are looked at where the plan has one of its functions; the
services that both Terraform and a spec own, in every plan. Grants are looked at where every member is known. Of what a plan leaves to
others by its own variables nothing is asked; of what it lacks without a word, that is said. Attributes as in google provider 6.50 to 8.7.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.cloudrun.terraform_reading import V1_SERVICE, alert_policies, read_plan, resources
from shared.deployment import CHANGES_SINK, TOPIC_PREFIX, TOPIC_SETTINGS, TOPICS
from shared.doctor import plan_kinds
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NOT_ASKED, Database, Function, Job, Picture, Project, Served, Sink, Source, Subscription, Unseen
from shared.doctor.plan_grants import PlannedGrants
from shared.doctor.plan_inputs import Inputs, root_of
from shared.doctor.plan_kinds import Planned
from shared.doctor.plan_values import Values, block, mapping, mappings, seconds, short, text
from shared.doctor.plan_whole import FUNCTION, NAMES, NoPlanError, deleted, of_the_whole, readable
from shared.doctor.queried import policy_of
from shared.doctor.rules_parts import DATABASE
from shared.doctor.served import served_of
from shared.records.subject import ServiceId

ACCOUNT = "google_service_account"
INT64_DIGITS = 20
READER = "trimtabRunReader"
"""The custom role that the module served-project makes in each served project."""


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
        NoPlanError: it is no plan or state as Terraform writes it, or one that failed.
    """
    readable(document)
    parts: dict[str, list[Values]] = defaultdict(list)
    addresses: list[str] = []
    for address, kind, values in resources(document):
        parts[kind].append(values)
        if kind == FUNCTION and text(values.get("name")) in NAMES:
            addresses.append(address)
    functions = {each.name: each for each in map(_function, parts[FUNCTION]) if each.name in NAMES}
    services = dict(_services(document))
    found = project or _project(document, parts)
    if functions and found is None:
        raise NoPlanError("it does not say which project Trimtab is in: give project_id a value that is known before apply, and plan again")
    named = found or next((service.project for service in services), "")
    prefix = _prefix(functions)
    policies = [(str(values.get("display_name") or address), values) for address, values in alert_policies(document)]
    picture = Picture(
        project=named,
        source=Source.PLAN,
        topic_prefix=TOPIC_PREFIX if prefix is None else prefix,
        owned=tuple(owned) or NOT_ASKED,
        services=services,
        alert_policies=tuple(policy_of(name, values) for name, values in policies) or NOT_ASKED,
        said=tuple(of_the_whole(document, functions=bool(functions), owned=owned, services=services)),
    )
    if not functions:
        return picture
    known = {named: number} if number is not None else {}
    return _WithParts(document, parts, addresses[0], picture, functions).picture(models or {}, known)


def _project(document: Mapping[str, Any], parts: Mapping[str, list[Values]]) -> str | None:
    """The project of Trimtab's functions, of its accounts and subscriptions, or of the functions that the plan deletes."""
    named = [each for each in (*parts[FUNCTION], *parts["google_pubsub_subscription"]) if text(each.get("name")) in NAMES]
    named += [each for each in parts[ACCOUNT] if text(each.get("account_id")) in NAMES]
    named += deleted(document).values()
    return next((found for each in named if (found := text(each.get("project"))) is not None), None)


class _WithParts:
    """The parts of a control plane, in a plan that has one."""

    def __init__(
        self,
        document: Mapping[str, Any],
        parts: Mapping[str, list[Values]],
        address: str,
        picture: Picture,
        functions: Mapping[str, Function],
    ) -> None:
        self._document = document
        self._parts = parts
        self._address = address
        self._picture = picture
        self._functions = functions
        self._project = picture.project
        self._inputs = Inputs(document)
        self._grants = PlannedGrants(parts)

    def picture(self, models: Mapping[ServiceId, str], numbers: Mapping[str, int]) -> Picture:
        parts, project, grants = self._parts, self._project, self._grants
        served = tuple(self._served())
        projects = {
            each: Project(numbers.get(each) or self._number(each), grants.of_project(each)) for each in dict.fromkeys((project, *served))
        }
        picture = replace(self._picture, served=served, projects=projects, functions=dict(self._functions), root=root_of(self._address))
        wired = {service: uri for service, uri in models.items() if service.project in served}
        uris = (*wired.values(), *(f"gs://{name}" for name in plan_kinds.bucket_names(self._inputs)))
        buckets = grants.buckets(uris, picture)
        planned = Planned(parts, self._inputs, self._address, project, picture.topic_prefix, served, buckets)
        topics = frozenset(str(each.get("name")) for each in parts["google_pubsub_topic"])
        subscriptions = {each.name: each for each in map(_subscription, parts["google_pubsub_subscription"])}
        accounts = {
            f"{each.get('account_id')}@{each.get('project') or project}.iam.gserviceaccount.com": not each.get("disabled")
            for each in parts[ACCOUNT]
        }
        database = self._database()
        fields = [each for each in parts["google_firestore_field"] if each.get("database") in (None, self._database_name())]
        return replace(
            picture,
            apis=self._apis(planned),
            accounts=accounts,
            topics=topics,
            subscriptions=subscriptions,
            jobs={each.name: each for each in map(_job, parts["google_cloud_scheduler_job"])},
            sinks={each: _sink(parts["google_logging_project_sink"], each, project) for each in served},
            database=database or NOT_ASKED,
            ttl=frozenset((str(each.get("collection")), str(each.get("field"))) for each in fields if each.get("ttl_config")),
            indexes=frozenset((str(each.get("collection")), str(each.get("field"))) for each in fields if _over_all(each)),
            models=wired,
            buckets=buckets,
            policies=grants.policies(topics=topics, subscriptions=subscriptions, functions=NAMES, accounts=accounts, project=project),
            said=(
                *plan_kinds.kinds(planned, grants, database=database is not None),
                *plan_kinds.parts(planned, grants),
                *_unnumbered(projects),
            ),
        )

    def _served(self) -> Iterator[str]:
        """The projects that have something of the module served-project: its role, the grant of it, or the sink."""
        roles, sinks = self._parts["google_project_iam_custom_role"], self._parts["google_logging_project_sink"]
        found = [str(each.get("project") or self._project) for each in roles if each.get("role_id") == READER]
        found += [str(each.get("project") or self._project) for each in sinks if each.get("name") == CHANGES_SINK]
        yield from dict.fromkeys((*found, *self._grants.served(READER)))

    def _apis(self, planned: Planned) -> frozenset[str] | Unseen:
        given = [each for each in self._parts[plan_kinds.API.resource] if each.get("project") in (None, self._project)]
        if not given or plan_kinds.makes_none(planned, "enable_apis"):
            return NOT_ASKED
        return frozenset(str(each.get("service")) for each in given)

    def _database_name(self) -> str:
        told = [(each.environment or {}).get(DATABASE) for each in self._functions.values()]
        return next((each for each in told if each), "(default)")

    def _database(self) -> Database | None:
        """The one that the functions are told of; one whose name is not known yet may be that."""
        for values in self._parts["google_firestore_database"]:
            if values.get("name") in (None, self._database_name()):
                return Database(text(values.get("type")), text(values.get("concurrency_mode")))
        return None

    def _number(self, project: str) -> int | Unseen:
        """A project's number, where the plan was given it as a variable, or looked it up."""
        variables = mapping(self._document.get("variables"))
        values = [mapping(each).get("value") for each in variables.values()]
        said = [each[project] for each in values if isinstance(each, Mapping) and project in each]
        if project == self._project:
            said += [self._inputs.around(self._address, "project_number"), mapping(variables.get("project_number")).get("value")]
        for holder in (mapping(self._document.get("prior_state")), self._document):
            for _, kind, looked_up in resources(holder, mode="data"):
                if kind == "google_project" and looked_up.get("project_id") == project:
                    said.append(looked_up.get("number"))
        found = (str(each) for each in said)
        return next((int(each) for each in found if each.isdecimal() and each.isascii() and len(each) < INT64_DIGITS), NOT_ASKED)


def _unnumbered(projects: Mapping[str, Project]) -> Iterator[Finding]:
    """Projects whose agents of Google's cannot be named."""
    for name, each in projects.items():
        if not isinstance(each.number, int):
            why = "the plan neither was given it nor looked it up, and those agents' addresses are made of it"
            mend = f"give it to the module as project_number (gcloud projects describe {name} says it), then plan again"
            yield Finding("grant", Level.UNKNOWN, f"the number of {name}, and so the grants of Google's agents: not known", why, mend)


def _sink(sinks: list[Values], project: str, own: str) -> Sink | None:
    found = next((each for each in sinks if each.get("name") == CHANGES_SINK and (each.get("project") or own) == project), None)
    if found is None:
        return None
    excluded = tuple(str(each.get("name")) for each in mappings(found.get("exclusions")) if not each.get("disabled"))
    disabled = bool(found.get("disabled"))
    return Sink(text(found.get("destination")), text(found.get("writer_identity")), disabled, text(found.get("filter")), excluded)


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
        timeout_seconds=timeout if isinstance(timeout := service.get("timeout_seconds"), int) else None,
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
        longest_wait_seconds=seconds(block(values, "retry_policy").get("maximum_backoff")),
        filter=text(values.get("filter")),
        retention_seconds=seconds(values.get("message_retention_duration")),
    )


def _job(values: Values) -> Job:
    state = "PAUSED" if values.get("paused") is True else None
    target = block(values, "pubsub_target")
    return Job(str(values.get("name")), short(target.get("topic_name")), text(values.get("schedule")), state)


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
