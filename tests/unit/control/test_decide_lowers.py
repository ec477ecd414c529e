"""The slow way down, and everything that must not lower a bound."""

import pytest

from shared.control.timing import FLOOR_SECONDS, IN_COOLDOWN_SECONDS
from shared.records.metric import Metric, Unknown
from shared.records.observed import Bounds
from shared.records.plan import DenialCode
from shared.records.service import OwnedField
from shared.records.signals import Signal
from tests.support.builders import UNKNOWN, Story, alert, at, document, known, observed
from tests.unit.control.test_decide_raises import changes, codes, measured, slow

MIN, MAX = OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT


def raised() -> Story:
    """A service whose maximum was raised from 4 to 8 and whose incident closed at 600 s."""
    story = Story()
    story.hear(alert())
    story.look(30, count=known(4))
    story.hear(alert(state="closed"))
    story.look(600, count=known(3))
    return story


def walk(story: Story, start: int, end: int, count: Metric) -> list[int]:
    return [story.seen.bounds.max_instance_count for seconds in range(start, end, 60) if changes(story.look(seconds, count=count))]


def test_after_the_trouble_the_maximum_returns_in_halves_to_where_it_rested() -> None:
    assert walk(raised(), 660, 7_200, known(2)) == [6, 5, 4]


def test_each_step_down_waits_its_cooldown() -> None:
    story = raised()
    assert walk(story, 660, 600 + int(IN_COOLDOWN_SECONDS), known(2)) == []
    assert changes(story.look(600 + IN_COOLDOWN_SECONDS, count=known(2))) == {MAX: (8, 6)}
    assert walk(story, 1_260, 1_800, known(2)) == []


def test_it_rests_and_is_settled_in_the_end() -> None:
    story = raised()
    walk(story, 660, 7_200, known(2))
    plan = story.look(7_200, count=known(2))
    assert plan.next_look_at is None
    assert story.state.resting_max is None


@pytest.mark.parametrize("count", [UNKNOWN, known(2, age_seconds=301), Unknown(reason="the service is gone")])
def test_unknown_never_scales_down(count: Metric) -> None:
    story = raised()
    assert walk(story, 660, 10_000, count) == []
    assert codes(story.look(10_000, count=count)) == [DenialCode.UNKNOWN]


def test_instances_in_use_are_not_taken() -> None:
    story = raised()
    plan = story.look(1_300, count=known(6))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.STILL_BUSY])


@pytest.mark.parametrize("signal", [signal for signal in Signal if signal != Signal.IDLE])
def test_nothing_is_lowered_while_any_trouble_is_open(signal: Signal) -> None:
    story = raised()
    story.hear(alert("0.z9", signal=signal, started=610))
    for seconds in range(660, 4_000, 60):
        lowered = [field for field, (before, after) in changes(story.look(seconds, count=known(1))).items() if after < before]
        assert lowered == []


def test_a_raised_minimum_falls_back_when_its_time_is_over_and_the_trouble_too() -> None:
    story = Story()
    story.hear(alert(signal=Signal.PENDING_LATENCY))
    story.look(30, count=known(2))
    story.hear(alert(signal=Signal.PENDING_LATENCY, state="closed"))
    story.look(600, count=known(2))
    assert changes(story.look(30 + FLOOR_SECONDS - 1, count=known(2))) == {}
    assert changes(story.look(30 + FLOOR_SECONDS, count=known(2))) == {MIN: (2, 0)}
    assert story.state.floor is None


def test_a_raised_minimum_stays_as_long_as_the_incident() -> None:
    story = Story()
    story.hear(alert(signal=Signal.PENDING_LATENCY))
    story.look(30, count=known(2))
    assert changes(story.look(30 + 2 * FLOOR_SECONDS, count=known(2))) == {}
    assert story.seen.bounds.min_instance_count == 2


def test_idle_lowers_the_minimum_one_by_one_to_the_specs() -> None:
    story = Story(document(low=1), observed(low=4, high=8))
    story.hear(alert(signal=Signal.IDLE))
    minima = [story.seen.bounds.min_instance_count for seconds in range(30, 4_000, 60) if changes(story.look(seconds, count=known(4)))]
    assert minima == [3, 2, 1]
    assert codes(story.look(4_000, count=known(4))) == [DenialCode.SPEC_MIN]


def test_idle_without_known_instances_lowers_nothing() -> None:
    story = Story(seen=observed(low=4, high=8))
    story.hear(alert(signal=Signal.IDLE))
    assert codes(story.look(30)) == [DenialCode.UNKNOWN]


def test_the_owners_lower_ceiling_is_obeyed_at_once_and_without_metrics() -> None:
    story = Story(document(high=3), observed(low=2, high=8))
    assert changes(story.look(30)) == {MAX: (8, 3)}


def test_the_owners_ceiling_below_the_minimum_moves_both() -> None:
    story = Story(document(high=3), observed(low=5, high=8))
    assert changes(story.look(30)) == {MAX: (8, 3), MIN: (5, 3)}


def test_the_owners_higher_minimum_is_obeyed() -> None:
    story = Story(document(low=2), observed(low=0, high=4))
    assert changes(story.look(30)) == {MIN: (0, 2)}


def test_a_value_that_somebody_else_set_is_kept_and_reported_once() -> None:
    story = raised()
    story.seen = story.seen.model_copy(
        update={"bounds": Bounds(max_instance_count=5), "generation": 20, "last_modifier": "ben@acme.example"}
    )
    plan = story.look(660, count=known(2))
    assert codes(plan) == [DenialCode.FOREIGN_CHANGE]
    assert "ben@acme.example set scaling.max_instance_count to 5" in plan.denials[0].message
    assert codes(story.look(720, count=known(2))) == []
    assert walk(story, 780, 4_000, known(2)) == []


