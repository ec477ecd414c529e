"""The real sources of time and of identifiers; everything else takes them as arguments."""

import secrets
from datetime import UTC, datetime

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: sorts as it counts, and nobody mistakes one character for another."""


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """The time now."""
        return datetime.now(UTC)


def time_ordered_id(milliseconds: int, chance: int) -> str:
    """48 bits of time and 80 bits of chance as 26 characters (the form of a ULID): ids sort by time."""
    number = (milliseconds & (2**48 - 1)) << 80 | (chance & (2**80 - 1))
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


class SystemIds:
    """Identifiers from the clock it is given and the system's randomness."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock

    def new_id(self) -> str:
        """A fresh identifier."""
        return time_ordered_id(int(self._clock.now().timestamp() * 1000), secrets.randbits(80))
