"""Facts that this instance knows to be stored: a repeat of one costs no remote operation."""

from collections import OrderedDict
from datetime import datetime, timedelta
from threading import Lock

from shared.ports import Clock

REMEMBERED = 20_000
"""At about 150 bytes each, some megabytes at most."""
REMEMBERED_FOR = timedelta(minutes=30)
"""Far below the time after which the store may delete a fact."""


class RecentFacts:
    """The keys of facts that the store has confirmed, created or found there; the newest are remembered. Thread-safe.

    It only ever saves a create that would have found a duplicate: the store's answer stays the one that counts.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._confirmed: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    def knows(self, subject: str, key: str) -> bool:
        """Whether the store has confirmed this fact not long ago."""
        with self._lock:
            confirmed_at = self._confirmed.get((subject, key))
            return confirmed_at is not None and self._clock.now() < confirmed_at + REMEMBERED_FOR

    def confirm(self, subject: str, key: str) -> None:
        """The store has it."""
        with self._lock:
            self._confirmed[subject, key] = self._clock.now()
            self._confirmed.move_to_end((subject, key))
            if len(self._confirmed) > REMEMBERED:
                self._confirmed.popitem(last=False)