def test_for_an_hour_a_foreign_value_is_not_even_raised_for_an_incident() -> None:
    story = Story()
    story.look(0, count=known(2))
    story.seen = story.seen.model_copy(update={"bounds": Bounds(max_instance_count=2), "generation": 20, "last_modifier": "ben"})
    story.look(60, count=known(2))
    story.hear(alert(started=100))
    assert codes(story.look(120, count=known(2))) == [DenialCode.FOREIGN_CHANGE]
    assert changes(story.look(60 + 3_600, count=known(2))) == {MAX: (2, 4)}


def test_where_cloud_run_cannot_be_read_nothing_is_decided() -> None:
    story = raised()
    story.seen = Unknown(reason="503 from the Admin API")  # type: ignore[assignment]
    plan = story.look(5_000, count=known(1))
    assert (plan.changes, codes(plan)) == ((), [DenialCode.UNOBSERVED])
    assert plan.next_look_at == at(5_600)
    seen = {condition.type: condition.status for condition in plan.state.conditions}
    assert (seen["Observed"], seen["Converged"]) == ("Unknown", "Unknown")


def test_a_flapping_alert_is_one_episode() -> None:
    story = Story(document(high=100))
    for n in range(8):
        story.hear(alert(f"0.{n}", started=n * 120))
        story.look(n * 120 + 10, count=known(4))
        story.hear(alert(f"0.{n}", "closed", started=n * 120))
        story.look(n * 120 + 70, count=known(4))
    assert {bounds.max_instance_count for bounds in story.writes} == {8}


def test_a_spec_minimum_above_the_maximum_in_force_raises_both() -> None:
    story = Story(document(low=6, high=10), observed(low=0, high=4))
    assert changes(story.look(30)) == {MAX: (4, 6), MIN: (0, 6)}


def test_a_service_of_fixed_size_comes_back_to_rest() -> None:
    story = Story(document(low=4, high=10), observed(low=4, high=4))
    story.hear(alert())
    story.look(30, count=known(4))
    story.hear(alert(state="closed"))
    story.look(600, count=known(4))
    walk(story, 660, 9_000, known(4))
    assert (story.seen.bounds.max_instance_count, story.state.resting_max) == (4, None)
    assert story.look(9_000, count=known(4)).next_look_at is None


def test_a_floor_that_the_spec_has_caught_up_with_is_forgotten() -> None:
    story = Story()
    story.hear(alert(signal=Signal.PENDING_LATENCY))
    story.look(30, count=known(2))
    story.hear(alert(signal=Signal.PENDING_LATENCY, state="closed"))
    story.look(600, count=known(2))
    story.spec = document(low=2)
    walk(story, 660, 6_000, known(2))
    assert story.state.floor is None
    assert story.look(6_000, count=known(2)).next_look_at is None


def test_a_resting_place_below_the_minimum_in_force_is_forgotten() -> None:
    story = raised()
    story.seen = story.seen.model_copy(update={"revision_min_instance_count": 8})
    walk(story, 660, 6_000, known(8))
    assert story.look(6_000, count=known(8)).next_look_at is None


def raised_for_latency() -> Story:
    """Eight instances that ran were made ten, since the GPU had no pause; the incident closed at 600 s and the floor is over."""
    story = slow()
    story.look(30, count=known(8), evidence=measured(gpu=0.97))
    story.hear(alert(state="closed", signal=Signal.LATENCY))
    story.look(600, count=known(10), evidence=measured(gpu=0.8))
    assert story.seen.bounds.min_instance_count == 10
    return story


OVER = 600 + FLOOR_SECONDS + IN_COOLDOWN_SECONDS


def test_instances_added_for_slow_requests_go_one_at_a_time() -> None:
    story = raised_for_latency()
    assert changes(story.look(OVER, count=known(10), evidence=measured(gpu=0.5))) == {MIN: (10, 9)}
    assert changes(story.look(OVER + 60, count=known(9), evidence=measured(gpu=0.5))) == {}
    assert changes(story.look(OVER + IN_COOLDOWN_SECONDS, count=known(9), evidence=measured(gpu=0.5))) == {MIN: (9, 8)}


def test_instances_added_for_slow_requests_stay_while_the_others_have_no_room_for_their_load() -> None:
    """Ten that are busy 0.75 of the time would be nine that are busy 0.83 of it."""
    plan = raised_for_latency().look(OVER, count=known(10), evidence=measured(gpu=0.75))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.STILL_BUSY])


def test_instances_added_for_slow_requests_stay_while_it_is_unknown_how_busy_they_are() -> None:
    plan = raised_for_latency().look(OVER, count=known(10))
    assert (changes(plan), codes(plan)) == ({}, [DenialCode.UNKNOWN])


def test_a_floor_for_slow_requests_that_is_still_in_use_is_looked_at_every_ten_minutes() -> None:
    plan = raised_for_latency().look(OVER, count=known(10), evidence=measured(gpu=0.75))
    assert plan.next_look_at == at(OVER + IN_COOLDOWN_SECONDS)


def test_a_floor_for_slow_requests_ends_where_it_began() -> None:
    story = raised_for_latency()
    for step in range(12):
        count = known(max(1, story.seen.bounds.min_instance_count))
        story.look(OVER + step * IN_COOLDOWN_SECONDS, count=count, evidence=measured(gpu=0.05))
    assert (story.seen.bounds.min_instance_count, story.state.floor) == (0, None)
