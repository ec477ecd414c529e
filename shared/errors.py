"""The outcomes of handling an event, and the answers of outside systems that a caller must tell apart.

    TrimtabError
    ├── Retry                  the world may change: try again after a while
    ├── Park                   this event can never work: keep it with its reason, answer 200
    └── Answer                 an outside system answered; the caller of the port decides what it means
        ├── TokenConflict      the stored state is no longer the one that was read
        ├── StaleEtag          Cloud Run's resource version moved between read and write
        ├── QuotaRefused       Cloud Run refused a write for lack of quota
        ├── Refused            Cloud Run refused a call that will not become right by repeating it
        │   └── RevisionNameTaken  the new revision's name is that of an older one
        └── ServiceMissing     Cloud Run knows no such service

Anything else that is raised is a bug: logged with the event's key, answered 500, retried by delivery, dead-lettered.
An `Answer` never reaches an entrance: a handler turns it into state, a `Retry`, or a decision that says why.
"""


class TrimtabError(Exception):
    """Root of everything Trimtab raises on purpose."""


class Retry(TrimtabError):
    """The world may change; the same work may succeed after `after_seconds`.

    In an event function it is answered 503 and delivery repeats; inside reconcile it becomes `next_look_at`.
    """

    def __init__(self, reason: str, *, after_seconds: float = 10.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_seconds = after_seconds


class Park(TrimtabError):
    """This event can never work. `code` is one of `records.parked.ParkCode`; `reason` says what, where and what to do."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Answer(TrimtabError):
    """An outside system answered something the caller of the port must handle."""


class TokenConflict(Answer):
    """The state's token is not the one the caller read: somebody else committed in between."""


class StaleEtag(Answer):
    """Cloud Run's etag moved; by a person, by us, or by the platform's own reconciliation."""


class QuotaRefused(Answer):
    """Cloud Run refused a write for lack of quota.

    `metric` is the quota's name, `requested` and `allowed` are in the quota's own unit (instances for GPUs, milli-CPU,
    bytes); `allowed_instances` is the max instance count Cloud Run said it would accept, or None if it did not say.
    """

    def __init__(
        self,
        message: str,
        *,
        metric: str | None = None,
        requested: int | None = None,
        allowed: int | None = None,
        allowed_instances: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.metric = metric
        self.requested = requested
        self.allowed = allowed
        self.allowed_instances = allowed_instances


class Refused(Answer):
    """Cloud Run refused the call, a read or a write, and would refuse it again: a person must read `message`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RevisionNameTaken(Refused):
    """The template changed while its name is that of an existing revision: nothing was written.

    Whoever numbers revisions takes the next number; the same name never works again. Everybody else treats it as `Refused`.
    `revision` is the name, None if Cloud Run did not say it.
    """

    def __init__(self, message: str, *, revision: str | None = None) -> None:
        super().__init__(message)
        self.revision = revision


class ServiceMissing(Answer):
    """Cloud Run answered that there is no such service."""
