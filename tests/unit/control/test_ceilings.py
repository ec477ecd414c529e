"""How high a bound may go: each limit by itself, and money to the last cent."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.control.ceilings import Ceiling, ceilings, price_of, usd_at_max
from shared.records.fleet import Brakes, Fleet, FleetUsage
from shared.records.metric import Metric
from shared.records.observed import Observed
from shared.records.plan import DenialCode
from shared.records.service import ServiceDocument
from shared.records.state import QuotaCeiling, ServiceState
from tests.support.builders import L4, L4_USD_PER_HOUR, NOW, RANKER, UNKNOWN, at, document, known, managed, observation, observed

T4 = L4.model_copy(update={"accelerator": "nvidia-t4"})


def found(
    spec: ServiceDocument | None = None,
    seen: Observed | None = None,
    *,
    state: ServiceState | None = None,
    quota: Metric = UNKNOWN,
    brake: float | None = None,
    used: float | None = None,
    seconds: float = 0,
) -> list[Ceiling]:
    seen = seen or observed()
    fleet = Fleet(brakes=Brakes(usd_per_hour=brake))
    usage = FleetUsage(minute="202611300300", acts_this_minute=0, usd_per_hour_at_max=used)
    counted = state.usd_per_hour_at_max if state is not None else None
    world = observation(seen, quota=quota, fleet_usage=usage)
    return ceilings(managed(state, spec, fleet), seen, world, at(seconds), counted_usd=counted)


def allowed(limits: list[Ceiling], code: DenialCode) -> int | None:
    return next((limit.instances for limit in limits if limit.code == code), None)


def test_the_spec_is_always_a_limit() -> None:
    (limit,) = found(document(high=20))
    assert (limit.code, limit.instances) == (DenialCode.SPEC_MAX, 20)
    assert "20; raise it to allow more" in limit.message


def test_the_lowest_limit_comes_first() -> None:
    limits = found(document(high=20, usd_per_hour=100), observed(revision_max_instance_count=30), quota=known(8))
    assert [limit.instances for limit in limits] == sorted(limit.instances for limit in limits)
    assert limits[0].code == DenialCode.QUOTA


def test_the_revisions_own_maximum_limits_where_it_is_set() -> None:
    assert allowed(found(seen=observed(revision_max_instance_count=6)), DenialCode.REVISION_MAX) == 6
    assert allowed(found(seen=observed(revision_max_instance_count=0)), DenialCode.REVISION_MAX) is None


@pytest.mark.parametrize(("value", "instances"), [(8.0, 8), (7.99, 7), (0.0, 0)])
def test_a_part_of_an_instance_is_no_quota(value: float, instances: int) -> None:
    assert allowed(found(quota=known(value)), DenialCode.QUOTA) == instances


def test_an_unknown_quota_limits_nothing() -> None:
    assert allowed(found(), DenialCode.QUOTA) is None


def test_a_refusal_for_quota_is_believed_until_it_expires() -> None:
    state = ServiceState(id=RANKER, quota_ceiling=QuotaCeiling(max_instance_count=6, message="m", seen_at=NOW, expires_at=at(3_600)))
    assert allowed(found(state=state, seconds=3_599), DenialCode.QUOTA) == 6
    assert allowed(found(state=state, seconds=3_600), DenialCode.QUOTA) is None


@given(st.integers(1, 1_000))
def test_a_budget_of_exactly_n_instances_allows_n(count: int) -> None:
    price = price_of(managed(), observed())
    assert price == pytest.approx(L4_USD_PER_HOUR)
    assert allowed(found(document(usd_per_hour=count * L4_USD_PER_HOUR)), DenialCode.BUDGET) == count
    assert allowed(found(document(usd_per_hour=sum([L4_USD_PER_HOUR] * count))), DenialCode.BUDGET) == count


@given(st.integers(1, 1_000))
def test_a_cent_less_than_n_instances_allows_one_less(count: int) -> None:
    assert allowed(found(document(usd_per_hour=count * L4_USD_PER_HOUR - 0.01)), DenialCode.BUDGET) == count - 1


@given(st.floats(0.01, 100_000))
def test_what_a_budget_allows_never_costs_more_than_it(budget: float) -> None:
    instances = allowed(found(document(usd_per_hour=budget)), DenialCode.BUDGET)
    assert instances is not None
    assert instances * L4_USD_PER_HOUR <= budget * (1 + 1e-8) + 1e-8


def test_a_budget_without_a_known_price_keeps_what_is_allowed_now() -> None:
    limits = found(document(usd_per_hour=100), observed(high=4, shape=T4))
    assert allowed(limits, DenialCode.UNKNOWN) == 4
    assert "nvidia-t4, europe-west1" in limits[0].message


def test_a_service_without_a_budget_has_no_limit_of_money() -> None:
    assert {limit.code for limit in found()} == {DenialCode.SPEC_MAX}


def share(instances: int) -> ServiceState:
    """A service whose own maximum already counts for so many instances in the fleet's sum."""
    return ServiceState(id=RANKER, usd_per_hour_at_max=instances * L4_USD_PER_HOUR)


def test_the_fleets_brake_leaves_a_service_its_own_share_and_the_room() -> None:
    """4 of ours and 6 of others are taken of 12: we may have our 4 and the 2 that are free."""
    limits = found(state=share(4), brake=12 * L4_USD_PER_HOUR, used=10 * L4_USD_PER_HOUR)
    assert allowed(limits, DenialCode.BRAKE_USD) == 6


def test_a_service_that_does_not_count_yet_gets_only_the_room() -> None:
    assert allowed(found(brake=12 * L4_USD_PER_HOUR, used=10 * L4_USD_PER_HOUR), DenialCode.BRAKE_USD) == 2


def test_a_brake_that_is_overdrawn_allows_nothing_and_never_less() -> None:
    assert allowed(found(state=share(1), brake=1, used=100), DenialCode.BRAKE_USD) == 0


def test_a_service_of_unknown_price_may_not_grow_under_a_brake() -> None:
    assert allowed(found(seen=observed(high=4, shape=T4), brake=100, used=1), DenialCode.BRAKE_USD) == 4


def test_no_brake_and_no_sum_are_no_limit() -> None:
    assert allowed(found(used=5), DenialCode.BRAKE_USD) is None
    assert allowed(found(brake=5), DenialCode.BRAKE_USD) is None


def test_the_cost_at_the_maximum_counts_every_instance_that_is_allowed() -> None:
    assert usd_at_max(managed(), observed(high=4)) == pytest.approx(4 * L4_USD_PER_HOUR)
    assert usd_at_max(managed(), observed(high=0)) == pytest.approx(100 * L4_USD_PER_HOUR)
    assert usd_at_max(managed(), observed(shape=T4)) is None
    assert math.isfinite(usd_at_max(managed(), observed()) or math.inf)
