"""The demo's story, in virtual time on the local edition: a service at its cap, the alert, the change, the slow way down.

Every step comes from the real functions; the story only moves the clock, posts what Cloud Monitoring would post and reads what
came of it. All figures are simulated.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, NamedTuple

from cli.edition import LocalEdition
from shared.local.clock import SeededIds, VirtualClock
from shared.records.observed import Bounds
from shared.records.service import Autonomy, Objective, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.subject import ServiceId
from shared.simulation.monitoring import notification
from shared.simulation.platform import TRIMTAB

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
START = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
CAP = 4
RUSH = 6.0
"""Instances that the traffic keeps busy in the rush: two more than the cap."""
CALM = 2.0
INCIDENT = "0.demo429"
LONGEST_MINUTES = 120


class Step(NamedTuple):
    """One line of the story."""

    at_seconds: int
    who: Literal["world", "monitoring", "decision", "cloud-run"]
    what: str
    data: dict[str, Any]


def spec() -> ServiceDocument:
    """The owner's spec: up to 10 instances, up to 9 dollars an hour, and Trimtab may act."""
    wish = ServiceSpec(scale=ScaleBounds(max_instance_count=10), objective=Objective(usd_per_hour=9.0), autonomy=Autonomy.ACT)
    return ServiceDocument(id=SERVICE, spec=wish)


class Teller:
    """Tells the story: moves the clock by minutes and reports whatever changed since it last looked."""

    def __init__(self, edition: LocalEdition, clock: VirtualClock) -> None:
        self._edition = edition
        self._clock = clock
        self._decisions: set[str] = set()
        self._writes = 0
        self._instances = -1

    def tell(self) -> Iterator[Step]:
        """The steps in order, until the service rests again."""
        self._edition.adopt(spec(), Bounds(max_instance_count=CAP), demand=RUSH)
        yield self._step("world", f"simulated traffic wants {RUSH:g} instances, Cloud Run allows {CAP}", self._edition.status(SERVICE))
        yield from self._minute()
        opened = self._clock.now()
        for delivery in ("delivered", "delivered a second time"):
            yield self._step("monitoring", f"alert open, {delivery}: requests answered 429", {"incident_id": INCIDENT, "state": "open"})
            self._post("open", opened)
            yield from self._news()
        closed = False
        for minute in range(LONGEST_MINUTES):
            yield from self._minute()
            if not closed and minute > 2 and not self._edition.world.load.shortage(SERVICE) and self._instances >= RUSH:  # noqa: PLR2004
                closed = True
                yield self._step(
                    "monitoring", "alert closed: no request was refused any more", {"incident_id": INCIDENT, "state": "closed"}
                )
                self._post("closed", opened)
                yield from self._news()
                self._edition.world.load.set_demand(SERVICE, CALM)
                yield self._step("world", f"the rush is over: simulated traffic wants {CALM:g} instances", self._edition.status(SERVICE))
            if closed and self._rests():
                break
        yield self._step(
            "world", "at rest where it began; nothing is looked at more often than every ten minutes", self._edition.status(SERVICE)
        )

    def _post(self, state: Literal["open", "closed"], opened: datetime) -> None:
        body = notification(SERVICE, INCIDENT, state, started_at=opened, now=self._clock.now())
        self._edition.bus.publish("alerts", json.dumps(body).encode())
        self._edition.bus.run_until_idle()

    def _minute(self) -> Iterator[Step]:
        self._clock.advance(60)
        self._edition.tick()
        self._edition.bus.run_until_idle()
        yield from self._news()

    def _news(self) -> Iterator[Step]:
        status = self._edition.status(SERVICE)
        writes = [write for write in self._edition.world.cloud_run.write_log if write.principal == TRIMTAB]
        fresh = iter(writes[self._writes :])
        self._writes = len(writes)
        for decision in reversed(self._edition.store.decisions(SERVICE, limit=20)):
            if decision.decision_id not in self._decisions:
                self._decisions.add(decision.decision_id)
                yield self._step("decision", decision.explanation, decision.to_stored())
                for write in islice(fresh, 1 if decision.act_id else 0):
                    yield self._step("cloud-run", f"{', '.join(write.mask)} written, generation {write.generation}", status)
        running = self._edition.world.load.running(SERVICE)
        if running != self._instances:
            allowed = status["max_instance_count"]
            if self._instances >= 0:
                yield self._step("world", f"{running} simulated instances run, {allowed} are allowed", status)
            self._instances = running

    def _rests(self) -> bool:
        state = self._edition.store.read(SERVICE).state
        return state is not None and state.next_look_at is None

    def _step(self, who: Literal["world", "monitoring", "decision", "cloud-run"], what: str, data: dict[str, Any]) -> Step:
        return Step(int((self._clock.now() - START).total_seconds()), who, what, data)


def tell() -> Iterator[Step]:
    """The whole story on a fresh local edition."""
    clock = VirtualClock(START)
    with LocalEdition(":memory:", clock, SeededIds(clock)) as edition:
        yield from Teller(edition, clock).tell()
