"""Who has which roles in a project and around it, read over Google's REST APIs: of the control plane, of what it serves, and above."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from urllib.parse import quote

from shared.deployment import (
    EVENTS_TOPIC,
    FUNCTIONS,
    PUSH_ACCOUNT,
    account_address,
    dead_letter_subscription,
    dead_letter_topic,
    service_name,
    topic_name,
)
from shared.doctor.needed import IMAGES
from shared.doctor.picture import NOT_ASKED, Bucket, Function, NotAsked, NotSeen, Policies, Policy, Project, Repository, Served, Unseen
from shared.gcp.project_calls import Absent, Method, ProjectCalls
from shared.gcp.project_methods import (
    ACCOUNT_POLICY,
    ANCESTRY,
    BUCKET,
    BUCKET_POLICY,
    FOLDER_POLICY,
    IN_BODY,
    IN_BUCKETS_QUERY,
    IN_QUERY,
    NOTIFICATIONS,
    ORGANIZATION_POLICY,
    PROJECT,
    PROJECT_POLICY,
    REPOSITORY_POLICY,
    SERVICE_POLICY,
    SUBSCRIPTION_POLICY,
    TOPIC_POLICY,
)
from shared.gcp.project_parts import ancestors_of, notification_of, policy_of, repository_of, short, text
from shared.records.subject import ServiceId

WORKERS: Final = 8
PUBLIC_REPOSITORIES: Final = frozenset({"cloud-ops-agents-artifacts", "deeplearning-platform-release", "google-samples"})
"""Projects of Google's whose images everybody may read, and whose policies nobody may."""

_T = TypeVar("_T")
_K = TypeVar("_K")


