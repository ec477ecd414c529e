"""What mends a plan is Terraform to paste, or the input that is missing, and then another plan: what it would name is not there yet."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from shared.doctor import hcl
from shared.doctor.examining import examine
from shared.doctor.finding import Finding
from shared.doctor.plan import read_picture
from shared.records.subject import ServiceId
from tests.support.plans import Resource, control_plane, plan

RANKER = ServiceId.parse("acme-ml:europe-west1:ranker")
FUNCTION, SUBSCRIPTION = "google_cloudfunctions2_function", "google_pubsub_subscription"


def placed() -> list[Resource]:
    """The whole plan, its parts in the module that they have with the root."""
    return [(f"module.control_plane.{at}", kind, values) for at, kind, values in control_plane()]


def without(address: str) -> list[Resource]:
    return [each for each in placed() if each[0] != f"module.control_plane.{address}"]


def changed(address: str, **values: Any) -> list[Resource]:
    return [(at, kind, {**each, **values} if at == f"module.control_plane.{address}" else each) for at, kind, each in placed()]


def with_variables(function: str, **variables: str) -> list[Resource]:
    (config,) = next(values["service_config"] for at, _, values in control_plane() if at == f"function.{function}")
    return changed(
        f"function.{function}", service_config=[{**config, "environment_variables": {**config["environment_variables"], **variables}}]
    )


def said(*resources: Resource, **options: Any) -> list[Finding]:
    return list(examine(read_picture(plan(*resources), **options)))


def mend(resources: list[Resource], **options: Any) -> str:
    (only,) = said(*resources, **options)
    return only.mend


WORN: dict[str, list[Resource]] = {
    "entry point": changed("function.alert", build_config=[{"entry_point": "main", "runtime": "python310"}]),
    "account": changed("function.alert", service_config=[{"service_account_email": "x@y"}]),
    "ingress": changed(
        "function.alert",
        service_config=[{"ingress_settings": "ALLOW_ALL", "service_account_email": "trimtab-alert@acme-ml.iam.gserviceaccount.com"}],
    ),
    "variable": with_variables("alert", TRIMTAB_WAKES_TOPIC="waves", FUNCTION_SOURCE="main.py"),
    "push account": with_variables("command", TRIMTAB_PUSH_SERVICE_ACCOUNT="x@y"),
    "own principals": with_variables("audit", TRIMTAB_OWN_PRINCIPALS="x@y"),
    "nobody commands": with_variables("command", TRIMTAB_COMMAND_GRANTS="[]"),
    "no grant": with_variables("command", TRIMTAB_COMMAND_GRANTS='[{"identity": "ada@example.com"}]'),
    "refused": with_variables("command", TRIMTAB_ALLOWED_IMAGES="a b"),
    "one list": with_variables("command", TRIMTAB_ALLOWED_IMAGES="a"),
    "profiler": with_variables("alert", TRIMTAB_PROFILER="true"),
    "disabled account": changed("account.audit", disabled=True),
    "disabled sink": changed("sink", disabled=True),
    "sink elsewhere": changed("sink", destination="pubsub.googleapis.com/projects/x/topics/trimtab-changes"),
    "paused": changed("tick", paused=True, schedule="*/5 * * * *", pubsub_target=[{"topic_name": "projects/acme-ml/topics/x"}]),
    "mode": changed("database", type="DATASTORE_MODE", concurrency_mode="PESSIMISTIC"),
    "subscription": changed(
        "subscription.alert",
        ack_deadline_seconds=10,
        retry_policy=[],
        expiration_policy=[],
        dead_letter_policy=[],
        topic="projects/a/topics/x",
    ),
    "other dead letters": changed("subscription.alert", dead_letter_policy=[{"dead_letter_topic": "projects/acme-ml/topics/x"}]),
    "no token": changed("subscription.alert", push_config=[{}]),
    "no push": changed("subscription.alert", push_config=[]),
    "another pusher": changed("subscription.alert", push_config=[{"oidc_token": [{"service_account_email": "x@y"}]}]),
    "kept elsewhere": changed("kept.alert", topic="projects/acme-ml/topics/x", expiration_policy=[]),
    "anybody": changed("invoker.command", member="allUsers"),
    "too much": [
        *placed(),
        (
            "x",
            "google_project_iam_member",
            {"project": "acme-ml", "role": "roles/editor", "member": "serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com"},
        ),
    ],
    "of another database": changed(
        "alert projects/{project}/roles/trimtabStoreAlert project ", condition=[{"title": "x", "expression": "true"}]
    ),
    "payload": changed("notification", payload_format="NONE"),
    **{f"without {at.removeprefix('module.control_plane.')}": without(at.removeprefix("module.control_plane.")) for at, _, _ in placed()},
}


def every_mend() -> Iterator[tuple[str, Finding]]:
    for name, resources in WORN.items():
        for each in said(*resources, owned=(RANKER,), models={RANKER: "gs://acme-models/ranker"}):
            yield name, each


def test_no_mend_of_a_plan_runs_a_command_or_shows_a_placeholder() -> None:
    judged = 0
    for name, each in every_mend():
        assert each.mend, (name, each.what)
        commands = [line for line in each.mend.splitlines() if line.startswith(("gcloud ", "make ", "sudo "))]
        assert commands == [], (name, each.what)
        assert not re.search(r"\bPROJECT\b|\bREGION\b", f"{each.what} {each.why} {each.mend}"), each
        assert hcl.AGAIN in each.mend or "trimtab doctor --project acme-ml" in each.mend, (name, each.mend)
        assert len(each.mend) < 700, (name, each.mend)
        judged += 1
    assert judged > 100


def test_what_is_to_be_pasted_is_formatted_as_terraform_formats_it() -> None:
    pasted = {each.mend.partition("\n")[2] for _, each in every_mend() if each.mend.startswith("# ")}
    assert len(pasted) > 60
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not installed")
    # Each in a block of its own: half of them belong into a resource that is there.
    text = "".join(f"x {{\n{_indented(each)}}}\n\n" for each in sorted(pasted)).removesuffix("\n")
    done = subprocess.run(["terraform", "fmt", "-"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == text


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" if line else "\n" for line in text.split("\n"))


def test_who_may_command_is_a_block_for_the_variables() -> None:
    assert mend(with_variables("command", TRIMTAB_COMMAND_GRANTS="[]")).splitlines() == [
        "# in terraform.tfvars, or as an input of the module, then plan again",
        'command_callers = ["user:ada@example.com"] # whoever it is',
        "",
        "command_grants = [{",
        '  identity = "ada@example.com"',
        '  commands = ["apply", "patch", "hold", "release", "rollback", "reconcile"]',
        '  services = ["acme-ml:*"]',
        "}]",
    ]


def test_who_may_call_already_is_the_one_that_is_proposed() -> None:
    caller = ("x", "google_cloud_run_v2_service_iam_member", {"name": "trimtab-command", "role": "roles/run.invoker"})
    resources = [*with_variables("command", TRIMTAB_COMMAND_GRANTS="[]"), (*caller[:2], {**caller[2], "member": "user:bob@example.com"})]
    assert mend(resources).splitlines()[1:3] == ["command_grants = [{", '  identity = "bob@example.com"']


def test_a_grant_is_a_resource_that_waits_for_what_it_is_on() -> None:
    assert mend(without("alert roles/pubsub.publisher topic reconcile")).splitlines() == [
        "# add this, then plan again",
        'resource "google_pubsub_topic_iam_member" "trimtab_alert_publisher_trimtab_wakes" {',
        '  project = "acme-ml"',
        '  topic   = "trimtab-wakes"',
        '  role    = "roles/pubsub.publisher"',
        '  member  = "serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com"',
        "",
        "  depends_on = [module.control_plane]",
        "}",
    ]


def test_so_is_one_under_a_condition() -> None:
    assert mend(without("alert projects/{project}/roles/trimtabStoreAlert project ")).splitlines()[5:9] == [
        "",
        "  condition {",
        '    title      = "trimtab-database"',
        '    expression = "resource.name == \\"projects/acme-ml/databases/(default)\\""',
    ]


def test_a_time_to_live_is_a_field() -> None:
    assert mend(without("ttl.facts")).splitlines()[1:] == [
        'resource "google_firestore_field" "facts_expire_at" {',
        '  project    = "acme-ml"',
        '  database   = "(default)"',
        '  collection = "facts"',
        '  field      = "expire_at"',
        "",
        "  index_config {}",
        "",
        "  ttl_config {}",
        "",
        "  depends_on = [module.control_plane]",
        "}",
    ]


def test_a_bucket_is_an_input() -> None:
    wanted = ["# in terraform.tfvars, or as an input of the module, then plan again", "model_buckets = {", '  "acme-models" = {}', "}"]
    assert mend(without("notification")).splitlines() == wanted
    assert mend(without("reconcile roles/storage.objectViewer model bucket ")).splitlines() == wanted


def test_a_names_own_quotes_and_templates_are_escaped() -> None:
    assert hcl.quoted('a"b\\${x}%{y}\n\x1b') == '"a\\"b\\\\$${x}%%{y}\\n\\u001b"'
    assert hcl.label("trimtab-alerts.x") == "trimtab_alerts_x"
    assert hcl.label("9") == "trimtab_9"
