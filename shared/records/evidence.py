"""What was asked of logs and metrics for one incident: values, or why they are not known. Not stored; a decision keeps what follows.

A reading's key is its name as everybody writes it, `name{label=value} statistic [unit]`, with the metric's own name:
`run.googleapis.com/request_count{response_code=429} rate [1/s]`.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from shared.records.base import Record, UtcTime
from shared.records.metric import Metric, Unknown

INGESTION_DELAY_SECONDS = 180
"""A window of metrics ends so long ago: Cloud Run's points are sampled every 60 s and shown up to 120 s later; a younger window is
not complete, and what is missing in it says nothing."""
WINDOW_SECONDS = 300
"""Of metrics: short enough to be about the trouble that just began, five samples long."""
LOG_SECONDS = 900
"""Lines of the last quarter of an hour, up to now: a log line can be read seconds after it was written, and a failed start says its
reason minutes before the platform gives up."""
NO_SERIES = "no such series in the window"
"""Why a reading is Unknown whose query was answered, with no points: it says something of the service, as no answer does not."""
KEPT_LINES = 120
LINE_LIMIT = 600
"""Characters of a line; TensorFlow's own sentences are shorter, stack traces are not."""
KEPT_ALIKE = 4
"""Lines that differ in numbers only: a flood of one refusal must not push the one line that says why out of the evidence."""
_NUMBERS = re.compile(r"[0-9]+")

LineText = Annotated[str, StringConstraints(min_length=1, max_length=LINE_LIMIT)]


class LogSource(StrEnum):
    """Who wrote a line."""

    SERVER = "server"
    """A container, to its standard output or error: TF Serving's own words."""
    PLATFORM = "platform"
    """Cloud Run: starts, probes, memory limits, exits, the end of a rollout."""
    REQUEST = "request"
    """Cloud Run's log of requests: what a caller was answered."""


class LogLine(Record):
    """One line of a log."""

    at: UtcTime
    source: LogSource
    text: LineText
    severity: Annotated[str, StringConstraints(max_length=16)] = ""
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    """The HTTP status, of a request."""
    revision: Annotated[str, StringConstraints(max_length=63)] = ""

    @classmethod
    def of(cls, *, text: str, **fields: Any) -> "LogLine | None":
        """The line with its text cut to `LINE_LIMIT`; None where it says nothing.

        Whoever sends requests has a say in what a container logs: what moves a terminal's cursor does not get into decisions.
        """
        said = "".join(char if char.isprintable() else " " for char in text[: 4 * LINE_LIMIT]).strip()
        return cls.model_validate({"text": said[:LINE_LIMIT], **fields}) if said else None


class LogLines(Record):
    """Lines, the oldest first. Not `complete`: there were more than were read or kept."""

    kind: Literal["logs"] = "logs"
    lines: Annotated[tuple[LogLine, ...], Field(max_length=KEPT_LINES)] = ()
    complete: bool = True

    @classmethod
    def of(cls, lines: Iterable[LogLine], *, complete: bool = True, limit: int = KEPT_LINES) -> "LogLines":
        """The newest lines within the bounds; of lines that differ in numbers only, the newest `KEPT_ALIKE`."""
        kept: list[LogLine] = []
        alike: dict[tuple[LogSource, int | None, str], int] = {}
        newest_first = sorted(lines, key=lambda line: line.at, reverse=True)
        for line in newest_first:
            form = line.source, line.status, _NUMBERS.sub("0", line.text)
            alike[form] = alike.get(form, 0) + 1
            if alike[form] > KEPT_ALIKE:
                continue
            if len(kept) == min(limit, KEPT_LINES):
                complete = False
                break
            kept.append(line)
        return cls(lines=tuple(reversed(kept)), complete=complete)


class Readings(Record):
    """Metric readings of one window. A reading that has no series in it is Unknown, never zero."""

    kind: Literal["readings"] = "readings"
    window_seconds: Annotated[int, Field(ge=1)] = WINDOW_SECONDS
    end_age_seconds: Annotated[int, Field(ge=0)] = INGESTION_DELAY_SECONDS
    """How long ago the window ended when it was read."""
    values: dict[str, Metric] = Field(default_factory=dict)
    """Key to reading."""

    @classmethod
    def unknown(cls, keys: Iterable[str], reason: str) -> "Readings":
        """None of them is known, all for one reason."""
        return cls(values={key: Unknown(reason=reason) for key in keys})


class Evidence(Record):
    """What logs and metrics say of one service, with the service as Cloud Run describes it where that was read."""

    logs: LogLines | Unknown
    readings: Readings | Unknown
    service: dict[str, Any] | None = None
    """Cloud Run's own document (Admin API v2, JSON); None: it was not read as a whole."""


class Statistic(StrEnum):
    """What of a metric is read."""

    VALUE = "value"
    RATE = "rate"
    MEAN = "mean"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"
    MAX = "max"
    COUNT = "count"


def reading_key(name: str, statistic: Statistic, unit: str, labels: Mapping[str, str] | None = None) -> str:
    """The key of a reading."""
    said = ",".join(f"{label}={value}" for label, value in (labels or {}).items())
    return f"{name}{{{said}}} {statistic} [{unit}]" if said else f"{name} {statistic} [{unit}]"
