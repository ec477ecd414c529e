"""`fleet/current`: brakes over all services, and the fleet hold.

Fields: `record` (a `Fleet` as JSON), `committed_at` (the server's time; it makes every write a change, and so moves the token). Beside
it, `fleet/current/acts/{minute}-{index}`: one empty document per act of that minute, created in the same batch as the state that
announces the act, so that two functions cannot both take the last place. `fleet/current/commands/{command_id}`: the commands that are
about no one service.
"""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field

from shared.records.base import Record
from shared.records.service import Hold


class Brakes(Record):
    """Limits on what Trimtab does to the whole fleet."""

    acts_per_minute: Annotated[int, Field(ge=0, le=1_000)] = 30
    usd_per_hour: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """The sum over all services of max instances x price; raises above it are denied."""


class Fleet(Record):
    """The fleet document. Absent, its defaults hold."""

    schema_version: Literal[1] = 1
    brakes: Brakes = Brakes()
    hold: Hold | None = None


class FleetUsage(Record):
    """How much of the brakes is used now: acts of the running minute, and dollars per hour if every service were at its max."""

    minute: str
    acts_this_minute: Annotated[int, Field(ge=0)]
    usd_per_hour_at_max: float | None = None
    """Services whose price is unknown do not count; None: not asked for."""


class ActSlot(Record):
    """One place among the acts of a minute (UTC, `YYYYmmddHHMM`)."""

    minute: str
    index: Annotated[int, Field(ge=0)]

    @property
    def document_id(self) -> str:
        """The id under `fleet/current/acts`."""
        return f"{self.minute}-{self.index:04d}"

    @classmethod
    def minute_of(cls, now: datetime) -> str:
        """The minute in which an act at `now` counts."""
        return now.strftime("%Y%m%d%H%M")

    @classmethod
    def next_of(cls, usage: FleetUsage) -> Self:
        """The first place not yet seen taken."""
        return cls(minute=usage.minute, index=usage.acts_this_minute)
