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
from shared.errors import TokenConflict
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
from shared.ports import Clock, Ids
from shared.records.observed import Bounds
from shared.records.service import ServiceDocument
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.gpu_service import place_service
from shared.simulation.logs import SimulatedLogs
from shared.simulation.platform import TRIMTAB
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
class World:
    """The simulated outside."""

    cloud_run: SimulatedCloudRun
    load: SimulatedLoad
    logs: SimulatedLogs


class LocalEdition:
    """All of Trimtab in this process; `with` starts and stops it.

    Args:
        data: The SQLite file, or `:memory:`.
        clock: Real, or virtual for a story; both the functions and the simulated world go by it.
        ids: Where identifiers come from.
        buckets: A folder that stands for Cloud Storage, a folder in it for each bucket; None: no bucket is connected.
        trouble: What happens to messages on their way; None: each is delivered once, in order, at once.
    """

    def __init__(self, data: str | Path, clock: Clock, ids: Ids, *, buckets: Path | None = None, trouble: Trouble | None = None) -> None:
        self.clock = clock
        self.files = None if buckets is None else ModelFolder(buckets)
        self._ids = ids
        self.store = SqliteStore(data, clock)
        cloud_run = SimulatedCloudRun(now=clock.now)
        load = SimulatedLoad(cloud_run, now=clock.now)
        self.world = World(cloud_run, load, SimulatedLogs(cloud_run, load, now=clock.now))
        self.bus = InProcessBus(self._deliver, clock, project="local", trouble=trouble)
        self._stack = ExitStack()
        self._clients: dict[str, Client] = {}
        self.applications: dict[str, Any] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.store.close)
            door = stack.enter_context(CloudRunDoor(self.world.cloud_run))
            rest = stack.enter_context(CloudRunRest(self.world.cloud_run))
            platform = CloudRunPlatform(self.clock, endpoint=door.endpoint, rest_endpoint=rest.base_url.removeprefix("http://"))
            stack.callback(platform.close)
            wiring.install(
                alert=FactPorts.of(self.store, self.bus, self.clock, self.bus),
                audit=AuditPorts(FactPorts.of(self.store, self.bus, self.clock, self.bus), ours=(TRIMTAB,)),
                command=CommandPorts(
                    store=self.store,
                    states=self.store,
                    bus=self.bus,
                    clock=self.clock,
                    redriver=LocalRedriver(self.bus, {function: topic for topic, function in TOPICS.items()}),
                    deleter=lambda: platform,
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
                    metrics=self.world.load,
                    quota=self.world.load,
                    templates=platform,
                    prober=HttpProber(),
                    events=self.bus,
                    models=self.store,
                    files=self.files,
                    logs=self.world.logs,
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

    def tick(self) -> None:
        """What Cloud Scheduler does every minute."""
        self.bus.publish("ticks", b"")

    def status(self, service: ServiceId) -> dict[str, Any]:
        """Where the service stands now: for people and for `--json`."""
        seen = self.world.cloud_run.get_service(service.resource_name)
        return {
            "min_instance_count": seen.scaling.min_instance_count,
            "max_instance_count": seen.scaling.max_instance_count,
            "simulated_instances": self.world.load.running(service),
            "simulated_demand": self.world.load.demand(service),
            "cloud_run_writes": sum(write.principal == TRIMTAB for write in self.world.cloud_run.write_log),
        }

    def _deliver(self, subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        return self._clients[subscription].post("/", headers=dict(headers), data=body).status_code
