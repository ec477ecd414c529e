"""Advice for ranked causes: remedies in order, what not to do, where to look next. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shared.diagnose import advice_instances, advice_refusals, advice_speed, advice_start
from shared.diagnose.advice import Adviser
from shared.diagnose.answer import Avoid, Cause, Remedy
from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.looking import next_looks
from shared.diagnose.picture import Picture
from shared.diagnose.ranking import EXPLAINS
from shared.diagnose.remedy_catalog import REMEDIES

ADVISERS: Mapping[str, Adviser] = {
    **advice_instances.ADVISERS,
    **advice_refusals.ADVISERS,
    **advice_start.ADVISERS,
    **advice_speed.ADVISERS,
}
_INDEPENDENT = 0.8
"""A second cause gets a remedy of its own from this confidence on, unless the first explains it."""
_SILENT = frozenset({"insufficient-data", "no-fault", "over-provisioned"})


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, what not, and where to look next."""

    remedies: tuple[Remedy, ...]
    avoid: tuple[Avoid, ...]
    missing: tuple[str, ...]


def advice_for(picture: Picture, causes: Sequence[Cause]) -> Advice:
    """The first cause's remedies, then those of others that stand by themselves. What harms the first is never proposed."""
    first = causes[0]
    parts = list(ADVISERS[first.cause](picture))
    plain = picture.deployment.complete and not picture.settings.gpu
    remedies = [part for part in parts if isinstance(part, Remedy)]
    proposed = {remedy.remedy for remedy in remedies}
    avoid = {part.remedy: part for part in parts if isinstance(part, Avoid) and part.remedy not in proposed}
    for harm in CAUSES[first.cause].wrong_answers:
        for name in harm.remedies:
            if name not in proposed:
                avoid.setdefault(name, Avoid(name, harm.why))
    for other in causes[1:]:
        if not _stands_alone(first, other):
            continue
        harmful = {name for harm in CAUSES[other.cause].wrong_answers for name in harm.remedies}
        for part in ADVISERS[other.cause](picture):
            if isinstance(part, Remedy) and part.remedy not in proposed and part.remedy not in avoid and not harmful & proposed:
                remedies.append(part)
                proposed.add(part.remedy)
                break
    if plain:
        remedies = [_without_gpu(each) for each in remedies]
    return Advice(tuple(remedies), tuple(avoid.values()), next_looks(picture, causes))


def _without_gpu(remedy: Remedy) -> Remedy:
    """The remedy with the risk that it has on a service without a GPU."""
    risk = REMEDIES[remedy.remedy].risk_without_gpu
    return remedy if risk is None else replace(remedy, risk=risk)


def _stands_alone(first: Cause, other: Cause) -> bool:
    if other.confidence < _INDEPENDENT or first.cause in _SILENT or other.cause in _SILENT:
        return False
    return other.cause not in EXPLAINS.get(first.cause, ()) and first.cause not in EXPLAINS.get(other.cause, ())
