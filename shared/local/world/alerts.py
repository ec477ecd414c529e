"""The alert policies of a served model, looked at each minute over what Cloud Monitoring has of the simulated world by then.

A policy sees the newest minute that can be read. Its condition must hold for `duration_s` before an incident opens; the first look at
which it does not closes it. A minute without points changes nothing, and after half an hour without any the incident closes by itself.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from shared.records.evidence import Statistic, reading_key
from shared.records.evidence_keys import CLOUD_RUN, INSTANCE_COUNT, REQUEST_COUNT, SERVED, SERVED_KEYS, TOTAL_KEY
from shared.records.service import Objective
from shared.records.signals import Signal
from shared.records.subject import ServiceId
from shared.simulation.monitoring import NO_INSTANCE, AlertPolicy, Form, notification

AUTO_CLOSE_S = 1_800.0
"""The least that Cloud Monitoring takes for `auto_close`."""
DEFAULT_ERROR_RATIO = 0.01
"""Where the owner names none."""
PENDING_MS = 1_000.0
THREAD_GAP = 0.01
CPU_HIGH = 0.8
GPU_LOW = 0.5
GPU_MEMORY_HIGH = 0.95

Value = Callable[[Mapping[str, float]], float | None]
"""What a policy's condition measures, from the readings of a minute; None where they do not say."""

_OF_SERVICE = '{{{labels}monitored_resource="cloud_run_revision",service_name="{{service}}",location="{{region}}"}}[1m]'


def _rate(name: str, labels: str = "") -> str:
    """PromQL for a Cloud Run counter of the service."""
    return f"sum(rate(run_googleapis_com:{name}{_OF_SERVICE.format(labels=labels)}))"


def _median(name: str) -> str:
    """PromQL for the median of a Cloud Run distribution of the service."""
    return f"histogram_quantile(0.5, sum by (le) (rate(run_googleapis_com:{name}_bucket{_OF_SERVICE.format(labels='')})))"


_ON_CLOUD_RUN = 'resource.type="cloud_run_revision" AND resource.labels.service_name="{service}" AND resource.labels.location="{region}"'
_ANSWERED_WELL = 'response_code_class="2xx",'


def policies(objective: Objective) -> tuple[AlertPolicy, ...]:
    """All policies of a service with that objective; without a p99 there is none on latency."""
    error_ratio = objective.error_ratio or DEFAULT_ERROR_RATIO
    found = (
        *_REFUSALS,
        AlertPolicy(
            signal=Signal.ERROR_RATIO,
            title="errors",
            condition=f"5xx answers above {error_ratio:g} of all",
            form=Form.PROMQL,
            query=f"{_rate('request_count', _FIVES)} / {_rate('request_count')} > {{threshold}}",
            threshold=error_ratio,
            duration_s=120,
            documentation="More requests fail than the objective allows.",
        ),
        *_STATES,
    )
    if objective.p99_ms is None:
        return found
    latency = AlertPolicy(
        signal=Signal.LATENCY,
        title="slow answers",
        condition=f"p99 above {objective.p99_ms:g} ms",
        form=Form.THRESHOLD,
        query=f'{_ON_CLOUD_RUN} AND metric.type="run.googleapis.com/request_latencies"',
        threshold=objective.p99_ms,
        duration_s=120,
        metric="run.googleapis.com/request_latencies",
        metric_name="Request Latency",
        aligner="ALIGN_PERCENTILE_99",
        reducer="REDUCE_MAX",
        documentation="Requests are slower than the objective.",
    )
    return (*found, latency)


_FIVES = 'response_code_class="5xx",'

_REFUSALS = (
    AlertPolicy(
        signal=Signal.THREAD_GAP,
        title="server threads exhausted",
        condition="requests that Cloud Run answered well and TF Serving never saw, above 1 %",
        form=Form.PROMQL,
        query=f'1 - sum(rate(:tensorflow:serving:request_count{{namespace="{{service}}",location="{{region}}"}}[1m])) / '
        f"{_rate('request_count', _ANSWERED_WELL)} > {{threshold}}",
        threshold=THREAD_GAP,
        duration_s=60,
        documentation="Cloud Run counts more requests than TF Serving does: the server has no thread for them and refuses them unseen.",
    ),
    AlertPolicy(
        signal=Signal.QUEUE_FULL,
        title="batching queue full",
        condition="UNAVAILABLE answers of TF Serving per second",
        form=Form.PROMQL,
        query='sum(rate(:tensorflow:serving:request_count{status="UNAVAILABLE",namespace="{service}",location="{region}"}[1m]))'
        " > {threshold}",
        threshold=0.0,
        duration_s=60,
        documentation="TF Serving's batching queue refuses requests.",
    ),
    NO_INSTANCE,
)

