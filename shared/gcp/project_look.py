"""A project as it is, read over Google's REST APIs: the doctor's picture. Nothing is written."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

import requests
from google.auth import exceptions as auth

from shared.deployment import CHANGES_SINK, TICK_JOB, TOPIC_PREFIX, TOPIC_SETTINGS, TOPICS, service_name
from shared.doctor.commands import NAMES, home
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import (
    NOT_ASKED,
    AlertPolicy,
    Bucket,
    Function,
    Job,
    NotAsked,
    NotSeen,
    Picture,
    Project,
    Served,
    Sink,
    Source,
    Unseen,
)
from shared.doctor.queried import policy_of as alert_policy_of
from shared.doctor.rules_parts import DATABASE as DATABASE_SETTING
from shared.doctor.served import served_of
from shared.gcp.http_session import HttpSession
from shared.gcp.project_calls import CALL_SECONDS, SCOPE, Absent, Method, ProjectCalls
from shared.gcp.project_grants import WORKERS, GrantsLook, project_path, served_repositories, service_path
from shared.gcp.project_methods import (
    ACCOUNTS,
    ALERT_POLICIES,
    DATABASE,
    DESCRIPTORS,
    DOCUMENTS,
    ENABLED,
    FIELDS,
    FUNCTIONS_LIST,
    JOB,
    QUOTAS,
    RUN,
    SERVICE,
    SINK,
    SUBSCRIPTIONS,
    TOPICS_LIST,
)
from shared.gcp.project_parts import (
    READY,
    database_of,
    function_of,
    indexes_of,
    job_of,
    models_of,
    quotas_of,
    short,
    sink_of,
    subscription_of,
    ttl_of,
)
from shared.ports import Clock
from shared.records.subject import ServiceId

SERVICES_LIMIT = 300
"""Services under care that are read one by one; of more the doctor says that it did not look."""

ALLOWED_PROJECTS = "TRIMTAB_ALLOWED_PROJECTS"

_IN_BUCKET = re.compile(r"gs://[^/]")
_T = TypeVar("_T")


def look(project: str, clock: Clock, *, database: str = "", archive: str | None = None, endpoint: str | None = None) -> Picture:
    """The picture of a project, with the environment's credentials.

    `archive` is the file name of the one that should run; without `database` it is the one that the functions are told of.

    Raises:
        NoCredentialsError: the environment gives no token, so nothing was looked at.
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
        self._grants = GrantsLook(calls, pool, project)
        self._project = project
        self._at = project_path(project)
        self._asked = database
        self._database = ""

    def picture(self, clock: Clock, *, archive: str | None, endpoint: str | None) -> Picture:
        enabled = self._listed(ENABLED, f"{self._at}/services", "services", filter="state:ENABLED", pageSize="200")
        number = self._number(enabled)
        homes = frozenset({self._project, str(number)})
        listed = _found(self._listed(FUNCTIONS_LIST, f"{self._at}/locations/-/functions", "functions"), _ours)
        functions = listed if isinstance(listed, NotSeen) else _at_home(listed)
        prefix = _prefix(functions)
        database = self._asked or _told(functions)
        self._database = f"{self._at}/databases/{quote(database, safe='()')}"
        every = self._specs()
        specs = every if isinstance(every, NotSeen) else dict(islice(every.items(), SERVICES_LIMIT))
        owned = specs if isinstance(specs, NotSeen) else tuple(specs)
        models = (
            {}
            if isinstance(specs, NotSeen)
            else {service: uri for service, uri in specs.items() if uri is not None and _IN_BUCKET.match(uri)}
        )
        alert_policies = _found(
            self._listed(ALERT_POLICIES, f"{self._at}/alertPolicies", "alertPolicies"),
            lambda items: tuple(alert_policy_of(str(each.get("displayName")), each) for each in items),
        )
        services = self._services(owned, alert_policies)
        served = tuple(dict.fromkeys(each.project for each in services)) or _allowed_projects(functions, self._project)
        projects, buckets = self._around(served, number, models.values(), services)
        indexes = _found(self._fields("indexConfig.usesAncestorConfig:false"), indexes_of)
        return Picture(
            project=self._project,
            source=Source.PROJECT,
            topic_prefix=prefix,
            projects=projects,
            served=served,
            apis=_found(enabled, lambda items: frozenset(short(each.get("name", "")) for each in items)),
            accounts=_found(
                self._listed(ACCOUNTS, f"{self._at}/serviceAccounts", "accounts", pageSize="100"),
                lambda items: {str(each.get("email")): not each.get("disabled") for each in items},
            ),
            functions=functions,
            strays=() if isinstance(listed, NotSeen) else _elsewhere(listed),
            topics=_found(
                self._listed(TOPICS_LIST, f"{self._at}/topics", "topics", pageSize="1000"),
                lambda items: frozenset(short(each.get("name", "")) for each in items),
            ),
            subscriptions=_found(
                self._listed(SUBSCRIPTIONS, f"{self._at}/subscriptions", "subscriptions", pageSize="1000"),
                lambda items: {each.name: each for each in (subscription_of(item, homes) for item in items)},
            ),
            jobs=self._jobs(functions, homes, clock.now()),
            sinks=self._grants.each(served, self._sink),
            database_name=database,
            database=_one(self._calls.ask(DATABASE, self._database), database_of),
            ttl=_found(self._fields("ttlConfig:*"), ttl_of),
            indexes=indexes if isinstance(indexes, NotSeen) else frozenset(indexes),
            unready={} if isinstance(indexes, NotSeen) else {name: state for name, state in indexes.items() if state != READY},
            policies=replace(self._grants.policies(prefix, functions, services), above=self._grants.above(projects.values())),
            owned=owned,
            models=models,
            buckets=buckets,
            services=services,
            quotas=self._quotas(services),
            metrics=_found(
                self._listed(
                    DESCRIPTORS, f"{self._at}/metricDescriptors", "metricDescriptors", filter=f'metric.type = starts_with("{RUN}/")'
                ),
                lambda items: frozenset(str(each.get("type")) for each in items),
            ),
            alert_policies=alert_policies,
            clock_ahead_seconds=_clock_ahead(clock, endpoint),
            given_archive=archive,
            said=() if isinstance(every, NotSeen) else tuple(_beyond(len(every))),
        )

    def _around(
        self, served: tuple[str, ...], number: int | Unseen, uris: Iterable[str], services: Mapping[ServiceId, Served | Unseen | None]
    ) -> tuple[dict[str, Project], dict[str, Bucket | None]]:
        """The projects and the buckets: first those that are known by name, then those that buckets and images turn out to lie in."""
        near = self._grants.projects((self._project, *served), {self._project: number})
        buckets = self._grants.buckets(uris, {name: each.number for name, each in near.items()})
        homes = [each.project for each in buckets.values() if each is not None and isinstance(each.project, str)]
        homes += [each.project for each in served_repositories(each for each in services.values() if isinstance(each, Served))]
        # The number of a project that is only a home of something is asked for by nobody.
        far = {name: NOT_ASKED for name in homes if name not in near}
        return near | self._grants.projects(far, far), buckets

    def _listed(self, method: Method, path: str, key: str, **parameters: str) -> list[Mapping[str, Any]] | NotSeen:
        return self._calls.listed(method, path, key, parameters=parameters)

    def _number(self, enabled: list[Mapping[str, Any]] | NotSeen) -> int | Unseen:
        """The project's number stands in the name of every enabled API."""
        for item in [] if isinstance(enabled, NotSeen) else enabled:
            parts = str(item.get("name", "")).split("/")
            if len(parts) > 1 and parts[1].isdigit():
                return int(parts[1])
        return self._grants.number(self._project)

    def _jobs(self, functions: Mapping[str, Function] | Unseen, homes: frozenset[str], now: datetime) -> dict[str, Job] | Unseen:
        """The tick's job, in the region of the functions."""
        if isinstance(functions, NotSeen | NotAsked):
            return functions
        regions = sorted({each.region for each in functions.values() if each.region})
        if not regions:
            return NotSeen("no function of Trimtab was found, so it is not known in which region the job should be")
        found: dict[str, Job] = {}
        for region in regions:
            answer = self._calls.ask(JOB, f"{self._at}/locations/{region}/jobs/{TICK_JOB}")
            if isinstance(answer, NotSeen):
                return answer
            if not isinstance(answer, Absent):
                found[TICK_JOB] = job_of(answer, homes, now)
        return found

    def _fields(self, wanted: str) -> list[Mapping[str, Any]] | NotSeen:
        return self._listed(FIELDS, f"{self._database}/collectionGroups/-/fields", "fields", filter=wanted, pageSize="300")

    def _sink(self, project: str) -> Sink | NotSeen | None:
        return _one(self._calls.ask(SINK, f"{project_path(project)}/sinks/{CHANGES_SINK}"), sink_of)

    def _specs(self) -> dict[ServiceId, str | None] | NotSeen:
        """The services with a spec, and the folder of a bucket that each names. The rest of the documents is not read."""
        found = self._listed(
            DOCUMENTS, f"{self._database}/documents/services", "documents", **{"pageSize": "300", "mask.fieldPaths": "model_uri"}
        )
        return found if isinstance(found, NotSeen) else dict(models_of(found))

    def _services(
        self, owned: tuple[ServiceId, ...] | NotSeen, policies: tuple[AlertPolicy, ...] | NotSeen
    ) -> dict[ServiceId, Served | Unseen | None]:
        """Those with a spec, and those that the policies of Trimtab's alerts name: after a first deployment there is no spec yet."""

        def read(service: ServiceId) -> Served | NotSeen | None:
            answer = self._calls.ask(SERVICE, service_path(service))
            return _one(answer, lambda item: served_of(service, item))

        named = () if isinstance(policies, NotSeen) else _watched(policies, self._project)
        return self._grants.each(list(dict.fromkeys((*(() if isinstance(owned, NotSeen) else owned), *named)))[:SERVICES_LIMIT], read)

    def _quotas(self, services: Mapping[ServiceId, Served | Unseen | None]) -> Mapping[tuple[str, str], int] | Unseen:
        if not services:
            return NOT_ASKED
        at = f"{self._at}/locations/global/services/{RUN}/quotaInfos"
        return _found(self._listed(QUOTAS, at, "quotaInfos", pageSize="1000"), quotas_of)


