"""Who needs which role, and where: the grants of a deployment for what a picture holds, and the policies that reach each place. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from shared.deployment import (
    BUILD_ACCOUNT,
    SERVING_ACCOUNT,
    Agent,
    Grant,
    On,
    account_address,
    dead_letter_topic,
    grants,
    service_name,
    topic_name,
)
from shared.doctor.access import READS_OBJECTS, Layer, is_default, of_bucket
from shared.doctor.commands import region
from shared.doctor.picture import NOT_ASKED, Bucket, NotAsked, NotSeen, Picture, Policy, Repository, Served, Sink, Unseen
from shared.doctor.rules_parts import database_of
from shared.doctor.rules_settings import switched

IMAGES: Final = "trimtab"
"""The repository of the functions' images."""
Terraform: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
_BIND: Final = "add-iam-policy-binding"


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition that a role is granted under, which would reach too far without, and what it is used on."""

    title: str
    expression: str
    resource: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a role is needed: what it is called, the policies that reach it, what grants it there."""

    said: str
    project: str
    layers: tuple[Layer, ...]
    """Its own policy, that of its project, and of what stands above."""
    own: int
    """How many of them are its own and its project's."""
    command: tuple[str, ...]
    terraform: Terraform
    """What Terraform calls it, and how it names it where something is granted on it."""
    takes_conditions: bool = True
    """Whether gcloud asks for a condition, or for none, where the policy has some."""
    resource: str | None = None
    """The full name of what the role is used on, where a condition may name it."""


@dataclass(frozen=True, slots=True)
class Need:
    """A role that somebody needs somewhere."""

    grant: Grant
    member: str
    place: Place
    condition: Condition | None = None

    @property
    def role(self) -> str:
        """Its full name in the project of the place."""
        return self.grant.role_in(self.place.project)

    @property
    def resource(self) -> str | None:
        """The full name of what it is used on, where that is known."""
        return self.place.resource if self.condition is None else self.condition.resource


def needed(picture: Picture) -> Iterator[Need]:
    """Every role that somebody needs somewhere, once."""
    seen: set[tuple[str, str, str]] = set()
    for grant in _wanted(picture):
        condition = _condition(grant, picture)
        for member, place in _pairs(grant, picture):
            need = Need(grant, member, place, condition)
            key = (need.role, member, place.said)
            if key not in seen:
                seen.add(key)
                yield need


def _wanted(picture: Picture) -> Iterator[Grant]:
    """The grants of a deployment, and for each function those of what it has switched on."""
    always = list(grants())
    for grant in always:
        # The buckets that it may read are named by the project's number.
        if grant.account != BUILD_ACCOUNT or grant.role != READS_OBJECTS or isinstance(picture.number, int):
            yield grant
    for function, switches in switched(picture).items():
        yield from (grant for grant in grants(switches) if grant.account == function and grant not in always)


def _pairs(grant: Grant, picture: Picture) -> Iterator[tuple[str, Place]]:
    """Who needs the role, and where."""
    if grant.account == SERVING_ACCOUNT:
        for service, served in picture.services.items():
            if isinstance(served, Served) and served.account and not is_default(served.account):
                member = f"serviceAccount:{served.account}"
                if grant.on is On.MODEL_BUCKET and service in picture.models:
                    yield from ((member, place) for place in _buckets(picture, picture.models[service]))
                elif grant.on is On.SERVED_PROJECT and served.collector:
                    yield member, _project(service.project, picture)
        return
    for member in dict.fromkeys(_members(grant, picture)):
        yield from ((member, place) for place in _places(grant, picture))


def _members(grant: Grant, picture: Picture) -> Iterator[str]:
    """Who needs the role; nobody where that is not known."""
    account = grant.account
    if not isinstance(account, Agent):
        yield f"serviceAccount:{account_address(account, picture.project)}"
        return
    match account:
        case Agent.LOGGING:
            yield from (sink.writer for sink in picture.sinks.values() if isinstance(sink, Sink) and sink.writer)
        case Agent.MONITORING:
            yield from _agents(account, picture.served, picture)
        case Agent.STORAGE:
            homes = [bucket.project for bucket in picture.buckets.values() if isinstance(bucket, Bucket)]
            yield from _agents(account, [each for each in homes if isinstance(each, str)], picture)
        case Agent.PUBSUB:
            yield from _agents(account, [picture.project], picture)


def _agents(agent: Agent, projects: Iterable[str], picture: Picture) -> Iterator[str]:
    """Google's agent of each project whose number is known."""
    for project in projects:
        number = int(project) if project.isdecimal() else picture.in_project(project).number
        if isinstance(number, int):
            yield f"serviceAccount:{agent.address(number)}"


def _places(grant: Grant, picture: Picture) -> Iterator[Place]:
    """Each resource that the role is needed on."""
    policies, project = picture.policies, picture.project
    match grant.on:
        case On.PROJECT:
            yield _project(project, picture)
        case On.SERVED_PROJECT:
            yield from (_project(each, picture) for each in picture.served)
        case On.TOPIC | On.DEAD_LETTER_TOPIC:
            name = (topic_name if grant.on is On.TOPIC else dead_letter_topic)(grant.name, picture.topic_prefix)
            terraform = ("google_pubsub_topic", (("project", project), ("topic", name)))
            command = ("pubsub", "topics", _BIND, name)
            place = _in(project, f"the topic {name}", _of(policies.topics, name), command, picture, terraform=terraform)
            yield replace(place, takes_conditions=False)
        case On.SUBSCRIPTION:
            name = service_name(grant.name)
            policy = _of(policies.subscriptions, name)
            terraform = ("google_pubsub_subscription", (("project", project), ("subscription", name)))
            place = _in(project, f"the subscription {name}", policy, ("pubsub", "subscriptions", _BIND, name), picture, terraform=terraform)
            yield replace(place, takes_conditions=False)
        case On.FUNCTION:
            name = service_name(grant.name)
            yield _service(f"the function {name}", _of(policies.functions, name), (project, region(picture), name), picture)
        case On.ACCOUNT:
            yield _account(account_address(grant.name, project), project, picture)
        case On.REPOSITORY:
            yield _repository(Repository(project, region(picture), IMAGES), picture)
        case _:
            yield from _served_places(grant, picture)


