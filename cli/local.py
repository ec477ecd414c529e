"""`trimtab local`: all of Trimtab on this machine, in real time, with a simulated Cloud Run to steer."""

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


def local(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 8080,
    data: Annotated[Path | None, typer.Option(help="Keep the SQLite file here; without it everything is forgotten at the end.")] = None,
    demand: Annotated[float, typer.Option(min=0, max=1000, help="How many simulated instances the traffic keeps busy.")] = 6.0,
    tick_seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="The schedule's period.")] = TICK_SECONDS,
) -> None:
    """Run alert, schedule and reconcile here, with SQLite, a bus that posts real push bodies and a simulated Cloud Run."""
    _refuse_taken_port(port)
    from werkzeug.serving import make_server

    from cli.edition import LocalEdition
    from cli.story import CAP, SERVICE, spec
    from shared.clock import SystemClock, SystemIds
    from shared.records.observed import Bounds

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    clock = SystemClock()
    stopped = threading.Event()
    try:
        if data is not None:
            data.parent.mkdir(parents=True, exist_ok=True)
        local_edition = LocalEdition(data or ":memory:", clock, SystemIds(clock))
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
        typer.echo(f"trimtab local: {base}/alert, {base}/schedule and {base}/reconcile take Pub/Sub push bodies; Ctrl-C ends it.")
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
            return applications[name]({**environ, "SCRIPT_NAME": f"/{name}", "PATH_INFO": f"/{rest}"}, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"POST to /alert, /schedule or /reconcile\n"]

    return route
