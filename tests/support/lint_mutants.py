"""Healthy configurations with one to three random edits in them, as people make them: blind to what lint knows.

The same seed gives the same mutants. A mutant is one text with a judge; some of them are asked about inside a bundle.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from tests.support.lint_edits_commands import edit_command
from tests.support.lint_edits_documents import edit_json, edit_v1, edit_yaml
from tests.support.lint_edits_protos import edit_proto
from tests.support.lint_healthy import BUNDLES, HEALTHY, Form

MAX_TRIES = 50


@dataclass(frozen=True, slots=True)
class Seed:
    """A healthy text that a judge reads, and the file in which lint is asked about it."""

    name: str
    form: Form
    text: str
    asked_as: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`text` is what the judge reads, `asked` is the file that lint is asked about."""

    seed: Seed
    text: str
    asked: str
    edits: tuple[str, ...]

    @property
    def form(self) -> Form:
        return self.seed.form


def seeds() -> list[Seed]:
    """All healthy texts that have a judge, alone and inside bundles."""
    alone = [Seed(each.name, each.form, each.text, str) for each in HEALTHY if each.form is not None]
    inside = [
        Seed(f"{bundle.name}/{part}", form, bundle.parts[part], partial(_inside, bundle.text, part))
        for bundle in BUNDLES
        for part, form in bundle.forms.items()
    ]
    return [*alone, *inside]


def _inside(bundle: Callable[..., str], part: str, text: str) -> str:
    return bundle(**{part: text})


_EDITS: dict[Form, Callable[[Random, str], tuple[str, str]]] = {
    Form.DEPLOY: edit_command,
    Form.UPDATE: edit_command,
    Form.V1: edit_v1,
    Form.V2_YAML: edit_yaml,
    Form.V2_JSON: edit_json,
    Form.BATCHING: edit_proto,
    Form.MODELS: edit_proto,
    Form.MONITORING: edit_proto,
}
_SHARES: dict[Form, int] = {
    Form.DEPLOY: 6,
    Form.UPDATE: 2,
    Form.V1: 4,
    Form.V2_YAML: 3,
    Form.V2_JSON: 3,
    Form.BATCHING: 5,
    Form.MODELS: 3,
    Form.MONITORING: 1,
}
"""How many mutants of each form in a round."""


def mutants(seed: int, count: int, forms: Sequence[Form] = tuple(Form)) -> Iterator[Mutant]:
    """That many different mutants of the forms, the forms in turns."""
    random = Random(seed)
    by_form = {form: [each for each in seeds() if each.form is form] for form in forms}
    turns = [form for form in forms for _ in range(_SHARES[form])]
    made: set[tuple[Form, str]] = set()
    for number in range(count):
        form = turns[number % len(turns)]
        yield _mutant(random, by_form[form], made)


def _mutant(random: Random, of: Sequence[Seed], made: set[tuple[Form, str]]) -> Mutant:
    for _ in range(MAX_TRIES):
        seed = random.choice(of)
        text = seed.text
        edits: list[str] = []
        for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3))):
            if text.strip():
                text, said = _EDITS[seed.form](random, text)
                edits.append(said)
        if text != seed.text and text.strip() and (seed.form, text) not in made:
            made.add((seed.form, text))
            return Mutant(seed, text, seed.asked_as(text), tuple(edits))
    raise AssertionError(f"no new mutant in {MAX_TRIES} tries")
