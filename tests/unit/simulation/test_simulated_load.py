import random
from datetime import timedelta

import pytest

from shared.records.metric import Known, Unknown
from shared.records.observed import Shape
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.service_load import SimulatedLoad
from tests.support.simulated_service import RANKER, START, StandingClock, with_ranker

L4 = Shape(accelerator="nvidia-l4", gpu_count=1, cpu=4, memory_gib=16, gpu_zonal_redundancy=False)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    return with_ranker(clock, quota=8, low=1, high=3)


@pytest.fixture
def load(cloud_run: SimulatedCloudRun, clock: StandingClock) -> SimulatedLoad:
    return SimulatedLoad(cloud_run, now=clock.now)


def test_instances_stay_within_the_bounds_in_force(load: SimulatedLoad, clock: StandingClock) -> None:
    assert load.running(RANKER) == 1
    load.set_demand(RANKER, 2.2)
    assert load.running(RANKER) == 3
    load.set_demand(RANKER, 40)
    clock.pass_seconds(600)
    assert load.running(RANKER) == 3
    assert load.shortage(RANKER)


def test_a_new_instance_counts_after_its_start_up(load: SimulatedLoad, clock: StandingClock) -> None:
    load.set_demand(RANKER, 1, at=START - timedelta(hours=1))
    load.set_demand(RANKER, 3)
    clock.pass_seconds(89)
    assert load.running(RANKER) == 1
    clock.pass_seconds(1)
    assert load.running(RANKER) == 3


def test_demand_that_is_gone_before_the_start_up_starts_nothing(load: SimulatedLoad, clock: StandingClock) -> None:
    load.set_demand(RANKER, 1, at=START - timedelta(hours=1))
    load.set_demand(RANKER, 3)
    clock.pass_seconds(60)
    load.set_demand(RANKER, 1)
    clock.pass_seconds(300)
    assert load.running(RANKER) == 1


def test_an_idle_instance_stays_ten_minutes(load: SimulatedLoad, clock: StandingClock) -> None:
    load.set_demand(RANKER, 3, at=START - timedelta(hours=1))
    load.set_demand(RANKER, 0)
    clock.pass_seconds(599)
    assert load.running(RANKER) == 3
    clock.pass_seconds(2)
    assert load.running(RANKER) == 1


def test_a_raised_maximum_lets_instances_follow_and_ends_the_shortage(
    load: SimulatedLoad, cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    load.set_demand(RANKER, 5, at=START - timedelta(hours=1))
    assert load.shortage(RANKER)
    cloud_run.change_by(RANKER.resource_name, "trimtab@example.com", max_instance_count=6)
    assert load.shortage(RANKER)
    clock.pass_seconds(5)
    assert not load.shortage(RANKER)
    assert load.running(RANKER) == 3
    clock.pass_seconds(90)
    assert load.running(RANKER) == 5


def test_a_raised_minimum_starts_instances_and_a_lowered_maximum_takes_them(
    load: SimulatedLoad, cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    load.set_demand(RANKER, 0)
    cloud_run.change_by(RANKER.resource_name, "sam@example.com", min_instance_count=3)
    clock.pass_seconds(100)
    assert load.running(RANKER) == 3
    cloud_run.change_by(RANKER.resource_name, "sam@example.com", min_instance_count=0, max_instance_count=2)
    clock.pass_seconds(6)
    assert load.running(RANKER) == 2


def test_readings_are_one_to_three_minutes_old(load: SimulatedLoad, clock: StandingClock) -> None:
    load.set_demand(RANKER, 2, at=START - timedelta(hours=1))
    for _ in range(7):
        metric = load.instance_count(RANKER)
        assert isinstance(metric, Known)
        assert 60 <= metric.age_seconds <= 180
        assert metric.value == 2
        clock.pass_seconds(13)


def test_a_reading_shows_the_past(load: SimulatedLoad, clock: StandingClock) -> None:
    load.set_demand(RANKER, 1, at=START - timedelta(hours=1))
    load.set_demand(RANKER, 3)
    clock.pass_seconds(120)
    metric = load.instance_count(RANKER)
    assert isinstance(metric, Known)
    assert (load.running(RANKER), metric.value) == (3, 1)


def test_unknown_when_told_or_not_there(load: SimulatedLoad, clock: StandingClock) -> None:
    load.set_metric_unknown(RANKER, "no series")
    assert load.instance_count(RANKER) == Unknown(reason="no series")
    load.set_metric_unknown(RANKER, None)
    assert isinstance(load.instance_count(RANKER), Known)
    nobody = RANKER.model_copy(update={"name": "nobody"})
    assert isinstance(load.instance_count(nobody), Unknown)
    assert load.running(nobody) == 0
    assert not load.shortage(nobody)


def test_quota_is_the_simulated_one(load: SimulatedLoad) -> None:
    assert load.instances(RANKER, L4) == Known(value=8, age_seconds=0, samples=1)
    assert load.instances(RANKER, L4.model_copy(update={"gpu_count": 3})) == Known(value=2, age_seconds=0, samples=1)
    assert isinstance(load.instances(RANKER, Shape()), Unknown)
    load.set_quota_unknown("no permission")
    assert load.instances(RANKER, L4) == Unknown(reason="no permission")
    load.set_quota_unknown(None)
    assert isinstance(load.instances(RANKER, L4), Known)


def test_later_demand_replaces_what_was_planned(load: SimulatedLoad) -> None:
    load.set_demand(RANKER, 1, at=START + timedelta(minutes=5))
    load.set_demand(RANKER, 2, at=START + timedelta(minutes=1))
    assert load.demand(RANKER, at=START + timedelta(minutes=9)) == 2


@pytest.mark.parametrize("seed", range(5))
def test_the_count_is_what_walking_through_time_gives(seed: int, cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    chance = random.Random(seed)
    load = SimulatedLoad(cloud_run, now=clock.now, startup_seconds=20, idle_seconds=50)
    load.set_demand(RANKER, 1, at=START - timedelta(hours=1))
    wanted: list[int] = [1] * 100
    for _ in range(12):
        if chance.random() < 0.5:
            load.set_demand(RANKER, chance.randint(0, 6))
        else:
            low = chance.randint(0, 3)
            cloud_run.change_by(RANKER.resource_name, "sam@example.com", min_instance_count=low, max_instance_count=low + 2)
        for _ in range(chance.randint(1, 60)):
            bounds = cloud_run.in_force(RANKER.resource_name)[-1]
            wanted.append(min(max(int(load.demand(RANKER)), bounds.min_instance_count), bounds.max_instance_count))
            up = max(min(wanted[second - 20 : second + 1]) for second in range(len(wanted) - 51, len(wanted)))
            assert load.running(RANKER) == min(up, bounds.max_instance_count)
            clock.pass_seconds(1)
