"""Where rules write down what speaks for a cause and what against it. Pure.

Pieces of evidence are taken as independent: confidence is what remains of doubt, multiplied, `1 - (1 - w1)(1 - w2)...`, and then
reduced by what speaks against it. Weights are judgements of how often such a piece misleads, not measured frequencies.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from shared.diagnose.answer import Cause

MAX_CONFIDENCE = 0.99
_RULES_OUT = 0.5
_OF_A_LINE = re.compile(r"log line \d{1,9}\b")
_TAIL = re.compile(r"\](?:, and \d{1,6} more lines? like it)?$")
_SPEAKER = 80
"""Characters from the bracket behind a quoted line within which the speaker is named."""
MAX_SENTENCES = 6
"""Of evidence that one cause shows; a tired reader reads no more."""


@dataclass(slots=True)
class Suspicion:
    """One cause with its evidence so far. `by_text`: a text speaks for it, and not only numbers."""

    cause: str
    weights: list[float] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    doubts: list[float] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    by_text: bool = False
    explained_by: str | None = None

    @property
    def confidence(self) -> float:
        """From 0 to 1."""
        return min(MAX_CONFIDENCE, (1 - prod(1 - weight for weight in self.weights)) * prod(1 - doubt for doubt in self.doubts))


class Board:
    """All suspicions of one question."""

    def __init__(self) -> None:
        self.suspicions: dict[str, Suspicion] = {}
        self.ruled_out: set[str] = set()
        """Causes that nothing speaks for and something speaks strongly against."""

    def support(self, cause: str, weight: float, sentence: str, *, by_text: bool = False) -> None:
        """A piece of evidence for a cause."""
        suspicion = self.suspicions.setdefault(cause, Suspicion(cause))
        suspicion.by_text = suspicion.by_text or by_text
        if sentence not in suspicion.evidence:
            suspicion.weights.append(weight)
            suspicion.evidence.append(sentence)

    def doubt(self, cause: str, weight: float, sentence: str) -> None:
        """A piece of evidence against it; of a cause that nothing speaks for, only that is kept."""
        suspicion = self.suspicions.get(cause)
        if suspicion is None and weight >= _RULES_OUT:
            self.ruled_out.add(cause)
        if suspicion is not None and sentence not in suspicion.against:
            suspicion.doubts.append(weight)
            suspicion.against.append(sentence)

    def confidence(self, cause: str) -> float:
        """Of a cause as it stands now; 0 without any evidence."""
        suspicion = self.suspicions.get(cause)
        return 0.0 if suspicion is None else suspicion.confidence

    def strongest(self, causes: Iterable[str]) -> float:
        """The greatest confidence among some causes."""
        return max((self.confidence(cause) for cause in causes), default=0.0)


def as_cause(suspicion: Suspicion) -> Cause:
    """The suspicion as it is answered."""
    return Cause(suspicion.cause, round(suspicion.confidence, 2), _each_once(suspicion.evidence), _each_once(suspicion.against))


def _each_once(sentences: Iterable[str]) -> tuple[str, ...]:
    """The sentences, those that quote the same line joined: the line once, then all that it tells."""
    firsts: dict[str, str] = {}
    joined: dict[str, str] = {}
    for sentence in sentences:
        found = _OF_A_LINE.match(sentence)
        key = sentence if found is None else found[0]
        if key not in firsts:
            firsts[key] = joined[key] = sentence
            continue
        told = _beyond(firsts[key], sentence)
        if told and told not in joined[key]:
            joined[key] += f"; {told}"
    return tuple(joined.values())[:MAX_SENTENCES]


def _beyond(first: str, second: str) -> str:
    """What the second says of the line that both quote, and the first does not say in the same words."""
    common = first[
        : next((at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), min(len(first), len(second)))
    ]
    bracket, colon = common.rfind(" ["), common.rfind(": ")
    inside = bracket >= 0 and len(common) - bracket < _SPEAKER
    at = (colon + 2 if colon > bracket else bracket + 2) if inside else len(common)
    return _TAIL.sub("", second[at:]).strip(" ;,:[]")
