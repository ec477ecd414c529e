"""What Cloud Monitoring knows of a service: Cloud Run's metrics over `timeSeries:list`, TF Serving's over its Prometheus API.

The instance count is one call. Readings are eleven calls: the requests and the instances one each, eight distributions (each as a
whole, so that all its percentiles come from one call), and one PromQL query for everything that TF Serving's page says. They are asked
one after the other and together get `WORK_SECONDS`; what was not reached by then is Unknown and says so. Cloud Run's series come from
the service's own resource; TF Serving's are there only where the metrics sidecar runs.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from shared.errors import Refused, Retry
from shared.gcp.distributions import Buckets
from shared.gcp.filters import quoted, timestamp
from shared.gcp.json_calls import JsonCalls, NotThere
from shared.ports import Clock
from shared.records.evidence import INGESTION_DELAY_SECONDS, NO_SERIES, WINDOW_SECONDS, Readings, Statistic
from shared.records.evidence_keys import (
    ALL_KEYS,
    DISTRIBUTIONS,
    INSTANCE_COUNT,
    INSTANCE_KEYS,
    REQUEST_COUNT,
    REQUEST_KEYS,
    SERVED,
    SERVED_KEYS,
    SERVER_MEANS,
    Distribution,
)
from shared.records.metric import Known, Metric, Unknown
from shared.records.subject import ServiceId

GOOGLE = "https://monitoring.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/monitoring.read"
WORK_SECONDS = 6.0
"""For all readings together; a look has 20 s, and a metric that does not come must not keep a raise waiting."""
CALL_SECONDS = 3.0
SAMPLE_SECONDS = 60
PAGE_SERIES = 200
"""A service has a handful of revisions, states and codes; more are cut, and an answer that was cut is not believed."""
REASON_SHOWN = 300

_PERCENT = {Statistic.P50: 50.0, Statistic.P95: 95.0, Statistic.P99: 99.0}


class _Window(NamedTuple):
    start: datetime
    end: datetime

    @property
    def seconds(self) -> int:
        return int((self.end - self.start).total_seconds())


class _Question(NamedTuple):
    keys: tuple[str, ...]
    ask: Callable[[float], dict[str, Metric]]
    """Within so many seconds."""


class CloudMonitoring:
    """The `Metrics` port on Cloud Monitoring. `endpoint` is for a simulated one on this machine, without credentials."""

    def __init__(self, clock: Clock, *, endpoint: str | None = None) -> None:
        self._clock = clock
        self._calls = JsonCalls(GOOGLE, SCOPE, endpoint=endpoint)

    def instance_count(self, service: ServiceId) -> Metric:
        """Instances of the service, active and idle, all revisions, in the newest minute that is complete.

        Raises:
            Retry: Cloud Monitoring did not answer.
        """
        window = self._window()
        try:
            series = self._instances(service, window, within_seconds=CALL_SECONDS)
        except Refused as refusal:
            return Unknown(reason=refusal.message[:REASON_SHOWN])
        minutes = _summed(series.values())
        if not minutes:
            return Unknown(reason=f"no instance count of {service} in the {WINDOW_SECONDS} s before the last {INGESTION_DELAY_SECONDS} s")
        newest = max(minutes)
        return Known(value=minutes[newest], age_seconds=max(0.0, (self._clock.now() - newest).total_seconds()), samples=len(minutes))

    def readings(self, service: ServiceId) -> Readings:
        """Every reading of `evidence_keys`; what cannot be read is Unknown with the reason."""
        window = self._window()
        ends_at = time.monotonic() + WORK_SECONDS
        values: dict[str, Metric] = {}
        for keys, ask in self._questions(service, window):
            left = ends_at - time.monotonic()
            if left <= 0:
                values |= dict.fromkeys(keys, Unknown(reason=f"not asked: the readings before it took {WORK_SECONDS:.0f} s"))
                continue
            try:
                found = ask(min(left, CALL_SECONDS))
            except (Retry, NotThere) as unread:
                values |= dict.fromkeys(keys, Unknown(reason=str(unread)[:REASON_SHOWN]))
            except Refused as refusal:
                # Who may not read one series may read none: the other ten calls would be refused as well.
                rest = [key for key in ALL_KEYS if key not in values]
                values |= dict.fromkeys(rest, Unknown(reason=refusal.message[:REASON_SHOWN]))
                break
            else:
                values |= {key: found.get(key, Unknown(reason=NO_SERIES)) for key in keys}
        return Readings(window_seconds=window.seconds, end_age_seconds=INGESTION_DELAY_SECONDS, values=values)

    def close(self) -> None:
        """Close the session; the next call opens a new one."""
        self._calls.close()

    def _window(self) -> _Window:
        end = self._clock.now() - timedelta(seconds=INGESTION_DELAY_SECONDS)
        return _Window(end - timedelta(seconds=WINDOW_SECONDS), end)

    def _questions(self, service: ServiceId, window: _Window) -> Iterator[_Question]:
        """One remote call each, the most telling first."""
        yield _Question(tuple(REQUEST_KEYS), partial(self._requests, service, window))
        yield _Question(tuple(INSTANCE_KEYS), partial(self._instance_readings, service, window))
        yield _Question((*SERVED_KEYS, *(each.key for each in SERVER_MEANS)), partial(self._served, service, window))
        for metric in DISTRIBUTIONS:
            yield _Question(tuple(metric.keys), partial(self._distribution, service, window, metric))

    def _requests(self, service: ServiceId, window: _Window, seconds: float) -> dict[str, Metric]:
        labels = ("response_code", "response_code_class")
        series = self._list(service, REQUEST_COUNT, window, period=window.seconds, aligner="ALIGN_SUM", by=labels, within_seconds=seconds)
        found: dict[str, Metric] = {}
        for key, (label, value) in REQUEST_KEYS.items():
            wanted = [each for each in series if not label or _label(each, label) == value]
            counts = [_number(point) for each in wanted for point in _points(each)]
            if counts:
                found[key] = Known(value=sum(counts) / window.seconds, age_seconds=INGESTION_DELAY_SECONDS, samples=len(counts))
        return found

    def _instances(self, service: ServiceId, window: _Window, *, within_seconds: float) -> dict[str, dict[datetime, float]]:
        """The count of each minute, by state."""
        series = self._list(
            service, INSTANCE_COUNT, window, period=SAMPLE_SECONDS, aligner="ALIGN_MAX", by=("state",), within_seconds=within_seconds
        )
        return {_label(each, "state"): {_end(point): _number(point) for point in _points(each)} for each in series}

    def _instance_readings(self, service: ServiceId, window: _Window, seconds: float) -> dict[str, Metric]:
        states = self._instances(service, window, within_seconds=seconds)
        now = self._clock.now()
        found: dict[str, Metric] = {}
        for key, (state, statistic) in INSTANCE_KEYS.items():
            minutes = states.get(state)
            if minutes:
                newest = max(minutes)
                value = minutes[newest] if statistic is Statistic.VALUE else max(minutes.values())
                found[key] = Known(value=value, age_seconds=max(0.0, (now - newest).total_seconds()), samples=len(minutes))
        return found

    def _distribution(self, service: ServiceId, window: _Window, metric: Distribution, seconds: float) -> dict[str, Metric]:
        # The sum of a distribution is valid whether the metric is a gauge or a delta, and it has every percentile in it.
        series = self._list(service, metric.name, window, period=window.seconds, aligner="ALIGN_SUM", by=(), within_seconds=seconds)
        points = [point for each in series for point in _points(each)]
        if not points:
            return {}
        buckets = _buckets(points[0])
        if not buckets.count:
            return {}
        values = {
            key: float(buckets.count) if statistic is Statistic.COUNT else buckets.percentile(_PERCENT[statistic])
            for key, statistic in metric.keys.items()
        }
        return {key: Known(value=value, age_seconds=INGESTION_DELAY_SECONDS, samples=buckets.count) for key, value in values.items()}

    def _served(self, service: ServiceId, window: _Window, seconds: float) -> dict[str, Metric]:
        answer = self._calls.call(
            "GET",
            f"/v1/projects/{quote(service.project, safe=':')}/location/global/prometheus/api/v1/query",
            what=f"TF Serving's metrics of {service}",
            within_seconds=seconds,
            parameters={"query": promql(service, window.seconds), "time": timestamp(window.end)},
        )
        values: dict[tuple[str, str], float] = {}
        for metric, value in _vector(answer):
            values[metric.get("reading", ""), metric.get("status", "")] = value
        wanted = {key: (_SERVED, status) for key, status in SERVED_KEYS.items()}
        wanted |= {each.key: (each.name, "") for each in SERVER_MEANS}
        return {
            key: Known(value=values[series], age_seconds=INGESTION_DELAY_SECONDS, samples=1)
            for key, series in wanted.items()
            if math.isfinite(values.get(series, math.nan))
        }

    def _list(
        self,
        service: ServiceId,
        metric: str,
        window: _Window,
        *,
        period: int,
        aligner: Literal["ALIGN_SUM", "ALIGN_MAX"],
        by: Sequence[str],
        within_seconds: float,
    ) -> list[dict[str, Any]]:
        parameters: dict[str, Any] = {
            "filter": " AND ".join(
                (
                    f"metric.type={quoted(metric)}",
                    'resource.type="cloud_run_revision"',
                    f"resource.labels.project_id={quoted(service.project)}",
                    f"resource.labels.location={quoted(service.region)}",
                    f"resource.labels.service_name={quoted(service.name)}",
                )
            ),
            "interval.startTime": timestamp(window.start),
            "interval.endTime": timestamp(window.end),
            "aggregation.alignmentPeriod": f"{period}s",
            "aggregation.perSeriesAligner": aligner,
            "aggregation.crossSeriesReducer": "REDUCE_SUM",
            "pageSize": str(PAGE_SERIES),
        }
        if by:
            parameters["aggregation.groupByFields"] = [f"metric.labels.{label}" for label in by]
        what = f"{metric} of {service}"
        path = f"/v3/projects/{quote(service.project, safe=':')}/timeSeries"
        answer = self._calls.call("GET", path, what=what, within_seconds=within_seconds, parameters=parameters)
        series = answer.get("timeSeries", [])
        if not isinstance(series, list) or not all(isinstance(each, dict) for each in series):
            raise Retry(f"{what}: the answer is not as documented: timeSeries is no list of series")
        if answer.get("nextPageToken"):
            raise Retry(f"{what}: more than {PAGE_SERIES} series")
        return series


_SERVED = "served"


def promql(service: ServiceId, window_seconds: int) -> str:
    """One query for all that is read of TF Serving; each of its series carries the name of its reading in the label `reading`.

    The sidecar writes to the resource `prometheus_target` with the cluster `__run__` and the service as its namespace.
    """
    where = f'cluster="__run__",namespace={quoted(service.name)},location={quoted(service.region)},project_id={quoted(service.project)}'

    def rate(name: str) -> str:
        return f'rate({{__name__="{name}",{where}}}[{window_seconds}s])'

    parts = [f'label_replace(sum by (status) ({rate(SERVED)}), "reading", "{_SERVED}", "status", ".*")']
    for each in SERVER_MEANS:
        mean = f"sum({rate(f'{each.name}_sum')}) / sum({rate(f'{each.name}_count')})"
        parts.append(f'label_replace({mean}, "reading", "{each.name}", "status", ".*")')
    return " or ".join(parts)


def _vector(answer: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], float]]:
    try:
        for each in answer["data"]["result"]:
            labels = {str(name): str(value) for name, value in each["metric"].items()}
            yield labels, float(each["value"][1])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Retry(f"a Prometheus answer is not as documented: {error!r}"[:REASON_SHOWN]) from error


def _label(series: Mapping[str, Any], name: str) -> str:
    metric = series.get("metric")
    labels = metric.get("labels") if isinstance(metric, dict) else None
    return str(labels.get(name, "")) if isinstance(labels, dict) else ""


def _points(series: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The newest first."""
    points = series.get("points", [])
    if not isinstance(points, list) or not all(isinstance(each, dict) for each in points):
        raise Retry("a series is not as documented: points is no list of points")
    return points


def _number(point: Mapping[str, Any]) -> float:
    try:
        value = point["value"]
        return float(value["int64Value"] if "int64Value" in value else value["doubleValue"])
    except (KeyError, TypeError, ValueError) as error:
        raise Retry(f"a point is not as documented: {error!r}"[:REASON_SHOWN]) from error


def _buckets(point: Mapping[str, Any]) -> Buckets:
    try:
        return Buckets.of(point["value"]["distributionValue"])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise Retry(f"a distribution is not as documented: {error!r}"[:REASON_SHOWN]) from error


def _end(point: Mapping[str, Any]) -> datetime:
    try:
        end = datetime.fromisoformat(point["interval"]["endTime"])
    except (KeyError, TypeError, ValueError) as error:
        raise Retry(f"a point is not as documented: {error!r}"[:REASON_SHOWN]) from error
    if end.tzinfo is None:
        raise Retry("a point is not as documented: its time has no zone")
    return end


def _summed(each: Iterable[dict[datetime, float]]) -> dict[datetime, float]:
    """Minute by minute over all series."""
    total: dict[datetime, float] = {}
    for minutes in each:
        for minute, value in minutes.items():
            total[minute] = total.get(minute, 0.0) + value
    return total
