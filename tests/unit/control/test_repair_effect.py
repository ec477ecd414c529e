"""How a service does, by its readings; whether that is worse than before; what a repair is expected to do."""

from typing import Any

import pytest

from shared.control.repair_effect import effect
from shared.control.repair_prediction import predict
from shared.control.repair_verdict import harmful, verdict
from shared.records.desired import desired_serving
from shared.records.evidence import Evidence, Readings, Statistic, reading_key
from shared.records.evidence_keys import CLOUD_RUN, SERVED_KEYS, TOTAL_KEY
from shared.records.metric import Known, Metric, Unknown
from shared.records.repair import Effect, RepairSettings, known_value
from shared.records.serving import Protocol
from tests.support.builders import known
from tests.support.repairs import readings
from tests.support.specs import a_spec

NOT_READ = Unknown(reason="503")


def seen(values: dict[str, float], **unread: Metric) -> Evidence:
    found: dict[str, Metric] = {key: Known(value=value, age_seconds=180, samples=5) for key, value in values.items()}
    if unread:
        found |= dict.fromkeys(SERVED_KEYS, unread["served"])
    return Evidence(logs=Unknown(reason="not asked"), readings=Readings(values=found))


def failed(values: dict[str, float], protocol: Protocol = Protocol.GRPC) -> float | None:
    return known_value(effect(seen(values), protocol).failed_ratio)


def test_what_tf_serving_did_not_answer_well_failed() -> None:
    assert failed(readings(served={"OK": 150, "UNAVAILABLE": 20})) == pytest.approx(0.25)


def test_a_callers_own_mistakes_are_no_failures() -> None:
    assert failed(readings(served={"OK": 150, "INVALID_ARGUMENT": 30, "NOT_FOUND": 20})) == 0


def test_counts_that_are_not_of_the_same_moment_fail_no_less_than_nothing() -> None:
    assert failed(readings(served={"OK": 203})) == 0


def test_over_rest_cloud_runs_own_errors_are_known_without_tf_servings_counts() -> None:
    assert failed(readings(errors=50), Protocol.REST) == 0.25


def test_over_grpc_nothing_is_known_without_tf_servings_counts() -> None:
    assert failed(readings(errors=50)) is None


def test_without_requests_nothing_is_known_of_failures() -> None:
    assert failed(readings(rate=0, served={"OK": 0})) is None


def test_where_tf_servings_counts_could_not_be_read_nothing_failed_for_that() -> None:
    values = seen(readings(), served=NOT_READ)
    assert isinstance(values.readings, Readings)
    some = {**values.readings.values, next(iter(SERVED_KEYS)): NOT_READ, list(SERVED_KEYS)[1]: known(3)}
    partly = values.model_copy(update={"readings": Readings(values=some)})
    assert effect(partly, Protocol.GRPC).failed_ratio == NOT_READ


@pytest.mark.parametrize("evidence", [None, Evidence(logs=NOT_READ, readings=NOT_READ)])
def test_without_readings_every_part_of_the_effect_is_unknown(evidence: Evidence | None) -> None:
    found = effect(evidence, Protocol.GRPC)
    assert all(isinstance(getattr(found, name), Unknown) for name in Effect.model_fields)


def of(
    ratio: float | None, *, p50: float | None = None, p95: float | None = None, p99: float | None = 100, rate: float | None = 200
) -> Effect:
    values: dict[str, Metric] = dict.fromkeys(Effect.model_fields, NOT_READ)
    given = {"failed_ratio": ratio, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "requests_per_second": rate}
    return Effect.model_validate(values | {name: known(value) for name, value in given.items() if value is not None})


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (of(0.8), of(0.0), False),
        (of(0.8, p99=100), of(0.0, p99=900), False),
        (of(0.0), of(0.3), True),
        (of(0.1), of(0.105), False),
        (of(0.1, p99=100), of(0.1, p99=120), False),
        (of(0.1, p99=100), of(0.1, p99=126), True),
        (of(0.0, rate=200), of(0.3, rate=290), True),
        (of(0.0, rate=200), of(0.3, rate=301), None),
        (of(0.0, rate=None), of(0.3), None),
        (of(0.0), of(None), None),
        (of(None), of(0.0), None),
        (of(0.0, p99=None), of(0.0), False),
    ],
)
def test_the_share_of_failed_requests_decides_and_where_it_is_alike_the_latency(
    before: Effect, after: Effect, *, worse: bool | None
) -> None:
    assert verdict(before, after, objective_p99_ms=None).worse is worse