_STATES = (
    AlertPolicy(
        signal=Signal.PENDING_LATENCY,
        title="requests wait for an instance",
        condition=f"p99 of the wait above {PENDING_MS:g} ms",
        form=Form.THRESHOLD,
        query=f'{_ON_CLOUD_RUN} AND metric.type="run.googleapis.com/request_latency/pending"',
        threshold=PENDING_MS,
        duration_s=120,
        metric="run.googleapis.com/request_latency/pending",
        metric_name="Pending Latency",
        aligner="ALIGN_PERCENTILE_99",
        reducer="REDUCE_MAX",
        documentation="Requests wait for an instance to start.",
    ),
    AlertPolicy(
        signal=Signal.CPU_HIGH_GPU_LOW,
        title="CPU busy, GPU idle",
        condition="median CPU above 80 % while the median GPU is below 50 %",
        form=Form.PROMQL,
        query=f"({_median('container_cpu_utilizations')} > {CPU_HIGH:g}) and ({_median('container_gpu_utilizations')} < {GPU_LOW:g})",
        threshold=CPU_HIGH,
        duration_s=120,
        documentation="The CPU is busy while the GPU idles.",
    ),
    AlertPolicy(
        signal=Signal.GPU_MEMORY,
        title="GPU memory nearly full",
        condition="p99 of GPU memory above 95 %",
        form=Form.THRESHOLD,
        query=f'{_ON_CLOUD_RUN} AND metric.type="run.googleapis.com/container/gpu/memory_utilizations"',
        threshold=GPU_MEMORY_HIGH,
        duration_s=120,
        metric="run.googleapis.com/container/gpu/memory_utilizations",
        metric_name="GPU Memory Utilization",
        aligner="ALIGN_PERCENTILE_99",
        reducer="REDUCE_MAX",
        documentation="GPU memory is nearly full.",
    ),
    AlertPolicy(
        signal=Signal.IDLE,
        title="idle instances",
        condition="instances idle for half an hour",
        form=Form.THRESHOLD,
        query=f'{_ON_CLOUD_RUN} AND metric.type="run.googleapis.com/container/instance_count" AND metric.labels.state="idle"',
        threshold=0.0,
        duration_s=1_800,
        metric="run.googleapis.com/container/instance_count",
        metric_name="Instance Count",
        metric_labels=(("state", "idle"),),
        aligner="ALIGN_MIN",
        documentation="The service holds more instances than its traffic needs.",
    ),
    AlertPolicy(
        signal=Signal.NO_DATA,
        title="no data",
        condition="no request count for five minutes",
        form=Form.ABSENT,
        query=f'{_ON_CLOUD_RUN} AND metric.type="run.googleapis.com/request_count"',
        threshold=0.0,
        duration_s=300,
        metric="run.googleapis.com/request_count",
        metric_name="Request Count",
        documentation="Nothing is known of the service's requests.",
    ),
)


def _of(key: str) -> Value:
    return lambda minute: minute.get(key)


