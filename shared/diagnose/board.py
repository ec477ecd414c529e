"""Where rules write down what speaks for a cause and what against it. Pure.

Pieces of evidence are taken as independent: confidence is what remains of doubt, multiplied, `1 - (1 - w1)(1 - w2)...`, and then
reduced by what speaks against it. Weights are judgements of how often such a piece misleads, not measured frequencies.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from shared.diagnose.answer import Cause

MAX_CONFIDENCE = 0.99
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

    def support(self, cause: str, weight: float, sentence: str, *, by_text: bool = False) -> None:
        """A piece of evidence for a cause."""
        suspicion = self.suspicions.setdefault(cause, Suspicion(cause))
        suspicion.by_text = suspicion.by_text or by_text
        if sentence not in suspicion.evidence:
            suspicion.weights.append(weight)
            suspicion.evidence.append(sentence)

    def doubt(self, cause: str, weight: float, sentence: str) -> None:
        """A piece of evidence against it; of a cause that nothing speaks for, none is kept."""
        suspicion = self.suspicions.get(cause)
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
    return Cause(
        suspicion.cause, round(suspicion.confidence, 2), tuple(suspicion.evidence[:MAX_SENTENCES]), tuple(suspicion.against[:MAX_SENTENCES])
    )
