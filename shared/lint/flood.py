"""So many findings of one code that nobody reads them: the first are kept, and the rest is counted. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from shared.lint.finding import Finding

MOST_OF_A_CODE: Final = 50
"""A text that has the same mistake more often was written by a program, and is put right there."""


def limited(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in their order, each once and at most 50 of a code; one more says how many are left out, at the first one's place.

    A single one is not left out: to say so would be as long. Those left out are not held, so the findings may come from a generator.
    """
    kept: list[Finding] = []
    known: set[Finding] = set()
    left_out: set[int] = set()
    counts: Counter[str] = Counter()
    last: dict[str, Finding] = {}
    for finding in findings:
        if finding in known or hash(finding) in left_out:
            continue
        counts[finding.code] += 1
        if counts[finding.code] <= MOST_OF_A_CODE + 1:
            kept.append(finding)
            known.add(finding)
        else:
            left_out.add(hash(finding))
            last[finding.code] = finding
    shown: Counter[str] = Counter()
    for at, finding in enumerate(kept):
        shown[finding.code] += 1
        if shown[finding.code] > MOST_OF_A_CODE and finding.code in last:
            kept[at] = _rest(finding, last[finding.code], counts[finding.code] - MOST_OF_A_CODE)
    return tuple(kept)


def _rest(first: Finding, last: Finding, count: int) -> Finding:
    """What stands for the ones left out."""
    line = last.where.line if last.where.file == first.where.file and last.where.line != first.where.line else None
    where = f", the last in line {line:,}" if line is not None else ""
    return replace(
        first,
        message=f"{count:,} more findings of {first.code} are left out{where}: {MOST_OF_A_CODE} are shown",
        fix=f"put the {MOST_OF_A_CODE} that are shown right, or what wrote the text, and check it again",
    )
