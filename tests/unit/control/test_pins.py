"""A pin keeps the bounds as they were: what others change is put back, and what Trimtab would change stays."""

from datetime import timedelta
from typing import Any

import pytest

from shared.records.observed import Bounds
from shared.records.plan import DenialCode, Plan
from shared.records.service import Autonomy, Hold, HoldKind, OwnedField, PinnedValues
from shared.records.signals import Signal
from tests.support.builders import NOW, Story, alert, document

PINNED = PinnedValues(min_instance_count=1, max_instance_count=4)


def pin(hold_id: str = "p", pinned: PinnedValues = PINNED, *, minutes: float | None = None, fields: tuple[OwnedField, ...] = ()) -> Hold:
    ends = None if minutes is None else NOW + timedelta(minutes=minutes)
    about: dict[str, Any] = {"reason": "launch day", "author": "kim", "created_at": NOW, "expires_at": ends}
    return Hold(hold_id=hold_id, kind=HoldKind.PIN, pinned=pinned, fields=fields, **about)


def pinned(*holds: Hold, low: int = 1, high: int = 4, **spec: Any) -> Story:
    story = Story(document(**spec).model_copy(update={"holds": holds}))
    changed_by(story, low=low, high=high)
    story.look(0)
    return story


def changed_by(story: Story, *, low: int = 1, high: int = 4) -> None:
    generation = story.seen.generation + 1
    bounds = Bounds(min_instance_count=low, max_instance_count=high)
    update = {"bounds": bounds, "generation": generation, "observed_generation": generation, "last_modifier": "lee@example.com"}
    story.seen = story.seen.model_copy(update=update)


def changes(plan: Plan) -> dict[str, int]:
    return {change.field: change.after for change in plan.changes}


def test_a_pinned_service_that_nobody_touches_is_left_alone() -> None:
    story = pinned(pin())
    assert [changes(story.look(seconds)) for seconds in (60, 700, 5_000)] == [{}, {}, {}]


@pytest.mark.parametrize(
    ("low", "high", "put_back"),
    [
        (1, 9, {OwnedField.MAX_INSTANCE_COUNT: 4}),
        (1, 2, {OwnedField.MAX_INSTANCE_COUNT: 4}),
        (0, 4, {OwnedField.MIN_INSTANCE_COUNT: 1}),
        (0, 9, {OwnedField.MIN_INSTANCE_COUNT: 1, OwnedField.MAX_INSTANCE_COUNT: 4}),
    ],
)
def test_what_somebody_else_changed_is_put_back_at_once(low: int, high: int, put_back: dict[OwnedField, int]) -> None:
    story = pinned(pin())
    changed_by(story, low=low, high=high)
    plan = story.look(60)
    assert changes(plan) == put_back
    assert all("pinned to" in change.reason and "kim: launch day" in change.reason for change in plan.changes)
    assert any(each.code is DenialCode.FOREIGN_CHANGE and "is put back" in each.message for each in plan.denials)


def test_somebody_who_changes_it_again_at_once_is_answered_after_ten_minutes() -> None:
    story = pinned(pin())
    changed_by(story, high=9)
    assert changes(story.look(60)) == {OwnedField.MAX_INSTANCE_COUNT: 4}
    story.look(120)
    changed_by(story, high=9)
    plan = story.look(180)
    assert changes(plan) == {}
    (denied,) = [each for each in plan.denials if each.code is DenialCode.COOLDOWN]
    assert "puts this back from" in denied.message
    assert plan.next_look_at is not None
    assert (plan.next_look_at - NOW).total_seconds() <= 120 + 600
    assert changes(story.look(120 + 601)) == {OwnedField.MAX_INSTANCE_COUNT: 4}


def test_an_incident_moves_no_pinned_bound() -> None:
    story = pinned(pin())
    story.hear(alert("0.a", signal=Signal.NO_INSTANCE))
    plan = story.look(60)
    assert changes(plan) == {}
    assert any(each.code is DenialCode.HOLD for each in plan.denials)


def test_a_pin_of_one_field_leaves_the_other_to_whoever_changes_it() -> None:
    story = pinned(pin(pinned=PinnedValues(max_instance_count=4), fields=(OwnedField.MAX_INSTANCE_COUNT,)))
    changed_by(story, low=2, high=9)
    assert changes(story.look(60)) == {OwnedField.MAX_INSTANCE_COUNT: 4}


def test_a_pause_is_stronger_than_a_pin() -> None:
    pause = Hold(hold_id="h", reason="hands off", author="lee", created_at=NOW)
    story = pinned(pin(), pause)
    changed_by(story, high=9)
    assert changes(story.look(60)) == {}


def test_after_its_end_a_pin_puts_nothing_back() -> None:
    story = pinned(pin(minutes=1))
    changed_by(story, high=2)
    assert changes(story.look(61)) == {}


@pytest.mark.parametrize("autonomy", [Autonomy.OBSERVE, Autonomy.RECOMMEND])
def test_without_the_right_to_act_nothing_is_put_back(autonomy: Autonomy) -> None:
    story = pinned(pin(), autonomy=autonomy)
    changed_by(story, high=9)
    story.look(60)
    assert story.writes == []
