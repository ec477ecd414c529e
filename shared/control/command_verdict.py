"""What becomes of a command once the document it is about was read: the document after it, or why it is not done. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from shared.records.fleet import Fleet
from shared.records.parked import ParkCode
from shared.records.service import ServiceDocument
from shared.records.spec_problems import Problem

Denied = Literal["refused", "superseded", "forbidden"]


@dataclass(frozen=True, slots=True)
class Changed:
    """The document as it is to be stored (None: it is deleted), and a word on it for people."""

    document: ServiceDocument | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FleetChanged:
    """The fleet's document as it is to be stored."""

    fleet: Fleet
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NotDone:
    """The command changes nothing: each problem names a field, its value, what is wrong and what to do."""

    outcome: Denied
    code: ParkCode
    problems: tuple[Problem, ...]


def refused(*problems: Problem, code: ParkCode = ParkCode.INVALID_COMMAND) -> NotDone:
    """It cannot be done as it stands."""
    return NotDone("refused", code, problems)


def superseded(problem: Problem) -> NotDone:
    """The document has moved on since it was given."""
    return NotDone("superseded", ParkCode.SUPERSEDED, (problem,))


def forbidden(problems: Iterable[Problem]) -> NotDone:
    """Whoever gave it has no right to it."""
    return NotDone("forbidden", ParkCode.FORBIDDEN, tuple(problems))
