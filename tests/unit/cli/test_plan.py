"""`trimtab plan`: what it says of a service in a file, and of one that it reads from Cloud Run over the real client."""

import json
from pathlib import Path

import pytest
from google.cloud import run_v2

from shared.cloudrun.documents import read_service_document
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_json import from_json
from shared.simulation.gpu_service import GPU_QUOTA
from tests.support.commands import NOW, RANKER, plan_of, simulated, spec_file, trimtab

SERVICE = ServiceId.parse(RANKER["service"])
PARENT = f"projects/{SERVICE.project}/locations/{SERVICE.region}"


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    """The typical spec's service as a v1 document."""
    path = tmp_path / "now.yaml"
    path.write_text(trimtab("render", spec_file(tmp_path), "--format", "yaml").stdout)
    return path


@pytest.fixture
def cloud_run() -> SimulatedCloudRun:
    found = SimulatedCloudRun(now=lambda: NOW)
    found.set_gpu_quota(SERVICE.project, SERVICE.region, GPU_QUOTA)
    return found


def put(cloud_run: SimulatedCloudRun, document: Path) -> None:
    service = {**read_service_document(document.read_text()).service, "name": ""}
    cloud_run.create_service(PARENT, SERVICE.name, from_json(service, run_v2.Service, at="service"), settled=True)


def test_a_service_that_is_as_the_spec_says_differs_in_nothing(tmp_path: Path, rendered: Path) -> None:
    done = trimtab("plan", spec_file(tmp_path), "--against", rendered, "--exit-code")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"acme-ml:europe-west1:ranker: nothing differs; read from {rendered}",
        "",
        "Dollars per hour, list prices of europe-west1",
        "  now:  1.11 per instance; 1 to 6 instances: 1.11 to 6.69",
        "  then: 1.11 per instance; 1 to 6 instances: 1.11 to 6.69",
    ]


def test_a_change_is_shown_in_the_specs_words_and_as_changed_lines(tmp_path: Path, rendered: Path) -> None:
    batching = {"max_batch_size": 64, "batch_timeout_micros": 0, "max_enqueued_batches": 4, "num_batch_threads": 2}
    spec = spec_file(tmp_path, "new.yaml", batching=batching, max_instance_request_concurrency=96)
    lines = trimtab("plan", spec, "--against", rendered).stdout.splitlines()
    assert lines[0].startswith("acme-ml:europe-west1:ranker: 1 field differs, new revision ranker-")
    assert lines[2:5] == [
        "In the spec's words",
        "  batching.max_batch_size: 32 -> 64",
        "  batching.allowed_batch_sizes: [1, 2, 4, 8, 16, 32] -> []",
    ]
    at = lines.index("  template.containers[(serving)].env[TRIMTAB_BATCHING_PARAMETERS].value:")
    assert lines[at + 1 : at + 4] == [
        "    - max_batch_size { value: 32 }",
        "    + max_batch_size { value: 64 }",
        "    - allowed_batch_sizes: 1",
    ]


def test_only_the_arguments_that_change_are_shown(tmp_path: Path, rendered: Path) -> None:
    lines = trimtab("plan", spec_file(tmp_path, "new.yaml", timeout_seconds=60), "--against", rendered).stdout.splitlines()
    at = lines.index("  template.containers[(serving)].args:")
    assert lines[at + 1 : at + 4] == [
        "    - --rest_api_timeout_in_ms=30000",
        "    + --rest_api_timeout_in_ms=60000",
        "  template.timeout: 30s -> 60s",
    ]


def test_of_long_lines_the_part_that_changes_is_shown(tmp_path: Path, rendered: Path) -> None:
    long = "x" * 5_000
    spec = spec_file(tmp_path, "long.yaml", environment={"LONG": f"{long}1"})
    rendered.write_text(trimtab("render", spec, "--format", "yaml").stdout)
    lines = trimtab("plan", spec_file(tmp_path, "new.yaml", environment={"LONG": f"{long}2"}), "--against", rendered).stdout.splitlines()
    assert f"  environment.LONG: …{'x' * 40}1 -> …{'x' * 40}2" in lines


def test_differences_are_no_failure_unless_the_exit_code_is_asked_for(tmp_path: Path, rendered: Path) -> None:
    spec = spec_file(tmp_path, "new.yaml", timeout_seconds=60)
    assert trimtab("plan", spec, "--against", rendered).exit_code == 0
    assert trimtab("plan", spec, "--against", rendered, "--exit-code").exit_code == 1


