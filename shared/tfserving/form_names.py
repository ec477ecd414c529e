"""Names of fields that a message does not have, and the fields that were meant. Pure."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

_TYPO = 0.88
"""Of difflib: one or two letters of a long name."""
_NEAR = 0.6
_LONGEST = 60
_OTHER_UNITS = frozenset(
    {"ms", "msec", "msecs", "millis", "milliseconds", "s", "sec", "secs", "second", "seconds", "minutes", "ns", "nanos"}
)
"""batch_timeout_ms resembles batch_timeout_micros, and its value means something else."""
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What else people write. `meant`: message to wrong name to the way of the right field, seen from that message.

    `elsewhere`: blocks whose content belongs into another file, and is handed on. `loose`: fields of such blocks, outside of any.
    """

    meant: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()
    invented: frozenset[str] = frozenset()
    """Names that resemble a real one and are not taken for it."""


@lru_cache(maxsize=512)
def snake(name: str) -> str:
    """`maxBatchSize`, `MAX-BATCH-SIZE` and `max.batch.size` are max_batch_size."""
    spaced = name if name.isupper() else _WORD_START.sub("_", name)
    return _NOT_A_WORD.sub("_", spaced.lower()).strip("_")


def certain(name: str, known: Iterable[str]) -> str | None:
    """The field that the name certainly means: it differs in case, in separators, or in a letter or two."""
    if len(name) > _LONGEST:
        return None
    names, told = list(known), snake(name)
    if told in names:
        return told
    if told.rpartition("_")[2] in _OTHER_UNITS:
        return None
    squeezed = {each.replace("_", ""): each for each in names}
    if told.replace("_", "") in squeezed:
        return squeezed[told.replace("_", "")]
    near = difflib.get_close_matches(told, names, n=2, cutoff=_TYPO)
    if not near:
        return None
    if len(near) == 2 and _ratio(told, near[0]) - _ratio(told, near[1]) < 0.03:  # noqa: PLR2004 (two real names are as near)
        return None
    return near[0]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The field that the name resembles most, if it resembles one."""
    found = difflib.get_close_matches(snake(name[:_LONGEST]), list(known), n=1, cutoff=_NEAR)
    return found[0] if found else None


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
