"""JSON objects of people and of Cloud Run, read field by field: each with its type, and what nobody read is left over.

A reader that takes the fields it knows and reports the rest cannot lose one: that is what the conversions of this room rest on.
Fields are named by JSON pointers (RFC 6901), such as `/spec/template/spec/containers/0/image`: `~1` is a slash inside a name.
"""

import copy
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from shared.errors import TrimtabError

Json = dict[str, Any]
Taken = TypeVar("Taken")

MAX_SHOWN = 60
"""Characters of a value that a message repeats."""

_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_WHOLE_FLOATS = 2.0**63
_OCTAL = re.compile(r"0o?(?P<digits>[0-7]{1,12})")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")
_INDEX = re.compile(r"0|[1-9][0-9]{0,6}")


class Spelled(float):
    """A number with the text it was written as, which is what a field of texts gets: `1.10`."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """The number `value`, written as `text`."""
        made = super().__new__(cls, value)
        made.text = text
        return made

    def __deepcopy__(self, memo: object) -> Self:
        return self


class ServiceDocumentError(TrimtabError):
    """A service document that cannot be read: `field` is a JSON pointer ("" is the whole), `line` counts from 1, None if not known."""

    def __init__(self, message: str, *, field: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.line = line


def pointer(parent: str, name: str | int) -> str:
    """The JSON pointer of `name` inside `parent`."""
    return f"{parent}/{str(name).replace('~', '~0').replace('/', '~1')}"


def shown(value: object) -> str:
    """A value as a message repeats it: on one line, cut to `MAX_SHOWN` characters."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def as_text(value: Any, field: str) -> str:
    """A text, or the text of a number or a truth value that YAML or JSON had unquoted."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value.text if isinstance(value, Spelled) else repr(value)
    raise ServiceDocumentError(f"{field} is {_kind(value)}; write a text, in quotes where it looks like something else", field=field)


def as_whole(value: Any, field: str) -> int:
    """A whole number, written as one or as a text of digits; a leading zero makes it octal, as gcloud reads the modes of files."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_FLOATS:
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    octal = _OCTAL.fullmatch(value) if isinstance(value, str) else None
    if octal:
        return int(octal["digits"], base=8)
    raise ServiceDocumentError(f"{field} is {shown(value)}; write a whole number", field=field)


