"""A Terraform plan, read offline: what would be missing once it is applied, and which services two would write."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.deployment import FUNCTIONS, Agent
from shared.doctor.examining import examine
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NOT_ASKED
from shared.doctor.plan import read_picture
from shared.doctor.plan_whole import NoPlanError
from shared.records.subject import ServiceId
from tests.support.plans import Resource, control_plane, plan, service

RANKER = ServiceId.parse("acme-ml:europe-west1:ranker")


def found(
    *resources: Resource, owned: tuple[ServiceId, ...] = (), models: dict[ServiceId, str] | None = None, **options: Any
) -> list[Finding]:
    return list(examine(read_picture(plan(*resources, **options), owned=owned, models=models)))


def without(address: str) -> list[Resource]:
    left = [each for each in control_plane() if each[0] != address]
    assert len(left) == len(control_plane()) - 1
    return left


def changed(address: str, **values: Any) -> list[Resource]:
    return [(at, kind, {**each, **values} if at == address else each) for at, kind, each in control_plane()]


def test_a_whole_control_plane_has_no_finding() -> None:
    assert found(*control_plane()) == []


@pytest.mark.parametrize(
    ("resources", "check", "what"),
    [
        (without("api[run.googleapis.com]"), "api", "run.googleapis.com is not enabled"),
        (without("account.audit"), "account", "trimtab-audit@acme-ml.iam.gserviceaccount.com is missing"),
        (without("function.audit"), "function", "trimtab-audit is missing"),
        (changed("function.audit", build_config=[{"entry_point": "main"}]), "function", "entry point 'main'"),
        (without("topic.events"), "topic", "trimtab-events is missing"),
        (without("dead.alert"), "dead-letter", "trimtab-alerts-dead-letters is missing"),
        (without("kept.alert"), "dead-letter", "trimtab-alert-dead-letters is missing"),
        (changed("subscription.alert", dead_letter_policy=[]), "dead-letter", "trimtab-alert has no dead-letter topic"),
        (changed("subscription.alert", push_config=[{"oidc_token": []}]), "subscription", "pushes without a token"),
        (changed("subscription.alert", expiration_policy=[]), "subscription", "trimtab-alert expires"),
        (changed("subscription.alert", retry_policy=[]), "subscription", "no retry policy"),
        (changed("tick", paused=True), "tick", "trimtab-tick is PAUSED"),
        (without("tick"), "tick", "trimtab-tick is missing"),
        (without("sink"), "sink", "trimtab-changes is missing"),
        (changed("database", concurrency_mode="PESSIMISTIC"), "database", "PESSIMISTIC"),
        (changed("ttl.facts", ttl_config=[]), "ttl", "facts.expire_at"),
        (changed("index.state.next_look_at", index_config=[]), "index", "state.next_look_at"),
        (
            changed("invoker.command", member="allUsers"),
            "excess",
            "allUsers may call trimtab-command",
        ),
    ],
)
def test_a_part_that_is_missing_or_wrong_is_found_and_nothing_else_is(resources: list[Resource], check: str, what: str) -> None:
    said = found(*resources)
    assert {each.check for each in said} == {check}
    assert any(what in each.what for each in said), said


GRANTS = [address for address, kind, _ in control_plane() if kind.endswith("_iam_member")]


NOT_MISSED = {
    # Of these Terraform does not know yet who they are, and so not either whether they are one of the others.
    f"{Agent.LOGGING} roles/pubsub.publisher topic audit",
    f"{Agent.STORAGE} roles/pubsub.publisher topic upload",
    "command roles/pubsub.publisher topic audit",
    "command roles/pubsub.publisher topic upload",
    # What is served is in no plan that does not make it.
    "serving roles/storage.objectViewer model bucket ",
    "serving roles/monitoring.metricWriter served project ",
    "reconcile roles/iam.serviceAccountUser serving account ",
    "reconcile roles/artifactregistry.reader image repository ",
}


@pytest.mark.parametrize("address", GRANTS)
def test_a_grant_that_is_left_out_is_missed(address: str) -> None:
    (values,) = [values for at, _, values in control_plane() if at == address]
    said = found(*without(address))
    if address in NOT_MISSED:
        assert said == []
        return
    (lacks,) = said
    assert (lacks.check, lacks.level) == ("grant", Level.PROBLEM)
    assert lacks.what.startswith(f"{values['member'].removeprefix('serviceAccount:')} lacks {values['role']} on ")


def test_who_may_be_whom_terraform_does_not_know_yet_is_not_missed() -> None:
    address = "alert roles/pubsub.publisher topic reconcile"
    assert [each.check for each in found(*without(address))] == ["grant"]
    unknown = [
        (at, kind, {key: value for key, value in each.items() if key != "member"}) for at, kind, each in control_plane() if at == address
    ]
    assert found(*without(address), *unknown) == []
    for missing in ("topic", "role"):
        partly = [
            (at, kind, {key: value for key, value in each.items() if key != missing}) for at, kind, each in control_plane() if at == address
        ]
        assert found(*without(address), *partly) == []


def test_a_binding_grants_to_all_that_it_names() -> None:
    address = "alert roles/pubsub.publisher topic reconcile"
    (values,) = [each for at, _, each in control_plane() if at == address]
    members = ["user:ada@example.com", values["member"]]
    binding = {key: value for key, value in values.items() if key != "member"} | {"members": members}
    assert found(*without(address), ("binding", "google_pubsub_topic_iam_binding", binding)) == []


def test_so_does_a_policy_and_the_older_kind_of_grant_on_a_function() -> None:
    address = "alert roles/pubsub.publisher topic reconcile"
    (values,) = [each for at, _, each in control_plane() if at == address]
    member = values["member"]
    data = {"bindings": [{"role": "roles/pubsub.publisher", "members": ["user:ada@example.com", member]}]}
    policy = {"topic": values["topic"], "policy_data": json.dumps(data)}
    assert found(*without(address), ("policy", "google_pubsub_topic_iam_policy", policy)) == []
    unknown = {"topic": values["topic"]}
    assert found(*without(address), ("policy", "google_pubsub_topic_iam_policy", unknown)) == []
    other = {**policy, "policy_data": json.dumps({"bindings": [{**data["bindings"][0], "members": ["user:ada@example.com"]}]})}
    assert len(found(*without(address), ("policy", "google_pubsub_topic_iam_policy", other))) == 1
    for data_of_none in ("no json", "[]", '{"bindings": 7}'):
        assert len(found(*without(address), ("policy", "google_pubsub_topic_iam_policy", {**policy, "policy_data": data_of_none}))) == 1
    (called,) = [each for at, _, each in control_plane() if at == "invoker.alert"]
    older = {"location": called["location"], "service": called["name"], "role": called["role"], "member": called["member"]}
    assert found(*without("invoker.alert"), ("older", "google_cloud_run_service_iam_member", older)) == []


def test_a_condition_that_names_another_database_does_not_hold() -> None:
    address = "alert projects/{project}/roles/trimtabStoreAlert project "
    condition = [{"title": "x", "expression": 'resource.name == "projects/acme-ml/databases/other"'}]
    (said,) = found(*changed(address, condition=condition))
    assert said.what.endswith("lacks projects/acme-ml/roles/trimtabStoreAlert on the project acme-ml")
    assert found(*changed(address, condition=[{"title": "x"}])) == []  # of which Terraform does not know the words yet


def test_the_projects_number_is_that_of_the_plans_variables() -> None:
    document = plan(*control_plane(), number=None) | {"variables": {"project_number": {"value": "123456789012"}}}
    assert read_picture(document).number == 123_456_789_012
    for value in ("", "x", "1" * 30, None, "²"):
        assert read_picture(document | {"variables": {"project_number": {"value": value}}}).number == NOT_ASKED


def test_of_several_projects_the_numbers_may_stand_in_one_variable() -> None:
    numbers = {"variables": {"project_numbers": {"value": {"acme-ads": "5", "acme-ml": "123456789012"}}}}
    role = ("reader of ads", "google_project_iam_custom_role", {"project": "acme-ads", "role_id": "trimtabRunReader"})
    picture = read_picture(plan(*control_plane(), role, number=None) | numbers)
    assert {name: each.number for name, each in picture.projects.items()} == {"acme-ml": 123_456_789_012, "acme-ads": 5}


def test_a_number_that_is_not_known_hides_the_agents_grants_and_is_said() -> None:
    (said,) = found(*control_plane(), number=None)
    assert (said.check, said.level) == ("grant", Level.UNKNOWN)
    assert said.what == "the number of acme-ml, and so the grants of Google's agents: not known"
    assert said.mend.startswith("give it to the module as project_number (gcloud projects describe acme-ml says it), then plan again")


def test_or_the_number_is_the_one_that_terraform_looked_up() -> None:
    read = [
        {"mode": "data", "type": "google_project", "values": {"project_id": name, "number": number}}
        for name, number in (("acme-ads", "5"), ("acme-ml", "123456789012"))
    ]
    state = {"prior_state": {"format_version": "1.0", "values": {"root_module": {"resources": read}}}}
    assert read_picture(plan(*control_plane()) | state).number == 123_456_789_012


@pytest.mark.parametrize(
    ("resources", "level", "what"),
    [
        (without("notification"), Level.PROBLEM, "acme-models does not tell the topic trimtab-model-uploads of uploads"),
        (changed("notification", payload_format="NONE"), Level.WARNING, "acme-models tells of uploads with payload NONE"),
        (changed("notification", event_types=["OBJECT_DELETE", "OBJECT_ARCHIVE"]), Level.PROBLEM, "does not tell of OBJECT_FINALIZE"),
    ],
)
def test_a_bucket_that_reconcile_may_read_tells_of_uploads(resources: list[Resource], level: Level, what: str) -> None:
    (said,) = found(*resources)
    assert (said.check, said.level) == ("bucket", level)
    assert what in said.what


def test_a_bucket_that_tells_of_everything_tells_of_enough() -> None:
    assert found(*changed("notification", event_types=None)) == []


def test_the_bucket_of_a_spec_is_looked_at_whether_the_plan_names_it_or_not() -> None:
    assert found(*control_plane(), owned=(RANKER,), models={RANKER: "gs://acme-models/ranker"}) == []
    tells, lacks = found(*control_plane(), owned=(RANKER,), models={RANKER: "gs://acme-other/ranker"})
    assert tells.what == "the bucket acme-other does not tell the topic trimtab-model-uploads of uploads"
    assert lacks.what == "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/storage.objectViewer on the bucket acme-other"
    (prefix,) = found(*changed("notification", object_name_prefix="scorer/"), owned=(RANKER,), models={RANKER: "gs://acme-models/ranker"})
    assert prefix.what.endswith("tells of scorer/... alone, and the model of acme-ml:europe-west1:ranker lies in ranker")


def test_a_spec_of_a_project_that_the_plan_does_not_serve_is_left_alone() -> None:
    other = ServiceId.parse("acme-ads:europe-west1:ranker")
    assert found(*control_plane(), owned=(other,), models={other: "gs://acme-other/ranker"}) == []


def test_each_project_that_the_plan_serves_has_its_sink_and_its_grants() -> None:
    role = ("reader of ads", "google_project_iam_custom_role", {"project": "acme-ads", "role_id": "trimtabRunReader"})
    said = [each.what for each in found(*control_plane(), role)]
    assert said[:2] == [
        "no channel of acme-ads leads to the topic trimtab-alerts",
        "the number of acme-ads, and so the grants of Google's agents: not known",
    ]
    assert said[-1] == "the log sink trimtab-changes of acme-ads is missing"
    assert said[2:-1] == [
        f"trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks {each} on the project acme-ads"
        for each in ("projects/acme-ads/roles/trimtabRunReader", "roles/logging.viewer", "roles/monitoring.viewer")
    ]


def test_a_control_plane_that_serves_nothing_has_no_sink_of_changes_which_is_said_once() -> None:
    served = {"sink", "channel", "role.trimtabRunReader", "role.trimtabRunUpdater"}
    only = [each for each in control_plane() if each[0] not in served and each[2].get("role") != "projects/acme-ml/roles/trimtabRunReader"]
    (said,) = found(*only)
    assert (said.check, said.level, said.what) == (
        "sink",
        Level.UNKNOWN,
        "which projects are served, and what they tell Trimtab: not known",
    )


@pytest.mark.parametrize("left", ["sink", "role.trimtabRunReader", "reconcile projects/{project}/roles/trimtabRunReader served project "])
def test_a_project_is_served_where_one_part_of_it_is_there(left: str) -> None:
    served = {"sink", "role.trimtabRunReader", "reconcile projects/{project}/roles/trimtabRunReader served project "}
    picture = read_picture(plan(*(each for each in control_plane() if each[0] == left or each[0] not in served)))
    assert picture.served == ("acme-ml",)


def with_switch(**settings: str) -> list[Resource]:
    """The plan whose functions have these settings."""
    found: list[Resource] = []
    for at, kind, values in control_plane():
        if kind != "google_cloudfunctions2_function":
            found.append((at, kind, values))
            continue
        (config,) = values["service_config"]
        variables = {**config["environment_variables"], **settings}
        found.append((at, kind, {**values, "service_config": [{**config, "environment_variables": variables}]}))
    return found


def test_what_a_plan_switches_on_needs_its_apis_and_roles() -> None:
    said = found(*with_switch(TRIMTAB_PROFILER="true"))
    assert [each.what for each in said if each.check == "api"] == ["cloudprofiler.googleapis.com is not enabled"]
    assert [each.what.split(" on ")[0] for each in said if each.check == "grant"] == [
        f"trimtab-{name}@acme-ml.iam.gserviceaccount.com lacks roles/cloudprofiler.agent" for name in FUNCTIONS
    ]
    assert found(*with_switch(TRIMTAB_PROFILER="false", TRIMTAB_TRACE_RATIO="0")) == []


def test_what_a_plan_knows_only_after_apply_is_not_taken_for_missing() -> None:
    (service_config,) = next(values for at, _, values in control_plane() if at == "function.alert")["service_config"]
    unsaid = {**service_config, "environment_variables": {"TRIMTAB_WAKES_TOPIC": "trimtab-wakes"}}
    assert found(*changed("function.alert", service_config=[unsaid])) == []
    wrong = {**service_config, "environment_variables": {"FUNCTION_SOURCE": "main.py"}}
    (said,) = found(*changed("function.alert", service_config=[wrong]))
    assert said.what == "trimtab-alert: FUNCTION_SOURCE is 'main.py'"


def test_a_service_with_a_spec_that_terraform_writes_too_is_told_what_to_ignore() -> None:
    (said,) = found(service(), owned=(RANKER,))
    assert (said.check, said.level) == ("owner", Level.WARNING)
    assert "google_cloud_run_v2_service.ranker" in said.what
    assert said.mend.splitlines() == [
        "lifecycle {",
        "  ignore_changes = [",
        *(f"    {name}," for name in ("client", "client_version", "scaling", "template", "traffic")),
        "  ]",
        "}",
    ]


def test_a_plan_that_would_change_what_trimtab_owns_is_a_problem() -> None:
    address, _, values = service()
    update = {"actions": ["update"], "before": {**values, "template": []}, "after": values}
    (said,) = found(service(), owned=(RANKER,), changes={address: update})
    assert (said.level, said.what.rpartition(": ")[2]) == (Level.PROBLEM, "this plan changes template")


def test_a_plan_that_changes_only_what_is_terraforms_is_no_problem_yet() -> None:
    address, _, values = service()
    update = {"actions": ["update"], "before": {**values, "description": "old"}, "after": {**values, "description": "new"}}
    (said,) = found(service(), owned=(RANKER,), changes={address: update})
    assert said.level is Level.WARNING


def test_the_older_resource_has_its_own_words() -> None:
    spec = {"containers": [{"image": "tensorflow/serving:2.19.1-gpu"}]}
    values = {"project": "acme-ml", "location": "europe-west1", "name": "ranker", "template": [{"spec": [spec]}]}
    (said,) = found(("google_cloud_run_service.ranker", "google_cloud_run_service", values), owned=(RANKER,))
    assert "metadata[0].annotations," in said.mend


def test_a_service_of_nobody_with_a_spec_is_left_alone() -> None:
    assert found(service("other"), owned=(RANKER,)) == []


def test_an_alert_policy_on_a_metric_that_does_not_exist() -> None:
    condition = {"condition_threshold": [{"filter": 'metric.type="run.googleapis.com/container/cpu/utilization"'}]}
    policy = ("p", "google_monitoring_alert_policy", {"display_name": "cpu", "conditions": [condition]})
    (said,) = found(*control_plane(), policy)
    assert (said.check, said.mend) == ("metric", "name run.googleapis.com/container/cpu/utilizations in the policy")


def test_a_state_is_read_as_well() -> None:
    document = plan(*control_plane())
    read = document["prior_state"]["values"]["root_module"]["resources"]
    root = {**document["planned_values"]["root_module"], "resources": read}
    assert examine(read_picture({"values": {"root_module": root}})) == ()


@pytest.mark.parametrize("document", [{}, {"planned_values": 3}, {"resource_changes": []}])
def test_what_is_no_plan_is_said(document: dict[str, Any]) -> None:
    with pytest.raises(NoPlanError, match="terraform show -json PLAN"):
        read_picture(document)


def with_settings(**values: str) -> list[Resource]:
    (config,) = next(each for at, _, each in control_plane() if at == "function.command")["service_config"]
    return changed("function.command", service_config=[{**config, "environment_variables": {**config["environment_variables"], **values}}])


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"TRIMTAB_COMMAND_GRANTS": "[]"}, "names nobody"),
        ({"TRIMTAB_COMMAND_GRANTS": '[{"identity": "ada@example.com"}]'}, "TRIMTAB_COMMAND_GRANTS: 0.commands: Field required"),
        ({"TRIMTAB_PUSH_SERVICE_ACCOUNT": "x@y"}, "TRIMTAB_PUSH_SERVICE_ACCOUNT is 'x@y'"),
        ({"TRIMTAB_ALLOWED_IMAGES": "a b"}, "trimtab-command refuses its environment: TRIMTAB_ALLOWED_IMAGES"),
    ],
)
def test_the_settings_of_a_plan_are_read_as_the_functions_read_them(values: dict[str, str], says: str) -> None:
    (said,) = found(*with_settings(**values))
    assert said.check == "setting"
    assert says in said.what


def test_a_plan_says_that_no_collector_sends_what_its_alerts_read() -> None:
    query = 'sum(rate(:tensorflow:serving:request_count{namespace="ranker"}[1m])) > 0'
    labels = {"trimtab_service": "ranker", "trimtab_region": "europe-west1", "trimtab_signal": "thread-gap"}
    condition = {"condition_prometheus_query_language": [{"query": query}]}
    policy = ("p", "google_monitoring_alert_policy", {"display_name": "gap", "user_labels": labels, "conditions": [condition]})
    (said,) = found(*control_plane(), policy, service())
    assert (said.check, said.level) == ("sidecar", Level.WARNING)
    assert said.what.endswith("thread-gap")
    assert found(*control_plane(), policy) == []


INNER = {"oidc_token", "members", "expression", "indexes", "order", "query_scope", "source", "ttl"}
NAMES = sorted({name for _, _, values in control_plane() for name in values} | INNER)
KINDS = sorted({kind for _, kind, _ in control_plane()})
TEXTS = st.sampled_from(
    ["", "acme-ml", "trimtabRunReader", "roles/storage.objectViewer", "trimtab-alert", "roles/x", "serviceAccount:x", "a/b/c"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), JSON)), max_size=4))
def test_whatever_the_values_are_the_plan_is_read(resources: list[tuple[str, dict[str, Any]]]) -> None:
    extra = [(f"x[{at}]", kind, values) for at, (kind, values) in enumerate(resources)]
    said = examine(read_picture(plan(*control_plane(), *extra), owned=(RANKER,)))
    assert json.dumps([each.what for each in said]) is not None
