"""The parts of an answer: causes, remedies, what not to do, where to look next. Pure."""

from dataclasses import dataclass


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
    new_revision: bool | None = None
    """Whether it makes a new revision of the service; None: it depends on how it is done, or the remedy changes something else."""
    risk: str = ""


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
