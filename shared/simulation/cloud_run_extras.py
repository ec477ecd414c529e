"""What Google's JSON says and this client's messages cannot, kept inside the messages as one unknown field. Pure.

Google's server knows fields that an older client does not (`cpuUtilization` of a revision's scaling is one). On the wire they are
unknown fields of the client's messages: a client that reads, changes and writes a message keeps them, one that builds it anew
loses them. The simulation has only the client's messages, so the keys of a message that came by REST are kept as JSON text in one
field with a number that Cloud Run does not use. Everything protobuf does with unknown fields then happens to them.

An enum's text that this client has no number for is kept in the same way, under the JSON name of its field: the field itself is then
unset. A client that writes a value it knows into that field means that value (`drop_overridden`).
"""

import json
from collections.abc import Container, Iterable, Mapping
from typing import Any, cast

from google.protobuf.unknown_fields import UnknownFieldSet

EXTRAS_FIELD_NUMBER = 536_870_000
"""Near the end of protobuf's range: no field of Cloud Run's has such a number."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def extras_of(message: Any) -> dict[str, Any]:
    """The JSON keys kept in this message (not in those below it); the later of two of the same name counts."""
    found: dict[str, Any] = {}
    for field in cast("Iterable[Any]", UnknownFieldSet(message)):
        if field.field_number == EXTRAS_FIELD_NUMBER and field.wire_type == _BYTES:
            found |= json.loads(field.data)
    return found


def set_extras(message: Any, extras: Mapping[str, Any]) -> None:
    """Keep exactly these keys in the raw message; other unknown fields stay. The same keys always make the same bytes."""
    rest = _without(message.SerializePartialToString(deterministic=True), (EXTRAS_FIELD_NUMBER,))
    message.Clear()
    message.SetInParent()
    message.MergeFromString(rest)
    if extras:
        text = json.dumps(dict(extras), sort_keys=True, separators=(",", ":")).encode()
        message.MergeFromString(_varint(EXTRAS_FIELD_NUMBER << 3 | _BYTES) + _varint(len(text)) + text)


def copy_unknown_fields(source: Any, target: Any) -> None:
    """Everything of the raw source that its message type has no field for, extras included, is in the raw target too.

    What the target knows under the same number means something else there and is left out.
    """
    unknown = type(source)()
    unknown.CopyFrom(source)
    for field, _ in source.ListFields():
        unknown.ClearField(field.name)
    target.MergeFromString(_without(unknown.SerializePartialToString(deterministic=True), target.DESCRIPTOR.fields_by_number))


def drop_overridden(message: Any) -> None:
    """Forget the kept text of every enum field that has a value, in the raw message and in those below it."""
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for each in value if field.is_repeated else [value]:
            drop_overridden(each)
    extras = extras_of(message)
    kept = {key: value for key, value in extras.items() if key not in {field.json_name for field, _ in message.ListFields()}}
    if kept != extras:
        set_extras(message, kept)


def _without(data: bytes, numbers: Container[int]) -> bytes:
    """The fields of a serialized message but those of these numbers."""
    kept = bytearray()
    position = 0
    while position < len(data):
        start = position
        tag, position = _read_varint(data, position)
        position = _after_value(data, position, tag & 7)
        if tag >> 3 not in numbers:
            kept += data[start:position]
    return bytes(kept)


def _after_value(data: bytes, position: int, wire_type: int) -> int:
    if wire_type == _VARINT:
        return _read_varint(data, position)[1]
    if wire_type == _FIXED64:
        return position + 8
    if wire_type == _FIXED32:
        return position + 4
    if wire_type == _BYTES:
        length, position = _read_varint(data, position)
        return position + length
    msg = f"wire type {wire_type}: groups are not used by Cloud Run's messages"
    raise ValueError(msg)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 (the top bit says that more follows)
            return value, position
        shift += 7


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:  # noqa: PLR2004 (seven bits a byte)
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
