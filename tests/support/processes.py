"""Trimtab as it is deployed, on one machine: each function a process of its own under functions-framework's real server.

Pub/Sub's emulator pushes to them, they keep their documents in Firestore's emulator, read models from a simulated Cloud Storage and
write to a simulated Cloud Run through Google's own clients. Settings reach them by the environment alone. Between them and each
emulator stands a `Gate`, which can break the connection or hold it. The emulator puts no token on its pushes: before the command
function a `PushIdentity` does, as Pub/Sub does for a subscription that names a service account.
"""

import base64
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import grpc
from google.api_core.exceptions import DeadlineExceeded
from google.cloud import firestore
from google.pubsub_v1.services.publisher import PublisherClient
from google.pubsub_v1.services.subscriber import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from shared.clock import SystemClock
from shared.events.wake import encode_wake
from shared.gcp.firestore_store import FirestoreStore
from shared.local.cloud_run_door import CloudRunDoor
from shared.local.cloud_run_rest import CloudRunRest
from shared.records.decision import Decision
from shared.records.model import ModelState
from shared.records.model_subject import ModelSubject
from shared.records.observed import Bounds
from shared.records.parked import Parked
from shared.records.state import ServiceState
from shared.records.subject import ServiceId, Wake
from shared.simulation.bucket import SimulatedBucket
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_records import Write
from shared.simulation.gpu_service import place_service
from shared.simulation.platform import TRIMTAB
from tests.support.builders import document
from tests.support.cloud_storage_door import CloudStorageDoor
from tests.support.emulators import firestore_client, fresh_project, pubsub_publisher

ROOT = Path(__file__).parents[2]
TOPICS = {
    "alerts": "alert",
    "changes": "audit",
    "commands": "command",
    "model-uploads": "upload",
    "ticks": "schedule",
    "wakes": "reconcile",
}
"""Each topic and the function that it is pushed to."""
EVENTS = "events"
"""The topic that others listen at."""
TEAM_COMMANDS = "team-commands"
"""Commands of a team that may hold and release, and nothing else: a topic and a subscription of their own."""
PUSH_ACCOUNT = "pubsub-push@acme-ml.iam.gserviceaccount.com"
ONCALL = "oncall@example.com"
"""Somebody who may give every command."""
EVERY_COMMAND = ["apply", "patch", "hold", "release", "rollback", "reconcile", "redrive", "discard", "delete"]
ACK_DEADLINE_SECONDS = 60
BACKOFF = {"minimum_backoff": timedelta(seconds=1), "maximum_backoff": timedelta(seconds=4)}
"""Shorter than in production (10 to 600 s), so that a test need not wait; the emulator keeps to it."""
MAX_DELIVERY_ATTEMPTS = 30
"""Enough for the outages of these tests."""
START_SECONDS = 30.0
VERDICTS = {"done", "duplicate", "ignored", "parked"}
"""The messages of the log lines that say how an event was answered."""
QUIET_SECONDS = 1.5
RPC_SECONDS = 10.0
HTTP_SECONDS = 60.0
LOG_TAIL_CHARACTERS = 6_000


