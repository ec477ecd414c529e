"""A project over Google's APIs: what is broken in it is found, what is refused is said, and nothing else is."""

import json
import shlex
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from shared.clock import SystemClock
from shared.deployment import On, grants
from shared.doctor import rules_grants
from shared.doctor.examining import examine
from shared.doctor.finding import Finding, Level
from shared.doctor.needed import Need, needed
from shared.doctor.picture import Picture
from shared.gcp import project_methods
from shared.gcp.project_calls import Method, NoCredentialsError, ProjectCalls
from shared.gcp.project_look import look
from shared.rendering import collector_file
from tests.support import gcloud_parser
from tests.support.google_project import AT, PROJECT, GoogleProject, with_a_collector
from tests.support.json_door import Asked, JsonDoor
from tests.support.project_faults import FAULTS, QUEUE_FULL

METHODS = [each for each in vars(project_methods).values() if isinstance(each, Method)]


def found(project: GoogleProject, **options: Any) -> list[Finding]:
    with JsonDoor(project.answer) as door:
        return list(examine(look(PROJECT, SystemClock(), endpoint=door.endpoint, **options)))


def test_a_whole_deployment_has_no_finding() -> None:
    assert found(GoogleProject()) == []


def test_nothing_is_written() -> None:
    """Every call is a reading method; the POSTs are those that ask for a policy."""
    with JsonDoor(GoogleProject().answer) as door:
        look(PROJECT, SystemClock(), endpoint=door.endpoint)
        assert {asked.method for asked in door.seen} == {"GET", "POST"}
        assert all(asked.path.endswith((":getIamPolicy", ":getAncestry")) for asked in door.seen if asked.method == "POST")


@cache
def of_fault(name: str) -> tuple[Finding, ...]:
    project = GoogleProject()
    FAULTS[name][0](project)
    return tuple(found(project))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_with_what_mends_it_and_nothing_else_is(name: str) -> None:
    _, check, level, what, mend = FAULTS[name]
    said = of_fault(name)
    assert {each.check for each in said} == {check}, said
    matching = [each for each in said if what in each.what]
    assert matching, said
    assert matching[0].level is level
    assert mend in matching[0].mend
    assert matching[0].why


def test_a_function_that_is_gone_is_missed_with_its_rights_left_alone() -> None:
    project = GoogleProject()
    del project.functions["audit"]
    assert [(each.check, each.what) for each in found(project)] == [("function", "the function trimtab-audit is missing")]


def test_another_prefix_of_topics_is_read_from_the_functions() -> None:
    project = GoogleProject()
    for function in project.functions.values():
        variables = function["serviceConfig"]["environmentVariables"]
        variables.update({name: f"x-{value}" for name, value in variables.items() if name.endswith("_TOPIC")})
    said = [each.what for each in found(project) if each.check == "topic"]
    assert said[0] == "the topic x-trimtab-alerts is missing"


def test_a_wider_role_or_one_on_the_project_is_enough() -> None:
    project = GoogleProject()
    pubsub = project.policies["topics/trimtab-alerts-dead-letters"].pop("roles/pubsub.publisher")
    project.policies["topics/trimtab-alerts-dead-letters"]["roles/pubsub.admin"] = pubsub
    project.policies["subscriptions/trimtab-alert"].pop("roles/pubsub.subscriber")
    project.policies["project"]["roles/pubsub.editor"] = pubsub
    assert found(project) == []


def test_the_archive_that_was_given_is_compared_by_its_content() -> None:
    assert found(GoogleProject(), archive="trimtab-0.1.0-0123456789abcdef.zip") == []
    (said,) = found(GoogleProject(), archive="trimtab-0.1.0-ffffffffffffffff.zip")
    assert (said.check, said.level) == ("version", Level.WARNING)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_refused_call_names_the_permission_and_nothing_is_taken_for_healthy_or_broken(method: Method) -> None:
    project = GoogleProject()
    project.refused[_path_of(method)] = (403, "The caller does not have permission")
    if method is project_methods.PROJECT:
        project.refused[_path_of(project_methods.ENABLED)] = (403, "The caller does not have permission")
    said = found(project)
    assert {each.level for each in said} == {Level.UNKNOWN}
    assert any(method.permission in each.mend and method.name in each.why for each in said), said


