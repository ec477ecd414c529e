"""Reading calls of many Google APIs for one look at a project: what was refused or did not answer is a `NotSeen`, never an error.

Each call has a time limit of its own, and all together have one. `endpoint` is for stand-ins of all APIs on this machine: the API's host is
the first part of the path there.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.doctor.picture import NotSeen
from shared.errors import Refused, Retry
from shared.gcp.credentials import NoToken
from shared.gcp.json_calls import JsonCalls, NotThere

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
CALL_SECONDS = 10.0
WORK_SECONDS = 90.0
PAGES_LIMIT = 50
_OFF = ("has not been used in project", "is disabled", "SERVICE_DISABLED")
"""What Google's refusal says where an API is off; then no permission is missing."""


class NoCredentialsError(Exception):
    """There is no token for any call, so nothing can be looked at; `mend` is what helps."""

    def __init__(self, text: str, mend: str) -> None:
        super().__init__(text)
        self.mend = mend


@dataclass(frozen=True, slots=True)
class Absent:
    """Google answered that there is no such thing."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an API: its name in Google's reference, its host and version, and the permission that it takes."""

    name: str
    host: str
    version: str
    permission: str
    verb: str = "GET"


class ProjectCalls:
    """Thread-safe."""

    def __init__(self, *, endpoint: str | None = None, work_seconds: float = WORK_SECONDS) -> None:
        self._endpoint = endpoint
        self._ends_at = time.monotonic() + work_seconds
        self._work_seconds = work_seconds
        self._calls: dict[str, JsonCalls] = {}

    def ask(
        self, method: Method, path: str, *, parameters: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | Absent | NotSeen:
        """The answer's JSON object. `body` is for a method that is a POST.

        Raises:
            NoCredentialsError: there is no token for it.
        """
        left = self._ends_at - time.monotonic()
        if left <= 0:
            return NotSeen(f"{method.name}: not asked, because the calls before it took {self._work_seconds:.0f} s")
        try:
            return self._of(method.host).call(
                method.verb,
                f"/{method.version}/{path}",
                what=method.name,
                within_seconds=min(left, CALL_SECONDS),
                parameters=parameters,
                body=(body or {}) if method.verb == "POST" else None,
            )
        except NotThere as error:
            return Absent() if ": HTTP 404" in str(error) else NotSeen(str(error))
        except Refused as error:
            text = str(error)
            return NotSeen(text, None if any(words in text for words in _OFF) else method.permission)
        except NoToken as error:
            raise NoCredentialsError(str(error), error.lack.mend) from error
        except Retry as error:
            return NotSeen(str(error))

    def listed(
        self, method: Method, path: str, key: str, *, parameters: Mapping[str, str] | None = None
    ) -> list[Mapping[str, Any]] | NotSeen:
        """All pages of a listing.

        Raises:
            NoCredentialsError: there is no token for it.
        """
        found: list[Mapping[str, Any]] = []
        token = ""
        for _ in range(PAGES_LIMIT):
            answer = self.ask(method, path, parameters={**(parameters or {}), **({"pageToken": token} if token else {})})
            if isinstance(answer, Absent):
                return NotSeen(f"{method.name}: HTTP 404: there is no {path}")
            if isinstance(answer, NotSeen):
                return answer
            items = answer.get(key, [])
            if not isinstance(items, list):
                return NotSeen(f"{method.name}: the answer is not as documented: {key} is no list")
            found += [item for item in items if isinstance(item, Mapping)]
            unreachable = answer.get("unreachable")
            if unreachable:
                return NotSeen(f"{method.name}: these locations did not answer: {', '.join(map(str, unreachable))[:300]}")
            token = str(answer.get("nextPageToken") or "")
            if not token:
                return found
        return NotSeen(f"{method.name}: more than {PAGES_LIMIT} pages")

    def close(self) -> None:
        """Close all sessions."""
        for calls in self._calls.values():
            calls.close()

    def _of(self, host: str) -> JsonCalls:
        if host not in self._calls:
            endpoint = None if self._endpoint is None else f"{self._endpoint}/{host}"
            self._calls[host] = JsonCalls(f"https://{host}", SCOPE, endpoint=endpoint)
        return self._calls[host]
