"""What Google's client libraries raise, in Trimtab's three outcomes."""

from collections.abc import Iterator
from contextlib import contextmanager

from google.api_core import exceptions
from google.auth.exceptions import TransportError

from shared.errors import Retry, TokenConflict

MENDABLE = (
    exceptions.Aborted,
    exceptions.Cancelled,
    exceptions.DeadlineExceeded,
    exceptions.InternalServerError,
    exceptions.ResourceExhausted,
    exceptions.RetryError,
    exceptions.ServiceUnavailable,
    exceptions.Unknown,
    TransportError,
)
"""Errors after which the same call may succeed. After a write, none of them says whether it landed."""

CONFLICTS = (exceptions.AlreadyExists, exceptions.FailedPrecondition, exceptions.NotFound)
"""A write's precondition did not hold: nothing was written."""


@contextmanager
def mendable_as_retry(what: str) -> Iterator[None]:
    """Turn `MENDABLE` into `Retry`; everything else passes, because it is a bug or the caller's to understand.

    Raises:
        Retry: the call may succeed later; `what` names it.
    """
    try:
        yield
    except MENDABLE as error:
        raise Retry(f"{what}: {type(error).__name__}: {error}") from error


@contextmanager
def conflict_as_token_conflict(what: str) -> Iterator[None]:
    """Turn a failed precondition of a write into `TokenConflict`. Only for writes: a query's FailedPrecondition is a missing index.

    Raises:
        TokenConflict: nothing was written; `what` names the write.
    """
    try:
        yield
    except CONFLICTS as error:
        raise TokenConflict(f"{what}: {type(error).__name__}: {error}") from error
