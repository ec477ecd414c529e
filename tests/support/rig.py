"""The whole of Trimtab around one simulated service, in virtual time, without HTTP: handlers, store, bus, Cloud Run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from shared.handlers.alert import handle_alert
from shared.handlers.answer import serve, serve_callers
from shared.handlers.audit import AuditPorts, handle_audit
from shared.handlers.command import receive_command
from shared.handlers.command_work import CommandPorts
from shared.handlers.keeping import FactPorts
from shared.handlers.reconcile import ReconcilePorts, handle_wake
from shared.handlers.schedule import SchedulePorts, handle_tick
from shared.handlers.upload import UploadPorts, handle_upload
from shared.local.bus import InProcessBus, Trouble
from shared.local.clock import SeededIds, VirtualClock
from shared.local.redrive import LocalRedriver
from shared.local.sqlite_store import SqliteStore
from shared.ports import Store
from shared.records.observed import Bounds
from shared.records.service import ServiceDocument
from shared.records.state import ServiceState
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.gpu_service import place_service
from shared.simulation.logs import SimulatedLogs
from shared.simulation.monitoring import notification
from shared.simulation.platform import TRIMTAB, SimulatedPlatform
from shared.simulation.prober import IN_PROCESS, SimulatedProber
from shared.simulation.service_load import SimulatedLoad
from tests.support.builders import NOW, RANKER, document
from tests.support.tracing import Died, Trace, Traced

NO_ANSWER = 0
TOPICS = {"alerts": "alert", "changes": "audit", "commands": "command", "uploads": "upload", "ticks": "schedule", "wakes": "reconcile"}


@dataclass
class PostedRequest:
    """A request as Flask would hand it over."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    method: str = "POST"

    def get_data(self) -> bytes:
        return self.body


class NoDeleter:
    """No test of the rig deletes a Cloud Run service."""

    def delete_service(self, service: ServiceId) -> None:
        raise AssertionError(service)


class Rig:
    """Functions, store, bus and a simulated Cloud Run with the service `ranker` at a maximum of 4."""

    def __init__(
        self,
        *,
        spec: ServiceDocument | None = None,
        trace: Trace | None = None,
        trouble: Trouble | None = None,
        store: Store | None = None,
        demand: float = 6,
        known_service: bool = True,
        diagnoses: bool = False,
    ) -> None:
        self.clock = VirtualClock(NOW)
        self.trace = trace or Trace()
        self.cloud_run = SimulatedCloudRun(now=self.clock.now)
        place_service(self.cloud_run, RANKER, Bounds(max_instance_count=4))
        self.load = SimulatedLoad(self.cloud_run, now=self.clock.now)
        self.load.set_demand(RANKER, demand)
        self.logs = SimulatedLogs(self.cloud_run, self.load, now=self.clock.now)
        self._diagnoses = diagnoses
        self.store: Store = store or SqliteStore(":memory:", self.clock)
        self.bus = InProcessBus(self._deliver, self.clock, trouble=trouble)
        for topic, function in TOPICS.items():
            self.bus.subscribe(topic, function)
        if known_service:
            self.store.put_service(spec or document(high=10), if_generation=None)
        self.statuses: list[tuple[str, int]] = []
        self.cloud_run.base_url = IN_PROCESS
        self.prober = SimulatedProber(self.cloud_run)
        self.ids = SeededIds(self.clock)
        self.start_process(self.trace)

    def start_process(self, trace: Trace) -> None:
        """New ports, as after a cold start."""
        self.trace = trace
        store, bus = Traced("store", self.store, trace), Traced("bus", self.bus, trace)
        platform = Traced("platform", SimulatedPlatform(self.cloud_run, now=self.clock.now), trace)
        self.alert_ports = FactPorts.of(store, bus, self.clock)
        self.audit_ports = AuditPorts(FactPorts.of(store, bus, self.clock), ours=(TRIMTAB,))
        self.command_ports = CommandPorts(
            store=store,
            states=store,
            bus=bus,
            clock=self.clock,
            redriver=LocalRedriver(self.bus, {function: topic for topic, function in TOPICS.items()}),
            deleter=NoDeleter,
            trusted_local=True,
        )
        self.upload_ports = UploadPorts.of(store, bus, self.clock)
        self.schedule_ports = SchedulePorts(store, bus, self.clock, models=store)
        self.reconcile_ports = ReconcilePorts(
            store, platform, bus, self.clock, self.ids, metrics=self.load, quota=self.load, templates=platform, prober=self.prober
        )
        if self._diagnoses:
            logs, metrics = Traced("logs", self.logs, trace), Traced("metrics", self.load, trace)
            self.reconcile_ports = replace(self.reconcile_ports, logs=logs, metrics=metrics)

    def post(self, function: str, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        """One HTTP request to a function; a process that dies gives no answer."""
        request = PostedRequest(body, headers or {"content-type": "application/json"})
        handles = {
            "alert": lambda h, read: handle_alert(h, read, self.alert_ports),
            "audit": lambda h, read: handle_audit(h, read, self.audit_ports),
            "upload": lambda h, read: handle_upload(h, read, self.upload_ports),
            "schedule": lambda h, read: handle_tick(h, read, self.schedule_ports),
            "reconcile": lambda h, read: handle_wake(h, read, self.reconcile_ports),
        }
        try:
            if function == "command":
                status = serve_callers(function, request, lambda h, read: receive_command(h, read, self.command_ports))[1]
            else:
                status = serve(function, request, handles[function])[1]
        except Died:
            self.start_process(Trace())
            status = NO_ANSWER
        self.statuses.append((function, status))
        return status

    def notify(self, incident_id: str = "0.a1", state: Any = "open", *, started_at: datetime = NOW, **incident: Any) -> None:
        """What Cloud Monitoring publishes."""
        body = notification(RANKER, incident_id, state, started_at=started_at, now=self.clock.now())
        body["incident"] |= incident
        self.bus.publish("alerts", json.dumps(body).encode())

    def run(self) -> None:
        """Deliver all that is due."""
        self.bus.run_until_idle()

    def minutes(self, count: int) -> None:
        """Time passes; the schedule ticks every minute."""
        for _ in range(count):
            self.clock.advance(60)
            self.bus.publish("ticks", b"")
            self.run()

    def state(self) -> ServiceState:
        state = self.store.read(RANKER).state
        assert state is not None
        return state

    def writes(self) -> list[tuple[str, ...]]:
        """The masks of what Trimtab wrote to Cloud Run."""
        return [write.mask for write in self.cloud_run.write_log if write.principal == TRIMTAB]

    def bounds(self) -> tuple[int, int]:
        scaling = self.cloud_run.get_service(RANKER.resource_name).scaling
        return scaling.min_instance_count, scaling.max_instance_count

    def _deliver(self, subscription: str, headers: Mapping[str, str], body: bytes) -> int:
        return self.post(subscription, body, headers)
