"""Whether accounts and agents have the roles they need, and Trimtab's accounts none besides that would matter. Pure.

A role counts wherever it reaches: one granted on the project holds for every resource in it. Roles of folders and organizations are
inherited as well and are not seen here: so what is missing is said as what was not found on the project or the resource.
"""

from collections.abc import Iterator, Mapping

from shared.deployment import (
    ACCOUNTS,
    Agent,
    Grant,
    On,
    account_address,
    dead_letter_topic,
    grants,
    service_name,
    topic_name,
)
from shared.doctor.commands import gcloud, region
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NotAsked, NotSeen, Picture, Policy, Served, Unseen
from shared.doctor.rules_parts import unseen
from shared.records.subject import ServiceId

WIDER: Mapping[str, frozenset[str]] = {
    "roles/pubsub.publisher": frozenset({"roles/pubsub.editor", "roles/pubsub.admin"}),
    "roles/pubsub.subscriber": frozenset({"roles/pubsub.editor", "roles/pubsub.admin"}),
    "roles/run.invoker": frozenset({"roles/run.admin"}),
    "roles/iam.serviceAccountOpenIdTokenCreator": frozenset({"roles/iam.serviceAccountTokenCreator", "roles/pubsub.serviceAgent"}),
    "roles/logging.viewer": frozenset({"roles/logging.admin", "roles/viewer"}),
    "roles/monitoring.viewer": frozenset({"roles/monitoring.editor", "roles/monitoring.admin", "roles/viewer"}),
    "trimtabStore": frozenset({"roles/datastore.user", "roles/datastore.owner"}),
    "trimtabRunReader": frozenset({"roles/run.viewer", "roles/run.developer", "roles/run.admin", "roles/viewer"}),
    "trimtabRunUpdater": frozenset({"roles/run.developer", "roles/run.admin"}),
}
"""Role (of Trimtab's own: the beginning of its name) to predefined roles that hold it. Nothing but a basic role holds
roles/iam.serviceAccountUser: an administrator of accounts may not act as one."""
BASIC = frozenset({"roles/editor", "roles/owner"})
NOT_IN_BASIC = frozenset({"roles/iam.serviceAccountOpenIdTokenCreator"})
"""Making tokens of an account is in no basic role."""
DANGEROUS = BASIC | frozenset({"roles/run.admin", "roles/iam.serviceAccountUser", "roles/iam.serviceAccountTokenCreator"})
"""On a project: with any of these an account of Trimtab could act as every service account, or let anybody in."""
PUBLIC = ("allUsers", "allAuthenticatedUsers")


def missing(picture: Picture) -> Iterator[Finding]:
    """Roles that were not found."""
    if isinstance(picture.project_policy, NotSeen):
        yield from unseen("grant", "the project's grants", picture.project_policy)
    if isinstance(picture.number, NotSeen):
        yield from unseen("grant", "the project's number, and so the grants of Google's agents", picture.number)
    told: set[tuple[str, str]] = set()
    for grant in grants():
        member = _member(grant, picture)
        if member is None:
            continue
        for said, policy, mend in _places(grant, picture, member):
            if isinstance(policy, NotSeen) and (said, policy.why) not in told:
                told.add((said, policy.why))
                yield from unseen("grant", f"the grants on {said}", policy)
            if isinstance(policy, NotSeen | NotAsked) or isinstance(picture.project_policy, NotSeen | NotAsked):
                continue
            if not _held(grant.role_in(picture.project), member, policy, picture.project_policy):
                what = f"{member.removeprefix('serviceAccount:')} lacks {grant.role_in(picture.project)} on {said}"
                yield Finding("grant", Level.PROBLEM, what, f"it {grant.why}", mend)


def excess(picture: Picture) -> Iterator[Finding]:
    """Roles that go too far, and functions that anybody may call."""
    if not isinstance(picture.project_policy, NotSeen | NotAsked):
        for name in ACCOUNTS:
            address = account_address(name, picture.project)
            for role in sorted(DANGEROUS):
                if f"serviceAccount:{address}" in picture.project_policy.get(role, frozenset()):
                    words = (
                        "projects",
                        "remove-iam-policy-binding",
                        picture.project,
                        f"--member=serviceAccount:{address}",
                        f"--role={role}",
                    )
                    why = "it could change what is not under its care, or act as accounts that it must not act as"
                    mend = gcloud(*words, project=picture.project)
                    yield Finding("excess", Level.PROBLEM, f"{address} has {role} on the project", why, mend)
    for function, policy in picture.policies.functions.items():
        if isinstance(policy, NotSeen | NotAsked):
            continue
        for member in PUBLIC:
            if any(member in members for members in policy.values()):
                call = ("run", "services", "remove-iam-policy-binding", function, f"--region={region(picture)}", f"--member={member}")
                why = "the function believes the identity that Cloud Run checked: anybody may send it events and commands"
                mend = gcloud(*call, "--role=roles/run.invoker", project=picture.project)
                yield Finding("excess", Level.PROBLEM, f"{member} may call {function}", why, mend)


