"""The entry points alone: small, without branches, importable anywhere, and each with no more clients than it needs."""

import ast
import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.functions.apps import NAMES, ROOT

SCRIPT = """
import contextlib, io, json, sys, types
from functions_framework import create_app

name = sys.argv[1]
application = create_app(name, f"functions/{name}/main.py", "http")
function = getattr(sys.modules["main"], name)
before = set(sys.modules)
with contextlib.redirect_stdout(io.StringIO()) as logged:
    answer = application.test_client().post("/", data=b"{}", content_type="application/json")
late = [module for module in set(sys.modules) - before if module.partition(".")[0] in ("google", "grpc", "shared", "pydantic")]
report = {"plain": type(function) is types.FunctionType, "name": function.__name__, "modules": sorted(before), "late": late}
print(json.dumps({**report, "status": answer.status_code, "logged": logged.getvalue().splitlines()}))
"""

BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.comprehension, ast.Assert)
HEAVY = ("google.cloud.run_v2", "google.cloud.monitoring", "google.cloud.storage", "google.cloud.logging", "google.cloud.pubsub_v1")
ENTRY_POINT_LINES = 40


@cache
def started(name: str, *variables: tuple[str, str]) -> Any:
    """What a fresh process says that starts the function with nothing but these variables in its environment."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT, name], cwd=ROOT, env=dict(variables), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_imported_in_an_empty_environment_and_is_a_plain_function_of_its_name(name: str) -> None:
    report = started(name)
    assert (report["plain"], report["name"]) == (True, name)


@pytest.mark.parametrize("name", NAMES)
def test_without_settings_a_request_is_a_500_that_names_the_missing_one(name: str) -> None:
    report = started(name)
    (line,) = report["logged"]
    said = json.loads(line)
    assert (report["status"], said["severity"], said["error"]) == (500, "ERROR", "ValueError")
    assert "TRIMTAB_PROJECT is not set" in said["text"]
    assert "settings.py" in said["where"]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_request_imports_nothing_that_start_up_should_have_paid_for(name: str) -> None:
    assert started(name)["late"] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_first_request_with_settings_imports_nothing_either(name: str) -> None:
    emulators = (("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1"), ("PUBSUB_EMULATOR_HOST", "127.0.0.1:1"))
    local = (("TRIMTAB_PROJECT", "acme-ml"), ("TRIMTAB_CLOUD_RUN_ENDPOINT", "127.0.0.1:1"))
    script = SCRIPT.replace('application.test_client().post("/", data=b"{}", content_type="application/json")', "ports()")
    script = script.replace("answer.status_code", "type(answer).__name__").replace(
        "before = set(sys.modules)", "from shared import wiring; ports = getattr(wiring, name + '_ports'); before = set(sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, name], cwd=ROOT, env=dict((*emulators, *local)), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    kind = {"alert": "factports"}.get(name, f"{name}ports")
    assert (report["late"], report["status"].lower()) == ([], kind)


SWITCHED = ("shared.gcp.traces", "shared.gcp.profiling", "opentelemetry.sdk", "opentelemetry.exporter", "googlecloudprofiler")


@pytest.mark.parametrize("name", NAMES)
def test_with_the_switches_off_a_served_event_loads_nothing_of_spans_or_profiles(name: str) -> None:
    variables = ("TRIMTAB_PROJECT", "acme-ml"), ("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1"), ("PUBSUB_EMULATOR_HOST", "127.0.0.1:1")
    script = SCRIPT.replace("sorted(before)", "sorted(sys.modules)").replace('"/", data=b"{}"', '"/", data=b""')
    ran = subprocess.run([sys.executable, "-c", script, name], cwd=ROOT, env=dict(variables), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert [module for module in json.loads(ran.stdout)["modules"] if module.startswith(SWITCHED)] == []


@pytest.mark.parametrize("name", NAMES)
def test_with_traces_on_a_served_event_loads_them(name: str) -> None:
    """So that the test above can fail, and each entry point is held to be watched."""
    variables = (
        ("TRIMTAB_PROJECT", "acme-ml"),
        ("TRIMTAB_TRACE_RATIO", "1e-9"),
        ("TRIMTAB_TELEMETRY_ENDPOINT", "127.0.0.1:1"),
        ("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1"),
        ("PUBSUB_EMULATOR_HOST", "127.0.0.1:1"),
    )
    script = SCRIPT.replace("sorted(before)", "sorted(sys.modules)").replace('"/", data=b"{}"', '"/", data=b""')
    ran = subprocess.run([sys.executable, "-c", script, name], cwd=ROOT, env=dict(variables), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert "shared.gcp.traces" in report["modules"]
    assert all("logging.googleapis.com/trace" in line for line in report["logged"])


@pytest.mark.parametrize("name", ["alert", "audit", "schedule"])
@pytest.mark.parametrize("client", HEAVY)
def test_the_event_functions_never_load_a_client_they_do_not_use(name: str, client: str) -> None:
    assert [module for module in started(name)["modules"] if f"{module}.".startswith(f"{client}.") or module.startswith(f"{client}_")] == []


def test_only_reconcile_loads_cloud_runs_client() -> None:
    assert [name for name in NAMES if "google.cloud.run_v2" in started(name)["modules"]] == ["reconcile"]


@pytest.mark.parametrize("name", NAMES)
def test_no_function_loads_the_command_line_or_the_local_edition(name: str) -> None:
    mine = [module for module in started(name)["modules"] if module.split(".")[0] in {"cli", "typer", "rich", "yaml"}]
    assert mine == []
    assert not any(module.startswith(("shared.local", "shared.simulation")) for module in started(name)["modules"])


def test_there_is_one_folder_per_function_and_each_holds_one_file() -> None:
    found = sorted(path.relative_to(ROOT / "functions").as_posix() for path in (ROOT / "functions").rglob("*.py"))
    assert found == [f"{name}/main.py" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_short_and_decides_nothing(name: str) -> None:
    text = (ROOT / "functions" / name / "main.py").read_text()
    assert len(text.splitlines()) <= ENTRY_POINT_LINES
    assert [type(node).__name__ for node in ast.walk(ast.parse(text)) if isinstance(node, BRANCHES)] == []
