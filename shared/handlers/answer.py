"""From an HTTP request to a handler, and from what it came to, to the answer that delivery acts on.

Pub/Sub repeats whatever is not a success, 4xx included; so an event that can never work is parked and answered 200.
"""

import traceback
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol

from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from shared import log
from shared.errors import Park, Retry

ACK = 200
WRONG_METHOD = 405
BUG = 500
LATER = 503

Verdict = Literal["done", "duplicate", "ignored", "parked"]


class Handled(NamedTuple):
    """What became of an event. `key` names it in logs; all of it is for people, none of it is secret."""

    verdict: Verdict
    key: str
    detail: str = ""


class Request(Protocol):
    """What is used of Flask's request."""

    method: str

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers."""

    def get_data(self) -> bytes:
        """The body."""


ReadBody = Callable[[], bytes]
Handle = Callable[[Mapping[str, str], ReadBody], Handled]


def serve(function: str, request: Request, handle: Handle) -> tuple[str, int]:
    """Run a handler once and answer for it: done, duplicate, ignored and parked are 200, Retry is 503, a bug is 500."""
    if request.method != "POST":
        return "only POST is taken here\n", WRONG_METHOD
    try:
        handled = handle(request.headers, lambda: _read(request))
    except Retry as retry:
        log.event("WARNING", "will be tried again", function=function, reason=retry.reason, after_seconds=retry.after_seconds)
        return "later\n", LATER
    except Exception as bug:  # noqa: BLE001 (the last line of defence: a bug is logged with its place and repeated by delivery)
        where = "".join(traceback.format_exception(bug, limit=-8))
        log.event("ERROR", "bug", function=function, error=type(bug).__name__, where=where[-900:])
        return "bug\n", BUG
    log.event("INFO", handled.verdict, function=function, key=handled.key, detail=handled.detail)
    return f"{handled.verdict}\n", ACK


def _read(request: Request) -> bytes:
    """The body.

    Raises:
        Park: the server refuses to read it for its size; it would refuse again.
        Retry: the sender went away in the middle.
    """
    try:
        return request.get_data()
    except RequestEntityTooLarge:
        length = str(request.headers.get("Content-Length", "unknown"))[:20]
        raise Park("too-large", f"the body of {length} bytes is larger than the server reads; nothing of it was kept") from None
    except ClientDisconnected:
        raise Retry("the sender went away before the body was read") from None