def _ours(items: Iterable[Mapping[str, Any]]) -> list[Function]:
    """Those with a name of Trimtab's, wherever they are."""
    return [each for each in map(function_of, items) if each.name in NAMES]


def _at_home(functions: Sequence[Function]) -> dict[str, Function]:
    """Those of the region that most are in: one deployment is in one."""
    at = home(functions)
    return {each.name: each for each in functions if at is None or each.region == at}


def _elsewhere(functions: Sequence[Function]) -> tuple[Function, ...]:
    at = home(functions)
    return tuple(each for each in functions if at is not None and each.region != at)


def _told(functions: Mapping[str, Function] | Unseen) -> str:
    """The database that most functions are told of."""
    found = [] if isinstance(functions, NotSeen | NotAsked) else functions.values()
    counted = Counter((each.environment or {}).get(DATABASE_SETTING) or "(default)" for each in found)
    return max(counted, key=lambda name: (counted[name], name), default="(default)")


def _beyond(count: int) -> Iterator[Finding]:
    """What is said of specs that were not looked at."""
    if count > SERVICES_LIMIT:
        what = f"{count - SERVICES_LIMIT} of {count} services with a spec: not looked at"
        why = f"the doctor reads {SERVICES_LIMIT} one by one, with their buckets, accounts and images"
        yield Finding("service", Level.UNKNOWN, what, why)


