"""The answer: ranked causes with the evidence for and against each, remedies, what not to do, what is missing. Pure."""

from dataclasses import dataclass

from shared.cloudrun.described import Described
from shared.lint.given import Given


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. `confidence` is from 0 to 1; `evidence` and `against` are sentences that quote what was seen, and where."""

    cause: str
    confidence: float
    evidence: tuple[str, ...]
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remedy:
    """One remedy. `knob` is the setting by its real name; `before` and `after` are None where they are not known."""

    remedy: str
    knob: str
    why: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Avoid:
    """A remedy that is often given here and does harm."""

    remedy: str
    why: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Best first. Without evidence the cause is `insufficient-data`, never a healthy or an idle service."""

    causes: tuple[Cause, ...]
    remedies: tuple[Remedy, ...]
    avoid: tuple[Avoid, ...]
    missing: tuple[str, ...]
    """What to look at next, and where it is found."""


def diagnose(given: Given, described: Described | None = None) -> Diagnosis:
    """What is wrong, from the evidence of one question; `described` is the service where the caller knows it already."""
    raise NotImplementedError(given, described)
