"""Mutants before their judges and before lint: who agrees, and on what not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shared.lint.asking import Answer, ask
from shared.lint.finding import Severity
from shared.lint.recognition import UnreadableError
from tests.support.lint_healthy import Form
from tests.support.lint_judges import Judgement, Verdict, judge
from tests.support.lint_mutants import Mutant, Seed

RECALL = 0.99
"""The least share of refused mutants in which lint finds an error."""
FALSE_ERRORS = 0.01
"""The largest share of accepted mutants in which lint finds an error that the judge contradicts."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One mutant, what its judge says, and lint's errors; `unreadable` is why lint read nothing, which stops a user just as an error."""

    mutant: Mutant
    judgement: Judgement
    errors: tuple[str, ...]
    unreadable: str = ""

    @property
    def missed(self) -> bool:
        """Refused, and lint says nothing of it."""
        return self.judgement.verdict is Verdict.REFUSED and not self.errors and not self.unreadable

    @property
    def contradicted(self) -> tuple[str, ...]:
        """The errors of lint's that the judge contradicts."""
        if self.judgement.verdict is not Verdict.ACCEPTED:
            return ()
        return ("unreadable",) if self.unreadable else tuple(sorted(set(self.errors) & self.judgement.speaks_on))

    def __str__(self) -> str:
        said = ", ".join(self.errors) or self.unreadable or "nothing"
        edits = "; ".join(self.mutant.edits)
        judged = f"{self.judgement.verdict} ({self.judgement.reason})"
        return f"{self.mutant.seed.name} [{edits}]\n{self.mutant.text}\n  judge: {judged}\n  lint: {said}"


@dataclass
class Tally:
    """What became of the mutants of one form. Those that mean what the healthy text means are no trial, unless lint errs on them."""

    tried: list[Tried] = field(default_factory=list)
    same: int = 0

    def _of(self, verdict: Verdict) -> list[Tried]:
        return [each for each in self.tried if each.judgement.verdict is verdict]

    @property
    def refused(self) -> int:
        return len(self._of(Verdict.REFUSED))

    @property
    def accepted(self) -> int:
        return len(self._of(Verdict.ACCEPTED))

    @property
    def silent(self) -> int:
        return len(self._of(Verdict.SILENT))

    @property
    def unreadable(self) -> int:
        """Refused ones that lint could not read at all."""
        return sum(1 for each in self._of(Verdict.REFUSED) if each.unreadable)

    @property
    def missed(self) -> list[Tried]:
        return [each for each in self.tried if each.missed]

    @property
    def contradicted(self) -> list[Tried]:
        return [each for each in self.tried if each.contradicted]

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / max(1, self.refused)

    @property
    def false_errors(self) -> float:
        return len(self.contradicted) / max(1, self.accepted)


def trial(mutants: Iterable[Mutant]) -> dict[Form, Tally]:
    """Judge all mutants, ask lint about them, and count. The test is skipped where a judge is not installed."""
    by_form: dict[Form, list[Mutant]] = {}
    for mutant in mutants:
        by_form.setdefault(mutant.form, []).append(mutant)
    return {form: _tally(form, of_form) for form, of_form in by_form.items()}


def together(tallies: Iterable[Tally]) -> Tally:
    """All of them as one."""
    whole = Tally()
    for each in tallies:
        whole.tried += each.tried
        whole.same += each.same
    return whole


def _tally(form: Form, of_form: Sequence[Mutant]) -> Tally:
    seeds: list[Seed] = list({mutant.seed.name: mutant.seed for mutant in of_form}.values())
    judged = judge(form, [*(seed.text for seed in seeds), *(mutant.text for mutant in of_form)])
    healthy = {seed.name: judgement for seed, judgement in zip(seeds, judged, strict=False)}
    tally = Tally()
    for mutant, judgement in zip(of_form, judged[len(seeds) :], strict=True):
        tried = tried_by_lint(mutant, judgement)
        if judgement.meaning and judgement.meaning == healthy[mutant.seed.name].meaning and not tried.contradicted:
            tally.same += 1
        else:
            tally.tried.append(tried)
    return tally


def tried_by_lint(mutant: Mutant, judgement: Judgement) -> Tried:
    try:
        answer = ask(mutant.seed.name, mutant.asked)
    except UnreadableError as error:
        return Tried(mutant, judgement, (), str(error))
    return Tried(mutant, judgement, errors_of(answer))


def errors_of(answer: Answer) -> tuple[str, ...]:
    """The codes of the answer's errors, each once."""
    return tuple(dict.fromkeys(finding.code for finding in answer.findings if finding.severity is Severity.ERROR))
