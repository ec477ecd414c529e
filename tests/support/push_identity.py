"""Who calls the command function: identity tokens as Cloud Run hands them on, and Pub/Sub's pushes with theirs."""

import base64
import http.client
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

HTTP_SECONDS = 60.0


class PushIdentity:
    """Hands requests on to a function with the identity token that Pub/Sub puts on the pushes of a subscription; `with` runs it.

    The token has no signature: Cloud Run takes it away when it has checked it.
    """

    def __init__(self, port: int, account: str) -> None:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {identity_token(account)}"}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    status, text = http_post(port, body, headers)
                except (OSError, http.client.HTTPException):
                    status, text = http.HTTPStatus.SERVICE_UNAVAILABLE, b"no instance\n"
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class calls it so)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def identity_token(email: str) -> str:
    """An identity token of Google's as Cloud Run hands it on."""
    claims = {"iss": "https://accounts.google.com", "email": email, "email_verified": True}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "RS256"}, claims))
    return f"{'.'.join(parts)}.SIGNATURE_REMOVED_BY_GOOGLE"


def http_post(port: int, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """POST to a server on this machine.

    Raises:
        OSError, http.client.HTTPException: nobody answers there.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HTTP_SECONDS)
    try:
        connection.request("POST", "/", body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
