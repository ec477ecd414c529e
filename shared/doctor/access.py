"""Whether somebody has a role: on a resource, on its project or on what stands above it, always or under a condition. Pure.

A role counts wherever it reaches: one granted on a project, a folder or an organization holds for every resource below. What a custom
role of somebody's own allows, who is in a group, and which deny policies there are is not looked at.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.doctor.picture import LATER, Binding, NotAsked, NotSeen, Policy, Unseen

PUBLIC: Final = ("allUsers", "allAuthenticatedUsers")
READS_OBJECTS: Final = "roles/storage.objectViewer"
_TELEMETRY: Final = frozenset({"roles/telemetry.writer"})
WIDER: Final[Mapping[str, frozenset[str]]] = {
    "roles/pubsub.publisher": frozenset({"roles/pubsub.editor", "roles/pubsub.admin"}),
    "roles/pubsub.subscriber": frozenset({"roles/pubsub.editor", "roles/pubsub.admin"}),
    "roles/run.invoker": frozenset({"roles/run.servicesInvoker", "roles/run.admin"}),
    "roles/iam.serviceAccountOpenIdTokenCreator": frozenset({"roles/iam.serviceAccountTokenCreator", "roles/pubsub.serviceAgent"}),
    "roles/logging.viewer": frozenset({"roles/logging.privateLogViewer", "roles/logging.admin", "roles/viewer"}),
    "roles/logging.logWriter": frozenset({"roles/logging.admin"}),
    "roles/monitoring.viewer": frozenset({"roles/monitoring.editor", "roles/monitoring.admin", "roles/viewer"}),
    "roles/monitoring.metricWriter": frozenset({"roles/monitoring.editor", "roles/monitoring.admin"}),
    "roles/artifactregistry.reader": frozenset(
        {"roles/artifactregistry.writer", "roles/artifactregistry.repoAdmin", "roles/artifactregistry.admin", "roles/viewer"}
    ),
    "roles/artifactregistry.writer": frozenset({"roles/artifactregistry.repoAdmin", "roles/artifactregistry.admin"}),
    READS_OBJECTS: frozenset({"roles/storage.objectUser", "roles/storage.objectAdmin", "roles/storage.admin"}),
    "roles/telemetry.tracesWriter": _TELEMETRY,
    "roles/serviceusage.serviceUsageConsumer": frozenset({"roles/serviceusage.serviceUsageAdmin"}),
    "trimtabStore": frozenset({"roles/datastore.user", "roles/datastore.owner"}),
    "trimtabRunReader": frozenset({"roles/run.viewer", "roles/run.developer", "roles/run.admin", "roles/viewer"}),
    "trimtabRunUpdater": frozenset({"roles/run.developer", "roles/run.admin"}),
}
"""Role (of Trimtab's own: the beginning of its name) to predefined roles that hold it. Nothing but a basic role holds
roles/iam.serviceAccountUser: an administrator of accounts may not act as one."""
BASIC: Final = frozenset({"roles/editor", "roles/owner"})
NOT_IN_BASIC: Final = frozenset({"roles/iam.serviceAccountOpenIdTokenCreator", READS_OBJECTS})
"""Making tokens of an account is in no basic role, nor is reading objects: that comes with what a bucket grants to whoever has one."""
_CONVENIENCE: Final = {"projectViewer": ("roles/viewer",), "projectEditor": ("roles/editor",), "projectOwner": ("roles/owner",)}
"""What stands in a bucket's policy for whoever has a basic role on the project: `projectEditor:acme-ml`."""
_LISTS: Final = frozenset({"roles/storage.legacyBucketReader", "roles/storage.legacyBucketWriter", "roles/storage.legacyBucketOwner"})
_GETS: Final = frozenset({"roles/storage.legacyObjectReader", "roles/storage.legacyObjectOwner"})
_PEOPLES: Final = BASIC | {"roles/viewer"}
"""What groups of people have everywhere, and nobody puts Trimtab's accounts into."""
_GROUPS: Final = ("group:", "principalSet:", "principalHierarchy:")
_IS = re.compile(r"""\s*resource\.name\s*==\s*(["'])(?P<name>[^"'\\]*)\1\s*""")
_BEGINS = re.compile(r"""\s*resource\.name\.startsWith\(\s*(["'])(?P<name>[^"'\\]*)\1\s*\)\s*""")
"""The two conditions that can be judged: on the whole name of what the role is used on, and on its beginning."""


_DEFAULT = re.compile(r"\d+-compute@developer\.gserviceaccount\.com|[a-z0-9.:-]+@appspot\.gserviceaccount\.com")


def is_default(account: str) -> bool:
    """Whether it is an account that Google makes for whatever names none: Compute Engine's, or App Engine's. Often an editor."""
    return _DEFAULT.fullmatch(account) is not None


@dataclass(frozen=True, slots=True)
class Layer:
    """A policy that reaches a resource, and what it is the policy of."""

    where: str
    policy: Policy | Unseen


@dataclass(frozen=True, slots=True)
class Standing:
    """How somebody stands to a role. `condition`: has it under this one alone, and whether that holds cannot be told."""

    held: bool = False
    later: bool = False
    """Terraform does not know yet who has it."""
    condition: str | None = None
    hints: tuple[str, ...] = ()
    """What may give it nevertheless, in words."""
    maybe: bool = False
    """A group or a custom role that is bound there may give it, and what is in that cannot be seen."""


def standing(role: str, member: str, layers: Sequence[Layer], *, resource: str | None = None) -> Standing:
    """How a member stands to a role by the policies that were seen. `resource` is the full name of what the role is used on."""
    later, maybe, conditions, hints = False, False, list[str](), list[str]()
    for layer in layers:
        for binding in () if isinstance(layer.policy, NotSeen | NotAsked) else layer.policy:
            named = member in binding.members or not binding.members.isdisjoint(PUBLIC)
            if binding.role == LATER:
                later = later or named or LATER in binding.members
            elif not covers(binding.role, role):
                hints += [f"what its {binding.role} on {layer.where} allows is not looked at"] if named and _own(binding) else []
                maybe = maybe or (named and _own(binding))
            elif named:
                holds = True if binding.condition is None else judged(binding.condition, resource)
                if holds:
                    return Standing(held=True)
                later = later or binding.condition == LATER
                conditions += [binding.condition or ""] if holds is None else []
                hints += [f"on {layer.where} it has the role for something else alone ({binding.condition})"] if holds is False else []
            else:
                later = later or LATER in binding.members
                groups = sorted(each for each in binding.members if each.startswith(_GROUPS)) if binding.role not in _PEOPLES else []
                hints += [f"unless it is in {group}, which has {binding.role} on {layer.where}" for group in groups]
                maybe = maybe or bool(groups)
    return Standing(later=later, condition=conditions[0] if conditions else None, hints=tuple(dict.fromkeys(hints)), maybe=maybe)


def covers(given: str, wanted: str) -> bool:
    """Whether a role holds all that another does."""
    if given == wanted or (given in BASIC and wanted not in NOT_IN_BASIC):
        return True
    short = wanted.rpartition("/")[2]
    return any(given in roles for known, roles in WIDER.items() if wanted == known or short.startswith(known))


def judged(condition: str, resource: str | None) -> bool | None:
    """Whether a condition holds for a resource; None where that cannot be told."""
    whole, beginning = _IS.fullmatch(condition), _BEGINS.fullmatch(condition)
    found = whole or beginning
    if found is None or resource is None:
        return None
    name = found["name"]
    if resource == name or (beginning is not None and resource.startswith(name)):
        return True
    # What lies in the resource, such as a bucket's objects, may be meant.
    return None if name.startswith(resource) else False


def of_bucket(policy: Policy, project: Policy) -> Policy:
    """A bucket's policy with names in the place of who has a basic role on its project."""
    resolved = tuple(Binding(each.role, frozenset(_resolved(each.members, project)), each.condition) for each in policy)
    list_, get = (
        frozenset[str]().union(*(each.members for each in resolved if each.role in roles and each.condition is None))
        for roles in (_LISTS, _GETS)
    )
    return (*resolved, Binding(READS_OBJECTS, list_ & get))


def _resolved(members: frozenset[str], project: Policy) -> Iterator[str]:
    for member in members:
        roles = _CONVENIENCE.get(member.partition(":")[0])
        if roles is None:
            yield member
        else:
            yield from (each for binding in project if binding.role in roles and binding.condition is None for each in binding.members)


def having(role: str, policy: Policy) -> frozenset[str]:
    """Who has exactly that role, under whatever condition."""
    return frozenset[str]().union(*(binding.members for binding in policy if binding.role == role))


def _own(binding: Binding) -> bool:
    """Whether it is a custom role of somebody else's: those of Trimtab's are known."""
    return binding.role.startswith(("projects/", "organizations/")) and "/roles/trimtab" not in binding.role
