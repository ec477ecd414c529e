"""Trimtab in the loop of the simulated world: the real functions around a service under load, in virtual time.

    with_trimtab = steered(
        running,                                     # what runs at first: a service as REST JSON of the Admin API v2
        ServiceDocument(id=..., spec=...),           # what Trimtab is told of it
        ModelTimes.affine(4.0, 0.25, host_ms=2.0, cpu_ms_per_request=0.5),
        Workload(Steady(4000.0)),
        good_ms=50.0, seed=1, duration_s=3600.0, lag_s=60.0,
    )
    with_trimtab.result.goodput                      # of the whole run; .span(from_s, to_s) of a part
    with_trimtab.decisions                           # what was decided when, as it is stored

Every simulated minute the world moves on, the alert policies are looked at, what they send is published as Pub/Sub would push it, and
the schedule ticks. Nothing else tells Trimtab anything, and it changes the world only by writing to Cloud Run. The same seed gives the
same run.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cli.edition import Edition, Outside
from shared import log
from shared.local.clock import SeededIds, VirtualClock
from shared.local.world.alerts import AlertIncident, Alerts, policies
from shared.local.world.revisions import START_S
from shared.local.world.seen import SeenWorld
from shared.local.world.served import ServedWorld, place
from shared.records.decision import Decision
from shared.records.evidence import INGESTION_DELAY_SECONDS
from shared.records.service import ServiceDocument
from shared.records.signals import Signal
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_records import Write
from shared.simulation.monitoring import EVALUATED_S
from shared.simulation.platform import TRIMTAB
from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import ModelTimes, Revision
from shared.simulation.world.workload import Recorded, Workload

START = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
"""When a run begins, by its own clock."""
MOST_DECISIONS = 10_000


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as it is stored, and when it was made."""

    at_s: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class Alerted:
    """An incident of an alert policy; still open where `closed_s` is None."""

    incident_id: str
    signal: Signal
    opened_s: float
    closed_s: float | None


@dataclass(frozen=True, slots=True)
class Written:
    """A write of Trimtab's to Cloud Run that was accepted; the mask names its fields."""

    at_s: float
    mask: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """A revision that ran, and when it was made."""

    at_s: float
    name: str
    revision: Revision


@dataclass(frozen=True)
class Steered:
    """A run with Trimtab in the loop. All times are simulated seconds since its beginning, all figures are simulated."""

    result: RunResult
    """Of the whole run; `result.series` has it by the minute."""
    decisions: tuple[Decided, ...]
    """In the order in which they were made."""
    alerts: tuple[Alerted, ...]
    writes: tuple[Written, ...]
    revisions: tuple[Ran, ...]
    """In order; the first is the one that ran at first."""
    refused_deliveries: int
    """Messages that a function did not take at once: none, unless something is wrong."""
    world: ServedWorld = field(repr=False)

    @property
    def platform_writes(self) -> int:
        """How often Trimtab wrote to Cloud Run."""
        return len(self.writes)

    def span(self, from_s: float, to_s: float | None = None) -> RunResult:
        """What happened between two full minutes; to the end, where the second is not given.

        Raises:
            ValueError: they are no full minutes of the run, in order.
        """
        return self.world.result(from_s, to_s)


