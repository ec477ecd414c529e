"""The simulated Cloud Run over HTTP, on loopback: the Admin API's REST form, and the addresses of services and tagged revisions.

The REST API is the one that has every field: JSON keys that Google's Python messages lack are kept, shown again and counted as
changes of a template (see `simulation.cloud_run_extras`). Bodies, names and errors are as Google writes them: int64 as text, enums
by name, `{"error": {"code", "message", "status", "details"}}`.

Below `/urls/PROJECT/REGION/SERVICE[/TAG]` it answers what the service's container would: TF Serving's REST API. It binds to
127.0.0.1 and nothing else, asks for no credentials, and while it is open the simulation's addresses point to it.
"""

import json
import logging
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import parse_qs, unquote, urlsplit

from google.cloud import run_v2
from google.protobuf import json_format

from shared.local.cloud_run_operations import status_message
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_json import from_json, mask_from_text, to_json
from shared.simulation.cloud_run_records import Operation, page_of
from shared.simulation.cloud_run_serving import Reply
from shared.simulation.platform import TRIMTAB

HOST = "127.0.0.1"
MAX_BODY_BYTES = 32 * 2**20
"""Cloud Run's limit on an HTTP/1 request."""
_LOG = logging.getLogger(__name__)
_HTTP_OF_STATUS = {
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""Google's mapping of gRPC statuses to HTTP (google/rpc/code.proto); all others are 500."""
_URL_PARTS = 3
_JSON = "application/json; charset=UTF-8"
_Query = dict[str, str]


class CloudRunRest:
    """An HTTP server in front of a simulated Cloud Run; `with` starts and stops it.

    `principal` is whom Cloud Run sees writing: no credentials are asked for. Port 0 takes a free one.
    """

    def __init__(self, cloud_run: SimulatedCloudRun, *, port: int = 0, principal: str = TRIMTAB) -> None:
        self._cloud_run = cloud_run
        self._wanted_port = port
        self._api = _AdminApi(cloud_run, principal)
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:port`, once it is started."""
        return f"http://{HOST}:{self._port}"

    def start(self) -> Self:
        """Bind and serve; the addresses of services and tags point here from now on.

        Raises:
            RuntimeError: it is started already, or the port is taken.
        """
        if self._server is not None:
            msg = f"the door is open already at {self.base_url}"
            raise RuntimeError(msg)
        try:
            server = _Server((HOST, self._wanted_port), _handler_of(self._cloud_run, self._api))
        except OSError as error:
            msg = f"{HOST}:{self._wanted_port} cannot be bound, another program may hold it: {error}"
            raise RuntimeError(msg) from error
        self._port = int(server.server_address[1])
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="cloud-run-rest", daemon=True)
        self._thread.start()
        self._cloud_run.base_url = self.base_url
        return self

    def stop(self) -> None:
        """Let running requests end, then close; calling it again does nothing."""
        server, thread, self._server, self._thread = self._server, self._thread, None, None
        if server is None or thread is None:
            return
        if self._cloud_run.base_url == self.base_url:
            self._cloud_run.base_url = None
        server.shutdown()
        thread.join()
        server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    # A second server on the same port must fail, and closing waits for the requests under way.
    allow_reuse_address = True
    allow_reuse_port = False
    daemon_threads = False


class _AdminApi:
    """The paths below `/v2/`."""

    def __init__(self, cloud_run: SimulatedCloudRun, principal: str) -> None:
        self._cloud_run = cloud_run
        self._principal = principal

    def call(self, method: str, name: str, query: _Query, body: bytes) -> dict[str, Any]:
        """Answer a request; `name` is the path below `/v2/`.

        Raises:
            SimulatedError: as the simulation, NOT_FOUND for a path that is none, INVALID_ARGUMENT for a body that is no JSON object.
        """
        parts = name.split("/")
        kinds = tuple(parts[::2])
        by_kinds: dict[tuple[str, tuple[str, ...], bool], Callable[[str, _Query, bytes], dict[str, Any]]] = {
            ("GET", ("projects", "locations", "services"), True): self._get,
            ("GET", ("projects", "locations", "services"), False): self._list,
            ("POST", ("projects", "locations", "services"), False): self._create,
            ("PATCH", ("projects", "locations", "services"), True): self._update,
            ("DELETE", ("projects", "locations", "services"), True): self._delete,
            ("GET", ("projects", "locations", "services", "revisions"), True): self._get_revision,
            ("GET", ("projects", "locations", "services", "revisions"), False): self._list_revisions,
            ("DELETE", ("projects", "locations", "services", "revisions"), True): self._delete_revision,
            ("GET", ("projects", "locations", "operations"), True): self._operation,
        }
        work = by_kinds.get((method, kinds, len(parts) % 2 == 0)) if all(parts) else None
        if work is None:
            raise SimulatedError("NOT_FOUND", f"Method not found: {method} /v2/{name}")
        return work(name, query, body)

    def _get(self, name: str, _query: _Query, _body: bytes) -> dict[str, Any]:
        return to_json(self._cloud_run.get_service(name))

    def _list(self, name: str, query: _Query, _body: bytes) -> dict[str, Any]:
        found, following = _page(self._cloud_run.list_services(name.removesuffix("/services")), query)
        return _without_empty({"services": [to_json(each) for each in found], "nextPageToken": following})

    def _create(self, name: str, query: _Query, body: bytes) -> dict[str, Any]:
        service = from_json(_object(body), run_v2.Service, at="service")
        return _operation_json(
            self._cloud_run.create_service(
                name.removesuffix("/services"),
                query.get("serviceId", ""),
                service,
                principal=self._principal,
                validate_only=_flag(query, "validateOnly"),
            )
        )

    def _update(self, name: str, query: _Query, body: bytes) -> dict[str, Any]:
        service = from_json(_object(body), run_v2.Service, at="service")
        service.name = name
        return _operation_json(
            self._cloud_run.update_service(
                service,
                update_mask=mask_from_text(query["updateMask"], run_v2.Service) if query.get("updateMask") else None,
                principal=self._principal,
                validate_only=_flag(query, "validateOnly"),
                allow_missing=_flag(query, "allowMissing"),
            )
        )

    def _delete(self, name: str, query: _Query, _body: bytes) -> dict[str, Any]:
        deleted = self._cloud_run.delete_service(name, etag=query.get("etag", ""), validate_only=_flag(query, "validateOnly"))
        return _operation_json(deleted)

    def _get_revision(self, name: str, _query: _Query, _body: bytes) -> dict[str, Any]:
        return to_json(self._cloud_run.get_revision(name))

    def _list_revisions(self, name: str, query: _Query, _body: bytes) -> dict[str, Any]:
        found, following = _page(self._cloud_run.list_revisions(name.removesuffix("/revisions")), query)
        return _without_empty({"revisions": [to_json(each) for each in found], "nextPageToken": following})

    def _delete_revision(self, name: str, query: _Query, _body: bytes) -> dict[str, Any]:
        deleted = self._cloud_run.delete_revision(name, etag=query.get("etag", ""), validate_only=_flag(query, "validateOnly"))
        return _operation_json(deleted)

    def _operation(self, name: str, _query: _Query, _body: bytes) -> dict[str, Any]:
        return _operation_json(self._cloud_run.get_operation(name))


def _handler_of(cloud_run: SimulatedCloudRun, api: _AdminApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5.0
        """For an idle connection, so that closing the door does not wait for a client that holds one open."""

        def do_GET(self) -> None:
            self._answer()

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 (the same)

        def _answer(self) -> None:
            # One request per connection: closing the door must not wait for idle ones.
            self.close_connection = True
            try:
                reply = self._reply()
            except SimulatedError as error:
                reply = _error_reply(error)
            except Exception:  # noqa: BLE001 (a bug of the simulation reaches the client as Google's 500, and the log as itself)
                _LOG.exception("the simulated Cloud Run failed on %s %s", self.command, self.path)
                reply = _error_reply(SimulatedError("INTERNAL", "Internal error encountered."))
            data = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def _reply(self) -> Reply:
            stated = self.headers.get("Content-Length") or "0"
            if not stated.isdecimal():
                return Reply(HTTPStatus.BAD_REQUEST, "text/plain", f"Content-Length {stated[:40]!r} is not a number")
            if int(stated) > MAX_BODY_BYTES:
                return Reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "text/plain", "Request Entity Too Large")
            return _routed(cloud_run, api, self.command, self.path, self.rfile.read(int(stated)))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the standard library's name)
            _LOG.debug(format, *args)

    return Handler


def _routed(cloud_run: SimulatedCloudRun, api: _AdminApi, method: str, target: str, body: bytes) -> Reply:
    """The answer of the Admin API (`/v2/`) or of a service (`/urls/`)."""
    url = urlsplit(target)
    head, _, rest = url.path.lstrip("/").partition("/")
    if head == "urls":
        return _served(cloud_run, method, rest, body)
    if head != "v2":
        raise SimulatedError("NOT_FOUND", f"Method not found: {method} {url.path}")
    query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
    return Reply(HTTPStatus.OK, _JSON, json.dumps(api.call(method, unquote(rest), query, body)))


def _served(cloud_run: SimulatedCloudRun, method: str, rest: str, body: bytes) -> Reply:
    """The answer of a service or tag: `PROJECT/REGION/SERVICE[/TAG]` and the path within the container.

    A path within the container that is no TF Serving path may be taken for a tag: TF Serving has nothing there either.
    """
    parts = rest.split("/")
    if len(parts) < _URL_PARTS or not all(parts[:_URL_PARTS]):
        raise SimulatedError("NOT_FOUND", f"Not found: /urls/{rest}")
    project, region, service = (unquote(part) for part in parts[:_URL_PARTS])
    below = parts[_URL_PARTS:]
    tag = "" if not below or below[0].lower() in ("", "v1") else unquote(below.pop(0))
    name = f"projects/{project}/locations/{region}/services/{service}"
    text = body.decode("utf-8", errors="replace")
    return cloud_run.request(name, tag=tag, method=method, path="/" + "/".join(below), body=text)


def _page(items: list[Any], query: _Query) -> tuple[list[Any], str]:
    size = query.get("pageSize", "0") or "0"
    if not size.isdecimal():
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid value at 'page_size' (TYPE_INT32), {size!r}", field="page_size")
    return page_of(items, size=int(size), token=query.get("pageToken", ""))


def _flag(query: _Query, name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid value at '{name}' (TYPE_BOOL), {text!r}", field=name)
    return text == "true"


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body or b"{}")
    except ValueError as error:
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid JSON payload received. {error}") from error
    if not isinstance(data, dict):
        raise SimulatedError("INVALID_ARGUMENT", "Invalid JSON payload received. Root element must be a message.")
    return cast("dict[str, Any]", data)


def _operation_json(operation: Operation) -> dict[str, Any]:
    kind, subject = ("Service", operation.service) if operation.revision is None else ("Revision", operation.revision)
    described = {"@type": f"type.googleapis.com/google.cloud.run.v2.{kind}", **to_json(subject)}
    written: dict[str, Any] = {"name": operation.name, "metadata": described}
    if operation.done:
        written["done"] = True
    if operation.error is not None:
        written["error"] = json_format.MessageToDict(status_message(operation.error))
    elif operation.done:
        written["response"] = described
    return written


def _error_reply(error: SimulatedError) -> Reply:
    status = _HTTP_OF_STATUS.get(error.status, 500)
    body: dict[str, Any] = {"code": status, "message": error.text, "status": error.status}
    details = json_format.MessageToDict(status_message(error)).get("details")
    if details:
        body["details"] = details
    return Reply(status, _JSON, json.dumps({"error": body}))


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value}
