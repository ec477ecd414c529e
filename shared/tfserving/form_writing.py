"""A tree put right, as protobuf text: one field a line, comments where they stood. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.tfserving.form_nodes import Comment

_INDENT = "  "


@dataclass(slots=True)
class Put:
    """One field as it should stand. `value` is a scalar's text, or the fields of a message; `raw`: a text taken over as it is."""

    name: str
    value: "str | list[Put]"
    line: int
    last_line: int
    raw: tuple[int, int] | None = None
    implied: bool = False
    """The file does not have this block: its author left it out."""

    def on_one_line(self) -> str:
        """The field without comments."""
        if isinstance(self.value, str):
            return f"{self.name} {self.value}" if self.raw is not None else f"{self.name}: {self.value}"
        inside = " ".join(part.on_one_line() for part in self.value)
        return f"{self.name} {{ {inside} }}" if inside else f"{self.name} {{ }}"


def write(fields: Sequence[Put], comments: Iterable[Comment]) -> str:
    """The file's text."""
    taken = [field.raw for field in _all(fields) if field.raw is not None]
    kept = [each for each in comments if not any(start <= each.offset < end for start, end in taken[:10])]
    writer = _Writer(sorted(kept, key=lambda each: each.offset))
    writer.fields(fields, "")
    writer.comments_before(None, "")
    return "".join(f"{line}\n" for line in writer.lines)


def _all(fields: Sequence[Put]) -> Iterable[Put]:
    for field in fields:
        yield field
        if isinstance(field.value, list):
            yield from _all(field.value)


class _Writer:
    def __init__(self, comments: list[Comment]) -> None:
        self.lines: list[str] = []
        self._comments = comments
        self._next = 0

    def fields(self, fields: Sequence[Put], indent: str) -> None:
        for at, field in enumerate(fields):
            self.comments_before(field.line, indent)
            following = fields[at + 1].line if at + 1 < len(fields) else None
            if isinstance(field.value, str) or field.last_line <= field.line or _is_short(field.value):
                self.lines.append(f"{indent}{field.on_one_line()}")
                if following != field.last_line:
                    self._comment_behind(field.last_line)
                continue
            self.lines.append(f"{indent}{field.name} {{")
            if field.value and field.value[0].line != field.line:
                self._comment_behind(field.line)
            self.fields(field.value, indent + _INDENT)
            self.comments_before(field.last_line, indent + _INDENT)
            self.lines.append(f"{indent}}}")
            if following != field.last_line:
                self._comment_behind(field.last_line)

    def comments_before(self, line: int | None, indent: str) -> None:
        while self._next < len(self._comments) and (line is None or self._comments[self._next].line < line):
            self.lines.append(f"{indent}{self._comments[self._next].text}")
            self._next += 1

    def _comment_behind(self, line: int) -> None:
        """The comment at the end of a field's line, behind it."""
        if self._next < len(self._comments):
            comment = self._comments[self._next]
            if comment.line == line and not comment.alone:
                self.lines[-1] += f"  {comment.text}"
                self._next += 1


def _is_short(fields: list[Put]) -> bool:
    """Whether a message holds one scalar only: `max_batch_size { value: 32 }`."""
    return len(fields) <= 1 and all(isinstance(field.value, str) and field.raw is None for field in fields)
