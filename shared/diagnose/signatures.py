"""Signatures: texts that real systems write, and what each of them tells. Pure.

A row's `sign` is its name for the rules; rows of one sign are spellings of the same thing. `cause` is the cause that the text speaks
for by itself, with `weight` from 0 to 1; None: it says something, and other evidence decides what.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

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
    """For a line in lower case."""
    cause: str | None
    weight: float
    speaker: Speaker
    means: str
    source: str
    http: frozenset[int] = frozenset()
    """Only on a line with one of these HTTP statuses; empty: on any."""
    not_http: frozenset[int] = frozenset()
    """Not on a line with one of these."""

    def fits(self, line: Line) -> bool:
        """Whether the line's HTTP status allows it."""
        return (not self.http or line.http in self.http) and line.http not in self.not_http


@dataclass(frozen=True, slots=True)
class Sighting:
    """A signature seen in a line."""

    signature: Signature
    line: Line
    match: re.Match[str]
    """In the line's text in lower case."""

    def __str__(self) -> str:
        return f"{self.line.quoted()} [{self.signature.speaker}: {self.signature.means}]"


_MOST_MATCHES = 20
"""Of one pattern in one line."""
_LETTERS = re.compile(r"\\.|\(\?P|[A-Z]")
_VARYING = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?|\d{8,}")
"""Dates, times and long numbers: lines that differ in nothing else say the same. Shorter numbers may tell (`exit(137)`)."""


def like(pattern: str) -> re.Pattern[str]:
    """A pattern for a line in lower case: far quicker than to ignore case, on logs of thousands of lines.

    What stands in it is bounded, so that no line makes it slow.
    """
    return re.compile(_LETTERS.sub(lambda found: found[0] if len(found[0]) > 1 else found[0].lower(), pattern))


def _telling(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The first match, and of further ones those that name something else: a line may hold a reason and, behind it, the sentence."""
    found = list(islice(pattern.finditer(text), _MOST_MATCHES))
    if len(found) < 2 or not pattern.groupindex:  # noqa: PLR2004 (one match is itself)
        return found[:1]
    told: dict[tuple[str | None, ...], re.Match[str]] = {}
    for match in found:
        told.setdefault(match.groups(), match)
    naming = [match for groups, match in told.items() if any(groups)]
    return naming or found[:1]


def sightings(lines: Iterable[Line], table: Iterable[Signature]) -> tuple[Sighting, ...]:
    """Every signature seen, in the order of the lines."""
    rows = tuple(table)
    found: list[Sighting] = []
    silent: set[str] = set()
    for line in lines:
        text = line.text.lower()
        shape = _VARYING.sub("0", text)
        if shape in silent:
            continue
        here: list[Sighting] = []
        for signature in rows:
            if signature.fits(line):
                here.extend(Sighting(signature, line, match) for match in _telling(signature.pattern, text))
        found.extend(here)
        if not here:
            silent.add(shape)
    return tuple(found)
