"""What a condition of a service or revision, or the error of an operation, means for whoever wrote the change. Pure.

Only reason and message tell: the same failed rollout has had the operation codes 3, 9 and 13 in different APIs of Cloud Run, so no
code is looked at. Reasons are taken in the Admin API v2's spelling (`HEALTH_CHECK_CONTAINER_ERROR`) and in that of v1 and of logs
(`HealthCheckContainerError`).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from shared.cloudrun.quotas import tightest
from shared.cloudrun.text_meanings import TextAnswer, TextMeaning, Where
from shared.cloudrun.texts import PROVISIONING_RETRY_SECONDS, SETTLING_RETRY_SECONDS, meaning_of_text


class VerdictKind(StrEnum):
    """What became of the change."""

    READY = "ready"
    """It is in force."""
    WAIT = "wait"
    """Under way, or Cloud Run tries again by itself: look again."""
    RETRY = "retry"
    """It failed for a reason that passes: the same write again after `after_seconds`, at most `retries` times in a row."""
    FAILED_REVISION = "failed-revision"
    """The template does not start. Traffic stayed on the old revision; the same template is not tried again."""
    REFUSED = "refused"
    """Configuration or IAM: a person must change something. Traffic stayed on the old revision."""
    QUOTA = "quota"
    """No GPUs, CPU or memory when instances were started. Traffic stayed on the old revision; later, under a new revision number."""
    REVISION_LIMIT = "revision-limit"
    """Too many revisions are live: take tags and traffic from old ones, then again."""
    RETIRED = "retired"
    """The revision serves nothing any more. `Ready` may be true all the same: no proof that it ever started."""
    UNPROVED = "unproved"
    """The revision is accepted and no instance of it was asked for, so that nothing is known of whether it starts."""
    SUPERSEDED = "superseded"
    """Somebody wrote the service after this change."""
    UNKNOWN = "unknown"
    """It failed in words this code does not know: once more after `after_seconds`, then a person."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a change, and why."""

    kind: VerdictKind
    why: str
    after_seconds: float | None = None
    retries: int | None = None
    """How often in a row a retry is worth it; None: no bound of its own."""
    requested: int | None = None
    allowed: int | None = None
    """Of a quota that was named with its numbers, in the quota's own unit; of several the one that leaves the smallest part of what was
    asked for."""


_WAIT, _REFUSED, _UNPROVED = VerdictKind.WAIT, VerdictKind.REFUSED, VerdictKind.UNPROVED

