"""Cloud Storage's JSON API over HTTP, as far as models need it, on a simulated bucket: pages, delimiters, generations, ranges, refusals."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from shared.errors import Refused, Retry
from shared.simulation.bucket import SimulatedBucket


@dataclass
class CloudStorageDoor:
    """A server on loopback; `seen` are the requests, `answer` replaces every answer by a status and a body."""

    bucket: SimulatedBucket
    page: int = 1_000
    answer: tuple[int, bytes] | None = None
    ignores_ranges: bool = False
    seen: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def __enter__(self) -> Self:
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                asked = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                door.seen.append((parts.path, asked, dict(self.headers.items())))
                status, headers, body = door.reply(parts.path, asked, self.headers.get("Range"))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

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

    def reply(self, path: str, asked: dict[str, str], range_header: str | None) -> tuple[int, dict[str, str], bytes]:
        if self.answer is not None:
            return self.answer[0], {}, self.answer[1]
        try:
            _, _, _, _, bucket, kind, *rest = path.split("/")
            assert kind == "o"
            if rest:
                return self._object(unquote(bucket), unquote(rest[0]), asked, range_header)
            return 200, {"Content-Type": "application/json"}, json.dumps(self._listed(unquote(bucket), asked)).encode()
        except Retry as outage:
            return 503, {}, _error(503, outage.reason)
        except Refused as refusal:
            return (404 if "404" in refusal.message else 403), {}, _error(403, refusal.message)

    def _listed(self, bucket: str, asked: dict[str, str]) -> dict[str, Any]:
        prefix = asked.get("prefix", "")
        every: list[Any]
        if asked.get("delimiter") == "/":
            key, every = "prefixes", [f"{prefix}{name}/" for name in self.bucket.list_folders(bucket, prefix, limit=10**9)]
        else:
            key, every = (
                "items",
                [self.bucket.resource(bucket, each.name) for each in self.bucket.list_objects(bucket, prefix, limit=10**9).objects],
            )
        start = int(asked.get("pageToken", "0"))
        end = start + min(self.page, int(asked["maxResults"]))
        more = {"nextPageToken": str(end)} if end < len(every) else {}
        return ({key: every[start:end]} if every else {}) | more

    def _object(self, bucket: str, name: str, asked: dict[str, str], range_header: str | None) -> tuple[int, dict[str, str], bytes]:
        assert asked["alt"] == "media"
        data = self.bucket.read_object(bucket, name, generation=int(asked["generation"]), limit_bytes=10**9)
        if data is None:
            return 404, {}, b"No such object"
        if range_header is None or self.ignores_ranges:
            return 200, {}, data
        start, end = (int(each) for each in range_header.removeprefix("bytes=").split("-"))
        if start >= len(data):
            return 416, {}, b"The requested range cannot be satisfied."
        return 206, {}, data[start : end + 1]


def _error(code: int, message: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "errors": []}}).encode()
