"""What can be seen of a served world: its `Metrics`, `Quota` and `Logs` ports. What cannot be seen is Unknown, never zero.

Server threads: over gRPC a call that finds none is answered RESOURCE_EXHAUSTED under HTTP 200; no log has it, TF Serving's page does not
count it. TF Serving's queue and its deadline are on its page and in no log. Cloud Run's own refusals, and over REST each error status,
are in the log of requests.
"""

from collections.abc import Iterator
from datetime import datetime

from shared.local.world.served import ServedWorld
from shared.records.evidence import NO_SERIES, WINDOW_SECONDS, LogLine, LogLines, LogSource, Readings, Statistic, reading_key
from shared.records.evidence_keys import ALL_KEYS, INSTANCE_COUNT, SERVED_KEYS, SERVER_MEANS, STATES
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Shape
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import ServiceName
from shared.simulation.cloud_run_quota import QuotaKey
from shared.simulation.logs import NO_INSTANCE_TEXT, failed_revisions
from shared.simulation.world.layout import MINUTE_S

TIMEOUT_TEXT = (
    "The request has been terminated because it has reached the maximum request timeout. "
    "To change this limit, see https://cloud.google.com/run/docs/configuring/request-timeout"
)
BY_CONTAINER = "answered by the container"
"""Of a request whose log entry has a status and no text."""
NOT_SIMULATED = "memory is not simulated"
NOT_SCRAPED = "nobody collects TF Serving's page: a metrics sidecar does"
_SERVER_KEYS = frozenset({*SERVED_KEYS, *(each.key for each in SERVER_MEANS)})
_INSTANCES = tuple(reading_key(INSTANCE_COUNT, Statistic.VALUE, "instances", {"state": state}) for state in STATES)


class SeenWorld:
    """The outside's eyes on a served world. `scraped`: somebody collects TF Serving's own metrics."""

    def __init__(self, world: ServedWorld, cloud_run: SimulatedCloudRun, *, scraped: bool = True) -> None:
        self._world = world
        self._cloud_run = cloud_run
        self._scraped = scraped
        self._minutes: dict[int, tuple[tuple[str, int, str], ...]] = {}

    def points(self, window_s: float) -> dict[str, float]:
        """What has points in the newest window that can be read, by the keys of a diagnosis."""
        found, _ = self._world.sampled(window_s)
        return found if self._scraped else {key: value for key, value in found.items() if key not in _SERVER_KEYS}

    def instance_count(self, service: ServiceId) -> Metric:
        """The newest sample of the instance count, active and idle together."""
        if service != self._world.service:
            return Unknown(reason=f"there is no load on {service} in this simulation")
        found, age = self._world.sampled(MINUTE_S)
        if not all(key in found for key in _INSTANCES):
            return Unknown(reason=NO_SERIES)
        return Known(value=sum(found[key] for key in _INSTANCES), age_seconds=age, samples=1)

    def readings(self, service: ServiceId) -> Readings:
        """All readings of the newest window that can be read."""
        if service != self._world.service:
            return Readings.unknown(ALL_KEYS, f"there is no load on {service} in this simulation")
        found, (_, age) = self.points(WINDOW_SECONDS), self._world.sampled(MINUTE_S)
        samples = int(min(WINDOW_SECONDS, max(self._world.now_s - age, 0.0)) // MINUTE_S)
        values: dict[str, Metric] = {
            key: Known(value=found[key], age_seconds=age, samples=samples) if key in found else Unknown(reason=self._why_none(key))
            for key in ALL_KEYS
        }
        return Readings(window_seconds=WINDOW_SECONDS, end_age_seconds=int(age), values=values)

    def instances(self, service: ServiceId, shape: Shape) -> Metric:
        """How many instances of the shape the simulated GPU quota allows, those running included."""
        key = QuotaKey.of(ServiceName(service.project, service.region, service.name), shape)
        if key is None:
            return Unknown(reason="the simulated quota covers GPUs only, and this shape has none")
        return Known(value=self._cloud_run.gpu_quota(key) // shape.gpu_count, age_seconds=0, samples=1)

    def recent(self, service: ServiceId, *, since: datetime, until: datetime, limit: int) -> LogLines:
        """The newest lines of [since, until), at most `limit`: of refused requests one line a minute and kind."""
        if service != self._world.service:
            return LogLines()
        every = [*failed_revisions(self._cloud_run, service), *self._refused(since, until)]
        return LogLines.of([line for line in every if since <= line.at < until], limit=limit)

    def _why_none(self, key: str) -> str:
        if "memory" in key:
            return NOT_SIMULATED
        return NOT_SCRAPED if not self._scraped and key in _SERVER_KEYS else NO_SERIES

    def _refused(self, since: datetime, until: datetime) -> Iterator[LogLine]:
        first = max(int(self._world.seconds(since) // MINUTE_S), 0)
        last = int(min(self._world.seconds(until), self._world.now_s) // MINUTE_S)
        for minute in range(first, last):
            if minute not in self._minutes:
                self._minutes[minute] = tuple(self._of_minute(minute))
            at = self._world.moment((minute + 1) * MINUTE_S - 1)
            for severity, status, text in self._minutes[minute]:
                yield LogLine(at=at, source=LogSource.REQUEST, text=text, severity=severity, status=status)

    def _of_minute(self, minute: int) -> Iterator[tuple[str, int, str]]:
        errors = self._world.result(minute * MINUTE_S, (minute + 1) * MINUTE_S).errors
        serving = self._world.serving
        if errors.get("instance-cap-reached") or errors.get("scale-out-lag"):
            yield "WARNING", 429, NO_INSTANCE_TEXT
        late_at_cloud_run = serving.cloud_run.timeout_s <= (
            serving.server.rest_timeout_s if serving.server.rest else serving.client_timeout_s
        )
        if errors.get("request-timeout") and late_at_cloud_run:
            yield "ERROR", 504, TIMEOUT_TEXT
        if not serving.server.rest:
            return
        if errors.get("request-timeout") and not late_at_cloud_run:
            yield "ERROR", 504, BY_CONTAINER
        if errors.get("batch-queue-full"):
            yield "ERROR", 503, BY_CONTAINER
        if errors.get("batch-queue-wait-timeout"):
            yield "WARNING", 429, BY_CONTAINER
        if errors.get("request-rows-over-limit"):
            yield "WARNING", 400, BY_CONTAINER
