"""What the evidence of a look says is wrong, short enough to be kept with a decision."""

from typing import Annotated

from pydantic import Field, StringConstraints

from shared.records.base import Record
from shared.records.facts import ShortText

KEPT_CAUSES = 3
KEPT_SENTENCES = 3
KEPT_REMEDIES = 3
SENTENCE_LIMIT = 500
Sentence = Annotated[str, StringConstraints(max_length=SENTENCE_LIMIT)]


class LikelyCause(Record):
    """One cause by its name in the catalog of causes; `evidence` quotes what was seen, and where."""

    cause: ShortText
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence: Annotated[tuple[Sentence, ...], Field(max_length=KEPT_SENTENCES)] = ()


class ProposedRemedy(Record):
    """One remedy by its name in the catalog of remedies; `knob` is the setting by its real name."""

    remedy: ShortText
    knob: Sentence
    why: Sentence
    before: Sentence | None = None
    after: Sentence | None = None


class Diagnosed(Record):
    """The first causes and remedies, the most likely first."""

    causes: Annotated[tuple[LikelyCause, ...], Field(max_length=KEPT_CAUSES)] = ()
    remedies: Annotated[tuple[ProposedRemedy, ...], Field(max_length=KEPT_REMEDIES)] = ()
    missing: Annotated[tuple[Sentence, ...], Field(max_length=KEPT_SENTENCES)] = ()
    """What to look at next, and where it is found."""
