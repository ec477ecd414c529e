"""The text of a service's document as values and lines, read past what its parsers refuse. Pure.

Unlike `yaml_values`, which refuses what is not strictly one document, this reads on: a field that is twice in one object is noted and its
last value counts, as it does for most parsers; several documents are all read; merge keys are followed. JSON is read as the YAML that it
is, so that its lines are known too.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from shared.cloudrun.document_scalars import older_scalar
from shared.cloudrun.fields import Json, ServiceDocumentError, Spelled, pointer, shown
from shared.cloudrun.yaml_values import MAX_DEPTH, MAX_VALUES, fraction, truth_or_nothing

MAX_CHARACTERS = 262_144
"""Of one text."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_LONG_WHOLE = re.compile(r"-?[1-9][0-9]{18,299}")
_MERGE = "<<"
_NO_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""libyaml where PyYAML was built with it: ten times as fast."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A field that is twice in one object."""

    pointer: str
    line: int
    first_line: int


@dataclass(slots=True)
class LoadedDocument:
    """One document of a text: its value, and by JSON pointer the line of each field (from 1)."""

    value: Any
    lines: dict[str, int] = field(default_factory=dict)
    repeated: list[Repeated] = field(default_factory=list)
    tab: int | None = None
    """The line of the text's first tab that libyaml takes for a blank and YAML parsers without it, gcloud's among them, do not."""


