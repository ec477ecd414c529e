"""What a scenario is, and what is said of one that is none."""

import json
import re
from typing import Any

import pytest

from shared.simulation.scenario import Scenario, ScenarioError, read_scenario, read_settings, scenario_data
from shared.simulation.scenario_limits import MAX_REQUESTS, MAX_WAITING
from shared.simulation.scenario_schema import load_rows, scenario_rows, scenario_schema
from shared.simulation.scenario_workload import CsvError, series_of_csv
from tests.support.scenarios import CONSISTENT, DEFAULTS, scenario

BURSTS = {"kind": "bursty", "low_rows_per_s": 1, "high_rows_per_s": 9}


def problems(**changed: Any) -> str:
    with pytest.raises(ScenarioError) as error:
        read_scenario(scenario(**changed))
    return "\n".join(map(str, error.value.problems))


def test_what_is_not_written_has_its_default() -> None:
    found = read_scenario({name: value for name, value in scenario().items() if name not in {"seed", "duration_s", "warm_up_s"}})
    assert (found.seed, found.duration_s, found.warm_up_s, found.lag_s, found.limits.start_s) == (0, 1200, 420, 180, 25)
    assert found.mean_rows == 1
    assert found.compare == {}


def test_it_reads_back_as_it_was_written() -> None:
    found = read_scenario(
        scenario(workload={"kind": "flash", "low_rows_per_s": 1, "high_rows_per_s": 9, "at_s": 30, "rows": {"largest": 4}})
    )
    assert read_scenario(json.loads(json.dumps(scenario_data(found)))) == found


def test_the_objective_may_be_that_of_the_spec() -> None:
    data = scenario(service={"spec": {"scale": {"max_instance_count": 2}, "objective": {"p99_ms": 70}}})
    del data["objective"]
    assert read_scenario(data).good_ms == 70


def test_a_spec_s_file_may_stand_there_as_it_is() -> None:
    found = read_settings({"service": "acme-ml:us-east4:ranker", "spec": {"scale": {"max_instance_count": 2}}})
    assert str(found.service) == "acme-ml:us-east4:ranker"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"service": {}}, "service: a service is one of spec, spec_file, gcloud and gcloud_file: nothing of it is there"),
        ({"service": {"gcloud": DEFAULTS, "spec_file": "a.yaml"}}, "service: a service is one of .*: spec_file and gcloud"),
        ({"service": {"spec_file": "a.yaml", "batching": "max_batch_size {}"}}, "service: batching belongs to a gcloud command"),
        ({"service": {"gcloud": DEFAULTS, "service": "acme-ml:us-east4:ranker"}}, "service: service belongs to a spec"),
        ({"service": {"gcloud": CONSISTENT, "batching": "a", "batching_file": "b"}}, "service: batching and batching_file are the same"),
        ({"model": {"a_ms": 4}}, "model: c_ms is not there; a straight line has a_ms and c_ms"),
        ({"model": {"a_ms": 4, "c_ms": 1, "table": {"1": 4}}}, "model: a model is either a_ms and c_ms, or a table"),
        ({"model": {}}, "model: a model is either a_ms and c_ms, or a table"),
        ({"model": {"table": {}}}, "model: table is empty"),
        ({"model": {"a_ms": 0, "c_ms": 0}}, "model: a_ms and c_ms are both 0"),
        ({"model": {"a_ms": 4, "c_ms": 1, "host_ms": 5}}, "model: host_ms 5 is the CPU's part of every batch, so it is at most 4"),
        ({"model": {"a_ms": float("inf"), "c_ms": 1}}, "model.a_ms: inf: want "),
        ({"model": {"a_ms": 4, "c_ms": 1, "hostms": 5}}, "model.hostms: there is no such field; host_ms is near"),
        ({"workload": {"kind": "weekly"}}, "workload: a mapping: want a kind of steady, bursty, diurnal, flash, low, replay"),
        ({"workload": {"rows_per_s": 5}}, "workload: a mapping: want a kind in it"),
        ({"workload": {"kind": "steady", "rows_per_s": -1}}, "workload.rows_per_s: -1: want 0 or more"),
        ({"workload": {"kind": "steady", "rows_per_s": 1, "rows": 2.5}}, "workload.rows: 2.5: want a whole number of rows, or a mapping"),
        ({"workload": {"kind": "steady", "rows_per_s": 1, "rows": {"largest": 0}}}, "workload.rows.largest: 0: want 1 or more"),
        ({"workload": {"kind": "replay"}}, "workload: a replay has either series or csv_file"),
        ({"workload": {"kind": "replay", "series": [[0, 1], [0, 2]]}}, "workload: series: the time 0 comes after 0: .* rising order"),
        ({"workload": {"kind": "replay", "series": [[0, -1]]}}, "workload.series.0.1: -1: want 0 or more"),
        ({"limits": {"min_instances": 3, "max_instances": 2}}, "limits: min_instances 3 is above max_instances 2"),
        ({"limits": {"gpu_quota": 2, "warm_instances": 3}}, "limits: warm_instances 3 is above 2, the most that may run"),
        ({"limits": {"gpu_quota": 2, "min_instances": 3}}, "limits: min_instances 3 is above 2, the most that may run"),
        ({"workload": {**BURSTS, "mean_low_s": 1e-6}}, "workload.mean_low_s: 1e-06: want 0.1 or more"),
        ({"workload": {**BURSTS, "mean_high_s": 1e-6}}, "workload.mean_high_s: 1e-06: want 0.1 or more"),
        ({"objective": {"p99_ms": 0}}, "objective.p99_ms: 0: want more than 0"),
        ({"objective": None}, "objective.p99_ms is not there and is needed"),
        ({"duration_s": 90}, "duration_s: 90: want a multiple of 60"),
        ({"duration_s": 90_000}, "duration_s: 90000: want 86400 or less"),
        ({"seed": -1}, "seed: -1: want 0 or more"),
        ({"lag": 5}, "lag: there is no such field; lag_s is near"),
        ({"compare": {"": {"gcloud": DEFAULTS}}}, "compare"),
    ],
)
def test_what_is_wrong_is_said_with_field_value_and_limit(changed: dict[str, Any], said: str) -> None:
    assert re.search(said, problems(**changed))


