"""Trimtab as it is deployed, on one machine: each function a process of its own under functions-framework's real server.

Pub/Sub's emulator pushes to them, they keep their documents in Firestore's emulator and write to a simulated Cloud Run through
Google's own client. Settings reach them by the environment alone. Between them and each emulator stands a `Gate`, which can break
the connection or hold it.
"""

import contextlib
import http.client
import json
import os
import random
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
from pathlib import Path
from typing import Any

import grpc
from google.api_core.exceptions import DeadlineExceeded
from google.cloud import firestore
from google.pubsub_v1.services.publisher import PublisherClient
from google.pubsub_v1.services.subscriber import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from shared.clock import SystemClock
from shared.gcp.firestore_store import FirestoreStore
from shared.local.cloud_run_door import CloudRunDoor
from shared.records.decision import Decision
from shared.records.observed import Bounds
from shared.records.state import ServiceState
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_records import Write
from shared.simulation.gpu_service import place_service
from tests.support.builders import document
from tests.support.emulators import firestore_client, fresh_project, pubsub_publisher

ROOT = Path(__file__).parents[2]
TOPICS = {"alerts": "alert", "ticks": "schedule", "wakes": "reconcile"}
"""Each topic and the function that it is pushed to."""
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
        self.cloud_run = SimulatedCloudRun(now=self.clock.now, reconcile_seconds=0.02)
        door = stack.enter_context(CloudRunDoor(self.cloud_run))
        self.client: firestore.Client = stack.enter_context(firestore_client(emulators.firestore, self.project))
        self.store = FirestoreStore(self.client)
        self.firestore_gate = stack.enter_context(contextlib.closing(Gate(emulators.firestore)))
        self.pubsub_gate = stack.enter_context(contextlib.closing(Gate(emulators.pubsub)))
        self._topics = _Topics(emulators.pubsub, self.project, stack)
        settings = {
            "TRIMTAB_PROJECT": self.project,
            "TRIMTAB_WAKES_TOPIC": "wakes",
            "TRIMTAB_CLOUD_RUN_ENDPOINT": door.endpoint,
            "FIRESTORE_EMULATOR_HOST": self.firestore_gate.host,
            "PUBSUB_EMULATOR_HOST": self.pubsub_gate.host,
        }
        environment = _plain_environment() | settings
        self.functions = {name: FunctionProcess(name, environment, logs) for name in TOPICS.values()}
        for function in self.functions.values():
            stack.callback(function.stop)
            function.launch()
        for topic, name in TOPICS.items():
            self.functions[name].wait_until_up()
            self._topics.push(topic, f"http://127.0.0.1:{self.functions[name].port}/")

    # -- setting a scene -----------------------------------------------------------------------------------------------------

    def place(self, name: str, *, high: int = 10) -> ServiceId:
        """A service of that name at a maximum of 4 on the simulated Cloud Run, with a spec that allows `high`."""
        service = ServiceId(project="acme-ml", region="europe-west1", name=name)
        place_service(self.cloud_run, service, Bounds(max_instance_count=4))
        self.store.put_service(document(high=high, service=service), if_generation=None)
        return service

    def publish(self, topic: str, *bodies: bytes) -> list[str]:
        """Hand the messages over in one call; returns their ids."""
        return self._topics.publish(topic, bodies)

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


def wait_for(condition: Callable[[], object], what: str, *, seconds: float = 20, meanwhile: Callable[[], None] | None = None) -> None:
    """Return when the condition holds; `meanwhile` is called every five seconds.

    Raises:
        AssertionError: it did not hold in time.
    """
    began = called = time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now - began < seconds, f"waited {seconds:g} s for {what}"
        if meanwhile is not None and now - called > 5:
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
        for topic in TOPICS:
            self.create(topic)

    def create(self, topic: str) -> None:
        """The topic, and beside it one for what is given up, with a subscription that keeps it."""
        for name in (topic, f"{topic}-dead"):
            self._publisher.create_topic(name=self._topic(name), retry=None, timeout=RPC_SECONDS)
        kept = {"name": self._subscription(f"{topic}-dead-kept"), "topic": self._topic(f"{topic}-dead")}
        self._subscriber.create_subscription(kept, retry=None, timeout=RPC_SECONDS)

    def push(self, topic: str, endpoint: str, *, attempts: int = MAX_DELIVERY_ATTEMPTS) -> None:
        """Push the topic to the endpoint."""
        subscription = {
            "name": self._subscription(topic),
            "topic": self._topic(topic),
            "push_config": {"push_endpoint": endpoint},
            "ack_deadline_seconds": ACK_DEADLINE_SECONDS,
            "retry_policy": BACKOFF,
            "dead_letter_policy": {"dead_letter_topic": self._topic(f"{topic}-dead"), "max_delivery_attempts": attempts},
        }
        self._subscriber.create_subscription(subscription, retry=None, timeout=RPC_SECONDS)

    def publish(self, topic: str, bodies: Sequence[bytes]) -> list[str]:
        messages = [{"data": body} for body in bodies]
        answer = self._publisher.publish({"topic": self._topic(topic), "messages": messages}, retry=None, timeout=RPC_SECONDS)
        return list(answer.message_ids)

    def dead_letters(self, topic: str) -> list[Any]:
        request = {"subscription": self._subscription(f"{topic}-dead-kept"), "max_messages": 100}
        try:
            answer = self._subscriber.pull(request, retry=None, timeout=1.0)
        except DeadlineExceeded:
            return []
        return [received.message for received in answer.received_messages]

    def _topic(self, name: str) -> str:
        return f"projects/{self._project}/topics/{name}"

    def _subscription(self, name: str) -> str:
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
