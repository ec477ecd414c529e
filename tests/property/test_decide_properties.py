"""What holds of every decision, whatever the service, the alerts and the readings."""

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.control.ceilings import price_of
from shared.control.decide import decide
from shared.control.fold import fold
from shared.records.facts import AlertFact
from shared.records.fleet import Brakes, Fleet, FleetUsage
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Bounds, Observed
from shared.records.plan import Plan
from shared.records.service import Autonomy, Hold, OwnedField, ServiceDocument
from shared.records.signals import Signal
from shared.records.snapshot import Observation
from shared.records.state import STATE_LIMIT_BYTES, Clocks, Desired, Floor, ServiceState
from tests.support.builders import L4, NOW, RANKER, alert, at, document, managed, observation, observed, page, stored

counts = st.integers(0, 60)
metrics: st.SearchStrategy[Metric] = st.one_of(
    st.just(Unknown(reason="no series")),
    st.builds(lambda value, age: Known(value=value, age_seconds=age, samples=1), counts, st.integers(0, 900)),
)
moments = st.integers(-4_000, 0).map(at)


@st.composite
def documents(draw: st.DrawFn) -> ServiceDocument:
    high = draw(st.integers(1, 50))
    holds = draw(
        st.lists(
            st.builds(
                Hold,
                hold_id=st.just("h"),
                fields=st.lists(st.sampled_from(OwnedField), max_size=2, unique=True).map(tuple),
                reason=st.just("r"),
                author=st.just("a"),
                created_at=st.just(NOW),
                expires_at=st.one_of(st.none(), st.integers(-100, 100).map(at)),
            ),
            max_size=1,
        )
    )
    return document(
        low=draw(st.integers(0, high)),
        high=high,
        autonomy=draw(st.sampled_from(Autonomy)),
        usd_per_hour=draw(st.one_of(st.none(), st.floats(0.5, 60))),
        holds=tuple(holds),
    )


@st.composite
def readings(draw: st.DrawFn) -> Observed:
    high = draw(st.integers(0, 60))
    return observed(
        low=draw(st.integers(0, high or 60)),
        high=high,
        revision_max_instance_count=draw(st.one_of(st.just(0), st.integers(1, 60))),
        shape=draw(st.sampled_from([L4, L4.model_copy(update={"accelerator": "nvidia-t4"})])),
    )


@st.composite
def states(draw: st.DrawFn, seen: Observed) -> ServiceState:
    facts = draw(
        st.lists(
            st.builds(
                alert,
                st.sampled_from(["0.a", "0.b", "0.c", "0.d"]),
                st.sampled_from(["open", "closed"]),
                st.sampled_from(Signal),
                started=st.integers(-3_600, 0),
                closes=st.booleans(),
            ),
            max_size=6,
            unique_by=lambda fact: fact.key,
        )
    )
    state, _ = fold(ServiceState(id=RANKER), page(*(stored(fact, n + 1) for n, fact in enumerate(facts))), {})
    floor = draw(
        st.one_of(
            st.none(),
            st.builds(
                Floor,
                base=st.integers(0, 3),
                min_instance_count=counts,
                expires_at=st.integers(-60, 60).map(at),
                signal=st.just(Signal.LATENCY),
            ),
        )
    )
    return state.model_copy(
        update={
            "desired": draw(st.one_of(st.none(), st.just(Desired(bounds=seen.bounds, generation=1, set_at=NOW)))),
            "floor": floor,
            "resting_max": draw(st.one_of(st.none(), st.integers(1, 30))),
            "clocks": Clocks(scaled_out_at=draw(st.one_of(st.none(), moments)), scaled_in_at=draw(st.one_of(st.none(), moments))),
        }
    )


@st.composite
def scenes(draw: st.DrawFn) -> tuple[ServiceDocument, ServiceState, Fleet, Observation]:
    seen = draw(readings())
    fleet = Fleet(brakes=Brakes(acts_per_minute=draw(st.integers(0, 3)), usd_per_hour=draw(st.one_of(st.none(), st.floats(1, 100)))))
    usage = draw(
        st.one_of(
            st.none(),
            st.builds(
                FleetUsage, minute=st.just("202611300300"), acts_this_minute=st.integers(0, 3), usd_per_hour_at_max=st.floats(0, 100)
            ),
        )
    )
    reading: Observed | Unknown = draw(st.one_of(st.just(seen), st.just(seen), st.just(Unknown(reason="503"))))
    seen_world = observation(reading, count=draw(metrics), quota=draw(metrics), fleet_usage=usage)
    return draw(documents()), draw(states(seen)), fleet, seen_world


