"""A configuration file that was written in YAML, as a tree. Pure; linear; the block style that people write for such files, no more."""

import re

from shared.tfserving.form_nodes import Comment, Document, Field, Items, Message, Scalar, Value, Written

_LINE = re.compile(r"(?P<indent> *)(?P<rest>.*)")
_DASH = re.compile(r"-( +|$)")
_KEY = re.compile(r"(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w.\-]*)(?P=quote)\s*:(?:\s+(?P<value>.*))?$")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
_SIGNS = re.compile(r"^---\s*(?:#.*)?$|^ *-(?: +[^\s\-]|$)", re.MULTILINE)
_BLOCK = re.compile(
    r"^(?P<outer> *)(?:- +)?[A-Za-z_][\w.\-]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*+"
    r"(?P<inner> *)(?:- |[A-Za-z_][\w.\-]*:(?:[ \t]|$))",
    re.MULTILINE,
)
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")
_FLOW_LIST = re.compile(r"\[[^\[\]{}]*\]")
_PLAIN = re.compile(r"[^\[\]{}&*!|>%@`\"',#][^\[\]{}#]*")
_MAX_DEPTH = 32
_LONGEST_LINE = 500
"""Of YAML that is read."""


def read_yaml(text: str) -> Document | None:
    """The file's fields; None where it is no YAML, or YAML of a kind that is not read."""
    if not _looks_like_yaml(text) or any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return None
    lines, comments = _lines(text)
    reader = _Reader(lines)
    fields = reader.mapping(0, lines[0][0] if lines else 0)
    if fields is None or reader.at < len(lines):
        return None
    return Document(tuple(fields), tuple(comments), "YAML")


def _looks_like_yaml(text: str) -> bool:
    if _SIGNS.search(text):
        return True
    found = _BLOCK.search(text)
    while found is not None:
        if len(found["inner"]) > len(found["outer"]):
            return True
        found = _BLOCK.search(text, found.start() + len(found["outer"]) + 1)
    return False


def _lines(text: str) -> tuple[list[tuple[int, str, int]], list[Comment]]:
    """The lines that say something, each with its indentation and number; and the comments."""
    lines: list[tuple[int, str, int]] = []
    comments: list[Comment] = []
    for number, raw in enumerate(text.replace("\t", "  ").split("\n"), start=1):
        line = raw.rstrip()
        comment = _comment(line)
        if comment is not None:
            said = line[comment:]
            line = line[:comment].rstrip()
            comments.append(Comment(said, number, number, alone=not line))
        if line and not (line.startswith("---") or line == "..."):
            found = _LINE.match(line)
            indent = len(found["indent"]) if found is not None else 0
            lines.append((indent, line[indent:], number))
    return lines, comments


def _comment(line: str) -> int | None:
    if "#" not in line:
        return None
    without_strings = _STRING.sub(lambda found: "x" * len(found.group()), line)
    found = _COMMENT.search(without_strings)
    return found.start() if found is not None else None


class _Reader:
    """Walks over the lines; None from a method means that they are not read."""

    def __init__(self, lines: list[tuple[int, str, int]]) -> None:
        self._lines = lines
        self.at = 0

    def mapping(self, depth: int, indent: int) -> list[Field] | None:
        if depth > _MAX_DEPTH:
            return None
        fields: list[Field] = []
        while self.at < len(self._lines) and self._lines[self.at][0] == indent:
            _, rest, number = self._lines[self.at]
            found = _KEY.match(rest)
            if found is None:
                return None
            self.at += 1
            value = self._value(found["value"] or "", depth, indent, number)
            if value is None:
                return None
            fields.append(Field(found["name"], value, ":", number, number, number))
        if self.at < len(self._lines) and self._lines[self.at][0] > indent:
            return None
        return fields

    def _value(self, said: str, depth: int, indent: int, number: int) -> Value | None:
        if said:
            return _inline(said, number)
        if self.at == len(self._lines):
            return Scalar("null", Written.WORD, number)
        inner, rest, _ = self._lines[self.at]
        if _DASH.match(rest) and inner >= indent:
            return self._sequence(depth + 1, inner)
        if inner <= indent:
            return Scalar("null", Written.WORD, number)
        fields = self.mapping(depth + 1, inner)
        return None if fields is None else self._message(fields, number)

    def _message(self, fields: list[Field], number: int) -> Message:
        last = self._lines[self.at - 1][2]
        return Message(tuple(fields), number, last, 0, 0)

    def _sequence(self, depth: int, indent: int) -> Items | None:
        if depth > _MAX_DEPTH:
            return None
        items: list[Value] = []
        first = self._lines[self.at][2]
        while self.at < len(self._lines) and self._lines[self.at][0] == indent:
            _, rest, number = self._lines[self.at]
            dash = _DASH.match(rest)
            if dash is None:
                break
            item = self._item(rest[dash.end() :], depth, indent + dash.end(), number)
            if item is None:
                return None
            items.append(item)
        return Items(tuple(items), first)

    def _item(self, said: str, depth: int, inner: int, number: int) -> Value | None:
        if _KEY.match(said):
            self._lines[self.at] = (inner, said, number)
            fields = self.mapping(depth + 1, inner)
            return None if fields is None else self._message(fields, number)
        self.at += 1
        return _inline(said, number) if said else None


def _inline(said: str, number: int) -> Value | None:
    said = said.strip()
    if _STRING.fullmatch(said):
        return Scalar(said, Written.STRING, number)
    if said == "{}":
        return Message((), number, number, 0, 0)
    if _FLOW_LIST.fullmatch(said):
        parts = [part.strip() for part in said[1:-1].split(",")]
        items = [_inline(part, number) for part in parts if part]
        return None if any(item is None for item in items) else Items(tuple(item for item in items if item is not None), number)
    if _PLAIN.fullmatch(said):
        return Scalar(said, Written.WORD if re.fullmatch(r"[\w.+\-]+", said) else Written.BARE, number)
    return None
