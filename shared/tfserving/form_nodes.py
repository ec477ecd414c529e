"""A configuration file as a tree, before it is known what its messages are: fields, values, comments, and what was wrong. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.tfserving.reading import FormFault, FormProblem

MAX_PROBLEMS: Final = 100
"""Of one file; further ones are of no use to a reader, and are left out."""
_MAX_UNCERTAIN: Final = 1_000
"""With those of which only the first is kept."""
_MAX_CERTAIN: Final = 10_000
"""Without those."""


class Written(StrEnum):
    """How a scalar stands in the file."""

    WORD = "word"
    """A name or number as the text format has it."""
    RUN = "run"
    """Several numbers on one line, between commas, spaces or apostrophes: a list without brackets, or one number cut into groups."""
    STRING = "string"
    """One or more pieces in straight quotes; `text` is the source."""
    BARE = "bare"
    """A text without the quotes that it needs; `text` is the content."""
    REPORTED = "reported"
    """A text in quotes that are none, which has been reported; `text` is the content."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value that is no message and no list."""

    text: str
    written: Written
    line: int


@dataclass(frozen=True, slots=True)
class Message:
    """What stands in braces. `start` and `end` are the offsets of its inside, `last_line` is that of the closing brace."""

    fields: tuple["Field", ...]
    line: int
    last_line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Items:
    """What stands in brackets."""

    items: tuple["Value", ...]
    line: int


Value = Scalar | Message | Items


@dataclass(frozen=True, slots=True)
class Field:
    """One field. An empty `name`: a value stands where a field should. `value` is None where none can be read.

    `sign` is what stands between name and value: `:`, `=` or nothing.
    """

    name: str
    value: Value | None
    sign: str
    line: int
    start: int
    end: int
    quoted: bool = False
    """The name stands in quotes."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as the text format has it, with its `#`. `alone`: nothing stands before it on its line."""

    text: str
    line: int
    offset: int
    alone: bool


class Problems:
    """What was found wrong so far. `certain` turns false with the first mistake whose right text is not known."""

    def __init__(self) -> None:
        self.found: list[FormProblem] = []
        self.certain = True
        self.foreign = False
        """The file is in another language, which is one mistake: what only follows from it is not reported."""
        self._once: set[str] = set()
        self._reported = 0
        self._uncertain = 0

    def syntax(self, field_name: str, line: int | None, message: str, fix: str, *, once: str = "") -> None:
        """A mistake of syntax; with `once`, only the first of that kind is kept."""
        self.add(FormFault.SYNTAX, field_name, line, message, fix, once=once)

    def add(self, fault: FormFault, field_name: str, line: int | None, message: str, fix: str, *, once: str = "") -> None:
        """A mistake whose right text is certain."""
        if self.foreign and fault is not FormFault.UNKNOWN_FIELD:
            return
        self._keep(FormProblem(fault, field_name, line, message, fix), once)

    def uncertain(self, field_name: str, line: int | None, message: str, *, once: str = "") -> None:
        """A mistake of syntax whose right text is not certain."""
        self.certain = False
        self._uncertain += 1
        self._keep(FormProblem(FormFault.SYNTAX, field_name, line, message, ""), once)

    @property
    def full(self) -> bool:
        """Whether further ones are left out."""
        return len(self.found) >= MAX_PROBLEMS

    @property
    def hopeless(self) -> bool:
        """Whether so much is wrong, or so much of it unclear, that nothing is gained by reading on."""
        if self.certain:
            return self._reported >= _MAX_CERTAIN
        return len(self.found) >= MAX_PROBLEMS or self._uncertain >= _MAX_UNCERTAIN

    def _keep(self, problem: FormProblem, once: str) -> None:
        if once and once in self._once:
            return
        self._once.add(once)
        self._reported += 1
        if not self.full:
            self.found.append(problem)


@dataclass(frozen=True, slots=True)
class Document:
    """A file as read."""

    fields: tuple[Field, ...]
    comments: tuple[Comment, ...]
    language: str = ""
    """`JSON` or `YAML` where it is no protobuf text at all."""
    unclosed: bool = False
    """A closing brace is missing somewhere."""
    cut_short: bool = False
    """Nothing behind some place was read."""
    joined_sign: bool = False
    """A sign stood apart from its number, which the server reads and Trimtab's own parser does not."""
