"""Stepping over protobuf messages without unpacking them."""

import pytest

from shared.tfserving.model_files_wire import Budget, BudgetSpentError, WireError, fields, read_varint


def test_fields_in_their_order() -> None:
    data = memoryview(b"\x08\x96\x01" + b"\x12\x02ab" + b"\x1d\x01\x02\x03\x04" + b"\x21\x01\x02\x03\x04\x05\x06\x07\x08" + b"\xfa\x01\x00")
    assert list(fields(data, Budget(5))) == [(1, 150), (2, b"ab"), (3, b"\x01\x02\x03\x04"), (4, bytes(range(1, 9))), (31, b"")]


def test_numbers() -> None:
    assert read_varint(b"\x00", 0) == (0, 1)
    assert read_varint(b"x\xac\x02y", 1) == (300, 3)
    assert read_varint(b"\xff" * 9 + b"\x01", 0) == (2**64 - 1, 10)
    assert read_varint(b"\xff" * 9 + b"\x7f", 0) == (2**64 - 1, 10), "what does not fit 64 bits is cut off, as protobuf does"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x08", "the message ends inside a number at byte 1"),
        (b"\x80", "the message ends inside a number at byte 0"),
        (b"\xff" * 11, "a number at byte 0 is longer than 10 bytes"),
        (b"\x12\x03ab", "field 2 takes 3 bytes, and 2 are left"),
        (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "field 2 takes 9223372036854775807 bytes, and 0 are left"),
        (b"\x1d\x01", "field 3 takes 4 bytes, and 1 are left"),
        (b"\x00\x00", "field number 0 at byte 1"),
        (b"\x0b", "wire type 3 at byte 1"),
        (b"\x0e", "wire type 6 at byte 1"),
    ],
)
def test_no_message(data: bytes, why: str) -> None:
    with pytest.raises(WireError) as error:
        list(fields(memoryview(data), Budget(10)))
    assert str(error.value) == why


def test_the_budget_is_for_all_messages_together() -> None:
    budget = Budget(5)
    assert len(list(fields(memoryview(b"\x12\x00" * 3), budget))) == 3
    with pytest.raises(BudgetSpentError):
        list(fields(memoryview(b"\x12\x00" * 3), budget))
