"""YAML as the values it stands for, strictly: one document, every field once, the line of each, within limits. Pure.

Plain scalars are typed as in YAML 1.2, where `yes`, `22:00` and dates are texts and a leading zero is no sign of octal; what exactly a
number is, the caller says: a spec wants numbers, a service's document the text that was written.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import yaml

from shared.cloudrun.fields import Json, pointer, shown
from shared.errors import TrimtabError

MAX_VALUES = 50_000
"""Of one document, after its aliases are followed."""
MAX_DEPTH = 40

_YAML_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(f"{_YAML_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp"))
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_WHOLE = re.compile(r"[-+]?[0-9]{1,100}")
_FRACTION = re.compile(r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")
_UNPRINTED = re.compile(r"[^\n -~]")
_NO_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""libyaml where PyYAML was built with it: ten times as fast, and its depth is bounded."""


class YamlTextError(TrimtabError):
    """A text that is not the YAML of one value. `field` is a JSON pointer, `line` counts from 1; None if it is not known."""

    def __init__(self, message: str, *, field: str = "", line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.field = field
        self.line = line


def load_yaml(text: str, plain: Callable[[str], Any]) -> tuple[Any, dict[str, int]]:
    """The one document in the text, and the line of each of its fields by JSON pointer. `plain` gives the value of a scalar without quotes.

    Raises:
        YamlTextError: not YAML, empty, more than one document, a field twice in one object, a merge key, a tag, or above the limits.
    """
    try:
        loader = _LOADER(text)
        root = loader.get_node() if loader.check_node() else None
        second = loader.get_node() if loader.check_node() else None
    except yaml.MarkedYAMLError as error:
        if error.problem == "exceeded maximum nesting depth":
            raise YamlTextError(f"the document is nested deeper than {MAX_DEPTH} levels") from None
        line = (error.problem_mark.line if error.problem_mark else 0) + 1
        raise YamlTextError(f"not YAML: {error.problem or error.context}", line=line) from None
    except yaml.reader.ReaderError as error:
        found = _NO_YAML.search(text)
        at = text.count("\n", 0, found.start()) + 1 if found else None
        raise YamlTextError(f"not YAML: unacceptable character #x{_code(error, found):04x}; leave it out", line=at) from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlTextError(f"not YAML: unacceptable character #x{ord(text[error.start]):04x}; leave it out", line=line) from None
    except RecursionError:
        raise YamlTextError(f"the document is nested deeper than {MAX_DEPTH} levels") from None
    if root is None:
        raise YamlTextError("the document is empty")
    if second is not None:
        raise YamlTextError("a second document begins; write one to a file", line=second.start_mark.line + 1)
    builder = _Builder(plain)
    return builder.value_of(root, "", 0), builder.lines


def truth_or_nothing(text: str) -> tuple[Any, bool]:
    """What a scalar without quotes says if it is true, false or null, and whether it is one of them."""
    if text in _NULLS:
        return None, True
    return _TRUTH.get(text), text in _TRUTH


def plain_value(text: str) -> Any:
    """A scalar without quotes as YAML 1.2 has it, numbers in decimal: `007` is 7, `0x10` and `1:30` are texts."""
    value, found = truth_or_nothing(text)
    if found:
        return value
    if _WHOLE.fullmatch(text):
        return int(text)
    return fraction(text, text)


def fraction(text: str, otherwise: Any) -> Any:
    """The number in a text such as `0.5` or `1e-3`; `otherwise` where it is none, or none that JSON has."""
    number = float(text) if _FRACTION.fullmatch(text) else math.nan
    return number if math.isfinite(number) else otherwise


def is_printable(text: str) -> bool:
    """Whether a terminal shows each character of the text as itself; ends of lines count as shown."""
    return all(part.isprintable() for part in text.split("\n"))


def escaped(text: str) -> str:
    """YAML whose texts with unprintable characters are in double quotes, with these escaped: nothing in it moves a terminal's cursor."""
    return _UNPRINTED.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 (widths of escapes)


class _Builder:
    """Python values of YAML nodes, with the line of each, within the limits on depth and number."""

    def __init__(self, plain: Callable[[str], Any]) -> None:
        self.lines: dict[str, int] = {}
        self._plain = plain
        self._values = 0

    def value_of(self, node: yaml.Node, field: str, depth: int) -> Any:
        line = node.start_mark.line + 1
        self.lines[field] = line
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            limit = f"nested deeper than {MAX_DEPTH} levels" if depth > MAX_DEPTH else f"of more than {MAX_VALUES:,} values"
            raise YamlTextError(f"the document is {limit}; are its aliases right?", field=field, line=line)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_YAML_TAG}map":
            return self._object(node, field, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_YAML_TAG}seq":
            return [self.value_of(each, pointer(field, index), depth + 1) for index, each in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALAR_TAGS:
            return node.value if node.style else self._plain(node.value)
        raise YamlTextError(f"the tag {shown(node.tag)} is not read; write the value without it", field=field, line=line)

    def _object(self, node: yaml.MappingNode, field: str, depth: int) -> Json:
        found: Json = {}
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or (key.value == "<<" and not key.style):
                raise YamlTextError("a field's name is needed; merge keys (<<) are not read", field=field, line=line)
            name = str(key.value)
            if name in found:
                raise YamlTextError(
                    f"the field {shown(name)} is twice in one object, first in line {first[name]}; keep one", field=field, line=line
                )
            first[name] = line
            found[name] = self.value_of(value, pointer(field, name), depth + 1)
            self.lines[pointer(field, name)] = line
        return found


def _code(error: yaml.reader.ReaderError, found: re.Match[str] | None) -> int:
    return ord(found.group()) if found else error.character if isinstance(error.character, int) else ord(error.character)
