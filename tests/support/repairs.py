"""A service whose metrics a test sets, with a template that somebody else made or Trimtab's own: what a repair begins from."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.local.clock import VirtualClock
from shared.records.decision import Decision
from shared.records.evidence import INGESTION_DELAY_SECONDS, NO_SERIES, WINDOW_SECONDS, Readings, Statistic, reading_key
from shared.records.evidence_keys import ALL_KEYS, CLOUD_RUN, INSTANCE_COUNT, REQUEST_COUNT, SERVED_KEYS, TOTAL_KEY
from shared.records.metric import Known, Metric, Unknown
from shared.records.repair import Repair
from shared.records.service import ServiceDocument
from shared.records.subject import ServiceId, Wake
from shared.simulation.service_load import SimulatedLoad
from tests.scenarios.test_template_changes import NAME, Town
from tests.scenarios.test_template_changes import document as serving_document
from tests.support.builders import RANKER
from tests.support.tracing import Trace, Traced

OOM = "OOM when allocating tensor with shape[32,512,512,64] and type float on /device:GPU:0 by allocator GPU_0_bfc"
TOO_MANY_ROWS = "Task size 64 is larger than maximum input batch size 32"
QUEUE_FULL = "The batch scheduling queue to which this task was submitted is full"
WAITED = "Run() timeout exceeded while waiting in batching queue"
MEMORY_LIMIT = "Memory limit of 16384 MiB exceeded with 16801 MiB used. Consider increasing the memory limit."

_SERVED = {status: key for key, status in SERVED_KEYS.items()}
P50, P99 = Statistic.P50, Statistic.P99


def readings(
    *,
    rate: float = 200,
    served: Mapping[str, float] | None = None,
    p99_ms: float | None = 120,
    cpu: float = 0.3,
    gpu: float = 0.3,
    active: float = 2,
    in_flight: float = 8,
    errors: float | None = None,
    batch: float | None = 4,
) -> dict[str, float]:
    """Readings of a window by their keys. `served`: TF Serving's own counts by status, none where it has no metrics sidecar."""
    values = {
        TOTAL_KEY: rate,
        reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": "2xx"}): rate - (errors or 0),
        reading_key(f"{CLOUD_RUN}container/max_request_concurrencies", P99, "requests"): in_flight,
        reading_key(INSTANCE_COUNT, Statistic.VALUE, "instances", {"state": "active"}): active,
        reading_key(INSTANCE_COUNT, Statistic.MAX, "instances", {"state": "active"}): active,
    }
    for name, value in (("cpu", cpu), ("gpu", gpu)):
        for statistic in (P50, Statistic.P95):
            values[reading_key(f"{CLOUD_RUN}container/{name}/utilizations", statistic, "ratio")] = value
    for statistic in (P50, Statistic.P95, P99):
        if p99_ms is not None:
            values[reading_key(f"{CLOUD_RUN}request_latencies", statistic, "ms")] = p99_ms
    if errors is not None:
        values[reading_key(REQUEST_COUNT, Statistic.RATE, "1/s", {"response_code_class": "5xx"})] = errors
    if batch is not None:
        values[reading_key(":tensorflow:serving:batching_session:processed_batch_size", Statistic.MEAN, "rows")] = batch
    return values | {_SERVED[status]: value for status, value in (served or {}).items()}


def exhausted() -> dict[str, float]:
    """The server's 16 threads refuse four of five calls before any handler runs; CPU and GPU have time."""
    return readings(served={"OK": 40}, in_flight=16)


def sound(*, rate: float = 200, p99_ms: float = 120) -> dict[str, float]:
    """All that comes is answered."""
    return readings(rate=rate, served={"OK": rate}, p99_ms=p99_ms, gpu=0.6, cpu=0.5, batch=12)


class SettableMetrics:
    """The `Metrics` port whose readings a test sets; a window is what was set throughout it, with Cloud Monitoring's delay."""

    def __init__(self, load: SimulatedLoad, clock: VirtualClock) -> None:
        self._load, self._clock = load, clock
        self._set: list[tuple[datetime, dict[str, Metric]]] = []

    def set(self, values: Mapping[str, float] | str, *, unread_served: str | None = None) -> None:
        """From now on these are what is measured; a text: why nothing can be read, or none of TF Serving's counts that are left out."""
        made: dict[str, Metric] = dict.fromkeys(ALL_KEYS, Unknown(reason=values if isinstance(values, str) else NO_SERIES))
        if not isinstance(values, str):
            age = INGESTION_DELAY_SECONDS
            if unread_served is not None:
                made |= dict.fromkeys(SERVED_KEYS, Unknown(reason=unread_served))
            made |= {key: Known(value=value, age_seconds=age, samples=5) for key, value in values.items()}
        self._set.append((self._clock.now(), made))

    def now(self, values: Mapping[str, float]) -> None:
        """These are what is measured in the window that can be read at this moment, too."""
        self.set(values)
        self._set = [(datetime.min.replace(tzinfo=UTC), self._set[-1][1])]

    def instance_count(self, service: ServiceId) -> Metric:
        return self._load.instance_count(service)

    def readings(self, service: ServiceId) -> Readings:
        """What was set when the window began: a test that changes it sees the change once a whole window has passed."""
        assert service == RANKER
        began = self._clock.now() - timedelta(seconds=WINDOW_SECONDS + INGESTION_DELAY_SECONDS)
        earlier = [made for at, made in self._set if at <= began]
        return Readings(values=earlier[-1] if earlier else self._set[0][1])


