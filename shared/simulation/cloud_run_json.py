"""Cloud Run's messages as the REST API writes them, with the keys and enum texts that this client does not know. Pure.

As Google's JSON has it: field names in camelCase (snake_case is read too), int64 as text, enums by name, durations as `3.5s`.
Keys without a field are kept, see `cloud_run_extras`, and so are enum texts without a value. A mistake is kept as well, where
Google's server would refuse it (`Cannot find field`, `Invalid value`): the simulation cannot tell it from something newer. An enum
text that Google would not write at any time (`gen2`, `Sideways`) is refused here too.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from google.protobuf import field_mask_pb2, json_format

from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_extras import extras_of, set_extras

_M = TypeVar("_M")
_OWN_PACKAGE = "google.cloud.run."
_ENUM_TEXT = re.compile(r"[A-Z][A-Z0-9_]*")
"""How Google writes the values of enums."""

_Step = tuple[str, int | None]
_Place = tuple[_Step, ...]


def to_json(message: Any) -> dict[str, Any]:
    """A wrapped message (`run_v2.Service`, `run_v2.Revision`, ...) as a JSON object; fields at their default are left out."""
    raw = type(message).pb(message)
    written: dict[str, Any] = json_format.MessageToDict(raw)
    _add_extras(raw, written)
    return written


def from_json(data: Mapping[str, Any], kind: type[_M], *, at: str) -> _M:
    """A wrapped message of that kind from a JSON object; `at` names it in refusals (`service`).

    Raises:
        SimulatedError: INVALID_ARGUMENT, a known field has a value of the wrong kind.
    """
    wrapper = cast("Any", kind)
    raw = wrapper.pb()()
    found: list[tuple[_Place, dict[str, Any]]] = []
    try:
        known = _known_part(data, raw.DESCRIPTOR, (), found)
        json_format.ParseDict(known, raw)
    except json_format.ParseError as error:
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid JSON payload received. Invalid value at '{at}': {error}", field=at) from error
    for place, extras in found:
        set_extras(_message_at(raw, place), extras)
    return cast("_M", wrapper.wrap(raw))


def mask_from_text(text: str, kind: Any) -> field_mask_pb2.FieldMask:
    """A REST `updateMask` (`template.maxInstanceRequestConcurrency,scaling`) as a mask with the fields' own names.

    A part that is no field of its message is kept as it is: a key that only the server knows.
    """
    root = kind.pb().DESCRIPTOR
    return field_mask_pb2.FieldMask(paths=[_path_of(path.strip(), root) for path in text.split(",") if path.strip()])


def field_named(descriptor: Any, name: str) -> Any:
    """The field of that name, in its own or in JSON spelling; None if there is none."""
    found = descriptor.fields_by_name.get(name)
    return found if found is not None else next((field for field in descriptor.fields if field.json_name == name), None)


def _path_of(path: str, descriptor: Any) -> str:
    parts: list[str] = []
    for part in path.split("."):
        field = None if descriptor is None else field_named(descriptor, part)
        parts.append(part if field is None else str(field.name))
        descriptor = None if field is None else field.message_type
    return ".".join(parts)


def _known_part(data: Mapping[str, Any], descriptor: Any, place: _Place, found: list[tuple[_Place, dict[str, Any]]]) -> dict[str, Any]:
    """What of the object has a field; what has none goes into `found`, with the place of its message."""
    known: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for key, value in data.items():
        field = field_named(descriptor, key)
        if field is None:
            extras[key] = value
        elif _is_later(field, value):
            extras[field.json_name] = value
        elif not _is_own_message(field):
            known[key] = value
        elif isinstance(value, Mapping) and not field.is_repeated:
            known[key] = _known_part(value, field.message_type, (*place, (field.name, None)), found)
        elif isinstance(value, Sequence) and not isinstance(value, str) and field.is_repeated:
            known[key] = [
                _known_part(each, field.message_type, (*place, (field.name, index)), found) if isinstance(each, Mapping) else each
                for index, each in enumerate(value)
            ]
        elif value is None:
            continue
        else:
            raise _wrong_kind(key, value, field)
    if extras:
        found.append((place, extras))
    return known


def _wrong_kind(key: str, value: Any, field: Any) -> json_format.ParseError:
    wanted = "a list of objects" if field.is_repeated else "an object"
    return json_format.ParseError(f"{key}: {value!r} is not {wanted}")


def _is_own_message(field: Any) -> bool:
    """Whether the field holds messages of Cloud Run's own: maps and Google's common types are values here."""
    kind = field.message_type
    return kind is not None and not kind.GetOptions().map_entry and str(kind.full_name).startswith(_OWN_PACKAGE)


def _is_later(field: Any, value: Any) -> bool:
    """Whether the value is a text that the field's enum may have in a newer client, or a list with such a text in it."""
    if field.enum_type is None:
        return False
    return any(
        isinstance(each, str) and each not in field.enum_type.values_by_name and _ENUM_TEXT.fullmatch(each) is not None
        for each in (value if isinstance(value, list) else [value])
    )


def _message_at(message: Any, place: _Place) -> Any:
    for name, index in place:
        message = getattr(message, name) if index is None else getattr(message, name)[index]
    return message


def _add_extras(message: Any, written: dict[str, Any]) -> None:
    for field, value in message.ListFields():
        if not _is_own_message(field):
            continue
        below = written[field.json_name]
        for each, its in zip(value, below, strict=True) if isinstance(below, list) else [(value, below)]:
            _add_extras(each, its)
    written.update(extras_of(message))
