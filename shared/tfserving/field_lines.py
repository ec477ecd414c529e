"""On which lines the fields of a file stand that the parser takes. Pure; linear, and quick: nothing in the text is judged again."""

import re
from dataclasses import dataclass
from functools import cache

from google.protobuf.descriptor import Descriptor

from shared.tfserving.form_kinds import ANY, is_list, is_map, is_wrapper

_GAP = r"(?:[ \t\n\r\v\f]++|\#[^\n]*+)*+"
_STRING = r"""(?:"(?:[^"\\\n]|\\[^\n])*+"|'(?:[^'\\\n]|\\[^\n])*+')"""
_SCALAR = rf"(?:{_STRING}(?:{_GAP}{_STRING})*+|[0-9A-Za-z_.+\-]++)"
_FIELD = re.compile(rf"{_GAP}([A-Za-z_]\w*+){_GAP}:?{_GAP}(?:([{{<\[])|{_SCALAR}{_GAP}[;,]?)")
_ITEM = re.compile(rf"{_GAP},?{_GAP}(?:([{{<])|({_SCALAR}))")
_END = re.compile(rf"{_GAP}[}}>\]]{_GAP}[;,]?")
_SEPARATOR = re.compile(rf"{_GAP}[;,]?")
_INSIDE = re.compile(rf"(?:[^{{}}<>\"'#]++|{_STRING}|\#[^\n]*+)*+([{{}}<>])")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field holds. `inside`: the message whose fields have lines of their own; None for all others."""

    inside: Descriptor | None
    is_repeated: bool
    is_map: bool
    is_list: bool


def field_lines(text: str, root: Descriptor) -> dict[str, int]:
    """The field's path (`config[0].base_path`) to its line, of a text that is a `root` to the parser.

    The list of models has no name: its path is empty, and its first entry is `config[0]`.
    """
    walk = _Walk(text)
    walk.fields(root, "")
    return walk.lines


@cache
def _kinds(message: Descriptor) -> dict[str, _Kind]:
    found: dict[str, _Kind] = {}
    for field in message.fields:
        inner = field.message_type
        inside = None if inner is None or inner.full_name == ANY or is_wrapper(field) else inner
        found[field.name] = _Kind(inside, field.is_repeated, is_map(field), is_list(field))
    return found


class _Walk:
    """A place in the text that moves forward, field by field."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self._text = text
        self._at = 0
        self._counted = 0
        self._line = 1

    def fields(self, message: Descriptor, path: str) -> None:
        """The fields of one message, up to its closing brace or the end of the text."""
        kinds = _kinds(message)
        counts: dict[str, int] = {}
        prefix = f"{path}." if path else ""
        lines = self.lines
        while found := _FIELD.match(self._text, self._at):
            name, opening = found[1], found[2]
            known = kinds.get(name)
            if known is None:
                return
            self._at = found.end()
            line = self._line_of(found.start(1))
            shown = f"{prefix}{name}"
            lines.setdefault(shown, line)
            if opening == "[":
                self._items(known, shown, counts, name)
                continue
            index = counts.get(name, 0)
            counts[name] = index + 1
            own = "" if known.is_list and not path else f"{shown}[{index}]" if known.is_repeated and not known.is_map else shown
            lines.setdefault(own, line)
            if opening:
                self._block(known, own)

    def _items(self, known: _Kind, shown: str, counts: dict[str, int], name: str) -> None:
        """The values in brackets, each on a line of its own."""
        while found := _ITEM.match(self._text, self._at):
            self._at = found.end()
            index = counts.get(name, 0)
            counts[name] = index + 1
            own = shown if known.is_map else f"{shown}[{index}]"
            self.lines.setdefault(own, self._line_of(found.start(1) if found[1] else found.start(2)))
            if found[1]:
                self._block(known, own)
        self._step(_END)

    def _block(self, known: _Kind, path: str) -> None:
        """The inside of braces, which stand open."""
        if known.inside is not None:
            self.fields(known.inside, path)
            self._step(_END)
            return
        depth = 1
        while depth and (found := _INSIDE.match(self._text, self._at)):
            self._at = found.end()
            depth += 1 if found[1] in "{<" else -1
        self._step(_SEPARATOR)

    def _step(self, over: re.Pattern[str]) -> None:
        found = over.match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _line_of(self, at: int) -> int:
        """The line of a place that is no earlier than the last one."""
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line
