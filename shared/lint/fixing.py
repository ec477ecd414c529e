"""What is certain, put right in the text itself: the form of TF Serving's files, flags that are misspelt, arguments that are split. Pure.

A fix is kept only where the fixed text, asked again, has the finding no more and no error that was not there before.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from shared.lint.asking import Answer, ask
from shared.lint.finding import Finding, Severity
from shared.lint.recognition import Kind

_FORMS = frozenset({Kind.BATCHING, Kind.MODELS, Kind.MONITORING})
_WORD = r"(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]\S*)"
_WHOLE_FLAG = re.compile(r"--[\w-]+(?:=\S(?:.*\S)?)?")
_SPACED_FLAG = re.compile(r"(?P<flag>--\w+)[ \t]+(?P<value>[^\s\\-]\S*)")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file put right. `codes` are those of the findings that are gone; `answer` is what lint says of the new text."""

    text: str
    codes: tuple[str, ...]
    answer: Answer


def fixed(answer: Answer, text: str) -> Fixed | None:
    """The text with all that is certain put right; None where nothing is."""
    now, current = answer, text
    for candidate in _candidates(answer, text):
        changed = candidate(current)
        if changed is None or changed == current:
            continue
        then = ask(answer.name, changed)
        if _is_better(now, then):
            now, current = then, changed
    gone = Counter(finding.code for finding in answer.findings) - Counter(finding.code for finding in now.findings)
    return Fixed(current, tuple(sorted(gone)), now) if current != text else None


def _is_better(before: Answer, after: Answer) -> bool:
    """Fewer errors, and none of a kind that was not there."""
    errors, left = _errors(before), _errors(after)
    return left.total() < errors.total() and set(left) <= set(errors)


def _errors(answer: Answer) -> Counter[str]:
    return Counter(finding.code for finding in answer.findings if finding.severity is Severity.ERROR)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One change: of the whole text, or of one line of it."""

    finding: Finding | None = None
    whole: str | None = None

    def __call__(self, text: str) -> str | None:
        if self.whole is not None:
            return self.whole
        finding = self.finding
        if finding is None or finding.where.line is None:
            return None
        lines = text.splitlines(keepends=True)
        at = finding.where.line - 1
        if not 0 <= at < len(lines):
            return None
        line = _fixed_line(lines[at], finding)
        return None if line is None else "".join([*lines[:at], line, *lines[at + 1 :]])


def _candidates(answer: Answer, text: str) -> Iterator[_Candidate]:
    kinds = set(answer.kinds)
    if kinds <= _FORMS:
        for checked in answer.checked:
            for file in (checked.deployment.batching, checked.deployment.models, checked.deployment.monitoring):
                if file is not None and file.reading.repaired is not None and file.text.text == text:
                    yield _Candidate(whole=file.reading.repaired)
    if kinds <= {Kind.COMMANDS, Kind.FLAGS}:
        yield from (_Candidate(finding) for finding in answer.findings if finding.severity is Severity.ERROR)


def _fixed_line(line: str, finding: Finding) -> str | None:
    name = finding.where.field.partition("=")[0].partition(" ")[0]
    if not name.startswith("--"):
        return None
    if finding.code == "gcloud-unknown-flag" and finding.fix.startswith("leave "):
        return re.sub(rf"(?<!\S){re.escape(name)}(?:={_WORD}|[ \t]+(?!-|\\){_WORD})?[ \t]*", "", line, count=1)
    if finding.code == "gcloud-unknown-flag" and _WHOLE_FLAG.fullmatch(finding.fix):
        return re.sub(rf"(?<!\S){re.escape(name)}(?=[=\s]|$)", lambda _: finding.fix.partition("=")[0], line, count=1)
    if finding.code in {"gcloud-args-needs-equals", "gcloud-args-comma-split"} and finding.fix.startswith(f"{name}="):
        return re.sub(rf"(?<!\S){re.escape(name)}(?:=|[ \t]+){_WORD}", lambda _: finding.fix, line, count=1)
    if finding.code == "server-flag-invalid":
        spaced = _SPACED_FLAG.search(line)
        if spaced and spaced["flag"] == name:
            return f"{line[: spaced.start()]}{spaced['flag']}={spaced['value']}{line[spaced.end() :]}"
    return None
