"""What is told of a hold that was given or released by command. Apart from the other events: only commands need to know it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, Self

from shared.records.base import Record
from shared.records.commands import CommandFact, HoldCommand, ReleaseCommand
from shared.records.facts import ShortText
from shared.records.outgoing import EventType, OutgoingEvent
from shared.records.service import Hold
from shared.records.subject import ServiceId


class HoldChange(Record):
    """A hold was given or released by command."""

    change: Literal["held", "released"]
    service: ServiceId | None
    """None: all services."""
    hold_id: ShortText | None
    """None: every hold there was."""
    hold: Hold | None = None
    """What was given; None of a release."""
    author: ShortText
    """Who gave the command: the verified identity or the subscription; what it claims itself is marked as a claim."""
    command_id: ShortText

    @classmethod
    def of(cls, fact: CommandFact, holds: Sequence[Hold], author: str, *, again: bool = False) -> Self | None:
        """What a command did to holds, next to which `holds` are there now; None of a command that is about none.

        `again`: a command of its id was done before, and that may have been another one. Then also None, unless the holds are as this one
        would have left them.
        """
        command = fact.command
        if isinstance(command, HoldCommand):
            hold_id = command.hold_id or fact.command_id
            hold = next((each for each in holds if each.hold_id == hold_id), None)
            if again and (hold is None or not _gave(command, hold, author)):
                return None
            return cls(change="held", service=command.service, hold_id=hold_id, hold=hold, author=author, command_id=fact.command_id)
        if isinstance(command, ReleaseCommand):
            ended = command.hold_id
            if again and any(ended in (None, each.hold_id) for each in holds):
                return None
            return cls(change="released", service=command.service, hold_id=ended, author=author, command_id=fact.command_id)
        return None

    def event(self, at: datetime) -> OutgoingEvent:
        """What is told of it; `at` is when the command was given, where the hold itself does not say."""
        return OutgoingEvent(
            id=f"hold:{self.command_id}:{'fleet' if self.service is None else self.service}"[:256],
            type=EventType.HOLD,
            subject="fleet" if self.service is None else str(self.service),
            time=self.hold.created_at if self.hold is not None else at,
            data=self.to_stored(),
        )


def _gave(command: HoldCommand, hold: Hold, author: str) -> bool:
    """Whether the command would give this hold, had it come when the hold was given."""
    ends = command.expires_at if command.minutes is None else hold.created_at + timedelta(minutes=command.minutes)
    given = command.kind, command.fields, command.reason, author, ends
    return (hold.kind, hold.fields, hold.reason, hold.author, hold.expires_at) == given
