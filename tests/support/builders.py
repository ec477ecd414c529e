"""Short ways to real values: a service on an L4 with a maximum of 4, its spec, its observations, its alerts."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shared.control.decide import decide
from shared.control.fold import fold
from shared.control.inflight import accepted, announce
from shared.records.facts import AlertFact, FactPage, StoredFact
from shared.records.fleet import Fleet
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Bounds, Observed, Shape
from shared.records.plan import Plan
from shared.records.service import Autonomy, Hold, Objective, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.signals import Signal
from shared.records.snapshot import ManagedService, Observation
from shared.records.state import ServiceState
from shared.records.subject import ServiceId

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
RANKER = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
L4 = Shape(accelerator="nvidia-l4", gpu_count=1, cpu=4, memory_gib=16, gpu_zonal_redundancy=False)
L4_USD_PER_HOUR = 1.04652
UNKNOWN = Unknown(reason="no series")


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def document(
    *,
    low: int = 0,
    high: int = 20,
    autonomy: Autonomy = Autonomy.ACT,
    usd_per_hour: float | None = None,
    holds: tuple[Hold, ...] = (),
    service: ServiceId = RANKER,
) -> ServiceDocument:
    spec = ServiceSpec(
        scale=ScaleBounds(min_instance_count=low, max_instance_count=high),
        objective=Objective(usd_per_hour=usd_per_hour),
        autonomy=autonomy,
    )
    return ServiceDocument(id=service, spec=spec, holds=holds)


def observed(*, low: int = 0, high: int = 4, generation: int = 7, **fields: Any) -> Observed:
    values: dict[str, Any] = {
        "generation": generation,
        "observed_generation": generation,
        "reconciling": False,
        "etag": f'"{generation}"',
        "bounds": Bounds(min_instance_count=low, max_instance_count=high),
        "shape": L4,
        "read_at": NOW,
        **fields,
    }
    return Observed.model_validate(values)


def known(value: float, *, age_seconds: float = 90) -> Known:
    return Known(value=value, age_seconds=age_seconds, samples=3)


def observation(seen: Observed | Unknown, *, count: Metric = UNKNOWN, quota: Metric = UNKNOWN, **fields: Any) -> Observation:
    return Observation(cloud_run=seen, instance_count=count, quota_instances=quota, **fields)


def alert(
    incident_id: str = "0.a1", state: str = "open", signal: Signal = Signal.NO_INSTANCE, *, started: float = 0, closes: bool = True
) -> AlertFact:
    return AlertFact.model_validate(
        {
            "incident_id": incident_id,
            "state": state,
            "signal": signal,
            "signal_source": "label",
            "started_at": at(started),
            "ended_at": at(started + 600) if state == "closed" else None,
            "closes": closes,
            "policy_name": f"ranker {signal}",
        }
    )


def stored(fact: AlertFact, position: int, *, created: float | None = None) -> StoredFact:
    created_at = at(created) if created is not None else fact.started_at or NOW
    return StoredFact(key=fact.key, position=f"{position:012d}", created_at=created_at, fact=fact)


def page(*facts: StoredFact, more: bool = False) -> FactPage:
    return FactPage(facts=facts, more=more)


def folded(*facts: AlertFact, state: ServiceState | None = None) -> ServiceState:
    """The state after the facts, in the given order."""
    base = state or ServiceState(id=RANKER)
    first = int(base.cursor or "0") + 1
    return fold(base, page(*(stored(fact, first + n) for n, fact in enumerate(facts))), {})[0]


def managed(state: ServiceState | None = None, spec: ServiceDocument | None = None, fleet: Fleet | None = None) -> ManagedService:
    return ManagedService(document=spec or document(), state=state or ServiceState(id=RANKER), fleet=fleet or Fleet())


class Story:
    """One service through time, as the executor would move it: look, and if something changes, let Cloud Run take it."""

    def __init__(self, spec: ServiceDocument | None = None, seen: Observed | None = None, fleet: Fleet | None = None) -> None:
        self.spec, self.seen, self.fleet = spec or document(), seen or observed(), fleet or Fleet()
        self.state = ServiceState(id=RANKER)
        self.writes: list[Bounds] = []

    def hear(self, *facts: AlertFact) -> None:
        self.state = folded(*facts, state=self.state)

    def look(self, seconds: float, *, count: Metric = UNKNOWN, quota: Metric = UNKNOWN, **fields: Any) -> Plan:
        now = at(seconds)
        seen = observation(self.seen, count=count, quota=quota, **fields)
        plan = decide(managed(self.state, self.spec, self.fleet), seen, now)
        self.state = plan.state
        if plan.changes and self.spec.spec.autonomy == Autonomy.ACT:
            act = announce(plan, self.seen, act_id=f"act-{seconds:g}", decision_id=f"d-{seconds:g}", generation=1, now=now)
            self.state = accepted(self.state.model_copy(update={"act": act}), act, "operations/1", now)
            self.writes.append(act.after)
            generation = self.seen.generation + 1
            self.seen = self.seen.model_copy(update={"bounds": act.after, "generation": generation, "observed_generation": generation})
        return plan
