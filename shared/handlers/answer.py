"""From an HTTP request to a handler, and from what it came to, to the answer that delivery acts on.

Pub/Sub repeats whatever is not a success, 4xx included; so an event that can never work is parked and answered 200.
"""

import io
import json
import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from shared import log
from shared.errors import Park, Retry

ACK = 200
WRONG_METHOD = 405
BUG = 500
LATER = 503

BUG_TEXT_LIMIT = 300
"""So much of a bug's own text is logged: it may repeat what an event said."""

GONE = "the sender went away before the body was read"

Verdict = Literal["done", "duplicate", "ignored", "parked", "refused", "forbidden", "superseded", "later"]
"""The last four are told to callers over HTTPS only: Pub/Sub's events are parked, or tried again."""


class Handled(NamedTuple):
    """What became of an event. `key` names it in logs; all of it is for people, none of it is secret."""

    verdict: Verdict
    key: str
    detail: str = ""


class Reply(NamedTuple):
    """What a caller over HTTPS is told: a status and an object for JSON; `handled` is for the log."""

    status: int
    content: Mapping[str, Any]
    handled: Handled
    retry_after_seconds: float | None = None


class Headers(Protocol):
    """What is used of Flask's headers, which are no mapping."""

    def get(self, key: str, default: str, /) -> str:
        """One header, its name without regard to case."""

    def items(self) -> Iterable[tuple[str, str]]:
        """All headers."""


class Request(Protocol):
    """What is used of Flask's request."""

    method: str

    @property
    def headers(self) -> Headers:
        """The HTTP headers."""

    def get_data(self) -> bytes:
        """The body."""


class Told(Protocol):
    """What a request came to, for who watches it: nothing of it is secret."""

    def __call__(self, verdict: str, status: int, key: str, /) -> None:
        """Say it: the verdict, the HTTP status, and the key that the log names the event by."""


Watch = Callable[[str, Headers], AbstractContextManager[Told]]
"""Watches a request of a function from outside, by its headers."""
ReadBody = Callable[[], bytes]
Handle = Callable[[Mapping[str, str], ReadBody], Handled]


Answer = tuple[str, int, dict[str, str]]
_Result = TypeVar("_Result")
_PLAIN = {"Content-Type": "text/plain; charset=utf-8"}


@contextmanager
def _watched(watch: Watch, function: str, request: Request) -> Iterator[Told]:
    """Watch a request; whatever goes wrong in watching it, the request goes on. A request that is no event is not watched."""
    if request.method != "POST":
        yield _to_nobody
        return
    with ExitStack() as stack:
        told: Told = _to_nobody
        try:
            watching = watch(function, request.headers)
            told = watching.__enter__()
            stack.callback(_unfailing, function, lambda: watching.__exit__(None, None, None))
        except Exception as error:  # noqa: BLE001 (who watches must not decide what becomes of an event)
            _not_watched(function, error)
        yield lambda verdict, status, key: _unfailing(function, lambda: told(verdict, status, key))


def _unfailing(function: str, step: Callable[[], object]) -> None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 (the same)
        _not_watched(function, error)


def _not_watched(function: str, error: Exception) -> None:
    """Its kind and its place; its text may come from outside."""
    log.event("WARNING", "traces", problem="a request was not watched", function=function, error=type(error).__name__, where=_where(error))


def _to_nobody(_verdict: str, _status: int, _key: str, /) -> None:
    """Nobody watches."""


@contextmanager
def unwatched(_function: str, _headers: Headers, /) -> Iterator[Told]:
    """Nobody watches."""
    yield _to_nobody


def serve(function: str, request: Request, handle: Handle, watch: Watch = unwatched) -> tuple[str, int]:
    """Run a handler once and answer for it: done, duplicate, ignored and parked are 200, Retry is 503, a bug is 500."""
    with _watched(watch, function, request) as told:
        result = _run(function, request, handle)
        text, status = _acknowledged(function, result) if isinstance(result, Handled) else (result.text, result.status)
        told(result.verdict, status, result.key)
    return text, status


