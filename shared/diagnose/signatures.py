"""Signatures: texts that real systems write, and what each of them tells. Pure.

A row's `sign` is its name for the rules; rows of one sign are spellings of the same thing. `cause` is the cause that the text speaks
for by itself, with `weight` from 0 to 1; None: it says something, and other evidence decides what.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shared.diagnose.lines import Line


class Speaker(StrEnum):
    """Who writes the text."""

    SERVER = "TF Serving"
    TENSORFLOW = "TensorFlow"
    PLATFORM = "Cloud Run"
    ADMIN_API = "the Admin API"
    CLIENT = "the client's library"
    FRONT_END = "Google's front end"
    MONITORING = "Cloud Monitoring"
    PERSON = "whoever wrote the line"


@dataclass(frozen=True, slots=True)
class Signature:
    """One row. `means` is what the text tells, as the end of a sentence of evidence; `source` says where the words are from."""

    sign: str
    pattern: re.Pattern[str]
    cause: str | None
    weight: float
    speaker: Speaker
    means: str
    source: str
    http: frozenset[int] = frozenset()
    """Only on a line with one of these HTTP statuses; empty: on any."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A signature seen in a line."""

    signature: Signature
    line: Line
    match: re.Match[str]

    def __str__(self) -> str:
        return f"{self.line.quoted()} [{self.signature.speaker}: {self.signature.means}]"


def like(pattern: str) -> re.Pattern[str]:
    """A pattern that ignores case; what stands in it is bounded, so that no line makes it slow."""
    return re.compile(pattern, re.IGNORECASE)


def sightings(lines: Iterable[Line], table: Iterable[Signature]) -> tuple[Sighting, ...]:
    """Every signature seen, in the order of the lines."""
    rows = tuple(table)
    found: list[Sighting] = []
    for line in lines:
        for signature in rows:
            if signature.http and line.http not in signature.http:
                continue
            match = signature.pattern.search(line.text)
            if match is not None:
                found.append(Sighting(signature, line, match))
    return tuple(found)
