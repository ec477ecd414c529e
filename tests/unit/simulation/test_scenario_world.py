"""A scenario's parts in the simulated world, and the figures of its run."""

import json
import math
from typing import Any

import pytest

from shared.simulation.figures import KEYS, figures, figures_without_a_server
from shared.simulation.scenario import Scenario, read_scenario
from shared.simulation.scenario_world import bounded, model_times, warm_instances, workload_of, world_of
from shared.simulation.world.settings import CloudRunSettings, Revision
from shared.simulation.world.workload import Bursty, Diurnal, Flash, Replay, Retries, Steady
from tests.support.scenarios import scenario

REVISION = Revision(model_times(read_scenario(scenario()).model), cloud_run=CloudRunSettings(min_instances=1, max_instances=4))


def read(**changed: Any) -> Scenario:
    return read_scenario(scenario(**changed))


@pytest.mark.parametrize(
    ("workload", "rate"),
    [
        ({"kind": "steady", "rows_per_s": 9}, Steady(9)),
        ({"kind": "low"}, Steady(1)),
        ({"kind": "bursty", "low_rows_per_s": 1, "high_rows_per_s": 5}, Bursty(1, 5, 40, 10)),
        ({"kind": "diurnal", "rows_per_s": 9, "zero_s": 30}, Diurnal(9, 0.8, 1800, 90)),
        ({"kind": "flash", "low_rows_per_s": 1, "high_rows_per_s": 5, "at_s": 30}, Flash(1, 5, 90, 300)),
        ({"kind": "replay", "series": [[0, 1], [60, 5]]}, Replay((60, 120), (1, 5))),
    ],
)
def test_times_of_a_workload_count_from_the_end_of_the_warm_up(workload: dict[str, Any], rate: object) -> None:
    assert workload_of(read(workload=workload)).rate == rate


def test_requests_of_one_size_have_it_all() -> None:
    sizes = workload_of(read(workload={"kind": "steady", "rows_per_s": 9, "rows": 8})).sizes
    assert (sizes.mean, sizes.largest) == (8, 8)
    world = world_of(read(workload={"kind": "steady", "rows_per_s": 80, "rows": 8}), REVISION)
    world.run_until(60)
    assert world.result(0).mean_batch == 8


def test_clients_try_again_as_the_scenario_says() -> None:
    assert workload_of(read()).retries == Retries()
    again = {"kind": "steady", "rows_per_s": 9, "retries": {"tries": 3}}
    assert workload_of(read(workload=again)).retries == Retries(3, 0.1)


def test_a_table_of_batches_is_joined_by_lines() -> None:
    times = model_times(read(model={"table": {"1": 4, "3": 6}}).model)
    assert times.batch_time.total_ms(2) == 5


def test_the_scenario_s_bounds_take_the_place_of_the_service_s() -> None:
    assert bounded(read(), REVISION) == REVISION
    other = bounded(read(limits={"min_instances": 2, "max_instances": 3}), REVISION).cloud_run
    assert (other.min_instances, other.max_instances) == (2, 3)
    lower = bounded(read(limits={"max_instances": 1}), Revision(REVISION.model, cloud_run=CloudRunSettings(min_instances=2))).cloud_run
    assert (lower.min_instances, lower.max_instances) == (1, 1)


@pytest.mark.parametrize("field", ["min_instances", "warm_instances"])
def test_more_instances_than_the_service_may_have_are_refused_not_cut(field: str) -> None:
    with pytest.raises(ValueError, match=f"limits.{field} 5 is above 4, the service's maximum: lower it, or raise limits.max_instances"):
        bounded(read(limits={field: 5}), REVISION)
    assert bounded(read(limits={field: 5, "max_instances": 5}), REVISION).cloud_run.max_instances == 5


@pytest.mark.parametrize(
    ("limits", "least", "warm"),
    [({}, 0, 1), ({}, 2, 2), ({"warm_instances": 0}, 2, 0), ({"warm_instances": 9}, 0, 4), ({"gpu_quota": 2}, 3, 2)],
)
def test_a_run_begins_with_the_minimum_and_one_at_least(limits: dict[str, Any], least: int, warm: int) -> None:
    assert warm_instances(read(limits=limits), CloudRunSettings(min_instances=least, max_instances=4)) == warm


def test_figures_have_the_keys_that_stay_and_the_last_20_minutes_once_more() -> None:
    world = world_of(read(), REVISION)
    world.run_until(180)
    found = figures(world.result(60))
    assert tuple(found) == (*KEYS, "last_20_min")
    assert found["last_20_min"] == {key: found[key] for key in KEYS}
    assert 0 < found["goodput"] < 1
    assert set(found["errors"]) == {"server-thread-quota"}


def test_the_last_20_minutes_of_a_longer_run_are_its_own() -> None:
    found = read(workload={"kind": "flash", "low_rows_per_s": 5, "high_rows_per_s": 20, "at_s": 0, "length_s": 120}, duration_s=1320)
    world = world_of(found, REVISION)
    world.run_until(1380)
    told = figures(world.result(60))
    assert tuple(told["last_20_min"]) == KEYS
    assert told["last_20_min"]["mean_batch"] is None or told["last_20_min"] != {key: told[key] for key in KEYS}


def test_of_nothing_asked_nothing_is_said() -> None:
    world = world_of(read(workload={"kind": "steady", "rows_per_s": 0}), REVISION)
    world.run_until(180)
    found = figures(world.result(60))
    assert (found["goodput"], found["p99_ms"], found["usd_per_million_good"], found["errors"]) == (None, None, None, {})
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_without_a_server_nothing_is_good_and_no_cost_is_known() -> None:
    found = figures_without_a_server()
    assert tuple(found) == (*KEYS, "last_20_min")
    assert (found["goodput"], found["errors"], found["usd_per_million_good"]) == (0, {"does-not-start": 1}, None)
    assert not any(isinstance(value, float) and not math.isfinite(value) for value in found.values())
