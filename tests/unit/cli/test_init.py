"""`trimtab init`: answers of the form that Terraform takes, as a file that it reads."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.init import PATTERNS, Answers, Model, tfvars
from cli.main import app
from tests.support.commands import trimtab

TERRAFORM = Path(__file__).parents[3] / "terraform"
GIVEN = ("--project", "acme-ml", "--region", "europe-west1")
WRITTEN = """# Written by `trimtab init`; terraform/README.md says what else can be said.

project_id = "acme-ml"
region     = "europe-west1"

model_buckets = {
  "acme-models" = {}
}

models = {
  "ranker" = { bucket = "acme-models" }
  "scorer" = { bucket = "acme-models", service_account_email = "scorer@acme-ml.iam.gserviceaccount.com" }
}

notification_channels = ["projects/acme-ml/notificationChannels/7"]

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
    models = ("--model", "ranker=acme-models", "--model", "scorer=acme-models=scorer@acme-ml.iam.gserviceaccount.com")
    people = ("--caller", "user:ada@example.com", "--caller", "group:oncall@example.com")
    channel = ("--channel", "projects/acme-ml/notificationChannels/7")
    done = trimtab("init", *GIVEN, *models, *people, *channel, "--yes", "-o", tmp_path / "terraform.tfvars")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "terraform.tfvars").read_text() == WRITTEN
    assert "make deploy PROJECT=acme-ml REGION=europe-west1" in done.stderr


def test_what_is_not_given_is_asked_for_and_asked_again_until_it_is_right(tmp_path: Path) -> None:
    answers = ["123", "acme-ml", "europe-west1-b", "europe-west1", "gs://acme", "ranker=acme-models", "", "", "allUsers", ""]
    done = CliRunner().invoke(app, ["init", "-o", str(tmp_path / "x.tfvars")], input="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.output
    assert "'123': want the project's id" in done.stderr
    assert "'europe-west1-b': want a region such as europe-west1, not a zone" in done.stderr
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
        ((*GIVEN, "--model", "ranker=a=b=c"), "want SERVICE, or SERVICE=BUCKET, or SERVICE=BUCKET=ACCOUNT"),
        ((*GIVEN, "--model", "ranker", "--model", "ranker=acme-models"), "ranker: given twice"),
        ((*GIVEN, "--channel", "mail"), "want a channel such as projects/acme-ml/notificationChannels/123"),
        ((*GIVEN, "--caller", "user:a\x1b[2J@example.com"), "want a member"),
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


def test_the_forms_are_those_of_terraforms_variables() -> None:
    written = {
        re.sub(r"\\\\", r"\\", found)
        for path in TERRAFORM.rglob("variables.tf")
        for found in re.findall(r'regex\("([^"]+)"', path.read_text())
    }
    assert set(PATTERNS.values()) - written == set()
