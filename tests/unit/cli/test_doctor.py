"""`trimtab doctor`: what it prints, and how it ends."""

import hashlib
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.doctor import _text
from shared import wiring
from shared.clock import SystemClock
from shared.doctor.finding import CHECKS, Finding, Level
from shared.doctor.picture import Picture, Source
from shared.gcp.project_look import look
from tests.support.commands import spec_file, trimtab
from tests.support.google_project import GoogleProject
from tests.support.json_door import JsonDoor
from tests.support.plans import control_plane, destroying, failed, plan, service


@contextmanager
def google(project: GoogleProject) -> Iterator[None]:
    """The command reaches this project where it would reach Google's."""
    with JsonDoor(project.answer) as door, pytest.MonkeyPatch.context() as patch:

        def at(name: str, *, database: str, archive: str | None) -> Any:
            return look(name, SystemClock(), database=database, archive=archive, endpoint=door.endpoint)

        patch.setattr(wiring, "project_picture", at)
        yield


def written(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps(document))
    return path


def test_a_healthy_project() -> None:
    with google(GoogleProject()):
        done = trimtab("doctor", "--project", "acme-ml")
    assert (done.exit_code, done.stdout) == (0, "acme-ml: nothing found\n")


def test_findings_say_what_why_and_what_mends_them() -> None:
    project = GoogleProject()
    project.apis.remove("pubsub.googleapis.com")
    project.services["ranker"]["labels"]["goog-terraform-provisioned"] = "true"
    with google(project):
        done = trimtab("doctor", "--project", "acme-ml")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[:3] == [
        "problem api: pubsub.googleapis.com is not enabled",
        "    Trimtab needs it: topics and subscriptions",
        "    mend: gcloud services enable pubsub.googleapis.com --project=acme-ml",
    ]
    assert "      lifecycle {\n        ignore_changes = [\n          client,\n" in done.stdout
    assert done.stdout.endswith("acme-ml: 1 problem, 1 note\n")


def test_what_could_not_be_looked_at_is_unknown_and_not_healthy() -> None:
    project = GoogleProject()
    project.refused["/topics$"] = (403, "User not authorized to perform this action.")
    with google(project):
        done = trimtab("doctor", "--project", "acme-ml")
    assert done.exit_code == 2
    assert done.stdout.splitlines() == [
        "unknown topic: which topics there are: not known",
        "    pubsub.projects.topics.list: HTTP 403: User not authorized to perform this action.",
        "    mend: ask for a role with pubsub.topics.list: roles/viewer and roles/iam.securityReviewer have all that the doctor reads",
        "",
        "acme-ml: 1 thing unknown",
    ]


def test_as_json_every_check_has_a_verdict() -> None:
    project = GoogleProject()
    project.topics.remove("trimtab-events")
    project.refused["/topics/.*:getIamPolicy$"] = (500, "no")
    with google(project):
        done = trimtab("doctor", "--project", "acme-ml", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["project"], said["source"]) == (1, "acme-ml", "project")
    assert set(said["checks"]) == set(CHECKS)
    assert {check: verdict for check, verdict in said["checks"].items() if verdict != "silent"} == {
        "topic": "problem",
        "grant": "unknown",
        "alert": "not-asked",
    }
    assert said["findings"][0] == {
        "check": "topic",
        "level": "problem",
        "what": "the topic trimtab-events is missing",
        "why": "what Trimtab does is told to nobody",
        "mend": "make deploy PROJECT=acme-ml REGION=europe-west1 VARS=THE_FILE_YOU_DEPLOYED_WITH",
    }


def test_what_is_granted_above_the_project_may_be_left_out() -> None:
    project = GoogleProject()
    project.refused["/(folders|organizations)/"] = (403, "The caller does not have permission")
    with google(project):
        asked = trimtab("doctor", "--project", "acme-ml")
        left = trimtab("doctor", "--project", "acme-ml", "--no-inherited")
    assert (asked.exit_code, asked.stdout.splitlines()[0]) == (
        2,
        "unknown excess: what folders/456 and organizations/789 grant in the project: not known",
    )
    assert (left.exit_code, left.stdout) == (0, "acme-ml: nothing found\n")
    project.policies["project"].pop("roles/logging.viewer")
    with google(project):
        lacks = trimtab("doctor", "--project", "acme-ml", "--no-inherited")
    assert lacks.exit_code == 1
    assert "lacks roles/logging.viewer on the project acme-ml, as far as could be seen" in lacks.stdout