def serve_callers(
    function: str, request: Request, handle: Callable[[Mapping[str, str], ReadBody], Handled | Reply], watch: Watch = unwatched
) -> Answer:
    """As `serve`, for a function that people and scripts call as well: a `Reply` is answered as JSON with its own status."""
    with _watched(watch, function, request) as told:
        result = _run(function, request, handle)
        if isinstance(result, Reply):
            told(result.handled.verdict, result.status, result.handled.key)
            return _told(function, result)
        text, status = _acknowledged(function, result) if isinstance(result, Handled) else (result.text, result.status)
        told(result.verdict, status, result.key)
    return text, status, _PLAIN


class _Nothing(NamedTuple):
    """The answer where a handler came to nothing."""

    verdict: str
    text: str
    status: int
    key: str = ""


def _run(function: str, request: Request, handle: Callable[[Mapping[str, str], ReadBody], _Result]) -> _Result | _Nothing:
    """What the handler came to, or the answer where it came to nothing."""
    if request.method != "POST":
        return _Nothing("refused", "only POST is taken here\n", WRONG_METHOD)
    try:
        return handle(dict(request.headers.items()), lambda: _read(request))
    except Retry as retry:
        key, after = _key(retry), retry.after_seconds
        log.event("WARNING", "will be tried again", function=function, key=key, reason=retry.reason, after_seconds=after)
        return _Nothing("later", "later\n", LATER, key)
    except Exception as bug:  # noqa: BLE001 (the last line of defence: a bug is logged with its place and repeated by delivery)
        text, key = str(bug)[:BUG_TEXT_LIMIT], _key(bug)
        log.event("ERROR", "bug", function=function, key=key, error=type(bug).__name__, text=text, where=_where(bug))
        return _Nothing("bug", "bug\n", BUG, key)


def _acknowledged(function: str, handled: Handled) -> tuple[str, int]:
    log.event(
        "WARNING" if handled.verdict == "parked" else "INFO", handled.verdict, function=function, key=handled.key, detail=handled.detail
    )
    return f"{handled.verdict}\n", ACK


def _told(function: str, reply: Reply) -> Answer:
    handled = reply.handled
    severity: Literal["INFO", "WARNING"] = "INFO" if reply.status == ACK else "WARNING"
    log.event(severity, handled.verdict, function=function, key=handled.key, detail=handled.detail, status=reply.status)
    headers = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    if reply.retry_after_seconds is not None:
        headers["Retry-After"] = str(math.ceil(reply.retry_after_seconds))
    return json.dumps(reply.content) + "\n", reply.status, headers


def _read(request: Request) -> bytes:
    """The body.

    Raises:
        Park: the server refuses to read it for its size; it would refuse again.
        Retry: the sender went away in the middle. Some servers say so, others (gunicorn) hand over what had come until then.
    """
    length = request.headers.get("Content-Length", "unknown")[:20]
    try:
        body = request.get_data()
    except RequestEntityTooLarge:
        _leave_unread(request)
        raise Park("too-large", f"the body of {length} bytes is larger than the server reads; nothing of it was kept") from None
    except ClientDisconnected:
        _leave_unread(request)
        raise Retry(GONE) from None
    chunked = request.headers.get("Transfer-Encoding", "")
    if not chunked and length.isascii() and length.isdecimal() and len(body) < int(length):
        raise Retry(GONE)
    return body


def _leave_unread(request: Request) -> None:
    """functions-framework reads the body once more after the answer is made: what failed must not fail there again."""
    vars(request)["stream"] = io.BytesIO()


def _key(failure: BaseException) -> str:
    """What the intake knew of the event when it failed."""
    return ", ".join(getattr(failure, "__notes__", ()))


def _where(bug: BaseException) -> str:
    """The innermost places, the last one first; no text of the error is in it."""
    frames = traceback.extract_tb(bug.__traceback__, limit=-8)
    return " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
