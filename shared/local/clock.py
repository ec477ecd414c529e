"""Virtual time: a clock that stands until it is moved, and identifiers that go by it. One process only."""

import random
from datetime import datetime, timedelta
from threading import Lock

from shared.clock import time_ordered_id


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


class SeededIds:
    """Identifiers that are the same in every run, and that sort as they were made though the clock stands still."""

    def __init__(self, clock: VirtualClock, seed: int = 7) -> None:
        self._clock = clock
        self._chance = random.Random(seed)  # noqa: S311 (a story that is told the same way every time, no secret)
        self._last = (0, 0)

    def new_id(self) -> str:
        """The next identifier; within a millisecond the last one and one more, as the form of a ULID has it."""
        milliseconds = int(self._clock.now().timestamp() * 1000)
        last_milliseconds, last_chance = self._last
        chance = last_chance + 1 if milliseconds == last_milliseconds else self._chance.getrandbits(79)
        self._last = (milliseconds, chance)
        return time_ordered_id(milliseconds, chance)