def test_json_has_the_whole_plan(tmp_path: Path, rendered: Path) -> None:
    found = plan_of(spec_file(tmp_path, "new.yaml", ingress="internal"), rendered)
    assert found == {
        "service": "acme-ml:europe-west1:ranker",
        "source": str(rendered),
        "exists": True,
        "differs": True,
        "revision": None,
        "differences": [
            {"field": "ingress", "before": "INGRESS_TRAFFIC_ALL", "after": "INGRESS_TRAFFIC_INTERNAL_ONLY", "new_revision": False}
        ],
        "settings": [{"setting": "ingress", "before": None, "after": "internal"}],
        "usd_per_hour": {"region": "europe-west1", "now": found["usd_per_hour"]["then"], "then": found["usd_per_hour"]["now"]},
        "notes": ["autonomy is observe: Trimtab records what happens and writes nothing of this"],
    }
    assert found["usd_per_hour"]["now"] == {
        "per_instance": 1.1149,
        "at_min": 1.1149,
        "at_max": 6.6895,
        "min_instances": 1,
        "max_instances": 6,
        "allowed_instances": 6,
        "when_all_allowed": 6.6895,
        "unknown": None,
    }


def test_the_price_of_all_that_the_spec_allows_stands_beside_what_is_in_force(tmp_path: Path, rendered: Path) -> None:
    spec = spec_file(tmp_path, "more.yaml")
    spec.write_text(spec.read_text().replace("max_instance_count: 6", "max_instance_count: 12"))
    lines = trimtab("plan", spec, "--against", rendered).stdout.splitlines()
    assert "  scale.max_instance_count: 6 -> 12" in lines
    assert not [line for line in lines if line.startswith("  max_instance_count")]
    assert "  then: 1.11 per instance; 1 to 6 instances: 1.11 to 6.69; the spec allows 12: 13.38" in lines


def test_ports_are_shown_as_numbers_with_their_protocol(tmp_path: Path, rendered: Path) -> None:
    lines = trimtab("plan", spec_file(tmp_path, "rest.yaml", protocol="rest"), "--against", rendered).stdout.splitlines()
    assert "  template.containers[(serving)].ports: 8500 (h2c) -> 8501 (http1)" in lines


def test_what_is_to_be_known_beside_the_fields_are_notes(tmp_path: Path, rendered: Path) -> None:
    spec = spec_file(tmp_path, "more.yaml", batching={"batch_timeout_micros": 5_000_000}, timeout_seconds=60)
    notes = [line for line in trimtab("plan", spec, "--against", rendered).stdout.splitlines() if line.startswith("Note: ")]
    assert [note.split(":")[1].strip() for note in notes] == [
        "traffic goes to the latest revision by itself now",
        "spec.serving.batching.batch_timeout_micros 5000000 is 5 s",
        "autonomy is observe",
        "service_account is not set",
        "no windows are set",
        "no golden_request is set",
        "during the rollout the new revision runs beside the old one",
    ]


def test_the_version_that_runs_stays_where_the_spec_says_latest(tmp_path: Path, rendered: Path) -> None:
    latest = spec_file(tmp_path, "latest.yaml", model={"name": "ranker", "uri": "gs://acme-models/ranker"})
    assert plan_of(latest, rendered)["differs"] is False
    change = plan_of(latest, rendered, "--version", 43)["settings"]
    assert change == [{"setting": "model.version", "before": 42, "after": 43}]


def test_another_models_version_is_not_taken_for_the_latest(tmp_path: Path, rendered: Path) -> None:
    other = spec_file(tmp_path, "other.yaml", model={"name": "ranker", "uri": "gs://acme-models/ranker-v2"})
    done = trimtab("plan", other, "--against", rendered)
    assert done.exit_code == 2
    assert "say which it is with --version N, the number of a folder of gs://acme-models/ranker-v2" in done.stderr


def test_control_characters_of_the_service_do_not_reach_the_terminal(tmp_path: Path, rendered: Path) -> None:
    text = rendered.read_text().replace("--enable_batching=true", "--enable_batching=true\\x1b[2J")
    rendered.write_text(text.replace("'--enable_batching=true\\x1b[2J'", '"--enable_batching=true\\x1b[2J"'))
    shown = trimtab("plan", spec_file(tmp_path), "--against", rendered).stdout
    assert "- --enable_batching=true\\x1b[2J" in shown
    assert "\x1b" not in shown


