"""The command function as it is deployed: what it loads, and what it answers over HTTP."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import functions_framework
import pytest
from werkzeug.test import Client

from shared import wiring
from shared.local.sqlite_store import SqliteStore
from shared.records.commands import DELETE_WORDS
from tests.functions.apps import ROOT
from tests.support.builders import NOW, RANKER, document
from tests.support.clocks import HandClock
from tests.unit.handlers.twins_command import ALICE, PUSH_ACCOUNT, Scene, bearer, grant, pushed

SERVICE = str(RANKER)
HOLD: dict[str, Any] = {"command": "hold", "command_id": "h1", "service": SERVICE, "reason": "launch day"}
ENVIRONMENT = {
    "TRIMTAB_PROJECT": "acme-ml",
    "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1",
    "PUBSUB_EMULATOR_HOST": "127.0.0.1:1",
    "TRIMTAB_PUSH_SERVICE_ACCOUNT": PUSH_ACCOUNT,
    "TRIMTAB_COMMAND_GRANTS": json.dumps([grant("hold", identity=ALICE)]),
}
SCRIPT = """
import json, sys
from functions_framework import create_app
application = create_app("command", "functions/command/main.py", "http")
before = set(sys.modules)
from shared import wiring
try:
    ports = wiring.command_ports()
    told = [grant.identity for grant in ports.grants.grants]
except ValueError as error:
    told = str(error)
late = [module for module in set(sys.modules) - before if module.partition(".")[0] in ("google", "grpc", "shared", "pydantic")]
print(json.dumps({"told": told, "late": late, "run": "google.cloud.run_v2" in sys.modules}))
"""


def started(**environment: str) -> Any:
    """What a fresh process says that has made the function's ports."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_everything_is_loaded_at_start_up_but_cloud_runs_client() -> None:
    assert started(**ENVIRONMENT) == {"told": [ALICE], "late": [], "run": False}


def test_grants_that_are_none_are_named() -> None:
    wrong = json.dumps([grant("hold aply", identity=ALICE)])
    assert "settings: TRIMTAB_COMMAND_GRANTS: 0.commands.1: " in started(**ENVIRONMENT | {"TRIMTAB_COMMAND_GRANTS": wrong})["told"]
    assert "TRIMTAB_COMMAND_GRANTS" in started(**ENVIRONMENT | {"TRIMTAB_COMMAND_GRANTS": "alice"})["told"]


def test_it_is_short_and_decides_nothing() -> None:
    text = (ROOT / "functions" / "command" / "main.py").read_text()
    branches = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.comprehension, ast.Assert)
    assert len(text.splitlines()) <= 40
    assert [node for node in ast.walk(ast.parse(text)) if isinstance(node, branches)] == []


@pytest.fixture
def scene() -> Iterator[Scene]:
    clock = HandClock(NOW)
    store = SqliteStore(":memory:", clock)
    made = Scene(store=store, clock=clock, grants=[grant("patch hold delete", identity=ALICE), grant("patch")])
    store.put_service(document(), if_generation=None)
    path, variables = list(sys.path), dict(os.environ)
    wiring.install(command=made.ports)
    yield made
    wiring.reset()
    store.close()
    sys.path[:] = path
    sys.modules.pop("main", None)
    for name in ("FUNCTION_TARGET", "FUNCTION_SIGNATURE_TYPE"):
        os.environ.pop(name, None)
        if name in variables:
            os.environ[name] = variables[name]


@pytest.fixture
def client(scene: Scene) -> Client:
    create: Callable[[str, str, str], Any] = functions_framework.create_app
    return Client(create("command", str(ROOT / "functions" / "command" / "main.py"), "http"))


def test_a_caller_is_answered_in_json(client: Client) -> None:
    answer = client.post("/", data=json.dumps(HOLD), headers=bearer(ALICE))
    assert (answer.status_code, answer.content_type, answer.get_json()["outcome"]) == (200, "application/json", "done")


def test_a_caller_without_a_token_is_forbidden(client: Client, scene: Scene) -> None:
    answer = client.post("/", data=json.dumps(HOLD), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.get_json()["outcome"]) == (403, "forbidden")
    found = scene.store.read_spec(RANKER).document
    assert found is not None
    assert found.holds == ()


def test_an_underscored_header_is_no_second_way_to_bring_a_token(client: Client, scene: Scene) -> None:
    """WSGI writes both spellings alike: whoever has a token checked cannot bring another one along."""
    forged = bearer(ALICE)["Authorization"]
    headers = {**bearer("mallory@example.com"), "X_Serverless_Authorization": forged}
    assert client.post("/", data=json.dumps(HOLD), headers=headers).status_code == 403
    found = scene.store.read_spec(RANKER).document
    assert found is not None
    assert found.holds == ()


def test_a_push_is_acknowledged_and_what_has_no_right_is_parked(client: Client, scene: Scene) -> None:
    answer = client.post("/", data=pushed(HOLD), headers=bearer(PUSH_ACCOUNT))
    assert (answer.status_code, answer.get_data(as_text=True)) == (200, "parked\n")
    assert [entry.code for entry in scene.store.parked(limit=5)] == ["forbidden"]


def test_the_words_reach_cloud_run(client: Client, scene: Scene) -> None:
    command = {"command": "delete", "command_id": "d1", "service": SERVICE, "delete_cloud_run_service": DELETE_WORDS}
    assert client.post("/", data=json.dumps(command), headers=bearer(ALICE)).status_code == 200
    assert scene.deleter.deleted == [SERVICE]