def _watched(policies: Iterable[AlertPolicy], project: str) -> Iterator[ServiceId]:
    for name, region in dict.fromkeys(each for policy in policies if policy.signal is not None for each in policy.watches):
        try:
            yield ServiceId(project=project, region=region or "", name=name)
        except ValueError:
            continue


def _prefix(functions: Mapping[str, Function] | Unseen) -> str:
    """What the functions are told that their topics' names begin with."""
    for each in [] if isinstance(functions, NotSeen | NotAsked) else functions.values():
        topic = (each.environment or {}).get(TOPIC_SETTINGS["reconcile"], "")
        if each.name.startswith("trimtab-") and topic.endswith(TOPICS["reconcile"]):
            return topic.removesuffix(TOPICS["reconcile"])
    return TOPIC_PREFIX


def _allowed_projects(functions: Mapping[str, Function] | Unseen, own: str) -> tuple[str, ...]:
    """What will be served, where nothing is yet: the control plane's own project, or those that specs may name where that is not one."""
    found = {} if isinstance(functions, NotSeen | NotAsked) else functions
    reconcile = found.get(service_name("reconcile"))
    said = (reconcile.environment or {}).get(ALLOWED_PROJECTS, "") if reconcile is not None else ""
    allowed = [name for each in said.split(",") if (name := each.strip())]
    if any(own.startswith(each[:-1]) if each.endswith("*") else own == each for each in allowed):
        return (own,)
    return tuple(dict.fromkeys(each for each in allowed if not each.endswith("*"))) or (own,)


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
