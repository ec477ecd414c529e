"""`trimtab init`: answers of the form that Terraform takes, as a file that it reads."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.init import COMMANDS, FIRST_APIS, PATTERNS, Answers, Model, read_caller, tfvars
from cli.main import app
from shared.deployment import APIS
from shared.records.rights import Grants
from tests.support.commands import trimtab

ROOT = Path(__file__).parents[3]
TERRAFORM = ROOT / "terraform"
GIVEN = ("--project", "acme-ml", "--region", "europe-west1")
WRITTEN = """# Written by `trimtab init`; terraform/README.md says what else can be said.

project_id = "acme-ml"
region     = "europe-west1"

model_buckets = {
  "acme-models" = {}
}

models = {
  "ranker" = { bucket = "acme-models" }
  "scorer" = { bucket = "acme-models", service_account_email = "scorer@acme-ml.iam.gserviceaccount.com", objective = { p99_ms = 800 } }
}

notification_channels = ["projects/acme-ml/notificationChannels/7"]

# group:oncall@example.com may reach the command function and give no command: grants name addresses. Name its members in command_grants.
command_callers = ["user:ada@example.com", "group:oncall@example.com"]

command_grants = [
  {
    identity = "ada@example.com"
    commands = ["apply", "patch", "hold", "release", "rollback", "reconcile", "redrive", "discard"]
    services = ["*"]
  },
]
"""


def test_what_is_given_is_written_and_nothing_is_asked(tmp_path: Path) -> None:
    models = ("--model", "ranker=acme-models", "--model", "scorer=acme-models=scorer@acme-ml.iam.gserviceaccount.com=800")
    people = ("--caller", "user:ada@example.com", "--caller", "group:oncall@example.com")
    channel = ("--channel", "projects/acme-ml/notificationChannels/7")
    done = trimtab("init", *GIVEN, *models, *people, *channel, "--yes", "-o", tmp_path / "terraform.tfvars")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "terraform.tfvars").read_text() == WRITTEN
    assert "warning: group:oncall@example.com: may reach the command function and give no command" in done.stderr
    assert "warning: ranker: no account was given" in done.stderr
    assert "warning: ranker: no p99 was given: it has no alert on slow answers" in done.stderr
    assert "warning: scorer" not in done.stderr


def test_what_a_deployment_of_the_least_will_lack_is_said(tmp_path: Path) -> None:
    done = trimtab("init", *GIVEN, "--yes", "-o", tmp_path / "x.tfvars")
    assert [line.partition(": ")[2].partition(": ")[0] for line in done.stderr.splitlines() if line.startswith("warning: ")] == [
        "no model was given",
        "no channel was given",
        "no caller was given",
    ]
    done = trimtab("init", *GIVEN, "--model", "ranker", "--yes", "--force", "-o", tmp_path / "x.tfvars")
    assert "warning: ranker: no bucket was given: Trimtab hears of no new version of its model" in done.stderr


def test_what_is_given_twice_is_written_once(tmp_path: Path) -> None:
    """Terraform would refuse to grant the same twice."""
    twice = ("--caller", "user:ada@example.com") * 2
    assert trimtab("init", *GIVEN, *twice, "--yes", "-o", tmp_path / "x.tfvars").exit_code == 0
    assert 'command_callers = ["user:ada@example.com"]' in (tmp_path / "x.tfvars").read_text()


def test_switches_are_written_where_they_are_given_and_never_asked_for(tmp_path: Path) -> None:
    done = trimtab("init", *GIVEN, "--cloud-profiler", "--trace-ratio", "0.05", "--yes", "-o", tmp_path / "terraform.tfvars")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "terraform.tfvars").read_text().endswith("\n\ncloud_profiler = true\ntrace_ratio    = 0.05\n")


@pytest.mark.parametrize(("ratio", "written"), [("0", []), ("1", ["trace_ratio = 1"]), ("0.000001", ["trace_ratio = 1e-06"])])
def test_a_ratio_is_written_as_terraform_reads_it(ratio: str, written: list[str], tmp_path: Path) -> None:
    assert trimtab("init", *GIVEN, "--trace-ratio", ratio, "--yes", "-o", tmp_path / "x.tfvars").exit_code == 0
    assert re.findall("^trace_ratio.*", (tmp_path / "x.tfvars").read_text(), re.MULTILINE) == written


@pytest.mark.parametrize("ratio", ["-0.1", "5", "5%", "nan", "inf", "often"])
def test_a_ratio_that_is_no_share_is_refused(ratio: str, tmp_path: Path) -> None:
    done = trimtab("init", *GIVEN, f"--trace-ratio={ratio}", "--yes", "-o", tmp_path / "x.tfvars")
    assert done.exit_code == 2
    assert done.stderr == f"--trace-ratio: '{ratio}': want a share of requests from 0 to 1, such as 0.05 for one in twenty\n"
    assert not (tmp_path / "x.tfvars").exists()


def test_what_is_not_given_is_asked_for_and_asked_again_until_it_is_right(tmp_path: Path) -> None:
    answers = ["123", "acme-ml", "europe-west1-b", "europe-west1", "gs://acme", "ranker=acme-models", "", "", "0", "", "", "allUsers", ""]
    done = CliRunner().invoke(app, ["init", "-o", str(tmp_path / "x.tfvars")], input="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.output
    assert "'123': want the project's id" in done.stderr
    assert "'europe-west1-b': want a region such as europe-west1, not a zone" in done.stderr
    assert "'0': want milliseconds above 0" in done.stderr
    assert "A notification channel, as projects/PROJECT/notificationChannels/NUMBER" in done.stderr
    assert "'allUsers': want a member such as user:ada@example.com; allUsers is refused" in done.stderr
    assert (tmp_path / "x.tfvars").read_text().splitlines()[2:] == [
        'project_id = "acme-ml"',
        'region     = "europe-west1"',
        "",
        "model_buckets = {",
        '  "acme-models" = {}',
        "}",
        "",
        "models = {",
        '  "ranker" = { bucket = "acme-models" }',
        "}",
    ]


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "x.tfvars"
    path.write_text("mine\n")
    done = trimtab("init", *GIVEN, "--yes", "-o", path)
    assert (done.exit_code, path.read_text()) == (2, "mine\n")
    assert "is there already" in done.stderr
    assert trimtab("init", *GIVEN, "--yes", "--force", "-o", path).exit_code == 0
    assert path.read_text().startswith("# Written by")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "--project: is not given: want the project's id"),
        (("--project", "acme-ml"), "--region: is not given"),
        (("--project", "Acme", "--region", "europe-west1"), "--project: 'Acme': want the project's id"),
        ((*GIVEN, "--model", "a-service-with-a-long-name=b-models"), "give a-service-with-a-long-name=b-models=ACCOUNT"),
        ((*GIVEN, "--model", "ranker=acme-models=1-compute@developer.gserviceaccount.com"), "give the service one of its own"),
        ((*GIVEN, "--model", "ranker=a=b=c=d"), "want SERVICE=BUCKET=ACCOUNT=P99_MS"),
        ((*GIVEN, "--model", "ranker=acme-models==soon"), "'soon': want milliseconds above 0"),
        ((*GIVEN, "--model", "ranker=acme-models==-1"), "'-1': want milliseconds above 0"),
        ((*GIVEN, "--model", "ranker", "--model", "ranker=acme-models"), "ranker: given twice"),
        ((*GIVEN, "--channel", "mail"), "want a channel such as projects/acme-ml/notificationChannels/123"),
        ((*GIVEN, "--caller", "user:a\x1b[2J@example.com"), "want a member"),
        ((*GIVEN, "--caller", "user:ada"), "want a member such as user:ada@example.com"),
        ((*GIVEN, "--model", "ranker=acme-models\n"), r"bucket 'acme-models\n': want a bucket's name without gs://"),
        ((*GIVEN, "--model", "ranker\n=acme-models"), r"service 'ranker\n': want 2 to 49 lower case letters"),
        ((*GIVEN, "--model", "ranker=acme-models=r@acme-ml.iam.gserviceaccount.com\n"), "want the address of a service account"),
        ((*GIVEN, "--channel", "projects/a/notificationChannels/7\n"), "want a channel"),
        ((*GIVEN, "--caller", "user:ada@example.com\n"), "want a member"),
        (("--project", "acme-ml\n", "--region", "europe-west1"), r"--project: 'acme-ml\n': want the project's id"),
    ],
)
def test_what_is_not_of_its_form_is_refused_with_the_form(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = trimtab("init", *options, "--yes", "-o", tmp_path / "x.tfvars")
    assert done.exit_code == 2
    assert says in done.stderr
    assert "\x1b" not in done.stderr
    assert not (tmp_path / "x.tfvars").exists()


def test_nothing_in_an_answer_ends_its_text_or_begins_a_template() -> None:
    hostile = 'projects/a/notificationChannels/"]${file("/etc/passwd")}%{x}\\'
    text = tfvars(Answers("acme-ml", "europe-west1", (Model("ranker", None, None),), (hostile,), ()))
    assert r'["projects/a/notificationChannels/\"]$${file(\"/etc/passwd\")}%%{x}\\"]' in text
    assert '"ranker" = {}' in text
    assert r'["a\n\t\u001b\u2028"]' in tfvars(Answers("acme-ml", "europe-west1", (), ("a\n\t\x1b\u2028",), ()))


def test_the_forms_are_those_of_terraforms_variables() -> None:
    written = {
        re.sub(r"\\\\", r"\\", found)
        for path in TERRAFORM.rglob("variables.tf")
        for found in re.findall(r'regex\("([^"]+)"', path.read_text())
    }
    assert set(PATTERNS.values()) - written == set()


def asked(path: Path, *answers: str) -> Result:
    return CliRunner().invoke(app, ["init", *GIVEN, "-o", str(path)], input="".join(f"{each}\n" for each in answers))


def test_whom_a_service_runs_as_is_asked_for_with_the_command_that_says_it(tmp_path: Path) -> None:
    path = tmp_path / "x.tfvars"
    compute, ranker = "1-compute@developer.gserviceaccount.com", "ranker@acme-ml.iam.gserviceaccount.com"
    channel = "projects/acme-ml/notificationChannels/7"
    done = asked(path, "ranker=acme-models", "", compute, ranker, "800", channel, "", "user:ada@example.com", "")
    assert done.exit_code == 0, done.output
    shown = "gcloud run services describe ranker --project=acme-ml --region=europe-west1"
    assert f"{shown} --format='value(spec.template.spec.serviceAccountName)'" in done.stderr
    assert "give the service one of its own" in done.stderr
    assert f'service_account_email = "{ranker}", objective = {{ p99_ms = 800 }}' in path.read_text()
    assert "warning" not in done.stderr


def test_what_is_answered_again_is_asked_for_again_and_no_answer_is_lost(tmp_path: Path) -> None:
    answers = ("ranker=acme-models", "ranker", "scorer=acme-models", "", "", "", "", "", "", "user:a@b.c", "user:a@b.c", "")
    done = asked(tmp_path / "x.tfvars", *answers)
    assert done.exit_code == 0, done.output
    assert "ranker: is given already" in done.stderr
    assert "user:a@b.c: is given already" in done.stderr
    assert re.findall(r'^  "(\w+)" = { bucket', (tmp_path / "x.tfvars").read_text(), re.MULTILINE) == ["ranker", "scorer"]


def test_of_a_service_with_a_long_name_the_account_must_be_said(tmp_path: Path) -> None:
    account = "a@acme-ml.iam.gserviceaccount.com"
    done = asked(tmp_path / "x.tfvars", "a-service-with-a-long-name=b-models", "", "", account, "", "", "")
    assert done.exit_code == 0, done.output
    assert "names of at most 14 characters" in done.stderr
    assert account in (tmp_path / "x.tfvars").read_text()


@pytest.mark.parametrize("answers", [(), ("ranker=acme-models",), ("ranker=acme-models", "", "", "", "")])
def test_an_input_that_ends_too_soon_writes_nothing_and_says_so(answers: tuple[str, ...], tmp_path: Path) -> None:
    done = asked(tmp_path / "x.tfvars", *answers)
    assert done.exit_code == 2
    assert "\ninit: the input ended before everything was answered, and nothing is written" in done.stderr
    assert not (tmp_path / "x.tfvars").exists()


@pytest.mark.parametrize(
    ("output", "says"), [((), "run it in a checkout of Trimtab"), (("-o", "none/x.tfvars"), "name a file with --output")]
)
def test_a_folder_that_is_missing_is_said_before_anything_is_asked(
    output: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = trimtab("init", *output)
    assert done.exit_code == 2
    assert "there is no folder" in done.stderr
    assert says in done.stderr


@pytest.mark.parametrize(
    ("output", "variables"),
    [
        ("terraform/terraform.tfvars", ""),
        ("terraform/acme.auto.tfvars", ""),
        ("terraform/acme.tfvars", " VARS=terraform/acme.tfvars"),
        ("acme.tfvars", " VARS=acme.tfvars"),
    ],
)
def test_the_next_commands_name_a_file_that_terraform_does_not_read_by_itself(
    output: str, variables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "terraform").mkdir()
    done = trimtab("init", *GIVEN, "--yes", "-o", output)
    assert done.exit_code == 0, done.output
    by_hand = f"make package && terraform -chdir=terraform init && terraform -chdir=terraform apply -var-file={tmp_path / output}"
    assert done.stderr.partition(f"{output}: written. Next:\n")[2].splitlines() == [
        "  gcloud services enable serviceusage.googleapis.com cloudresourcemanager.googleapis.com --project=acme-ml",
        f"  make deploy PROJECT=acme-ml REGION=europe-west1{variables}",
        *([f"  (by hand: {by_hand})"] if variables else []),
    ]


def test_the_documents_switch_the_same_apis_on_first() -> None:
    """Terraform asks these two before it can switch on any."""
    assert set(FIRST_APIS) < set(APIS)
    for page in ("README.md", "docs/guides/deploy.md"):
        (found,) = re.findall(r"gcloud services enable (.*) --project=acme-ml", (ROOT / page).read_text())
        assert tuple(found.split()) == FIRST_APIS


@pytest.mark.parametrize(
    "callers", [("user:ada@example.com", "serviceAccount:ci@acme-ml.iam.gserviceaccount.com"), ("group:x@example.com",)]
)
def test_every_caller_is_granted_or_said_to_have_no_grant(callers: tuple[str, ...]) -> None:
    text = tfvars(Answers("acme-ml", "europe-west1", (), (), tuple(map(read_caller, callers))))
    for caller in callers:
        address = caller.partition(":")[2]
        assert (f'identity = "{address}"' in text) != (f"# {caller} may reach the command function and give no command" in text)


@pytest.mark.parametrize("text", ["user:ada", "user:a@b@c", "user:@x", "serviceAccount:x@"])
def test_a_caller_that_no_grant_could_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="want a member"):
        read_caller(text)


def test_what_is_granted_is_a_grant() -> None:
    (grant,) = Grants.of([{"identity": "ada@example.com", "commands": COMMANDS, "services": ["*"]}]).grants
    assert grant.commands == COMMANDS


def deployed(folder: Path, *words: str) -> tuple[int, str]:
    """`make deploy` with a Terraform and a Python that only say what they were given."""
    for name, text in {"terraform": 'printf "%s\\n" "$@"', "python": "echo /x/trimtab.zip"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["make", "--silent", "-o", ".venv/installed", f"BIN={folder}", "deploy", *words],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_make_deploy_passes_the_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "acme ml.tfvars").write_text("")
    code, said = deployed(tmp_path, "PROJECT=acme-ml", "REGION=europe-west1", f"VARS={tmp_path}/acme ml.tfvars")
    assert code == 0, said
    assert said.splitlines()[4:] == [
        *("-chdir=terraform", "apply", f"-var-file={tmp_path}/acme ml.tfvars", "-var", "deploying=acme-ml/europe-west1"),
        f"Next: {tmp_path}/trimtab doctor --project acme-ml",
    ]
    assert "-var-file" not in deployed(tmp_path, "PROJECT=acme-ml", "REGION=europe-west1")[1]


def test_make_deploy_of_a_file_that_is_not_there_says_who_writes_one(tmp_path: Path) -> None:
    code, said = deployed(tmp_path, "PROJECT=acme-ml", "REGION=europe-west1", "VARS=none.tfvars")
    assert code != 0
    assert "trimtab init --output writes one" in said


@pytest.mark.parametrize(("output", "says"), [("-", "name one with --output"), ("x" * 300, "File name too long: give another name")])
def test_a_name_that_no_file_can_have_is_refused_in_words(output: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = trimtab("init", *GIVEN, "--yes", "-o", output)
    assert done.exit_code == 2
    assert says in done.stderr
    assert not list(tmp_path.iterdir())


def test_more_callers_than_grants_have_room_are_refused(tmp_path: Path) -> None:
    callers = [word for number in range(151) for word in ("--caller", f"user:ada{number}@example.com")]
    done = trimtab("init", *GIVEN, "--yes", "-o", tmp_path / "x.tfvars", *callers)
    assert done.exit_code == 2
    assert "151 are given, and grants for at most 150 fit" in done.stderr


def test_an_address_that_terraform_would_refuse_is_refused(tmp_path: Path) -> None:
    assert trimtab("init", *GIVEN, "--yes", "-o", tmp_path / "x.tfvars", "--caller", "user:a:b@c.de").exit_code == 2
