"""The protobuf wire format, one level at a time and without copies: for messages too large to be unpacked.

A hostile message of a few megabytes can unpack to gigabytes, because an empty message takes two bytes on the wire. Here nothing is
unpacked: the caller steps over what it does not want, and every step is counted against a budget.
"""

from collections.abc import Iterator

from shared.errors import TrimtabError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_BYTES = 10


class WireError(TrimtabError):
    """The bytes are no protobuf message, or not a whole one."""


class BudgetSpentError(TrimtabError):
    """The message has more fields than anybody wants to walk over."""


class Budget:
    """How many fields may still be stepped over, all messages of one file together."""

    def __init__(self, fields: int) -> None:
        self._left = fields

    def spend(self) -> None:
        """Count one field.

        Raises:
            BudgetSpentError: none is left.
        """
        if self._left <= 0:
            raise BudgetSpentError("the message has too many fields to be walked over")
        self._left -= 1


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number of up to 64 bits and the place behind it.

    Raises:
        WireError: the bytes end inside the number, or it is longer than ten bytes.
    """
    value = 0
    for count in range(_MAX_VARINT_BYTES):
        if at + count >= len(data):
            raise WireError(f"the message ends inside a number at byte {at}")
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:  # noqa: PLR2004 (the bit that says: more follows)
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + count + 1
    raise WireError(f"a number at byte {at} is longer than {_MAX_VARINT_BYTES} bytes")


def fields(message: memoryview, budget: Budget) -> Iterator[tuple[int, int | memoryview]]:
    """The fields in their order on the wire: number, and the value as a number or as its bytes.

    Raises:
        WireError: this level is no whole message. What lies deeper is not looked at.
        BudgetSpentError: there are too many.
    """
    at, end = 0, len(message)
    while at < end:
        budget.spend()
        tag, at = read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise WireError(f"field number 0 at byte {at}")
        if kind == VARINT:
            value, at = read_varint(message, at)
            yield number, value
            continue
        if kind == BYTES:
            size, at = read_varint(message, at)
        elif kind in _FIXED_BYTES:
            size = _FIXED_BYTES[kind]
        else:
            raise WireError(f"wire type {kind} at byte {at}")
        if size > end - at:
            raise WireError(f"field {number} takes {size} bytes, and {end - at} are left")
        yield number, message[at : at + size]
        at += size
