"""The fast knob outward: what raises a bound, how far, and what stands in the way."""

import pytest

from shared.control.timing import ATTEMPT_BUDGET, EFFECT_SECONDS
from shared.records.evidence import Evidence, Readings
from shared.records.fleet import Brakes, Fleet, FleetUsage
from shared.records.metric import Metric, Unknown
from shared.records.observed import Bounds, Observed, ScalingMode, Shape
from shared.records.plan import DenialCode, Plan
from shared.records.service import Autonomy, Hold, Objective, OwnedField, ServiceDocument
from shared.records.signals import Signal
from tests.support.builders import L4_USD_PER_HOUR, NOW, Story, alert, at, document, known, observed

T4 = Shape(accelerator="nvidia-t4", gpu_count=1, cpu=4, memory_gib=16)
MIN, MAX = OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT


def changes(plan: Plan) -> dict[OwnedField, tuple[int, int]]:
    return {change.field: (change.before, change.after) for change in plan.changes}


def codes(plan: Plan) -> list[DenialCode]:
    return [denial.code for denial in plan.denials]


def test_no_instance_at_the_cap_doubles_the_maximum() -> None:
    story = Story()
    story.hear(alert())
    plan = story.look(30, count=known(4))
    assert changes(plan) == {MAX: (4, 8)}
    assert plan.changes[0].signal == Signal.NO_INSTANCE
    assert "4 of 4 instances run" in plan.explanation
    assert "raise scaling.max_instance_count from 4 to 8" in plan.explanation


def test_the_target_is_absolute_so_a_second_look_asks_for_no_more() -> None:
    story = Story()
    story.hear(alert())
    story.look(30, count=known(4))
    for seconds, code in ((90, DenialCode.COOLDOWN), (600, DenialCode.TARGET_REACHED), (1_200, DenialCode.TARGET_REACHED)):
        plan = story.look(seconds, count=known(8))
        assert (changes(plan), codes(plan)) == ({}, [code])


def test_a_thousand_incidents_of_one_trouble_ask_for_one_raise() -> None:
    story = Story(document(high=1_000))
    for minute in range(7):
        story.hear(*(alert(f"0.{minute}-{n}", started=minute * 60) for n in range(50)))
        story.look(minute * 60 + 30, count=known(4))
    assert story.writes == [Bounds(max_instance_count=8)]


def test_a_new_incident_at_the_new_bound_doubles_again_once_the_first_raise_had_its_effect() -> None:
    story = Story()
    story.hear(alert())
    story.look(30, count=known(4))
    story.hear(alert(state="closed"), alert("0.b2", started=30 + EFFECT_SECONDS + 60))
    assert changes(story.look(30 + EFFECT_SECONDS + 90, count=known(8))) == {MAX: (8, 16)}


def test_it_does_not_double_again_while_the_count_has_not_reached_the_new_bound() -> None:
    story = Story()
    story.hear(alert())
    story.look(30, count=known(4))
    story.hear(alert(state="closed"), alert("0.b2", started=30 + EFFECT_SECONDS + 60))
    plan = story.look(30 + EFFECT_SECONDS + 90, count=known(6))
    assert MAX not in changes(plan)


def test_below_the_cap_no_instance_means_a_cold_start_and_raises_the_minimum() -> None:
    story = Story()
    story.hear(alert())
    plan = story.look(30, count=known(2))
    assert changes(plan) == {MIN: (0, 2)}
    assert plan.floor_expires_at == at(30 + 1_800)
    assert "instances start too late" in plan.explanation


def test_pending_latency_keeps_what_runs_and_one_more_warm() -> None:
    story = Story(seen=observed(low=1))
    story.hear(alert(signal=Signal.PENDING_LATENCY))
    assert changes(story.look(30, count=known(3))) == {MIN: (1, 3)}


def test_a_raised_minimum_never_exceeds_the_maximum() -> None:
    story = Story(seen=observed(low=4, high=4))
    story.hear(alert(signal=Signal.PENDING_LATENCY))
    plan = story.look(30, count=known(4))
    assert (changes(plan), codes(plan)) == ({MAX: (4, 8)}, [DenialCode.TARGET_REACHED])


def test_without_metrics_it_raises_once_per_episode_and_only_while_the_incident_is_open() -> None:
    story = Story(document(high=100))
    story.hear(alert())
    assert changes(story.look(30)) == {MAX: (4, 8)}
    story.hear(alert("0.b2", started=30 + EFFECT_SECONDS + 60))
    for seconds in range(600, 3_600, 60):
        assert changes(story.look(seconds)) == {}
    assert story.writes == [Bounds(max_instance_count=8)]