def test_a_run_that_would_take_hours_is_refused_with_its_size() -> None:
    said = problems(workload={"kind": "steady", "rows_per_s": 40_000}, duration_s=86_400)
    assert f"at most {MAX_REQUESTS:,} are simulated: lower duration_s or the rate" in said


def test_more_waiting_requests_than_memory_holds_are_refused() -> None:
    said = problems(workload={"kind": "steady", "rows_per_s": 50_000}, duration_s=120, warm_up_s=0, limits={"start_s": 600})
    assert "may wait for an instance that starts for 600 s" in said


def test_tries_of_clients_count_as_requests() -> None:
    load = {"kind": "steady", "rows_per_s": 40_000}
    long = {"duration_s": 1_200, "warm_up_s": 0, "limits": {"start_s": 5}}
    assert read_scenario(scenario(workload=load, **long)).workload.retries is None
    said = problems(workload={**load, "retries": {"tries": 10}}, **long)
    assert "it may come to 477,974,000 requests, " in said
    assert f"retries included, and at most {MAX_REQUESTS:,} are simulated: lower duration_s, workload.retries.tries or the rate" in said


def test_requests_that_wait_for_their_next_try_are_held_in_memory() -> None:
    load = {"kind": "steady", "rows_per_s": 50_000}
    assert read_scenario(scenario(workload=load, limits={"start_s": 5})).workload.retries is None
    said = problems(workload={**load, "retries": {"tries": 10, "backoff_s": 300}}, limits={"start_s": 5})
    assert "at 50,000 requests a second 9,000,000 may wait for an instance that starts for 5 s or for their next try" in said
    assert f"at most {MAX_WAITING:,} are simulated: lower the rate, workload.retries or limits.start_s" in said


