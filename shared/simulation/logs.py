"""What Cloud Logging would have of a simulated service.

That is: revisions that failed, in Cloud Run's words, and requests refused for want of an instance. What is in no simulation (TF
Serving's own lines) can be written into it.
"""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from google.cloud import run_v2

from shared.records.evidence import LogLine, LogLines, LogSource
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.service_load import SAMPLE_SECONDS, SimulatedLoad

NO_INSTANCE_TEXT = "The request was aborted because there was no available instance."
KEPT_WRITTEN = 1_000
_FAILED: Any = run_v2.Condition.State.CONDITION_FAILED


class SimulatedLogs:
    """The `Logs` port on a simulated Cloud Run and its load. Thread-safe."""

    def __init__(self, cloud_run: SimulatedCloudRun, load: SimulatedLoad, *, now: Callable[[], datetime]) -> None:
        self._cloud_run = cloud_run
        self._load = load
        self._now = now
        self._lock = threading.Lock()
        self._written: dict[ServiceId, list[LogLine]] = {}

    def write(self, service: ServiceId, text: str, *, source: LogSource = LogSource.SERVER, severity: str = "DEFAULT") -> None:
        """Write a line now, as a container would; one that says nothing is none."""
        line = LogLine.of(text=text, at=self._now(), source=source, severity=severity)
        with self._lock:
            lines = self._written.setdefault(service, [])
            lines += [line] if line is not None else []
            del lines[:-KEPT_WRITTEN]

    def recent(self, service: ServiceId, *, since: datetime, until: datetime, limit: int) -> LogLines:
        """The newest lines of [since, until), at most `limit`."""
        with self._lock:
            written = list(self._written.get(service, []))
        every = [*written, *failed_revisions(self._cloud_run, service), *self._refused(service, since, until)]
        return LogLines.of([line for line in every if since <= line.at < until], limit=limit)

    def _refused(self, service: ServiceId, since: datetime, until: datetime) -> Iterator[LogLine]:
        """A refused request in each minute in which the demand was above the maximum in force."""
        minutes = int((until - since).total_seconds() // SAMPLE_SECONDS)
        for step in range(1, minutes + 1):
            at = datetime.fromtimestamp(until.timestamp() - step * SAMPLE_SECONDS, tz=UTC)
            if self._load.shortage(service, at=at):
                yield LogLine(at=at, source=LogSource.REQUEST, text=NO_INSTANCE_TEXT, severity="WARNING", status=429)


def failed_revisions(cloud_run: SimulatedCloudRun, service: ServiceId) -> Iterator[LogLine]:
    """What Cloud Run wrote of revisions that never became ready."""
    try:
        revisions = cloud_run.list_revisions(service.resource_name)
    except SimulatedError:
        return
    for revision in revisions:
        name = revision.name.rpartition("/")[2]
        for condition in revision.conditions:
            if condition.type_ != "Ready" or condition.state != _FAILED:
                continue
            at = _utc(condition.last_transition_time)
            line = LogLine.of(text=condition.message, at=at, source=LogSource.PLATFORM, severity="ERROR", revision=name)
            if line is not None:
                yield line


def _utc(moment: Any) -> datetime:
    """A time of a message as a plain one."""
    return datetime.fromtimestamp(moment.timestamp(), tz=UTC)
