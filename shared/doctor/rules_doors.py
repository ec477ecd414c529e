"""Who else may call the functions or publish to their topics. Pure.

What a function is called with, and what a topic carries, is believed: the members of each policy are compared with who needs it. A plan
says itself whom it lets in; there only everybody is looked for.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shared.deployment import ACCOUNTS, EVENTS_TOPIC, FUNCTIONS, Agent, account_address, dead_letter_topic, service_name, topic_name
from shared.doctor import hcl
from shared.doctor.access import PUBLIC, having, is_default
from shared.doctor.commands import either, gcloud, region
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import LATER, NotAsked, NotSeen, Picture, Policy, Source, Unseen

CALLS: Final = ("roles/run.invoker", "roles/run.servicesInvoker")
PUBLISHES: Final = ("roles/pubsub.publisher",)
_ACTS_AS: Final = "roles/iam.serviceAccountUser"
_UNBIND: Final = "remove-iam-policy-binding"
_AGENTS: Final[Mapping[str, Agent]] = {"alert": Agent.MONITORING, "upload": Agent.STORAGE, "audit": Agent.LOGGING}
"""Function to the agents of Google's that publish to its topic: of served projects, and of those that buckets lie in."""
_WRITER = re.compile(r"serviceAccount:(?:p\d+-\d+@gcp-sa-logging\.iam|cloud-logs@system)\.gserviceaccount\.com")
"""How log sinks were written for before a project had an agent for it."""
_BELIEVED: Final = "the function believes what it is called with: whoever may call it may send it events of their own making"


def strangers(picture: Picture) -> Iterator[Finding]:
    """Members of the functions', the topics' and the project's policies that need not be there."""
    yield from _callers(picture)
    yield from _publishers(picture)
    yield from _on_the_project(picture)


def act_as_default(picture: Picture) -> Iterator[Finding]:
    """Reconcile may act as the accounts of served services, and never as one that Google makes for everything."""
    member = f"serviceAccount:{account_address('reconcile', picture.project)}"
    for account, policy in picture.policies.accounts.items():
        if is_default(account) and member in having(_ACTS_AS, _seen(policy)):
            words = ("iam", "service-accounts", _UNBIND, account, f"--member={member}", f"--role={_ACTS_AS}")
            what = f"{member.partition(':')[2]} may act as {account}"
            why = "that is the account of whatever names none, in many projects an editor: a spec could run anything as it"
            planned = f"take it out of the google_service_account_iam_... of {account}, {hcl.AGAIN}"
            mend = either(picture, gcloud(*words, project=picture.project), planned)
            yield Finding("excess", Level.PROBLEM, what, why, mend)


def _callers(picture: Picture) -> Iterator[Finding]:
    """Who else may call a function. Whom the command function takes commands from, its grants say: it refuses all others."""
    for function in FUNCTIONS:
        name = service_name(function)
        policy = _seen(picture.policies.functions.get(name, NotAsked()))
        for member, role in _strange(CALLS, policy, picture):
            if function != "command" and member not in PUBLIC:
                words = ("run", "services", _UNBIND, name, f"--region={region(picture)}")
                yield _open(f"{member} may call {name}", _BELIEVED, words, (member, role), picture)


def _publishers(picture: Picture) -> Iterator[Finding]:
    prefix = picture.topic_prefix
    for function in (*FUNCTIONS, EVENTS_TOPIC):
        topic = topic_name(function, prefix)
        policy = _seen(picture.policies.topics.get(topic, NotAsked()))
        for member, role in _strange(PUBLISHES, policy, picture):
            if not _agent(member, function):
                why, level = _published(function, picture), Level.PROBLEM if member in PUBLIC else Level.WARNING
                if function == "command" and why is None:
                    why = "no grant of commands names its subscription: what is published there is refused"
                    level = Level.WARNING
                words = ("pubsub", "topics", _UNBIND, topic)
                yield _open(f"{member} may publish to {topic}", why or _BELIEVED, words, (member, role), picture, level=level)
    for function in FUNCTIONS:
        topic = dead_letter_topic(function, prefix)
        for member, role in _strange(PUBLISHES, _seen(picture.policies.topics.get(topic, NotAsked())), picture):
            if member in PUBLIC:
                words = ("pubsub", "topics", _UNBIND, topic)
                why = "what was given up cannot be told from what anybody puts there"
                yield _open(f"{member} may publish to {topic}", why, words, (member, role), picture)


