"""What the tree of a file is fitted with: the place in the messages, kinds of fields, and the words of the strict parser. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from shared.tfserving.form_nodes import Problems
from shared.tfserving.text import ConfigTextError

WRAPPERS: Final = frozenset({"google.protobuf.Int64Value", "google.protobuf.StringValue", "google.protobuf.BoolValue"})
ANY: Final = "google.protobuf.Any"
BOUNDS: Final = {
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
}
"""Of the whole numbers, both ends included."""


@dataclass(frozen=True, slots=True)
class At:
    """A message in the file. `chain`: its kind behind those of the messages around it; `way`: the names of the fields that lead to it.

    `path` is what a person calls it: `config[0].model_version_policy`, empty for the whole file and for the list of models.
    """

    chain: tuple[Descriptor, ...]
    way: tuple[str, ...] = ()
    path: str = ""

    @property
    def here(self) -> Descriptor:
        """The message's own kind."""
        return self.chain[-1]

    def inside(self, known: FieldDescriptor, path: str) -> "At":
        """The message that a field of this one holds."""
        return At((*self.chain, message_of(known)), (*self.way, known.name), path)

    def within(self, text: str) -> str:
        """A field's text in the messages that lead to it, from the last one on of which there may be several."""
        for kind, name in zip(reversed(self.chain[:-1]), reversed(self.way), strict=True):
            if kind.fields_by_name[name].is_repeated:
                return text
            text = f"{name} {{ {text} }}"
        return text

    def shown(self, name: str) -> str:
        """What a person calls a field of it."""
        return f"{self.path}.{name}" if self.path else name


@dataclass(frozen=True, slots=True)
class Words:
    """What the strict parser says of a mistake: it is shown a text that holds nothing else."""

    parse: Callable[[str], Any]
    problems: Problems

    def of(self, way: tuple[str, ...], text: str) -> tuple[str, str]:
        """Its own words and what they mean, both empty where so much is wrong that nobody reads it all."""
        if self.problems.full:
            return "", ""
        for name in reversed(way):
            text = f"{name} {{ {text} }}"
        try:
            self.parse(text)
        except ConfigTextError as error:
            return f"The parser says: {error.parser_message.rstrip('.')}.", error.meaning
        return "", ""

    def said(self, way: tuple[str, ...], text: str) -> str:
        """Both, in one sentence behind the other."""
        return " ".join(part for part in self.of(way, text) if part)


def message_of(known: FieldDescriptor) -> Descriptor:
    """The kind of message that the field holds."""
    kind = known.message_type
    assert kind is not None  # noqa: S101 (the caller has looked; this is for the type checker)
    return kind


@cache
def is_wrapper(known: FieldDescriptor) -> bool:
    """Whether it is one of the messages around a single value."""
    return known.message_type is not None and known.message_type.full_name in WRAPPERS


@cache
def is_map(known: FieldDescriptor) -> bool:
    """Whether it is a map, which stands in a file as a list of entries."""
    return known.message_type is not None and bool(known.message_type.GetOptions().map_entry)


@cache
def is_list(known: FieldDescriptor) -> bool:
    """Whether its message holds nothing but a list of messages."""
    kind = known.message_type
    return kind is not None and len(kind.fields) == 1 and kind.fields[0].is_repeated and kind.fields[0].message_type is not None


@cache
def only_number(known: FieldDescriptor) -> FieldDescriptor | None:
    """The only field of its message, if that holds whole numbers."""
    kind = known.message_type
    if kind is None or len(kind.fields) != 1 or kind.full_name in WRAPPERS or kind.fields[0].type not in BOUNDS:
        return None
    only: FieldDescriptor = kind.fields[0]
    return only