def as_flag(value: Any, field: str) -> bool:
    """True or false, written as one or as a text; YAML's yes, no, on and off are not accepted, as Cloud Run does not."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise ServiceDocumentError(f"{field} is {shown(value)}; write true or false", field=field)


def as_ratio(value: Any, field: str) -> float:
    """A number, written as one or as a text."""
    written = isinstance(value, str) and _DECIMAL.fullmatch(value)
    if written or (isinstance(value, int | float) and not isinstance(value, bool)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ServiceDocumentError(f"{field} is {shown(value)}; write a number such as 0.6", field=field)


class Fields:
    """One JSON object. Taking a field removes it; `left()` is what remains of the object and of the objects taken from it.

    A field that is null counts as absent. The object given is not changed.
    """

    __slots__ = ("_children", "_kept", "_values", "path")

    def __init__(self, values: Any, path: str = "") -> None:
        if not isinstance(values, dict):
            where = path or "the document"
            raise ServiceDocumentError(f"{where} is {_kind(values)}; an object with named fields is needed", field=path)
        self._values: Json = {name: value for name, value in values.items() if value is not None}
        self._children: list[Fields] = []
        self._kept: Json = {}
        self.path = path

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def names(self) -> list[str]:
        """The fields that are still to be taken, in their order."""
        return list(self._values)

    def at(self, name: str | int) -> str:
        """The pointer of a field of this object."""
        return pointer(self.path, name)

    def peek(self, name: str) -> Any:
        """The field's value, None if it is absent; it stays to be taken."""
        return self._values.get(name)

    def word(self, name: str) -> str | None:
        """The field's value as one of a set of words, see `as_text`; None if it is absent; it stays to be taken where it is not known."""
        value = self._values.get(name)
        return None if value is None else as_text(value, self.at(name))

    def drop(self, name: str) -> None:
        """Take the field and forget it."""
        self._values.pop(name, None)

    def keep(self, field: str, value: Any) -> None:
        """Report `value` under the pointer `field` as left over, though the field was taken; None says the object has no such field."""
        self._kept[field] = value

    def text(self, name: str) -> str | None:
        """A text, see `as_text`; None if the field is absent."""
        return self._take(name, as_text)

    def whole(self, name: str) -> int | None:
        """A whole number, see `as_whole`; None if the field is absent."""
        return self._take(name, as_whole)

    def flag(self, name: str) -> bool | None:
        """True or false, see `as_flag`; None if the field is absent."""
        return self._take(name, as_flag)

    def ratio(self, name: str) -> float | None:
        """A number, see `as_ratio`; None if the field is absent."""
        return self._take(name, as_ratio)

    def object(self, name: str) -> Self:
        """The object under `name`; an empty one if it is absent."""
        child = type(self)(self._values.pop(name, {}), self.at(name))
        self._children.append(child)
        return child

    def objects(self, name: str) -> list[Self]:
        """The list of objects under `name`; empty if it is absent."""
        children = [type(self)(value, pointer(self.at(name), index)) for index, value in enumerate(self._list(name))]
        self._children.extend(children)
        return children

    def texts(self, name: str) -> list[str]:
        """The list of texts under `name`; empty if it is absent."""
        return [as_text(value, pointer(self.at(name), index)) for index, value in enumerate(self._list(name))]

    def text_map(self, name: str, *, keep: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
        """The texts under `name` whose names `keep` accepts; the others are left over."""
        return self.object(name).remaining_texts(keep=keep)

    def remaining_texts(self, *, keep: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
        """All fields not yet taken whose names `keep` accepts, as texts."""
        return {name: as_text(self._values.pop(name), self.at(name)) for name in self.names() if keep(name)}

    def left(self) -> Json:
        """What was not taken: JSON pointer to value."""
        found = {self.at(name): copy.deepcopy(value) for name, value in self._values.items()}
        for child in self._children:
            found.update(child.left())
        return {**found, **self._kept}

    def _take(self, name: str, read: Callable[[Any, str], Taken]) -> Taken | None:
        return read(self._values.pop(name), self.at(name)) if name in self._values else None

    def _list(self, name: str) -> list[Any]:
        value = self._values.pop(name, [])
        if not isinstance(value, list):
            raise ServiceDocumentError(f"{self.at(name)} is {_kind(value)}; a list is needed", field=self.at(name))
        return value


def put(target: Json, name: str, value: Any) -> None:
    """Set the field, unless the value is what a field that is left out means: None, false, zero or empty."""
    if value:
        target[name] = value


def place(document: Json, values: Mapping[str, Any]) -> None:
    """Write each value where its JSON pointer says; None removes the field. Objects on the way are made, list items are not.

    Raises:
        ServiceDocumentError: a pointer leads through a list item or a value that the document does not have.
    """
    for field, value in values.items():
        *way, last = [token.replace("~1", "/").replace("~0", "~") for token in field.split("/")]
        target: Any = document
        for token in way[1:]:
            target = target.setdefault(token, {}) if isinstance(target, dict) else _item(target, token, field)
        if not isinstance(target, dict):
            raise _no_place(field)
        if value is None:
            target.pop(last, None)
        else:
            target[last] = copy.deepcopy(value)


def _item(target: Any, token: str, field: str) -> Any:
    if not isinstance(target, list) or not _INDEX.fullmatch(token) or int(token) >= len(target):
        raise _no_place(field)
    return target[int(token)]


def _no_place(field: str) -> ServiceDocumentError:
    return ServiceDocumentError(
        f"{field} was kept from another form of this service, which has no such place now; leave it out", field=field
    )


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        type(None): "empty",
    }
    return names.get(type(value), type(value).__name__)
