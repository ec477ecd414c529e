"""`trimtab simulate` as a person and a program meet it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

import cli.needs
import cli.simulating
from cli.main import app
from shared.simulation.figures import KEYS
from shared.simulation.oracle import search
from tests.support.scenarios import BATCHING, CONSISTENT, DEFAULTS, L4, NOT_SWITCHED_ON, scenario

SPEC = {
    "service": "acme-ml:europe-west1:ranker",
    "spec": {
        "scale": {"min_instance_count": 1, "max_instance_count": 2},
        "objective": {"p99_ms": 80},
        "serving": {
            "image": "tensorflow/serving:2.20.0-gpu",
            "model": {"name": "ranker", "uri": "gs://acme-models/ranker"},
            "accelerator": "nvidia-l4",
            "gpu_zonal_redundancy": False,
            "cpu": 4,
            "memory": "16Gi",
        },
    },
}


def simulate(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments], input=stdin)


def written(folder: Path, data: object, name: str = "scenario.yaml") -> str:
    path = folder / name
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return str(path)


def figures(folder: Path, *options: str, **changed: Any) -> dict[str, Any]:
    result = simulate(written(folder, scenario(**changed)), "--json", *options)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_one_run_is_one_object_with_the_keys_that_stay(tmp_path: Path) -> None:
    found = figures(tmp_path)
    assert tuple(found) == (*KEYS, "last_20_min")
    assert found["goodput"] == pytest.approx(0.5, abs=0.03)
    assert found["errors"] == {"server-thread-quota": pytest.approx(0.5, abs=0.03)}
    assert found["mean_batch"] == 1


def test_consistent_settings_carry_the_same_load(tmp_path: Path) -> None:
    found = figures(tmp_path, service={"gcloud": CONSISTENT, "batching": BATCHING})
    assert found["goodput"] > 0.99
    assert found["errors"] == {}
    assert found["mean_batch"] > 2


def test_the_table_is_called_simulated_and_says_what_the_numbers_say(tmp_path: Path) -> None:
    name = written(tmp_path, scenario())
    lines = simulate(name).stdout.splitlines()
    assert lines[0] == f"{name}: steady load, 2 simulated minutes after 1 of warm-up, seed 3"
    assert lines[2].split() == ["simulated", "static"]
    assert lines[3].startswith("good: answered within 50 ms")
    assert any(line.startswith("failed: server threads exhausted") for line in lines)
    said = " ".join(lines[-2:])
    assert "of tries refused: server threads exhausted" in said


def test_a_spec_is_simulated_as_what_it_would_be_rendered_to(tmp_path: Path) -> None:
    data = scenario(service=SPEC)
    del data["objective"]
    result = simulate(written(tmp_path, data))
    assert result.exit_code == 0, result.output
    assert "good: answered within 80 ms" in result.stdout


def test_compare_puts_several_settings_into_one_table(tmp_path: Path) -> None:
    data = scenario(compare={"consistent": {"gcloud": CONSISTENT, "batching": BATCHING}})
    other = written(tmp_path, SPEC, "spec.yaml")
    command = written(tmp_path, f"{DEFAULTS}\n", "pasted.sh")
    result = simulate(written(tmp_path, data), "--compare", other, command)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[2].split() == ["simulated", "static", "consistent", "spec", "pasted"]
    found = json.loads(simulate(written(tmp_path, data), "--compare", "--json").stdout)
    assert set(found) == {"static", "compare"}
    assert found["static"]["goodput"] < 0.6
    assert found["compare"]["consistent"]["goodput"] > 0.99


def test_without_compare_other_settings_are_left_out(tmp_path: Path) -> None:
    assert "goodput" in figures(tmp_path, compare={"other": {"gcloud": CONSISTENT}})


def test_a_server_that_would_not_start_is_not_simulated_as_if_it_ran(tmp_path: Path) -> None:
    name = written(tmp_path, scenario(service={"gcloud": NOT_SWITCHED_ON, "batching": BATCHING}))
    result = simulate(name, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["goodput"], found["errors"]) == (0, {"does-not-start": 1})
    assert "batching-not-enabled: --batching_parameters_file=/etc/batching.txt without --enable_batching" in result.stderr
    assert "no server comes up" in simulate(name).stdout


@pytest.mark.parametrize(
    ("service", "code"),
    [
        ({"gcloud": f"{DEFAULTS} --max-concurrency=60"}, "gcloud-unknown-flag"),
        ({"gcloud": DEFAULTS.replace("--memory=16Gi", "--memory=32Gi")}, "cpu-memory-shape"),
        ({"gcloud": DEFAULTS.replace("--port=8500 --use-http2", "")}, "port-not-listening"),
        ({"gcloud": CONSISTENT, "batching": "max_batch_size: 32\n"}, "batching-wrapper-syntax"),
        ({"gcloud": CONSISTENT, "batching": f"{BATCHING}allowed_batch_sizes: 8\n"}, "allowed-last-not-max"),
        ({"gcloud": DEFAULTS, "flags": ["--grpc_max_threads=many"]}, "server-flag-invalid"),
    ],
)
def test_what_gcloud_cloud_run_or_the_server_refuses_does_not_start(tmp_path: Path, service: dict[str, Any], code: str) -> None:
    result = simulate(written(tmp_path, scenario(service=service)), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["errors"] == {"does-not-start": 1}
    assert f"no server comes up: {code}" in result.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"gcloud alpha run deploy ranker --source . --region=europe-west1 {L4}", "it names no image that is known"),
        (f"gcloud run deploy ranker --image=eu.gcr.io/acme/triton:1 {L4}", "its image is eu.gcr.io/acme/triton:1"),
        (f"gcloud run deploy ranker --image=eu.gcr.io/acme/triton:1 --args=serve {L4}", "its image is eu.gcr.io/acme/triton:1"),
        (f"gcloud run deploy ranker --image=tensorflow/serving --command=python,serve.py {L4}", "its command is python serve.py"),
    ],
)
def test_what_starts_no_tensorflow_serving_is_not_simulated_as_if_it_did(tmp_path: Path, command: str, said: str) -> None:
    result = simulate(written(tmp_path, scenario(service={"gcloud": command})))
    assert result.exit_code == 2
    assert f"static: gcloud: nothing in it starts TensorFlow Serving: {said}" in result.stderr


@pytest.mark.parametrize(
    "service",
    [
        {"gcloud": DEFAULTS.replace("tensorflow/serving:2.20.0-gpu", "eu.gcr.io/acme/own:1"), "flags": ["--port=8500"]},
        {"gcloud": CONSISTENT.replace("tensorflow/serving:2.20.0-gpu", "eu.gcr.io/acme/own:1"), "batching": BATCHING},
        {"gcloud": f"{DEFAULTS.replace('tensorflow/serving:2.20.0-gpu', 'eu.gcr.io/acme/own:1')} --args=--grpc_max_threads=8"},
    ],
)
def test_an_image_of_one_s_own_is_tensorflow_serving_where_its_flags_say_so(tmp_path: Path, service: dict[str, Any]) -> None:
    assert figures(tmp_path, service=service, duration_s=60)["goodput"] > 0


def test_other_errors_of_lint_are_said_and_the_run_goes_on(tmp_path: Path) -> None:
    waits = BATCHING.replace("{ value: 0 }", "{ value: 5000000 }")
    result = simulate(written(tmp_path, scenario(service={"gcloud": CONSISTENT, "batching": waits}, duration_s=60)))
    assert result.exit_code == 0
    assert "static: lint: batch-timeout-seconds" in result.stdout


def test_an_unknown_flag_of_the_server_does_not_stop_it(tmp_path: Path) -> None:
    result = simulate(written(tmp_path, scenario(service={"gcloud": DEFAULTS, "flags": ["--max_batch_size=32"]}, duration_s=60)), "--json")
    assert json.loads(result.stdout)["goodput"] > 0
    assert "lint: server-flag-invalid" in result.stderr


def test_standard_input_is_read(tmp_path: Path) -> None:
    result = simulate("-", "--json", stdin=yaml.safe_dump(scenario()))
    assert result.stdout == simulate(written(tmp_path, scenario()), "--json").stdout


def test_files_beside_the_scenario_are_read(tmp_path: Path) -> None:
    written(tmp_path, DEFAULTS, "deploy.sh")
    written(tmp_path, SPEC, "spec.yaml")
    written(tmp_path, "time_s,rate\n0,100\n60,200\n", "rates.csv")
    data = scenario(
        service={"gcloud_file": "deploy.sh"},
        compare={"spec": {"spec_file": "spec.yaml"}},
        workload={"kind": "replay", "csv_file": "rates.csv"},
    )
    result = simulate(written(tmp_path, data), "--compare", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["static"]["goodput"] > 0.99


def test_files_of_windows_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    written(tmp_path, f"\ufeff{DEFAULTS}", "deploy.sh")
    written(tmp_path, "\ufefftime_s,rate\r\n0,100\r\n", "rates.csv")
    workload = {"kind": "replay", "csv_file": "rates.csv"}
    assert figures(tmp_path, service={"gcloud_file": "deploy.sh"}, workload=workload)["goodput"] > 0.99


@pytest.mark.parametrize("file", ["../outside.yaml", "/etc/hostname", "a\0b"])
def test_no_other_file_of_the_machine_is_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "inside").mkdir()
    written(tmp_path, DEFAULTS, "outside.yaml")
    result = simulate(written(tmp_path / "inside", json.dumps(scenario(service={"gcloud_file": file})), "scenario.json"))
    assert result.exit_code == 2
    assert "service.gcloud_file: " in result.stderr or "null" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("- 1\n", "a scenario is a mapping with service, model, workload and objective"),
        ("service: {\n", "not YAML"),
        ("service: {gcloud: ls}\nservice: {}\n", "service"),
        (yaml.safe_dump(scenario(model={"a_ms": -1, "c_ms": 1})), "model.a_ms: -1: want 0 or more"),
        (yaml.safe_dump(scenario(service={"gcloud": "ls -l"})), "gcloud: no command in it deploys a Cloud Run service"),
        (yaml.safe_dump(scenario(service={"gcloud": "gcloud run services list"})), "gcloud: no command in it deploys a Cloud Run service"),
        (yaml.safe_dump(scenario(limits={"min_instances": 3})), "static: limits.min_instances 3 is above 2, the service's maximum"),
        (yaml.safe_dump(scenario(limits={"warm_instances": 3})), "static: limits.warm_instances 3 is above 2, the service's maximum"),
        (yaml.safe_dump(scenario(service={"gcloud": DEFAULTS.replace("--cpu=4", "")})), "the vCPUs are not known: write --cpu"),
        (yaml.safe_dump(scenario(service={"spec": {"scale": {"max_instance_count": 2}}})), "leaves the server's command to its owner"),
    ],
)
def test_what_cannot_be_simulated_ends_with_2_and_says_why(tmp_path: Path, text: str, said: str) -> None:
    result = simulate(written(tmp_path, text))
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--plot", "picture.pdf"), "a picture's name ends in .png or .svg"),
        (("--plot", "/nowhere/picture.png"), "there is no folder /nowhere"),
        (("--compare",), "nothing to compare with"),
        (("/nowhere/other.yaml",), "/nowhere/other.yaml: there is no such file"),
        (("docs/examples/scenario.yaml",), "to compare others with it, add --compare"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_runs(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    result = simulate(written(tmp_path, scenario()), *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.needs, "find_spec", lambda name: None)
    result = simulate(written(tmp_path, scenario()))
    assert result.exit_code == 2
    assert result.stderr == "numba is not installed: the simulation is an extra of Trimtab, pip install 'trimtab[cli,simulation]'\n"


def test_the_same_scenario_gives_the_same_bytes_in_two_processes_and_another_seed_others(tmp_path: Path) -> None:
    data = scenario(seed=1, workload={"kind": "bursty", "low_rows_per_s": 100, "high_rows_per_s": 500})
    name = written(tmp_path, data)
    fresh = [sys.executable, "-c", "from cli.main import app; app()", "simulate", name, "--json"]
    first, second = (subprocess.run(fresh, capture_output=True, check=True, text=True).stdout for _ in range(2))
    assert first == second
    assert simulate(name, "--json").stdout == first
    assert simulate(written(tmp_path, {**data, "seed": 2}), "--json").stdout != first


def test_a_budget_that_is_not_kept_is_said(tmp_path: Path) -> None:
    data = scenario(objective={"p99_ms": 50, "usd_per_hour": 0.5}, duration_s=60)
    assert "above the budget of $0.50" in " ".join(simulate(written(tmp_path, data)).stdout.split())


def test_the_oracle_is_a_run_of_its_own_and_its_settings_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.simulating, "search", lambda task, **more: search(task, seeds=1, evaluations=6, **more))
    name = written(tmp_path, scenario(workload={"kind": "steady", "rows_per_s": 300}))
    result = simulate(name, "--oracle", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found) == {"static", "oracle"}
    assert found["oracle"]["goodput"] > 0.99
    assert "oracle: gcloud: --concurrency=" in result.stderr
    assert "oracle: FILE: max_batch_size { value: " in result.stderr


def test_steered_is_the_run_with_trimtab_in_the_loop(tmp_path: Path) -> None:
    data = scenario(workload={"kind": "steady", "rows_per_s": 1200}, limits={"gpu_quota": 6}, lag_s=60, warm_up_s=0, duration_s=600)
    result = simulate(written(tmp_path, data), "--steered", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found) == {"static", "steered"}
    assert found["steered"]["revisions"] > 1
    assert found["steered"]["errors"]["server-thread-quota"] < found["static"]["errors"]["server-thread-quota"]
    assert re.search(r"steered: \d+ writes to Cloud Run, \d new revision", result.stderr)


def test_steered_says_what_the_simulated_cloud_run_refuses(tmp_path: Path) -> None:
    result = simulate(written(tmp_path, scenario(limits={"gpu_quota": 1})), "--steered")
    assert result.exit_code == 2
    assert "--steered: Cloud Run would refuse the service: " in result.stderr
    assert "limits.gpu_quota is 1 and the service's maximum 2: raise limits.gpu_quota, or lower limits.max_instances" in result.stderr
    assert result.stdout == ""


def test_steered_begins_with_the_batching_file_and_the_flags_of_the_command(tmp_path: Path) -> None:
    given = {"gcloud": CONSISTENT.replace(";--grpc_max_threads=104", ""), "batching": BATCHING, "flags": ["--grpc_max_threads=104"]}
    result = simulate(written(tmp_path, scenario(service=given)), "--steered", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["steered"] == found["static"]
    assert "steered: 0 writes to Cloud Run, 0 new revisions" in result.stderr


def test_steered_a_spec_is_the_service_that_it_would_be_rendered_to(tmp_path: Path) -> None:
    result = simulate(written(tmp_path, scenario(service=SPEC)), "--steered", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["steered"]["goodput"] > 0.99
