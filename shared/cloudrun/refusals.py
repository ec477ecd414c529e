"""What a refusal by Cloud Run's Admin API means: gRPC status and text in, one of Trimtab's answers out. Pure.

Cloud Run puts what matters into the text: a GPU quota and a typing mistake are both INVALID_ARGUMENT, and a stale etag shares its
HTTP status (409) with a revision name that is taken. So the text is read first (`texts`), and the status where no text is known.
"""

import re

from shared.cloudrun.quotas import allowed_instances_in, tightest, violations_in
from shared.cloudrun.text_meanings import TextAnswer, TextMeaning, Where
from shared.cloudrun.texts import RATE_RETRY_SECONDS, SCANNED_CHARACTERS, meaning_of_text
from shared.errors import Answer, QuotaRefused, Refused, Retry, RevisionNameTaken, ServiceMissing, StaleEtag

MESSAGE_LIMIT = 1_000
"""Characters of Cloud Run's text that are kept; the whole message of an answer fits a stored text."""

UNAVAILABLE_RETRY_SECONDS = 10.0

_STALE = re.compile(r"was specified but current version is|conflict for resource|\betag\b", re.IGNORECASE)

_PERMANENT = frozenset(
    {
        "INVALID_ARGUMENT",
        "FAILED_PRECONDITION",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "UNIMPLEMENTED",
        "ALREADY_EXISTS",
        "OUT_OF_RANGE",
    }
)

_TRANSPORT = frozenset({"CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE"})
"""The call itself failed: no words of its text make that permanent."""
_FOR_GOOD = frozenset({TextAnswer.BUG, TextAnswer.FAILED_REVISION, TextAnswer.PARK})


def bounded(text: str, *, limit: int = MESSAGE_LIMIT) -> str:
    """The text on one line, cut to `limit` characters (the cut is marked)."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def classify(status: str, message: str) -> Retry | Answer:
    """What the refusal means, as an exception to raise.

    `status` is the gRPC status' name (`ABORTED`), `message` Cloud Run's text with its field violations, if it sent any.

    * `StaleEtag`: a version conflict; nothing was written.
    * `QuotaRefused`: the request asks for more than the quota. The numbers are as Cloud Run wrote them; of several violated
      quotas the one is named that leaves the smallest part of what was asked for. Without any quota of a kind, `allowed_instances`
      is 0.
    * `ServiceMissing`: NOT_FOUND.
    * `RevisionNameTaken`: a `Refused` that another revision name mends.
    * `Refused`: would be refused again: a value, a permission, an image, a container that does not start, or (said so in its
      message) a call that Trimtab made wrongly.
    * `Retry`: everything the world may mend, and every status this code does not know. Whether a write was applied is then not
      known, except after RESOURCE_EXHAUSTED, which is refused before it is looked at.
    """
    text = bounded(message) or f"no message, status {bounded(status, limit=60)}"
    if status == "NOT_FOUND":
        return ServiceMissing(text)
    if status == "ABORTED" and _STALE.search(message):
        return StaleEtag(text)
    if _asks_too_much(message):
        return _quota_refused(message, text)
    meaning = meaning_of_text(message, where=Where.ADMIN_API)
    if meaning is None or (status in _TRANSPORT and meaning.answer in _FOR_GOOD):
        return _by_status(status, text)
    return _by_meaning(meaning, text)


def _by_meaning(meaning: TextMeaning, text: str) -> Retry | Answer:
    match meaning.answer:
        case TextAnswer.REREAD:
            return StaleEtag(text)
        case TextAnswer.RENAME_REVISION:
            return RevisionNameTaken(text, revision=meaning.captured)
        case TextAnswer.QUOTA:
            return QuotaRefused(text, allowed_instances=meaning.allowed_instances)
        case TextAnswer.RETRY | TextAnswer.NO_CAPACITY:
            return Retry(text, after_seconds=meaning.known.after_seconds or UNAVAILABLE_RETRY_SECONDS)
        case TextAnswer.BUG:
            return Refused(bounded(f"{text} [{meaning.explanation} This is a mistake in the call, not in the service.]"))
        case _:  # a value, a permission, an image, a revision that does not start
            return Refused(text)


def _by_status(status: str, text: str) -> Retry | Refused:
    if status == "RESOURCE_EXHAUSTED":
        return Retry(text, after_seconds=RATE_RETRY_SECONDS)
    if status in _PERMANENT:
        return Refused(text)
    return Retry(bounded(f"{status}: {text}"), after_seconds=UNAVAILABLE_RETRY_SECONDS)


def _asks_too_much(message: str) -> bool:
    """Whether the text has a quota's numbers in it, whatever else it says."""
    scanned = message[:SCANNED_CHARACTERS]
    return bool(violations_in(scanned)) or allowed_instances_in(scanned) is not None


def _quota_refused(message: str, text: str) -> QuotaRefused:
    scanned = message[:SCANNED_CHARACTERS]
    allowed_instances = allowed_instances_in(scanned)
    worst = tightest(violations_in(scanned))
    if worst is None:
        return QuotaRefused(text, allowed_instances=allowed_instances)
    return QuotaRefused(text, metric=worst.metric, requested=worst.requested, allowed=worst.allowed, allowed_instances=allowed_instances)
