"""The simulated world behind one service of the simulated Cloud Run: what is deployed there serves here, and can be measured.

The simulated Cloud Run keeps its own rules (generations, reconciliation, quota, validation) and knows no load; the world has load and
knows no API. This follows the one and steers the other: new revisions and their first instances, traffic and bounds as they come into
force, the GPU quota. In the other direction it tells how long a revision takes to start, whether it starts at all, and how many
instances run.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from google.cloud import run_v2

from shared.local.clock import VirtualClock
from shared.local.world.revisions import START_S, deployment_of, revision_of
from shared.records.evidence import INGESTION_DELAY_SECONDS
from shared.records.subject import ServiceId
from shared.rendering.observed import shape_of
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from shared.simulation.cloud_run_errors import ServiceName
from shared.simulation.cloud_run_json import from_json, to_json
from shared.simulation.cloud_run_quota import QuotaKey
from shared.simulation.cloud_run_reconciliation import instances_for_new
from shared.simulation.cloud_run_records import short
from shared.simulation.cloud_run_traffic import WHOLE
from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import ModelTimes, Revision
from shared.simulation.world.workload import Recorded, Workload
from shared.simulation.world.world import AddRevision, SetBounds, SetQuota, SetTraffic, World

STEP_S = 5.0
"""The world looks at Cloud Run so often: as often as Cloud Run's autoscaler looks at its instances."""


def place(cloud_run: SimulatedCloudRun, service: ServiceId, document: Mapping[str, Any], *, gpu_quota: int) -> None:
    """Put a service (REST JSON of the Admin API v2) into the simulated Cloud Run, in force, with so many GPUs of its kind to be had.

    Raises:
        SimulatedError: Cloud Run would refuse the document, in its words.
    """
    message = from_json(document, run_v2.Service, at="service")
    accelerator = shape_of(message.template).accelerator
    for redundant in (False, True) if accelerator is not None else ():
        cloud_run.set_gpu_quota(service.project, service.region, gpu_quota, accelerator=str(accelerator), zonal_redundancy=redundant)
    message.name = ""
    parent = f"projects/{service.project}/locations/{service.region}"
    cloud_run.create_service(parent, service.name, message, settled=True)


