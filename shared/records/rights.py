"""Who may give which command on which service. Pure.

A right comes from where a command came from: the subscription that Pub/Sub pushed it through, or the identity that the platform verified.
What a command says of its author gives none. Without a grant nothing is allowed.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.records.base import Record
from shared.records.subject import ServiceId

CommandName = Literal["apply", "patch", "hold", "release", "rollback", "reconcile", "redrive", "discard", "delete"]
ServicePattern = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^*\s]*\*?$")]
"""A service as `project:region:name`, or the beginning of some with a `*` at the end; `*` alone is also what is about no one service."""

EVERYTHING = "*"


class Caller(Record):
    """Where a command came from. Neither of the two: nobody is known, and nothing is allowed."""

    identity: Annotated[str, StringConstraints(max_length=320)] | None = None
    """The e-mail address that the platform verified."""
    subscription: Annotated[str, StringConstraints(max_length=1_024)] | None = None
    """`projects/P/subscriptions/S`, of a push that Pub/Sub itself made."""
    trusted: bool = False
    """Nobody but the owner of this machine can call (the local edition): everything is allowed."""

    def __str__(self) -> str:
        if self.subscription is not None:
            return f"the subscription {self.subscription}"
        if self.identity is not None:
            return self.identity
        return "this machine" if self.trusted else "a caller without a verified identity"


class Grant(Record):
    """One line of the grants: these commands, on these services, to one subscription or one identity."""

    subscription: Annotated[str, StringConstraints(pattern=r"^projects/[^/\s]{1,92}/subscriptions/[^/\s]{3,255}$")] | None = None
    identity: Annotated[str, StringConstraints(pattern=r"^[^@\s]{1,128}@[^@\s]{1,190}$")] | None = None
    commands: Annotated[tuple[CommandName, ...], Field(min_length=1, max_length=9)]
    services: Annotated[tuple[ServicePattern, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.subscription is None) == (self.identity is None):
            raise ValueError("a grant wants either subscription or identity")
        return self

    def is_for(self, caller: Caller) -> bool:
        """Whether this grant is the caller's. Addresses are compared without regard to case, as mail does."""
        if self.subscription is not None:
            return caller.subscription == self.subscription
        return caller.identity is not None and caller.identity.lower() == str(self.identity).lower()

    def covers(self, service: ServiceId | None) -> bool:
        """Whether it names the service; None (all services, or a parked event) takes `*`."""
        if service is None:
            return EVERYTHING in self.services
        name = str(service)
        return any(name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in self.services)


class Grants(Record):
    """All grants of a deployment."""

    grants: Annotated[tuple[Grant, ...], Field(max_length=200)] = ()

    @classmethod
    def of(cls, grants: Iterable[Mapping[str, Any]]) -> Self:
        """From the settings' list.

        Raises:
            pydantic.ValidationError: one of them is no grant.
        """
        return cls.model_validate({"grants": list(grants)})

    def allows(self, caller: Caller, command: str, service: ServiceId | None) -> bool:
        """Whether the caller may give the command on the service; None: on all of them, or on a parked event."""
        if caller.trusted:
            return True
        return any(grant.is_for(caller) and command in grant.commands and grant.covers(service) for grant in self.grants)
