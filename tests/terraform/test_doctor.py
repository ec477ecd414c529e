"""The doctor and `trimtab init` beside the real modules: nothing is missing in their plan, and what is written is what they take."""

from typing import Any

import pytest

from cli.init import Answers, Model, tfvars
from shared.deployment import FUNCTIONS
from shared.doctor.examining import examine
from shared.doctor.plan import read_picture
from tests.terraform.plans import Edit, Plan, Terraform
from tests.terraform.sample import NUMBER, SWITCHED, VARIABLES

SCORER = "scorer@acme-ml.iam.gserviceaccount.com"
ANSWERS = Answers(
    project_id="acme-ml",
    region="europe-west1",
    models=(Model("ranker", "acme-models", None), Model("scorer", "acme-models", SCORER)),
    channels=("projects/acme-ml/notificationChannels/7",),
    callers=("user:ada@example.com", "group:oncall@example.com"),
)


def shown(plan: Plan) -> dict[str, Any]:
    """The part of `terraform show -json` that the doctor reads."""
    resources = [{"address": each.address, "mode": "managed", "type": each.kind, "values": dict(each.values)} for each in plan.resources]
    return {"planned_values": {"root_module": {"resources": resources}}}


def test_the_doctor_misses_nothing_in_the_plan_of_the_modules(plan: Plan) -> None:
    picture = read_picture(shown(plan), number=int(NUMBER))
    assert examine(picture) == ()
    assert picture.topic_prefix == "trimtab-"


def test_nor_in_the_plan_with_all_that_can_be_switched_on(switched: Plan) -> None:
    assert examine(read_picture(shown(switched), number=int(NUMBER))) == ()


def test_every_grant_of_the_plan_but_those_of_whom_nobody_knows_yet_is_looked_at(plan: Plan) -> None:
    """Each that is left out is missed: or that nothing is missed in the whole plan would say nothing."""
    document = shown(plan)
    resources = document["planned_values"]["root_module"]["resources"]
    unseen = []
    for at, each in enumerate(resources):
        if not each["type"].endswith("_iam_member"):
            continue
        without = {"planned_values": {"root_module": {"resources": [*resources[:at], *resources[at + 1 :]]}}}
        if not examine(read_picture(without, number=int(NUMBER))):
            unseen.append(each["address"])
    assert {each.partition("[")[0] for each in unseen} == NOT_OF_THE_CONTROL_PLANE


NOT_OF_THE_CONTROL_PLANE = {
    # Whom these are for is known after the plan is applied, or may be one of those.
    "module.served_project.google_pubsub_topic_iam_member.sink_publisher",
    "module.control_plane.google_pubsub_topic_iam_member.publisher",
    # Asked for by somebody.
    "module.control_plane.google_pubsub_topic_iam_member.command_publisher",
    # Of served services, which are in no plan.
    "module.served_model",
    "module.served_project.google_artifact_registry_repository_iam_member.image_reader",
    "module.served_project.google_project_iam_member.metric_writer",
    "module.served_project.google_service_account_iam_member.act_as",
    "module.served_project.google_storage_bucket_iam_member.model_reader",
}


