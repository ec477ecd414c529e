"""What a refusal by Cloud Run's Admin API means: gRPC status and text in, one of Trimtab's answers out. Pure.

Cloud Run puts what matters into the text: a GPU quota and a typing mistake are both INVALID_ARGUMENT, and a stale etag shares its
HTTP status (409) with a revision name that is taken. So the text is read where the status alone does not tell.
"""

import re

from shared.errors import Answer, QuotaRefused, Refused, Retry, ServiceMissing, StaleEtag

MESSAGE_LIMIT = 1_000
"""Characters of Cloud Run's text that are kept; the whole message of an answer fits a stored text."""

RATE_RETRY_SECONDS = 60.0
"""The Admin API's rate limits are per minute."""
PROVISIONING_RETRY_SECONDS = 300.0
"""No GPU to be had now: it frees up when other instances end, which takes minutes."""
UNAVAILABLE_RETRY_SECONDS = 10.0

_VIOLATION = re.compile(
    r"\b(?P<metric>[A-Za-z][A-Za-z0-9]*Per[A-Za-z0-9]+)\s+requested:\s*(?P<requested>\d+)\s+allowed:\s*(?P<allowed>\d+)"
)
_MAX_INSTANCES = re.compile(r"max instances must be set to (\d+) or fewer", re.IGNORECASE)
_NO_GPU_QUOTA = re.compile(r"you do not have quota for using gpus with(?:out)? zonal redundancy", re.IGNORECASE)
_PROVISIONING_QUOTA = re.compile(r"quota exceeded for total allowable", re.IGNORECASE)
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


def bounded(text: str, *, limit: int = MESSAGE_LIMIT) -> str:
    """The text on one line, cut to `limit` characters (the cut is marked)."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def classify(status: str, message: str) -> Retry | Answer:
    """What the refusal means, as an exception to raise.

    `status` is the gRPC status' name (`ABORTED`), `message` Cloud Run's text with its field violations, if it sent any.

    * `StaleEtag`: ABORTED by a version conflict; nothing was written.
    * `QuotaRefused`: the request asks for more than the quota. The numbers are as Cloud Run wrote them; of several violated
      quotas the one is named that leaves the smallest part of what was asked for.
    * `ServiceMissing`: NOT_FOUND.
    * `Refused`: would be refused again; a revision's name that is taken counts here, never as a stale etag.
    * `Retry`: everything the world may mend, and every status this code does not know. Whether a write was applied is then not
      known, except after RESOURCE_EXHAUSTED, which is refused before it is looked at.
    """
    text = bounded(message) or f"no message, status {bounded(status, limit=60)}"
    if status == "NOT_FOUND":
        return ServiceMissing(text)
    if status == "ABORTED" and _STALE.search(message):
        return StaleEtag(text)
    return _quota_refused(message, text) or _by_status(status, message, text)


def _by_status(status: str, message: str, text: str) -> Retry | Refused:
    if _PROVISIONING_QUOTA.search(message):
        return Retry(text, after_seconds=PROVISIONING_RETRY_SECONDS)
    if status == "RESOURCE_EXHAUSTED":
        return Retry(text, after_seconds=RATE_RETRY_SECONDS)
    if status in _PERMANENT:
        return Refused(text)
    return Retry(bounded(f"{status}: {text}"), after_seconds=UNAVAILABLE_RETRY_SECONDS)


def _quota_refused(message: str, text: str) -> QuotaRefused | None:
    stated_max = _MAX_INSTANCES.search(message)
    violations = [(found["metric"], int(found["requested"]), int(found["allowed"])) for found in _VIOLATION.finditer(message)]
    no_gpu_quota = _NO_GPU_QUOTA.search(message)
    if stated_max is None and not violations and no_gpu_quota is None:
        return None
    metric, requested, allowed = min(violations, key=lambda one: one[2] / max(one[1], 1), default=(None, None, None))
    allowed_instances = int(stated_max.group(1)) if stated_max else None
    if no_gpu_quota and allowed_instances is None:
        allowed_instances = 0
    return QuotaRefused(text, metric=metric, requested=requested, allowed=allowed, allowed_instances=allowed_instances)
