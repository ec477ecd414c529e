"""`/v1/models/NAME`, `:predict` and the metrics page. Requests wait for a thread, as TF Serving's do; the page never waits."""

import json
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from tests.support.tf_server.batches import Answer
from tests.support.tf_server.counters import PATH
from tests.support.tf_server.service import VERSION, Failed, Service

_MODEL = re.compile(r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+))?(?P<verb>:predict)?", re.IGNORECASE)
_HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
}
"""Others are 500."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service
    threads: threading.Semaphore

    def setup(self) -> None:
        super().setup()
        # Without it each answer waits some 40 ms for the client's acknowledgement.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        if self.path == PATH:
            self._send(200, self.service.counters.page(), "text/plain")
            return
        with self.threads:
            self._answer(self._status)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.threads:
            self._answer(lambda: self.service.timed("predict", "REST", lambda: self._predict(body)))

    def _answer(self, work: Any) -> None:
        try:
            self._send(200, work())
        except Failed as failed:
            self._send(_HTTP.get(failed.code, 500), json.dumps({"error": failed.text}))

    def _model(self, *, predict: bool) -> None:
        found = _MODEL.fullmatch(self.path)
        if found is None or bool(found["verb"]) != predict:
            raise Failed("INVALID_ARGUMENT", f"Malformed request: {self.command} {self.path}")
        self.service.check_name(found["name"])
        if found["version"] is not None and int(found["version"]) != VERSION:
            raise Failed("NOT_FOUND", f"Could not find version {found['version']} of model {found['name']}")

    def _status(self) -> str:
        self._model(predict=False)
        self.service.counters.request("OK")
        state = {"version": str(VERSION), "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        return json.dumps({"model_version_status": [state]})

    def _predict(self, body: bytes) -> tuple[str, Answer]:
        self._model(predict=True)
        try:
            document = json.loads(body)
            by_rows = "instances" in document
            rows = np.array(document["instances" if by_rows else "inputs"], np.float32)
        except (ValueError, TypeError, KeyError) as bad:
            raise Failed("INVALID_ARGUMENT", f"JSON Parse error: {bad}") from None
        answer = self.service.predict(rows)
        return json.dumps({"predictions" if by_rows else "outputs": answer.y.tolist()}), answer

    def _send(self, status: int, text: str, content_type: str = "application/json") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


def start(service: Service, port: int, threads: int) -> tuple[ThreadingHTTPServer, int]:
    """The running server and its port, on loopback."""
    handler = type("Handler", (_Handler,), {"service": service, "threads": threading.Semaphore(threads)})
    server = _Server(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_port
