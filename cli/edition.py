"""The local edition: the real functions, SQLite, a bus that posts real push bodies, and a simulated Cloud Run behind its gRPC door.

Everything but the outside world is what runs on Google Cloud: the entry points under functions-framework, the handlers, the real
`google-cloud-run` client. The world is simulated: one TF Serving service on an L4, and how many instances its traffic needs.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import functions_framework
from werkzeug.test import Client

import shared
from shared import wiring
from shared.errors import Refused, TokenConflict
from shared.gcp.cloud_run import CloudRunPlatform
from shared.gcp.prober import HttpProber
from shared.handlers.audit import AuditPorts
from shared.handlers.command_work import CommandPorts
from shared.handlers.keeping import FactPorts
from shared.handlers.reconcile import ReconcilePorts
from shared.handlers.schedule import SchedulePorts
from shared.handlers.upload import UploadPorts
from shared.local.bus import InProcessBus, Trouble
from shared.local.cloud_run_door import CloudRunDoor
from shared.local.cloud_run_rest import CloudRunRest
from shared.local.model_folder import ModelFolder
from shared.local.redrive import LocalRedriver
from shared.local.sqlite_store import SqliteStore
from shared.ports import Clock, Ids, Logs, Metrics, Prober, Quota, ServiceDeleter, TemplatePlatform
from shared.records.observed import Bounds
from shared.records.service import ServiceDocument
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.gpu_service import place_service
from shared.simulation.logs import SimulatedLogs
from shared.simulation.platform import TRIMTAB, SimulatedPlatform
from shared.simulation.prober import IN_PROCESS, SimulatedProber
from shared.simulation.service_load import SimulatedLoad

FUNCTIONS = ("alert", "audit", "command", "reconcile", "schedule", "upload")
TOPICS = {"alerts": "alert", "changes": "audit", "commands": "command", "uploads": "upload", "ticks": "schedule", "wakes": "reconcile"}
"""Topic to the function that its push subscription calls."""


def load_functions() -> dict[str, Any]:
    """The functions as WSGI applications, loaded from their source files as functions-framework does in production."""
    create_app: Callable[[str, str, str], Any] = functions_framework.create_app
    root = Path(shared.__file__).parent.parent / "functions"
    return {name: create_app(name, str(root / name / "main.py"), "http") for name in FUNCTIONS}


@dataclass(frozen=True)
class Outside:
    """The simulated outside, as Trimtab's ports see it."""

    cloud_run: SimulatedCloudRun
    metrics: Metrics
    quota: Quota
    logs: Logs


