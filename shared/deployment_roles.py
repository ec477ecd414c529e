"""Trimtab's own IAM roles: what each may do, and no more. Terraform makes them, docs/reference/roles.md lists them. Pure.

Sources of the permissions: Firestore's table of the permissions of its API methods (a commit that creates takes `entities.create`, one that
changes what must exist `entities.update`, a query `entities.get` and `entities.list`); Cloud Run's list of permissions. Firestore has
no rights per collection: what a role allows, it allows in the whole database.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from shared.deployment import FUNCTIONS

_CREATE = "datastore.entities.create"
_UPDATE = "datastore.entities.update"
_READ = ("datastore.entities.get", "datastore.entities.list")


class CustomRole(NamedTuple):
    """What a role holds, and why that is needed."""

    permissions: frozenset[str]
    why: str


STORE: Final[Mapping[str, CustomRole]] = {
    "alert": CustomRole(frozenset({_CREATE, _UPDATE}), "creates facts and parked entries; a fact that committed late gets a new time"),
    "audit": CustomRole(frozenset({_CREATE, _UPDATE}), "creates facts and parked entries, likewise"),
    "upload": CustomRole(frozenset({_CREATE}), "creates facts of models and parked entries; it can change nothing that is there"),
    "schedule": CustomRole(frozenset({_CREATE, _UPDATE, *_READ}), "finds what is due and what was missed; keeps the time of its last run"),
    "reconcile": CustomRole(frozenset({_CREATE, _UPDATE, *_READ}), "reads specs and facts; writes states, decisions and parked entries"),
    "command": CustomRole(
        frozenset({_CREATE, _UPDATE, "datastore.entities.delete", *_READ}),
        "writes specs and holds; deletes specs and parked entries",
    ),
}
"""By function; the role's name is `trimtabStore` and the function's name, with a capital."""

CUSTOM_ROLES: Final[Mapping[str, CustomRole]] = {
    **{f"trimtabStore{function.title()}": STORE[function] for function in FUNCTIONS},
    "trimtabRunReader": CustomRole(
        frozenset({"run.operations.get", "run.revisions.get", "run.services.get"}), "reads a service, its revisions, how a change ended"
    ),
    "trimtabRunUpdater": CustomRole(
        frozenset({"run.services.update"}), "changes instance bounds, template and traffic; makes none, deletes none, lets nobody in"
    ),
    "trimtabRunDeleter": CustomRole(frozenset({"run.services.delete"}), "deletes a service; only where `allow_delete` is set"),
}
"""All of them, by name."""
