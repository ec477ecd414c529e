"""What a diagnosis of the evidence changes about a decision: it is said, it holds back raises that mend nothing, it confirms others. Pure.

It is used conservatively. Without evidence, or where nothing is known for certain, a decision is what it was without. A raise is held
back only by a cause that is all but certain, that no number of instances mends, while nothing else that is likely is mended by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.control.asking import failed_candidate
from shared.control.explanation import shown
from shared.records.diagnosed import (
    KEPT_CAUSES,
    KEPT_REMEDIES,
    KEPT_SENTENCES,
    SENTENCE_LIMIT,
    Diagnosed,
    LikelyCause,
    ProposedRemedy,
)
from shared.records.plan import Denial, DenialCode

if TYPE_CHECKING:
    from datetime import datetime

    from shared.control.remedies import Wish
    from shared.diagnose.diagnosis import Cause, Diagnosis, Remedy
    from shared.lint.deployment import Deployment
    from shared.records.snapshot import ManagedService, Observation

CERTAIN = 0.8
"""From this confidence on a cause holds a raise back, or confirms it."""
LIKELY = 0.4
"""From this confidence on a cause that instances mend keeps a raise from being held back."""
RAISES = frozenset({"raise-max-instances", "raise-min-instances"})
SAYS_NOTHING = frozenset(
    {
        "back-off-admin-calls",
        "clear-revision-name",
        "fix-api-request",
        "fix-metric-query",
        "hold",
        "lower-min-instances",
        "move-traffic",
        "reread-and-retry",
        "retry-rollout-later",
        "wait",
    }
)
"""Remedies that leave what serves as it is. A cause that has no others says nothing against more instances: nothing is wrong, the
evidence is missing, it passes by itself, or it is about calls of an API and not about requests."""


@dataclass(frozen=True)
class Finding:
    """The diagnosis of one look."""

    diagnosis: Diagnosis
    usual_remedies: Callable[[str], frozenset[str]]
    """Of a cause, by the catalog."""
    running: Deployment | None = None
    """The deployment that serves, resolved; None: it was not described, or nobody may need it."""

    def denial(self, wish: Wish) -> Denial | None:
        """Why the raise is held back; None where the evidence does not speak against it.

        Only a raise that a signal asks for: the owner's bounds, pins and everything downward are none of its business.
        """
        first = self.certain
        if first is None or wish.signal is None or not wish.outward or not self._beyond_instances(first.cause):
            return None
        if RAISES & {each.remedy for each in self.diagnosis.remedies}:
            return None
        if any(RAISES & self.usual_remedies(each.cause) for each in self.diagnosis.causes if each.confidence >= LIKELY):
            return None
        said = f"{_said(first)}; more instances do not mend it"
        remedy = next(iter(self.diagnosis.remedies), None)
        message = said if remedy is None else f"{said}. {_proposed(remedy)}"
        return Denial(code=DenialCode.DIAGNOSED, field=wish.field, wanted=wish.target, message=message)

    def confirmation(self, wish: Wish) -> str:
        """That the evidence asks for this raise too; empty where it does not."""
        first, remedy = self.certain, next(iter(self.diagnosis.remedies), None)
        confirmed = first is not None and remedy is not None and remedy.remedy in RAISES and wish.signal is not None and wish.outward
        return f"the evidence confirms it: {_said(first)}" if confirmed and first is not None else ""

    def kept(self) -> Diagnosed:
        """What a decision keeps of it."""
        return Diagnosed(
            causes=tuple(
                LikelyCause(cause=each.cause, confidence=min(max(each.confidence, 0.0), 1.0), evidence=_sentences(each.evidence))
                for each in self.diagnosis.causes[:KEPT_CAUSES]
            ),
            remedies=tuple(
                ProposedRemedy(
                    remedy=each.remedy,
                    knob=_cut(each.knob),
                    why=_cut(each.why),
                    before=None if each.before is None else _cut(each.before),
                    after=None if each.after is None else _cut(each.after),
                )
                for each in self.diagnosis.remedies[:KEPT_REMEDIES]
            ),
            missing=_sentences(self.diagnosis.missing),
        )

    def _beyond_instances(self, cause: str) -> bool:
        """Whether the catalog has remedies for the cause, none of them a raise, and not only such as leave what serves as it is."""
        remedies = self.usual_remedies(cause)
        return bool(remedies - SAYS_NOTHING) and not remedies & RAISES

    @property
    def certain(self) -> Cause | None:
        """The first cause, if it is all but certain."""
        first = next(iter(self.diagnosis.causes), None)
        return first if first is not None and first.confidence >= CERTAIN else None

    @property
    def all_certain(self) -> tuple[Cause, ...]:
        """The causes that are all but certain."""
        return tuple(each for each in self.diagnosis.causes if each.confidence >= CERTAIN)


def found(service: ManagedService, observation: Observation, now: datetime) -> Finding | None:
    """The diagnosis of what was observed; None where no evidence was asked for, or only to judge a repair."""
    trouble = service.state.open_incident_count > 0 or failed_candidate(service.state, observation.template) is not None
    if observation.evidence is None or not trouble:
        return None
    # A quarter of a second of CPU to load, and most instances never see trouble: their cold starts do without.
    from shared.control.evidence import question  # noqa: PLC0415 (it loads lint)
    from shared.diagnose.cause_catalog import CAUSES  # noqa: PLC0415
    from shared.diagnose.diagnosis import diagnose  # noqa: PLC0415
    from shared.lint.checking import resolved  # noqa: PLC0415

    def usual_remedies(cause: str) -> frozenset[str]:
        return frozenset(CAUSES[cause].remedies) if cause in CAUSES else frozenset()

    given, described = question(service, observation, observation.evidence, now)
    kept = observation.template is not None and observation.template.kept
    running = resolved(given, described) if kept and described is not None and described.complete else None
    return Finding(diagnose(given, described), usual_remedies, running)


def _said(cause: Cause) -> str:
    evidence = f": {shown(cause.evidence[0])}" if cause.evidence else ""
    return f"{cause.cause} (confidence {cause.confidence:.2f}){evidence}"


def _proposed(remedy: Remedy) -> str:
    values = f" from {remedy.before} to {remedy.after}" if remedy.before and remedy.after else f" to {remedy.after}" if remedy.after else ""
    return f"What does: {remedy.remedy}, {remedy.knob}{values}: {remedy.why}"


def _sentences(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(_cut, list(texts)[:KEPT_SENTENCES]))


def _cut(text: str) -> str:
    return text if len(text) <= SENTENCE_LIMIT else f"{text[: SENTENCE_LIMIT - 1]}…"
