"""One call of a Google API as JSON in and out, bounded in time and in bytes. Nothing is repeated here."""

import json
import time
from collections.abc import Mapping
from typing import Any

import requests

from shared.errors import Refused, Retry
from shared.gcp.credentials import FAILURES, no_token
from shared.gcp.http_session import HttpSession

BODY_LIMIT_BYTES = 8_000_000
CONNECT_SHARE = 1 / 3
"""Of a call's time, for the connection; the answer must begin in the rest, so that both together stay within it."""
RETRY_SECONDS = 10.0
_CHUNK_BYTES = 2**18
_TEXT_SHOWN = 300
_MENDABLE = frozenset({408, 425, 429})
_NOT_ASKED_RIGHT = frozenset({400, 404})
_SERVER_ERRORS = 500


class NotThere(Refused):
    """The API answered 400 or 404: what was asked for is not there, or not known there. Another question may be answered."""


class JsonCalls:
    """Calls of one Google API. Thread-safe; the session is made at first use, and anew in a forked process.

    `endpoint` (`http://127.0.0.1:8086`) is for a simulated API, without credentials.
    """

    def __init__(self, base: str, scope: str, *, endpoint: str | None) -> None:
        self._base = endpoint or base
        self._session = HttpSession(scope, anonymous=endpoint is not None)

    def call(
        self,
        method: str,
        path: str,
        *,
        what: str,
        within_seconds: float,
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The answer's JSON object. `what` names the call in errors.

        Raises:
            Retry: no answer, not in time, or one that the world may mend.
            NotThere: 400 or 404.
            Refused: any other refusal; it may not be asked.
        """
        ends_at = time.monotonic() + within_seconds
        try:
            with self._session.connected().request(
                method,
                f"{self._base}{path}",
                params=parameters,
                json=body,
                timeout=(CONNECT_SHARE * within_seconds, (1 - CONNECT_SHARE) * within_seconds),
                stream=True,
            ) as response:
                status, raw = response.status_code, _read(response, what=what, ends_at=ends_at)
        except (requests.RequestException, OSError) as error:
            raise Retry(f"{what}: {str(error)[:_TEXT_SHOWN]}", after_seconds=RETRY_SECONDS) from error
        except FAILURES as error:
            raise no_token(error, what=what, after_seconds=RETRY_SECONDS) from error
        if status != requests.codes.ok:
            raise _answer(status, f"{what}: HTTP {status}: {_message(raw)}")
        found = _object(raw)
        if found is None:
            raise Retry(f"{what}: the answer is no JSON object of at most {BODY_LIMIT_BYTES} bytes", after_seconds=RETRY_SECONDS)
        return found

    def close(self) -> None:
        """Close the session; the next call opens a new one."""
        self._session.close()


def _read(response: requests.Response, *, what: str, ends_at: float) -> bytes:
    read = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        read += chunk
        if len(read) > BODY_LIMIT_BYTES:
            break
        if time.monotonic() > ends_at:
            raise Retry(f"{what}: not done in time", after_seconds=RETRY_SECONDS)
    return bytes(read)


def _answer(status: int, text: str) -> Retry | Refused:
    if status in _MENDABLE or status >= _SERVER_ERRORS:
        return Retry(text, after_seconds=RETRY_SECONDS)
    return NotThere(text) if status in _NOT_ASKED_RIGHT else Refused(text)


def _message(raw: bytes) -> str:
    """Google's own words where the body has them; Prometheus' form of an error has them as text."""
    error = (_object(raw) or {}).get("error")
    text = error.get("message") if isinstance(error, dict) else error if isinstance(error, str) else None
    return str(text if text is not None else raw[:_TEXT_SHOWN].decode(errors="replace"))[:_TEXT_SHOWN]


def _object(raw: bytes) -> dict[str, Any] | None:
    if len(raw) > BODY_LIMIT_BYTES:
        return None
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
