"""`trimtab send`, `redrive`, `discard`, `parked`: against the command function on a file of SQLite, over real HTTP."""

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from shared import log
from shared.handlers.answer import Handled, ReadBody, Reply, serve_callers
from shared.handlers.command import receive_command
from shared.local.sqlite_store import SqliteStore
from shared.records.parked import ParkCode, Parked
from tests.support.builders import NOW, RANKER, document
from tests.support.clocks import HandClock
from tests.support.commands import trimtab
from tests.unit.handlers.twins_command import ALICE, Scene, token

HOLD = {"command": "hold", "command_id": "h1", "service": str(RANKER), "reason": "launch day"}
INCIDENT = {"incident": {"incident_id": "0.a1", "state": "open"}, "version": "1.2"}


class Server:
    """The command function at /command and at any other path; what comes elsewhere is kept and answered with `says`."""

    def __init__(self, data: Path, *, trusted_local: bool) -> None:
        clock = HandClock(NOW)
        self.store = SqliteStore(data, clock)
        self.store.put_service(document(), if_generation=None)
        self.scene = Scene(store=self.store, clock=clock, trusted_local=trusted_local)
        self.others: list[tuple[str, dict[str, str], Any]] = []
        self.says: tuple[str, int] = ("done\n", 200)
        self.server = make_server("127.0.0.1", 0, self, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        if request.path == "/command":
            with log.silenced():  # this process prints what the command prints, and nothing else
                text, status, headers = serve_callers("command", request, self._receive)
            return Response(text, status, headers)(environ, start_response)
        self.others.append((request.path, dict(request.headers.items()), request.get_data()))
        return Response(*self.says)(environ, start_response)

    def _receive(self, headers: Mapping[str, str], read: ReadBody) -> Handled | Reply:
        return receive_command(headers, read, self.scene.ports)

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()
        self.store.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "trimtab.db", trusted_local=True)
    yield made
    made.close()


def written(folder: Path, content: object) -> Path:
    path = folder / "body.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def park(server: Server, key: str, *, at_minute: int = 0) -> None:
    now = NOW.replace(minute=at_minute)
    server.store.park(Parked.of(code=ParkCode.UNROUTABLE, reason=f"no region in {key}", source="alert", body=b"{}", now=now, key=key))


# -- send


def test_a_command_is_done_and_the_answer_printed(server: Server, tmp_path: Path) -> None:
    done = trimtab("send", "command", written(tmp_path, HOLD), "--to", server.url)
    assert (done.exit_code, json.loads(done.stdout)["outcome"]) == (0, "done")
    found = server.store.read_spec(RANKER).document
    assert found is not None
    assert [hold.hold_id for hold in found.holds] == ["h1"]


def test_a_command_without_an_id_gets_a_fresh_one(server: Server, tmp_path: Path) -> None:
    path = written(tmp_path, {name: value for name, value in HOLD.items() if name != "command_id"})
    ids = [json.loads(trimtab("send", "command", path, "--to", server.url).stdout)["command_id"] for _ in range(2)]
    assert all(each.startswith("cli-") for each in ids)
    assert len(set(ids)) == 2


def test_a_command_in_a_push_body_goes_as_it_is(server: Server, tmp_path: Path) -> None:
    data = base64.b64encode(json.dumps(HOLD).encode()).decode()
    body = {"message": {"data": data, "messageId": "9"}, "subscription": "projects/local/subscriptions/command"}
    done = trimtab(
        "send", "command", written(tmp_path, {"headers": {"Content-Type": "application/json"}, "body": body}), "--to", server.url
    )
    assert (done.exit_code, done.stdout) == (0, "done\n")


def test_a_refused_command_ends_with_one_and_says_why(server: Server, tmp_path: Path) -> None:
    done = trimtab("send", "command", written(tmp_path, {**HOLD, "minutes": 0}), "--to", server.url)
    assert (done.exit_code, json.loads(done.stdout)["problems"][0]["field"]) == (1, "minutes")