def test_bursts_as_short_as_a_tenth_of_a_second_are_simulated_but_not_for_a_day() -> None:
    short = {**BURSTS, "mean_low_s": 0.1, "mean_high_s": 0.1}
    assert read_scenario(scenario(workload=short, duration_s=3_600)).duration_s == 3_600
    said = problems(workload=short, duration_s=86_400, warm_up_s=0)
    assert "in 86,400 s its rate turns 864,000 times, and in so long a run 23,148 turns are simulated: lower duration_s" in said
    assert read_scenario(scenario(workload=BURSTS, duration_s=86_400, warm_up_s=7_200)).warm_up_s == 7_200


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"workload": {"kind": "steady", "rows_per_s": True}}, "workload.rows_per_s: true: want a number"),
        ({"workload": {"kind": "steady", "rows_per_s": 1, "rows": True}}, "workload.rows: true: want a whole number or a mapping"),
        ({"workload": {"kind": "replay", "series": [[0, 1], [60, True]]}}, "workload.series.1.1: true: want a number"),
        ({"model": {"a_ms": True, "c_ms": 1}}, "model.a_ms: true: want a number"),
        ({"model": {"table": {1: True, 2: 4}}}, "model.table.1: true: want a number"),
        ({"model": {"table": {True: 4}}}, "model.table: true: want a number"),
        ({"limits": {"start_s": True}}, "limits.start_s: true: want a number"),
        ({"objective": {"p99_ms": True}}, "objective.p99_ms: true: want a number"),
        ({"warm_up_s": False}, "warm_up_s: false: want a number"),
        ({"service": {"spec": {"scale": {"max_instance_count": True}}}}, "service.spec.scale.max_instance_count: true: want a number"),
    ],
)
def test_true_is_no_number(changed: dict[str, Any], said: str) -> None:
    assert said in problems(**changed)


def test_nor_is_it_in_settings_to_compare() -> None:
    with pytest.raises(ScenarioError, match=r"spec\.objective\.p99_ms: true: want a number"):
        read_settings({"spec": {"scale": {"max_instance_count": 2}, "objective": {"p99_ms": True}}})


def test_a_boolean_that_is_meant_stays_one() -> None:
    model = {"name": "ranker", "uri": "gs://acme-models/ranker"}
    serving = {"image": "tensorflow/serving", "model": model, "cpu": 4, "memory": "16Gi", "gpu_zonal_redundancy": False}
    assert read_settings({"spec": {"scale": {"max_instance_count": 2}, "serving": serving}}).spec is not None


@pytest.mark.parametrize("data", [None, [], "text", 7])
def test_what_is_no_mapping_is_no_scenario(data: object) -> None:
    with pytest.raises(ScenarioError, match="a scenario is a mapping with service, model, workload and objective"):
        read_scenario(data)


def test_the_mean_of_a_heavy_tail() -> None:
    found = read_scenario(scenario(workload={"kind": "steady", "rows_per_s": 9, "rows": {"largest": 2, "exponent": 1}}))
    assert found.mean_rows == pytest.approx((1 + 1) / 1.5)


def test_a_csv_is_read_with_and_without_its_first_line() -> None:
    assert series_of_csv("time_s,rate\n0,10\n60, 20.5\n\n") == [[0, 10], [60, 20.5]]
    assert series_of_csv("0,10\n60,20\n") == [[0, 10], [60, 20]]


@pytest.mark.parametrize("text", ["\ufefftime_s,rate\r\n0,10\r\n", "\ufeff0,10\r\n"])
def test_a_csv_of_excel_begins_with_a_byte_order_mark(text: str) -> None:
    assert series_of_csv(text) == [[0, 10]]


def test_a_line_that_is_no_pair_of_numbers_is_named() -> None:
    with pytest.raises(CsvError, match="line 2: want two numbers, time_s,rate"):
        series_of_csv("0,10\n60\n")


def test_every_field_has_a_meaning() -> None:
    schema = scenario_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert [row.path for row in scenario_rows() if not row.meaning] == []
    assert [row.path for _, rows in load_rows().values() for row in rows if not row.meaning] == []
    assert set(load_rows()) == {"", "steady", "bursty", "diurnal", "flash", "low", "replay"}


def test_the_schema_has_the_fields_of_the_record() -> None:
    assert set(scenario_schema()["properties"]) == set(Scenario.model_fields)
