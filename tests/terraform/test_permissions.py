"""Trimtab's own roles hold what its clients call, and nothing else."""

import ast
from collections import defaultdict

from shared.deployment_roles import CUSTOM_ROLES, STORE
from tests.terraform.plans import ROOT

GCP = ROOT / "shared" / "gcp"
CLOUD_RUN = {
    "get_service": "run.services.get",
    "patch_service": "run.services.update",
    "update_service": "run.services.update",
    "delete_service": "run.services.delete",
    "get_revision": "run.revisions.get",
    "get_operation": "run.operations.get",
}
"""A method of the client, or of its REST twin, and the permission that Cloud Run asks for it."""
FIRESTORE = {
    "create": {"datastore.entities.create"},
    "update": {"datastore.entities.update"},
    "set": {"datastore.entities.create", "datastore.entities.update"},
    "delete": {"datastore.entities.delete"},
}
"""A write and what it asks for: `create` must not exist, `update` must exist, `set` may do either."""


def called(path: str, *receivers: str) -> set[str]:
    """The methods that a module calls on something of one of these names."""
    tree = ast.parse((GCP / path).read_text())
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return {each.attr for each in calls if any(name in ast.unparse(each.value) for name in receivers)}


def test_the_roles_on_cloud_run_are_what_the_adapter_calls() -> None:
    used = called("cloud_run.py", "client", "_connected_revisions", "rest") - {"close", "transport"}
    used -= {"_rest_api", "_connected", "_connected_revisions"}
    assert used <= set(CLOUD_RUN)
    roles = {name: role.permissions for name, role in CUSTOM_ROLES.items() if name.startswith("trimtabRun")}
    assert frozenset().union(*roles.values()) == {CLOUD_RUN[method] for method in used}


def test_the_rest_adapter_reads_and_changes() -> None:
    assert called("cloud_run_rest.py", "session") & {"get", "patch", "post", "put", "delete"} == {"get", "patch"}


def test_uploads_are_created_and_nothing_of_them_is_changed() -> None:
    writes = {name for path in ("firestore_uploads.py", "firestore_parking.py") for name in called(path, "_layout", "reference")}
    assert frozenset().union(*(FIRESTORE[name] for name in writes & set(FIRESTORE))) == STORE["upload"].permissions


def test_facts_are_created_and_given_a_new_time() -> None:
    writes = called("firestore_intake.py", "reference") | called("firestore_parking.py", "parked(")
    asked = frozenset().union(*(FIRESTORE[name] for name in writes & set(FIRESTORE)))
    assert asked == STORE["alert"].permissions == STORE["audit"].permissions


def test_only_commands_delete_documents() -> None:
    deleting: dict[str, set[str]] = defaultdict(set)
    for path in GCP.glob("firestore_*.py"):
        if "delete" in called(path.name, "batch", "reference", "_layout", "client"):
            deleting["delete"].add(path.name)
    assert deleting["delete"] == {"firestore_commands.py"}
    assert {name for name, role in STORE.items() if "datastore.entities.delete" in role.permissions} == {"command"}
