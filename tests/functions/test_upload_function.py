"""The upload function as it is deployed: what it loads, and what it answers over HTTP."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from functions_framework import create_app
from werkzeug.test import Client

from shared import wiring
from shared.handlers.upload import UploadPorts
from shared.local.sqlite_store import SqliteStore
from shared.records.subject import Wake
from tests.functions.apps import ROOT, pushed
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import Batches

ENVIRONMENT = {"TRIMTAB_PROJECT": "acme-ml", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1", "PUBSUB_EMULATOR_HOST": "127.0.0.1:1"}
SCRIPT = """
import json, sys
from functions_framework import create_app
application = create_app("upload", "functions/upload/main.py", "http")
before = set(sys.modules)
from shared import wiring
ports = wiring.upload_ports()
late = [module for module in set(sys.modules) - before if module.partition(".")[0] in ("google", "grpc", "shared", "pydantic")]
print(json.dumps({"ports": type(ports).__name__, "late": late, "modules": sorted(before)}))
"""
UNUSED = (
    "google.cloud.run_v2",
    "google.cloud.storage",
    "google.cloud.monitoring",
    "google.cloud.logging",
    "google.cloud.pubsub_v1",
    "shared.local",
    "shared.simulation",
    "shared.rendering",
    "shared.control",
    "shared.tfserving.model_files_saved_model",
    "cli",
    "typer",
    "rich",
    "yaml",
)


@cache
def started() -> Any:
    """What a fresh process says that has made the function's ports."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_everything_it_needs_is_loaded_at_start_up() -> None:
    assert (started()["ports"], started()["late"]) == ("UploadPorts", [])


@pytest.mark.parametrize("unused", UNUSED)
def test_it_loads_nothing_that_it_does_not_use(unused: str) -> None:
    assert [module for module in started()["modules"] if f"{module}.".startswith(f"{unused}.") or module.startswith(f"{unused}_")] == []


def test_it_is_short_and_decides_nothing() -> None:
    text = (ROOT / "functions" / "upload" / "main.py").read_text()
    branches = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.comprehension, ast.Assert)
    assert len(text.splitlines()) <= 40
    assert [node for node in ast.walk(ast.parse(text)) if isinstance(node, branches)] == []


@pytest.fixture
def bus() -> Batches:
    return Batches()


@pytest.fixture
def client(bus: Batches) -> Iterator[Client]:
    clock = HandClock(NOW)
    store = SqliteStore(":memory:", clock)
    path, variables = list(sys.path), dict(os.environ)
    wiring.install(upload=UploadPorts.of(store, bus, clock))
    application: Any = create_app("upload", str(ROOT / "functions" / "upload" / "main.py"), "http")  # type: ignore[no-untyped-call]  # it declares no types
    yield Client(application)
    wiring.reset()
    store.close()
    sys.path[:] = path
    sys.modules.pop("main", None)
    for name in ("FUNCTION_TARGET", "FUNCTION_SIGNATURE_TYPE"):
        os.environ.pop(name, None)
        if name in variables:
            os.environ[name] = variables[name]


RESOURCE = {
    "kind": "storage#object",
    "bucket": "acme-models",
    "name": "ranker/7/saved_model.pb",
    "generation": "1796000000000000",
    "metageneration": "1",
    "size": "352",
    "updated": "2026-11-30T03:00:00.000Z",
}


def test_a_push_with_the_resource_is_taken_and_a_repeat_is_a_duplicate(client: Client, bus: Batches) -> None:
    attributes = {
        "eventType": "OBJECT_FINALIZE",
        "bucketId": "acme-models",
        "objectId": "ranker/7/saved_model.pb",
        "objectGeneration": "1796000000000000",
        "payloadFormat": "JSON_API_V1",
    }
    answers = [client.post("/", json=json.loads(pushed(json.dumps(RESOURCE).encode(), f"{n}", attributes=attributes))) for n in (1, 2)]
    assert [(each.status_code, each.text) for each in answers] == [(200, "done\n"), (200, "duplicate\n")]
    assert bus.wakes == [Wake.of_model("gs://acme-models/ranker", "upload finalize")] * 2


def test_a_cloud_event_of_eventarc_is_taken(client: Client, bus: Batches) -> None:
    headers = {
        "ce-id": "1",
        "ce-source": "//storage.googleapis.com/projects/_/buckets/acme-models",
        "ce-type": "google.cloud.storage.object.v1.finalized",
        "ce-specversion": "1.0",
        "ce-subject": "objects/ranker/7/saved_model.pb",
        "ce-time": "2026-11-30T03:00:00Z",
    }
    answer = client.post("/", json=RESOURCE, headers=headers)
    assert (answer.status_code, answer.text, len(bus.wakes)) == (200, "done\n", 1)


@pytest.mark.parametrize("body", [b"", b"junk", b"[]", b'{"message": 7}', b"\xff" * 100])
def test_what_can_never_work_is_parked_and_acknowledged(client: Client, bus: Batches, body: bytes) -> None:
    answer = client.post("/", data=body, content_type="application/json")
    assert (answer.status_code, answer.text, bus.wakes) == (200, "parked\n", [])


def test_only_post_is_taken(client: Client) -> None:
    assert client.get("/").status_code == 405
