"""Commands: what people and other systems wish of Trimtab, as they write it and as it is stored.

A command is one JSON object: `command` says which, the other fields what of it. Fields that are not known are refused, and everything
is bounded. Nothing in it gives rights: they come from the subscription that it came through, or from the caller's verified identity.

Stored at `services/{id}/commands/{command_id}`, or at `fleet/current/commands/{command_id}` where it is about no one service, in the
same batch as the change that it makes; its creation is the dedupe. Fields of the document: `schema_version`, `record` (a `CommandFact`
as JSON text), `created_at` (the server's time), `expire_at` (when the store's TTL may delete it: as for facts).
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from shared.records.base import Record, UtcTime
from shared.records.facts import LongText, ShortText
from shared.records.service import HoldKind, OwnedField, ServiceSpec
from shared.records.serving import RevisionName
from shared.records.spec_file import ServiceText
from shared.records.subject import ServiceId

HOLD_MINUTES_LIMIT = 366 * 24 * 60
DELETE_WORDS = "yes-delete-the-cloud-run-service"
"""What `delete` must be told, letter by letter, before it deletes more than Trimtab's own documents."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})")


def _written_time(value: object) -> object:
    """A time as people write it; a number of seconds is refused, since nobody can tell it from one of milliseconds."""
    if isinstance(value, datetime) or (isinstance(value, str) and _TIME.fullmatch(value)):
        return value
    raise ValueError("want a time with its offset, for example 2026-11-30T22:00:00Z")


def _patch(value: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in value if name not in ServiceSpec.model_fields]
    if unknown:
        names = ", ".join(repr(name[:80]) for name in unknown[:8])
        raise ValueError(f"{names}: no field of a spec; its fields are {', '.join(ServiceSpec.model_fields)}")
    if not value:
        raise ValueError("changes nothing: name the fields of the spec that change, null takes one out")
    return value


CommandId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
"""1 to 128 printable characters without spaces."""
HoldId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_024)]
WrittenTime = Annotated[UtcTime, BeforeValidator(_written_time)]
All = Annotated[bool, Field(strict=True)]
Generation = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
ParkedKey = Annotated[str, StringConstraints(pattern=r"^[^/\s]{1,1400}$")]
MergePatch = Annotated[dict[str, Any], AfterValidator(_patch)]


class CommandBase(Record):
    """What every command may say beside its own fields."""

    command_id: CommandId | None = None
    """The sender's own id of this command: sent again under the same one it is done once. Unset: the message's attribute `command_id`, else
    the message's id, which a sender that repeats a publish cannot keep."""
    author: ShortText | None = None
    """Who is said to have given it. It is shown, and believed in nothing."""


class ApplyCommand(CommandBase):
    """Make the spec of a service what is given here, whatever it was."""

    command: Literal["apply"]
    """Which command this is."""
    service: ServiceText
    """The Cloud Run service, as `project:region:name`."""
    spec: ServiceSpec
    """What it is to be."""
    if_generation: Generation | None = None
    """Only if the spec still has this generation; 0: only if there is none yet."""


class PatchCommand(CommandBase):
    """Change some fields of the spec of a service, and leave the others."""

    command: Literal["patch"]
    """Which command this is."""
    service: ServiceText
    """The Cloud Run service, as `project:region:name`."""
    patch: MergePatch
    """A JSON merge patch (RFC 7396) of the spec: objects are merged, null takes a field out, all else replaces."""
    if_generation: Generation | None = None
    """Only if the spec still has this generation."""
    issued_at: WrittenTime | None = None
    """When it was given, with offset: one that is older than the last change of the spec is superseded and not done. Unset, and without
    `if_generation`: when Pub/Sub took the message."""