def test_an_archive_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "trimtab.zip"
    path.write_bytes(b"PK")
    digits = hashlib.sha256(b"PK").hexdigest()[:16]
    project = GoogleProject()
    for function in project.functions.values():
        function["buildConfig"]["source"]["storageSource"]["object"] = f"trimtab-{digits}.zip"
    with google(project):
        assert trimtab("doctor", "--project", "acme-ml", "--archive", path).exit_code == 0
        path.write_bytes(b"another")
        other = trimtab("doctor", "--project", "acme-ml", "--archive", path)
        assert "warning version: the functions run" in other.stdout
        named = trimtab("doctor", "--project", "acme-ml", "--archive", f"build/trimtab-profiler-0.1.0-{digits}.zip")
        assert named.exit_code == 0  # by its name alone, wherever the file is
        gone = trimtab("doctor", "--project", "acme-ml", "--archive", tmp_path / "gone.zip")
    assert gone.exit_code == 2
    assert "cannot be read, and its name does not say what it holds: No such file or directory" in gone.stderr


def test_the_bucket_of_a_spec_is_looked_for_in_the_plan(tmp_path: Path) -> None:
    path = written(tmp_path, plan(*control_plane()))
    spec = spec_file(tmp_path, model={"name": "ranker", "uri": "gs://acme-other/ranker"})
    done = trimtab("doctor", "--plan", path, "--spec", spec)
    assert done.exit_code == 1
    assert "the bucket acme-other does not tell the topic trimtab-model-uploads of uploads" in done.stdout


def test_a_name_from_google_moves_no_cursor() -> None:
    project = GoogleProject()
    project.functions["alert"]["buildConfig"]["entryPoint"] = "x\x1b[2J\n"
    project.functions["audit"]["buildConfig"]["source"]["storageSource"]["object"] = "a\x1b]0;.zip"
    with google(project):
        done = trimtab("doctor", "--project", "acme-ml")
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout


def test_a_plan_offline(tmp_path: Path) -> None:
    path = written(tmp_path, plan(*control_plane()))
    done = trimtab("doctor", "--plan", path)
    assert (done.exit_code, done.stdout) == (0, "the plan for acme-ml: nothing found\n")


def test_a_plan_and_a_spec_of_one_of_its_services(tmp_path: Path) -> None:
    path = written(tmp_path, plan(service()))
    alone = trimtab("doctor", "--plan", path)
    assert alone.exit_code == 2
    assert "; or name with --spec what Trimtab owns of its services" in alone.stdout
    done = trimtab("doctor", "--plan", path, "--spec", spec_file(tmp_path))
    assert done.exit_code == 1
    assert "acme-ml:europe-west1:ranker is also written by Terraform (google_cloud_run_v2_service.ranker)" in done.stdout


