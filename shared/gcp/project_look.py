"""A project as it is, read over Google's REST APIs: the doctor's picture. Nothing is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import quote

import requests
from google.auth import exceptions as auth

from shared.deployment import (
    CHANGES_SINK,
    EVENTS_TOPIC,
    FUNCTIONS,
    PUSH_ACCOUNT,
    TICK_JOB,
    TOPIC_PREFIX,
    TOPIC_SETTINGS,
    TOPICS,
    account_address,
    dead_letter_subscription,
    dead_letter_topic,
    service_name,
    topic_name,
)
from shared.doctor.picture import (
    NOT_ASKED,
    AlertPolicy,
    Function,
    Job,
    NotAsked,
    NotSeen,
    Picture,
    Policies,
    Policy,
    Served,
    Source,
    Unseen,
)
from shared.doctor.queried import policy_of as alert_policy_of
from shared.doctor.served import served_of
from shared.gcp.http_session import HttpSession
from shared.gcp.project_calls import CALL_SECONDS, SCOPE, Absent, Method, ProjectCalls
from shared.gcp.project_parts import (
    database_of,
    function_of,
    indexes_of,
    job_of,
    policy_of,
    quotas_of,
    service_ids,
    short,
    sink_of,
    subscription_of,
    text,
    ttl_of,
)
from shared.ports import Clock
from shared.records.subject import ServiceId

WORKERS = 8
SERVICES_LIMIT = 300
"""Services under care that are read one by one; of more the doctor says nothing."""

_RUN, _PUBSUB, _FIRESTORE = "run.googleapis.com", "pubsub.googleapis.com", "firestore.googleapis.com"
_MONITORING, _IAM = "monitoring.googleapis.com", "iam.googleapis.com"
ENABLED = Method("serviceusage.services.list", "serviceusage.googleapis.com", "v1", "serviceusage.services.list")
PROJECT = Method("cloudresourcemanager.projects.get", "cloudresourcemanager.googleapis.com", "v3", "resourcemanager.projects.get")
PROJECT_POLICY = Method(
    "cloudresourcemanager.projects.getIamPolicy",
    "cloudresourcemanager.googleapis.com",
    "v3",
    "resourcemanager.projects.getIamPolicy",
    verb="POST",
)
FUNCTIONS_LIST = Method(
    "cloudfunctions.projects.locations.functions.list", "cloudfunctions.googleapis.com", "v2", "cloudfunctions.functions.list"
)
TOPICS_LIST = Method("pubsub.projects.topics.list", _PUBSUB, "v1", "pubsub.topics.list")
TOPIC_POLICY = Method("pubsub.projects.topics.getIamPolicy", _PUBSUB, "v1", "pubsub.topics.getIamPolicy")
SUBSCRIPTIONS = Method("pubsub.projects.subscriptions.list", _PUBSUB, "v1", "pubsub.subscriptions.list")
SUBSCRIPTION_POLICY = Method("pubsub.projects.subscriptions.getIamPolicy", _PUBSUB, "v1", "pubsub.subscriptions.getIamPolicy")
JOB = Method("cloudscheduler.projects.locations.jobs.get", "cloudscheduler.googleapis.com", "v1", "cloudscheduler.jobs.get")
SINK = Method("logging.projects.sinks.get", "logging.googleapis.com", "v2", "logging.sinks.get")
DATABASE = Method("firestore.projects.databases.get", _FIRESTORE, "v1", "datastore.databases.getMetadata")
FIELDS = Method("firestore.projects.databases.collectionGroups.fields.list", _FIRESTORE, "v1", "datastore.indexes.list")
DOCUMENTS = Method("firestore.projects.databases.documents.list", _FIRESTORE, "v1", "datastore.entities.list")
SERVICE = Method("run.projects.locations.services.get", _RUN, "v2", "run.services.get")
SERVICE_POLICY = Method("run.projects.locations.services.getIamPolicy", _RUN, "v2", "run.services.getIamPolicy")
ACCOUNTS = Method("iam.projects.serviceAccounts.list", _IAM, "v1", "iam.serviceAccounts.list")
ACCOUNT_POLICY = Method("iam.projects.serviceAccounts.getIamPolicy", _IAM, "v1", "iam.serviceAccounts.getIamPolicy", verb="POST")
QUOTAS = Method("cloudquotas.projects.locations.services.quotaInfos.list", "cloudquotas.googleapis.com", "v1", "cloudquotas.quotas.get")
DESCRIPTORS = Method("monitoring.projects.metricDescriptors.list", _MONITORING, "v3", "monitoring.metricDescriptors.list")
ALERT_POLICIES = Method("monitoring.projects.alertPolicies.list", _MONITORING, "v3", "monitoring.alertPolicies.list")

_T = TypeVar("_T")
_K = TypeVar("_K")


def look(project: str, clock: Clock, *, database: str = "(default)", archive: str | None = None, endpoint: str | None = None) -> Picture:
    """The picture of a project, with the environment's credentials. `archive` is the file name of the one that should run.

    Raises:
        NoCredentialsError: the environment has none, so nothing was looked at.
    """
    calls = ProjectCalls(endpoint=endpoint)
    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            return _Look(calls, pool, project, database).picture(clock, archive=archive, endpoint=endpoint)
    finally:
        calls.close()


class _Look:
    def __init__(self, calls: ProjectCalls, pool: ThreadPoolExecutor, project: str, database: str) -> None:
        self._calls = calls
        self._pool = pool
        self._project = project
        self._at = f"projects/{quote(project, safe=':')}"
        self._database = f"{self._at}/databases/{quote(database, safe='()')}"

    def picture(self, clock: Clock, *, archive: str | None, endpoint: str | None) -> Picture:
        enabled = self._listed(ENABLED, f"{self._at}/services", "services", filter="state:ENABLED", pageSize="200")
        functions = _found(self._listed(FUNCTIONS_LIST, f"{self._at}/locations/-/functions", "functions"), self._functions)
        prefix = _prefix(functions)
        owned = self._owned()
        alert_policies = _found(
            self._listed(ALERT_POLICIES, f"{self._at}/alertPolicies", "alertPolicies"),
            lambda items: tuple(alert_policy_of(str(each.get("displayName")), each) for each in items),
        )
        services = self._services(owned, alert_policies)
        return Picture(
            project=self._project,
            source=Source.PROJECT,
            topic_prefix=prefix,
            number=self._number(enabled),
            apis=_found(enabled, lambda items: frozenset(short(each.get("name", "")) for each in items)),
            accounts=_found(
                self._listed(ACCOUNTS, f"{self._at}/serviceAccounts", "accounts", pageSize="100"),
                lambda items: {str(each.get("email")): not each.get("disabled") for each in items},
            ),
            functions=functions,
            topics=_found(
                self._listed(TOPICS_LIST, f"{self._at}/topics", "topics", pageSize="1000"),
                lambda items: frozenset(short(each.get("name", "")) for each in items),
            ),
            subscriptions=_found(
                self._listed(SUBSCRIPTIONS, f"{self._at}/subscriptions", "subscriptions", pageSize="1000"),
                lambda items: {each.name: each for each in map(subscription_of, items)},
            ),
            jobs=self._jobs(functions),
            sink=_one(self._calls.ask(SINK, f"{self._at}/sinks/{CHANGES_SINK}"), sink_of),
            database=_one(self._calls.ask(DATABASE, self._database), database_of),
            ttl=_found(self._fields("ttlConfig:*"), ttl_of),
            indexes=_found(self._fields("indexConfig.usesAncestorConfig:false"), indexes_of),
            project_policy=self._project_policy(),
            policies=self._policies(prefix, functions, services),
            owned=owned,
            services=services,
            quotas=self._quotas(services),
            metrics=_found(
                self._listed(
                    DESCRIPTORS, f"{self._at}/metricDescriptors", "metricDescriptors", filter=f'metric.type = starts_with("{_RUN}/")'
                ),
                lambda items: frozenset(str(each.get("type")) for each in items),
            ),
            alert_policies=alert_policies,
            clock_ahead_seconds=_clock_ahead(clock, endpoint),
            given_archive=archive,
        )

    def _listed(self, method: Method, path: str, key: str, **parameters: str) -> list[Mapping[str, Any]] | NotSeen:
        return self._calls.listed(method, path, key, parameters=parameters)

    def _functions(self, items: Iterable[Mapping[str, Any]]) -> dict[str, Function]:
        return {each.name: each for each in map(function_of, items)}

    def _number(self, enabled: list[Mapping[str, Any]] | NotSeen) -> int | Unseen:
        """The project's number stands in the name of every enabled API."""
        for item in [] if isinstance(enabled, NotSeen) else enabled:
            parts = str(item.get("name", "")).split("/")
            if len(parts) > 1 and parts[1].isdigit():
                return int(parts[1])
        answer = self._calls.ask(PROJECT, self._at)
        if isinstance(answer, NotSeen):
            return answer
        number = "" if isinstance(answer, Absent) else short(text(answer, "name"))
        return int(number) if number.isdigit() else NotSeen(f"{PROJECT.name}: no project {self._project}")

    def _jobs(self, functions: Mapping[str, Function] | Unseen) -> dict[str, Job] | Unseen:
        """The tick's job, in the regions of the functions."""
        if isinstance(functions, NotSeen | NotAsked):
            return functions
        regions = sorted({each.region for name, each in functions.items() if name in map(service_name, FUNCTIONS) and each.region})
        if not regions:
            return NotSeen("no function of Trimtab was found, so it is not known in which region the job should be")
        found: dict[str, Job] = {}
        for region in regions:
            answer = self._calls.ask(JOB, f"{self._at}/locations/{region}/jobs/{TICK_JOB}")
            if isinstance(answer, NotSeen):
                return answer
            if not isinstance(answer, Absent):
                found[TICK_JOB] = job_of(answer)
        return found

    def _fields(self, wanted: str) -> list[Mapping[str, Any]] | NotSeen:
        return self._listed(FIELDS, f"{self._database}/collectionGroups/-/fields", "fields", filter=wanted, pageSize="300")

    def _owned(self) -> tuple[ServiceId, ...] | NotSeen:
        found = self._listed(
            DOCUMENTS, f"{self._database}/documents/services", "documents", **{"pageSize": "300", "mask.fieldPaths": "sweep_slot"}
        )
        return found if isinstance(found, NotSeen) else tuple(service_ids(found))[:SERVICES_LIMIT]

    def _services(
        self, owned: tuple[ServiceId, ...] | NotSeen, policies: tuple[AlertPolicy, ...] | NotSeen
    ) -> dict[ServiceId, Served | Unseen | None]:
        """Those with a spec, and those that the policies of Trimtab's alerts name: after a first deployment there is no spec yet."""

        def read(service: ServiceId) -> Served | NotSeen | None:
            answer = self._calls.ask(SERVICE, _path(service))
            return _one(answer, lambda item: served_of(service, item))

        named = () if isinstance(policies, NotSeen) else _watched(policies, self._project)
        return self._each(list(dict.fromkeys((*(() if isinstance(owned, NotSeen) else owned), *named)))[:SERVICES_LIMIT], read)

    def _quotas(self, services: Mapping[ServiceId, Served | Unseen | None]) -> Mapping[tuple[str, str], int] | Unseen:
        if not services:
            return NOT_ASKED
        at = f"{self._at}/locations/global/services/{_RUN}/quotaInfos"
        return _found(self._listed(QUOTAS, at, "quotaInfos", pageSize="1000"), quotas_of)

    def _policies(
        self, prefix: str, functions: Mapping[str, Function] | Unseen, services: Mapping[ServiceId, Served | Unseen | None]
    ) -> Policies:
        topics = [topic_name(each, prefix) for each in (*FUNCTIONS, EVENTS_TOPIC)] + [dead_letter_topic(each, prefix) for each in FUNCTIONS]
        subscriptions = [service_name(each) for each in FUNCTIONS] + [dead_letter_subscription(each) for each in FUNCTIONS]
        regions = (
            {} if isinstance(functions, NotSeen | NotAsked) else {name: each.region for name, each in functions.items() if each.region}
        )
        ours = [name for name in map(service_name, FUNCTIONS) if name in regions]
        served = [each for each in services.values() if isinstance(each, Served)]
        accounts = {account_address(PUSH_ACCOUNT, self._project): self._project}
        accounts |= {each.account: each.service.project for each in served if each.account}
        return Policies(
            topics=self._each(topics, lambda name: self._policy(TOPIC_POLICY, f"{self._at}/topics/{quote(name)}:getIamPolicy")),
            subscriptions=self._each(
                subscriptions, lambda name: self._policy(SUBSCRIPTION_POLICY, f"{self._at}/subscriptions/{name}:getIamPolicy")
            ),
            functions=self._each(
                ours, lambda name: self._policy(SERVICE_POLICY, f"{self._at}/locations/{regions[name]}/services/{name}:getIamPolicy")
            ),
            accounts=self._each(
                accounts,
                lambda name: self._policy(
                    ACCOUNT_POLICY, f"projects/{quote(accounts[name], safe=':')}/serviceAccounts/{quote(name, safe='@')}:getIamPolicy"
                ),
            ),
            services=self._each(
                [each.service for each in served], lambda service: self._policy(SERVICE_POLICY, f"{_path(service)}:getIamPolicy")
            ),
        )

    def _project_policy(self) -> Policy | Unseen:
        found = self._policy(PROJECT_POLICY, f"{self._at}:getIamPolicy")
        return NotSeen(f"{PROJECT_POLICY.name}: HTTP 404: there is no project {self._project}") if isinstance(found, NotAsked) else found

    def _policy(self, method: Method, path: str) -> Policy | Unseen:
        """A resource that is not there has no policy to judge: that it is missing is said elsewhere."""
        answer = self._calls.ask(method, path)
        return NOT_ASKED if isinstance(answer, Absent) else answer if isinstance(answer, NotSeen) else policy_of(answer)

    def _each(self, names: Iterable[_K], ask: Callable[[_K], _T]) -> dict[_K, _T]:
        wanted = list(names)
        return dict(zip(wanted, self._pool.map(ask, wanted), strict=True))


