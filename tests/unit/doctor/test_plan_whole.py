"""A plan as a whole: one that failed, that takes Trimtab away, that is of something else, and kinds of things that it has none of."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.doctor.examining import examine, verdicts
from shared.doctor.finding import CHECKS, Finding, Level, Verdict
from shared.doctor.plan import read_picture
from shared.doctor.plan_inputs import UNKNOWN, Inputs, root_of
from shared.doctor.plan_whole import NoPlanError
from shared.records.subject import ServiceId
from tests.support.plans import Json, Resource, control_plane, destroying, failed, plan, service

FUNCTION, ALERTS = "google_cloudfunctions2_function", "google_monitoring_alert_policy"
RANKER = ServiceId.parse("acme-ml:europe-west1:ranker")


def said(document: Json, **options: Any) -> list[Finding]:
    return list(examine(read_picture(document, **options)))


def less(*kinds: str) -> list[Resource]:
    """The whole plan without any resource of these kinds."""
    return [each for each in control_plane() if each[1] not in kinds]


def test_a_plan_that_failed_is_no_plan() -> None:
    with pytest.raises(NoPlanError, match=r"this plan failed: .* mend the error that it prints, and give the new plan"):
        read_picture(failed(plan(*control_plane())))


def test_nor_is_one_of_a_part() -> None:
    with pytest.raises(NoPlanError, match=r"of a part alone .* Plan the whole, and give that plan"):
        read_picture(plan(*control_plane()) | {"complete": False})


def test_a_plan_that_takes_trimtab_away_says_so() -> None:
    (away,) = said(destroying(*control_plane()))
    assert (away.check, away.level) == ("function", Level.PROBLEM)
    assert away.what == (
        "the plan takes Trimtab away: it deletes trimtab-alert, trimtab-audit, trimtab-command, trimtab-reconcile, trimtab-schedule, "
        "trimtab-upload"
    )
    assert away.mend.startswith("nothing, where that is meant (-destroy); else plan the folder")
    assert read_picture(destroying(*control_plane())).project == "acme-ml"


def test_a_plan_that_makes_the_functions_anew_takes_nothing_away() -> None:
    anew = {at: {"actions": ["delete", "create"], "before": values, "after": values} for at, _, values in control_plane()}
    assert said(plan(*control_plane(), changes=anew)) == []


@pytest.mark.parametrize(
    ("document", "what", "why"),
    [
        ({"planned_values": {}}, ", and no Cloud Run service", "it has no resource at all, as with -refresh-only"),
        ({"planned_values": {"root_module": {}}}, ", and no Cloud Run service", "it has no resource at all, as with -refresh-only"),
        (plan(("x", "google_storage_bucket", {"name": "b"})), ", and no Cloud Run service", "it is of another configuration"),
        (plan(service()), "", "it is of another configuration"),
        (
            plan(*less(FUNCTION, ALERTS)),
            ", and no Cloud Run service",
            "it is of another configuration",
        ),
    ],
)
def test_a_plan_without_trimtab_is_unknown_and_not_healthy(document: Json, what: str, why: str) -> None:
    (lacks,) = said(document)
    assert (lacks.check, lacks.level) == ("function", Level.UNKNOWN)
    assert lacks.what == f"no function of Trimtab is in the plan{what}"
    assert lacks.why.startswith(why)
    assert lacks.mend.startswith("plan the folder whose configuration has the module terraform/modules/control-plane")
    verdict = verdicts(read_picture(document), (lacks,))
    assert set(verdict.values()) == {Level.UNKNOWN, Verdict.NOT_ASKED}


def test_whether_a_service_is_written_twice_is_answered_by_any_plan_with_services() -> None:
    assert said(plan(service("other")), owned=(RANKER,)) == []
    assert [each.level for each in said(plan(("x", "google_storage_bucket", {})), owned=(RANKER,))] == [Level.UNKNOWN]


def test_functions_of_a_project_that_terraform_does_not_know_yet_cannot_be_judged() -> None:
    unsaid = [(at, kind, {key: value for key, value in values.items() if key != "project"}) for at, kind, values in control_plane()]
    with pytest.raises(NoPlanError, match="which project Trimtab is in: give project_id a value that is known before apply"):
        read_picture(plan(*unsaid))


KINDS = {
    "google_project_service": ("api", "which APIs are enabled", "control-plane makes it with enable_apis = true"),
    "google_firestore_database": ("database", "the Firestore database", "control-plane makes it with firestore = { create = true }"),
    "google_project_iam_custom_role": ("grant", "whether Trimtab's own roles are there", "control-plane makes it"),
    "google_project_iam_member": ("grant", "the grants on the project", "control-plane makes it"),
    "google_pubsub_topic_iam_member": ("grant", "the grants on topics", "control-plane makes it"),
    "google_pubsub_subscription_iam_member": ("grant", "the grants on subscriptions", "control-plane makes it"),
    "google_service_account_iam_member": ("grant", "the grants on service accounts", "control-plane makes it"),
    "google_cloud_run_v2_service_iam_member": ("grant", "who may call the functions", "control-plane makes it"),
    "google_artifact_registry_repository_iam_member": ("grant", "who keeps the functions' images", "control-plane makes it"),
    "google_storage_bucket_iam_member": ("grant", "the grants on the buckets of models", "served-project makes it"),
    "google_artifact_registry_repository": ("function", "where the images of the functions are kept", "control-plane makes it"),
    "google_storage_bucket_object": ("version", "which archive the functions are built of", "control-plane makes it"),
    "google_logging_metric": ("metric", "which lines of Trimtab's log are counted", "control-plane makes it"),
    "google_monitoring_alert_policy": ("alert", "whether anybody hears of trouble of Trimtab itself", "control-plane makes it"),
    "google_monitoring_notification_channel": ("alert", "whether alerts on what is served reach Trimtab", "served-project makes it"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_there_is_none_of_is_said_once_as_unknown(kind: str) -> None:
    check, what, mend = KINDS[kind]
    (lacks,) = said(plan(*less(kind)))
    assert (lacks.check, lacks.level, lacks.what) == (check, Level.UNKNOWN, f"{what}: not known")
    assert lacks.why.startswith(f"no {kind}")
    assert lacks.why.endswith(" is in the plan: it is left to another configuration, or forgotten")
    assert lacks.mend.startswith(f"terraform/modules/{mend}: use that; where another configuration has it")
    assert lacks.mend.endswith("trimtab doctor --project acme-ml")


@pytest.mark.parametrize("kind", sorted({kind for _, kind, _ in control_plane()}))
def test_no_kind_may_be_gone_without_a_word(kind: str) -> None:
    assert said(plan(*less(kind))) != []


def test_of_uploads_neither_told_nor_read_nothing_is_known() -> None:
    (lacks,) = said(plan(*less("google_storage_notification", "google_storage_bucket_iam_member")))
    assert (lacks.check, lacks.level, lacks.what) == ("bucket", Level.UNKNOWN, "which buckets have models: not known")
    assert "served-project makes it with model_buckets" in lacks.mend


@pytest.mark.parametrize(
    ("address", "check", "what"),
    [
        (
            "role.trimtabStoreAlert",
            "grant",
            "the role projects/acme-ml/roles/trimtabStoreAlert is granted, and not in the plan",
        ),
        ("role.trimtabRunReader", "grant", "the role projects/acme-ml/roles/trimtabRunReader is granted, and not in the plan"),
    ],
)
def test_a_single_role_of_trimtabs_own_is_missed(address: str, check: str, what: str) -> None:
    (lacks,) = said(plan(*(each for each in control_plane() if each[0] != address)))
    assert (lacks.check, lacks.level, lacks.what) == (check, Level.PROBLEM, what)


def test_a_single_metric_that_an_alert_watches_is_missed() -> None:
    other = ("ticks", "google_logging_metric", {"project": "acme-ml", "name": "trimtab/ticks"})
    (lacks,) = said(plan(*less("google_logging_metric"), other))
    assert (lacks.check, lacks.level) == ("metric", Level.PROBLEM)
    assert lacks.what == "Trimtab: bugs watches trimtab/bugs, a metric of Trimtab's log that is not in the plan"
    board = (
        "board",
        "google_monitoring_dashboard",
        {"dashboard_json": '{"filter":"metric.type=\\"logging.googleapis.com/user/trimtab/x\\""}'},
    )
    (lacks,) = said(plan(*control_plane(), board))
    assert lacks.what == "the dashboard watches trimtab/x, a metric of Trimtab's log that is not in the plan"


def configured(variables: Json, expressions: Json, declared: Json) -> Json:
    """A root that hands these expressions to the module of the sample, which declares these variables."""
    module = {"source": "./modules/control-plane", "expressions": expressions, "module": {"variables": declared}}
    root = {"module_calls": {"trimtab": module}, "variables": {name: {} for name in variables}}
    return {"variables": {name: {"value": value} for name, value in variables.items()}, "configuration": {"root_module": root}}


def within(resources: list[Resource]) -> list[Resource]:
    """The functions at the addresses that the module of `configured` has."""
    return [(f"module.trimtab.x.{at}" if at.startswith("function.") else at, kind, values) for at, kind, values in resources]


APIS, BASE = "google_project_service", "google_firestore_database"
BY = {"references": ["var.apis"]}


@pytest.mark.parametrize(
    ("variables", "expression", "default", "known"),
    [
        ({"apis": False}, BY, True, True),
        ({"apis": "false"}, BY, True, True),
        ({"apis": True}, BY, True, False),
        ({}, {"constant_value": False}, True, True),
        ({}, {"constant_value": True}, False, False),
        ({}, None, False, True),
        ({}, None, True, False),
        ({"apis": False, "b": 1}, {"references": ["var.apis", "var.b"]}, True, False),
        ({}, {"references": ["local.apis"]}, True, False),
        ({"all": {"apis": False}}, {"references": ["var.all.apis", "var.all"]}, True, True),
    ],
)
def test_apis_that_a_variable_leaves_to_others_are_known(variables: Json, expression: Json | None, default: bool, known: bool) -> None:
    given = {} if expression is None else {"enable_apis": expression}
    document = plan(*within(less(APIS))) | configured(variables, given, {"enable_apis": {"default": default}})
    assert [each.check for each in said(document)] == ([] if known else ["api"])
    found = verdicts(read_picture(document), tuple(said(document)))
    assert found["api"] is (Verdict.NOT_ASKED if known else Level.UNKNOWN)


def test_the_apis_of_another_project_are_not_those_of_the_control_plane() -> None:
    others = [(f"{at} of ads", kind, {**values, "project": "acme-ads"}) for at, kind, values in control_plane() if kind == APIS]
    assert [each.check for each in said(plan(*less(APIS), *others))] == ["api"]
    assert said(plan(*control_plane(), *others[:1])) == []


@pytest.mark.parametrize(
    ("firestore", "known"), [({"create": False}, True), ({"create": "false"}, True), ({}, False), ({"create": True}, False), (None, False)]
)
def test_a_database_that_a_variable_leaves_to_others_is_known(firestore: Json | None, known: bool) -> None:
    document = plan(*within(less(BASE))) | configured(
        {"firestore": firestore}, {"firestore": {"references": ["var.firestore"]}}, {"firestore": {"default": {}}}
    )
    assert [each.check for each in said(document)] == ([] if known else ["database"])


def test_another_database_than_the_functions_are_told_of_is_none_of_theirs() -> None:
    others = [(at, kind, {**values, "name": "shop"} if kind == BASE else values) for at, kind, values in control_plane()]
    assert [each.what for each in said(plan(*others))] == ["the Firestore database: not known"]


NO_BUCKETS = ("google_storage_notification", "google_storage_bucket_iam_member")


@pytest.mark.parametrize("buckets", [{}, {"acme-models": {}}])
def test_the_buckets_of_a_variable_are_missed_and_without_any_nothing_is(buckets: Json) -> None:
    document = plan(*within(less(*NO_BUCKETS))) | configured(
        {"model_buckets": buckets}, {"model_buckets": {"references": ["var.model_buckets"]}}, {"model_buckets": {"default": {}}}
    )
    told = "the bucket acme-models does not tell the topic trimtab-model-uploads of uploads"
    assert [each.what for each in said(document)] == ([told, "the grants on the buckets of models: not known"][::-1] if buckets else [])


def test_every_check_has_a_verdict_and_what_a_plan_does_not_hold_is_not_asked() -> None:
    found = verdicts(read_picture(plan(*control_plane())), ())
    assert set(found) == set(CHECKS)
    assert {check for check, verdict in found.items() if verdict is Verdict.NOT_ASKED} == {"quota", "clock", "owner", "service"}
    assert verdicts(read_picture(plan(*control_plane()), owned=(RANKER,)), ())["owner"] is Verdict.SILENT


def test_topics_may_begin_with_nothing() -> None:
    sink = "google_logging_project_sink"
    bare = [(at, kind, _bare(values) | ({"name": "trimtab-changes"} if kind == sink else {})) for at, kind, values in control_plane()]
    assert read_picture(plan(*bare)).topic_prefix == ""
    assert said(plan(*bare)) == []


def _bare(value: Any) -> Any:
    """Topics without their prefix, wherever they stand."""
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_bare(each) for each in value]
    names = ("alerts", "model-uploads", "commands", "changes", "ticks", "wakes", "events")
    for name in names if isinstance(value, str) else ():
        for ending in ("", "-dead-letters"):
            full = f"trimtab-{name}{ending}"
            if value in (full, f"projects/acme-ml/topics/{full}") or value.endswith(f".com/projects/acme-ml/topics/{full}"):
                return value.removesuffix(full) + f"{name}{ending}"
    return value


@pytest.mark.parametrize(
    ("address", "root"),
    [
        ('module.control_plane.module.function["a.b"].google_cloudfunctions2_function.main', "module.control_plane"),
        ("module.trimtab[0].google_cloudfunctions2_function.main", "module.trimtab"),
        ('google_cloudfunctions2_function.main["alert"]', "google_cloudfunctions2_function.main"),
    ],
)
def test_what_of_the_root_a_resource_is_in(address: str, root: str) -> None:
    assert root_of(address) == root


def test_an_input_is_followed_through_modules_up_to_the_root() -> None:
    inner = {"module": {"variables": {"x": {"default": 1}}}, "expressions": {"x": {"references": ["var.y"]}}}
    outer = {"module": {"variables": {"y": {}}, "module_calls": {"inner": inner}}, "expressions": {"y": {"references": ["var.z"]}}}
    root = {"variables": {"z": {"default": 3}}, "module_calls": {"outer": outer}}
    document = {"configuration": {"root_module": root}}
    assert Inputs(document).around('module.outer.module.inner["k"].a.b', "x") == 3
    assert Inputs(document | {"variables": {"z": {"value": 4}}}).around("module.outer.module.inner.a.b", "x") == 4
    assert Inputs(document).around("module.outer.module.inner.a.b", "nothing") is UNKNOWN


@pytest.mark.parametrize("expression", [[{"x": {}}], {"references": ["var.z.part", "var.z"]}, {"references": []}, {}])
def test_an_input_that_is_computed_is_not_known(expression: Any) -> None:
    inner = {"module": {"variables": {"x": {"default": 1}}}, "expressions": {"x": expression}}
    document = {"configuration": {"root_module": {"variables": {"z": {"default": 3}}, "module_calls": {"inner": inner}}}}
    assert Inputs(document).around("module.inner.a.b", "x") is UNKNOWN


JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["var.x", "delete", "false", "module_calls"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "root_module",
                    "module_calls",
                    "trimtab",
                    "module",
                    "variables",
                    "expressions",
                    "enable_apis",
                    "references",
                    "value",
                    "change",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["configuration", "variables", "resource_changes", "prior_state", "errored", "complete"]), JSON))
def test_whatever_stands_around_the_resources_the_plan_is_read_or_refused(around: Json) -> None:
    try:
        read_picture(plan(*within(control_plane())) | around)
    except NoPlanError:
        assert around.get("errored") is True or around.get("complete") is False
