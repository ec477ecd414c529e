"""Reads one of TF Serving's files past its mistakes: the strict parser first, and where it refuses, the tolerant one. Pure.

The strict parser has the last word twice: a text that it takes has no problem of form, and a text put right is given out only if it
takes that. `shared.tfserving.text` is that parser.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from google.protobuf.descriptor import Descriptor

from shared.tfserving.descriptors import new_message
from shared.tfserving.field_lines import field_lines
from shared.tfserving.form_fitting import Elsewhere, Fitting
from shared.tfserving.form_kinds import Words
from shared.tfserving.form_names import Vocabulary
from shared.tfserving.form_nodes import Comment, Problems
from shared.tfserving.form_parsing import Parsing
from shared.tfserving.form_writing import write
from shared.tfserving.form_yaml import read_yaml
from shared.tfserving.reading import FormFault, FormProblem, Reading
from shared.tfserving.text import MAX_TEXT_CHARACTERS, ConfigTextError

Meant = TypeVar("Meant")

_IN_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_EXAMPLES = {
    "BatchingParameters": "max_batch_size { value: 32 }",
    "ModelServerConfig": 'model_config_list { config { name: "m" base_path: "/models/m" } }',
    "MonitoringConfig": "prometheus_config { enable: true }",
}
"""A field of each kind of file."""
_MOVED = 20
"""In so many misplaced blocks, comments leave the file with the block."""
_WHOLE_FILE = "\0whole file"
"""Stands for the whole file put right, until that is known."""


@dataclass(frozen=True, slots=True)
class Form(Generic[Meant]):
    """A reading, and what of the file belongs into another one. `text` is the text that was read, offsets are in it."""

    reading: Reading[Meant]
    text: str
    elsewhere: tuple[Elsewhere, ...] = ()
    is_foreign: bool = False
    """It was in another language, and offsets mean nothing."""


def read_form(text: str, *, root: str, parse: Callable[[str], Meant], vocabulary: Vocabulary) -> Form[Meant]:
    """Read a file whose message is `root`; never raises. Lines of fields are known for a file that is right too."""
    kind = new_message(root).DESCRIPTOR
    try:
        taken = parse(text)
    except ConfigTextError as error:
        return _past_mistakes(text, error, kind, parse, vocabulary)
    return Form(Reading(taken, lines=field_lines(text, kind)), text)


def _past_mistakes(
    text: str, refused: ConfigTextError, kind: Descriptor, parse: Callable[[str], Meant], vocabulary: Vocabulary
) -> Form[Meant]:
    """The reading of a text that the strict parser refuses."""
    if len(text) > MAX_TEXT_CHARACTERS:
        return Form(Reading(None, (FormProblem(FormFault.SYNTAX, "", None, str(refused), ""),)), text)
    problems = Problems()
    plain = _without_control_characters(text, problems)
    document = read_yaml(plain) or Parsing(plain, problems).document()
    if document.language:
        _foreign(document.language, kind, problems)
    words = Words(parse, problems)
    fitting = Fitting(kind, plain, vocabulary=vocabulary, words=words, is_unclosed=document.unclosed)
    put = fitting.fit(document.fields)
    repaired = write(put, _staying(document.comments, fitting.elsewhere))
    meant = _parsed(repaired, parse, refused, problems) if (put or problems.certain) and not problems.hopeless else None
    if document.joined_sign and not problems.found:
        return Form(Reading(meant, lines=fitting.lines), plain)
    if not problems.found:
        problems.syntax("", refused.line, str(refused), _WHOLE_FILE)
    cut_short = document.cut_short or problems.hopeless
    whole = repaired if problems.certain and not cut_short else None
    found = tuple(replace(problem, fix=whole or "") if problem.fix == _WHOLE_FILE else problem for problem in problems.found)
    reading = Reading(None if cut_short else meant, found, whole, fitting.lines)
    return Form(reading, plain, tuple(fitting.elsewhere), is_foreign=bool(document.language))


def _parsed(repaired: str, parse: Callable[[str], Meant], refused: ConfigTextError, problems: Problems) -> Meant | None:
    """What the text put right means; None where even that is refused."""
    try:
        return parse(repaired)
    except ConfigTextError:
        problems.uncertain("", refused.line, str(refused))
        return None


def _staying(comments: Sequence[Comment], elsewhere: Sequence[Elsewhere]) -> list[Comment]:
    """The comments without those in blocks that leave the file."""
    moved = [(each.field.start, each.field.end) for each in elsewhere[:_MOVED]]
    return [comment for comment in comments if not any(start <= comment.offset < end for start, end in moved)]


def _foreign(language: str, kind: Descriptor, problems: Problems) -> None:
    problems.syntax(
        "",
        1,
        f"This is {language}. TF Serving reads protobuf text, whatever the file is called: names without quotes, no outer braces, no "
        f"indentation that means anything, like {_EXAMPLES[kind.name]}.",
        _WHOLE_FILE,
    )
    problems.foreign = True


def _without_control_characters(text: str, problems: Problems) -> str:
    found = _IN_NO_TEXT.search(text)
    if found is None:
        return text
    problems.syntax(
        "",
        text.count("\n", 0, found.start()) + 1,
        f"{found.group()!a} cannot stand in a text file: the file is not UTF-8, or no text. The parser says: Invalid control characters "
        "encountered in text.",
        "save the file as UTF-8",
    )
    return _IN_NO_TEXT.sub("", text)
