"""The trace that a request lies in, from message to message (W3C trace context): the trace of a look leads to the alert behind it.

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
def within(traceparent: str, came_from: Callable[[str], None]) -> Iterator[None]:
    """What is published inside, by this thread, carries `traceparent`; what the event itself carried is told to `came_from`."""
    token = _around.set((traceparent, came_from))
    try:
        yield
    finally:
        _around.reset(token)


def sent(attributes: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a message to publish, with the trace around them, where there is one."""
    around = _around.get()
    return {**attributes, ATTRIBUTE: around[0]} if around is not None and around[0] else dict(attributes)


def received(attributes: Mapping[str, str]) -> None:
    """Say by the attributes of a message which trace it was published in."""
    around = _around.get()
    if around is not None and ATTRIBUTE in attributes:
        around[1](attributes[ATTRIBUTE])
