"""Whether accounts and agents have the roles they need, and Trimtab's accounts none besides that would matter. Pure.

What was not found is missing only as far as was looked: where folders or an organization stand above and what they grant was refused,
the finding says so.
"""

from collections.abc import Iterator
from typing import Final

from shared.deployment import ACCOUNTS, account_address
from shared.doctor import hcl
from shared.doctor.access import BASIC, PUBLIC, Standing, having, standing
from shared.doctor.commands import either, gcloud, region
from shared.doctor.finding import Finding, Level
from shared.doctor.needed import Need, Place, needed
from shared.doctor.picture import NotAsked, NotSeen, Picture, Policy, Source, Unseen
from shared.doctor.rules_models import wired
from shared.doctor.rules_parts import unseen

DANGEROUS = BASIC | frozenset({"roles/run.admin", "roles/iam.serviceAccountUser", "roles/iam.serviceAccountTokenCreator"})
"""On a project or above: with any of these an account of Trimtab could act as every service account, or let anybody in."""
BUCKET: Final = "google_storage_bucket"
_UNBIND: Final = "remove-iam-policy-binding"


def missing(picture: Picture) -> Iterator[Finding]:
    """Roles that were not found."""
    for project in dict.fromkeys((picture.project, *picture.served)):
        yield from unseen("grant", f"the number of {project}, and so the grants of Google's agents", picture.in_project(project).number)
    told: set[tuple[str, str]] = set()
    for need in needed(picture):
        found = standing(need.role, need.member, need.place.layers, resource=need.resource)
        own = need.place.layers[: need.place.own]
        if found.held or found.later or any(isinstance(layer.policy, NotAsked) for layer in own):
            continue
        refused = [(layer.where, layer.policy) for layer in own if isinstance(layer.policy, NotSeen)]
        for where, policy in refused:
            if (where, policy.why) not in told:
                told.add((where, policy.why))
                yield from unseen("grant", f"the grants on {where}", policy)
        if not refused:
            yield _lacks(need, found, picture)


def _lacks(need: Need, found: Standing, picture: Picture) -> Finding:
    who, where, why = need.member.removeprefix("serviceAccount:"), need.place.said, f"what the role is for: {need.grant.why}"
    if found.condition is not None:
        what = f"{who} has {need.role} on {where} under a condition alone: {found.condition or 'one that was not shown'}"
        return Finding("grant", Level.UNKNOWN, what, f"{why}; whether the condition holds cannot be told from here", _mend(need, picture))
    blind = _unseen_above(need.place, picture)
    lacks = "may lack" if found.maybe else "lacks"
    what = f"{who} {lacks} {need.role} on {where}{', as far as could be seen' if blind else ''}"
    unless = [*found.hints, *([f"{blind}, and hold here as well"] if blind else [])]
    return Finding("grant", Level.UNKNOWN if found.maybe else Level.PROBLEM, what, "; ".join([why, *unless]), _mend(need, picture))


def _unseen_above(place: Place, picture: Picture) -> str:
    """What of the policies above could not be seen, in words."""
    if picture.source is Source.PLAN:
        return ""
    names = [layer.where for layer in place.layers[place.own :] if isinstance(layer.policy, NotSeen | NotAsked)]
    return f"the grants of {' and '.join(names)} were not seen" if names else ""


def excess(picture: Picture) -> Iterator[Finding]:
    """Roles that go too far, and functions that anybody may call."""
    policies: dict[str, tuple[str, Policy | Unseen]] = {
        project: (f"the project {project}" if project != picture.project else "the project", picture.projects[project].policy)
        for project in dict.fromkeys((picture.project, *picture.served))
        if project in picture.projects
    }
    above = picture.policies.above
    policies |= {} if isinstance(above, NotAsked) else {name: (name, policy) for name, policy in above.items()}
    for name, (said, policy) in policies.items():
        if not isinstance(policy, NotSeen | NotAsked):
            yield from _too_much(name, said, policy, picture)
    yield from _not_seen_above(picture)
    for function, policy in picture.policies.functions.items():
        if isinstance(policy, NotSeen | NotAsked):
            continue
        for member in PUBLIC:
            if any(member in binding.members for binding in policy):
                call = ("run", "services", _UNBIND, function, f"--region={region(picture)}", f"--member={member}")
                why = "the function believes the identity that Cloud Run checked: anybody may send it events and commands"
                planned = f"take {member} out of the google_cloud_run_v2_service_iam_... of {function}, {hcl.AGAIN}"
                mend = either(picture, gcloud(*call, "--role=roles/run.invoker", project=picture.project), planned)
                yield Finding("excess", Level.PROBLEM, f"{member} may call {function}", why, mend)


