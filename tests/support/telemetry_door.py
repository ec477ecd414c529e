"""Where telemetry goes, on loopback: an OTLP collector, Cloud Profiler's API with its discovery document, and a token endpoint.

Simulated: only what the libraries ask is answered, and each request is kept. `refusing` is the status of
spans and profiles instead.
"""

import base64
import gzip
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PROFILE = {"profileType": "CPU", "duration": "0.5s", "name": "projects/acme-ml/profiles/1"}


class TelemetryDoor:
    """What was sent, oldest first."""

    def __init__(self) -> None:
        self.exports: list[ExportTraceServiceRequest] = []
        self.profiles: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        """The requests for a profile to make."""
        self.refusing: int | None = None
        self.delay_seconds = 0.0
        """Before spans are answered for."""
        self.endpoint = ""
        """HOST:PORT."""

    def spans(self, service: str | None = None) -> list[Span]:
        """All spans; of one service where it is named."""
        return [
            span
            for export in self.exports
            for found in export.resource_spans
            if service is None or attributes(found.resource.attributes)["service.name"] == service
            for scope in found.scope_spans
            for span in scope.spans
        ]

    def key_file(self, folder: Path) -> Path:
        """A service account's key of nobody, whose tokens come from here."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        content = {
            "type": "service_account",
            "client_email": "trimtab-alert@acme-ml.iam.gserviceaccount.com",
            "private_key": text.decode(),
            "project_id": "acme-ml",
            "token_uri": f"http://{self.endpoint}/token",
        }
        path = folder / "key.json"
        path.write_text(json.dumps(content))
        return path

    def discovery(self) -> dict[str, Any]:
        """The part of Cloud Profiler's discovery document that the library uses."""
        project = {"type": "string", "required": True, "location": "path", "pattern": "^projects/[^/]+$"}
        name = {"type": "string", "required": True, "location": "path", "pattern": "^projects/[^/]+/profiles/[^/]+$"}
        methods = {
            "create": {
                "id": "cloudprofiler.projects.profiles.create",
                "path": "v2/{+parent}/profiles",
                "httpMethod": "POST",
                "parameters": {"parent": project},
                "parameterOrder": ["parent"],
                "request": {"$ref": "Any"},
                "response": {"$ref": "Any"},
            },
            "patch": {
                "id": "cloudprofiler.projects.profiles.patch",
                "path": "v2/{+name}",
                "httpMethod": "PATCH",
                "parameters": {"name": name},
                "parameterOrder": ["name"],
                "request": {"$ref": "Any"},
                "response": {"$ref": "Any"},
            },
        }
        return {
            "kind": "discovery#restDescription",
            "name": "cloudprofiler",
            "version": "v2",
            "rootUrl": f"http://{self.endpoint}/",
            "servicePath": "",
            "batchPath": "batch",
            "schemas": {"Any": {"id": "Any", "type": "object", "additionalProperties": {"type": "any"}}},
            "resources": {"projects": {"resources": {"profiles": {"methods": methods}}}},
        }


def attributes(found: Any) -> dict[str, Any]:
    """OTLP's list of attributes as a mapping."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in found}


def profiled(profile: Mapping[str, Any]) -> bytes:
    """The profile that was uploaded, unpacked: its strings are in it as they are."""
    return gzip.decompress(base64.b64decode(profile["profileBytes"]))


@contextmanager
def telemetry_door() -> Iterator[TelemetryDoor]:
    """One, open."""
    door = TelemetryDoor()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, door.discovery())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                time.sleep(door.delay_seconds)
                door.exports.append(ExportTraceServiceRequest.FromString(body))
                self._answer(door.refusing or 200, {})
            elif self.path == "/token":
                self._answer(200, {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"})
            else:
                door.asked.append(json.loads(body))
                self._answer(door.refusing or 200, {**PROFILE, "deployment": door.asked[-1]["deployment"]})

        def do_PATCH(self) -> None:
            door.profiles.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(200, {"name": PROFILE["name"]})

        def _answer(self, status: int, content: Mapping[str, Any]) -> None:
            text = b"" if self.path == "/v1/traces" else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    door.endpoint = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="telemetry-door", daemon=True)
    thread.start()
    try:
        yield door
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
