"""A storm of events needs few wakes: each one folds all facts there are, and the schedule finds what is left."""

from collections import OrderedDict
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from shared.ports import Clock

BURST = 5
"""So many wakes of one subject go out at once from one instance."""
PER_SECOND = 0.2
"""And so many more per second; what is held back costs at most one tick. A look takes a second or two, most of it waiting for the
facts' order to settle: more wakes than this would only race each other through the same facts."""
SUBJECTS_REMEMBERED = 2_000


class _Bucket(NamedTuple):
    tokens: float
    at: datetime


class WakeLimiter:
    """A token bucket per subject, kept by one instance; forgetting it costs a few wakes more, nothing else."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, subject: str) -> bool:
        """Take one wake's worth for the subject, if there is any."""
        now = self._clock.now()
        with self._lock:
            bucket = self._buckets.pop(subject, _Bucket(BURST, now))
            elapsed = max(0.0, (now - bucket.at).total_seconds())
            tokens = min(float(BURST), bucket.tokens + elapsed * PER_SECOND)
            allowed = tokens >= 1
            self._buckets[subject] = _Bucket(tokens - 1 if allowed else tokens, now)
            if len(self._buckets) > SUBJECTS_REMEMBERED:
                self._buckets.popitem(last=False)
            return allowed

    def give_back(self, subject: str) -> None:
        """The wake was not published after all: its repeat must not find the bucket empty."""
        with self._lock:
            bucket = self._buckets.get(subject)
            if bucket is not None:
                self._buckets[subject] = _Bucket(min(float(BURST), bucket.tokens + 1), bucket.at)
