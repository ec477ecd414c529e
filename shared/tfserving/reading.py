"""Users' files of TF Serving read past their mistakes: what is wrong with their form, and the values that were meant. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

Meant = TypeVar("Meant")


class FormFault(StrEnum):
    """What keeps TF Serving from reading the file."""

    SYNTAX = "syntax"
    """It is no protobuf text."""
    WRAPPER = "wrapper"
    """A wrapper given as a bare value, or a plain field given in braces."""
    UNKNOWN_FIELD = "unknown-field"
    """A field that the message does not have."""


@dataclass(frozen=True, slots=True)
class FormProblem:
    """One mistake of form. `message` says what is wrong and what the parser says, `fix` is the corrected text (empty: not certain)."""

    fault: FormFault
    field: str
    line: int | None
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the file that belongs elsewhere: a batching_parameters block. `line` is that of its first line in the file."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Reading(Generic[Meant]):
    """What a file says.

    `meant` holds the values with every mistake of form put right, as far as that is certain; None where the file cannot be read at all.
    """

    meant: Meant | None
    problems: tuple[FormProblem, ...] = ()
    repaired: str | None = None
    """The whole file as TF Serving reads it, comments kept; None where nothing is wrong, or where the right text is not certain."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Field name (dotted, with indexes inside lists: `config[0].base_path`) to its line."""
    misplaced: tuple[Block, ...] = ()
    """Batching parameters inside the models' file."""