class Gate:
    """A TCP relay to `target` (`host:port`). Open, shut (every connection breaks), or held (they stay, and nothing passes)."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._flowing = threading.Event()
        self._flowing.set()
        self._shut = False
        self._ends: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._spawn(self._accept)

    @property
    def host(self) -> str:
        """Where it listens, as `host:port`."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def shut(self) -> None:
        """Break every connection, and each new one at once."""
        with self._lock:
            self._shut = True
        self._break()

    def hold(self) -> None:
        """Let nothing pass any more, in connections that stay open."""
        self._flowing.clear()

    def open(self) -> None:
        """Let everything pass again; what was held back is lost with its connections."""
        self._break()
        self._shut = False
        self._flowing.set()

    def close(self) -> None:
        """Stop listening and end all threads."""
        self._shut = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._break()
        self._flowing.set()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _break(self) -> None:
        with self._lock:
            for end in self._ends:
                _shutdown(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._spawn(partial(self._relay, client))

    def _relay(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(self._target) as server:
            ends = {client, server}
            with self._lock:
                self._ends |= ends
                refused = self._shut
            try:
                if not refused:
                    back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
                    back.start()
                    self._pump(client, server)
                    back.join()
            finally:
                with self._lock:
                    self._ends -= ends

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self._flowing.wait()
                sink.sendall(data)
        _shutdown(source)
        _shutdown(sink)

    def _spawn(self, work: Callable[[], None]) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()


def _shutdown(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


class FunctionProcess:
    """One function under functions-framework, at a port that stays its own through restarts."""

    def __init__(self, name: str, environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.port = _quiet_port()
        self._environment = dict(environment)
        self._log = logs / f"{name}.log"
        self._log.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Begin to start it; `wait_until_up` says when it serves."""
        command = [
            str(Path(sys.executable).parent / "functions-framework"),
            *("--target", self.name),
            *("--source", f"functions/{self.name}/main.py"),
            *("--signature-type", "http"),
            *("--host", "127.0.0.1"),
            *("--port", str(self.port)),
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=self._environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def wait_until_up(self) -> None:
        """Return when it answers over HTTP.

        Raises:
            RuntimeError: it ended, or does not answer in time; the message ends with its log.
        """
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                msg = f"the function {self.name} did not start (exit {self._process.poll()}); its log ends:\n{self.log_tail()}"
                raise RuntimeError(msg)
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL the server and its workers, in whatever they are doing."""
        self._signal_and_wait(signal.SIGKILL, 10)

    def stop(self) -> None:
        """Ask it to end, and make it end."""
        if self._process is None:
            return
        if self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._signal_and_wait(signal.SIGTERM, 5)
        self.kill()

    def log_lines(self) -> list[dict[str, Any]]:
        """Its structured log: one entry per event that it answered, and what it noted on the way."""
        lines = []
        for text in self._log.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict) and "function" in line:
                    lines.append(line)
        return lines

    def log_size(self) -> int:
        return self._log.stat().st_size

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:]

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == http.HTTPStatus.METHOD_NOT_ALLOWED
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _signal_and_wait(self, number: signal.Signals, seconds: float) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        self._process.wait(seconds)


def _quiet_port() -> int:
    """A free port below those that the system gives to outgoing connections: nobody takes it while its process is restarted."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class PushIdentity:
    """Hands requests on to a function with the identity token that Pub/Sub puts on the pushes of a subscription; `with` runs it.

    The token has no signature: Cloud Run takes it away when it has checked it.
    """

    def __init__(self, port: int, account: str) -> None:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {identity_token(account)}"}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    status, text = http_post(port, body, headers)
                except (OSError, http.client.HTTPException):
                    status, text = http.HTTPStatus.SERVICE_UNAVAILABLE, b"no instance\n"
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class calls it so)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def identity_token(email: str) -> str:
    """An identity token of Google's as Cloud Run hands it on."""
    claims = {"iss": "https://accounts.google.com", "email": email, "email_verified": True}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "RS256"}, claims))
    return f"{'.'.join(parts)}.SIGNATURE_REMOVED_BY_GOOGLE"