def test_slower_than_before_and_still_within_the_objective_is_not_worse() -> None:
    assert verdict(of(0.0, p99=50), of(0.0, p99=180), objective_p99_ms=200).worse is False


def predicted(values: dict[str, float] | None, *, now: int = 4, allowed: int = 20, **settings: Any) -> Any:
    desired = desired_serving(a_spec(), version=42, settings=RepairSettings(**settings))
    return predict(desired, None if values is None else seen(values), rows_per_request=1, allowed_now=now, allowed=allowed)


def test_what_an_instance_carries_lies_between_batches_that_gain_nothing_and_batches_that_gain_all() -> None:
    """The GPU is busy 0.5 of the time at 100 requests/s in batches of 4: a batch takes 20 ms, of 4 rows at least, of 32 at best."""
    found = predicted(readings(rate=100, served={"OK": 100}, gpu=0.5, cpu=0.05, active=1, batch=4))
    assert (found.requests_per_second_low, found.requests_per_second_high) == (pytest.approx(200), pytest.approx(1_600))


def test_the_cpu_bounds_what_an_instance_carries() -> None:
    found = predicted(readings(rate=100, served={"OK": 100}, gpu=0.05, cpu=0.25, active=1, batch=4))
    assert found.requests_per_second_low == pytest.approx(400)
    # Where the CPU's work is a batch's, one of 32 rows shares it among eight times as many as one of 4.
    assert found.requests_per_second_high == pytest.approx(3_200)


def test_batches_smaller_than_those_measured_carry_less_at_worst() -> None:
    """Batches of 30 rows, and from now on of 16 at most: if a batch's time does not shrink with its rows, half is carried."""
    found = predicted(readings(rate=100, served={"OK": 100}, gpu=0.5, cpu=0.05, active=1, batch=30), max_batch_size=16)
    assert found.requests_per_second_low < found.requests_per_second_high
    assert found.requests_per_second_low == pytest.approx(200 * 16 / 30)


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (None, "no metrics of the service were read"),
        (readings(), "the share of them that failed"),
        ({TOTAL_KEY: 100.0}, "the number of active instances"),
        (readings(served={"OK": 0}), "no request was answered"),
        (readings(served={"OK": 200}, gpu=0), "no request was answered"),
    ],
)
def test_what_is_not_known_is_not_predicted_and_it_is_said_what(values: dict[str, float] | None, missing: str) -> None:
    found = predicted(values)
    assert (found.failed_ratio, found.requests_per_second_low) == (None, None)
    assert missing in found.text


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        # Refusals in a moment became answers nobody waits for.
        (of(0.05, p50=40, p95=100, p99=152), of(0.0, p50=900, p95=1_600, p99=1_812), True),
        (of(0.4, p50=40, p95=100, p99=152), of(0.1, p50=44_000, p95=80_000, p99=88_000), True),
        # Half of all requests fail, then none, and a twentieth of the answers is late: better for sure.
        (of(0.5, p50=40, p95=100, p99=152), of(0.0, p50=60, p95=260, p99=300), False),
        (of(0.05, p50=40, p95=100, p99=152), of(0.0, p50=60, p95=240, p99=251), False),
    ],
)
def test_an_answer_after_the_objective_is_no_better_than_a_refusal(before: Effect, after: Effect, *, worse: bool) -> None:
    assert verdict(before, after, objective_p99_ms=250).worse is worse


@pytest.mark.parametrize(("p50", "harm"), [(1_001, True), (1_000, False), (None, False)])
def test_a_median_of_four_times_the_objective_is_harm_that_nobody_waits_out(p50: float | None, *, harm: bool) -> None:
    found = harmful(of(0.3, p50=40), of(0.0, p50=p50), objective_p99_ms=250)
    assert (found is not None) is harm


def test_who_was_that_slow_before_is_not_harmed() -> None:
    assert harmful(of(0.3, p50=900), of(0.0, p50=2_000), objective_p99_ms=250) is None


def test_a_window_with_two_loads_predicts_nothing_and_asks_for_twice_the_room() -> None:
    values = readings(rate=100, served={"OK": 40}, gpu=0.4, cpu=0.3, active=1, batch=1)
    values[reading_key(f"{CLOUD_RUN}container/cpu/utilizations", Statistic.P95, "ratio")] = 1.0
    found = predicted(values, now=3)
    assert (found.failed_ratio, found.requests_per_second_low, found.instances_needed) == (None, None, 6)
    assert found.text.startswith("not predicted: the load changed within the window")