def _path_of(method: Method) -> str:
    """A pattern of the paths of a method, host included."""
    name = method.name
    ends = {
        "serviceusage.services.list": "/services$",
        "cloudresourcemanager.projects.get": f"/v3/{AT}$",
        "cloudresourcemanager.projects.getIamPolicy": f"/v3/{AT}:getIamPolicy$",
        "cloudresourcemanager.projects.getAncestry": ":getAncestry$",
        "cloudresourcemanager.folders.getIamPolicy": "/folders/456:getIamPolicy$",
        "cloudresourcemanager.organizations.getIamPolicy": "/organizations/789:getIamPolicy$",
        "storage.buckets.get": "/b/acme-models$",
        "storage.buckets.getIamPolicy": "/b/acme-models/iam$",
        "storage.notifications.list": "/notificationConfigs$",
        "artifactregistry.projects.locations.repositories.getIamPolicy": "/repositories/[a-z]+:getIamPolicy$",
        "firestore.projects.databases.get": r"/databases/\(default\)$",
        "run.projects.locations.services.get": "/services/ranker$",
        "run.projects.locations.services.getIamPolicy": "/services/[a-z-]+:getIamPolicy$",
        "cloudscheduler.projects.locations.jobs.get": "/jobs/trimtab-tick$",
        "logging.projects.sinks.get": "/sinks/trimtab-changes$",
        "firestore.projects.databases.documents.list": "/documents/services$",
        "pubsub.projects.topics.getIamPolicy": "/topics/[a-z-]+:getIamPolicy$",
        "pubsub.projects.subscriptions.getIamPolicy": "/subscriptions/[a-z-]+:getIamPolicy$",
        "iam.projects.serviceAccounts.getIamPolicy": "/serviceAccounts/[^/]+:getIamPolicy$",
    }
    return f"^{method.host}.*" + ends.get(name, f"/{name.split('.')[-2]}$")


def test_an_api_that_is_off_is_no_missing_permission() -> None:
    project = GoogleProject()
    text = "Cloud Quotas API has not been used in project 123456789012 before or it is disabled."
    project.refused["^cloudquotas"] = (403, text)
    (said,) = found(project)
    assert (said.check, said.level) == ("quota", Level.UNKNOWN)
    assert text in said.why
    assert said.mend == "gcloud services enable cloudquotas.googleapis.com --project=123456789012"


@pytest.mark.parametrize("status", [400, 404, 409, 429, 500, 503])
def test_whatever_every_call_answers_nothing_is_raised_and_nothing_is_healthy(status: int) -> None:
    project = GoogleProject()
    project.refused["."] = (status, "no")
    said = found(project)
    assert {each.check for each in said} >= {"api", "function", "topic", "subscription", "grant"}
    assert all(each.level is Level.UNKNOWN or each.check in {"database", "sink"} for each in said)


STRANGE = {
    "documents": [{"name": "x/acme-ml:europe-west1:ranker", "fields": {"model_uri": {"stringValue": "gs://acme-models"}}}, 3],
    "items": [7, {"event_types": 3, "topic": 4, "object_name_prefix": []}],
    "projectNumber": 5,
    "ancestor": [{"resourceId": 1}, {"resourceId": {"type": "folder", "id": "456"}}],
    "bindings": [1, {"members": 3, "condition": 7}, {"role": None, "members": [None]}],
    "template": {"containers": [{"image": 3}, 4]},
    "writerIdentity": [],
}


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(STRANGE).encode(),
        b"",
        b"[]",
        b"null",
        b"<html>",
        b'{"services": 7, "topics": "x", "bindings": {}, "functions": [1, null]}',
        b"\xff",
    ],
)
def test_an_answer_that_is_not_as_documented_is_unknown_or_empty_and_never_raises(body: bytes) -> None:
    with JsonDoor(lambda _: (200, body)) as door:
        assert examine(look(PROJECT, SystemClock(), endpoint=door.endpoint))


def test_locations_that_do_not_answer_make_the_listing_unknown() -> None:
    project = GoogleProject()

    def answer(asked: Asked) -> tuple[int, Any]:
        status, body = project.answer(asked)
        return status, {**body, "unreachable": [f"{AT}/locations/us-east1"]} if asked.path.endswith("/functions") else body

    with JsonDoor(answer) as door:
        said = examine(look(PROJECT, SystemClock(), endpoint=door.endpoint))
    assert {each.level for each in said} == {Level.UNKNOWN}
    assert "us-east1" in said[0].why