def _member(grant: Grant, picture: Picture) -> str | None:
    """Who needs the role; None where that is not known."""
    if grant.account is Agent.LOGGING:
        sink = picture.sink
        return None if sink is None or isinstance(sink, NotSeen | NotAsked) else sink.writer
    if isinstance(grant.account, Agent):
        number = picture.number
        return None if isinstance(number, NotSeen | NotAsked) else f"serviceAccount:{grant.account.address(number)}"
    if grant.account in ACCOUNTS:
        return f"serviceAccount:{account_address(grant.account, picture.project)}"
    return None


def _places(grant: Grant, picture: Picture, member: str) -> Iterator[tuple[str, Policy | Unseen, str]]:
    """Each resource that the role is needed on: what it is called, its policy, the command that grants it there."""
    bind = ("add-iam-policy-binding",)
    role = (f"--member={member}", f"--role={grant.role_in(picture.project)}")
    policies, project = picture.policies, picture.project
    match grant.on:
        case On.PROJECT | On.SERVED_PROJECT:
            yield f"the project {project}", picture.project_policy, gcloud("projects", *bind, project, *role, project=project)
        case On.TOPIC | On.DEAD_LETTER_TOPIC:
            make = topic_name if grant.on is On.TOPIC else dead_letter_topic
            name = make(grant.name, picture.topic_prefix)
            yield f"the topic {name}", _of(policies.topics, name), gcloud("pubsub", "topics", *bind, name, *role, project=project)
        case On.SUBSCRIPTION:
            name = service_name(grant.name)
            mend = gcloud("pubsub", "subscriptions", *bind, name, *role, project=project)
            yield f"the subscription {name}", _of(policies.subscriptions, name), mend
        case On.FUNCTION:
            name = service_name(grant.name)
            mend = gcloud("run", "services", *bind, name, f"--region={region(picture)}", *role, project=project)
            yield f"the function {name}", _of(policies.functions, name), mend
        case On.ACCOUNT:
            name = account_address(grant.name, project)
            yield (
                f"the account {name}",
                _of(policies.accounts, name),
                gcloud("iam", "service-accounts", *bind, name, *role, project=project),
            )
        case _:
            yield from _served_places(grant, picture, member)


def _served_places(grant: Grant, picture: Picture, member: str) -> Iterator[tuple[str, Policy | Unseen, str]]:
    """The same of what is served; buckets and repositories are not in a picture."""
    if grant.on is On.SERVED_SERVICE:
        for service, policy in picture.policies.services.items():
            yield from _on_service(service, policy, grant, member)
    elif grant.on is On.SERVING_ACCOUNT:
        accounts = {
            served.account: service for service, served in picture.services.items() if isinstance(served, Served) and served.account
        }
        for account, service in accounts.items():
            role = (f"--member={member}", f"--role={grant.role}")
            mend = gcloud("iam", "service-accounts", "add-iam-policy-binding", account, *role, project=service.project)
            yield f"the account {account}", _of(picture.policies.accounts, account), mend


def _on_service(service: ServiceId, policy: Policy | Unseen, grant: Grant, member: str) -> Iterator[tuple[str, Policy | Unseen, str]]:
    role = (f"--member={member}", f"--role={grant.role_in(service.project)}")
    words = ("run", "services", "add-iam-policy-binding", service.name, f"--region={service.region}", *role)
    yield f"the service {service}", policy, gcloud(*words, project=service.project)


def _of(policies: Mapping[str, Policy | Unseen], name: str) -> Policy | Unseen:
    return policies.get(name, NotAsked())


def _held(role: str, member: str, *policies: Policy) -> bool:
    short = role.rpartition("/")[2]
    wider = next((roles for known, roles in WIDER.items() if role == known or short.startswith(known)), frozenset())
    basic = frozenset[str]() if role in NOT_IN_BASIC else BASIC
    return any(member in policy.get(each, frozenset()) for policy in policies for each in (role, *wider, *basic))
