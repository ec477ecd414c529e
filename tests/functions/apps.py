"""The functions as functions-framework serves them, with the whole of Trimtab in memory behind them."""

import base64
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from werkzeug.test import Client, EnvironBuilder, run_wsgi_app

from cli.edition import load_functions
from shared import wiring
from shared.events.wake import encode_wake
from shared.records.subject import Wake
from shared.simulation.monitoring import notification
from tests.support.builders import NOW, RANKER
from tests.support.rig import Rig

ROOT = Path(__file__).parents[2]
NAMES = ("alert", "audit", "command", "reconcile", "schedule", "upload")
JSON = {"content-type": "application/json"}


class Answer(NamedTuple):
    """What came back over HTTP."""

    status: int
    text: str


class Functions:
    """The applications, and the rig whose ports they use."""

    def __init__(self, rig: Rig, applications: Mapping[str, Any]) -> None:
        self.rig = rig
        self.applications = applications

    def post(self, name: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request(name, "POST", body, headers)

    def request(self, name: str, method: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        answer = Client(self.applications[name]).open("/", method=method, headers=dict(JSON if headers is None else headers), data=body)
        return Answer(answer.status_code, answer.get_data(as_text=True))

    def raw(self, name: str, body: bytes, **environ: Any) -> Answer:
        """A request whose WSGI environment is given as it is: wrong lengths, no length, a server that ends the stream by itself."""
        plain = EnvironBuilder(method="POST", content_type="application/json", data=body).get_environ()
        given = {key: value for key, value in {**plain, **environ}.items() if value is not None}
        content, status, _ = run_wsgi_app(self.applications[name], given)
        return Answer(int(status.split()[0]), b"".join(content).decode())

    def facts(self) -> list[str]:
        return [fact.key for fact in self.rig.store.facts_after(RANKER, None, limit=500).facts]

    def parked(self) -> list[tuple[str, str]]:
        """Code and key of all that is parked, newest first."""
        return [(entry.code, entry.key) for entry in self.rig.store.parked(limit=20_000)]


@contextmanager
def wired() -> Iterator[Functions]:
    """The functions with in-memory ports; what functions-framework leaves in the process is taken back."""
    rig = Rig()
    path, variables = list(sys.path), dict(os.environ)
    wiring.install(
        alert=rig.alert_ports,
        audit=rig.audit_ports,
        command=rig.command_ports,
        schedule=rig.schedule_ports,
        reconcile=rig.reconcile_ports,
        upload=rig.upload_ports,
    )
    try:
        yield Functions(rig, load_functions())
    finally:
        wiring.reset()
        rig.reconcile_ports.store.close()  # type: ignore[attr-defined]  # the store of the rig is SQLite's
        sys.path[:] = path
        sys.modules.pop("main", None)
        for name in ("FUNCTION_TARGET", "FUNCTION_SIGNATURE_TYPE"):
            os.environ.pop(name, None)
            if name in variables:
                os.environ[name] = variables[name]


def alert(incident_id: str = "0.a1", **incident: Any) -> bytes:
    """A notification as Cloud Monitoring publishes it."""
    content = notification(RANKER, incident_id, "open", started_at=NOW, now=NOW)
    content["incident"] |= incident
    return json.dumps(content).encode()


def wake() -> bytes:
    return encode_wake(Wake.of(RANKER, "test"))[0]


TEST_NOTIFICATION = json.dumps({"version": "test", "incident": {"incident_id": "12345", "state": "OPEN"}}).encode()
"""What the console's button sends."""


def pushed(data: bytes | None, message_id: str = "9001", **message: Any) -> bytes:
    """The body of a Pub/Sub push; without data it is a message of attributes only."""
    encoded = {} if data is None else {"data": base64.b64encode(data).decode()}
    return json.dumps(
        {
            "message": {**encoded, "messageId": message_id, "publishTime": "2026-11-30T03:00:00.000Z", **message},
            "subscription": "projects/acme-ml/subscriptions/alerts",
        }
    ).encode()


def cloud_event(event_id: str = "9001") -> dict[str, str]:
    """The headers of a binary CloudEvent as Eventarc sends it."""
    return {
        "content-type": "application/json",
        "ce-id": event_id,
        "ce-source": "//pubsub.googleapis.com/projects/acme-ml/topics/alerts",
        "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
        "ce-specversion": "1.0",
        "ce-time": "2026-11-30T03:00:00.000Z",
    }


def copied(into: Path) -> Path:
    """The source tree, as a checkout has it."""
    into.mkdir(parents=True)
    for name in ("cli", "functions", "shared", "requirements"):
        shutil.copytree(ROOT / name, into / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile)
    for name in ("pyproject.toml", "README.md", ".gitignore", "Makefile"):
        shutil.copyfile(ROOT / name, into / name)
    return into