def _watched(policies: Iterable[AlertPolicy], project: str) -> Iterator[ServiceId]:
    for name, region in dict.fromkeys(each for policy in policies if policy.signal is not None for each in policy.watches):
        try:
            yield ServiceId(project=project, region=region or "", name=name)
        except ValueError:
            continue


def _path(service: ServiceId) -> str:
    return f"projects/{quote(service.project, safe=':')}/locations/{quote(service.region)}/services/{quote(service.name)}"


def _prefix(functions: Mapping[str, Function] | Unseen) -> str:
    """What the functions are told that their topics' names begin with."""
    for each in [] if isinstance(functions, NotSeen | NotAsked) else functions.values():
        topic = (each.environment or {}).get(TOPIC_SETTINGS["reconcile"], "")
        if each.name.startswith("trimtab-") and topic.endswith(TOPICS["reconcile"]):
            return topic.removesuffix(TOPICS["reconcile"])
    return TOPIC_PREFIX


def _found(items: list[Mapping[str, Any]] | NotSeen, read: Callable[[Iterable[Mapping[str, Any]]], _T]) -> _T | NotSeen:
    return items if isinstance(items, NotSeen) else read(items)


def _one(answer: dict[str, Any] | Absent | NotSeen, read: Callable[[Mapping[str, Any]], _T]) -> _T | NotSeen | None:
    return answer if isinstance(answer, NotSeen) else None if isinstance(answer, Absent) else read(answer)


def _clock_ahead(clock: Clock, endpoint: str | None) -> float | NotSeen:
    """By the time that Google's answer carries, in seconds; the way there and back is in it."""
    session = HttpSession(SCOPE, anonymous=endpoint is not None)
    try:
        answer = session.connected().get(f"{endpoint or 'https:/'}/{ENABLED.host}/", timeout=CALL_SECONDS, stream=True)
        said = parsedate_to_datetime(answer.headers["Date"]).astimezone(UTC)
        answer.close()
    except (requests.RequestException, OSError, auth.GoogleAuthError, KeyError, ValueError) as error:
        return NotSeen(f"the time of {ENABLED.host}: {str(error)[:200]}")
    finally:
        session.close()
    return (clock.now() - said).total_seconds()