def test_a_token_is_sent_as_it_is_given(server: Server, tmp_path: Path) -> None:
    done = trimtab("send", "command", written(tmp_path, HOLD), "--to", server.url, "--token", token(ALICE))
    assert json.loads(done.stdout)["detail"] == f"pause h1 by {ALICE} until it is released"


def test_a_bare_notification_is_wrapped_as_pubsub_would(server: Server, tmp_path: Path) -> None:
    done = trimtab("send", "alert", written(tmp_path, INCIDENT), "--to", server.url)
    assert (done.exit_code, done.stdout) == (0, "done\n")
    ((path, _, body),) = server.others
    message = json.loads(body)["message"]
    assert (path, json.loads(base64.b64decode(message["data"])), message["attributes"]) == ("/alert", INCIDENT, {})


def test_a_bare_object_is_wrapped_with_the_attributes_of_its_notification(server: Server, tmp_path: Path) -> None:
    made = {"kind": "storage#object", "bucket": "acme-models", "name": "ranker/7/saved_model.pb", "generation": "12"}
    trimtab("send", "upload", written(tmp_path, made), "--to", server.url)
    ((path, _, body),) = server.others
    assert (path, json.loads(body)["message"]["attributes"]) == (
        "/upload",
        {
            "eventType": "OBJECT_FINALIZE",
            "payloadFormat": "JSON_API_V1",
            "bucketId": "acme-models",
            "objectId": "ranker/7/saved_model.pb",
            "objectGeneration": "12",
        },
    )


def test_headers_of_an_event_go_along_and_no_others(server: Server, tmp_path: Path) -> None:
    headers = {"ce-type": "google.cloud.audit.log.v1.written", "ce-id": "1", "ce-source": "//x", "ce-specversion": "1.0"}
    entry = {"insertId": "i", "protoPayload": {}}
    trimtab(
        "send",
        "audit",
        written(tmp_path, {"headers": {**headers, "Authorization": "Bearer x", "Host": "h"}, "body": entry}),
        "--to",
        server.url,
    )
    ((path, sent, body),) = server.others
    lower = {name.lower(): value for name, value in sent.items()}
    assert (path, json.loads(body)) == ("/audit", entry)
    assert {name: lower[name] for name in headers} == headers
    assert "authorization" not in lower


def test_what_the_function_parks_ends_with_one(server: Server, tmp_path: Path) -> None:
    server.says = ("parked\n", 200)
    done = trimtab("send", "alert", written(tmp_path, b"no json"), "--to", server.url)
    assert (done.exit_code, server.others[0][2]) == (1, b"no json")


def test_a_function_that_cannot_now_ends_with_three(server: Server, tmp_path: Path) -> None:
    server.says = ("later\n", 503)
    assert trimtab("send", "alert", written(tmp_path, INCIDENT), "--to", server.url).exit_code == 3


def test_what_a_proxy_answers_is_printed_on_one_line_and_cut(server: Server, tmp_path: Path) -> None:
    server.says = ("<html>\x1b[31m\n" + "x" * 9_000, 403)
    done = trimtab("send", "alert", written(tmp_path, INCIDENT), "--to", server.url)
    assert (done.exit_code, done.stdout.count("\n")) == (1, 1)
    assert "\x1b" not in done.stdout
    assert len(done.stdout) <= 2_100


def test_nobody_there_ends_with_three(tmp_path: Path) -> None:
    done = trimtab("send", "alert", written(tmp_path, INCIDENT), "--to", "http://127.0.0.1:1")
    assert done.exit_code == 3
    assert "did not answer" in done.stderr


@pytest.mark.parametrize(
    "to", ["ftp://127.0.0.1", "http://example.com/alert", "example.com", "10.0.0.1:8080", "https://user:pw@example.com", "http://"]
)
def test_an_address_that_cannot_be_meant_is_wrong_usage(tmp_path: Path, to: str) -> None:
    assert trimtab("send", "alert", written(tmp_path, INCIDENT), "--to", to).exit_code == 2


