"""A storm on one service: copies of one alert and as many distinct incidents, shuffled, through the real handlers, two workers."""

import base64
import json
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from shared.clock import SystemClock, SystemIds
from shared.handlers.alert import handle_alert
from shared.handlers.answer import serve
from shared.handlers.keeping import FactPorts
from shared.handlers.reconcile import ReconcilePorts, handle_wake
from shared.local.bus import InProcessBus
from shared.ports import Store
from shared.records.observed import Bounds
from shared.records.state import ServiceState
from shared.records.subject import ServiceId, Wake
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.gpu_service import place_service
from shared.simulation.monitoring import notification
from shared.simulation.platform import TRIMTAB, SimulatedPlatform
from shared.simulation.service_load import SimulatedLoad
from tests.support.builders import alert, document
from tests.support.rig import PostedRequest

WORKERS = 2


class Outcome(NamedTuple):
    """What a storm left behind, and how long it took against bare creates on the same store."""

    state: ServiceState
    writes: int
    bounds: tuple[int, int]
    state_bytes: int
    storm_seconds: float
    bare_seconds: float
    statuses: set[int]

    @property
    def ratio(self) -> float:
        return self.storm_seconds / self.bare_seconds


def rage(store: Store, service: ServiceId, *, copies: int, distinct: int) -> Outcome:
    """As many bare creates as there are events, the storm until every fact is folded, and the bare creates again.

    The bare creates before and after are averaged: the machine is not equally quiet all the time.
    """
    bare_seconds = _bare(store, service, copies + distinct, "before")

    clock = SystemClock()
    cloud_run = SimulatedCloudRun(now=clock.now)
    place_service(cloud_run, service, Bounds(max_instance_count=4))
    load = SimulatedLoad(cloud_run, now=clock.now)
    load.set_demand(service, 6)
    store.put_service(document(high=10, service=service), if_generation=None)

    statuses: set[int] = set()
    bus = InProcessBus(lambda subscription, headers, body: post(subscription, body, headers), clock)
    alert_ports = FactPorts.of(store, bus, clock)
    platform = SimulatedPlatform(cloud_run, now=clock.now)
    reconcile_ports = ReconcilePorts(store, platform, bus, clock, SystemIds(clock), metrics=load, quota=load)

    def post(function: str, body: bytes, headers: object) -> int:
        handle = {
            "alert": lambda h, read: handle_alert(h, read, alert_ports),
            "reconcile": lambda h, read: handle_wake(h, read, reconcile_ports),
        }[function]
        status = serve(function, PostedRequest(body), handle)[1]
        statuses.add(status)
        return status

    bus.subscribe("wakes", "reconcile")
    bodies = _bodies(service, copies=copies, distinct=distinct)

    def handle(number: int) -> None:
        post("alert", bodies[number], {})
        if bus.waiting:
            bus.run_until_idle()

    def storm() -> None:
        _in_two(handle, len(bodies))
        while _behind(store, service):
            bus.publish_wakes([Wake.of(service, "missed fact")])
            bus.run_until_idle()

    storm_seconds = _timed(storm)
    bare_seconds = (bare_seconds + _bare(store, service, copies + distinct, "after")) / 2
    state = store.read(service).state
    assert state is not None
    scaling = cloud_run.get_service(service.resource_name).scaling
    return Outcome(
        state=state,
        writes=sum(write.principal == TRIMTAB for write in cloud_run.write_log),
        bounds=(scaling.min_instance_count, scaling.max_instance_count),
        state_bytes=len(json.dumps(state.to_stored())),
        storm_seconds=storm_seconds,
        bare_seconds=bare_seconds,
        statuses=statuses,
    )


def _bare(store: Store, service: ServiceId, count: int, when: str) -> float:
    """Seconds that so many bare creates take, two threads, under a service of their own."""
    bare_service = service.model_copy(update={"name": f"{service.name}-bare-{when}"})
    facts = [alert(f"0.{number}") for number in range(count)]
    return _timed(lambda: _in_two(lambda number: store.create_fact(bare_service, facts[number]), count))


def _bodies(service: ServiceId, *, copies: int, distinct: int) -> list[bytes]:
    now = SystemClock().now()
    ids = ["0.copy"] * copies + [f"0.d{number:05d}" for number in range(distinct)]
    random.Random(11).shuffle(ids)
    bodies: list[bytes] = []
    for incident_id in ids:
        body = notification(service, incident_id, "open", started_at=now, now=now)
        message = {"data": base64.b64encode(json.dumps(body).encode()).decode(), "messageId": str(len(bodies)), "attributes": {}}
        bodies.append(json.dumps({"message": message, "subscription": "projects/acme-ml/subscriptions/alerts"}).encode())
    return bodies


def _behind(store: Store, service: ServiceId) -> bool:
    state = store.read(service).state
    cursor = state.cursor if state is not None else None
    return bool(store.facts_after(service, cursor, limit=1).facts)


def _in_two(work: Callable[[int], object], count: int) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        for result in pool.map(lambda part: [work(number) for number in range(part, count, WORKERS)], range(WORKERS)):
            assert result is not None


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