REASONS: dict[str, Verdict] = {
    # Condition.CommonReason
    "COMMON_REASON_UNDEFINED": Verdict(VerdictKind.UNKNOWN, "no reason is given", PROVISIONING_RETRY_SECONDS, 1),
    "UNKNOWN": Verdict(VerdictKind.UNKNOWN, "Cloud Run does not know the reason", PROVISIONING_RETRY_SECONDS, 1),
    "REVISION_FAILED": Verdict(VerdictKind.FAILED_REVISION, "the revision did not become ready"),
    "PROGRESS_DEADLINE_EXCEEDED": Verdict(VerdictKind.RETRY, "Cloud Run gave up waiting for the rollout", SETTLING_RETRY_SECONDS, 1),
    "CONTAINER_MISSING": Verdict(_REFUSED, "there is no image of that name"),
    "CONTAINER_PERMISSION_DENIED": Verdict(_REFUSED, "Cloud Run may not read the image"),
    "CONTAINER_IMAGE_UNAUTHORIZED": Verdict(_REFUSED, "the project's Binary Authorization policy does not allow the image"),
    "CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED": Verdict(_REFUSED, "the image could not be checked against the policy"),
    "ENCRYPTION_KEY_PERMISSION_DENIED": Verdict(_REFUSED, "Cloud Run may not use the encryption key"),
    "ENCRYPTION_KEY_CHECK_FAILED": Verdict(_REFUSED, "the permission on the encryption key could not be checked"),
    "SECRETS_ACCESS_CHECK_FAILED": Verdict(_REFUSED, "a secret is missing, or the service account may not read it"),
    "WAITING_FOR_OPERATION": Verdict(_WAIT, "another operation is under way"),
    "IMMEDIATE_RETRY": Verdict(_WAIT, "Cloud Run tries again at once"),
    "POSTPONED_RETRY": Verdict(_WAIT, "an attempt failed and Cloud Run tries again later"),
    "INTERNAL": Verdict(VerdictKind.RETRY, "an error inside Cloud Run", SETTLING_RETRY_SECONDS, 3),
    "VPC_NETWORK_NOT_FOUND": Verdict(_REFUSED, "there is no VPC network of that name"),
    # Condition.RevisionReason
    "REVISION_REASON_UNDEFINED": Verdict(VerdictKind.UNKNOWN, "no reason is given", PROVISIONING_RETRY_SECONDS, 1),
    "PENDING": Verdict(_WAIT, "the revision is being made"),
    "RESERVE": Verdict(_UNPROVED, "the revision is kept in reserve and gets no traffic"),
    "RETIRED": Verdict(VerdictKind.RETIRED, "the revision is retired"),
    "RETIRING": Verdict(VerdictKind.RETIRED, "the revision is being retired"),
    "RECREATING": Verdict(_WAIT, "the revision is being made anew"),
    "HEALTH_CHECK_CONTAINER_ERROR": Verdict(VerdictKind.FAILED_REVISION, "the container did not pass its start-up probe"),
    "CUSTOMIZED_PATH_RESPONSE_PENDING": Verdict(_WAIT, "the probe's path does not answer well yet, and Cloud Run tries again"),
    "MIN_INSTANCES_NOT_PROVISIONED": Verdict(_WAIT, "the revision's minimum instances are not up: it has no traffic, or traffic is moving"),
    "ACTIVE_REVISION_LIMIT_REACHED": Verdict(VerdictKind.REVISION_LIMIT, "the region has as many live revisions as it may have"),
    "NO_DEPLOYMENT": Verdict(_UNPROVED, "nothing was deployed (a reason that only old services have)"),
    "HEALTH_CHECK_SKIPPED": Verdict(_UNPROVED, "the service is scaled by hand to 0 instances, so its health was not checked"),
    "MIN_INSTANCES_WARMING": Verdict(_WAIT, "the revision's minimum instances are starting"),
}
"""Every reason of the Admin API v2, by its name, as it reads when the condition has failed."""

_SAYS_NOTHING = frozenset({"", "COMMON_REASON_UNDEFINED", "REVISION_REASON_UNDEFINED"})
_NO_TRAFFIC = frozenset({VerdictKind.RETIRED, VerdictKind.UNPROVED})
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_SUCCEEDED = frozenset({"CONDITION_SUCCEEDED", "SUCCEEDED", "TRUE"})
_FAILED = frozenset({"CONDITION_FAILED", "FAILED", "FALSE"})
_IN_PROGRESS = frozenset({"CONDITION_PENDING", "CONDITION_RECONCILING", "PENDING", "RECONCILING", "UNKNOWN"})

_KIND_OF_ANSWER: dict[TextAnswer, VerdictKind] = {
    TextAnswer.RETRY: VerdictKind.RETRY,
    TextAnswer.NO_CAPACITY: VerdictKind.QUOTA,
    TextAnswer.QUOTA: VerdictKind.QUOTA,
    TextAnswer.FAILED_REVISION: VerdictKind.FAILED_REVISION,
    TextAnswer.PARK: VerdictKind.REFUSED,
    TextAnswer.RENAME_REVISION: VerdictKind.REFUSED,
    TextAnswer.BUG: VerdictKind.REFUSED,
    TextAnswer.DROP_REVISIONS: VerdictKind.REVISION_LIMIT,
}


_WAITS_FOR_ROOM = frozenset({"PENDING", "MIN_INSTANCES_NOT_PROVISIONED", "MIN_INSTANCES_WARMING"})


def canonical_reason(reason: str) -> str:
    """The reason in the Admin API v2's spelling: `HealthCheckContainerError` is `HEALTH_CHECK_CONTAINER_ERROR`."""
    bare = reason.strip()
    return bare.upper() if "_" in bare or bare.isupper() else _WORD_BREAK.sub("_", bare).upper()