def test_a_project_and_a_plan_together_say_what_the_next_apply_would_undo(tmp_path: Path) -> None:
    address, _, values = service()
    update = {"actions": ["update"], "before": {**values, "template": []}, "after": values}
    path = written(tmp_path, plan(service(), changes={address: update}))
    with google(GoogleProject()):
        done = trimtab("doctor", "--project", "acme-ml", "--plan", path)
    assert done.exit_code == 1
    assert "problem owner: acme-ml:europe-west1:ranker is also written by Terraform" in done.stdout
    assert "this plan changes template" in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file or directory"),
        ("resource {}", "no JSON: want the output of `terraform show -json PLAN`"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no JSON object"),
        ("{}", "no planned_values in it"),
        (json.dumps(failed(plan(*control_plane()))), "this plan failed: what is in it ends at the first error"),
        (
            json.dumps({**plan(*control_plane()), "complete": False}),
            "this plan is of a part alone (-target, or Terraform",
        ),
    ],
)
def test_what_is_no_plan_is_refused(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text)
    done = trimtab("doctor", "--plan", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        (destroying(*control_plane()), 1, "problem function: the plan takes Trimtab away: it deletes trimtab-alert, "),
        ({"planned_values": {"root_module": {}}}, 2, "unknown function: no function of Trimtab is in the plan, and no Cloud Run service"),
        (plan(("b", "google_storage_bucket", {"name": "b"})), 2, "unknown function: no function of Trimtab is in the plan"),
    ],
    ids=["destroying", "empty", "of something else"],
)
def test_a_plan_in_which_nothing_is_right_is_not_called_healthy(document: dict[str, Any], code: int, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, document)
    done = trimtab("doctor", "--plan", path)
    assert done.exit_code == code
    assert done.stdout.startswith(says)
    assert "PROJECT" not in done.stdout
    named = "acme-ml" if code == 1 else None
    assert done.stdout.splitlines()[-1].startswith("the plan for acme-ml: 1" if named else "the plan: 1")
    said = json.loads(trimtab("doctor", "--plan", path, "--json").stdout)
    assert (said["project"], said["checks"]["quota"], said["checks"]["api"]) == (named, "not-asked", "not-asked")


def test_the_archive_that_was_given_is_held_against_the_plans(tmp_path: Path) -> None:
    path = written(tmp_path, plan(*control_plane()))
    assert trimtab("doctor", "--plan", path, "--archive", "trimtab-0.1.0-0123456789abcdef.zip").exit_code == 0
    other = trimtab("doctor", "--plan", path, "--archive", "trimtab-0.1.0-ffffffffffffffff.zip")
    assert other.exit_code == 1
    assert other.stdout.splitlines()[:3] == [
        "warning version: the functions run trimtab-0123456789abcdef.zip, not trimtab-0.1.0-ffffffffffffffff.zip",
        "    the archive that was given is another one",
        "    mend: plan again with -var=archive=FILE, the path of the archive that was given",
    ]
    unsaid = [(at, kind, {**values, "build_config": []} if kind.endswith("2_function") else values) for at, kind, values in control_plane()]
    unknown = trimtab("doctor", "--plan", written(tmp_path, plan(*unsaid)), "--archive", "trimtab-0.1.0-ffffffffffffffff.zip")
    assert unknown.exit_code == 2
    assert unknown.stdout.startswith("unknown version: which archive the functions run: not known")


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        (plan(*control_plane()), 0, "acme-ml: nothing found"),
        (plan(service()), 1, "warning owner: acme-ml:europe-west1:ranker is also written by Terraform"),
        (plan(service("other")), 0, "acme-ml: nothing found"),
        (destroying(*control_plane()), 1, "problem function: the plan takes Trimtab away"),
        ({"planned_values": {"root_module": {}}}, 2, "unknown owner: nothing of acme-ml is in the plan"),
        (plan(service(project="acme-ads")), 2, "unknown owner: nothing of acme-ml is in the plan"),
    ],
)
def test_a_plan_beside_a_project_is_one_of_that_project(document: dict[str, Any], code: int, says: str, tmp_path: Path) -> None:
    with google(GoogleProject()):
        done = trimtab("doctor", "--project", "acme-ml", "--plan", written(tmp_path, document))
    assert (done.exit_code, done.stdout[: len(says)]) == (code, says)


def test_a_plan_that_failed_is_refused_beside_a_project_too_before_anything_is_asked(tmp_path: Path) -> None:
    project = GoogleProject()
    project.refused["."] = (500, "must not be asked")
    with google(project):
        done = trimtab("doctor", "--project", "acme-ml", "--plan", written(tmp_path, failed(plan(*control_plane()))))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "this plan failed" in done.stderr


