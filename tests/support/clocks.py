"""A clock that stands until it is moved."""

import threading
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class HandClock:
    """`ports.Clock` moved by hand; thread-safe."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> datetime:
        """Move it (backwards, too) and return the new time."""
        with self._lock:
            self._now += timedelta(seconds=seconds)
            return self._now

    def move_to(self, moment: datetime) -> None:
        """Set it."""
        with self._lock:
            self._now = moment
