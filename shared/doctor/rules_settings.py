"""Whether the functions take the settings they were given, and whether those fit the deployment. Pure.

Settings and grants are read as the functions read them. A plan leaves out what is known only after apply: nothing is missed there.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from shared.deployment import FUNCTIONS, PUSH_ACCOUNT, Switch, account_address, service_name
from shared.doctor import hcl
from shared.doctor.access import PUBLIC, having
from shared.doctor.commands import FUNCTION, changed, either, in_variables, redeploy, with_variables
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import Function, NotAsked, NotSeen, Picture, Source
from shared.records.rights import Grant, Grants
from shared.settings import Settings

PROJECT = "TRIMTAB_PROJECT"
OPEN, INTERNAL = "ALLOW_ALL", "ALLOW_INTERNAL_ONLY"
ALLOW_LISTS = ("allowed_images", "allowed_service_accounts", "allowed_buckets", "allowed_projects")
MAY_CALL = frozenset({"roles/run.invoker", "roles/run.servicesInvoker", "roles/run.admin"})
COMMANDS = ("apply", "patch", "hold", "release", "rollback", "reconcile")
"""What a person is proposed to be granted: neither what is parked nor what is deleted."""
EXAMPLE_CALLER = "ada@example.com"
_WITH_ADDRESS = ("user:", "serviceAccount:")


def settings(picture: Picture) -> Iterator[Finding]:
    """What a function refuses of its environment, and what does not fit the rest of the deployment."""
    found = picture.functions
    if isinstance(found, NotSeen | NotAsked):
        return  # the rule on functions says so
    tried = _tried(picture)
    read = {name: each for name, each in tried.items() if isinstance(each, Settings)}
    for name, each in tried.items():
        if isinstance(each, ValueError):
            what = f"{service_name(name)} refuses its environment: {str(each).removeprefix('settings: ')}"
            yield Finding("setting", Level.PROBLEM, what, "it answers every event with an error", _in_file("it", picture))
    if "command" in read:
        yield from _pushes(read["command"], picture)
        yield from _grants(read["command"], found[service_name("command")], picture)
    if "audit" in read:
        yield from _own_changes(read["audit"], picture)
    if "command" in read and "reconcile" in read:
        yield from _lists(read["command"], read["reconcile"], picture)
    yield from _alike(read, picture)
    yield from _one_database(read, picture)


def switched(picture: Picture) -> dict[str, frozenset[Switch]]:
    """What each function has switched on, as it reads it; of a function whose environment is not known, or that refuses it, nothing."""
    read = {name: each for name, each in _tried(picture).items() if isinstance(each, Settings)}
    return {name: frozenset(switch for switch in Switch if _value(switch, settings)) for name, settings in read.items()}


def _value(switch: Switch, read: Settings) -> bool | float:
    return read.profiler if switch is Switch.PROFILER else read.trace_ratio


def _tried(picture: Picture) -> dict[str, Settings | ValueError]:
    """What each function reads of its environment, or why it refuses it."""
    found = picture.functions
    tried: dict[str, Settings | ValueError] = {}
    if isinstance(found, NotSeen | NotAsked):
        return tried
    for name in FUNCTIONS:
        function = found.get(service_name(name))
        if function is None or function.environment is None:
            continue
        try:
            tried[name] = Settings.from_environment(_variables(function.environment, picture))
        except ValueError as error:
            tried[name] = error
    return tried


def ingress(picture: Picture) -> Iterator[Finding]:
    """Functions that more can reach than need to, and a command function that its callers cannot."""
    found = picture.functions
    if isinstance(found, NotSeen | NotAsked):
        return
    for name in FUNCTIONS:
        function = found.get(service_name(name))
        if function is None or function.ingress is None:
            continue
        callers = _callers(function.name, picture)
        if name == "command" and callers is None:
            continue
        if name != "command" or not callers:
            if function.ingress != INTERNAL:
                said = "only Pub/Sub calls it" if name != "command" else "nobody but Pub/Sub may call it"
                why = f"{said}, from inside: what comes from elsewhere is kept off by its token alone"
                lines = hcl.block("service_config", [f"ingress_settings = {hcl.quoted(INTERNAL)}"])
                mend = changed(picture, FUNCTION, function.name, *lines)
                yield Finding("ingress", Level.WARNING, f"{function.name} has ingress {function.ingress}", why, mend)
        elif function.ingress == INTERNAL:
            what = f"{function.name} has ingress {function.ingress}, and {', '.join(sorted(callers))} may call it"
            why = "who calls from outside the project's networks is answered 404, whatever token comes with it"
            mend = in_variables(picture, f"command_callers = {hcl.listed(sorted(callers))}")
            yield Finding("ingress", Level.WARNING, what, why, mend)


def _callers(function: str, picture: Picture) -> frozenset[str] | None:
    """Who may call the function besides Pub/Sub; None where that is not known."""
    policy = picture.policies.functions.get(function, NotAsked())
    if isinstance(policy, NotSeen | NotAsked) or isinstance(picture.in_project(picture.project).policy, NotSeen | NotAsked):
        return None
    members = frozenset[str]().union(*(having(role, policy) for role in MAY_CALL))
    return members - {f"serviceAccount:{account_address(PUSH_ACCOUNT, picture.project)}", *PUBLIC}


def _variables(environment: Mapping[str, str], picture: Picture) -> Mapping[str, str]:
    # The project of a plan may be known only after apply.
    return {PROJECT: "unknown-project"} | dict(environment) if picture.source is Source.PLAN else environment


def _pushes(read: Settings, picture: Picture) -> Iterator[Finding]:
    wanted, given = account_address(PUSH_ACCOUNT, picture.project), read.push_service_account
    if given == wanted or (given is None and picture.source is Source.PLAN):
        return
    said = "not set" if given is None else repr(given)
    why = f"Pub/Sub pushes as {wanted}: what comes from its subscriptions counts as a caller without grants, and is refused"
    what = f"{service_name('command')}: TRIMTAB_PUSH_SERVICE_ACCOUNT is {said}"
    mend = with_variables(picture, service_name("command"), {"TRIMTAB_PUSH_SERVICE_ACCOUNT": wanted})
    yield Finding("setting", Level.PROBLEM, what, why, mend)


def _grants(read: Settings, function: Function, picture: Picture) -> Iterator[Finding]:
    mend = _in_file("command_grants", picture)
    try:
        found = Grants.of(read.command_grants).grants
    except ValidationError as error:
        faults = (
            f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors(include_url=False, include_input=False)[:5]
        )
        what = f"{function.name} refuses its environment: TRIMTAB_COMMAND_GRANTS: {'; '.join(faults)}"
        yield Finding("setting", Level.PROBLEM, what, "it answers every command with an error", mend)
        return
    if not found and "TRIMTAB_COMMAND_GRANTS" in (function.environment or {}):
        what = f"{function.name}: TRIMTAB_COMMAND_GRANTS names nobody"
        why = "nobody may give a command, so no service can be put under Trimtab's care"
        yield Finding("setting", Level.WARNING, what, why, in_variables(picture, *_granting(function, picture)))
    for grant in found:
        yield from _listened(grant, mend, picture)


def _granting(function: Function, picture: Picture) -> Iterator[str]:
    """A grant to paste, on every service that is served: of who may call already, or of somebody who then may."""
    callers = sorted(each for each in _callers(function.name, picture) or () if each.startswith(_WITH_ADDRESS))
    who = callers[0].partition(":")[2] if callers else EXAMPLE_CALLER
    if not callers:
        yield f"command_callers = [{hcl.quoted(f'user:{who}')}] # whoever it is"
        yield ""
    services = [f"{each}:*" for each in picture.served or (picture.project,)]
    values = [("identity", hcl.quoted(who)), ("commands", hcl.listed(COMMANDS)), ("services", hcl.listed(services))]
    yield "command_grants = [{"
    yield from (f"  {line}" for line in hcl.pairs(values))
    yield "}]"


def _in_file(what: str, picture: Picture) -> str:
    then = either(picture, f"then:\n{redeploy(picture)}", hcl.AGAIN)
    return f"mend {what} in terraform.tfvars, {then}"


def _listened(grant: Grant, mend: str, picture: Picture) -> Iterator[Finding]:
    """A grant of a subscription that is not there gives nothing."""
    there = picture.subscriptions
    project, _, name = (grant.subscription or "").removeprefix("projects/").partition("/subscriptions/")
    if project == picture.project and not isinstance(there, NotSeen | NotAsked) and name not in there:
        what = f"a grant names the subscription {name}, which is not there"
        why = f"it gives nothing to nobody; the function's own subscription is {service_name('command')}"
        yield Finding("setting", Level.WARNING, what, why, mend)


def _own_changes(read: Settings, picture: Picture) -> Iterator[Finding]:
    given, wanted = read.own_principals, account_address("reconcile", picture.project)
    if given is None and picture.source is Source.PLAN:
        return
    if not any(wanted.startswith(each[:-1]) if each.endswith("*") else wanted == each for each in given or ()):
        what = f"{service_name('audit')}: TRIMTAB_OWN_PRINCIPALS does not name {wanted}"
        why = "Trimtab takes its own changes for changes by others, and lets them stand for an hour"
        mend = with_variables(picture, service_name("audit"), {"TRIMTAB_OWN_PRINCIPALS": wanted})
        yield Finding("setting", Level.PROBLEM, what, why, mend)


def _lists(command: Settings, reconcile: Settings, picture: Picture) -> Iterator[Finding]:
    """Both judge every spec: when a command gives it, and before anything is made of it."""
    for name in ALLOW_LISTS:
        one, other = getattr(command, name), getattr(reconcile, name)
        unknown = picture.source is Source.PLAN and (one is None) != (other is None)
        if one != other and not unknown:
            shown = [("unset" if each is None else ",".join(each)) for each in (one, other)]
            what = f"TRIMTAB_{name.upper()} is {shown[0]} for {service_name('command')} and {shown[1]} for {service_name('reconcile')}"
            why = "what the one takes the other refuses, or makes though it is no longer allowed"
            yield Finding("setting", Level.PROBLEM, what, why, redeploy(picture))


def _alike(read: Mapping[str, Settings], picture: Picture) -> Iterator[Finding]:
    """What is switched on is so for all functions, or a deployment ended halfway."""
    for switch in Switch:
        by_value: dict[bool | float, list[str]] = defaultdict(list)
        for name, each in read.items():
            by_value[_value(switch, each)].append(service_name(name))
        if len(by_value) > 1:
            said = "; ".join(f"{_shown(value)} for {', '.join(names)}" for value, names in sorted(by_value.items(), reverse=True))
            why = "what is looked for is seen of some functions only: a deployment ended halfway, or a variable was set by hand"
            yield Finding("setting", Level.WARNING, f"{switch.value} is {said}", why, redeploy(picture))


def _one_database(read: Mapping[str, Settings], picture: Picture) -> Iterator[Finding]:
    """All functions share one database, and it is the one that was looked at."""
    wanted = picture.database_name
    for name, each in read.items() if wanted is not None else ():
        if each.firestore_database != wanted:
            what = (
                f"{service_name(name)}: TRIMTAB_FIRESTORE_DATABASE is {each.firestore_database!r}, and the database looked at is {wanted!r}"
            )
            yield Finding(
                "setting", Level.PROBLEM, what, "functions that do not share a database know nothing of each other", redeploy(picture)
            )


def _shown(value: bool | float) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else f"{value:g}"