def signed_in(folder: Path, monkeypatch: pytest.MonkeyPatch, token_server: str) -> None:
    """A person's credentials, as gcloud writes them, with another token server."""
    path = folder / "credentials.json"
    path.write_text(json.dumps({"type": "authorized_user", "client_id": "x", "client_secret": "x", "refresh_token": "x"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    monkeypatch.setattr("google.oauth2.credentials._GOOGLE_OAUTH2_TOKEN_ENDPOINT", token_server)


def test_a_token_server_that_cannot_be_reached_is_no_lack_of_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    signed_in(tmp_path, monkeypatch, "http://127.0.0.1:1/token")
    done = trimtab("doctor", "--project", "acme-ml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "whoever makes the tokens of the environment's credentials cannot be reached" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("signing in again does not help: look at this machine's network")


def test_credentials_that_are_refused_are_to_be_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with JsonDoor(lambda _: (400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."})) as door:
        signed_in(tmp_path, monkeypatch, f"{door.endpoint}/token")
        done = trimtab("doctor", "--project", "acme-ml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the environment's credentials are refused: invalid_grant: Token has been expired or revoked." in done.stderr
    assert done.stderr.splitlines()[-1].startswith("sign in again with: gcloud auth application-default login")


def test_without_credentials_it_says_how_to_get_some(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    done = trimtab("doctor", "--project", "acme-ml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "gcloud auth application-default login" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "give one"),
        (("--project", "../x"), "want a project's id"),
        (("--project", "acme-ml", "--spec", "spec.yaml"), "with --project the specs are those in its database"),
        (("--plan", "plan.json", "--database", "trimtab"), "--database: a plan says itself which database its functions have"),
        (("--plan", "plan.json", "--database", "(default)"), "--database: a plan says itself which database its functions have"),
        (("--plan", "plan.json", "--no-inherited"), "--no-inherited: a plan holds no roles of folders and the organization"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], says: str) -> None:
    done = trimtab("doctor", *options)
    assert done.exit_code == 2
    assert says in done.stderr


def lines_at(width: int | None, *findings: Finding) -> list[str]:
    return list(_text(Picture("acme-ml", Source.PROJECT, "trimtab-"), findings, width))


def test_on_a_terminal_what_why_and_mend_are_no_wider_than_it() -> None:
    sentence = "ask for more of what there is too little of at the page that the console shows, or lower the maximum of instances"
    lines = lines_at(60, Finding("quota", Level.WARNING, f"what {sentence}", f"why {sentence}", sentence))
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("warning quota: what ask for more")
    assert " ".join(" ".join(lines).split()).count(sentence) == 3


@given(st.lists(st.from_regex(r"[a-z0-9=/:@.-]{1,30}( [a-z{}$]{1,9}){0,2}", fullmatch=True), max_size=9), st.integers(40, 110))
def test_a_folded_command_is_the_same_command_to_a_shell(words: list[str], width: int) -> None:
    command = shlex.join(["gcloud", *words])
    lines = lines_at(width, Finding("quota", Level.WARNING, "x", "y", command))[2:-2]
    pasted = "\n".join(lines).removeprefix("    mend:").replace("\\\n", "")  # which is what a shell makes of it
    assert shlex.split(pasted) == ["gcloud", *words]
    assert all(len(line) <= width or "'" in line or " " not in line.strip().removesuffix(" \\") for line in lines)


def test_where_the_output_is_no_terminal_every_text_is_one_line() -> None:
    command = "gcloud " + "x " * 200
    assert lines_at(None, Finding("quota", Level.WARNING, "x", "y", command))[2] == f"    mend: {command}"


def test_half_a_character_in_a_name_is_written_in_json_all_the_same(tmp_path: Path) -> None:
    text = json.dumps(plan(*control_plane()))
    account = '"service_account_email": "trimtab-alert@acme-ml.iam.gserviceaccount.com"'
    assert account in text
    path = tmp_path / "plan.json"
    path.write_text(text.replace(account, '"service_account_email": "x\\ud800"'))
    done = trimtab("doctor", "--plan", path, "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["findings"][0]["what"] == "trimtab-alert runs as x\ud800"
    assert trimtab("doctor", "--plan", path).exit_code == 1


def test_a_note_alone_is_nothing_wrong() -> None:
    project = GoogleProject()
    project.services["ranker"]["labels"]["goog-terraform-provisioned"] = "true"
    with google(project):
        done = trimtab("doctor", "--project", "acme-ml")
    assert done.exit_code == 0
    assert done.stdout.startswith("note owner: acme-ml:europe-west1:ranker is also written by Terraform (label goog-")
    assert done.stdout.endswith("acme-ml: 1 note\n")
