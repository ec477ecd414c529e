"""The answer: ranked causes with the evidence for and against each, remedies, what not to do, what is missing. Pure."""

from shared.cloudrun.described import Described
from shared.diagnose.advising import advice_for
from shared.diagnose.answer import Avoid, Cause, Diagnosis, Remedy
from shared.diagnose.picture import read_picture
from shared.diagnose.ranking import ranked
from shared.lint.given import Given

__all__ = ["Avoid", "Cause", "Diagnosis", "Remedy", "diagnose"]


def diagnose(given: Given, described: Described | None = None) -> Diagnosis:
    """What is wrong, from the evidence of one question; `described` is the service where the caller knows it already."""
    picture = read_picture(given, described)
    causes = ranked(picture)
    advice = advice_for(picture, causes)
    return Diagnosis(causes, advice.remedies, advice.avoid, advice.missing)