def test_json_has_every_character_that_is_not_printed_as_an_escape(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, environment={"A": "a\x7f\x9b\u202eé"})
    (tmp_path / "now.yaml").write_text(trimtab("render", spec_file(tmp_path, "old.yaml"), "--format", "yaml").stdout)
    done = trimtab("plan", spec, "--against", tmp_path / "now.yaml", "--format", "json")
    assert done.stdout.isascii()
    assert "\x7f" not in done.stdout.replace("\\u007f", "")
    assert {"setting": "environment.A", "before": None, "after": "a\x7f\x9b\u202eé"} in json.loads(done.stdout)["settings"]
    yaml_text = trimtab("render", spec, "--format", "yaml").stdout
    assert all(line.isprintable() for line in yaml_text.split("\n"))


def test_a_document_of_another_service_is_refused(tmp_path: Path, rendered: Path) -> None:
    spec = spec_file(tmp_path)
    rendered.write_text(rendered.read_text().replace("name: ranker\n", "name: sorter\n", 1))
    done = trimtab("plan", spec, "--against", rendered)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "this is the service sorter, the spec is of ranker" in done.stderr
    rendered.write_text(rendered.read_text().replace("location: europe-west1", "location: europe-west4"))
    assert "its region is 'europe-west4', asked for is 'europe-west1'" in trimtab("plan", spec, "--against", rendered).stderr


def test_a_document_that_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "now.yaml").write_text("apiVersion: serving.knative.dev/v1\nkind: Service\nkind: Job\n")
    done = trimtab("plan", spec_file(tmp_path), "--against", tmp_path / "now.yaml")
    assert (done.exit_code, "line 3: the field 'kind' is twice in one object, first in line 2" in done.stderr) == (2, True)


def test_a_service_that_runs_is_read_with_the_real_client(tmp_path: Path, rendered: Path, cloud_run: SimulatedCloudRun) -> None:
    put(cloud_run, rendered)
    with simulated(cloud_run) as environment:
        assert plan_of(spec_file(tmp_path), environment=environment)["differs"] is False
        change = plan_of(spec_file(tmp_path, cpu=8, memory="32Gi"), environment=environment)
    assert change["source"] == "Cloud Run"
    assert change["settings"] == [{"setting": "cpu", "before": "4", "after": "8"}, {"setting": "memory", "before": "16Gi", "after": "32Gi"}]
    assert change["usd_per_hour"]["then"]["per_instance"] > change["usd_per_hour"]["now"]["per_instance"]
    assert "traffic goes to the latest revision by itself now: pin it first" in change["notes"][0]


def test_set_points_that_only_rest_knows_are_read_and_compared(tmp_path: Path, cloud_run: SimulatedCloudRun) -> None:
    points = {"cpu_utilization": "disabled", "concurrency_utilization": 0.7}
    spec = spec_file(tmp_path, set_points=points)
    (tmp_path / "now.yaml").write_text(trimtab("render", spec, "--format", "yaml").stdout)
    put(cloud_run, tmp_path / "now.yaml")
    with simulated(cloud_run) as environment:
        assert plan_of(spec, environment=environment)["differs"] is False
        change = plan_of(spec_file(tmp_path, set_points={**points, "cpu_utilization": 0.5}), environment=environment)
    assert change["settings"] == [{"setting": "set_points.cpu_utilization", "before": "disabled", "after": 0.5}]
    assert [each["field"] for each in change["differences"]] == ["template.scaling.cpuUtilization"]


def test_a_service_that_is_not_there_would_be_created(tmp_path: Path, cloud_run: SimulatedCloudRun) -> None:
    with simulated(cloud_run) as environment:
        done = trimtab("plan", spec_file(tmp_path), environment=environment)
        found = plan_of(spec_file(tmp_path), environment=environment)
    assert done.stdout.startswith("acme-ml:europe-west1:ranker: there is no such service: it would be created, its first revision ranker-")
    assert "  template.maxInstanceRequestConcurrency: not set -> 96" in done.stdout.splitlines()
    assert "  scaling.maxInstanceCount: not set -> 6" in done.stdout.splitlines()
    assert (found["exists"], found["differs"], found["usd_per_hour"]["now"]) == (False, True, None)
    assert json.dumps(found["differences"]).count('"before": null') == len(found["differences"])


def test_no_credentials_is_no_traceback(tmp_path: Path) -> None:
    done = trimtab("plan", spec_file(tmp_path), environment={"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "absent.json")})
    assert (done.exit_code, done.stdout) == (3, "")
    assert "no credentials from the environment" in done.stderr
    assert "gcloud auth application-default login" in done.stderr
