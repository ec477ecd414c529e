"""A Google API over HTTP on loopback, as a function: what is asked goes in, a status and a JSON body come out."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    parameters: dict[str, list[str]]
    body: dict[str, Any]

    def one(self, name: str) -> str:
        (value,) = self.parameters[name]
        return value


@dataclass
class JsonDoor:
    """`answer` gives status and body; a body of bytes goes out as it is. `seen` are the requests."""

    answer: Callable[[Asked], tuple[int, Any]]
    seen: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two writes: the second would wait for an acknowledgement

            def _reply(self) -> None:
                parts = urlsplit(self.path)
                raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                form = self.headers.get("Content-Type") == "application/x-www-form-urlencoded"  # as a token is asked for
                asked = Asked(self.command, unquote(parts.path), parse_qs(parts.query), json.loads(raw) if raw and not form else {})
                door.seen.append(asked)
                status, answer = door.answer(asked)
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_GET = do_POST = _reply  # noqa: N815 (the base class calls them so)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class calls it so)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"


def refusal(code: int, message: str) -> tuple[int, Any]:
    """As Google writes one."""
    return code, {"error": {"code": code, "message": message, "status": "X"}}
