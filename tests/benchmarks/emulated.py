"""The Firestore and Pub/Sub emulators for the benchmarks, where their jars are there."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.support import emulators
from tests.support.emulators import FIRESTORE, PUBSUB, pubsub_publisher


@contextlib.contextmanager
def firestore_or_none() -> Iterator[str | None]:
    """Its `host:port`; None where it cannot be had."""
    with contextlib.ExitStack() as stack:
        host: str | None = None
        with contextlib.suppress(pytest.skip.Exception):
            host = stack.enter_context(emulators.running(FIRESTORE, emulators._firestore_answers))
        yield host


@contextlib.contextmanager
def pubsub_or_none(project: str, topic: str) -> Iterator[str | None]:
    """Its `host:port`, with the topic made; None where it cannot be had."""
    with contextlib.ExitStack() as stack:
        host: str | None = None
        with contextlib.suppress(pytest.skip.Exception):
            host = stack.enter_context(emulators.running(PUBSUB, emulators._pubsub_answers))
            publisher = pubsub_publisher(host)
            publisher.create_topic(name=f"projects/{project}/topics/{topic}", retry=None, timeout=10)
            publisher.transport.close()  # type: ignore[no-untyped-call]
        yield host
