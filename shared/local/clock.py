"""Virtual time: a clock that stands until it is moved. One process only."""

from datetime import datetime, timedelta
from threading import Lock


class VirtualClock:
    """`ports.Clock` that a story moves forward. Thread-safe."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._lock = Lock()

    def now(self) -> datetime:
        """The virtual time."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> datetime:
        """Move it forward and return the new time."""
        with self._lock:
            self._now += timedelta(seconds=max(0.0, seconds))
            return self._now