class Edition:
    """All of Trimtab in this process around a simulated outside; `with` starts and stops it.

    Args:
        data: The SQLite file, or `:memory:`.
        clock: Real, or virtual for a story; both the functions and the simulated outside go by it.
        ids: Where identifiers come from.
        outside: What Trimtab looks at and writes to.
        buckets: A folder that stands for Cloud Storage, a folder in it for each bucket; None: no bucket is connected.
        trouble: What happens to messages on their way; None: each is delivered once, in order, at once.
        over_grpc: Whether Cloud Run is reached as on Google Cloud, by the real client through its door; False: in process.
    """

    def __init__(
        self,
        data: str | Path,
        clock: Clock,
        ids: Ids,
        outside: Outside,
        *,
        buckets: Path | None = None,
        trouble: Trouble | None = None,
        over_grpc: bool = True,
    ) -> None:
        self.clock = clock
        self.files = None if buckets is None else ModelFolder(buckets)
        self.outside = outside
        self._ids = ids
        self._over_grpc = over_grpc
        self.store = SqliteStore(data, clock)
        self.bus = InProcessBus(self._deliver, clock, project="local", trouble=trouble)
        self._stack = ExitStack()
        self._clients: dict[str, Client] = {}
        self.applications: dict[str, Any] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.store.close)
            platform, prober, deleter = self._cloud_run(stack)
            wiring.install(
                alert=FactPorts.of(self.store, self.bus, self.clock, self.bus),
                audit=AuditPorts(FactPorts.of(self.store, self.bus, self.clock, self.bus), ours=(TRIMTAB,)),
                command=CommandPorts(
                    store=self.store,
                    states=self.store,
                    bus=self.bus,
                    clock=self.clock,
                    redriver=LocalRedriver(self.bus, {function: topic for topic, function in TOPICS.items()}),
                    deleter=deleter,
                    trusted_local=True,
                    events=self.bus,
                ),
                schedule=SchedulePorts(self.store, self.bus, self.clock, models=self.store),
                upload=UploadPorts.of(self.store, self.bus, self.clock, self.bus),
                reconcile=ReconcilePorts(
                    self.store,
                    platform,
                    self.bus,
                    self.clock,
                    self._ids,
                    metrics=self.outside.metrics,
                    quota=self.outside.quota,
                    templates=platform,
                    prober=prober,
                    events=self.bus,
                    models=self.store,
                    files=self.files,
                    logs=self.outside.logs,
                ),
            )
            stack.callback(wiring.reset)
            self.applications = load_functions()
            self._clients = {name: Client(application) for name, application in self.applications.items()}
            for topic, function in TOPICS.items():
                self.bus.subscribe(topic, function)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def tick(self) -> None:
        """What Cloud Scheduler does every minute."""
        self.bus.publish("ticks", b"")

    def trimtab_writes(self) -> int:
        """How often Trimtab wrote to Cloud Run."""
        return sum(write.principal == TRIMTAB for write in self.outside.cloud_run.write_log)

    def _cloud_run(self, stack: ExitStack) -> tuple[TemplatePlatform, Prober, Callable[[], ServiceDeleter]]:
        cloud_run = self.outside.cloud_run
        if not self._over_grpc:
            cloud_run.base_url = IN_PROCESS
            return SimulatedPlatform(cloud_run, now=self.clock.now), SimulatedProber(cloud_run), _no_deleter
        door = stack.enter_context(CloudRunDoor(cloud_run))
        rest = stack.enter_context(CloudRunRest(cloud_run))
        platform = CloudRunPlatform(self.clock, endpoint=door.endpoint, rest_endpoint=rest.base_url.removeprefix("http://"))
        stack.callback(platform.close)
        return platform, HttpProber(), lambda: platform

    def _deliver(self, subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        return self._clients[subscription].post("/", headers=dict(headers), data=body).status_code


def _no_deleter() -> ServiceDeleter:
    raise Refused("a service is deleted through Cloud Run's own door, which is not open here")


@dataclass(frozen=True)
class World:
    """The outside of the local edition: load that counts in instances."""

    cloud_run: SimulatedCloudRun
    load: SimulatedLoad
    logs: SimulatedLogs


class LocalEdition(Edition):
    """All of Trimtab in this process, around simulated services whose load is a number of instances. See `Edition`."""

    def __init__(self, data: str | Path, clock: Clock, ids: Ids, *, buckets: Path | None = None, trouble: Trouble | None = None) -> None:
        cloud_run = SimulatedCloudRun(now=clock.now)
        load = SimulatedLoad(cloud_run, now=clock.now)
        logs = SimulatedLogs(cloud_run, load, now=clock.now)
        super().__init__(data, clock, ids, Outside(cloud_run, load, load, logs), buckets=buckets, trouble=trouble)
        self.world = World(cloud_run, load, logs)

    def adopt(self, document: ServiceDocument, bounds: Bounds, *, demand: float, revision_max: int = 0) -> None:
        """Put a service into the simulated world, and its spec into the store where there is none.

        In a kept file the service starts where that left it: its bounds, its spec as commands changed it, and its holds.
        """
        service = document.id
        kept = self.store.read(service)
        if kept.state is not None and kept.state.desired is not None:
            bounds = kept.state.desired.bounds
        place_service(self.world.cloud_run, service, bounds, revision_max=revision_max)
        self.world.load.set_demand(service, demand)
        if kept.document is not None or "document" in kept.unreadable:
            return
        try:
            self.store.put_service(document, if_generation=None)
        except TokenConflict:
            return  # another process wrote the spec meanwhile; theirs stands

    def status(self, service: ServiceId) -> dict[str, Any]:
        """Where the service stands now: for people and for `--json`."""
        seen = self.world.cloud_run.get_service(service.resource_name)
        return {
            "min_instance_count": seen.scaling.min_instance_count,
            "max_instance_count": seen.scaling.max_instance_count,
            "simulated_instances": self.world.load.running(service),
            "simulated_demand": self.world.load.demand(service),
            "cloud_run_writes": self.trimtab_writes(),
        }