def _thread_gap(minute: Mapping[str, float]) -> float | None:
    answered = minute.get(reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": "2xx"}))
    served = [minute[key] for key in SERVED_KEYS if key in minute]
    return 1 - sum(served) / answered if answered and served else None


def _error_ratio(minute: Mapping[str, float]) -> float | None:
    total = minute.get(TOTAL_KEY)
    return minute.get(reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": "5xx"}), 0.0) / total if total else None


def _cpu_high_gpu_low(minute: Mapping[str, float]) -> float | None:
    """The CPU's median where the GPU's is low, else zero: the condition does not hold."""
    cpu, gpu = (minute.get(reading_key(f"{CLOUD_RUN}container/{each}/utilizations", Statistic.P50, "ratio")) for each in ("cpu", "gpu"))
    if cpu is None or gpu is None:
        return None
    return cpu if gpu < GPU_LOW else 0.0


def _zero_if_counted(key: str, counted: Callable[[Mapping[str, float]], bool]) -> Value:
    """A counter's label that nothing has, of a metric that is there."""
    return lambda minute: minute.get(key, 0.0) if counted(minute) else None


_VALUES: Mapping[Signal, Value] = {
    Signal.THREAD_GAP: _thread_gap,
    Signal.QUEUE_FULL: _zero_if_counted(
        reading_key(SERVED, Statistic.RATE, "1/s", {"status": "UNAVAILABLE"}), lambda minute: any(key in minute for key in SERVED_KEYS)
    ),
    Signal.NO_INSTANCE: _zero_if_counted(
        reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code": "429"}), lambda minute: TOTAL_KEY in minute
    ),
    Signal.PENDING_LATENCY: _of(reading_key(f"{CLOUD_RUN}request_latency/pending", Statistic.P99, "ms")),
    Signal.LATENCY: _of(reading_key(f"{CLOUD_RUN}request_latencies", Statistic.P99, "ms")),
    Signal.ERROR_RATIO: _error_ratio,
    Signal.CPU_HIGH_GPU_LOW: _cpu_high_gpu_low,
    Signal.GPU_MEMORY: _of(reading_key(f"{CLOUD_RUN}container/gpu/memory_utilizations", Statistic.P99, "ratio")),
    Signal.IDLE: _of(reading_key(INSTANCE_COUNT, Statistic.VALUE, "instances", {"state": "idle"})),
    Signal.NO_DATA: _of(TOTAL_KEY),
}


@dataclass(frozen=True, slots=True)
class AlertIncident:
    """One incident of a policy."""

    incident_id: str
    signal: Signal
    opened_at: datetime
    closed_at: datetime | None = None


@dataclass(slots=True)
class _Watch:
    since: datetime | None = None
    """When the condition began to hold."""
    last_point: datetime | None = None
    incident: AlertIncident | None = None


class Alerts:
    """The policies of one service, and their incidents. The ids hang on `seed` alone."""

    def __init__(self, service: ServiceId, watched: tuple[AlertPolicy, ...], *, seed: int) -> None:
        self._service = service
        self._policies = watched
        self._seed = seed
        self._watches = {policy: _Watch() for policy in watched}
        self._incidents: list[AlertIncident] = []

    @property
    def incidents(self) -> tuple[AlertIncident, ...]:
        """All of them, in the order in which they opened."""
        return tuple(self._incidents)

    def look(self, minute: Mapping[str, float], now: datetime) -> tuple[bytes, ...]:
        """One look at the newest minute that can be read; the bodies of the notifications that it sends."""
        return tuple(json.dumps(body).encode() for policy in self._policies for body in self._look(policy, minute, now))

    def _look(self, policy: AlertPolicy, minute: Mapping[str, float], now: datetime) -> Iterator[dict[str, object]]:
        watch, value = self._watches[policy], _VALUES[policy.signal](minute)
        if value is not None:
            watch.last_point = now
        if policy.form is Form.ABSENT:
            holds = value is None if watch.last_point is not None else None  # a series that never was is not absent
            value = None
        else:
            holds = None if value is None else value > policy.threshold
        if holds:
            watch.since = watch.since or now
            if watch.incident is None and (now - watch.since).total_seconds() >= policy.duration_s:
                number = len(self._incidents) + 1
                watch.incident = AlertIncident(self._id(policy, number), policy.signal, now)
                self._incidents.append(watch.incident)
                yield notification(
                    self._service, watch.incident.incident_id, "open", started_at=now, now=now, policy=policy, observed=value
                )
        elif holds is False or self._silent(watch, now):
            watch.since = None
            if watch.incident is not None:
                closed = replace(watch.incident, closed_at=now)
                self._incidents[self._incidents.index(watch.incident)] = closed
                watch.incident = None
                yield notification(
                    self._service, closed.incident_id, "closed", started_at=closed.opened_at, now=now, policy=policy, observed=value
                )

    def _silent(self, watch: _Watch, now: datetime) -> bool:
        return watch.last_point is not None and (now - watch.last_point).total_seconds() >= AUTO_CLOSE_S

    def _id(self, policy: AlertPolicy, number: int) -> str:
        return f"0.{hashlib.sha256(f'{self._seed} {self._service} {policy.signal} {number}'.encode()).hexdigest()[:12]}"