def load_documents(text: str) -> list[LoadedDocument]:
    """Every document of the text; a list counts as its items.

    Raises:
        ServiceDocumentError: too long, neither YAML nor JSON, empty, or above the limits on depth and number of values.
    """
    if len(text) > MAX_CHARACTERS:
        raise ServiceDocumentError(f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read: is it one service?")
    plain = text.removeprefix("\ufeff")
    found = [each for each in _documents(plain) if each.value is not None]
    if not found:
        raise ServiceDocumentError("the document is empty")
    return [part for each in found for part in _items(each)]


def _items(document: LoadedDocument) -> Iterator[LoadedDocument]:
    if not isinstance(document.value, list) or not document.value:
        yield document
        return
    for index, value in enumerate(document.value):
        prefix = pointer("", index)
        lines = {each.removeprefix(prefix): line for each, line in document.lines.items() if _below(each, prefix)}
        repeated = [
            Repeated(each.pointer.removeprefix(prefix), each.line, each.first_line)
            for each in document.repeated
            if _below(each.pointer, prefix)
        ]
        yield LoadedDocument(value, lines, repeated, document.tab)


def _below(way: str, prefix: str) -> bool:
    return way == prefix or way.startswith(f"{prefix}/")


def _documents(text: str) -> list[LoadedDocument]:
    is_json = text.lstrip().startswith(("{", "["))
    if not is_json:
        return _from_yaml(text)
    try:
        values = json.loads(text, parse_int=_plain, parse_float=_plain, parse_constant=str)
    except RecursionError:
        raise ServiceDocumentError(f"the document is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        problem = ServiceDocumentError(f"line {error.lineno}: not JSON: {error.msg} (column {error.colno})", line=error.lineno)
    else:
        return [_json_with_lines(text, values)]
    try:
        found = _from_yaml(text)
    except ServiceDocumentError:
        raise problem from None
    if any(each.tab is not None for each in found):
        raise problem
    return found


def _json_with_lines(text: str, values: Any) -> LoadedDocument:
    """JSON's own reader has the values (it alone knows all of its escapes), the YAML reader the lines, as far as it can read them."""
    try:
        placed = _from_yaml(_without_tabs(text))
    except ServiceDocumentError as error:
        if "nested deeper" in error.message or "more than" in error.message:
            raise
        placed = []
    return LoadedDocument(values, placed[0].lines, placed[0].repeated) if placed else LoadedDocument(values)


def _without_tabs(text: str) -> str:
    """A tab in JSON stands outside of texts only, where it is space; YAML takes none there."""
    return text.replace("\t", " ")


def _from_yaml(text: str) -> list[LoadedDocument]:
    found: list[LoadedDocument] = []
    try:
        tab = _tab(text) if "\t" in text else None
        loader = _LOADER(text)
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                break
            builder = _Builder()
            builder.made.tab = tab
            builder.made.value = builder.value_of(node, "", 0)
            found.append(builder.made)
    except yaml.MarkedYAMLError as error:
        if error.problem == "exceeded maximum nesting depth":
            raise ServiceDocumentError(f"the document is nested deeper than {MAX_DEPTH} levels") from None
        line = (error.problem_mark.line if error.problem_mark else 0) + 1
        raise ServiceDocumentError(f"line {line}: not YAML: {error.problem or error.context}", line=line) from None
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        bad = _NO_YAML.search(text)
        line = text.count("\n", 0, bad.start()) + 1 if bad else 1
        code = ord(bad.group()) if bad else 0
        raise ServiceDocumentError(f"line {line}: not YAML: unacceptable character #x{code:04x}; leave it out", line=line) from None
    except RecursionError:
        raise ServiceDocumentError(f"the document is nested deeper than {MAX_DEPTH} levels") from None
    return found


def _tab(text: str) -> int | None:
    """The line of a tab that only libyaml takes. PyYAML's own scanner is, like gcloud's, written in Python."""
    try:
        for _ in yaml.scan(text, Loader=yaml.BaseLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return mark.line + 1 if mark is not None and "'\\t'" in str(error.problem) else None
    return None


def _plain(text: str) -> Any:
    value, found = truth_or_nothing(text)
    if found:
        return value
    if _WHOLE.fullmatch(text):
        return int(text)
    number = fraction(text, None)
    if number is None and _LONG_WHOLE.fullmatch(text):
        number = float(text)
    return older_scalar(text) if number is None else Spelled(number, text)


class _Builder:
    """Values of YAML nodes."""

    def __init__(self) -> None:
        self.made = LoadedDocument(None)
        self._values = 0

    def value_of(self, node: yaml.Node, way: str, depth: int) -> Any:
        line = node.start_mark.line + 1
        self.made.lines.setdefault(way, line)
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            limit = f"nested deeper than {MAX_DEPTH} levels" if depth > MAX_DEPTH else f"of more than {MAX_VALUES:,} values"
            raise ServiceDocumentError(f"line {line}: the document is {limit}; are its aliases right?", field=way, line=line)
        if isinstance(node, yaml.MappingNode):
            return self._object(node, way, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value_of(each, pointer(way, index), depth + 1) for index, each in enumerate(node.value)]
        text = str(node.value)
        return text if isinstance(node, yaml.ScalarNode) and node.style else _plain(text)

    def _object(self, node: yaml.MappingNode, way: str, depth: int) -> Json:
        found: Json = {}
        merged: Json = {}
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ServiceDocumentError(f"line {line}: a field's name is needed", field=way, line=line)
            name = str(key.value)
            if name == _MERGE and not key.style:
                merged.update(self._merged(value, way, depth, line))
                continue
            below = pointer(way, name)
            if name in found:
                self.made.repeated.append(Repeated(below, line, first[name]))
                for each in [each for each in self.made.lines if _below(each, below)]:
                    del self.made.lines[each]
            first.setdefault(name, line)
            self.made.lines[below] = line
            found[name] = self.value_of(value, below, depth + 1)
        return {**{name: value for name, value in merged.items() if name not in found}, **found}

    def _merged(self, node: yaml.Node, way: str, depth: int, line: int) -> Json:
        found: Json = {}
        for each in reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(each, yaml.MappingNode):
                raise ServiceDocumentError(f"line {line}: {shown(_MERGE)} takes an object of fields", field=way, line=line)
            found.update(self._object(each, way, depth + 1))
        return found