def test_after_its_time_nothing_more_is_asked() -> None:
    with JsonDoor(GoogleProject().answer) as door:
        answer = ProjectCalls(endpoint=door.endpoint, work_seconds=0.0).ask(project_methods.DATABASE, AT)
        assert "not asked, because the calls before it took 0 s" in str(answer)
        assert door.seen == []


def test_without_credentials_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(NoCredentialsError, match="no credentials from the environment"):
        look(PROJECT, SystemClock())


def test_every_grant_of_the_list_is_missed_when_it_alone_is_gone() -> None:
    with JsonDoor(with_a_collector().answer) as door:
        whole = look(PROJECT, SystemClock(), endpoint=door.endpoint)
    assert list(rules_grants.missing(whole)) == []
    judged = 0
    for grant in needed(whole):
        said = [each.what for each in rules_grants.missing(without(whole, grant))]
        assert said == [f"{grant.member.removeprefix('serviceAccount:')} lacks {grant.role} on {grant.place.said}"]
        judged += 1
    kinds = {need.grant.on for need in needed(whole)}
    assert kinds == set(On)
    assert judged == len(list(grants()))


def without(picture: Picture, need: Need) -> Picture:
    """The picture with one member of one role taken away on the one resource."""

    def less(policy: Any) -> Any:
        return tuple(replace(each, members=each.members - {need.member}) if each.role == need.role else each for each in policy)

    def less_of(policies: Any, which: str) -> Any:
        return {name: less(policy) if str(name) in which.split() else policy for name, policy in policies.items()}

    kind, policies = need.place.said, picture.policies
    if kind == "the project acme-ml":
        project = picture.projects["acme-ml"]
        return replace(picture, projects={"acme-ml": replace(project, policy=less(project.policy))})
    if need.grant.on is On.MODEL_BUCKET:
        bucket = picture.buckets["acme-models"]
        assert bucket is not None
        return replace(picture, buckets={"acme-models": replace(bucket, policy=less(bucket.policy))})
    attribute = {
        On.TOPIC: "topics",
        On.DEAD_LETTER_TOPIC: "topics",
        On.SUBSCRIPTION: "subscriptions",
        On.FUNCTION: "functions",
        On.ACCOUNT: "accounts",
        On.SERVING_ACCOUNT: "accounts",
        On.SERVED_SERVICE: "services",
        On.REPOSITORY: "repositories",
        On.IMAGE_REPOSITORY: "repositories",
    }[need.grant.on]
    changed: Any = {attribute: less_of(getattr(policies, attribute), kind)}
    return replace(picture, policies=replace(policies, **changed))


def test_every_mending_gcloud_command_has_only_flags_that_gcloud_knows() -> None:
    if not gcloud_parser.installed():
        pytest.skip("gcloud is not installed: its own parser cannot be asked")
    commands: dict[tuple[str, ...], set[str]] = {}
    for part in (part for name in FAULTS for each in of_fault(name) for part in each.mend.split(" && ")):
        words = shlex.split(part) if part.startswith("gcloud ") else []
        way = tuple(_command_of(words))
        commands.setdefault(way, set()).update(word.partition("=")[0] for word in words if word.startswith("--"))
    commands.pop((), None)
    tables = gcloud_parser.flag_tables(list(commands))
    for (way, flags), table in zip(commands.items(), tables, strict=True):
        assert flags - set(table["flags"]) <= {"--project"}, way
    assert len(commands) > 12


def _command_of(words: list[str]) -> list[str]:
    """The words of the command itself: up to its verb."""
    verbs = {"enable", "describe", "delete", "update", "resume", "add-iam-policy-binding", "remove-iam-policy-binding"}
    end = next((at for at, word in enumerate(words) if word in verbs), -1)
    return words[1 : end + 1]


def test_a_command_function_with_callers_is_open() -> None:
    project = GoogleProject()
    project.policies["services/trimtab-command"]["roles/run.invoker"].add("user:ada@example.com")
    project.functions["command"]["serviceConfig"]["ingressSettings"] = "ALLOW_ALL"
    assert found(project) == []


def test_the_other_address_of_a_function_is_its_own_too() -> None:
    project = GoogleProject()
    push = project.subscriptions["trimtab-alert"]["pushConfig"]
    push["pushEndpoint"] = push["oidcToken"]["audience"] = "https://trimtab-alert-123456789012.europe-west1.run.app"
    assert found(project) == []


