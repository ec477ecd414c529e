"""What is known about a cause and about a remedy, apart from any evidence. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lookalike:
    """Another cause that shows itself alike, and how to tell the two apart."""

    cause: str
    tell: str


@dataclass(frozen=True, slots=True)
class Harm:
    """Remedies that are often given for a cause and do harm, or nothing, and why."""

    remedies: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCause:
    """One cause. Its name keeps its meaning for ever, or is retired.

    Texts are sentences in Markdown without markup other than `code`, without line breaks. `seen` is the evidence that decides;
    `where_visible` says in which logs and metrics it can be seen at all; `remedies` are the usual ones, the best first.
    """

    name: str
    title: str
    seen: str
    not_to_be_confused_with: tuple[Lookalike, ...]
    where_visible: str
    remedies: tuple[str, ...]
    wrong_answers: tuple[Harm, ...]


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """Causes that show themselves alike."""

    title: str
    causes: tuple[KnownCause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRemedy:
    """One remedy. Its name keeps its meaning for ever, or is retired.

    `knob` is the setting by its real name. `new_revision`: whether it takes a new revision of the Cloud Run service, and so a GPU cold
    start beside the old one; None where that depends on how it is done, which `how` says. `how` is text to paste, a line each.
    """

    name: str
    title: str
    knob: str
    new_revision: bool | None
    risk: str
    how: str
    risk_without_gpu: str | None = None
    """The risk on a service that has no GPU, where that is another; None: the same."""


@dataclass(frozen=True, slots=True)
class RemedyGroup:
    """Remedies that turn the same kind of knob."""

    title: str
    remedies: tuple[KnownRemedy, ...]
