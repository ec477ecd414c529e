"""A decision in one sentence that a tired operator can read."""

from collections.abc import Sequence

from shared.records.plan import Denial, FieldChange
from shared.records.signals import Signal

EXPLANATION_LIMIT = 1_000


def explain(signals: Sequence[Signal], changes: Sequence[FieldChange], denials: Sequence[Denial]) -> str:
    """What is open, what is changed and why, what is not and why; at most `EXPLANATION_LIMIT` characters."""
    opened = f"{', '.join(signals)} open" if signals else "no incident open"
    parts = [f"{_verb(change)} {change.field} from {_value(change)} to {change.after}, because {change.reason}" for change in changes]
    if not changes:
        parts.append("nothing is changed")
    parts += [f"{denial.code}: {denial.message}" for denial in denials]
    sentence = f"{opened}: {'; '.join(parts)}."
    return sentence if len(sentence) <= EXPLANATION_LIMIT else sentence[: EXPLANATION_LIMIT - 1] + "…"


def _verb(change: FieldChange) -> str:
    if change.before == 0 and change.field.endswith("max_instance_count"):
        return "set"
    return "raise" if change.after > change.before else "lower"


def _value(change: FieldChange) -> str:
    return "not set" if change.before == 0 and change.field.endswith("max_instance_count") else str(change.before)
