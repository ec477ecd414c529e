"""A decision in one sentence that a tired operator can read."""

from collections.abc import Sequence

from shared.records.plan import Denial, FieldChange
from shared.records.rollout import RolloutChange
from shared.records.signals import Signal

EXPLANATION_LIMIT = 1_000


_ROLLOUT_VERBS = {
    "deploy": "deploy revision {} with none of the traffic",
    "promote": "move all traffic to revision {}",
    "restore": "put the template of the serving revision back in place of {}",
}


def explain(
    signals: Sequence[Signal], changes: Sequence[FieldChange], denials: Sequence[Denial], rollout: RolloutChange | None = None
) -> str:
    """What is open, what is changed and why, what is not and why; at most `EXPLANATION_LIMIT` characters."""
    opened = f"{', '.join(signals)} open" if signals else "no incident open"
    parts = [f"{_verb(change)} {change.field} from {_value(change)} to {change.after}, because {change.reason}" for change in changes]
    if rollout is not None:
        parts.append(f"{_ROLLOUT_VERBS[rollout.kind].format(rollout.revision)}, because {rollout.reason}")
    if not changes and rollout is None:
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
