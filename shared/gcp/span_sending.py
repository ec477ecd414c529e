"""Hands the spans of requests to an exporter, in a thread of its own: a request waits for it so long and no longer.

No library gives that bound: an exporter's timeout is one of each socket operation, and credentials are fetched with timeouts of their
own. What several requests hand over while one batch is under way goes as one batch after it.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from opentelemetry.sdk.trace import ReadableSpan

from shared import log

SEND_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 60.0
BATCHES_WAITING: Final = 64


class SpanSender(Protocol):
    """Sends spans somewhere. It may take any time and fail in any way."""

    def send(self, spans: Sequence[ReadableSpan]) -> str:
        """Send them; returns what went wrong in a few words, empty if nothing."""


class _Batch(NamedTuple):
    spans: Sequence[ReadableSpan]
    sent: threading.Event


class Sending:
    """The thread, started with the first batch. After a failure, and while one batch takes too long, spans are dropped. Thread-safe."""

    def __init__(
        self, connect: Callable[[], SpanSender], monotonic_seconds: Callable[[], float], *, wait_seconds: float = SEND_SECONDS
    ) -> None:
        """`connect` makes the sender, in the thread; it is called again after it has failed."""
        self._connect = connect
        self._seconds = monotonic_seconds
        self._wait_seconds = wait_seconds
        self._queue: queue.Queue[_Batch] = queue.Queue(BATCHES_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._silent_until = float("-inf")

    def hand_over(self, spans: Sequence[ReadableSpan]) -> None:
        """Have them sent, and wait for that as long as is allowed. They may be dropped."""
        batch = _Batch(spans, threading.Event())
        with self._lock:
            if self._seconds() < self._silent_until:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="spans", daemon=True)
                thread.start()
                self._thread = thread  # only now: where it could not be started, the next request tries again
            try:
                self._queue.put_nowait(batch)
            except queue.Full:
                return
        if not batch.sent.wait(self._wait_seconds):
            self._fall_silent(f"not sent within {self._wait_seconds:g} seconds")

    def _fall_silent(self, problem: str) -> None:
        """Once for all that wait."""
        with self._lock:
            now = self._seconds()
            if now < self._silent_until:
                return
            self._silent_until = now + PAUSE_SECONDS
        log.event("WARNING", "traces", problem=problem, dropped_for_seconds=PAUSE_SECONDS)

    def _run(self) -> None:
        sender: SpanSender | None = None
        while True:
            batches = [self._queue.get(), *self._waiting()]
            try:
                sender = sender or self._connect()
                problem = sender.send([span for batch in batches for span in batch.spans])
            except Exception as error:  # noqa: BLE001 (the thread must live; the text of an error may come from outside)
                problem = type(error).__name__
            if problem:
                self._fall_silent(problem)
            for batch in batches:
                batch.sent.set()

    def _waiting(self) -> list[_Batch]:
        found: list[_Batch] = []
        while True:
            try:
                found.append(self._queue.get_nowait())
            except queue.Empty:
                return found
