"""CRC-32C (Castagnoli), as TensorFlow's records and tables and Cloud Storage's objects carry it.

In plain Python, some ten megabytes a second: what is checked here are blocks of an index and the head of a warm-up file. Weights are
never read; Cloud Storage has computed their checksums.
"""

import base64
import binascii
from functools import cache

_POLYNOMIAL = 0x82F63B78
"""0x1EDC6F41 with its bits reversed."""
_MASK_DELTA = 0xA282EAD8
_ALL_ONES = 0xFFFFFFFF
_CRC32C_BYTES = 4


@cache
def _table() -> tuple[int, ...]:
    values = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        values.append(value)
    return tuple(values)


def crc32c(data: bytes | memoryview) -> int:
    """The checksum of the bytes, 0 for none."""
    table = _table()
    value = _ALL_ONES
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ _ALL_ONES


def masked(checksum: int) -> int:
    """As TensorFlow stores it beside what it covers: rotated and shifted, so that checksums of checksums stay good (crc32c.h)."""
    return (((checksum >> 15) | (checksum << 17)) + _MASK_DELTA) & _ALL_ONES


def as_cloud_storage_writes(checksum: int) -> str:
    """The text in an object's `crc32c`: base64 of the four bytes, highest first."""
    return base64.b64encode(checksum.to_bytes(_CRC32C_BYTES, "big")).decode()


def from_cloud_storage(text: str) -> int | None:
    """The checksum that an object's `crc32c` says, None where the text says none."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return int.from_bytes(decoded, "big") if len(decoded) == _CRC32C_BYTES else None