def _too_much(on: str, said: str, policy: Policy, picture: Picture) -> Iterator[Finding]:
    kind, _, name = on.rpartition("/")
    command = {"": ("projects", _UNBIND, on), "folders": ("resource-manager", "folders", _UNBIND, name)}.get(kind, (kind, _UNBIND, name))
    for account in ACCOUNTS:
        address = account_address(account, picture.project)
        for role in sorted(DANGEROUS):
            if f"serviceAccount:{address}" in having(role, policy):
                # Of a role that is held under several conditions each binding must go.
                words = (*command, f"--member=serviceAccount:{address}", f"--role={role}", *(("--all",) if _conditional(policy) else ()))
                why = "it could change what is not under its care, or act as accounts that it must not act as"
                planned = f"take {address} out of the google_project_iam_... with {role}, {hcl.AGAIN}"
                mend = either(picture, gcloud(*words, project=picture.project), planned)
                yield Finding("excess", Level.PROBLEM, f"{address} has {role} on {said}", why, mend)


def _not_seen_above(picture: Picture) -> Iterator[Finding]:
    """One finding of all that stands above, however much of it was refused."""
    above = picture.policies.above
    if isinstance(above, NotAsked):
        return
    for project in dict.fromkeys((picture.project, *picture.served)):
        names = picture.in_project(project).above
        if isinstance(names, NotSeen):
            yield from unseen("excess", f"which folders and organization stand above {project}", names)
    refused = {name: policy for name, policy in above.items() if isinstance(policy, NotSeen)}
    if refused:
        first = next(iter(refused.values()))
        yield from unseen("excess", f"what {' and '.join(refused)} {'grants' if len(refused) == 1 else 'grant'} in the project", first)


def _mend(need: Need, picture: Picture) -> str:
    return either(picture, _command(need), _planned(need, picture))


def _planned(need: Need, picture: Picture) -> str:
    """The grant as a resource; reconcile reads the buckets that the module is told of."""
    kind, named = need.place.terraform
    if kind == BUCKET and need.grant.account == "reconcile":
        return wired(dict(named)["bucket"])
    who = need.member.removeprefix("serviceAccount:").partition("@")[0]
    name = f"{who} {need.role.rpartition('/')[2].rpartition('.')[2]} {need.place.said.rpartition(' ')[2].partition('@')[0]}"
    attributes = [*named, ("role", need.role), ("member", need.member)]
    condition = need.condition
    said = [] if condition is None else [("title", condition.title), ("expression", condition.expression)]
    blocks = [hcl.block("condition", hcl.pairs((key, hcl.quoted(value)) for key, value in said))] if said else []
    values = [(key, hcl.quoted(value)) for key, value in attributes]
    return hcl.resource(f"{kind}_iam_member", name, values, *blocks, after=picture.root)


def _command(need: Need) -> str:
    place, policy = need.place, need.place.layers[0].policy
    words = [*place.command, f"--member={need.member}", f"--role={need.role}"]
    if need.condition is not None:
        words.append(f"--condition=expression={need.condition.expression},title={need.condition.title}")
    elif place.takes_conditions and not isinstance(policy, NotSeen | NotAsked) and _conditional(policy):
        words.append("--condition=None")  # gcloud asks for one where the policy has some, and fails where nobody can answer
    return gcloud(*words, project=place.project)


def _conditional(policy: Policy) -> bool:
    return any(binding.condition is not None for binding in policy)
