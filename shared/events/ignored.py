"""The third answer of a parser, beside a fact and `Park`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ignored:
    """A well-formed event that is about nothing: acknowledged, counted, not kept."""

    reason: str
