"""variables/variables.index: the table that says where in which data file each variable's value lies.

The format is LevelDB's sorted table, as TensorFlow's table.cc, format.cc and block.cc read it: blocks of prefix-compressed entries,
each block with a type and a masked CRC-32C behind it, a block of block handles, and a footer of 48 bytes with a magic number. The
first entry, with the empty key, is a BundleHeaderProto; every other one is a BundleEntryProto (tensor_bundle.proto).

TensorFlow writes this table uncompressed. One with a compressed block is not looked into.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from shared.errors import TrimtabError
from shared.tfserving.descriptors import model_message_class
from shared.tfserving.model_files_checksum import crc32c, masked
from shared.tfserving.model_files_wire import WireError, read_varint

MAX_ENTRIES = 200_000
"""More variables than this are not looked into."""
MAX_ENTRY_BYTES = 2**20
MAX_SHARDS = 10_000
"""More data files than this are not believed in: a version has fewer files."""

_FOOTER_BYTES = 48
_TRAILER_BYTES = 5
_MAGIC = 0xDB4775248B80FB57
_NO_COMPRESSION, _SNAPPY = 0, 1
_SHARD = re.compile(r"variables/variables\.data-([0-9]{5})-of-([0-9]{5})")


class VariablesIndexError(TrimtabError):
    """TensorFlow would not read the index. `text` is what it says."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _NotLookedIntoError(TrimtabError):
    """The index may be right, and is more than is looked into here."""


@dataclass(frozen=True, slots=True)
class VariablesIndex:
    """What the index says of the data files: how many there are, and how many bytes each must have at least, by its number.

    `entries` is the number of values. TensorFlow 2 writes one more than there are variables: the graph of the objects.
    """

    num_shards: int
    shard_bytes: tuple[int, ...]
    entries: int


def shard_path(shard: int, num_shards: int) -> str:
    """The path of a data file in its version."""
    return f"variables/variables.data-{shard:05}-of-{num_shards:05}"


def shards_by_name(path: str) -> tuple[int, int] | None:
    """The number of a data file and how many there are, by its path; None for any other file."""
    found = _SHARD.fullmatch(path)
    if not found or int(found[1]) >= int(found[2]):
        return None
    return int(found[1]), int(found[2])


def read_index(data: bytes) -> VariablesIndex | None:
    """Read the whole index; None where it is compressed or has too many entries to be looked into.

    Raises:
        VariablesIndexError: TensorFlow would refuse it when the version loads, or would look for data files that cannot exist.
    """
    try:
        return _read(memoryview(data))
    except _NotLookedIntoError:
        return None
    except WireError:
        raise VariablesIndexError("bad entry in block") from None


def _read(data: memoryview) -> VariablesIndex:
    if len(data) < _FOOTER_BYTES:
        raise VariablesIndexError("file is too short to be an sstable")
    footer = data[-_FOOTER_BYTES:]
    if struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
        raise VariablesIndexError("not an sstable (bad magic number)")
    try:
        _, at = _handle(footer, 0)
        blocks, _ = _handle(footer, at)
    except WireError:
        raise VariablesIndexError("bad block handle") from None
    left = len(data)
    values: list[memoryview] = []
    for _, handle in _entries(_block(data, blocks)):
        place, _ = _handle(handle, 0)
        left -= place[1]
        if left < 0:
            raise VariablesIndexError("blocks of the table lie one over the other")
        for key_bytes, value in _entries(_block(data, place)):
            if (key_bytes == 0) != (not values):
                raise VariablesIndexError("failed to seek to header entry")
            values.append(value)
            if len(values) > MAX_ENTRIES:
                raise _NotLookedIntoError
    if not values:
        raise VariablesIndexError("failed to seek to header entry")
    return _shards(values)


def _handle(data: memoryview, at: int) -> tuple[tuple[int, int], int]:
    """Offset and size of a block, and the place behind the handle."""
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def _block(data: memoryview, place: tuple[int, int]) -> memoryview:
    offset, size = place
    if offset + size + _TRAILER_BYTES > len(data):
        raise VariablesIndexError("truncated block read")
    covered = data[offset : offset + size + 1]
    if struct.unpack("<I", data[offset + size + 1 : offset + size + _TRAILER_BYTES])[0] != masked(crc32c(covered)):
        raise VariablesIndexError("block checksum mismatch")
    if covered[size] == _SNAPPY:
        raise _NotLookedIntoError
    if covered[size] != _NO_COMPRESSION:
        raise VariablesIndexError("bad block type")
    return covered[:size]


def _entries(block: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The length of each key, and the value. The keys themselves are not needed, so they are never put together."""
    if len(block) < 4:  # noqa: PLR2004 (the number of restart points)
        raise VariablesIndexError("bad block contents")
    end = len(block) - 4 * (1 + struct.unpack("<I", block[-4:])[0])
    if end < 0:
        raise VariablesIndexError("bad block contents")
    at, key_bytes = 0, 0
    while at < end:
        shared, at = read_varint(block, at)
        added, at = read_varint(block, at)
        value_bytes, at = read_varint(block, at)
        if shared > key_bytes or added + value_bytes > end - at:
            raise VariablesIndexError("bad entry in block")
        key_bytes = shared + added
        at += added
        yield key_bytes, block[at : at + value_bytes]
        at += value_bytes


def _shards(values: list[memoryview]) -> VariablesIndex:
    header = _message("tensorflow.BundleHeaderProto", values[0], "unable to parse header")
    if not 1 <= header.num_shards <= MAX_SHARDS:
        raise VariablesIndexError(f"the header names {header.num_shards} data files")
    shard_bytes = [0] * header.num_shards
    for value in values[1:]:
        entry = _message("tensorflow.BundleEntryProto", value, "Entry for key not parseable.")
        if entry.slices:
            continue  # a variable in parts: each part has an entry of its own
        if not 0 <= entry.shard_id < header.num_shards or entry.offset < 0 or entry.size < 0:
            raise VariablesIndexError(
                f"an entry lies in data file {entry.shard_id} of {header.num_shards} at byte {entry.offset}, {entry.size} bytes long"
            )
        shard_bytes[entry.shard_id] = max(shard_bytes[entry.shard_id], entry.offset + entry.size)
    return VariablesIndex(header.num_shards, tuple(shard_bytes), len(values) - 1)


def _message(name: str, value: memoryview, refusal: str) -> Any:
    if len(value) > MAX_ENTRY_BYTES:
        raise _NotLookedIntoError
    message = model_message_class(name)()
    try:
        message.ParseFromString(bytes(value))
    except DecodeError:
        raise VariablesIndexError(refusal) from None
    return message
