"""The simulated load: how many instances of a service run, given what is asked of it and the bounds Cloud Run has in force.

The first form counts in instances only: demand is how many instances the traffic would keep busy. It answers as Cloud
Monitoring would, late and by the minute, and says which alerts would be open.

How instances follow demand, as Cloud Run's documentation on instance autoscaling has it: the target is the demand within the
bounds in force; a new instance counts once it has been wanted for the whole start-up time; an instance no longer wanted idles for
ten minutes (GPU) before it goes, unless a lower maximum takes it away. Before anything is known of a service the first demand and
bounds are taken to have held for ever.
"""

import bisect
import math
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from shared.records.evidence import INGESTION_DELAY_SECONDS, WINDOW_SECONDS, Readings, Statistic
from shared.records.evidence_keys import ALL_KEYS, INSTANCE_KEYS
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Shape
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import ServiceName, SimulatedError
from shared.simulation.cloud_run_quota import QuotaKey
from shared.simulation.cloud_run_records import InForce

_N = TypeVar("_N", int, float)

SAMPLE_SECONDS = 60.0
"""Cloud Monitoring samples the instance count once a minute."""


class SimulatedLoad:
    """The load on the services of a simulated Cloud Run; also their `Metrics` and `Quota` ports. Thread-safe.

    `startup_seconds` is what an instance needs before it serves, `idle_seconds` how long it stays when it is not needed,
    `lag_seconds` how old a sample is before it can be read: readings are between that and a minute more old.
    """

    def __init__(
        self,
        cloud_run: SimulatedCloudRun,
        *,
        now: Callable[[], datetime],
        startup_seconds: float = 90.0,
        idle_seconds: float = 600.0,
        lag_seconds: float = 120.0,
    ) -> None:
        self._cloud_run = cloud_run
        self._now = now
        self._startup = timedelta(seconds=startup_seconds)
        self._idle = timedelta(seconds=idle_seconds)
        self._lag = timedelta(seconds=lag_seconds)
        self._lock = threading.Lock()
        self._demand: dict[ServiceId, list[tuple[datetime, float]]] = {}
        self._unknown: dict[ServiceId, str] = {}
        self._quota_unknown: str | None = None

    def set_demand(self, service: ServiceId, instances: float, *, at: datetime | None = None) -> None:
        """From `at` (now, if not given) on, the traffic would keep that many instances busy. Later demand already set is dropped."""
        start = self._now() if at is None else at
        with self._lock:
            steps = self._demand.setdefault(service, [])
            del steps[bisect.bisect_left(steps, start, key=lambda step: step[0]) :]
            steps.append((start, instances))

    def set_metric_unknown(self, service: ServiceId, reason: str | None) -> None:
        """From now on the service's instance count is unknown for that reason; None: it is known again."""
        with self._lock:
            if reason is None:
                self._unknown.pop(service, None)
            else:
                self._unknown[service] = reason

    def set_quota_unknown(self, reason: str | None) -> None:
        """From now on the quota is unknown for that reason; None: it is known again."""
        with self._lock:
            self._quota_unknown = reason

    def demand(self, service: ServiceId, *, at: datetime | None = None) -> float:
        """Instances that the traffic would keep busy."""
        moment = self._now() if at is None else at
        with self._lock:
            return _at(self._demand.get(service, []), moment, default=0.0)

    def running(self, service: ServiceId, *, at: datetime | None = None) -> int:
        """Instances that are up, busy or idle; 0 for a service that is not there.

        The largest number that was wanted throughout some start-up time within the idle time, within the maximum in force.
        """
        moment = self._now() if at is None else at
        steps = self._wanted_steps(service, since=moment - self._idle - self._startup, until=moment)
        # The number of started instances grows only a start-up time after a step.
        grown = [step + self._startup for step, _ in steps]
        moments = [moment - self._idle, *(each for each in grown if moment - self._idle < each < moment), moment]
        up = max(self._started(steps, each) for each in moments)
        bounds = self._bounds(service)
        return min(up, _at([(each.at, each.max_instance_count) for each in bounds], moment, default=0))

    def shortage(self, service: ServiceId, *, at: datetime | None = None) -> bool:
        """Whether an alert on missing instances would be open: the demand is above the maximum in force."""
        moment = self._now() if at is None else at
        highest = _at([(each.at, each.max_instance_count) for each in self._bounds(service)], moment, default=0)
        return self.demand(service, at=moment) > highest

    def instance_count(self, service: ServiceId) -> Metric:
        """The newest sample that Cloud Monitoring would show."""
        with self._lock:
            reason = self._unknown.get(service)
        if reason is not None:
            return Unknown(reason=reason)
        if not self._bounds(service):
            return Unknown(reason="the simulated service has no instances to count: it is not there or never became ready")
        now = self._now()
        sampled_at = _minute(now - self._lag)
        return Known(value=self.running(service, at=sampled_at), age_seconds=(now - sampled_at).total_seconds(), samples=1)

    def readings(self, service: ServiceId) -> Readings:
        """The counts of active and idle instances in the window that Cloud Monitoring would have complete; all else is Unknown."""
        with self._lock:
            reason = self._unknown.get(service)
        if reason is None and not self._bounds(service):
            reason = "the simulated service has no instances to count: it is not there or never became ready"
        if reason is not None:
            return Readings.unknown(ALL_KEYS, reason)
        now = self._now()
        last = _minute(now - timedelta(seconds=INGESTION_DELAY_SECONDS))
        minutes = [last - timedelta(seconds=SAMPLE_SECONDS * step) for step in range(int(WINDOW_SECONDS // SAMPLE_SECONDS))]
        busy = [min(math.ceil(self.demand(service, at=each)), self.running(service, at=each)) for each in minutes]
        idle = [self.running(service, at=each) - active for each, active in zip(minutes, busy, strict=True)]
        counted = {"active": busy, "idle": idle}
        age = (now - last).total_seconds()
        unknown = Unknown(reason="the simulated load counts instances and nothing else")
        values: dict[str, Metric] = dict.fromkeys(ALL_KEYS, unknown)
        for key, (state, statistic) in INSTANCE_KEYS.items():
            value = counted[state][0] if statistic is Statistic.VALUE else max(counted[state])
            values[key] = Known(value=value, age_seconds=age, samples=len(minutes))
        return Readings(values=values)

    def instances(self, service: ServiceId, shape: Shape) -> Metric:
        """How many instances of the shape the simulated GPU quota allows, those running included."""
        with self._lock:
            reason = self._quota_unknown
        if reason is not None:
            return Unknown(reason=reason)
        key = QuotaKey.of(ServiceName(service.project, service.region, service.name), shape)
        if key is None:
            return Unknown(reason="the simulated quota covers GPUs only, and this shape has none")
        return Known(value=self._cloud_run.gpu_quota(key) // shape.gpu_count, age_seconds=0, samples=1)

    def _bounds(self, service: ServiceId) -> tuple[InForce, ...]:
        try:
            return self._cloud_run.in_force(service.resource_name)
        except SimulatedError:
            return ()

    def _wanted_steps(self, service: ServiceId, *, since: datetime, until: datetime) -> list[tuple[datetime, int]]:
        """What number of instances is wanted at `since`, and when in (since, until] it changes to what."""
        bounds = self._bounds(service)
        if not bounds:
            return []
        lows = [(each.at, each.min_instance_count) for each in bounds]
        highs = [(each.at, each.max_instance_count) for each in bounds]
        with self._lock:
            demand = list(self._demand.get(service, []))
        changes = {step for step, _ in demand} | {step for step, _ in lows}
        return [
            (moment, min(max(math.ceil(_at(demand, moment, default=0.0)), _at(lows, moment, default=0)), _at(highs, moment, default=0)))
            for moment in sorted({since, *(each for each in changes if since < each <= until)})
        ]

    def _started(self, steps: list[tuple[datetime, int]], moment: datetime) -> int:
        """The number of instances wanted throughout the start-up time before the moment."""
        inside = [wanted for step, wanted in steps if moment - self._startup < step <= moment]
        return min([_at(steps, moment - self._startup, default=0), *inside])


def _minute(moment: datetime) -> datetime:
    """The sample at or before the moment."""
    return datetime.fromtimestamp(math.floor(moment.timestamp() / SAMPLE_SECONDS) * SAMPLE_SECONDS, tz=moment.tzinfo)


def _at(steps: Sequence[tuple[datetime, _N]], moment: datetime, *, default: _N) -> _N:
    """The value of a step function; before its first step it has the first step's value."""
    if not steps:
        return default
    index = bisect.bisect_right(steps, moment, key=lambda step: step[0])
    return steps[max(index - 1, 0)][1]
