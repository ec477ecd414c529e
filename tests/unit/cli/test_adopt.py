"""`trimtab adopt`: the spec of a service as it is. A plan of that spec is empty, whatever the service; at most the traffic is written."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from google.cloud import run_v2
from hypothesis import example, given
from hypothesis import strategies as st

from cli.shown import spec_yaml
from cli.spec_input import load_yaml
from shared.cloudrun.documents import read_service_document
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_json import from_json
from shared.simulation.platform import TRIMTAB
from tests.support.commands import NOW, PROJECT, REGION, SERVICES, plan_of, simulated, trimtab
from tests.support.specs import AWKWARD

DOCUMENTS = sorted(SERVICES.iterdir())
OURS = {"v1-rendered.yaml", "v2-rendered.json"}
SHIFTING = SERVICES / "v2-tags-latest.json"


def adopted(document: Path, folder: Path) -> Path:
    path = folder / "adopted.yaml"
    done = trimtab("adopt", document, "--project", PROJECT, "--region", REGION, "-o", path)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    return path


def data_of(spec: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(spec.read_text())
    return found


def test_there_are_twenty_services_of_both_forms() -> None:
    assert [sum(each.name.startswith(form) for each in DOCUMENTS) for form in ("v1-", "v2-")] == [10, 10]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_a_plan_of_an_adopted_service_is_empty(document: Path, tmp_path: Path) -> None:
    spec = adopted(document, tmp_path)
    found = plan_of(spec, document)
    assert (found["differences"], found["settings"], found["revision"]) == ([], [], None)
    assert data_of(spec)["spec"]["autonomy"] == "observe"
    assert "REFUSED" not in spec.read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_one_change_of_an_adopted_spec_changes_nothing_else(document: Path, tmp_path: Path) -> None:
    spec = adopted(document, tmp_path)
    data = data_of(spec)
    data["spec"]["serving"]["ingress"] = "none" if data["spec"]["serving"].get("ingress") != "none" else "internal"
    data["spec"]["serving"]["max_instance_request_concurrency"] = 77
    data["spec"]["serving"]["cpu"] = str(data["spec"]["serving"].get("cpu", 1)).replace("500m", "1")
    spec.write_text(yaml.safe_dump(data))
    fields = {each["field"] for each in plan_of(spec, document)["differences"]}
    threads = {"template.containers[(serving)].args"} if document.name in OURS else set()
    below_one = {"template.containers[(serving)].resources.limits.cpu"} if data["spec"]["serving"]["cpu"] == "1" else set()
    assert fields - below_one == {"ingress", "template.maxInstanceRequestConcurrency", *threads}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_only_what_trimtab_rendered_is_read_back_as_settings(document: Path, tmp_path: Path) -> None:
    serving = data_of(adopted(document, tmp_path))["spec"]["serving"]
    assert ("own_entry" in serving, "model" in serving) == ((False, True) if document.name in OURS else (True, False))


def test_the_spec_says_where_it_came_from_what_stays_and_how_to_pin(tmp_path: Path) -> None:
    lines = adopted(SERVICES / "v1-l4-grpc-latest.yaml", tmp_path).read_text().splitlines()
    comments = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    assert comments[0].startswith("acme-ml:europe-west4:ranker as it is, read from ")
    assert comments[1:] == [
        "scale.max_instance_count 3 is the revision's own maximum: the service has none",
        "the revision's own minInstanceCount 1 stays: Trimtab moves the service's",
        "own_entry: the command and its arguments stay as they are, whatever the image serves; the spec only repeats them",
        "left alone: environment TF_FORCE_GPU_ALLOW_GROWTH, MODEL_NAME",
        "left alone: probes startupProbe",
        "traffic follows the latest revision: whatever is deployed gets it at once. Pinned, as --pin-traffic writes it, it is",
        "  gcloud run services update-traffic ranker --project=acme-ml --region=europe-west4 --to-revisions=ranker-00017-kud=100",
    ]


def test_what_admission_will_not_take_is_said_in_the_file(tmp_path: Path) -> None:
    document = tmp_path / "now.yaml"
    text = (SERVICES / "v1-rendered.yaml").read_text()
    document.write_text(text.replace("tensorflow/serving:2.20.0-gpu", "tensorflow/serving:latest-gpu"))
    text = adopted(document, tmp_path).read_text()
    assert "# REFUSED as it stands: spec.serving.image: tensorflow/serving:latest-gpu: the tag latest-gpu moves" in text


ORDINARY = {
    "latest": ("v2-tags-latest.json", "tensorflow/serving:2.20.0", "tensorflow/serving:latest", "the tag latest moves"),
    "no tag": ("v2-tags-latest.json", "tensorflow/serving:2.20.0", "tensorflow/serving", "without a tag it is :latest"),
    "no GPU build": ("v1-l4-grpc-latest.yaml", "tensorflow/serving:2.19.0-gpu", "tensorflow/serving:2.19.0", "no GPU support"),
    "account": (
        "v2-tags-latest.json",
        '"template": {',
        '"template": {"serviceAccount": "x@other-ml.iam.gserviceaccount.com",',
        "it belongs to the project other-ml",
    ),
    "port": ("v2-tags-latest.json", '"resources"', '"args": ["--rest_api_port=$(PORT)"], "resources"', "Cloud Run puts a variable's value"),
}
"""Fixture, what is replaced in it, by what, and what is said: services as people have them, none of which Trimtab would make so."""


@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_service_is_adopted_and_watched_and_refused_once_more_is_asked(kind: str, tmp_path: Path) -> None:
    name, old, new, said = ORDINARY[kind]
    document = tmp_path / name
    text = (SERVICES / name).read_text()
    assert old in text
    document.write_text(text.replace(old, new, 1))
    spec = adopted(document, tmp_path)
    note = "taken because autonomy is observe, refused with recommend or act: spec.serving."
    assert len([line for line in spec.read_text().splitlines() if line.startswith(f"# {note}") and said in line]) == 1
    found = plan_of(spec, document)
    assert (found["differs"], found["revision"]) == (False, None)
    assert [each.startswith(note) and said in each for each in found["notes"]] == [True]
    spec.write_text(spec.read_text().replace("autonomy: observe", "autonomy: act"))
    done = trimtab("plan", spec, "--against", document)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "refused for 1 reason" in done.stderr
    assert said in done.stderr


def test_a_value_that_no_spec_can_say_is_named(tmp_path: Path) -> None:
    document = tmp_path / "now.json"
    document.write_text(SHIFTING.read_text().replace("tensorflow/serving:2.20.0", "Not An Image"))
    done = trimtab("adopt", document)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no spec can say this service: image='Not An Image'" in done.stderr


def test_unknown_numbers_of_a_service_stay_numbers(tmp_path: Path) -> None:
    document = tmp_path / "now.json"
    document.write_text(SHIFTING.read_text().replace('"template": {', '"template": {"newShare": 0.5, "newSpelling": [1.10, "1.10"],', 1))
    template = read_service_document(document.read_text()).service["template"]
    assert (template["newShare"], template["newSpelling"]) == (0.5, [1.1, "1.10"])
    assert type(template["newShare"]) is float


def test_project_and_region_are_asked_for_where_the_document_does_not_say_them(tmp_path: Path) -> None:
    split = SERVICES / "v1-cpu-rest-split.yaml"
    assert "names the project by its number only (123456789012): give it with --project" in trimtab("adopt", split).stderr
    text = split.read_text().replace("    cloud.googleapis.com/location: europe-west4\n", "")
    (tmp_path / "now.yaml").write_text(text)
    done = trimtab("adopt", tmp_path / "now.yaml", "--project", PROJECT)
    assert (done.exit_code, "names the region nowhere: give it with --region" in done.stderr) == (2, True)
    other = trimtab("adopt", SHIFTING, "--region", "us-central1")
    assert (other.exit_code, "its region is 'europe-west4', asked for is 'us-central1'" in other.stderr) == (2, True)


def test_a_file_that_is_there_is_not_written_over_without_force(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("mine")
    done = trimtab("adopt", SHIFTING, "-o", path)
    assert (done.exit_code, path.read_text()) == (2, "mine")
    assert "is there already: give another name, or --force" in done.stderr
    assert trimtab("adopt", SHIFTING, "-o", path, "--force").exit_code == 0
    assert path.read_text() == trimtab("adopt", SHIFTING).stdout


def test_what_is_neither_a_file_nor_an_id_is_said_to_be(tmp_path: Path) -> None:
    done = trimtab("adopt", "ranker")
    assert (done.exit_code, "ranker: neither a file nor project:region:name" in done.stderr) == (2, True)
    numbered = trimtab("adopt", "123456789012:europe-west4:ranker")
    assert (numbered.exit_code, "123456789012 is a project's number: write its id" in numbered.stderr) == (2, True)
    long = trimtab("adopt", f"acme-ml:europe-west4:{'x' * 50}")
    assert (long.exit_code, "a service's name has at most 49 lower case letters, digits and dashes" in long.stderr) == (2, True)


@pytest.fixture
def cloud_run() -> SimulatedCloudRun:
    """A service whose traffic follows the latest revision, with a tag on it."""
    found = SimulatedCloudRun(now=lambda: NOW)
    service = read_service_document((SERVICES / "v2-sidecars.json").read_text()).service
    targets = [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100, "tag": "live"}]
    message = from_json({**service, "name": "", "traffic": targets}, run_v2.Service, at="service")
    found.create_service(f"projects/{PROJECT}/locations/{REGION}", "team", message, settled=True)
    return found


TEAM = ServiceId(project=PROJECT, region=REGION, name="team")


def test_a_service_that_runs_is_read_and_nothing_is_written(cloud_run: SimulatedCloudRun, tmp_path: Path) -> None:
    before = cloud_run.get_service(TEAM.resource_name)
    with simulated(cloud_run) as environment:
        assert trimtab("adopt", TEAM, "-o", tmp_path / "spec.yaml", environment=environment).exit_code == 0
        assert plan_of(tmp_path / "spec.yaml", environment=environment)["differs"] is False
        assert trimtab("adopt", TEAM.resource_name, environment=environment).stdout == (tmp_path / "spec.yaml").read_text()
    assert cloud_run.get_service(TEAM.resource_name) == before


def test_pinning_writes_the_traffic_by_name_and_nothing_else(cloud_run: SimulatedCloudRun) -> None:
    before = cloud_run.get_service(TEAM.resource_name)
    with simulated(cloud_run) as environment:
        done = trimtab("adopt", TEAM, "--pin-traffic", environment=environment)
        again = trimtab("adopt", TEAM, "--pin-traffic", environment=environment)
    after = cloud_run.get_service(TEAM.resource_name)
    revision = before.latest_ready_revision.rsplit("/", 1)[-1]
    assert done.exit_code == 0
    assert f"acme-ml:europe-west4:team: traffic pinned to 100% {revision}; operation projects/" in done.stderr
    assert [(each.revision, each.percent, each.tag) for each in after.traffic] == [(revision, 100, "live")]
    assert (after.template, after.scaling) == (before.template, before.scaling)
    assert (again.exit_code, "traffic is pinned already: nothing was written" in again.stderr) == (0, True)
    writes = [write for write in cloud_run.write_log if write.principal == TRIMTAB]
    assert [set(write.mask) for write in writes] == [{"traffic", "client", "client_version"}]


def test_a_file_cannot_be_pinned() -> None:
    done = trimtab("adopt", SHIFTING, "--pin-traffic")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--pin-traffic: a file's traffic cannot be written" in done.stderr


def test_a_service_that_is_not_there_is_said_to_be_missing(cloud_run: SimulatedCloudRun) -> None:
    with simulated(cloud_run) as environment:
        done = trimtab("adopt", "acme-ml:europe-west4:absent", environment=environment)
    assert (done.exit_code, "Cloud Run has no such service" in done.stderr) == (2, True)


@given(st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=30)), max_size=4))
@example(
    [
        "a\n  b",
        " a\nb",
        "a \nb",
        "a\n",
        "a\n\n",
        "\na",
        "# a\n b",
        "off",
        "1:30",
        "0x1f",
        "~",
        "=",
        "<<",
        "a: b",
        "- a",
        "x\x85y",
        "\u2028",
        "\ufeff",
        "1e3",
        "+1",
        "08",
        "0o17",
        ".5",
        "5.",
        "TRUE",
        "\x7f",
        "a\x9bb",
        "a\u202eb",
        "a\nb\u202e",
    ]
)
def test_any_text_is_read_back_from_the_file_as_it_was(values: list[str]) -> None:
    text = spec_yaml({"args": values, "named": {each: each for each in values}})
    assert load_yaml(text) == {"args": values, "named": {each: each for each in values}}
    assert all(line.isprintable() for line in text.split("\n"))
