"""The guide's commands do what the guide says: curl and Python against the function on SQLite, gcloud by its own parser."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.pubsub_v1.services.subscriber import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from shared.deployment import service_name, topic_name
from shared.events.command import read_command
from shared.handlers.answer import serve_callers
from shared.handlers.command import LATER, STATUSES, receive_command
from shared.local.sqlite_store import SqliteStore
from shared.records.commands import COMMANDS
from shared.records.rights import Grants
from shared.records.service import HoldKind, ServiceDocument
from tests.support.builders import NOW, RANKER, document
from tests.support.clocks import HandClock
from tests.support.emulators import fresh_project, pubsub_publisher
from tests.support.gcloud_parser import ROOTS
from tests.unit.handlers.twins_command import PUSH_ACCOUNT, Scene, token

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "send-a-command.md").read_text()
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("command-*.json"))
ONCALL = "oncall@example.com"


def block(heading: str, language: str, number: int = 0) -> str:
    """A code block of a section of the guide."""
    section = GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[number]  # type: ignore[no-any-return]  # one group: texts


def grants() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(block("Rights", "json"))
    return found


class Function:
    """The command function behind HTTP, with the guide's own grants; `identity` is whom the platform says a tokenless push comes from."""

    def __init__(self) -> None:
        clock = HandClock(NOW)
        self.store = SqliteStore(":memory:", clock)
        self.store.put_service(document(), if_generation=None)
        self.scene = Scene(store=self.store, clock=clock, grants=grants())
        self.subscription: str | None = None
        self.server = make_server("127.0.0.1", 0, self, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        text, status, headers = serve_callers("command", request, self._receive)
        return Response(text, status, headers)(environ, start_response)

    def _receive(self, headers: Any, read: Callable[[], bytes]) -> Any:
        if not any(name.lower() == "authorization" for name in headers):
            # The emulator sends no token: this is what Cloud Run would have found in one.
            headers = {**headers, "Authorization": f"Bearer {token(PUSH_ACCOUNT)}"}
        return receive_command(headers, read, self.scene.ports)

    def stored(self) -> ServiceDocument:
        found = self.store.read_spec(RANKER).document
        assert found is not None
        return found

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()
        self.store.close()


@pytest.fixture
def function() -> Iterator[Function]:
    made = Function()
    yield made
    made.close()


def test_the_grants_of_the_guide_are_grants() -> None:
    assert len(Grants.of(grants()).grants) == 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_command_with_an_id(example: Path) -> None:
    reading = read_command(example.read_bytes())
    assert reading.command_id is not None
    assert example.stem.startswith(f"command-{reading.command.command}")


def test_every_command_of_the_schema_stands_in_the_guide() -> None:
    assert [name for name in COMMANDS if f"`{name}`" not in GUIDE.split("## Rights")[0]] == []


def test_curl_is_answered_as_the_guide_says(function: Function) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    environment = {"PATH": os.environ["PATH"], "COMMAND_URL": function.url, "TOKEN": token(ONCALL)}
    done = subprocess.run(
        ["bash", "-euc", block("With curl, over HTTPS", "sh", 1)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(block("With curl, over HTTPS", "json"))
    (hold,) = function.stored().holds
    assert (hold.hold_id, hold.kind) == ("launch", HoldKind.FREEZE)


def test_the_guide_lists_every_status_that_there_is() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `([a-z]+)` \|", GUIDE, re.MULTILINE)
    assert {name: int(status) for status, name in rows} == {**STATUSES, "later": LATER}


@pytest.mark.emulator
def test_python_publishes_what_the_function_does(function: Function, pubsub_emulator: str) -> None:
    pytest.importorskip("google.cloud.pubsub_v1")
    project = fresh_project()
    topic, name = f"projects/{project}/topics/{topic_name('command')}", f"projects/{project}/subscriptions/{service_name('command')}"
    function.scene.grants = [{**grants()[0], "subscription": name}]
    function.scene.clock.move_to(datetime.now(UTC))  # Pub/Sub stamps the message by its own clock
    publisher = pubsub_publisher(pubsub_emulator)
    subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=grpc.insecure_channel(pubsub_emulator)))
    try:
        publisher.create_topic(name=topic, retry=None, timeout=10)
        push = {"name": name, "topic": topic, "push_config": {"push_endpoint": f"{function.url}/"}}
        subscriber.create_subscription(push, retry=None, timeout=10)
        program = block("With Python, over Pub/Sub", "python").replace('topic_path("acme-ml"', f'topic_path("{project}"')
        environment = {"PATH": os.environ["PATH"], "PUBSUB_EMULATOR_HOST": pubsub_emulator, "GOOGLE_CLOUD_PROJECT": project}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=90)
        assert done.stdout.startswith("published "), done.stderr
        deadline = time.monotonic() + 30
        while function.stored().generation == 1 and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        publisher.transport.close()  # type: ignore[no-untyped-call]
        subscriber.transport.close()  # type: ignore[no-untyped-call]
    assert (function.stored().generation, function.stored().spec.scale.max_instance_count) == (2, 8)


PARSE = r"""
import json, sys
root = sys.argv[1]
answers, sys.stdout = sys.stdout, sys.stderr
sys.path[:0] = [root + "/lib", root + "/lib/third_party"]
from googlecloudsdk import gcloud_main
args = gcloud_main.CreateCLI([])._CLI__parser.parse_args(json.loads(sys.argv[2])[1:])
print(json.dumps({"command": args.command_path, "message": args.message, "topic": args.topic, "project": args.project}), file=answers)
"""


def test_gcloud_understands_the_command_of_the_guide(tmp_path: Path) -> None:
    root = next((each for each in ROOTS if (each / "lib/googlecloudsdk").exists()), None)
    if root is None:
        pytest.skip("gcloud is not installed: its own parser cannot be asked")
    # The shell makes the arguments, as it would for gcloud itself.
    shown = subprocess.run(
        [
            "bash",
            "-euc",
            'gcloud() { python3 -c "import json, sys; print(json.dumps(sys.argv[1:]))" gcloud "$@"; }\n'
            + block("With gcloud, over Pub/Sub", "sh"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    bundled = root / "platform/bundledpythonunix/bin/python3"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CLOUDSDK_CONFIG": str(tmp_path), "CLOUDSDK_CORE_DISABLE_PROMPTS": "1"}
    program = [str(bundled) if bundled.exists() else "python3", "-S", "-c", PARSE, str(root), shown.stdout]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr[-2_000:]
    read = json.loads(done.stdout)
    assert (read["command"], read["topic"], read["project"]) == (
        ["gcloud", "pubsub", "topics", "publish"],
        topic_name("command"),
        "acme-ml",
    )
    assert read_command(read["message"].encode()).command_id == "launch-hold-1"