def test_without_metrics_and_without_an_incident_nothing_moves() -> None:
    assert changes(Story().look(30)) == {}


def test_a_stale_sample_counts_as_unknown() -> None:
    story = Story()
    story.hear(alert())
    plan = story.look(30, count=known(2, age_seconds=400))
    assert plan.unknown_signals == (Signal.NO_INSTANCE,)
    assert "how many of 4 instances run is unknown" in plan.explanation


@pytest.mark.parametrize(
    ("spec", "seen", "quota", "limited_to", "code"),
    [
        (document(high=6), observed(), 20, 6, DenialCode.SPEC_MAX),
        (document(), observed(revision_max_instance_count=7), 20, 7, DenialCode.REVISION_MAX),
        (document(), observed(), 5, 5, DenialCode.QUOTA),
        (document(usd_per_hour=6 * L4_USD_PER_HOUR), observed(), 20, 6, DenialCode.BUDGET),
    ],
)
def test_a_raise_is_cut_to_the_lowest_limit_and_says_which(
    spec: ServiceDocument, seen: Observed, quota: int, limited_to: int, code: DenialCode
) -> None:
    story = Story(spec, seen)
    story.hear(alert())
    plan = story.look(30, count=known(4), quota=known(quota))
    assert changes(plan) == {MAX: (4, limited_to)}
    assert codes(plan) == [code]
    assert plan.denials[0].wanted == 8


@pytest.mark.parametrize(
    ("spec", "seen", "quota", "code"),
    [
        (document(high=4), observed(), 20, DenialCode.SPEC_MAX),
        (document(), observed(revision_max_instance_count=4), 20, DenialCode.REVISION_MAX),
        (document(), observed(), 3, DenialCode.QUOTA),
        (document(usd_per_hour=2 * L4_USD_PER_HOUR), observed(), 20, DenialCode.BUDGET),
        (
            document(usd_per_hour=100),
            observed(shape=Shape(accelerator="nvidia-t4", gpu_count=1, cpu=4, memory_gib=16)),
            20,
            DenialCode.UNKNOWN,
        ),
    ],
)
def test_a_limit_that_is_reached_denies_the_raise_and_lowers_nothing(
    spec: ServiceDocument, seen: Observed, quota: int, code: DenialCode
) -> None:
    story = Story(spec, seen)
    story.hear(alert())
    plan = story.look(30, count=known(4), quota=known(quota))
    assert (changes(plan), codes(plan)) == ({}, [code])
    unlimited = next(condition for condition in plan.state.conditions if condition.type == "Unlimited")
    assert unlimited.status == ("True" if code == DenialCode.UNKNOWN else "False")


def test_the_dollars_of_the_fleet_are_a_limit_too() -> None:
    fleet = Fleet(brakes=Brakes(usd_per_hour=20))
    usage = FleetUsage(minute="202611300300", acts_this_minute=0, usd_per_hour_at_max=18)
    story = Story(fleet=fleet)
    story.look(0, count=known(4))
    story.hear(alert())
    plan = story.look(30, count=known(4), fleet_usage=usage)
    assert changes(plan) == {MAX: (4, 5)}
    assert codes(plan) == [DenialCode.BRAKE_USD]


def test_the_brake_on_acts_denies_until_the_next_minute() -> None:
    story = Story(fleet=Fleet(brakes=Brakes(acts_per_minute=3)))
    story.hear(alert())
    plan = story.look(30, count=known(4), fleet_usage=FleetUsage(minute="202611300300", acts_this_minute=3))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.BRAKE_ACTS])


def test_a_hold_on_the_field_denies_and_names_author_and_reason() -> None:
    hold = Hold(hold_id="h1", fields=(MAX,), reason="load test", author="ana@acme.example", created_at=NOW, expires_at=at(3_600))
    story = Story(document(holds=(hold,)))
    story.hear(alert())
    plan = story.look(30, count=known(4))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.HOLD])
    assert "ana@acme.example" in plan.denials[0].message
    assert "load test" in plan.denials[0].message


def test_an_expired_hold_holds_nothing() -> None:
    hold = Hold(hold_id="h1", reason="load test", author="ana", created_at=NOW, expires_at=at(20))
    story = Story(document(holds=(hold,)))
    story.hear(alert())
    assert changes(story.look(30, count=known(4))) == {MAX: (4, 8)}


