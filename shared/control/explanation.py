"""A decision in one sentence that a tired operator can read."""

from collections.abc import Sequence

from shared.records.diagnosed import Diagnosed
from shared.records.plan import Denial, FieldChange
from shared.records.repair import RepairChange
from shared.records.rollout import RolloutChange
from shared.records.signals import Signal

EXPLANATION_LIMIT = 1_000
EVIDENCE_SHOWN = 160
"""Characters of the evidence in a sentence about it; the decision keeps it at length."""


SAYS_NOTHING = frozenset({"insufficient-data", "no-fault"})
"""What a diagnosis says where it names no cause: no news beside an open incident. The decision keeps it."""

_ROLLOUT_VERBS = {
    "deploy": "deploy revision {} with none of the traffic",
    "promote": "move all traffic to revision {}",
    "restore": "put the template of the serving revision back in place of {}",
}


def explain(
    signals: Sequence[Signal],
    changes: Sequence[FieldChange],
    denials: Sequence[Denial],
    rollout: RolloutChange | None = None,
    *,
    diagnosis: Diagnosed | None = None,
    repair: RepairChange | None = None,
) -> str:
    """What is open, what is changed and why, what is not and why; at most `EXPLANATION_LIMIT` characters."""
    opened = f"{', '.join(signals)} open" if signals else "no incident open"
    parts = [f"{_verb(change)} {change.field} from {_value(change)} to {change.after}, because {change.reason}" for change in changes]
    if rollout is not None:
        parts.append(f"{_ROLLOUT_VERBS[rollout.kind].format(rollout.revision)}, because {rollout.reason}")
    if repair is not None:
        parts.append(_repair(repair))
    if not changes and rollout is None and repair is None:
        parts.append("nothing is changed")
    parts += [f"{denial.code}: {denial.message}" for denial in denials]
    said = _likely(diagnosis, said=" ".join(parts)) if diagnosis is not None else ""
    parts += [said] if said else []
    sentence = f"{opened}: {'; '.join(parts)}."
    return sentence if len(sentence) <= EXPLANATION_LIMIT else sentence[: EXPLANATION_LIMIT - 1] + "…"


def _repair(change: RepairChange) -> str:
    repair = change.repair
    if change.kind == "judge":
        return f"the repair of {repair.asked_at:%H:%M} UTC for {repair.cause} is {repair.phase.value}: {repair.outcome}"
    return f"repair the template, because {repair.why}: {', '.join(repair.changes)}; expected: {repair.predicted.text}"


def shown(evidence: str) -> str:
    """A piece of evidence as a sentence has room for it: what was seen, without the remark in brackets on what it means."""
    seen = evidence.rpartition(" [")[0] if evidence.endswith("]") else evidence
    text = seen or evidence
    if len(text) <= EVIDENCE_SHOWN:
        return text
    cut = text[: EVIDENCE_SHOWN - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _likely(diagnosis: Diagnosed, *, said: str) -> str:
    """The first cause with its first evidence, unless it was said already."""
    first = next(iter(diagnosis.causes), None)
    if first is None or first.cause in said or first.cause in SAYS_NOTHING:
        return ""
    evidence = f": {shown(first.evidence[0])}" if first.evidence else ""
    return f"most likely cause {first.cause} ({first.confidence:.2f}){evidence}"


def _verb(change: FieldChange) -> str:
    if change.before == 0 and change.field.endswith("max_instance_count"):
        return "set"
    return "raise" if change.after > change.before else "lower"


def _value(change: FieldChange) -> str:
    return "not set" if change.before == 0 and change.field.endswith("max_instance_count") else str(change.before)