class GrantsLook:
    """Each method is one or more rounds of calls, made side by side."""

    def __init__(self, calls: ProjectCalls, pool: ThreadPoolExecutor, project: str) -> None:
        self._calls = calls
        self._pool = pool
        self._project = project

    def projects(self, names: Iterable[str], numbers: Mapping[str, int | Unseen]) -> dict[str, Project]:
        """Each project's number, where it is not known, its policy, and what stands above it."""

        def read(name: str) -> Project:
            return Project(numbers[name] if name in numbers else self.number(name), self._project_policy(name), self._above(name))

        return self.each(dict.fromkeys(names), read)

    def number(self, project: str) -> int | NotSeen:
        """A project's number."""
        if project.isdecimal():
            return int(project)
        answer = self._calls.ask(PROJECT, project_path(project))
        if isinstance(answer, NotSeen):
            return answer
        number = "" if isinstance(answer, Absent) else short(text(answer, "name"))
        return int(number) if number.isdigit() else NotSeen(f"{PROJECT.name}: no project {project}")

    def above(self, projects: Iterable[Project]) -> dict[str, Policy | Unseen]:
        """The policies of the folders and organizations that stand above these projects."""
        names = dict.fromkeys(name for project in projects if not isinstance(project.above, NotSeen) for name in project.above)

        def read(name: str) -> Policy | Unseen:
            method = FOLDER_POLICY if name.startswith("folders/") else ORGANIZATION_POLICY
            found = self._posted(method, f"{name}:getIamPolicy")
            return NotSeen(f"{method.name}: HTTP 404: there is no {name}") if isinstance(found, NotAsked) else found

        return self.each(names, read)

    def buckets(self, uris: Iterable[str], known: Mapping[str, int | Unseen]) -> dict[str, Bucket | None]:
        """The buckets that these models lie in. `known` are projects by id: a bucket says the number of its own."""
        ids = {str(number): project for project, number in known.items() if isinstance(number, int)}

        def read(name: str) -> Bucket | None:
            at = f"b/{quote(name, safe='')}"
            answer = self._calls.ask(BUCKET, at, parameters={"fields": "projectNumber"})
            if isinstance(answer, Absent):
                return None
            policy = self._policy(BUCKET_POLICY, f"{at}/iam", IN_BUCKETS_QUERY)
            if isinstance(answer, NotSeen):
                return Bucket(answer, policy)
            number = str(answer.get("projectNumber", ""))
            said = self._calls.listed(NOTIFICATIONS, f"{at}/notificationConfigs", "items")
            return Bucket(
                project=ids.get(number, number) if number.isdecimal() else NotSeen(f"{BUCKET.name}: the answer says no project"),
                policy=policy,
                notifications=said if isinstance(said, NotSeen) else tuple(map(notification_of, said)),
            )

        return self.each(dict.fromkeys(uri.removeprefix("gs://").partition("/")[0] for uri in uris), read)

    def policies(
        self, prefix: str, functions: Mapping[str, Function] | Unseen, services: Mapping[ServiceId, Served | Unseen | None]
    ) -> Policies:
        """The policies of the control plane's parts and of what it serves, without buckets."""
        project, at = self._project, project_path(self._project)
        topics = [topic_name(each, prefix) for each in (*FUNCTIONS, EVENTS_TOPIC)] + [dead_letter_topic(each, prefix) for each in FUNCTIONS]
        subscriptions = [service_name(each) for each in FUNCTIONS] + [dead_letter_subscription(each) for each in FUNCTIONS]
        regions = (
            {} if isinstance(functions, NotSeen | NotAsked) else {name: each.region for name, each in functions.items() if each.region}
        )
        ours = {name: regions[name] for name in map(service_name, FUNCTIONS) if name in regions}
        served = [each for each in services.values() if isinstance(each, Served)]
        accounts = {account_address(PUSH_ACCOUNT, project): project}
        accounts |= {each.account: each.service.project for each in served if each.account}

        def of_account(name: str) -> Policy | Unseen:
            path = f"{project_path(accounts[name])}/serviceAccounts/{quote(name, safe='@')}:getIamPolicy"
            return self._policy(ACCOUNT_POLICY, path)

        return Policies(
            topics=self.each(topics, lambda name: self._policy(TOPIC_POLICY, f"{at}/topics/{quote(name)}:getIamPolicy")),
            subscriptions=self.each(
                subscriptions, lambda name: self._policy(SUBSCRIPTION_POLICY, f"{at}/subscriptions/{name}:getIamPolicy")
            ),
            functions=self.each(
                ours, lambda name: self._policy(SERVICE_POLICY, f"{at}/locations/{ours[name]}/services/{name}:getIamPolicy")
            ),
            accounts=self.each(accounts, of_account),
            services=self.each(
                [each.service for each in served], lambda service: self._policy(SERVICE_POLICY, f"{service_path(service)}:getIamPolicy")
            ),
            repositories=self.each(
                dict.fromkeys((*(Repository(project, region, IMAGES) for region in ours.values()), *served_repositories(served))),
                lambda each: self._policy(
                    REPOSITORY_POLICY,
                    f"{project_path(each.project)}/locations/{each.location}/repositories/{each.name}:getIamPolicy",
                ),
            ),
        )

    def each(self, names: Iterable[_K], ask: Callable[[_K], _T]) -> dict[_K, _T]:
        """What is answered of each name."""
        wanted = list(names)
        return dict(zip(wanted, self._pool.map(ask, wanted), strict=True))

    def _project_policy(self, project: str) -> Policy | NotSeen:
        found = self._posted(PROJECT_POLICY, f"{project_path(project)}:getIamPolicy")
        return NotSeen(f"{PROJECT_POLICY.name}: HTTP 404: there is no project {project}") if isinstance(found, NotAsked) else found

    def _above(self, project: str) -> tuple[str, ...] | NotSeen:
        answer = self._calls.ask(ANCESTRY, f"{project_path(project)}:getAncestry")
        if isinstance(answer, Absent):
            return NotSeen(f"{ANCESTRY.name}: HTTP 404: there is no project {project}")
        return answer if isinstance(answer, NotSeen) else ancestors_of(answer)

    def _posted(self, method: Method, path: str) -> Policy | NotSeen | NotAsked:
        return self._read(method, self._calls.ask(method, path, body=IN_BODY))

    def _policy(self, method: Method, path: str, parameters: Mapping[str, str] = IN_QUERY) -> Policy | NotSeen | NotAsked:
        return self._read(method, self._calls.ask(method, path, parameters=parameters))

    @staticmethod
    def _read(method: Method, answer: "Mapping[str, object] | Absent | NotSeen") -> Policy | NotSeen | NotAsked:
        """A resource that is not there has no policy to judge: that it is missing is said elsewhere."""
        return NOT_ASKED if isinstance(answer, Absent) else answer if isinstance(answer, NotSeen) else policy_of(answer, method.name)


def served_repositories(served: Iterable[Served]) -> list[Repository]:
    """The repositories that the images of these services lie in."""
    found = (repository_of(image) for service in served for image in service.images)
    return [each for each in found if each is not None and each.project not in PUBLIC_REPOSITORIES]


def project_path(project: str) -> str:
    """The project as the APIs name it."""
    return f"projects/{quote(project, safe=':')}"


def service_path(service: ServiceId) -> str:
    """The Cloud Run service as the API names it."""
    return f"{project_path(service.project)}/locations/{quote(service.region)}/services/{quote(service.name)}"