class ServedWorld:
    """A service of the simulated Cloud Run under load; both go by `clock`, which nobody else moves.

    Traffic is shared as Cloud Run says is in force; a service's bounds are divided by traffic among its revisions, rounded up. A new
    revision starts the instances that Cloud Run starts to see it ready. One that gets no more traffic keeps its instances until Cloud
    Run's scale-in ends them.

    Args:
        cloud_run: Where the service is, in force (`create_service(..., settled=True)`).
        service: Which one.
        clock: Simulated time, shared with `cloud_run`.
        workload: What clients ask.
        model: How long the model takes.
        good_ms: An answer in time.
        seed: Of all chance in it.
        start_s: From the decision to start an instance to its first request.
        client_timeout_s: The deadline of the clients' calls.
        usd_per_instance_s: Instead of the list price.
        warm_instances: Those that serve at the beginning, at least; None: as many as the service keeps warm, at least one.
        lag_s: How old a sample of a metric is before it can be read.
        loss: The chance that a metric's sample is lost.

    Raises:
        ValueError: the service's own revision cannot be simulated, the message says why.
    """

    def __init__(
        self,
        cloud_run: SimulatedCloudRun,
        service: ServiceId,
        clock: VirtualClock,
        workload: Workload | Recorded,
        model: ModelTimes,
        *,
        good_ms: float,
        seed: int,
        start_s: float = START_S,
        client_timeout_s: float = math.inf,
        usd_per_instance_s: float | None = None,
        warm_instances: int | None = None,
        lag_s: float = INGESTION_DELAY_SECONDS,
        loss: float = 0.0,
    ) -> None:
        self.service = service
        self.lag_s = lag_s
        self._cloud_run = cloud_run
        self._clock = clock
        self._began = clock.now()
        self._loss = loss
        self._start_s = start_s
        self._compile: Callable[[Mapping[str, Any]], Revision] = lambda template: revision_of(
            deployment_of({"template": template}, service),
            model,
            start_s=start_s,
            client_timeout_s=client_timeout_s,
            usd_per_instance_s=usd_per_instance_s,
        )
        seen = cloud_run.get_service(service.resource_name)
        name = short(seen.latest_ready_revision)
        first = self._compile(to_json(cloud_run.get_revision(f"{service.resource_name}/revisions/{name}")))
        bounds = cloud_run.in_force(service.resource_name)[-1]
        warm = max(bounds.min_instance_count, 1 if warm_instances is None else warm_instances)
        self._world = World(workload, first, good_ms=good_ms, seed=seed, warm_instances=warm, quota=self._quota(seen.template), name=name)
        self._made: dict[str, tuple[float, Revision]] = {name: (0.0, first)}
        self._latest_created = seen.latest_created_revision
        self._applied: dict[str, object] = {}
        cloud_run.set_behaviour(self._behaviour, service=service.resource_name)
        self._follow()

    @property
    def now_s(self) -> float:
        """Simulated seconds since the beginning."""
        return self._world.now

    @property
    def revisions(self) -> Mapping[str, tuple[float, Revision]]:
        """Those that ran, by name, in order: when each was made, and what it is."""
        return dict(self._made)

    @property
    def instances(self) -> int:
        """That hold a GPU now."""
        return sum(self._world.instances.values())

    @property
    def serving(self) -> Revision:
        """The revision with the most traffic."""
        shares = self._shares(self._cloud_run.get_service(self.service.resource_name))
        return self._made[max(shares, key=lambda name: shares[name])][1]

    def advance(self, seconds: float) -> None:
        """Both times move on, in steps of `STEP_S`."""
        end = self._world.now + seconds
        while self._world.now < end:
            self._follow()
            step = min(STEP_S, end - self._world.now)
            self._world.run_until(self._world.now + step)
            self._clock.advance(step)
        self._follow()

    def result(self, from_s: float, to_s: float | None = None) -> RunResult:
        """What happened between two full minutes.

        Raises:
            ValueError: they are no full minutes in order, or not over.
        """
        return self._world.result(from_s, to_s)

    def sampled(self, window_s: float) -> tuple[dict[str, float], float]:
        """What can be read now of a window, by the keys of a diagnosis, and how long ago the window ended."""
        end = max(math.floor((self._world.now - self.lag_s) / 60) * 60, 0)
        return self._world.metrics(window_s, lag_s=self.lag_s, loss=self._loss), self._world.now - end

    def seconds(self, moment: datetime) -> float:
        """Simulated seconds of a moment of the clock."""
        return (moment - self._began).total_seconds()

    def moment(self, seconds: float) -> datetime:
        """The clock's moment of simulated seconds."""
        return self._began + timedelta(seconds=seconds)

    def _behaviour(self, template: run_v2.RevisionTemplate) -> Behaviour:
        """Starts in the model's time; what TF Serving would not start with, or would not be reached with, never becomes ready."""
        try:
            self._compile(to_json(template))
        except ValueError:
            return Behaviour(Outcome.DOES_NOT_LOAD)
        return Behaviour(Outcome.OK, self._start_s)

    def _follow(self) -> None:
        seen = self._cloud_run.get_service(self.service.resource_name)
        if seen.latest_created_revision != self._latest_created:
            self._add_new(seen)
            self._latest_created = seen.latest_created_revision
        shares = self._shares(seen)
        self._once("traffic", tuple(shares.items()), lambda: self._world.apply(SetTraffic(shares)))
        for name, (least, most) in self._bounds(shares).items():
            change = SetBounds(name, least, most)
            self._once(f"bounds of {name}", change, lambda change=change: self._world.apply(change))  # type: ignore[misc]
        quota = self._quota(seen.template)
        if quota is not None:
            self._once("quota", quota, lambda: self._world.apply(SetQuota(quota)))
        self._cloud_run.set_running_instances(self.service.resource_name, self.instances)

    def _once(self, what: str, value: object, apply: Callable[[], None]) -> None:
        if self._applied.get(what) != value:
            self._applied[what] = value
            apply()

    def _add_new(self, seen: run_v2.Service) -> None:
        for revision in reversed(self._cloud_run.list_revisions(self.service.resource_name)):
            name = short(revision.name)
            if name in self._made:
                continue
            try:
                compiled = self._compile(to_json(revision))
            except ValueError:
                continue  # it never becomes ready, and gets no traffic
            self._made[name] = (self._world.now, compiled)
            self._world.apply(AddRevision(name, compiled, instances_for_new(seen, name)))

    def _shares(self, seen: run_v2.Service) -> dict[str, float]:
        """The traffic in force."""
        latest = short(seen.latest_ready_revision)
        shares: dict[str, float] = {}
        for status in seen.traffic_statuses:
            name = status.revision or latest
            if status.percent:
                shares[name] = shares.get(name, 0.0) + status.percent / WHOLE
        return shares

    def _bounds(self, shares: Mapping[str, float]) -> dict[str, tuple[int, int]]:
        service = self._cloud_run.in_force(self.service.resource_name)[-1]
        found = {}
        for name, share in shares.items():
            own = self._made[name][1].cloud_run
            most = max(min(own.max_instances, math.ceil(service.max_instance_count * share)), 1)
            found[name] = (min(max(own.min_instances, math.ceil(service.min_instance_count * share)), most), most)
        return found

    def _quota(self, template: run_v2.RevisionTemplate) -> int | None:
        shape = shape_of(template)
        key = QuotaKey.of(ServiceName(self.service.project, self.service.region, self.service.name), shape)
        return None if key is None else self._cloud_run.gpu_quota(key) // shape.gpu_count
