"""What the variables of the modules refuse, value by value: several of each, all variables of a module in one plan."""

import re
from collections import Counter
from typing import Any

import pytest

from tests.terraform.plans import TREE, Broken, Terraform

VERSIONS = sorted(TREE.rglob("versions.tf"))
PROJECTS = ("Acme-ml", "acme", "acme_ml", "acme-ml-", "1acme-ml", "a" * 31)
REGIONS = ("europe-west1-b", "europe", "EU", "eur3")
NOBODY = ("allUsers", "allAuthenticatedUsers", "ada@example.com", "user:")
CONTROL: dict[str, tuple[Any, ...]] = {
    "project_id": PROJECTS,
    "project_number": ("acme-ml", "12345678901234567890", ""),
    "region": REGIONS,
    "runtime": ("python310", "python315", "nodejs22"),
    "topic_prefix": ("goog-", "Trimtab-", "-x", "a" * 42),
    "max_instances": (0, 101, 1.5),
    "command_callers": tuple([member] for member in NOBODY),
    "command_publishers": (*([member] for member in NOBODY), ["domain:example.com"]),
    "allowed_images": ([], ["a*b"], ["a,b"], [""]),
    "allowed_service_accounts": ([], ["a*b"], ["a,b"], [""]),
    "allowed_buckets": ([], ["a*b"], ["a,b"], [""]),
    "allowed_projects": ([], ["a*b"], ["a,b"], [""]),
    "notification_channels": (["1"], ["projects/acme-ml/notificationChannels/"], ["projects/acme-ml/channels/1"]),
    "trace_ratio": (-0.1, 1.1, 100),
    "labels": ({"app": "x"}, {"Team": "x"}, {"team": "X"}, {"1": "x"}),
}
MADE: dict[str, Any] = {
    "topic": "t",
    "push_service_account_email": "p@acme-ml.iam.gserviceaccount.com",
    "pubsub_agent_email": "a@acme-ml.iam.gserviceaccount.com",
    "message_retention_seconds": 600,
    "max_delivery_attempts": 5,
}
FUNCTION: dict[str, tuple[Any, ...]] = {
    "invokers": tuple({"x": member} for member in ("allUsers", "allAuthenticatedUsers")),
    "runtime": ("python310", "python315"),
    "memory": ("512", "0Mi", "512Ki"),
    "concurrency": (0, 101),
    "timeout_seconds": (0, 3601),
    "ingress": ("ALLOW_NONE",),
}
COMPUTE = "-compute@developer.gserviceaccount.com"
ACCOUNTS: dict[str, tuple[Any, ...]] = {
    "serving_accounts": ({f"1{COMPUTE}": {}}, {f"123456789012{COMPUTE}": {}}, {"a@example.com": {}}, {"far-too-long-a-name": {}}),
    "model_buckets": (
        {"gs://b": {}},
        {"bucket": {"create": True}},
        {"bucket": {"object_name_prefix": "/x"}},
        {"bucket": {"project_id": "1"}},
    ),
}
WIRING = dict.fromkeys(("project_id", "alerts_topic", "uploads_topic", "changes_topic", "reconcile_account", "command_account"), "acme-ml")
PLACE = {"project_id": "acme-ml", "region": "europe-west1"}
ARCHIVE = {"archive": "../../tests/archive.zip", "project_number": "123456789012"}
ONE_FUNCTION: dict[str, Any] = {
    **PLACE,
    "name": "trimtab-alert",
    "entry_point": "alert",
    "source_file": "fn_alert.py",
    "description": "x",
    "archive": {"bucket": "b", "object": "o"},
    "build": {"service_account_id": "a", "docker_repository": "r"},
    "service_account_email": "a@acme-ml.iam.gserviceaccount.com",
}
TRIGGERS = tuple(
    {**MADE, **said}
    for said in (
        {"ack_deadline_seconds": 59},
        {"ack_deadline_seconds": 601},
        {"max_delivery_attempts": 4},
        {"max_delivery_attempts": 101},
    )
)
TRIED: dict[str, tuple[str, dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    "the control plane": ("control-plane", {"archive": ARCHIVE["archive"]}, CONTROL),
    "its instances": ("control-plane", {**PLACE, **ARCHIVE}, {"min_instances": (0.5, -1, 11)}),
    "a function": ("function", ONE_FUNCTION, FUNCTION),
    "its trigger": ("function", ONE_FUNCTION, {"trigger": TRIGGERS}),
    "a served project": ("served-project", {"control_plane": WIRING}, {"project_id": PROJECTS, "labels": ({"app": "x"}, {"Team": "x"})}),
    "what it serves": ("served-project", {"control_plane": WIRING, "project_id": "acme-ml", "project_number": "1"}, ACCOUNTS),
}
"""The module, what is given beside, and what is refused. What a validation asks of another variable must be right in the same plan."""


@pytest.mark.parametrize("what", TRIED)
def test_each_of_several_values_is_refused(what: str, tf: Terraform) -> None:
    """In as many plans as the variable with the most has: Terraform names all variables that it refuses."""
    module, given, refused = TRIED[what]
    for turn in range(max(map(len, refused.values()))):
        values = {name: tried[turn % len(tried)] for name, tried in refused.items()}
        with pytest.raises(Broken) as broken:
            tf.plan({**given, **values}, folder=f"modules/{module}")
        named = set(re.findall(r'variable "(\w+)" \{', str(broken.value)))
        assert {name: values[name] for name in values if name not in named} == {}


def test_all_ask_for_the_same_versions() -> None:
    said = Counter(path.read_text() for path in VERSIONS)
    assert len(VERSIONS) == len({path.parent for path in TREE.rglob("main.tf")})
    assert list(said.values()) == [len(VERSIONS)]
    (text,) = said
    assert re.findall(r'(?:required_version|version|source)\s*= "([^"]*)"', text) == [">= 1.11", "hashicorp/google", ">= 6.50, < 9.0"]


def test_a_grant_on_a_function_that_is_made_anew_is_made_anew() -> None:
    """The plan does not say what replaces what: the text does."""
    (block,) = re.findall(
        r'^resource "google_cloud_run_v2_service_iam_member" "invoker" \{\n(.*?)^\}',
        (TREE / "modules/function/main.tf").read_text(),
        flags=re.MULTILINE | re.DOTALL,
    )
    assert "replace_triggered_by = [google_cloudfunctions2_function.main.id]" in block