class HoldCommand(CommandBase):
    """Keep Trimtab from changing a service, some of its fields, or any service."""

    command: Literal["hold"]
    """Which command this is."""
    service: ServiceText | None = None
    """The Cloud Run service, as `project:region:name`; either this or `all`."""
    all: All = False
    """Whether it is about every service."""
    hold_id: HoldId | None = None
    """The name by which it is released; unset: the command's id."""
    kind: HoldKind = HoldKind.PAUSE
    """What it keeps still."""
    fields: Annotated[tuple[OwnedField, ...], Field(max_length=16)] = ()
    """The fields that it is about; none: all."""
    reason: Reason
    """Why, for whoever reads it at night."""
    expires_at: WrittenTime | None = None
    """When it ends, with offset; unset, and without `minutes`: when it is released."""
    minutes: Annotated[int, Field(strict=True, ge=1, le=HOLD_MINUTES_LIMIT)] | None = None
    """How long it lasts, from when the command is taken; either this or `expires_at`."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.service is None) == (not self.all):
            raise ValueError("hold wants either service or all: true")
        if self.expires_at is not None and self.minutes is not None:
            raise ValueError("hold wants expires_at or minutes, not both")
        if self.all and self.fields:
            raise ValueError("hold of all services is of all their fields: leave fields out, or name a service")
        return self


class ReleaseCommand(CommandBase):
    """End a hold, or all of them."""

    command: Literal["release"]
    """Which command this is."""
    service: ServiceText | None = None
    """The Cloud Run service, as `project:region:name`; unset: the holds of all services together, those given with `hold` and `all`."""
    hold_id: HoldId | None = None
    """The hold; either this or `all`."""
    all: All = False
    """Whether to end every hold there, also those that came of a change by somebody else."""

    @model_validator(mode="after")
    def _one_or_all(self) -> Self:
        if (self.hold_id is None) == (not self.all):
            raise ValueError("release wants either hold_id or all: true")
        return self


class RollbackCommand(CommandBase):
    """Give all traffic to an earlier revision, and go on from its template."""

    command: Literal["rollback"]
    """Which command this is."""
    service: ServiceText
    """The Cloud Run service, as `project:region:name`."""
    to_revision: RevisionName | None = None
    """The revision; unset: the last good one."""


class ReconcileCommand(CommandBase):
    """Look at a service now."""

    command: Literal["reconcile"]
    """Which command this is."""
    service: ServiceText
    """The Cloud Run service, as `project:region:name`."""


class RedriveCommand(CommandBase):
    """Handle a parked event again, as if it had just come."""

    command: Literal["redrive"]
    """Which command this is."""
    key: ParkedKey
    """The parked event's key."""


class DiscardCommand(CommandBase):
    """Drop a parked event for good."""

    command: Literal["discard"]
    """Which command this is."""
    key: ParkedKey
    """The parked event's key."""


class DeleteCommand(CommandBase):
    """Stop looking after a service. The Cloud Run service is left as it is, unless the words say otherwise."""

    command: Literal["delete"]
    """Which command this is."""
    service: ServiceText
    """The Cloud Run service, as `project:region:name`."""
    if_generation: Generation | None = None
    """Only if the spec still has this generation."""
    delete_cloud_run_service: Literal["yes-delete-the-cloud-run-service"] | None = None
    """These words, and nothing else, delete the Cloud Run service as well, with all its revisions."""


AnyCommand = (
    ApplyCommand
    | PatchCommand
    | HoldCommand
    | ReleaseCommand
    | RollbackCommand
    | ReconcileCommand
    | RedriveCommand
    | DiscardCommand
    | DeleteCommand
)
Command = Annotated[AnyCommand, Field(discriminator="command")]
"""Any of the commands, told apart by `command`."""

COMMANDS: dict[str, type[CommandBase]] = {model.model_fields["command"].annotation.__args__[0]: model for model in get_args(AnyCommand)}
"""The record of each command, by its name."""


def service_of(command: AnyCommand) -> ServiceId | None:
    """The service that a command is about; None where it is about all of them, or about a parked event."""
    return None if isinstance(command, RedriveCommand | DiscardCommand) else command.service


class CommandFact(Record):
    """A command was given.

    Natural key `command_id`: a command that is sent again is the same fact. `claimed_author` is what the command says of itself; who
    gave it is `verified_author`, and which rights it had was decided by the subscription or by that identity before it was stored.
    """

    schema_version: Literal[1] = 1
    kind: Literal["command"] = "command"
    command_id: CommandId
    command: Command
    claimed_author: ShortText | None = None
    verified_author: ShortText | None = None
    """The identity that HTTPS verified; None for a command that came through Pub/Sub."""
    subscription: LongText | None = None
    """The subscription that it came through."""
    published_at: UtcTime | None = None
    """When Pub/Sub took the message."""

    @property
    def key(self) -> str:
        """The natural key: the sender's id of the command."""
        return self.command_id


def merge_patch(target: Any, patch: Any) -> Any:
    """What becomes of a JSON value under a JSON merge patch (RFC 7396): objects merge, null takes out, all else replaces.

    Both stay as they are. The depth is the patch's, which reading has bounded.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
