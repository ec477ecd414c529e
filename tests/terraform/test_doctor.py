"""The doctor and `trimtab init` beside the real modules: nothing is missing in their plan, and what is written is what they take."""

from typing import Any

import pytest

from cli.init import Answers, Model, tfvars
from shared.deployment import FUNCTIONS
from shared.doctor.examining import examine
from shared.doctor.finding import Level
from shared.doctor.picture import Sink
from shared.doctor.plan import read_picture
from shared.doctor.rules_parts import changes_filter
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


def shown(plan: Plan, *, less: str | None = None) -> dict[str, Any]:
    """The part of `terraform show -json` that the doctor reads; `less` is a kind of resource that is cut out of it."""
    resources = [
        {"address": each.address, "mode": "managed", "type": each.kind, "values": dict(each.values)}
        for each in plan.resources
        if each.kind != less
    ]
    return {
        "planned_values": {"root_module": {"resources": resources}},
        "configuration": plan.configuration,
        "variables": {name: {"value": value} for name, value in plan.variables.items()},
    }


def said(plan: Plan, **options: Any) -> list[str]:
    return [each.what for each in examine(read_picture(shown(plan, **options), number=int(NUMBER)))]


def test_the_doctor_misses_nothing_in_the_plan_of_the_modules(plan: Plan) -> None:
    picture = read_picture(shown(plan), number=int(NUMBER))
    assert examine(picture) == ()
    assert picture.topic_prefix == "trimtab-"
    sink = picture.sinks["acme-ml"]
    assert isinstance(sink, Sink)
    assert sink.filter == changes_filter("acme-ml")


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
        without = {**document, "planned_values": {"root_module": {"resources": [*resources[:at], *resources[at + 1 :]]}}}
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


ROOT: dict[str, Any] = {"project_id": "acme-ml", "region": "europe-west1", "archive": VARIABLES["archive"]}
MODEL: dict[str, Any] = {"model_buckets": {"acme-models": {}}, "models": {"ranker": {"bucket": "acme-models"}}}
OTHERS = ("acme-ads", "acme-shop")
SEVERAL: dict[str, Any] = {
    "control_project_id": "acme-ml",
    "project_numbers": {"acme-ml": NUMBER, "acme-ads": "222222222222", "acme-shop": "333333333333"},
    "models": {name: {"project_id": name, "region": "europe-west1", "bucket": f"{name}-models", "p99_ms": 800} for name in OTHERS},
    "archive": "../../tests/archive.zip",
}
ADOPTED = {
    "project_id": "acme-ml",
    "project_number": NUMBER,
    "model_bucket": "acme-models",
    "owner": "ada@example.com",
    "archive": "../../tests/archive.zip",
}
NOBODY = "trimtab-command: TRIMTAB_COMMAND_GRANTS names nobody"
GRANT = {"identity": "ada@example.com", "commands": ["apply"], "services": ["*"]}


@pytest.mark.parametrize(
    ("folder", "variables", "accepted"),
    [
        # Who may command, whoever deploys says; until then nobody may.
        (".", ROOT, [NOBODY]),
        (".", {**ROOT, **MODEL}, [NOBODY]),
        (".", {**ROOT, **MODEL, "command_grants": [GRANT]}, []),
        ("examples/several-projects", SEVERAL, [NOBODY]),
        ("examples/several-projects", {**SEVERAL, "command_grants": [GRANT]}, []),
        ("examples/adopt-an-existing-service", ADOPTED, []),
    ],
    ids=["project and region", "a model", "a model and a grant", "several projects", "several projects and a grant", "adopted"],
)
def test_the_doctor_finds_nothing_wrong_in_what_is_given_out(
    folder: str, variables: dict[str, Any], accepted: list[str], tf: Terraform
) -> None:
    found = examine(read_picture(shown(tf.plan(variables, folder=folder)), number=int(NUMBER)))
    assert [each.what for each in found] == accepted
    assert {each.level for each in found} <= {Level.WARNING}


