"""CRC-32C against published values and against Google's own implementation."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.tfserving.model_files_checksum import as_cloud_storage_writes, crc32c, from_cloud_storage, masked


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0x00000000),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published_values(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum
    assert crc32c(memoryview(data)) == checksum


def test_masked_as_at_the_start_of_every_event_file() -> None:
    """The first record of an event file of TensorBoard is 24 bytes long; its header is known from many dumps."""
    assert struct.pack("<I", masked(crc32c(struct.pack("<Q", 24)))).hex() == "a37f4b22"


@given(st.binary(max_size=500))
def test_as_googles_own(data: bytes) -> None:
    google_crc32c = pytest.importorskip("google_crc32c")
    assert crc32c(data) == google_crc32c.value(data)


def test_as_cloud_storage_writes_it() -> None:
    assert as_cloud_storage_writes(0xC99465AA) == "yZRlqg=="
    assert from_cloud_storage("yZRlqg==") == 0xC99465AA
    assert from_cloud_storage(as_cloud_storage_writes(0)) == 0


@pytest.mark.parametrize("text", ["", "yZRlqg", "yZRl", "yZRlqg==yZRlqg==", "no base64!", "é", "yZRl qg=="])
def test_a_text_that_says_no_checksum(text: str) -> None:
    assert from_cloud_storage(text) is None