def steered(
    running: Mapping[str, Any],
    document: ServiceDocument,
    model: ModelTimes,
    workload: Workload | Recorded,
    *,
    good_ms: float,
    seed: int,
    duration_s: float = 3600.0,
    lag_s: float = INGESTION_DELAY_SECONDS,
    loss: float = 0.0,
    gpu_quota: int | None = None,
    warm_instances: int | None = None,
    start_s: float = START_S,
    client_timeout_s: float = math.inf,
    usd_per_instance_s: float | None = None,
    scraped: bool = True,
    over_grpc: bool = True,
) -> Steered:
    """Run the service with Trimtab in the loop.

    Args:
        running: The service that runs at first, as REST JSON of the Admin API v2.
        document: What Trimtab is given: id, spec (autonomy, objective, bounds, serving). Its objective is that of the alert policies too.
        model: How long the model takes, in every revision.
        workload: What clients ask.
        good_ms: An answer in time.
        seed: Of everything that is chance.
        duration_s: Full minutes.
        lag_s: How old a sample of a metric is before policies and Trimtab can read it.
        loss: The chance that a metric's sample is lost.
        gpu_quota: GPUs in the region; None: twice the most instances that spec and service name, so that a rollout finds room.
        warm_instances: Those that serve at the beginning; None: as many as the service keeps warm, at least one.
        start_s: From the decision to start an instance to its first request.
        client_timeout_s: The deadline of the clients' calls.
        usd_per_instance_s: Instead of the list price.
        scraped: Whether somebody collects TF Serving's own metrics, whatever the template says.
        over_grpc: Whether Trimtab's real Cloud Run client is used, through the simulated one's door; False: in process, the same run in
            less time.

    Raises:
        ValueError: `duration_s` is no number of full minutes, or the service cannot be simulated; the message says why.
        SimulatedError: Cloud Run would refuse `running`.
    """
    minutes = round(duration_s / EVALUATED_S)
    if minutes < 1 or minutes * EVALUATED_S != duration_s:
        raise ValueError(f"duration_s is {duration_s:g}: a run has full minutes, at least one")
    service = document.id
    clock = VirtualClock(START)
    cloud_run = SimulatedCloudRun(now=clock.now)
    place(cloud_run, service, running, gpu_quota=_quota(running, document) if gpu_quota is None else gpu_quota)
    world = ServedWorld(
        cloud_run,
        service,
        clock,
        workload,
        model,
        good_ms=good_ms,
        seed=seed,
        start_s=start_s,
        client_timeout_s=client_timeout_s,
        usd_per_instance_s=usd_per_instance_s,
        warm_instances=warm_instances,
        lag_s=lag_s,
        loss=loss,
    )
    seen = SeenWorld(world, cloud_run, scraped=scraped)
    alerts = Alerts(service, policies(document.spec.objective), seed=seed)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    edition = Edition(":memory:", clock, SeededIds(clock, seed), Outside(cloud_run, seen, seen, seen), over_grpc=over_grpc)
    with log.silenced(), edition:
        edition.store.put_service(document, if_generation=None)
        for _ in range(minutes):
            world.advance(EVALUATED_S)
            for body in alerts.look(seen.points(EVALUATED_S), clock.now()):
                edition.bus.publish("alerts", body)
            edition.tick()
            edition.bus.run_until_idle()
        decisions = edition.store.decisions(service, limit=MOST_DECISIONS)
        refused = edition.bus.counts.refused
    return Steered(
        result=world.result(0.0),
        decisions=tuple(Decided(world.seconds(each.decided_at), each) for each in reversed(decisions)),
        alerts=tuple(_alerted(world, each) for each in alerts.incidents),
        writes=tuple(_written(world, each) for each in cloud_run.write_log if each.principal == TRIMTAB),
        revisions=tuple(Ran(at_s, name, revision) for name, (at_s, revision) in world.revisions.items()),
        refused_deliveries=refused,
        world=world,
    )


def _quota(running: Mapping[str, Any], document: ServiceDocument) -> int:
    named = [part.get("scaling", {}).get("maxInstanceCount", 0) for part in (running, running.get("template", {}))]
    return 2 * max(document.spec.scale.max_instance_count, *map(int, named))


def _alerted(world: ServedWorld, incident: AlertIncident) -> Alerted:
    closed = None if incident.closed_at is None else world.seconds(incident.closed_at)
    return Alerted(incident.incident_id, incident.signal, world.seconds(incident.opened_at), closed)


def _written(world: ServedWorld, write: Write) -> Written:
    return Written(world.seconds(write.at), write.mask)