def _published(function: str, picture: Picture) -> str | None:
    """Why it matters who publishes to the function's topic; None where what is published there has no rights."""
    if function == EVENTS_TOPIC:
        return "whoever listens takes what is published there for what Trimtab did"
    if function != "command":
        return f"{service_name(function)} takes what is published there for an event"
    rights = "has the rights that the grant of its subscription has; fine for whom command_publishers of terraform.tfvars names"
    return f"what is published there {rights}" if _subscription_has_rights(picture) else None


def _subscription_has_rights(picture: Picture) -> bool:
    """Whether a grant of commands names a subscription; so it is taken where that cannot be read."""
    functions = picture.functions
    found = None if isinstance(functions, NotSeen | NotAsked) else functions.get(service_name("command"))
    said = None if found is None else (found.environment or {}).get("TRIMTAB_COMMAND_GRANTS")
    if said is None:
        return found is None
    try:
        given = json.loads(said)
    except (ValueError, RecursionError):
        return True
    return not isinstance(given, list) or any(isinstance(each, dict) and each.get("subscription") for each in given)


def _on_the_project(picture: Picture) -> Iterator[Finding]:
    """A role on the project holds on every function and topic in it."""
    policy = _seen(picture.in_project(picture.project).policy)
    for roles, can in ((CALLS, "call every function"), (PUBLISHES, "publish to every topic")):
        by_role: dict[str, list[str]] = defaultdict(list)
        for member, role in _strange(roles, policy, picture):
            if not any(_agent(member, each) for each in _AGENTS):
                by_role[role].append(member)
        for role, members in by_role.items():
            for member in members:
                level = Level.PROBLEM if member in PUBLIC else Level.WARNING
                why = "the role holds on each of Trimtab's as well, and those believe what they are given"
                words = ("projects", _UNBIND, picture.project)
                yield _open(f"{member} may {can} of the project ({role})", why, words, (member, role), picture, level=level)


def _strange(roles: Iterable[str], policy: Policy, picture: Picture) -> Iterator[tuple[str, str]]:
    """Who has one of the roles, without Trimtab's accounts; of a plan, everybody alone."""
    own = {f"serviceAccount:{account_address(each, picture.project)}" for each in ACCOUNTS} | {LATER}
    for role in roles:
        for member in sorted(having(role, policy) - own):
            if member in PUBLIC or picture.source is not Source.PLAN:
                yield member, role


def _agent(member: str, function: str) -> bool:
    """Whether it is an agent of Google's that publishes to the function's topic, of whatever project."""
    agent = _AGENTS.get(function)
    if agent is None:
        return False
    form = re.escape(f"serviceAccount:{agent.value}").replace(re.escape("{number}"), r"\d+")
    return re.fullmatch(form, member) is not None or (agent is Agent.LOGGING and _WRITER.fullmatch(member) is not None)


def _open(what: str, why: str, words: tuple[str, ...], whom: tuple[str, str], picture: Picture, *, level: Level = Level.PROBLEM) -> Finding:
    member, role = whom
    planned = f"take {member} out of what grants {role} there, {hcl.AGAIN}"
    mend = either(picture, gcloud(*words, f"--member={member}", f"--role={role}", project=picture.project), planned)
    return Finding("excess", level, what, why, mend)


def _seen(policy: Policy | Unseen) -> Policy:
    return () if isinstance(policy, NotSeen | NotAsked) else policy