def http_post(port: int, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """POST to a server on this machine.

    Raises:
        OSError, http.client.HTTPException: nobody answers there.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HTTP_SECONDS)
    try:
        connection.request("POST", "/", body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@dataclass(frozen=True)
class Emulators:
    """Where the two emulators listen."""

    firestore: str
    pubsub: str


class Deployment:
    """Everything, running: the processes, their topics and subscriptions, the store, the simulated Cloud Run."""

    def __init__(self, emulators: Emulators, logs: Path, stack: contextlib.ExitStack) -> None:
        self.project = fresh_project()
        self.clock = SystemClock()
        # Quick, so that the look right after a write finds it in force and no test waits for a tick only for that.
        self.cloud_run = SimulatedCloudRun(now=self.clock.now, reconcile_seconds=0.02, rollout_seconds=0.2)
        door = stack.enter_context(CloudRunDoor(self.cloud_run))
        rest = stack.enter_context(CloudRunRest(self.cloud_run))
        self.bucket = SimulatedBucket(now=self.clock.now)
        storage = stack.enter_context(CloudStorageDoor(self.bucket))
        self.client: firestore.Client = stack.enter_context(firestore_client(emulators.firestore, self.project))
        self.store = FirestoreStore(self.client)
        self.firestore_gate = stack.enter_context(contextlib.closing(Gate(emulators.firestore)))
        self.pubsub_gate = stack.enter_context(contextlib.closing(Gate(emulators.pubsub)))
        self._topics = _Topics(emulators.pubsub, self.project, stack)
        grants = [
            {"subscription": self._topics.subscription("commands"), "commands": EVERY_COMMAND, "services": ["*"]},
            {"subscription": self._topics.subscription(TEAM_COMMANDS), "commands": ["hold", "release"], "services": ["acme-ml:*"]},
            {"identity": ONCALL, "commands": EVERY_COMMAND, "services": ["*"]},
        ]
        settings = {
            "TRIMTAB_PROJECT": self.project,
            "TRIMTAB_WAKES_TOPIC": "wakes",
            "TRIMTAB_EVENTS_TOPIC": EVENTS,
            "TRIMTAB_COMMAND_GRANTS": json.dumps(grants),
            "TRIMTAB_PUSH_SERVICE_ACCOUNT": PUSH_ACCOUNT,
            "TRIMTAB_OWN_PRINCIPALS": TRIMTAB,
            "TRIMTAB_CLOUD_RUN_ENDPOINT": door.endpoint,
            "TRIMTAB_CLOUD_RUN_REST_ENDPOINT": rest.base_url.removeprefix("http://"),
            "TRIMTAB_STORAGE_ENDPOINT": storage.endpoint.removeprefix("http://"),
            "FIRESTORE_EMULATOR_HOST": self.firestore_gate.host,
            "PUBSUB_EMULATOR_HOST": self.pubsub_gate.host,
        }
        environment = _plain_environment() | settings
        self.functions = {name: FunctionProcess(name, environment, logs) for name in TOPICS.values()}
        for function in self.functions.values():
            stack.callback(function.stop)
            function.launch()
        with_token = stack.enter_context(PushIdentity(self.functions["command"].port, PUSH_ACCOUNT))
        for topic, name in (*TOPICS.items(), (TEAM_COMMANDS, "command")):
            self.functions[name].wait_until_up()
            plain = f"http://127.0.0.1:{self.functions[name].port}/"
            self._topics.push(topic, with_token.endpoint if name == "command" else plain)

    # -- setting a scene -----------------------------------------------------------------------------------------------------

    def place(self, name: str, *, high: int = 10) -> ServiceId:
        """A service of that name at a maximum of 4 on the simulated Cloud Run, with a spec that allows `high`."""
        service = ServiceId(project="acme-ml", region="europe-west1", name=name)
        place_service(self.cloud_run, service, Bounds(max_instance_count=4))
        self.store.put_service(document(high=high, service=service), if_generation=None)
        return service

    def place_without_spec(self, name: str) -> ServiceId:
        """A service of that name on the simulated Cloud Run that nobody has given to Trimtab yet."""
        service = ServiceId(project="acme-ml", region="europe-west4", name=name)
        place_service(self.cloud_run, service, Bounds(max_instance_count=4))
        return service

    def publish(self, topic: str, *bodies: bytes, attributes: Mapping[str, str] | None = None) -> list[str]:
        """Hand the messages over in one call; returns their ids."""
        return self._topics.publish(topic, [(body, attributes or {}) for body in bodies])

    def upload(self, *resources: Mapping[str, Any]) -> None:
        """What Cloud Storage publishes of objects that were written."""
        messages = []
        for resource in resources:
            attributes = {
                "eventType": "OBJECT_FINALIZE",
                "bucketId": str(resource["bucket"]),
                "objectId": str(resource["name"]),
                "objectGeneration": str(resource["generation"]),
                "payloadFormat": "JSON_API_V1",
            }
            messages.append((json.dumps(resource).encode(), attributes))
        self._topics.publish("model-uploads", messages)

    def command(self, command: str, *, identity: str | None = ONCALL, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Give a command over HTTPS, as a caller whose token Cloud Run has checked; returns the status and what was answered."""
        return self.post_command(json.dumps({"command": command, **fields}).encode(), identity=identity)

    def post_command(self, body: bytes, *, identity: str | None) -> tuple[int, dict[str, Any]]:
        """A request to the command function over HTTPS."""
        token = {} if identity is None else {"Authorization": f"Bearer {identity_token(identity)}"}
        status, text = http_post(self.functions["command"].port, body, {"Content-Type": "application/json", **token})
        answer: dict[str, Any] = json.loads(text)
        return status, answer

    def look(self, *services: ServiceId) -> None:
        """The looks that the schedule would bring in their own time come now."""
        for service in services:
            data, attributes = encode_wake(Wake.of(service, "due"))
            self.publish("wakes", data, attributes=attributes)

    def tick(self) -> None:
        """What Cloud Scheduler publishes every minute."""
        self.publish("ticks", b"{}")

    def give_up_on(self, topic: str, endpoint: str) -> None:
        """A topic of that name, pushed to `endpoint`, with the fewest deliveries before a message goes to the dead letters."""
        self._topics.create(topic)
        self._topics.push(topic, endpoint, attempts=5)

    def restart(self, name: str) -> None:
        """Start the function of that name, which was killed."""
        self.functions[name].launch()
        self.functions[name].wait_until_up()

    # -- looking ---------------------------------------------------------------------------------------------------------------

    def state(self, service: ServiceId) -> ServiceState | None:
        return self.store.read(service).state

    def writes(self, service: ServiceId) -> list[Write]:
        """What Cloud Run accepted for the service since it was placed."""
        return [write for write in self.cloud_run.write_log if write.name == service.resource_name][1:]

    def bounds(self, service: ServiceId) -> tuple[int, int]:
        scaling = self.cloud_run.get_service(service.resource_name).scaling
        return scaling.min_instance_count, scaling.max_instance_count

    def changing_decisions(self, service: ServiceId) -> list[Decision]:
        """The decisions that changed something, newest first."""
        return [decision for decision in self.store.decisions(service, limit=50) if decision.changes]

    def answered(self, name: str) -> list[dict[str, Any]]:
        """The events that the function of that name has dealt with, oldest first: verdict (`message`), key and detail."""
        return [line for line in self.functions[name].log_lines() if line["message"] in VERDICTS]

    def parked(self, *message_ids: str) -> list[Parked]:
        """What is parked of these messages."""
        return [entry for entry in self.store.parked(limit=1_000) if entry.message_id in message_ids]

    def model(self, uri: str) -> ModelState:
        state = self.store.read_model(ModelSubject(uri=uri)).state
        assert state is not None, f"nothing is known of {uri}"
        return state

    def traffic(self, service: ServiceId) -> dict[str, int]:
        """The share of each revision that has one."""
        shown = self.cloud_run.get_service(service.resource_name).traffic_statuses
        return {each.revision: each.percent for each in shown if each.percent}

    def served_version(self, service: ServiceId) -> int | None:
        """The model version that the revision with all the traffic pins; None for one that Trimtab has not made."""
        (name,) = self.traffic(service)
        found = [each for each in self.cloud_run.list_revisions(service.resource_name) if each.name.endswith(f"/{name}")]
        variables = {each.name: each.value for each in found[0].containers[0].env} if found else {}
        pinned = re.findall(r"versions: (\d+)", variables.get("TRIMTAB_MODEL_CONFIG", ""))
        return int(pinned[0]) if pinned else None

    def condition(self, service: ServiceId) -> tuple[str, str, str]:
        """Of type Current: status, reason, message."""
        state = self.state(service)
        found = [each for each in state.conditions if each.type == "Current"] if state is not None else []
        return (found[0].status, found[0].reason, found[0].message) if found else ("Unknown", "", "")

    def told(self) -> list[Any]:
        """The messages on the topic of events since this was last asked."""
        return self._topics.pull(EVENTS)

    def dead_letters(self, topic: str) -> list[Any]:
        """The messages of the topic that were given up, taken from where they are kept."""
        return self._topics.dead_letters(topic)

    # -- waiting ---------------------------------------------------------------------------------------------------------------

    def settled(self, service: ServiceId, keys: Sequence[str], *, ticking: bool = False, seconds: float = 45) -> ServiceState:
        """The state once all facts of the given keys are there and folded, no act is under way, and all processes are quiet.

        With `ticking` the schedule's clock ticks meanwhile, every five seconds.
        """
        looked_at: list[ServiceState] = []

        def done() -> bool:
            state = self.state(service)
            looked_at[:] = [state] if state is not None else []
            return (
                state is not None
                and len(self.store.facts_by_key(service, keys)) == len(set(keys))
                and not self.store.facts_after(service, state.cursor, limit=1).facts
                and state.act is None
            )

        def done_and_quiet() -> bool:
            return done() and self._quiet() and done()

        wait_for(done_and_quiet, f"{service} to settle", seconds=seconds, meanwhile=self.tick if ticking else None)
        return looked_at[0]

    def _quiet(self) -> bool:
        before = [function.log_size() for function in self.functions.values()]
        time.sleep(QUIET_SECONDS)
        return before == [function.log_size() for function in self.functions.values()]


def wait_for(
    condition: Callable[[], object],
    what: str,
    *,
    seconds: float = 20,
    meanwhile: Callable[[], object] | None = None,
    every_seconds: float = 5,
) -> None:
    """Return when the condition holds; `meanwhile` is called every five seconds.

    Raises:
        AssertionError: it did not hold in time.
    """
    began = called = time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now - began < seconds, f"waited {seconds:g} s for {what}"
        if meanwhile is not None and now - called > every_seconds:
            meanwhile()
            called = now
        time.sleep(0.05)


class _Topics:
    """Topics, push subscriptions and dead letters, in one project of Pub/Sub's emulator."""

    def __init__(self, host: str, project: str, stack: contextlib.ExitStack) -> None:
        self._project = project
        self._publisher: PublisherClient = pubsub_publisher(host)
        stack.callback(self._publisher.transport.close)
        self._subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=grpc.insecure_channel(host)))
        stack.callback(self._subscriber.transport.close)
        for topic in (*TOPICS, TEAM_COMMANDS, EVENTS):
            self.create(topic)
        kept = {"name": self.subscription(EVENTS), "topic": self._topic(EVENTS)}
        self._subscriber.create_subscription(kept, retry=None, timeout=RPC_SECONDS)

    def create(self, topic: str) -> None:
        """The topic, and beside it one for what is given up, with a subscription that keeps it."""
        for name in (topic, f"{topic}-dead"):
            self._publisher.create_topic(name=self._topic(name), retry=None, timeout=RPC_SECONDS)
        kept = {"name": self.subscription(f"{topic}-dead-kept"), "topic": self._topic(f"{topic}-dead")}
        self._subscriber.create_subscription(kept, retry=None, timeout=RPC_SECONDS)

    def push(self, topic: str, endpoint: str, *, attempts: int = MAX_DELIVERY_ATTEMPTS) -> None:
        """Push the topic to the endpoint."""
        subscription = {
            "name": self.subscription(topic),
            "topic": self._topic(topic),
            "push_config": {"push_endpoint": endpoint},
            "ack_deadline_seconds": ACK_DEADLINE_SECONDS,
            "retry_policy": BACKOFF,
            "dead_letter_policy": {"dead_letter_topic": self._topic(f"{topic}-dead"), "max_delivery_attempts": attempts},
        }
        self._subscriber.create_subscription(subscription, retry=None, timeout=RPC_SECONDS)

    def publish(self, topic: str, bodies: Sequence[tuple[bytes, Mapping[str, str]]]) -> list[str]:
        messages = [{"data": body, "attributes": dict(attributes)} for body, attributes in bodies]
        answer = self._publisher.publish({"topic": self._topic(topic), "messages": messages}, retry=None, timeout=RPC_SECONDS)
        return list(answer.message_ids)

    def parked(self, *message_ids: str) -> list[Parked]:
        """What is parked of these messages."""
        return [entry for entry in self.store.parked(limit=1_000) if entry.message_id in message_ids]

    def model(self, uri: str) -> ModelState:
        state = self.store.read_model(ModelSubject(uri=uri)).state
        assert state is not None, f"nothing is known of {uri}"
        return state

    def traffic(self, service: ServiceId) -> dict[str, int]:
        """The share of each revision that has one."""
        shown = self.cloud_run.get_service(service.resource_name).traffic_statuses
        return {each.revision: each.percent for each in shown if each.percent}

    def served_version(self, service: ServiceId) -> int | None:
        """The model version that the revision with all the traffic pins; None for one that Trimtab has not made."""
        (name,) = self.traffic(service)
        found = [each for each in self.cloud_run.list_revisions(service.resource_name) if each.name.endswith(f"/{name}")]
        variables = {each.name: each.value for each in found[0].containers[0].env} if found else {}
        pinned = re.findall(r"versions: (\d+)", variables.get("TRIMTAB_MODEL_CONFIG", ""))
        return int(pinned[0]) if pinned else None

    def condition(self, service: ServiceId) -> tuple[str, str, str]:
        """Of type Current: status, reason, message."""
        state = self.state(service)
        found = [each for each in state.conditions if each.type == "Current"] if state is not None else []
        return (found[0].status, found[0].reason, found[0].message) if found else ("Unknown", "", "")

    def told(self) -> list[Any]:
        """The messages on the topic of events since this was last asked."""
        return self._topics.pull(EVENTS)

    def dead_letters(self, topic: str) -> list[Any]:
        return self.pull(f"{topic}-dead-kept")

    def pull(self, name: str) -> list[Any]:
        """Take the messages of a pull subscription, up to 100."""
        request = {"subscription": self.subscription(name), "max_messages": 100}
        try:
            answer = self._subscriber.pull(request, retry=None, timeout=1.0)
        except DeadlineExceeded:
            return []
        received = list(answer.received_messages)
        if received:
            done = {"subscription": self.subscription(name), "ack_ids": [each.ack_id for each in received]}
            self._subscriber.acknowledge(done, retry=None, timeout=RPC_SECONDS)
        return [each.message for each in received]

    def _topic(self, name: str) -> str:
        return f"projects/{self._project}/topics/{name}"

    def subscription(self, name: str) -> str:
        """The full name of a topic's subscription."""
        return f"projects/{self._project}/subscriptions/{name}-sub"


def _plain_environment() -> dict[str, str]:
    """This process's environment without settings of Trimtab's, of Google's clients and of proxies."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRIMTAB_", "GOOGLE_", "FIRESTORE_", "PUBSUB_")) and not name.lower().endswith("_proxy")
    }


@contextlib.contextmanager
def deployed(emulators: Emulators, logs: Path) -> Iterator[Deployment]:
    """Start everything, and stop it whatever happens."""
    with contextlib.ExitStack() as stack:
        deployment = Deployment(emulators, logs, stack)
        yield deployment
    for function in deployment.functions.values():
        assert not function._answers(), f"the function {function.name} still answers after it was stopped"
