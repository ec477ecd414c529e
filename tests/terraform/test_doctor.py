"""The doctor and `trimtab init` beside the real modules: nothing is missing in their plan, and what is written is what they take."""

from typing import Any

from cli.init import Answers, Model, tfvars
from shared.doctor.examining import examine
from shared.doctor.plan import read_picture
from tests.terraform.plans import Edit, Plan, Terraform
from tests.terraform.sample import NUMBER, VARIABLES

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