def run(scene: tuple[ServiceDocument, ServiceState, Fleet, Observation]) -> Plan:
    spec, state, fleet, world = scene
    return decide(managed(state, spec, fleet), world, NOW)


def after(world: Observation, plan: Plan) -> Bounds:
    assert isinstance(world.cloud_run, Observed)
    fields: dict[str, Any] = {change.field.removeprefix("scaling."): change.after for change in plan.changes}
    return world.cloud_run.bounds.model_copy(update=fields)


@settings(max_examples=600, deadline=None)
@given(scenes())
def test_what_may_never_happen(scene: tuple[ServiceDocument, ServiceState, Fleet, Observation]) -> None:
    spec, _, fleet, world = scene
    plan = run(scene)
    assert plan == run(scene)
    assert len(plan.state.model_dump_json()) < STATE_LIMIT_BYTES
    assert plan.next_look_at is None or plan.next_look_at > NOW
    if spec.spec.autonomy == Autonomy.OBSERVE or not isinstance(world.cloud_run, Observed):
        assert plan.changes == ()
    if not plan.changes:
        return
    assert isinstance(world.cloud_run, Observed)
    seen, scale = world.cloud_run, spec.spec.scale
    bounds = after(world, plan)
    moved = seen.model_copy(update={"bounds": bounds})
    assert bounds.max_instance_count == 0 or bounds.min_instance_count <= bounds.max_instance_count
    for change in plan.changes:
        assert change.after != change.before
        assert not any(
            (not hold.fields or change.field in hold.fields) and (hold.expires_at is None or hold.expires_at > NOW) for hold in spec.holds
        )
        assert change.reason
        assert change.predicted
    if moved.max_in_force > seen.max_in_force and seen.max_in_force >= scale.min_instance_count:
        _check_raise_is_within_limits(managed(plan.state, spec, fleet), world, seen, moved)
    if world.fleet_usage is not None:
        assert world.fleet_usage.acts_this_minute < fleet.brakes.acts_per_minute
    lowers = moved.max_in_force < seen.max_in_force or moved.min_in_force < seen.min_in_force
    obeys_spec = seen.max_in_force > scale.max_instance_count or seen.bounds.min_instance_count > scale.max_instance_count
    if lowers and not obeys_spec:
        assert isinstance(world.instance_count, Known)
        assert world.instance_count.age_seconds <= 300


def _check_raise_is_within_limits(service: Any, world: Observation, seen: Observed, moved: Observed) -> None:
    spec = service.document.spec
    assert moved.max_in_force <= spec.scale.max_instance_count
    assert moved.max_in_force <= 2 * max(seen.max_in_force, 1)
    if seen.revision_max_instance_count:
        assert moved.max_in_force <= seen.revision_max_instance_count
    if isinstance(world.quota_instances, Known):
        assert moved.max_in_force <= world.quota_instances.value
    if spec.objective.usd_per_hour is not None:
        price = price_of(service, seen)
        assert price is not None
        assert moved.max_in_force * price <= spec.objective.usd_per_hour + 1e-6


@settings(max_examples=300, deadline=None)
@given(scenes(), st.integers(1, 50))
def test_deciding_again_on_the_decided_state_moves_nothing_outward(
    scene: tuple[ServiceDocument, ServiceState, Fleet, Observation], seconds: int
) -> None:
    """A second look at an unchanged world that already has the bounds asks for no more."""
    spec, _, fleet, world = scene
    plan = run(scene)
    if not plan.changes or not isinstance(world.cloud_run, Observed):
        return
    bounds = after(world, plan)
    state = plan.state.model_copy(update={"desired": Desired(bounds=bounds, generation=1, set_at=NOW)})
    moved = world.cloud_run.model_copy(update={"bounds": bounds, "generation": world.cloud_run.generation + 1})
    again = decide(managed(state, spec, fleet), world.model_copy(update={"cloud_run": moved}), NOW + timedelta(seconds=seconds))
    raised = [change for change in again.changes if change.field == OwnedField.MAX_INSTANCE_COUNT and change.after > moved.max_in_force]
    assert raised == []


@settings(max_examples=200, deadline=None)
@given(
    st.permutations([alert(f"0.{n}", state, started=n) for n in range(5) for state in ("open", "closed")] + [alert("0.live", started=9)]),
    st.integers(1, 11),
)
def test_folding_is_the_same_in_every_order_and_page_size(facts: list[AlertFact], size: int) -> None:
    state = ServiceState(id=RANKER)
    entries = [stored(fact, n + 1) for n, fact in enumerate(facts)]
    for start in range(0, len(entries), size):
        state, _ = fold(state, page(*entries[start : start + size]), {})
    assert [incident.incident_id for incident in state.incidents] == ["0.live"]
    assert state.tombstones == ()