def test_a_hold_on_another_field_does_not_hold_this_one() -> None:
    hold = Hold(hold_id="h1", fields=(MIN,), reason="cost", author="ana", created_at=NOW)
    story = Story(document(holds=(hold,)))
    story.hear(alert())
    assert changes(story.look(30, count=known(4))) == {MAX: (4, 8)}


def test_a_fleet_hold_stops_everything() -> None:
    story = Story(fleet=Fleet(hold=Hold(hold_id="h", reason="migration", author="ana", created_at=NOW)))
    story.hear(alert())
    assert codes(story.look(30, count=known(4))) == [DenialCode.FLEET_HOLD]


def test_observe_decides_nothing_and_says_so() -> None:
    story = Story(document(autonomy=Autonomy.OBSERVE))
    story.hear(alert())
    plan = story.look(30, count=known(4))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.AUTONOMY_OBSERVE])


def test_recommend_decides_the_same_as_act() -> None:
    plans = []
    for autonomy in (Autonomy.RECOMMEND, Autonomy.ACT):
        story = Story(document(autonomy=autonomy))
        story.hear(alert())
        plans.append(story.look(30, count=known(4)))
    assert plans[0].changes == plans[1].changes


def test_recommend_uses_up_no_cooldown_and_no_attempt() -> None:
    story = Story(document(autonomy=Autonomy.RECOMMEND))
    story.hear(alert())
    assert changes(story.look(30, count=known(4))) == changes(story.look(40, count=known(4))) == {MAX: (4, 8)}
    assert story.state.attempts == ()


def test_a_service_in_manual_scaling_mode_is_left_alone() -> None:
    story = Story(seen=observed(scaling_mode=ScalingMode.MANUAL, manual_instance_count=3))
    story.hear(alert())
    assert codes(story.look(30, count=known(4))) == [DenialCode.MANUAL_SCALING]


def test_two_signals_within_a_minute_are_not_two_raises() -> None:
    story = Story()
    story.hear(alert(signal=Signal.PENDING_LATENCY))
    story.look(30, count=known(4))
    story.hear(alert("0.b2"))
    plan = story.look(60, count=known(4))
    assert (changes(plan), DenialCode.COOLDOWN in codes(plan)) == ({}, True)
    assert plan.next_look_at == at(120)


def test_the_attempt_budget_ends_in_a_call_for_a_person() -> None:
    story = Story(document(high=1_000))
    for n in range(ATTEMPT_BUDGET + 1):
        started = n * 1_200.0
        story.hear(alert(f"0.{n}", started=started))
        plan = story.look(started + 30, count=known(story.seen.max_in_force))
    assert len(story.writes) == ATTEMPT_BUDGET
    assert codes(plan) == [DenialCode.ATTEMPTS_EXHAUSTED]
    assert "a person must look" in plan.denials[0].message


@pytest.mark.parametrize(
    "signal",
    [
        Signal.QUEUE_FULL,
        Signal.THREAD_GAP,
        Signal.GPU_MEMORY,
        Signal.ERROR_RATIO,
        Signal.LATENCY,
        Signal.CPU_HIGH_GPU_LOW,
        Signal.NO_DATA,
    ],
)
def test_a_signal_that_no_instance_bound_cures_is_named_with_the_reason(signal: Signal) -> None:
    story = Story()
    story.hear(alert(signal=signal))
    plan = story.look(30, count=known(4))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.NO_FAST_REMEDY])
    assert str(signal) in plan.explanation


def test_both_bounds_can_rise_in_one_plan() -> None:
    story = Story()
    story.hear(alert(), alert("0.b2", signal=Signal.PENDING_LATENCY))
    assert changes(story.look(30, count=known(4))) == {MAX: (4, 8), MIN: (0, 4)}


def test_a_service_without_a_maximum_of_its_own_gets_one_within_the_spec() -> None:
    story = Story(document(high=10), observed(high=0))
    plan = story.look(30, count=known(4))
    assert changes(plan) == {MAX: (0, 10)}
    assert "set scaling.max_instance_count from not set to 10" in plan.explanation


@pytest.mark.parametrize("signal", [Signal.NO_INSTANCE, Signal.PENDING_LATENCY])
def test_without_metrics_trouble_after_trouble_raises_no_further_than_the_first(signal: Signal) -> None:
    story = Story(document(high=100))
    for n in range(6):
        started = n * 3 * 3_600.0
        story.hear(alert(f"0.{n}", signal=signal, started=started))
        story.look(started + 30)
        story.hear(alert(f"0.{n}", "closed", signal, started=started))
        story.look(started + 600)
    assert len(story.writes) == 1
    plan = story.look(20 * 3_600)
    assert plan.next_look_at == at(20 * 3_600 + 600)