def test_a_push_without_an_audience_is_for_its_endpoint() -> None:
    project = GoogleProject()
    del project.subscriptions["trimtab-alert"]["pushConfig"]["oidcToken"]["audience"]
    assert found(project) == []


@pytest.mark.parametrize("image", [collector_file.IMAGE, "acme/opentelemetry-collector:1"])
def test_a_collector_beside_tf_serving_is_seen(image: str) -> None:
    project = GoogleProject(alert_policies=[QUEUE_FULL])
    project.services["ranker"]["template"]["containers"].append({"image": image})
    assert found(project) == []


def test_after_a_first_deployment_the_services_of_the_alerts_are_looked_at_though_none_has_a_spec() -> None:
    project = GoogleProject(specs={}, alert_policies=[QUEUE_FULL])
    project.policies["serviceAccounts/serving@acme-ml.iam.gserviceaccount.com"].pop("roles/iam.serviceAccountUser")
    assert [each.check for each in found(project)] == ["grant", "sidecar"]


def test_a_service_of_an_alert_that_cannot_be_read_is_unknown() -> None:
    project = GoogleProject(specs={}, alert_policies=[QUEUE_FULL])
    project.refused["/services/ranker$"] = (403, "no")
    assert [(each.check, each.level) for each in found(project)] == [("sidecar", Level.UNKNOWN)]


def test_minus_one_is_no_limit() -> None:
    project = GoogleProject()
    project.quotas[0]["dimensionsInfos"][1]["details"]["value"] = "-1"
    assert found(project) == []


def test_functions_of_others_in_other_regions_change_nothing() -> None:
    project = GoogleProject()
    theirs = {**project.functions["alert"], "name": f"{AT}/locations/asia-east1/functions/thumbnails", "state": "FAILED"}
    project.functions["theirs"] = theirs
    assert found(project) == []
    project.topics.remove("trimtab-events")
    (said,) = found(project)
    assert said.mend == "make deploy PROJECT=acme-ml REGION=europe-west1 VARS=THE_FILE_YOU_DEPLOYED_WITH"


@pytest.mark.parametrize("account", ["123456789012-compute@developer.gserviceaccount.com", "acme-ml@appspot.gserviceaccount.com", ""])
def test_nobody_is_advised_to_let_reconcile_act_as_a_default_account(account: str) -> None:
    project = GoogleProject()
    project.services["ranker"]["template"]["serviceAccount"] = account
    assert not any("roles/iam.serviceAccountUser" in each.mend for each in found(project))


def test_reconcile_that_may_act_as_a_default_account_may_do_too_much() -> None:
    project = GoogleProject()
    account = "123456789012-compute@developer.gserviceaccount.com"
    project.services["ranker"]["template"]["serviceAccount"] = account
    member = "serviceAccount:trimtab-reconcile@acme-ml.iam.gserviceaccount.com"
    project.policies[f"serviceAccounts/{account}"] = {"roles/iam.serviceAccountUser": {member}}
    excess, runs = sorted(found(project), key=lambda each: each.check)
    assert runs.check == "service"
    assert excess.what == f"trimtab-reconcile@acme-ml.iam.gserviceaccount.com may act as {account}"
    assert excess.mend == (
        f"gcloud iam service-accounts remove-iam-policy-binding {account} --member={member} --role=roles/iam.serviceAccountUser "
        "--project=acme-ml"
    )


def test_the_database_is_the_one_that_the_functions_are_told_of() -> None:
    project = GoogleProject(database_id="trimtab")
    for function in project.functions.values():
        function["serviceConfig"]["environmentVariables"]["TRIMTAB_FIRESTORE_DATABASE"] = "trimtab"
    project.conditions = {at: words.replace("(default)", "trimtab") for at, words in project.conditions.items()}
    assert found(project) == []
    assert found(project, database="trimtab") == []
    project.ttl.pop(0)
    (said,) = found(project)
    assert said.mend == (
        "gcloud firestore fields ttls update expire_at --collection-group=facts --database=trimtab --enable-ttl --project=acme-ml"
    )
    asked = found(project, database="other")
    assert "trimtab-alert: TRIMTAB_FIRESTORE_DATABASE is 'trimtab', and the database looked at is 'other'" in {each.what for each in asked}


