"""variables.index: what it says of the data files, and what TensorFlow says of a broken one."""

import struct

import pytest

from shared.tfserving.model_files_index import (
    VariablesIndex,
    VariablesIndexError,
    read_index,
    shard_path,
    shards_by_name,
)
from tests.support.saved_models import block, bundle_entry, bundle_header, masked_crc32c, number, part, table, variables_index, varint


def refused(data: bytes) -> str:
    with pytest.raises(VariablesIndexError) as error:
        read_index(data)
    return error.value.text


def with_header(*entries: bytes, header: bytes | None = None) -> bytes:
    first = bundle_header(1) if header is None else header
    return table([(b"", first), *((f"v{at:04}".encode(), value) for at, value in enumerate(entries))])


def test_how_many_bytes_each_data_file_needs() -> None:
    index = variables_index([(0, 0, 64), (0, 64, 32), (1, 128, 4), (1, 0, 128)], num_shards=3)
    assert read_index(index) == VariablesIndex(num_shards=3, shard_bytes=(96, 132, 0), entries=4)


def test_many_variables_in_many_blocks() -> None:
    index = variables_index([(0, 4 * at, 4) for at in range(100)], entries_in_block=7)
    assert read_index(index) == VariablesIndex(num_shards=1, shard_bytes=(400,), entries=100)


def test_bytes_put_together_by_hand() -> None:
    """One block with the header alone, the empty block of meta blocks, the block of handles, the footer."""
    header = bytes.fromhex("0000020801" + "00000000" + "01000000" + "00")
    index = table([(b"", b"\x08\x01")])
    assert index.startswith(header)
    assert len(index) == (len(header) + 4) + (8 + 5) + (len(varint(0) + varint(13)) + 3 + 8 + 5) + 48
    assert read_index(index) == VariablesIndex(num_shards=1, shard_bytes=(0,), entries=0)


def test_a_variable_in_parts_lies_where_its_parts_lie() -> None:
    whole = number(1, 1) + number(3, 7) + number(4, 999) + number(5, 999) + part(7, part(1, number(1, 2)))
    assert read_index(with_header(whole, bundle_entry(0, 0, 8))) == VariablesIndex(1, (8,), 2)


def test_a_compressed_table_is_not_looked_into() -> None:
    assert read_index(table([(b"", bundle_header(1))], compression=1)) is None


def test_too_many_entries_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.tfserving.model_files_index.MAX_ENTRIES", 10)
    assert read_index(with_header(*[b""] * 9)) == VariablesIndex(1, (0,), 9)
    assert read_index(with_header(*[b""] * 10)) is None


def test_an_entry_too_large_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.tfserving.model_files_index.MAX_ENTRY_BYTES", 100)
    assert read_index(with_header(part(7, bytes(98)))) == VariablesIndex(1, (0,), 1)
    assert read_index(with_header(part(7, bytes(99)))) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "file is too short to be an sstable"),
        (variables_index()[:47], "file is too short to be an sstable"),
        (variables_index()[:-1], "not an sstable (bad magic number)"),
        (variables_index()[:60], "not an sstable (bad magic number)"),
        (variables_index()[1:], "block checksum mismatch"),
        (variables_index()[:10] + b"\xff" + variables_index()[11:], "block checksum mismatch"),
        (variables_index()[-48:], "truncated block read"),
        (b"\xff" * 40 + variables_index()[-8:], "bad block handle"),
        (table([(b"", bundle_header(1))], compression=2), "bad block type"),
        (table([]), "failed to seek to header entry"),
        (table([(b"v", bundle_header(1))]), "failed to seek to header entry"),
        (table([(b"", bundle_header(1)), (b"", bundle_entry(0, 0, 4))]), "failed to seek to header entry"),
        (with_header(header=b"\x08"), "unable to parse header"),
        (with_header(header=b""), "the header names 0 data files"),
        (with_header(header=bundle_header(-1)), "the header names -1 data files"),
        (with_header(header=bundle_header(10_001)), "the header names 10001 data files"),
        (with_header(b"\x18"), "Entry for key not parseable."),
        (with_header(bundle_entry(1, 0, 4)), "an entry lies in data file 1 of 1 at byte 0, 4 bytes long"),
        (with_header(number(4, -1) + number(5, 4)), "an entry lies in data file 0 of 1 at byte -1, 4 bytes long"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)} bytes",
)
def test_what_tensorflow_says_of_a_broken_index(data: bytes, text: str) -> None:
    assert refused(data) == text


def table_of(blocks: bytes, handles: bytes) -> bytes:
    """A table of finished blocks; the block of meta blocks is the block of handles too, nobody reads it."""
    place = varint(len(blocks)) + varint(len(handles) - 5)
    return blocks + handles + (place + place).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "bad block contents"),
        (bytes(4), "failed to seek to header entry"),
        (b"\xff\xff\xff\x7f", "bad block contents"),
        (b"\x01\x00\x00" + b"\0\0\0\0\x01\0\0\0", "bad entry in block"),
        (b"\x00\x00\x09" + b"\0\0\0\0\x01\0\0\0", "bad entry in block"),
        (b"\x80" + b"\0\0\0\0\x01\0\0\0", "bad entry in block"),
    ],
)
def test_a_block_with_a_right_checksum_that_is_none(body: bytes, text: str) -> None:
    handles = block([(b"x", varint(0) + varint(len(body)))])
    assert refused(table_of(body + b"\0" + masked_crc32c(body + b"\0"), handles)) == text


def test_handles_that_all_name_one_block_are_not_followed() -> None:
    header = block([(b"", bundle_header(1))])
    data = block([(f"v{at:04}".encode(), bundle_entry(0, 0, 4)) for at in range(200)])
    places = [varint(0) + varint(len(header) - 5)] + [varint(len(header)) + varint(len(data) - 5)] * 500
    handles = block([(f"{at:04}".encode(), place) for at, place in enumerate(places)])
    assert refused(table_of(header + data, handles)) == "blocks of the table lie one over the other"


def test_names_of_data_files() -> None:
    assert shard_path(3, 12) == "variables/variables.data-00003-of-00012"
    assert shards_by_name("variables/variables.data-00003-of-00012") == (3, 12)


@pytest.mark.parametrize(
    "path",
    [
        "variables/variables.index",
        "variables/variables.data-3-of-12",
        "variables/variables.data-00012-of-00012",
        "variables/variables.data-00000-of-00000",
        "variables/variables.data-00003-of-00012.tmp",
        "other/variables.data-00003-of-00012",
    ],
)
def test_other_names(path: str) -> None:
    assert shards_by_name(path) is None