BUCKETS, PROJECT, ACCESS, SWITCHES = (
    "modules/served-project/buckets.tf",
    "modules/served-project/main.tf",
    "modules/control-plane/access.tf",
    "modules/control-plane/switches.tf",
)
MODELS = ("acme-models", "acme-new-models")
RECONCILE = "trimtab-reconcile@acme-ml.iam.gserviceaccount.com"


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            Edit(BUCKETS, '"JSON_API_V1"', '"NONE"'),
            [f"the bucket {each} tells of uploads with payload NONE" for each in MODELS],
        ),
        (
            Edit(BUCKETS, '"OBJECT_FINALIZE", "OBJECT_ARCHIVE", "OBJECT_DELETE"', '"OBJECT_FINALIZE"'),
            [f"the bucket {each} does not tell of {event}" for each in MODELS for event in ("OBJECT_ARCHIVE", "OBJECT_DELETE")],
        ),
        (
            Edit(BUCKETS, "${local.topics}/${var.control_plane.uploads_topic}", "${local.topics}/uploads"),
            [
                f"the bucket {each} does not tell the topic trimtab-model-uploads of uploads, only projects/acme-ml/topics/uploads"
                for each in MODELS
            ],
        ),
        (
            Edit(BUCKETS, 'role   = "roles/storage.objectViewer"', 'role   = "roles/storage.objectCreator"'),
            [f"{RECONCILE} lacks roles/storage.objectViewer on the bucket {each}" for each in MODELS],
        ),
        (Edit(PROJECT, '"trimtab-changes"', '"changes"'), ["the log sink trimtab-changes is missing"]),
        (
            Edit(PROJECT, 'role    = "roles/logging.viewer"', 'role    = "roles/logging.bucketWriter"'),
            [f"{RECONCILE} lacks roles/logging.viewer on the project acme-ml"],
        ),
        (
            Edit(ACCESS, "gcf-v2-sources-${local.project_number}-", "gcf-v2-uploads-${local.project_number}-"),
            ["trimtab-build@acme-ml.iam.gserviceaccount.com lacks roles/storage.objectViewer on the project acme-ml"],
        ),
    ],
    ids=["payload", "events", "topic", "reading", "sink", "logs", "sources"],
)
def test_a_fault_of_the_modules_is_found(edit: Edit, says: list[str], tf: Terraform) -> None:
    said = examine(read_picture(shown(tf.plan(VARIABLES, edits=(edit,))), number=int(NUMBER)))
    assert sorted(each.what for each in said) == sorted(says)


def test_a_switch_without_its_role_is_found(tf: Terraform) -> None:
    edit = Edit(SWITCHES, '["roles/telemetry.tracesWriter", ', "[")
    said = examine(read_picture(shown(tf.plan(SWITCHED, edits=(edit,))), number=int(NUMBER)))
    assert [each.what for each in said] == [
        f"trimtab-{name}@acme-ml.iam.gserviceaccount.com lacks roles/telemetry.tracesWriter on the project acme-ml" for name in FUNCTIONS
    ]


def test_each_of_several_projects_is_looked_at(tf: Terraform) -> None:
    models = {
        name: {"project_id": name, "region": "europe-west1", "bucket": f"{name}-models", "p99_ms": 800}
        for name in ("acme-ads", "acme-shop")
    }
    numbers = {"acme-control": "111111111111", "acme-ads": "222222222222", "acme-shop": "333333333333"}
    variables = {"control_project_id": "acme-control", "project_numbers": numbers, "models": models, "archive": "../../tests/archive.zip"}

    def said(*edits: Edit) -> list[str]:
        plan = tf.plan(variables, folder="examples/several-projects", edits=edits)
        return [each.what for each in examine(read_picture(shown(plan), number=111111111111))]

    nobody = "trimtab-command: TRIMTAB_COMMAND_GRANTS names nobody"  # who may command is left to whoever copies the example
    assert said() == [nobody]
    assert said(Edit(PROJECT, '"trimtab-changes"', '"changes"')) == [
        nobody,
        "the log sink trimtab-changes of acme-ads is missing",
        "the log sink trimtab-changes of acme-shop is missing",
    ]


def test_the_doctor_finds_a_fault_that_is_planted_in_the_modules(tf: Terraform) -> None:
    job = "modules/control-plane/main.tf"
    broken = (Edit(job, '"* * * * *"', '"*/5 * * * *"'), Edit(job, "paused      = false", "paused      = true"))
    said = examine(read_picture(shown(tf.plan(VARIABLES, edits=broken)), number=int(NUMBER)))
    assert [each.what for each in said] == [
        "the scheduler's job trimtab-tick is PAUSED",
        "trimtab-tick runs at '*/5 * * * *', not every minute",
    ]


def test_what_init_writes_is_planned(tf: Terraform) -> None:
    plan = tf.plan({"archive": VARIABLES["archive"], "project_number": NUMBER}, tfvars=tfvars(ANSWERS))
    assert examine(read_picture(shown(plan), number=int(NUMBER))) == ()
    (grants,) = {
        each.values["service_config"][0]["environment_variables"].get("TRIMTAB_COMMAND_GRANTS")
        for each in plan.of("cloudfunctions2_function")
    } - {None}
    assert '"identity":"ada@example.com"' in grants
    assert SCORER in {each.values.get("service_account_id", "").rpartition("/")[2] for each in plan.of("service_account_iam_member")}
