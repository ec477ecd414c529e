"""Of every valid scenario: it is simulated, its figures are finite, and they are of the length that was asked for."""

import json
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.simulation.figures import KEYS, figures
from shared.simulation.scenario import MAX_DURATION_S, ScenarioError, read_scenario, scenario_data
from shared.simulation.scenario_world import bounded, model_times, world_of
from shared.simulation.world.settings import Batching, CloudRunSettings, Revision, ServerSettings
from tests.support.scenarios import DEFAULTS

rates = st.floats(0, 400, allow_nan=False)
rows = st.integers(1, 32) | st.fixed_dictionaries({"largest": st.integers(1, 32)}, optional={"exponent": st.floats(0, 5)})
common = {
    "rows": rows,
    "retries": st.none() | st.fixed_dictionaries({"tries": st.integers(1, 4)}, optional={"backoff_s": st.floats(0.01, 5)}),
}
series = st.dictionaries(st.integers(0, 300), rates, min_size=1, max_size=5).map(lambda points: sorted(points.items()))
crowds = {"kind": st.just("flash"), "low_rows_per_s": rates, "high_rows_per_s": rates, "at_s": st.floats(0, 200)}
loads = st.one_of(
    st.fixed_dictionaries({"kind": st.just("steady"), "rows_per_s": rates}, optional=common),
    st.fixed_dictionaries({"kind": st.just("low")}, optional=common),
    st.fixed_dictionaries({"kind": st.just("bursty"), "low_rows_per_s": rates, "high_rows_per_s": rates}, optional=common),
    st.fixed_dictionaries({"kind": st.just("diurnal"), "rows_per_s": rates, "amplitude": st.floats(0, 1)}, optional=common),
    st.fixed_dictionaries(crowds, optional=common),
    st.fixed_dictionaries({"kind": st.just("replay"), "series": series}, optional=common),
)
straight = st.fixed_dictionaries({"a_ms": st.floats(1, 50), "c_ms": st.floats(0, 5)}, optional={"host_ms": st.floats(0, 1)})
tables = st.fixed_dictionaries({"table": st.dictionaries(st.integers(1, 64), st.floats(1, 200), min_size=1, max_size=6)})
scenarios = st.fixed_dictionaries(
    {
        "service": st.just({"gcloud": DEFAULTS}),
        "model": straight | tables,
        "workload": loads,
        "objective": st.fixed_dictionaries({"p99_ms": st.floats(1, 1000)}),
        "duration_s": st.sampled_from([60, 120]),
        "warm_up_s": st.sampled_from([0, 60]),
        "seed": st.integers(0, 2**63 - 1),
    },
    optional={"limits": st.fixed_dictionaries({}, optional={"gpu_quota": st.integers(1, 3), "start_s": st.floats(1, 60)})},
)
servers = st.builds(
    ServerSettings,
    batching=st.none() | st.builds(Batching, max_batch_size=st.integers(1, 64), threads=st.integers(1, 3), splitting=st.booleans()),
    rest=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(scenarios, servers, st.integers(1, 3))
def test_figures_are_finite_and_of_the_time_that_was_asked_for(data: dict[str, Any], server: ServerSettings, most: int) -> None:
    scenario = read_scenario(data)
    revision = Revision(model_times(scenario.model), server, CloudRunSettings(max_instances=most))
    world = world_of(scenario, bounded(scenario, revision))
    world.run_until(scenario.warm_up_s + scenario.duration_s)
    result = world.result(scenario.warm_up_s)
    found = figures(result)
    assert len(result.series) == scenario.duration_s / 60
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for span in (found, found["last_20_min"]):
        shares = [span["goodput"], span["gpu_busy"], span["cpu_busy"], *span["errors"].values()]
        assert all(share is None or 0 <= share <= 1 + 1e-9 for share in shares)
        assert all(span[key] is None or math.isfinite(span[key]) for key in KEYS if key != "errors")


@settings(max_examples=60, deadline=None)
@given(scenarios)
def test_a_scenario_reads_back_as_it_was_written(data: dict[str, Any]) -> None:
    scenario = read_scenario(data)
    assert read_scenario(json.loads(json.dumps(scenario_data(scenario)))) == scenario


names = st.sampled_from(["kind", "rows", "spec", "gcloud", "a_ms", "x"])
fields = st.sampled_from(["service", "model", "workload", "limits", "objective", "seed", "duration_s", "compare", "lag_s"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(scenarios, fields, json_values)
def test_whatever_stands_in_a_field_is_read_or_refused_in_words(data: dict[str, Any], field: str, value: object) -> None:
    scenario, said = None, ""
    try:
        scenario = read_scenario({**data, field: value})
    except ScenarioError as error:
        said = str(error)
    assert scenario is not None or said.startswith("the scenario has ")
    assert len(said) < 20_000
    assert scenario is None or scenario.duration_s <= MAX_DURATION_S
