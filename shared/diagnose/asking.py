"""One file or folder, one question, one answer. Pure: texts come in, named as the user names them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.diagnose.answer import Diagnosis
from shared.diagnose.cloud_logging import read_cloud_logging
from shared.diagnose.diagnosis import diagnose
from shared.diagnose.evidence_text import EvidenceTextError
from shared.diagnose.notification import read_notification
from shared.diagnose.prometheus_text import read_page, since_start
from shared.lint.asking import merge
from shared.lint.given import Given
from shared.lint.recognition import Kind, UnreadableError, recognised


@dataclass(frozen=True, slots=True)
class Answer:
    """What diagnose says of one question, and what its files were read as; `unread` are files of a folder that are nothing it reads."""

    name: str
    kinds: tuple[tuple[str, Kind], ...]
    diagnosis: Diagnosis
    unread: tuple[tuple[str, str], ...] = ()


def ask(name: str, text: str) -> Answer:
    """What is wrong, from one file: a bundle, or a single piece of evidence.

    Raises:
        UnreadableError: it is nothing that is read here.
    """
    kind, given = question(name, text)
    return Answer(name, ((name, kind),), diagnose(given))


def ask_folder(name: str, files: Sequence[tuple[str, str]], unread: Sequence[tuple[str, str]] = ()) -> Answer:
    """What is wrong, from all files of a folder together; those that are no evidence are said and left out.

    Raises:
        UnreadableError: none of them is evidence, or two say the same part differently.
    """
    kinds: list[tuple[str, Kind]] = []
    left = list(unread)
    merged: Given | None = None
    for file, text in files:
        try:
            kind, given = question(file, text)
        except UnreadableError as error:
            left.append((file, str(error)))
            continue
        kinds.append((file, kind))
        merged = given if merged is None else merge(merged, given)
    if merged is None:
        raise UnreadableError("no file in it is evidence: a log, a page of metrics, a service, a notification, or a bundle of these")
    return Answer(name, tuple(kinds), diagnose(replace(merged, name=name)), tuple(left))


def question(name: str, text: str) -> tuple[Kind, Given]:
    """The question that a text is: what lint reads, and logs, metrics and notifications besides.

    Raises:
        UnreadableError: it is nothing that is read here.
    """
    kind, given = recognised(name, text)
    try:
        if kind is Kind.LOGS:
            return kind, replace(given, logs=read_cloud_logging(text))
        if kind is Kind.METRICS:
            return kind, replace(given, metrics=since_start(read_page(text)))
        if kind is Kind.NOTIFICATION:
            return kind, replace(given, alert=read_notification(text))
    except EvidenceTextError as error:
        raise UnreadableError(str(error)) from None
    return kind, given
