"""Who has which roles, in the project, above it and in others: what reaches, what is missed, and what could not be seen."""

from typing import Any

import pytest

from shared.clock import SystemClock
from shared.deployment import APIS
from shared.doctor.access import Layer, judged, standing
from shared.doctor.examining import examine
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import Binding, NotSeen, Repository
from shared.gcp.project_look import look
from shared.gcp.project_parts import ancestors_of, policy_of, repository_of
from tests.support.google_project import PROJECT, GoogleProject, of_several_projects, with_a_collector
from tests.support.json_door import JsonDoor
from tests.support.project_faults import switched


def found(project: GoogleProject) -> list[Finding]:
    with JsonDoor(project.answer) as door:
        return list(examine(look(PROJECT, SystemClock(), endpoint=door.endpoint)))


def said_of(project: GoogleProject) -> list[str]:
    return [f"{each.level}: {each.what}" for each in found(project)]


def test_a_model_in_another_project_asks_nothing_of_the_control_planes_own() -> None:
    """There is no sink in it, nor a role of reconcile on it."""
    project = of_several_projects()
    assert project.sink is None
    assert "roles/logging.viewer" not in project.policies["project"]
    assert found(project) == []


OTHERS: dict[str, tuple[Any, str, str, str]] = {
    "no sink": (
        lambda project: project.sinks.clear(),
        "sink",
        "the log sink trimtab-changes of acme-ads is missing",
        "add the module served-project for acme-ads, as terraform/examples/several-projects does, and apply",
    ),
    "a disabled sink": (
        lambda project: project.sinks["acme-ads"].update(disabled=True),
        "sink",
        "the log sink trimtab-changes of acme-ads is disabled",
        "gcloud logging sinks update trimtab-changes --no-disabled --project=acme-ads",
    ),
    "a sink to its own project": (
        lambda project: project.sinks["acme-ads"].update(destination="pubsub.googleapis.com/projects/acme-ads/topics/trimtab-changes"),
        "sink",
        "writes to pubsub.googleapis.com/projects/acme-ads/topics/trimtab-changes, not to the topic trimtab-changes of acme-ml",
        "add the module served-project for acme-ads",
    ),
    "its bucket tells nothing": (
        lambda project: project.notifications.clear(),
        "bucket",
        "the bucket acme-models does not tell the topic trimtab-model-uploads of uploads",
        "name acme-models in model_buckets of the module served-project for acme-ads, as terraform/examples/several-projects does",
    ),
    "its sink may not publish": (
        lambda project: project.policies["topics/trimtab-changes"]["roles/pubsub.publisher"].remove(
            "serviceAccount:service-987654321098@gcp-sa-logging.iam.gserviceaccount.com"
        ),
        "grant",
        "service-987654321098@gcp-sa-logging.iam.gserviceaccount.com lacks roles/pubsub.publisher on the topic trimtab-changes",
        "gcloud pubsub topics add-iam-policy-binding trimtab-changes",
    ),
    "its alerts may not publish": (
        lambda project: project.policies["topics/trimtab-alerts"]["roles/pubsub.publisher"].remove(
            "serviceAccount:service-987654321098@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
        ),
        "grant",
        "service-987654321098@gcp-sa-monitoring-notification.iam.gserviceaccount.com lacks roles/pubsub.publisher",
        "gcloud pubsub topics add-iam-policy-binding trimtab-alerts",
    ),
    "reconcile may not read its logs": (
        lambda project: project.policies["projects/acme-ads"].pop("roles/logging.viewer"),
        "grant",
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/logging.viewer on the project acme-ads",
        "--role=roles/logging.viewer --project=acme-ads",
    ),
    "an editor of it": (
        lambda project: project.policies["projects/acme-ads"].update(
            {"roles/editor": {"serviceAccount:trimtab-reconcile@acme-ml.iam.gserviceaccount.com"}}
        ),
        "excess",
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com has roles/editor on the project acme-ads",
        "gcloud projects remove-iam-policy-binding acme-ads",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_fault_in_another_project_is_found_once(name: str) -> None:
    change, check, what, mend = OTHERS[name]
    project = of_several_projects()
    change(project)
    (said,) = found(project)
    assert (said.check, said.level) == (check, Level.PROBLEM)
    assert what in said.what
    assert mend in said.mend


@pytest.mark.parametrize(
    ("path", "permission"),
    [
        ("projects/acme-ads/sinks/", "logging.sinks.get"),
        ("/v3/projects/acme-ads$", "resourcemanager.projects.get"),
        ("/v3/projects/acme-ads:getIamPolicy$", "resourcemanager.projects.getIamPolicy"),
        ("projects/acme-ads/locations/.*/services/ranker$", "run.services.get"),
    ],
)
def test_what_is_refused_in_another_project_is_unknown(path: str, permission: str) -> None:
    project = of_several_projects()
    project.refused[path] = (403, "The caller does not have permission")
    said = found(project)
    assert {each.level for each in said} == {Level.UNKNOWN}
    assert all(permission in each.mend for each in said)


def test_what_a_role_on_the_control_planes_project_allows_does_not_reach_another() -> None:
    project = of_several_projects()
    moved = project.policies["services/ranker"].pop("projects/acme-ads/roles/trimtabRunUpdater")
    project.policies["project"]["roles/run.developer"] = moved
    (said,) = said_of(project)
    assert said.endswith("lacks projects/acme-ads/roles/trimtabRunUpdater on the service acme-ads:europe-west1:ranker")


def test_before_there_is_a_spec_the_allow_list_says_what_is_served() -> None:
    project = of_several_projects()
    project.specs.clear()
    for function in project.functions.values():
        function["serviceConfig"]["environmentVariables"]["TRIMTAB_ALLOWED_PROJECTS"] = "acme-ads,acme-test-*"
    assert found(project) == []
    project.sinks.clear()
    assert said_of(project) == ["problem: the log sink trimtab-changes of acme-ads is missing"]


def test_what_is_allowed_beside_the_control_planes_own_project_need_not_be_there_yet() -> None:
    project = GoogleProject(specs={})
    project.refused["projects/acme-ads"] = (404, "no such project")
    for function in project.functions.values():
        function["serviceConfig"]["environmentVariables"]["TRIMTAB_ALLOWED_PROJECTS"] = "acme-*,acme-ads"
    assert found(project) == []


def test_a_role_of_a_folder_or_of_the_organization_counts() -> None:
    project = GoogleProject()
    member = project.policies["project"].pop("roles/logging.viewer")
    project.policies["folders/456"]["roles/viewer"] |= member
    project.policies["organizations/789"]["roles/storage.admin"] = project.policies["buckets/acme-models"].pop("roles/storage.objectViewer")
    assert found(project) == []


def test_a_project_without_an_organization_is_seen_whole() -> None:
    assert found(GoogleProject(above=[])) == []


def test_what_stands_above_and_is_refused_is_said_once() -> None:
    project = GoogleProject()
    project.refused["/(folders|organizations)/"] = (403, "The caller does not have permission")
    (said,) = found(project)
    assert (said.check, said.level) == ("excess", Level.UNKNOWN)
    assert said.what == "what folders/456 and organizations/789 grant in the project: not known"
    assert said.mend == (
        "ask for a role with resourcemanager.folders.getIamPolicy: roles/iam.securityReviewer on the organization has it; "
        "--no-inherited leaves such grants out"
    )


def test_a_role_that_may_come_from_above_is_missing_as_far_as_could_be_seen() -> None:
    project = GoogleProject()
    project.refused["/organizations/"] = (403, "The caller does not have permission")
    project.policies["project"].pop("roles/logging.viewer")
    lacks, above = found(project)
    assert lacks.level is Level.PROBLEM
    assert lacks.what == (
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/logging.viewer on the project acme-ml, as far as could be seen"
    )
    assert lacks.why.endswith("; the grants of organizations/789 were not seen, and hold here as well")
    assert above.what == "what organizations/789 grants in the project: not known"


def test_who_may_be_in_a_group_that_has_the_role_is_said() -> None:
    project = GoogleProject()
    project.policies["project"]["roles/logging.viewer"] = {"group:readers@example.com"}
    (said,) = found(project)
    assert (said.level, said.what) == (
        Level.UNKNOWN,
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com may lack roles/logging.viewer on the project acme-ml",
    )
    assert said.why.endswith("; unless it is in group:readers@example.com, which has roles/logging.viewer on the project acme-ml")


def test_a_role_of_ones_own_may_hold_what_is_missing() -> None:
    project = GoogleProject()
    project.policies["project"]["projects/acme-ml/roles/readsAll"] = project.policies["project"].pop("roles/logging.viewer")
    (said,) = found(project)
    assert said.level is Level.UNKNOWN
    assert said.why.endswith("; what its projects/acme-ml/roles/readsAll on the project acme-ml allows is not looked at")


def test_who_is_an_editor_reads_the_buckets_that_were_made_with_that_grant() -> None:
    """As Compute Engine's own account often is and does."""
    project = GoogleProject()
    project.policies["buckets/acme-models"]["roles/storage.objectViewer"].remove("serviceAccount:serving@acme-ml.iam.gserviceaccount.com")
    project.policies["project"]["roles/editor"] = {"serviceAccount:serving@acme-ml.iam.gserviceaccount.com"}
    said = "problem: serving@acme-ml.iam.gserviceaccount.com lacks roles/storage.objectViewer on the bucket acme-models"
    assert said_of(project) == [said]
    for role in ("roles/storage.legacyBucketOwner", "roles/storage.legacyObjectOwner"):
        project.policies["buckets/acme-models"][role] = {"projectEditor:acme-ml"}
    assert found(project) == []
    del project.policies["buckets/acme-models"]["roles/storage.legacyBucketOwner"]
    assert said_of(project) == [said]  # it could read a file, and not find it


def test_a_condition_on_a_bucket_is_judged_by_the_buckets_name() -> None:
    project = GoogleProject()
    at = ("buckets/acme-models", "roles/storage.objectViewer")
    project.conditions[at] = 'resource.name.startsWith("projects/_/buckets/acme-models")'
    assert found(project) == []
    project.conditions[at] = 'resource.name.startsWith("projects/_/buckets/acme-models/objects/models/")'
    assert {each.level for each in found(project)} == {Level.UNKNOWN}
    project.conditions[at] = 'resource.name.startsWith("projects/_/buckets/acme-logs")'
    assert {each.level for each in found(project)} == {Level.PROBLEM}


def test_a_bucket_that_lies_elsewhere_is_reached_by_the_grants_of_its_own_project() -> None:
    project = GoogleProject()
    project.buckets["acme-models"] = {"projectNumber": "555"}
    project.numbers["acme-data"] = 555
    project.policies["projects/555"] = {"roles/storage.admin": project.policies["buckets/acme-models"].pop("roles/storage.objectViewer")}
    agent = "service-555@gs-project-accounts.iam.gserviceaccount.com"
    assert said_of(project) == [f"problem: {agent} lacks roles/pubsub.publisher on the topic trimtab-model-uploads"]
    project.policies["topics/trimtab-model-uploads"]["roles/pubsub.publisher"].add(f"serviceAccount:{agent}")
    assert found(project) == []
    project.refused["/v3/projects/555:getIamPolicy$"] = (403, "The caller does not have permission")
    (said,) = found(project)
    assert (said.level, said.what) == (Level.UNKNOWN, "the grants on the project of the bucket acme-models: not known")


def test_a_bucket_whose_own_grants_suffice_needs_no_look_at_its_project() -> None:
    project = GoogleProject()
    project.buckets["acme-models"] = {"projectNumber": "555"}
    agent = "serviceAccount:service-555@gs-project-accounts.iam.gserviceaccount.com"
    project.policies["topics/trimtab-model-uploads"]["roles/pubsub.publisher"].add(agent)
    project.refused["projects/555"] = (403, "The caller does not have permission")
    assert found(project) == []


def test_models_that_share_a_bucket_ask_for_it_once() -> None:
    project = GoogleProject()
    project.specs |= {f"acme-ml:europe-west1:ranker-{at}": "gs://acme-models/models/ranker" for at in range(9)}
    with JsonDoor(project.answer) as door:
        look(PROJECT, SystemClock(), endpoint=door.endpoint)
    assert sum("storage.googleapis.com" in asked.path for asked in door.seen) == 3


def test_images_that_everybody_may_read_are_not_asked_after() -> None:
    with JsonDoor(with_a_collector().answer) as door:
        look(PROJECT, SystemClock(), endpoint=door.endpoint)
    asked = {each.path.rpartition("/repositories/")[2] for each in door.seen if "artifactregistry" in each.path}
    assert asked == {"serving:getIamPolicy", "trimtab:getIamPolicy"}


def test_switched_off_nothing_of_it_is_asked_and_switched_on_all_of_it() -> None:
    project = GoogleProject()
    switched(project, PROFILER="true", TRACE_RATIO="0.05")
    assert found(project) == []
    project.apis -= {"cloudprofiler.googleapis.com", "cloudtrace.googleapis.com", "telemetry.googleapis.com"}
    for role in ("roles/cloudprofiler.agent", "roles/telemetry.tracesWriter", "roles/serviceusage.serviceUsageConsumer"):
        project.policies["project"].pop(role)
    said = found(project)
    assert sum(each.check == "api" for each in said) == 3
    assert sum(each.check == "grant" for each in said) == 3 * 6


def test_what_one_function_has_switched_on_is_asked_of_that_one() -> None:
    project = GoogleProject(apis={*APIS, "cloudprofiler.googleapis.com"})
    project.functions["reconcile"]["serviceConfig"]["environmentVariables"]["TRIMTAB_PROFILER"] = "true"
    differs, lacks = said_of(project)
    assert differs.startswith("warning: TRIMTAB_PROFILER is on for trimtab-reconcile; off for trimtab-alert, trimtab-upload,")
    assert lacks == "problem: trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/cloudprofiler.agent on the project acme-ml"


BUCKET = "projects/_/buckets/acme-models"


@pytest.mark.parametrize(
    ("condition", "resource", "holds"),
    [
        (f'resource.name == "{BUCKET}"', BUCKET, True),
        (f"resource.name=='{BUCKET}'", BUCKET, True),
        (f'resource.name.startsWith("{BUCKET}")', BUCKET, True),
        ('resource.name.startsWith("projects/_/buckets/")', BUCKET, True),
        ('resource.name == "projects/_/buckets/"', BUCKET, False),
        ('resource.name == "projects/_/buckets/acme-logs"', BUCKET, False),
        ('resource.name.startsWith("projects/_/buckets/acme-logs")', BUCKET, False),
        (f'resource.name.startsWith("{BUCKET}/objects/ranker/")', BUCKET, None),
        (f'resource.name == "{BUCKET}"', None, None),
        (f'!(resource.name == "{BUCKET}")', BUCKET, None),
        (f'resource.name == "{BUCKET}" && request.time < timestamp("2026-12-24T00:00:00Z")', BUCKET, None),
        (f'resource.name == "{BUCKET}" || true', BUCKET, None),
        ('request.time < timestamp("2026-12-24T00:00:00Z")', BUCKET, None),
        ("", BUCKET, None),
    ],
)
def test_a_condition_is_judged_where_it_is_about_the_name_alone(condition: str, resource: str | None, holds: bool | None) -> None:
    assert judged(condition, resource) is holds


def test_of_several_bindings_the_one_that_holds_decides() -> None:
    me, role = "serviceAccount:a@acme-ml.iam.gserviceaccount.com", "roles/storage.objectViewer"
    until = Binding(role, frozenset({me}), 'request.time < timestamp("2026-12-24T00:00:00Z")')
    elsewhere = Binding(role, frozenset({me}), 'resource.name == "projects/_/buckets/acme-logs"')
    always = Binding(role, frozenset({me}))
    on = "the bucket acme-models"
    assert standing(role, me, [Layer(on, (until, elsewhere, always))], resource=BUCKET).held
    unsure = standing(role, me, [Layer(on, (until, elsewhere))], resource=BUCKET)
    assert (unsure.held, unsure.condition) == (False, until.condition)
    not_here = standing(role, me, [Layer(on, (elsewhere,))], resource=BUCKET)
    assert (not_here.held, not_here.condition) == (False, None)
    assert not_here.hints == (f"on {on} it has the role for something else alone ({elsewhere.condition})",)


@pytest.mark.parametrize("member", ["allUsers", "allAuthenticatedUsers"])
def test_what_everybody_has_everybody_has(member: str) -> None:
    policy = (Binding("roles/storage.objectViewer", frozenset({member})),)
    assert standing("roles/storage.objectViewer", "serviceAccount:a@b", [Layer("the bucket acme-models", policy)]).held


def test_a_deleted_account_of_the_same_name_has_nothing() -> None:
    """Google keeps the roles of an account that was deleted for that one, not for the one that was made after it."""
    policy = (Binding("roles/logging.viewer", frozenset({"deleted:serviceAccount:a@b?uid=123"})),)
    assert not standing("roles/logging.viewer", "serviceAccount:a@b", [Layer("the project acme-ml", policy)]).held


def test_a_condition_that_is_not_shown_is_one_nevertheless() -> None:
    """As in the first version of a policy, where the role has a name that there is none of."""
    shown = {"bindings": [{"role": "roles/logging.viewer_withcond_2b17cc25d2cd9e2c54d8", "members": ["serviceAccount:a@b"]}]}
    policy = policy_of(shown)
    assert not isinstance(policy, NotSeen)
    (binding,) = policy
    assert (binding.role, binding.condition) == ("roles/logging.viewer", "")


@pytest.mark.parametrize("answer", [{}, {"ancestor": 3}, {"ancestor": [None, {"resourceId": []}, {"resourceId": {"type": "folder"}}]}])
def test_ancestors_that_are_none(answer: Any) -> None:
    assert ancestors_of(answer) == ()


def test_ancestors_are_named_as_their_apis_name_them() -> None:
    ids = [{"type": "project", "id": "acme-ml"}, {"type": "folder", "id": "456"}, {"type": "organization", "id": "789"}]
    assert ancestors_of({"ancestor": [{"resourceId": each} for each in ids]}) == ("folders/456", "organizations/789")


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("europe-west1-docker.pkg.dev/acme-ml/serving/tf-serving:2.19.1-gpu", Repository("acme-ml", "europe-west1", "serving")),
        ("us-docker.pkg.dev/acme-ml/serving/tools/tf@sha256:00", Repository("acme-ml", "us", "serving")),
        ("europe-docker.pkg.dev/example.com/acme-ml/serving/tf:1", Repository("example.com:acme-ml", "europe", "serving")),
        ("tensorflow/serving:2.19.1-gpu", None),
        ("gcr.io/acme-ml/tf-serving:1", None),
        ("europe-docker.pkg.dev/acme-ml/serving", None),
        ("evil.example/europe-docker.pkg.dev/acme-ml/serving/tf:1", None),
    ],
)
def test_the_repository_of_an_image(image: str, repository: Repository | None) -> None:
    assert repository_of(image) == repository


def test_a_repositorys_name_is_how_images_begin() -> None:
    assert str(Repository("example.com:acme-ml", "europe", "serving")) == "europe-docker.pkg.dev/example.com/acme-ml/serving"