def test_host_and_port_are_enough_for_a_local_edition(server: Server, tmp_path: Path) -> None:
    assert trimtab("send", "alert", written(tmp_path, INCIDENT), "--to", server.url.removeprefix("http://")).exit_code == 0


def test_a_specs_file_is_applied(server: Server) -> None:
    spec = Path(__file__).parents[3] / "docs" / "examples" / "ranker.yaml"
    assert trimtab("send", "command", spec, "--to", f"{server.url}/kept").exit_code == 0
    ((_, _, body),) = server.others
    sent = json.loads(body)
    assert (sent["command"], sent["service"], sent["spec"]["serving"]["model"]["name"]) == (
        "apply",
        "acme-ml:europe-west1:ranker",
        "ranker",
    )
    assert sent["command_id"]


def test_a_specs_file_that_is_refused_is_not_sent(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("service: acme-ml:europe-west1:ranker\nspec: {scale: {max_instance_count: 0}}\n")
    done = trimtab("send", "command", path, "--to", server.url)
    assert (done.exit_code, server.others) == (2, [])
    assert "max_instance_count" in done.stderr


def test_an_event_of_another_kind_is_wrong_usage(server: Server, tmp_path: Path) -> None:
    done = trimtab("send", "upload", written(tmp_path, INCIDENT), "--to", server.url)
    assert (done.exit_code, server.others) == (2, [])
    assert "trimtab send alert FILE" in done.stderr


def test_a_file_that_is_not_there_is_wrong_usage(server: Server, tmp_path: Path) -> None:
    assert trimtab("send", "alert", tmp_path / "none.json", "--to", server.url).exit_code == 2


# -- parked


def test_parked_lists_the_newest_first(server: Server, tmp_path: Path) -> None:
    park(server, "alert:1", at_minute=1)
    park(server, "alert:2", at_minute=2)
    done = trimtab("parked", "--data", tmp_path / "trimtab.db", "--limit", 1)
    assert (done.exit_code, done.stdout) == (0, "2026-11-30T03:02:00Z alert:2 unroutable: no region in alert:2\n")


def test_parked_as_data(server: Server, tmp_path: Path) -> None:
    park(server, "alert:1")
    (line,) = trimtab("parked", "--data", tmp_path / "trimtab.db", "--format", "jsonl").stdout.splitlines()
    assert Parked.from_stored(json.loads(line)).key == "alert:1"


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--data", "none.db"], ["--format", "xml"], []])
def test_parked_without_what_it_needs_is_wrong_usage(arguments: list[str]) -> None:
    assert trimtab("parked", *arguments).exit_code == 2


def test_a_file_of_something_else_is_wrong_usage(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(b"this is no database" * 100)
    assert trimtab("parked", "--data", other).exit_code == 2


def test_redrive_and_discard_by_key(server: Server) -> None:
    park(server, "alert:1")
    park(server, "alert:2")
    assert trimtab("redrive", "alert:1", "--to", server.url).exit_code == 0
    assert trimtab("discard", "alert:2", "--to", server.url).exit_code == 0
    assert [message[0] for message in server.scene.redriver.messages] == ["alert"]
    assert server.store.parked(limit=5) == []
    again = trimtab("discard", "alert:2", "--to", server.url)
    assert (again.exit_code, json.loads(again.stdout)["outcome"]) == (1, "refused")


def test_without_credentials_a_deployed_function_is_not_called_and_the_way_to_a_token_is_named(tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "CLOUDSDK_CONFIG": str(tmp_path),
        "NO_GCE_CHECK": "true",
        "GCE_METADATA_HOST": "127.0.0.1:1",
        "GCE_METADATA_IP": "127.0.0.1:1",
    }
    command = [
        str(Path(sys.executable).parent / "trimtab"),
        "send",
        "alert",
        str(written(tmp_path, INCIDENT)),
        "--to",
        "https://127.0.0.1:1",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3, done.stderr
    assert 'give --token "$(gcloud auth print-identity-token)"' in done.stderr
