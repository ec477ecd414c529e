"""What an event was caused by, and what it causes, as W3C trace contexts: so that the trace of a wake leads to the alert behind it.

Only what watches a request sets anything here (`gcp/traces.py`); where traces are off nothing is read and nothing is sent. The name of
the attribute is the one that Google's Pub/Sub clients give and look for.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ATTRIBUTE: Final = "googclient_traceparent"

_around: ContextVar[tuple[str, Callable[[str], None]] | None] = ContextVar("_around", default=None)


@contextmanager
def within(traceparent: str, caused_by: Callable[[str], None]) -> Iterator[None]:
    """What is published inside, by this thread, is caused by `traceparent`; what the event was caused by is told to `caused_by`."""
    token = _around.set((traceparent, caused_by))
    try:
        yield
    finally:
        _around.reset(token)


def sent(attributes: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a message to publish, with what causes it where that is known."""
    around = _around.get()
    return dict(attributes) if around is None else {**attributes, ATTRIBUTE: around[0]}


def received(attributes: Mapping[str, str]) -> None:
    """Say by its attributes what the message was caused by."""
    around = _around.get()
    if around is not None and ATTRIBUTE in attributes:
        around[1](attributes[ATTRIBUTE])