def test_roles_that_hold_what_is_needed_are_enough() -> None:
    project = GoogleProject()
    for on, roles in project.policies.items():
        if on.startswith("services/trimtab-"):
            roles["roles/run.servicesInvoker"] = roles.pop("roles/run.invoker")
    project.policies["project"]["roles/logging.privateLogViewer"] = project.policies["project"].pop("roles/logging.viewer")
    assert found(project) == []


def test_what_was_deleted_and_stands_in_a_policy_still_is_nobody() -> None:
    project = GoogleProject()
    left = "deleted:serviceAccount:ci@acme-ml.iam.gserviceaccount.com?uid=123456789012345678901"
    project.policies["services/trimtab-command"]["roles/run.invoker"].add(left)
    project.policies["topics/trimtab-commands"]["roles/pubsub.publisher"].add(left)
    assert found(project) == []


@pytest.mark.parametrize(
    ("topic", "member"),
    [
        ("alerts", "service-555@gcp-sa-monitoring-notification.iam.gserviceaccount.com"),
        ("model-uploads", "service-555@gs-project-accounts.iam.gserviceaccount.com"),
        ("changes", "service-555@gcp-sa-logging.iam.gserviceaccount.com"),
        ("changes", "p123456789012-987654@gcp-sa-logging.iam.gserviceaccount.com"),
        ("changes", "cloud-logs@system.gserviceaccount.com"),
    ],
)
def test_agents_of_other_projects_may_publish_to_their_own_topic_alone(topic: str, member: str) -> None:
    """A project may be served, or have a bucket, before there is a spec of it."""
    project = GoogleProject()
    project.policies[f"topics/trimtab-{topic}"]["roles/pubsub.publisher"].add(f"serviceAccount:{member}")
    assert found(project) == []
    project.policies["topics/trimtab-wakes"]["roles/pubsub.publisher"].add(f"serviceAccount:{member}")
    (said,) = found(project)
    assert said.what == f"serviceAccount:{member} may publish to trimtab-wakes"


def test_what_is_published_as_a_command_has_no_rights_without_a_grant_of_a_subscription() -> None:
    project = GoogleProject()
    grants_given = [{"identity": "ada@example.com", "commands": ["patch"], "services": ["*"]}]
    project.functions["command"]["serviceConfig"]["environmentVariables"]["TRIMTAB_COMMAND_GRANTS"] = json.dumps(grants_given)
    project.policies["topics/trimtab-commands"]["roles/pubsub.publisher"].add("user:eve@example.com")
    (said,) = found(project)
    assert said.why == "no grant of commands names its subscription: what is published there is refused"


@pytest.mark.parametrize(
    "policy",
    [
        {"bindings": "x"},
        {"bindings": 5},
        {"bindings": None},
        {"bindings": [1]},
        {"bindings": [{"role": "roles/pubsub.publisher", "members": "user:ada@example.com"}]},
        {"bindings": [{"role": None, "members": []}]},
    ],
)
def test_a_policy_of_another_form_was_not_seen(policy: dict[str, Any]) -> None:
    project = GoogleProject()

    def answer(asked: Asked) -> tuple[int, Any]:
        return (200, policy) if "/topics/trimtab-alerts:" in asked.path else project.answer(asked)

    with JsonDoor(answer) as door:
        (said,) = examine(look(PROJECT, SystemClock(), endpoint=door.endpoint))
    assert (said.check, said.level, said.what) == ("grant", Level.UNKNOWN, "the grants on the topic trimtab-alerts: not known")
    assert said.why == "pubsub.projects.topics.getIamPolicy: the answer is not as documented: its bindings are none"


def test_a_disabled_policy_waits_for_no_collector() -> None:
    assert found(GoogleProject(alert_policies=[{**QUEUE_FULL, "enabled": False}])) == []


def test_specs_beyond_those_that_are_read_are_said() -> None:
    project = GoogleProject(specs={f"{PROJECT}:europe-west1:ranker-{at}": None for at in range(302)})
    said = [each for each in found(project) if each.level is Level.UNKNOWN]
    assert [(each.check, each.what) for each in said] == [("service", "2 of 302 services with a spec: not looked at")]


@pytest.mark.parametrize("uri", ["gs://", "/models/ranker", "s3://acme/ranker"])
def test_a_model_that_lies_in_no_bucket_asks_for_none(uri: str) -> None:
    assert found(GoogleProject(specs={f"{PROJECT}:europe-west1:ranker": uri})) == []
