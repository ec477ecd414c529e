"""The few calls of Cloud Run's Admin API that go over REST: fields that the client library has no name for.

A call answers with v2 JSON or raises what the gRPC adapter raises for the same refusal. Nothing is repeated here, and every call
has a deadline.
"""

from collections.abc import Callable
from typing import Any

import requests

from shared.cloudrun.refusals import UNAVAILABLE_RETRY_SECONDS, bounded, classify
from shared.errors import Retry
from shared.gcp.credentials import FAILURES, no_token
from shared.gcp.http_session import HttpSession
from shared.rendering.messages import Json
from shared.rendering.writes import RestUpdate

GOOGLE = "https://run.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
BODY_LIMIT_BYTES = 10_000_000
"""A service's document is some kilobytes; an answer above this is not one."""


class CloudRunRest:
    """The REST API as JSON in and out. Thread-safe; the session is made at first use, and anew in a forked process.

    `endpoint` (`http://127.0.0.1:8086`) is for a simulated Cloud Run, without credentials.
    """

    def __init__(self, *, endpoint: str | None, timeout_seconds: float) -> None:
        self._base = endpoint or GOOGLE
        self._timeout = timeout_seconds
        self._session = HttpSession(SCOPE, anonymous=endpoint is not None)

    def get_service(self, name: str) -> Json:
        """The service's v2 JSON document; `name` is its full one.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        return self._call(lambda session: session.get(f"{self._base}/v2/{name}", timeout=self._timeout))

    def patch_service(self, name: str, update: RestUpdate, *, validate_only: bool) -> str:
        """Write the update; returns the operation's name.

        Raises:
            StaleEtag, RevisionNameTaken, QuotaRefused, Refused, ServiceMissing: nothing was written.
            Retry: not known to have been written.
        """
        parameters = {"updateMask": ",".join(update.mask)} | ({"validateOnly": "true"} if validate_only else {})
        answer = self._call(
            lambda session: session.patch(f"{self._base}/v2/{name}", params=parameters, json=update.body, timeout=self._timeout)
        )
        return str(answer.get("name", ""))

    def close(self) -> None:
        """Close the session; the next call opens a new one."""
        self._session.close()

    def _call(self, work: Callable[[requests.Session], requests.Response]) -> Json:
        try:
            response = work(self._session.connected())
        except requests.RequestException as error:
            raise Retry(bounded(f"Cloud Run's REST API: {error}"), after_seconds=UNAVAILABLE_RETRY_SECONDS) from error
        except FAILURES as error:
            raise no_token(error, after_seconds=UNAVAILABLE_RETRY_SECONDS) from error
        if not response.ok:
            raise classify(*_refusal(response))
        found = _json(response)
        if found is None:
            raise Retry("Cloud Run's REST API answered with no JSON object", after_seconds=UNAVAILABLE_RETRY_SECONDS)
        return found


def _json(response: requests.Response) -> Json | None:
    if len(response.content) > BODY_LIMIT_BYTES:
        return None
    try:
        found = response.json()
    except requests.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _refusal(response: requests.Response) -> tuple[str, str]:
    """The status' name and the text of Google's error body, field violations included; of any other body the HTTP status."""
    error: Any = (_json(response) or {}).get("error")
    if not isinstance(error, dict) or not isinstance(error.get("status"), str):
        return "UNKNOWN", f"HTTP {response.status_code}: {response.text[:500]}"
    texts = [str(error.get("message", ""))]
    for detail in error.get("details", []):
        for violation in detail.get("fieldViolations", []) if isinstance(detail, dict) else []:
            description = str(violation.get("description", ""))
            if description not in texts[0]:
                texts.append(f"{violation.get('field', '')}: {description}")
    return error["status"], " ".join(filter(None, texts))
