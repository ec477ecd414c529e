"""Trimtab as it is deployed, on one machine: each function a process of its own under functions-framework's real server.

Pub/Sub's emulator pushes to them, they keep their documents in Firestore's emulator, read models from a simulated Cloud Storage and
write to a simulated Cloud Run through Google's own clients. Settings reach them by the environment alone. Between them and each
emulator stands a `Gate`, which can break the connection or hold it. The emulator puts no token on its pushes: before the command
function a `PushIdentity` does, as Pub/Sub does for a subscription that names a service account.
"""

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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.cloud import firestore

from shared.clock import SystemClock
from shared.deployment import source_file
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
from tests.support.emulators import firestore_client, fresh_project
from tests.support.gates import Gate
from tests.support.pubsub_topics import PubsubTopics
from tests.support.push_identity import PushIdentity, http_post, identity_token

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
START_SECONDS = 30.0
VERDICTS = {"done", "duplicate", "ignored", "parked"}
"""The messages of the log lines that say how an event was answered."""
QUIET_SECONDS = 1.5
LOG_TAIL_CHARACTERS = 6_000


@dataclass(frozen=True)
class Unpacked:
    """An archive that was unpacked into `folder`, with its requirements in the environment of `python`."""

    folder: Path
    python: Path


class FunctionProcess:
    """One function under functions-framework, at a port that stays its own through restarts.

    From the source tree, or from an unpacked archive as the buildpack starts it: `functions-framework` in the archive's folder, all else
    by the environment.
    """

    def __init__(self, name: str, environment: Mapping[str, str], logs: Path, archive: Unpacked | None = None) -> None:
        self.name = name
        self.port = _quiet_port()
        self._archive = archive
        self._environment = dict(environment)
        self._log = logs / f"{name}.log"
        self._log.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Begin to start it; `wait_until_up` says when it serves."""
        python, folder, source = Path(sys.executable), ROOT, f"functions/{self.name}/main.py"
        if self._archive is not None:
            python, folder, source = self._archive.python, self._archive.folder, source_file(self.name)
        environment = self._environment | {
            "FUNCTION_TARGET": self.name,
            "FUNCTION_SOURCE": source,
            "FUNCTION_SIGNATURE_TYPE": "http",
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(python.parent / "functions-framework")],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
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

    def __init__(
        self,
        emulators: Emulators,
        logs: Path,
        stack: contextlib.ExitStack,
        archive: Unpacked | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.project = fresh_project()
        self.clock = SystemClock()
        # Quick, so that the look right after a write finds it in force and no test waits for a tick only for that.
        self.cloud_run = SimulatedCloudRun(now=self.clock.now, reconcile_seconds=0.02, rollout_seconds=0.2)
        door = stack.enter_context(CloudRunDoor(self.cloud_run))
        rest = stack.enter_context(CloudRunRest(self.cloud_run))
        self.bucket = SimulatedBucket(now=self.clock.now)
        self._storage = stack.enter_context(CloudStorageDoor(self.bucket))
        self.client: firestore.Client = stack.enter_context(firestore_client(emulators.firestore, self.project))
        self.store = FirestoreStore(self.client)
        self.firestore_gate = stack.enter_context(contextlib.closing(Gate(emulators.firestore)))
        self.pubsub_gate = stack.enter_context(contextlib.closing(Gate(emulators.pubsub)))
        self._topics = PubsubTopics(emulators.pubsub, self.project, stack, topics=(*TOPICS, TEAM_COMMANDS, EVENTS))
        self._topics.listen(EVENTS)
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
            "TRIMTAB_STORAGE_ENDPOINT": self._storage.endpoint.removeprefix("http://"),
            "FIRESTORE_EMULATOR_HOST": self.firestore_gate.host,
            "PUBSUB_EMULATOR_HOST": self.pubsub_gate.host,
        }
        environment = plain_environment() | settings | dict(variables or {})
        self.functions = {name: FunctionProcess(name, environment, logs, archive) for name in TOPICS.values()}
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
        shown = self.cloud_run.get_service(service.resource_name)
        latest = shown.latest_ready_revision.rsplit("/", 1)[-1]
        return {each.revision or latest: each.percent for each in shown.traffic_statuses if each.percent}

    def listings(self, prefix: str) -> int:
        """How often the bucket was listed below the prefix."""
        return sum(asked.get("prefix") == prefix for _, asked, _ in self._storage.seen)

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


def plain_environment() -> dict[str, str]:
    """This process's environment without settings of Trimtab's, of Google's clients and of proxies."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRIMTAB_", "GOOGLE_", "FIRESTORE_", "PUBSUB_")) and not name.lower().endswith("_proxy")
    }


@contextlib.contextmanager
def deployed(
    emulators: Emulators, logs: Path, archive: Unpacked | None = None, variables: Mapping[str, str] | None = None
) -> Iterator[Deployment]:
    """Start everything, and stop it whatever happens. `variables` are set for the functions beside their settings."""
    with contextlib.ExitStack() as stack:
        deployment = Deployment(emulators, logs, stack, archive, variables)
        yield deployment
    for function in deployment.functions.values():
        assert not function._answers(), f"the function {function.name} still answers after it was stopped"
