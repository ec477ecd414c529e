"""`trimtab local`: all of Trimtab on this machine, in real time, with a simulated Cloud Run to steer."""

import base64
import hashlib
import io
import json
import logging
import signal
import socket
import sqlite3
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

HOST = "127.0.0.1"
TICK_SECONDS = 60.0
BARE = ("alert", "audit", "upload")
"""Functions that also take an event's bare body here, as `curl` would send a file; `command` takes one by itself."""
BARE_LIMIT_BYTES = 1_000_000


def local(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 8080,
    data: Annotated[Path | None, typer.Option(help="Keep the SQLite file here; without it everything is forgotten at the end.")] = None,
    demand: Annotated[float, typer.Option(min=0, max=1000, help="How many simulated instances the traffic keeps busy.")] = 6.0,
    tick_seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="The schedule's period.")] = TICK_SECONDS,
    buckets: Annotated[
        Path | None, typer.Option(help="A folder that stands for Cloud Storage, with one folder in it for each bucket.", file_okay=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=20, help="Deliver each message so many times.")] = 1,
    delay_seconds: Annotated[float, typer.Option(min=0, max=600, help="Deliver each message up to so much later.")] = 0.0,
    shuffle: Annotated[bool, typer.Option(help="Deliver what is due in any order.")] = False,
    drop_ratio: Annotated[float, typer.Option(min=0, max=1, help="Lose this share of the messages.")] = 0.0,
) -> None:
    """Run all functions here, with SQLite, a bus that posts real push bodies and a simulated Cloud Run."""
    _refuse_taken_port(port)
    from werkzeug.serving import make_server

    from cli.edition import LocalEdition
    from cli.folder import FolderWatch
    from cli.local_service import CAP, SERVICE, spec
    from shared.clock import SystemClock, SystemIds
    from shared.local.bus import Trouble
    from shared.records.observed import Bounds

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    clock = SystemClock()
    stopped = threading.Event()
    try:
        if data is not None:
            data.parent.mkdir(parents=True, exist_ok=True)
        if buckets is not None:
            buckets.mkdir(parents=True, exist_ok=True)
        trouble = Trouble(repeat=repeat, shuffle=shuffle, drop_ratio=drop_ratio, delay_seconds=delay_seconds)
        local_edition = LocalEdition(data or ":memory:", clock, SystemIds(clock), buckets=buckets, trouble=trouble)
    except (OSError, ValueError, sqlite3.Error) as error:
        raise typer.BadParameter(
            f"{data}: {error}; name a file that Trimtab made, or one that is not there yet", param_hint="--data"
        ) from None
    with local_edition as edition:
        edition.adopt(spec(), Bounds(max_instance_count=CAP), demand=demand)
        server = make_server(HOST, port, _router(edition.applications), threaded=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        edition.bus.start(workers=2)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        base = f"http://{HOST}:{server.server_port}"
        if edition.files is not None and buckets is not None:
            watch = FolderWatch(buckets, edition.files, lambda data, attributes: edition.bus.publish("uploads", data, attributes))
            threading.Thread(target=watch.watch, args=(stopped,), daemon=True).start()
        names = ", ".join(f"/{name}" for name in edition.applications)
        typer.echo(f"trimtab local: {base} takes events at {names}, as pushed or bare; Ctrl-C ends it.")
        if buckets is not None:
            typer.echo(f"{buckets} stands for Cloud Storage: what changes in it is told as Cloud Storage tells it.")
        allowed = edition.status(SERVICE)["max_instance_count"]
        typer.echo(f"{SERVICE} is simulated: Cloud Run allows {allowed} instances, the traffic wants {demand:g}.")
        typer.echo("Every line below is one event, as Cloud Logging would get it.")
        try:
            while not stopped.wait(tick_seconds):
                edition.tick()
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
            edition.bus.stop()


def _pushed(environ: dict[str, Any]) -> dict[str, Any]:
    """The request with a bare body (a notification, an object, a log entry as a file holds it) wrapped as Pub/Sub would push it.

    What is a push or a CloudEvent already, or too large to look into, goes on as it is.
    """
    length = environ.get("CONTENT_LENGTH") or ""
    if not length.isdecimal() or int(length) > BARE_LIMIT_BYTES or "HTTP_CE_ID" in environ:
        return environ
    body = environ["wsgi.input"].read(int(length))
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if isinstance(content, dict) and "message" not in content and "specversion" not in content:
        message = {"data": base64.b64encode(body).decode(), "messageId": hashlib.sha256(body).hexdigest()[:20], "attributes": {}}
        body = json.dumps({"message": message, "subscription": "projects/local/subscriptions/by-hand"}).encode()
    return {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/json"}


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise typer.BadParameter(f"{HOST}:{port}: {error.strerror}; --port 0 takes a free one", param_hint="--port") from None


def _router(applications: dict[str, Any]) -> Any:
    """The functions behind one port: the first part of the path names the function, the function sees the rest."""

    def route(environ: dict[str, Any], start_response: Any) -> Any:
        name, _, rest = environ.get("PATH_INFO", "").strip("/").partition("/")
        if name in applications:
            inner = {**environ, "SCRIPT_NAME": f"/{name}", "PATH_INFO": f"/{rest}"}
            return applications[name](_pushed(inner) if name in BARE else inner, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [f"POST to one of: {', '.join(f'/{each}' for each in applications)}\n".encode()]

    return route
