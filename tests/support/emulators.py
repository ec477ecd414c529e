"""Google's Firestore and Pub/Sub emulators, started once per test session; no Docker, no account, no network.

Looked for: `FIRESTORE_EMULATOR_JAR` / `PUBSUB_EMULATOR_JAR`, then the Google Cloud SDK (`/usr/lib/google-cloud-sdk`, the one that
`gcloud` on PATH belongs to, `~/google-cloud-sdk`). Without a jar or without Java the tests skip and say so; a jar that does not
start is an error.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import grpc
import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.api_core.retry import Retry
from google.cloud import firestore
from google.pubsub_v1.services.publisher import PublisherClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport

START_TIMEOUT_SECONDS = 60.0
HEAP_FLAGS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.language=en")
NEVER_RETRY = Retry(predicate=lambda _error: False)

_environment = threading.Lock()


@dataclass(frozen=True)
class Emulator:
    """One kind of emulator: where its jar may lie below a SDK root, and how to get it."""

    name: str
    variable: str
    pattern: str
    component: str
    main: tuple[str, ...]

    def jar(self) -> Path | None:
        named = os.environ.get(self.variable)
        if named:
            return Path(named)
        for root in _sdk_roots():
            found = sorted((root / "platform").glob(self.pattern))
            if found:
                return found[-1]
        return None

    def command(self, java: str, jar: Path, port: int) -> list[str]:
        start = ["-cp", str(jar), *self.main] if self.main else ["-jar", str(jar)]
        return [java, *HEAP_FLAGS, *start, "--host=127.0.0.1", f"--port={port}"]


FIRESTORE = Emulator(
    name="Firestore emulator",
    variable="FIRESTORE_EMULATOR_JAR",
    pattern="cloud-firestore-emulator/cloud-firestore-emulator*.jar",
    component="cloud-firestore-emulator",
    main=("com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start"),
)
PUBSUB = Emulator(
    name="Pub/Sub emulator",
    variable="PUBSUB_EMULATOR_JAR",
    pattern="pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar",
    component="pubsub-emulator",
    main=(),
)


def _sdk_roots() -> Iterator[Path]:
    yield Path("/usr/lib/google-cloud-sdk")
    gcloud = shutil.which("gcloud")
    if gcloud:
        yield Path(gcloud).resolve().parent.parent
    yield Path.home() / "google-cloud-sdk"


def fresh_project() -> str:
    """A project id of one test's own: emulators keep projects apart."""
    return f"demo-{uuid.uuid4().hex[:12]}"


@contextlib.contextmanager
def firestore_client(host: str, project: str) -> Iterator[firestore.Client]:
    """A client of the emulator (or of something that stands before it) at `host`, closed at the end."""
    with _environment:
        before = os.environ.get("FIRESTORE_EMULATOR_HOST")
        os.environ["FIRESTORE_EMULATOR_HOST"] = host
        try:
            client = firestore.Client(project=project)
        finally:
            if before is None:
                del os.environ["FIRESTORE_EMULATOR_HOST"]
            else:
                os.environ["FIRESTORE_EMULATOR_HOST"] = before
    try:
        yield client
    finally:
        client._firestore_api.transport.close()


@contextlib.contextmanager
def running(emulator: Emulator, ready: Callable[[str], None]) -> Iterator[str]:
    """Start it, wait until `ready(host)` no longer raises, give its `host:port`, and stop it whatever happens.

    Raises:
        pytest.skip.Exception: there is no jar or no Java.
        RuntimeError: it did not start; the message ends with its log.
    """
    jar, java = emulator.jar(), shutil.which("java")
    if jar is None:
        pytest.skip(
            f"no {emulator.name}: set {emulator.variable} to its jar, or run `gcloud components install {emulator.component}` "
            f"(Debian: apt install google-cloud-cli-{emulator.component.removeprefix('cloud-')})"
        )
    if java is None:
        pytest.skip(f"the {emulator.name} needs Java 17 or later on PATH (Debian: apt install default-jre-headless)")
    port = _free_port()
    with tempfile.NamedTemporaryFile(prefix=f"{emulator.component}-", suffix=".log") as log:
        process = subprocess.Popen(emulator.command(java, jar, port), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            host = f"127.0.0.1:{port}"
            _wait(emulator, process, log, lambda: ready(host))
            yield host
        finally:
            _stop(process)


def _wait(emulator: Emulator, process: subprocess.Popen[bytes], log: IO[bytes], ready: Callable[[], None]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while True:
        try:
            ready()
        except (GoogleAPICallError, grpc.RpcError, OSError) as error:
            if process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.2)
                continue
            tail = Path(log.name).read_text(errors="replace")[-2000:]
            msg = f"the {emulator.name} did not start (exit {process.poll()}, last error {error}); its log ends:\n{tail}"
            raise RuntimeError(msg) from error
        return


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def _firestore_answers(host: str) -> None:
    with firestore_client(host, "demo-ready") as client:
        client.document("ready/now").get(retry=NEVER_RETRY, timeout=2.0)


def pubsub_publisher(host: str) -> PublisherClient:
    """A publisher of the emulator; close its transport."""
    return PublisherClient(transport=PublisherGrpcTransport(channel=grpc.insecure_channel(host)))


def _pubsub_answers(host: str) -> None:
    publisher = pubsub_publisher(host)
    try:
        list(publisher.list_topics(project="projects/demo-ready", retry=None, timeout=2.0))
    finally:
        publisher.transport.close()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="session")
def firestore_emulator() -> Iterator[str]:
    """`host:port` of the session's Firestore emulator."""
    with running(FIRESTORE, _firestore_answers) as host:
        yield host


@pytest.fixture(scope="session")
def pubsub_emulator() -> Iterator[str]:
    """`host:port` of the session's Pub/Sub emulator."""
    with running(PUBSUB, _pubsub_answers) as host:
        yield host
