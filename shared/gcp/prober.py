"""The `Prober` port over HTTPS: a predict call to a revision's own address, with an identity token where Cloud Run asks for one."""

import json
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import google.auth.transport.requests
import google.oauth2.id_token
import requests
from google.auth import exceptions as auth

from shared.records.rollout import Probe
from shared.tfserving.predict import is_prediction, predict_path

TIMEOUT_SECONDS = 15.0
"""A candidate that needs longer for one golden request is none for real time; reconcile has 50 seconds for everything."""
BODY_LIMIT_BYTES = 1_000_000
DETAIL_CHARACTERS = 1_000


class HttpProber:
    """Asks over HTTP. Thread-safe. Plain HTTP, to a simulated Cloud Run on loopback, goes without a token."""

    def __init__(self, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout_seconds
        self._lock = threading.Lock()

    def predict(self, uri: str, *, model: str, body: Mapping[str, Any]) -> Probe:
        """POST the body; what is no prediction is told, never raised."""
        parts = urlsplit(uri)
        loopback = parts.scheme == "http" and parts.hostname == "127.0.0.1"
        if parts.scheme != "https" and not loopback:
            return Probe(ok=False, detail=f"address {uri[:200]!r}: want https")
        try:
            headers = {"content-type": "application/json"} | ({} if loopback else self._identity(f"https://{parts.netloc}"))
            with requests.Session() as session:
                session.trust_env = not loopback
                response = session.post(
                    f"{uri.rstrip('/')}{predict_path(model)}",
                    data=json.dumps(dict(body)),
                    headers=headers,
                    timeout=self._timeout,
                    allow_redirects=False,
                    stream=True,
                )
                text = response.raw.read(BODY_LIMIT_BYTES, decode_content=True).decode("utf-8", "replace")
        except (requests.RequestException, auth.GoogleAuthError, OSError) as error:
            return Probe(ok=False, detail=f"no answer: {error}"[:DETAIL_CHARACTERS])
        ok, detail = is_prediction(response.status_code, text)
        return Probe(ok=ok, detail=detail[:DETAIL_CHARACTERS])

    def _identity(self, audience: str) -> dict[str, str]:
        with self._lock:
            request = google.auth.transport.requests.Request()
            token = google.oauth2.id_token.fetch_id_token(request, audience)  # type: ignore[no-untyped-call]  # it declares no types
        return {"authorization": f"Bearer {token}"}