def _served_places(grant: Grant, picture: Picture) -> Iterator[Place]:
    """The same of what is served."""
    served = [each for each in picture.services.values() if isinstance(each, Served)]
    match grant.on:
        case On.SERVED_SERVICE:
            for service, policy in picture.policies.services.items():
                yield _service(f"the service {service}", policy, (service.project, service.region, service.name), picture)
        case On.SERVING_ACCOUNT:
            projects = {each.account: each.service.project for each in served if each.account and not is_default(each.account)}
            yield from (_account(account, project, picture) for account, project in projects.items())
        case On.MODEL_BUCKET:
            yield from _buckets(picture, *(f"gs://{name}" for name in picture.buckets))
        case On.IMAGE_REPOSITORY:
            ours = Repository(picture.project, region(picture), IMAGES)
            yield from (_repository(each, picture) for each in picture.policies.repositories if each != ours)


def _project(project: str, picture: Picture) -> Place:
    where = f"the project {project}"
    layers = (Layer(where, picture.in_project(project).policy), *_above(project, picture))
    return Place(where, project, layers, 1, ("projects", _BIND, project), ("google_project", (("project", project),)))


def _service(said: str, policy: Policy | Unseen, named: tuple[str, str, str], picture: Picture) -> Place:
    """A Cloud Run service, by its project, region and name."""
    project, at, name = named
    terraform = ("google_cloud_run_v2_service", (("project", project), ("location", at), ("name", name)))
    return _in(project, said, policy, ("run", "services", _BIND, name, f"--region={at}"), picture, terraform=terraform)


def _in(project: str, said: str, policy: Policy | Unseen, command: tuple[str, ...], picture: Picture, *, terraform: Terraform) -> Place:
    """A resource in a project."""
    layers = (Layer(said, policy), Layer(f"the project {project}", picture.in_project(project).policy), *_above(project, picture))
    return Place(said, project, layers, 2, command, terraform)


def _above(project: str, picture: Picture) -> Iterator[Layer]:
    names, policies = picture.in_project(project).above, picture.policies.above
    if isinstance(names, NotSeen):
        yield Layer(f"the folders and the organization above {project}", names)
    else:
        yield from (Layer(name, NOT_ASKED if isinstance(policies, NotAsked) else policies.get(name, NOT_ASKED)) for name in names)


def _account(address: str, project: str, picture: Picture) -> Place:
    policy = _of(picture.policies.accounts, address)
    terraform = ("google_service_account", (("service_account_id", f"projects/{project}/serviceAccounts/{address}"),))
    return _in(project, f"the account {address}", policy, ("iam", "service-accounts", _BIND, address), picture, terraform=terraform)


def _repository(repository: Repository, picture: Picture) -> Place:
    command = ("artifacts", "repositories", _BIND, repository.name, f"--location={repository.location}")
    policy = picture.policies.repositories.get(repository, NOT_ASKED)
    named = (("project", repository.project), ("location", repository.location), ("repository", repository.name))
    terraform = ("google_artifact_registry_repository", named)
    return _in(repository.project, f"the repository {repository}", policy, command, picture, terraform=terraform)


def _buckets(picture: Picture, *uris: str) -> Iterator[Place]:
    """The buckets of models that were seen to be there."""
    for uri in uris:
        name = uri.removeprefix("gs://").partition("/")[0]
        bucket = picture.buckets.get(name)
        if not isinstance(bucket, Bucket):
            continue
        home = bucket.project if isinstance(bucket.project, str) else picture.project
        of_project = bucket.project if isinstance(bucket.project, NotSeen) else picture.in_project(home).policy
        policy = bucket.policy
        if not isinstance(policy, NotSeen | NotAsked) and not isinstance(of_project, NotSeen | NotAsked):
            policy = of_bucket(policy, of_project)
        said = f"the bucket {name}"
        layers = (Layer(said, policy), Layer(f"the project of {said}", of_project), *_above(home, picture))
        # A command about a bucket names no project: this one is asked whether it may make the call.
        command = ("storage", "buckets", _BIND, f"gs://{name}")
        terraform = ("google_storage_bucket", (("bucket", name),))
        yield Place(said, picture.project, layers, 2, command, terraform, resource=f"projects/_/buckets/{name}")


def _condition(grant: Grant, picture: Picture) -> Condition | None:
    """What Terraform grants the role under."""
    if grant.on is On.PROJECT and grant.account == BUILD_ACCOUNT and grant.role == READS_OBJECTS:
        prefix = f"projects/_/buckets/gcf-v2-sources-{picture.number}-"
        return Condition("sources-of-functions", f'resource.name.startsWith("{prefix}")', f"{prefix}{region(picture)}")
    if grant.on is On.PROJECT and "/roles/trimtabStore" in grant.role:
        name = f"projects/{picture.project}/databases/{database_of(picture, str(grant.account))}"
        return Condition("trimtab-database", f'resource.name == "{name}"', name)
    return None


def _of(policies: Mapping[str, Policy | Unseen], name: str) -> Policy | Unseen:
    return policies.get(name, NOT_ASKED)