def test_where_a_person_is_the_only_way_on_the_condition_says_so() -> None:
    story = Story()
    story.hear(alert())
    story.look(30, count=known(4))
    plan = story.look(600, count=known(8))
    unlimited = next(condition for condition in plan.state.conditions if condition.type == "Unlimited")
    assert (unlimited.status, unlimited.reason) == ("False", "TargetReached")


def measured(*, gpu: float | None = None, pending_ms: float | None = None) -> Evidence:
    """How busy the GPU is, and how long requests wait for an instance."""
    values: dict[str, Metric] = {}
    if gpu is not None:
        values["run.googleapis.com/container/gpu/utilizations p50 [ratio]"] = known(gpu)
    if pending_ms is not None:
        values["run.googleapis.com/request_latency/pending p99 [ms]"] = known(pending_ms)
    return Evidence(logs=Unknown(reason="not asked"), readings=Readings(values=values))


def slow(*, p99_ms: float | None = 200, low: int = 0, high: int = 20) -> Story:
    """A service whose requests are slower than its objective."""
    spec = document(high=20)
    objective = Objective(p99_ms=p99_ms)
    spec = spec.model_copy(update={"spec": spec.spec.model_copy(update={"objective": objective})})
    story = Story(spec=spec, seen=observed(low=low, high=high))
    story.hear(alert(signal=Signal.LATENCY))
    return story


def test_slow_requests_on_a_gpu_without_a_pause_get_a_quarter_more_instances() -> None:
    plan = slow().look(30, count=known(8), evidence=measured(gpu=0.97))
    assert changes(plan) == {MIN: (0, 10)}
    assert "which Cloud Run's autoscaler does not see" in plan.explanation


def test_slow_requests_on_a_gpu_with_pauses_get_no_instances() -> None:
    plan = slow().look(30, count=known(8), evidence=measured(gpu=0.85))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.NO_FAST_REMEDY])


def test_slow_requests_without_metrics_get_no_instances() -> None:
    plan = slow().look(30, count=known(8))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.NO_FAST_REMEDY])


def test_more_instances_for_slow_requests_are_not_named_while_the_count_is_unknown() -> None:
    plan = slow().look(30, evidence=measured(gpu=0.97))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.UNKNOWN])


def test_the_next_instances_for_slow_requests_wait_until_the_last_ones_run() -> None:
    story = slow()
    story.look(30, count=known(8), evidence=measured(gpu=0.97))
    plan = story.look(500, count=known(9), evidence=measured(gpu=0.97))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.BOUND_NOT_REACHED])
    assert changes(story.look(560, count=known(10), evidence=measured(gpu=0.97))) == {MIN: (10, 13)}


def test_instances_for_slow_requests_stay_within_the_maximum() -> None:
    plan = slow(high=9).look(30, count=known(8), evidence=measured(gpu=0.97))
    assert changes(plan) == {MIN: (0, 9)}
    plan = slow(high=8).look(30, count=known(8), evidence=measured(gpu=0.97))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.TARGET_REACHED])


def test_requests_that_are_slow_because_they_wait_for_an_instance_keep_what_runs_warm() -> None:
    plan = slow().look(30, count=known(3), evidence=measured(pending_ms=120))
    assert changes(plan) == {MIN: (0, 3)}
    assert "they wait for an instance to start" in plan.explanation


def test_a_wait_that_takes_the_smaller_part_of_the_objective_is_not_why_they_are_slow() -> None:
    plan = slow().look(30, count=known(3), evidence=measured(pending_ms=99))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.NO_FAST_REMEDY])


def test_without_an_objective_no_wait_is_too_long() -> None:
    plan = slow(p99_ms=None).look(30, count=known(3), evidence=measured(pending_ms=10_000))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.NO_FAST_REMEDY])


def test_a_burst_does_not_keep_more_than_twice_as_many_warm_for_slow_requests() -> None:
    assert changes(slow().look(30, count=known(18), evidence=measured(pending_ms=900))) == {MIN: (0, 4)}
    assert changes(slow(low=3).look(30, count=known(18), evidence=measured(pending_ms=900))) == {MIN: (3, 6)}