def to_repair(generation: int = 1, **changes: Any) -> ServiceDocument:
    """A gRPC service whose template is somebody else's until an incident is explained by it."""
    given = {"protocol": "grpc", "metrics_sidecar": True, "take_over": "to-repair", **changes}
    return serving_document(generation, **given)


def ours(generation: int = 1, **changes: Any) -> ServiceDocument:
    """A gRPC service with Trimtab's own template from the first look on."""
    return to_repair(generation, **{"take_over": "at-once", **changes})


class Clinic(Town):
    """The town with logs and metrics that a test writes, and a template with too few server threads for its concurrency."""

    def __init__(self, spec: ServiceDocument | None = None, *, concurrency: int = 80, trace: Trace | None = None) -> None:
        super().__init__(spec or to_repair(), diagnoses=True, trace=trace)

        def bad_advice(service: Any) -> None:
            service.template.max_instance_request_concurrency = concurrency

        self.cloud_run.change_by(NAME, "owner@example.com", edit=bad_advice)
        self.clock.advance(120)
        self.foreign = self.revisions()[-1]
        self.theirs = self.cloud_run.get_service(NAME).template

    def start_process(self, trace: Trace) -> None:
        super().start_process(trace)
        if not hasattr(self, "metrics"):
            self.metrics = SettableMetrics(self.load, self.clock)
            self.metrics.set(sound())
        metrics = Traced("metrics", self.metrics, trace)
        self.reconcile_ports = replace(self.reconcile_ports, metrics=metrics)

    def ails(self, values: Mapping[str, float] | str, *, incident: str = "0.a1", signal: str = "thread-gap") -> None:
        """The metrics show it for a whole window, then the alert opens."""
        self.metrics.set(values)
        self.clock.advance(WINDOW_SECONDS + INGESTION_DELAY_SECONDS + 60)
        self.alarm(incident, signal=signal)

    def until(self, phase: str, *, minutes: int = 60) -> None:
        """Time passes until the repair is there."""
        for _ in range(minutes):
            if self.phase() == phase:
                return
            self.minutes(1)
        raise AssertionError(f"the repair is {self.phase()} after {minutes} minutes, not {phase}")

    def alarm(self, incident: str = "0.a1", state: str = "open", *, signal: str = "thread-gap") -> None:
        """What Cloud Monitoring publishes of a policy of that signal."""
        labels = {"trimtab_service": "ranker", "trimtab_region": "europe-west1", "trimtab_signal": signal}
        self.notify(incident, state, started_at=self.clock.now(), policy_user_labels=labels)
        self.run()

    def settles(self) -> "Clinic":
        """Somebody has it looked at, and what is wanted is served."""
        self.bus.publish_wakes([Wake.of(RANKER, "apply")])
        self.run()
        self.minutes(3)
        return self

    def redeploy(self, principal: str = "terraform@example.com") -> None:
        """What the owner's own tool does: the template that it has, and all traffic on the revision of it."""

        def theirs(service: Any) -> None:
            service.template = self.theirs
            service.template.revision = ""
            service.traffic = []

        self.cloud_run.change_by(NAME, principal, edit=theirs)

    def says(self, text: str, times: int = 3) -> None:
        """The server's log."""
        for _ in range(times):
            self.logs.write(RANKER, text)
        self.clock.advance(1)

    def traffic(self) -> dict[str, int]:
        """By revision; what follows the latest is on the one that is ready."""
        service = self.cloud_run.get_service(NAME)
        ready = service.latest_ready_revision.rsplit("/", 1)[-1]
        return {each.revision or ready: each.percent for each in service.traffic_statuses if each.percent}

    def repair(self) -> Repair:
        found = self.state().repair
        assert found is not None
        return found

    def phase(self) -> str | None:
        state = self.store.read(RANKER).state
        return None if state is None or state.repair is None else state.repair.phase.value

    def template_writes(self) -> int:
        return len([mask for mask in self.writes() if "template" in mask])

    def promotes(self) -> int:
        return len([mask for mask in self.writes() if "traffic" in mask and "template" not in mask])

    def decisions(self) -> list[Decision]:
        """All that were recorded, the oldest first."""
        return list(reversed(self.store.decisions(RANKER, limit=500)))

    def repairs(self) -> list[tuple[str, str]]:
        """Of the recorded decisions those about a repair: its kind and the repair's phase."""
        return [(each.repair.kind, each.repair.repair.phase.value) for each in self.decisions() if each.repair is not None]

    def denied(self, code: str) -> list[str]:
        """What the recorded decisions say under that code."""
        return [denial.message for each in self.decisions() for denial in each.denials if denial.code == code]

    def batching(self) -> str:
        """The batching parameters of the service's template, as its container gets them."""
        env = self.cloud_run.get_service(NAME).template.containers[0].env
        return next((each.value for each in env if "BATCHING" in each.name), "")