def meaning_of(*, reason: str = "", message: str = "", state: str = "CONDITION_FAILED", type_: str = "Ready") -> Verdict:
    """What a condition, or an operation's error, means.

    `state` is `Condition.State` by name (`CONDITION_FAILED`, with or without its prefix) or v1's status (`True`, `False`,
    `Unknown`); of an operation's error it is left at its default. `type_` is the condition's: `Ready` tells of the whole, `Active`
    only of whether traffic comes, `ContainerHealthy` only of the start.

    A succeeded condition is READY unless its reason says that the revision serves nothing; one under way is WAIT, and so is one
    that says nothing at all. Of a failed one the message is read before the reason, because general reasons (`REVISION_FAILED`,
    `INTERNAL`) carry particular messages; but where the reason says that Cloud Run tries again by itself, it is WAIT. A failed
    condition that waits for instances and names what it lacks has stopped waiting: the text counts.
    """
    name = canonical_reason(reason)
    known = REASONS.get(name)
    told = state.strip().upper()
    if told in _SUCCEEDED:
        return known if known is not None and known.kind in _NO_TRAFFIC else Verdict(VerdictKind.READY, f"{type_} is true")
    silent = told not in _FAILED and name in _SAYS_NOTHING and not message
    if told in _IN_PROGRESS or silent:
        return Verdict(VerdictKind.WAIT, known.why if known is not None and known.kind == VerdictKind.WAIT else f"{type_} is not settled")
    if known is not None and known.kind in _NO_TRAFFIC:
        return known
    text = meaning_of_text(message, where=Where.OPERATION) or meaning_of_text(message, where=Where.ADMIN_API)
    if known is not None and known.kind == VerdictKind.WAIT and not (told in _FAILED and name in _WAITS_FOR_ROOM and text is not None):
        return known if text is None else Verdict(VerdictKind.WAIT, f"{known.why}: {text.explanation}")
    if text is not None and text.answer in _KIND_OF_ANSWER:
        return _of_text(text)
    if name in _SAYS_NOTHING:
        return _by_type(type_)
    if known is None:
        return Verdict(VerdictKind.UNKNOWN, f"{type_} failed for a reason this code does not know: {name}", PROVISIONING_RETRY_SECONDS, 1)
    return known


def service_verdict(
    *,
    written_generation: int,
    generation: int,
    observed_generation: int,
    reconciling: bool,
    state: str,
    reason: str = "",
    message: str = "",
) -> Verdict:
    """What became of the write that made `written_generation`, by a later reading of the service and its terminal condition.

    A service is settled when it is not reconciling and `observed_generation` is its generation (docstring of
    `Service.reconciling`); before that its other outputs are transient. After a failure `observed_generation` stays behind.
    """
    if generation > written_generation:
        return Verdict(VerdictKind.SUPERSEDED, f"generation {generation} was written after {written_generation}")
    if generation < written_generation:
        return Verdict(VerdictKind.WAIT, f"the reading is older than the write: generation {generation}, written {written_generation}")
    if reconciling or (state.strip().upper() in _SUCCEEDED and observed_generation != generation):
        return Verdict(VerdictKind.WAIT, "Cloud Run is still reconciling the service")
    return meaning_of(reason=reason, message=message, state=state)


def _of_text(text: TextMeaning) -> Verdict:
    kind = _KIND_OF_ANSWER[text.answer]
    worst = tightest(text.violations)
    return Verdict(
        kind=kind,
        why=text.explanation,
        after_seconds=PROVISIONING_RETRY_SECONDS if kind == VerdictKind.QUOTA else text.known.after_seconds,
        retries=text.known.retries,
        requested=None if worst is None else worst.requested,
        allowed=None if worst is None else worst.allowed,
    )


def _by_type(type_: str) -> Verdict:
    """A failed condition without a word: its type is all there is."""
    match type_:
        case "Active":
            return Verdict(VerdictKind.UNPROVED, "the revision gets no traffic")
        case "ContainerHealthy":
            return Verdict(VerdictKind.FAILED_REVISION, "the container did not become healthy")
        case _:
            return Verdict(VerdictKind.UNKNOWN, f"{type_} failed without a reason", PROVISIONING_RETRY_SECONDS, 1)
