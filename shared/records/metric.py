"""A metric is known, with its age, or unknown, with a reason. Unknown is never zero."""

from typing import Literal

from pydantic import Field

from shared.records.base import Record


class Known(Record):
    """A measured value: how old its newest sample is (seconds) and of how many samples it was made."""

    kind: Literal["known"] = "known"
    value: float
    age_seconds: float = Field(ge=0)
    samples: int = Field(ge=1)


class Unknown(Record):
    """No value, and why: no source, no series, too old. Never scales down, never promotes, never counts as zero."""

    kind: Literal["unknown"] = "unknown"
    reason: str


Metric = Known | Unknown