def test_what_variables_leave_to_others_is_not_missed(tf: Terraform) -> None:
    plan = tf.plan({**ROOT, "enable_apis": False, "firestore": {"create": False}})
    assert not plan.of("project_service")
    assert not plan.of("firestore_database")
    assert said(plan) == [NOBODY]


def test_whatever_kind_of_resource_is_cut_out_of_a_plan_is_missed(plan: Plan) -> None:
    """Its configuration and its variables still say that it is made."""
    kinds = sorted({each.kind for each in plan.resources if each.kind.startswith("google_")})
    assert len(kinds) > 20
    assert {kind for kind in kinds if not said(plan, less=kind)} == {
        # People look at it, and nothing else does.
        "google_monitoring_dashboard",
        # That of the archive, which may be there already; those of models are looked at by what they tell and whom they let in.
        "google_storage_bucket",
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
    assert sorted(said(tf.plan(VARIABLES, edits=(edit,)))) == sorted(says)


def test_a_switch_without_its_role_is_found(tf: Terraform) -> None:
    edit = Edit(SWITCHES, '["roles/telemetry.tracesWriter", ', "[")
    assert said(tf.plan(SWITCHED, edits=(edit,))) == [
        f"trimtab-{name}@acme-ml.iam.gserviceaccount.com lacks roles/telemetry.tracesWriter on the project acme-ml" for name in FUNCTIONS
    ]


MENDED = {
    "a grant on a topic": Edit(ACCESS, 'toset(["alert", "upload", "audit", "command", "reconcile"])', 'toset(["upload"])'),
    "a grant under a condition": Edit(ACCESS, "gcf-v2-sources-${local.project_number}-", "x-${local.project_number}-"),
    "an API": Edit("modules/control-plane/main.tf", '    "cloudscheduler.googleapis.com",\n', ""),
    "a time to live": Edit("modules/control-plane/firestore.tf", '"uploads", "decisions", "acts"]', '"acts"]'),
    "an index": Edit("modules/control-plane/firestore.tf", '    "model_state/next_look_at"  = ["COLLECTION_GROUP"]\n', ""),
    "a switch": Edit(SWITCHES, '["roles/telemetry.tracesWriter", ', "["),
}


@pytest.mark.parametrize("name", MENDED)
def test_what_mends_a_fault_can_be_pasted_into_the_root(name: str, tf: Terraform) -> None:
    fault = MENDED[name]
    found = examine(read_picture(shown(tf.plan(SWITCHED, edits=(fault,))), number=int(NUMBER)))
    assert found
    end = "  depends_on = [module.control_plane]\n}\n"
    pasted = Edit("main.tf", end, end + "".join(f"\n{each.mend}\n" for each in found))
    assert said(tf.plan(SWITCHED, edits=(fault, pasted))) == []


def test_a_block_for_the_variables_can_be_pasted_into_their_file(tf: Terraform) -> None:
    (nobody,) = examine(read_picture(shown(tf.plan(ROOT)), number=int(NUMBER)))
    assert said(tf.plan(ROOT, tfvars=nobody.mend)) == []


def test_each_of_several_projects_is_looked_at(tf: Terraform) -> None:
    faults = (Edit(PROJECT, '"trimtab-changes"', '"changes"'), Edit(PROJECT, "${var.control_plane.alerts_topic}", "alerts"))
    plan = tf.plan(SEVERAL, folder="examples/several-projects", edits=faults)
    assert said(plan) == [
        "whether alerts on what is served reach Trimtab: not known",
        NOBODY,
        "the log sink trimtab-changes of acme-ads is missing",
        "the log sink trimtab-changes of acme-shop is missing",
    ]


def test_the_doctor_finds_a_fault_that_is_planted_in_the_modules(tf: Terraform) -> None:
    job = "modules/control-plane/main.tf"
    broken = (Edit(job, '"* * * * *"', '"*/5 * * * *"'), Edit(job, "paused      = false", "paused      = true"))
    assert said(tf.plan(VARIABLES, edits=broken)) == [
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
