"""Why there is no token for a call of Google's: no credentials at all, some that Google refuses, or nobody who answered. Three mends."""

from enum import StrEnum

from google.auth import exceptions as auth

from shared.cloudrun.refusals import bounded
from shared.errors import Retry

FAILURES = (auth.DefaultCredentialsError, auth.RefreshError, auth.TransportError)
"""What Google's library raises where a call gets no token."""
_TEXT_SHOWN = 300


class Lack(StrEnum):
    """Why; the value is what is said first."""

    NONE = "no credentials from the environment"
    REFUSED = "the environment's credentials are refused"
    UNREACHABLE = "whoever makes the tokens of the environment's credentials cannot be reached"

    @property
    def mend(self) -> str:
        """What helps."""
        return _MENDS[self]


_MENDS = {
    Lack.NONE: "sign in with: gcloud auth application-default login",
    Lack.REFUSED: "sign in again with: gcloud auth application-default login; or mend what GOOGLE_APPLICATION_CREDENTIALS names",
    Lack.UNREACHABLE: "signing in again does not help: look at this machine's network (a proxy, a firewall, DNS), and run it again",
}


class NoToken(Retry):
    """A call had no token, and was not made."""

    def __init__(self, text: str, lack: Lack, *, after_seconds: float) -> None:
        super().__init__(text, after_seconds=after_seconds)
        self.lack = lack


def lack_of(error: Exception) -> Lack:
    """Which of the three it is."""
    if isinstance(error, auth.DefaultCredentialsError):
        return Lack.NONE
    # The library says of a metadata server that does not answer that refreshing failed; its cause says why.
    unanswered = isinstance(error, auth.TransportError) or isinstance(error.__cause__, auth.TransportError)
    return Lack.UNREACHABLE if unanswered or getattr(error, "retryable", False) else Lack.REFUSED


def no_token(error: Exception, *, after_seconds: float, what: str = "") -> NoToken:
    """The error to raise, with the library's own words. `what` names the call."""
    lack = lack_of(error)
    text = f"{what}: {lack.value}" if what else lack.value
    said = error.args[0] if error.args else error  # the rest is the answer once more, as Python writes it
    return NoToken(f"{text}: {bounded(str(said), limit=_TEXT_SHOWN)}", lack, after_seconds=after_seconds)
