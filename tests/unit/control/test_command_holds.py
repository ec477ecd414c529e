"""Holds by command, and what each kind of hold keeps still."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.control.command_verdict import Changed, FleetChanged, NotDone
from shared.control.commands import Setting, effect, fleet_effect
from shared.control.rollout_parts import stopped
from shared.events.command import fact_of, read_command
from shared.records.allow_lists import NO_LIMITS
from shared.records.commands import CommandFact
from shared.records.fleet import Fleet
from shared.records.observed import Bounds
from shared.records.plan import DenialCode
from shared.records.rollout import Rollout, RolloutPhase, Served
from shared.records.service import MAX_HOLDS, Hold, HoldKind, OwnedField, PinnedValues, ServiceDocument
from shared.records.serving import TrafficTarget
from shared.records.signals import Signal
from shared.records.state import Desired, ServiceState
from tests.scenarios.test_template_changes import document as template_document
from tests.support.builders import NOW, RANKER, Story, alert, document, managed

ALL_FIELDS = set(OwnedField)
SCALING = {OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT}


def fact(command: dict[str, Any]) -> CommandFact:
    return fact_of(read_command(json.dumps({"command_id": "c1", **command}).encode()), verified_author="alice@x")


def given(command: dict[str, Any], before: ServiceDocument | None = None, *, later: float = 0) -> Changed | NotDone:
    setting = Setting(service=RANKER, allowed=NO_LIMITS, now=NOW + timedelta(seconds=later), may_apply=False)
    return effect(fact({"service": str(RANKER), **command}), before or document(), setting)


def held(command: dict[str, Any], before: ServiceDocument | None = None, *, later: float = 0) -> ServiceDocument:
    verdict = given({"command": "hold", "reason": "launch day", **command}, before, later=later)
    assert isinstance(verdict, Changed), verdict
    assert verdict.document is not None
    return verdict.document


def refused(verdict: Changed | FleetChanged | NotDone) -> str:
    assert isinstance(verdict, NotDone)
    assert verdict.outcome == "refused"
    return " | ".join(map(str, verdict.problems))


def test_a_hold_says_who_why_and_until_when_and_changes_no_spec() -> None:
    after = held({"minutes": 30, "fields": ["template"], "author": "root"})
    assert after.generation == document().generation
    assert after.holds == (
        Hold(
            hold_id="c1",
            kind=HoldKind.PAUSE,
            fields=(OwnedField.TEMPLATE,),
            reason="launch day",
            author="alice@x, says it is root",
            created_at=NOW,
            expires_at=NOW + timedelta(minutes=30),
        ),
    )


def test_the_same_hold_id_replaces_and_holds_that_are_over_are_dropped() -> None:
    first = held({"hold_id": "a", "minutes": 1})
    second = held({"hold_id": "b"}, first)
    third = held({"hold_id": "b", "reason": "longer"}, second, later=90)
    assert [(hold.hold_id, hold.reason) for hold in third.holds] == [("b", "longer")]


def test_their_number_is_bounded() -> None:
    full = document()
    for number in range(MAX_HOLDS):
        full = held({"hold_id": f"h{number}"}, full)
    assert "50 holds" in refused(given({"command": "hold", "reason": "one more", "hold_id": "z"}, full))
    assert len(held({"hold_id": "h7"}, full).holds) == MAX_HOLDS


@pytest.mark.parametrize(
    ("command", "field"),
    [
        ({"kind": "freeze", "fields": ["template"]}, "fields"),
        ({"expires_at": "2026-11-30T02:59:59Z"}, "expires_at"),
        ({"expires_at": "2036-11-30T02:59:59Z"}, "expires_at"),
    ],
)
def test_a_hold_that_could_not_be_kept_is_refused(command: dict[str, Any], field: str) -> None:
    assert refused(given({"command": "hold", "reason": "x", **command})).startswith(f"{field}: ")


SERVED = Served(revision="ranker-abc-1", desired_hash="a" * 10, since=NOW)
SEEN = ServiceState(
    id=RANKER, desired=Desired(bounds=Bounds(min_instance_count=1, max_instance_count=4), generation=1, set_at=NOW), served=SERVED
)


def pin_of(state: ServiceState | None, spec: ServiceDocument | None = None, **command: Any) -> Changed | NotDone:
    setting = Setting(service=RANKER, allowed=NO_LIMITS, now=NOW, may_apply=False)
    hold = {"command": "hold", "kind": "pin", "service": str(RANKER), "reason": "launch day", **command}
    return effect(fact(hold), spec or template_document(), setting, state)


def test_a_pin_keeps_what_the_service_has_and_says_so() -> None:
    verdict = pin_of(SEEN)
    assert isinstance(verdict, Changed)
    assert verdict.document is not None
    assert verdict.document.holds[0].pinned == PinnedValues(min_instance_count=1, max_instance_count=4, revision="ranker-abc-1")
    assert verdict.detail.endswith(": min instances 1, max instances 4, revision ranker-abc-1")


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        (["scaling.max_instance_count"], PinnedValues(max_instance_count=4)),
        (["template"], PinnedValues(revision="ranker-abc-1")),
    ],
)
def test_a_pin_of_some_fields_keeps_those(fields: list[str], kept: PinnedValues) -> None:
    verdict = pin_of(SEEN, fields=fields)
    assert isinstance(verdict, Changed)
    assert verdict.document is not None
    assert verdict.document.holds[0].pinned == kept


def test_a_pin_of_a_service_whose_template_is_not_looked_after_keeps_its_bounds() -> None:
    verdict = pin_of(SEEN, document())
    assert isinstance(verdict, Changed)
    assert verdict.document is not None
    assert verdict.document.holds[0].pinned == PinnedValues(min_instance_count=1, max_instance_count=4)


def test_a_maximum_that_is_not_set_is_not_written_by_a_pin() -> None:
    unset = Desired(bounds=Bounds(min_instance_count=1, max_instance_count=0), generation=1, set_at=NOW)
    verdict = pin_of(SEEN.model_copy(update={"desired": unset}), document())
    assert isinstance(verdict, Changed)
    assert verdict.detail.endswith(": min instances 1")


@pytest.mark.parametrize("state", [None, ServiceState(id=RANKER)])
def test_a_pin_of_what_was_never_looked_at_is_refused(state: ServiceState | None) -> None:
    assert "has not been looked at yet" in refused(pin_of(state))


def test_a_pin_of_a_template_that_nothing_serves_yet_is_refused() -> None:
    assert "which revision" in refused(pin_of(SEEN.model_copy(update={"served": None})))


def test_a_pin_while_a_change_is_on_its_way_keeps_what_serves_until_then() -> None:
    stable = (TrafficTarget(revision="ranker-old-1", percent=90), TrafficTarget(revision="ranker-odd-1", percent=10))
    about: dict[str, Any] = {"began_at": NOW, "phase_since": NOW, "deadline_at": NOW, "template_hash": "b" * 10, "attempt": 1}
    rollout = Rollout(rollout_id="r", revision="ranker-new-1", phase=RolloutPhase.DEPLOYING, stable=stable, **about)
    verdict = pin_of(SEEN.model_copy(update={"rollout": rollout}))
    assert isinstance(verdict, Changed)
    assert "revision ranker-old-1" in verdict.detail


def test_all_services_together_cannot_be_pinned() -> None:
    assert "a pin keeps the values of one service" in refused(fleet_held({"kind": "pin"}))


def test_a_release_ends_the_hold_that_it_names_and_no_other() -> None:
    before = held({"hold_id": "b"}, held({"hold_id": "a"}))
    verdict = given({"command": "release", "hold_id": "a"}, before)
    assert isinstance(verdict, Changed)
    assert verdict.document is not None
    assert ([hold.hold_id for hold in verdict.document.holds], verdict.document.released_at) == (["b"], None)


def test_a_release_of_all_also_ends_what_came_of_changes_by_others() -> None:
    verdict = given({"command": "release", "all": True}, held({"hold_id": "a"}))
    assert isinstance(verdict, Changed)
    assert verdict.document is not None
    assert (verdict.document.holds, verdict.document.released_at) == ((), NOW)


def test_a_release_of_what_is_not_there_is_refused_with_what_is() -> None:
    assert "its holds are launch" in refused(given({"command": "release", "hold_id": "lunch"}, held({"hold_id": "launch"})))
    assert "nothing is held" in refused(given({"command": "release", "hold_id": "lunch"}))


# -- of the fleet


def fleet_held(command: dict[str, Any], before: Fleet | None = None, *, later: float = 0) -> FleetChanged | NotDone:
    return fleet_effect(
        fact({"command": "hold", "all": True, "reason": "outage", **command}), before or Fleet(), NOW + timedelta(seconds=later)
    )


def test_all_services_have_one_hold() -> None:
    first = fleet_held({"hold_id": "outage", "minutes": 1})
    assert isinstance(first, FleetChanged)
    assert first.fleet.hold is not None
    assert "held already, under outage" in refused(fleet_held({"hold_id": "other"}, first.fleet))
    assert isinstance(fleet_held({"hold_id": "outage", "minutes": 90}, first.fleet), FleetChanged)
    assert isinstance(fleet_held({"hold_id": "other"}, first.fleet, later=61), FleetChanged)


def test_the_hold_of_all_services_is_released_by_its_id_or_with_all() -> None:
    there = fleet_held({"hold_id": "outage"})
    assert isinstance(there, FleetChanged)
    for release in ({"hold_id": "outage"}, {"all": True}):
        verdict = fleet_effect(fact({"command": "release", **release}), there.fleet, NOW)
        assert isinstance(verdict, FleetChanged)
        assert verdict.fleet.hold is None
    assert "its holds are outage" in refused(fleet_effect(fact({"command": "release", "hold_id": "x"}), there.fleet, NOW))


# -- what each kind stops


def hold(kind: HoldKind, *fields: OwnedField, minutes: float | None = None) -> Hold:
    expires_at = None if minutes is None else NOW + timedelta(minutes=minutes)
    return Hold(hold_id="h", kind=kind, fields=fields, reason="launch", author="alice", created_at=NOW, expires_at=expires_at)


@pytest.mark.parametrize(
    ("given_hold", "stops"),
    [
        (hold(HoldKind.PAUSE), ALL_FIELDS),
        (hold(HoldKind.PAUSE, OwnedField.MAX_INSTANCE_COUNT), {OwnedField.MAX_INSTANCE_COUNT}),
        (hold(HoldKind.FREEZE), {OwnedField.TEMPLATE}),
        (hold(HoldKind.PAUSE, minutes=-1), set()),
        (hold(HoldKind.FREEZE, minutes=0), set()),
    ],
)
def test_what_a_hold_stops(given_hold: Hold, stops: set[OwnedField]) -> None:
    assert {field for field in OwnedField if given_hold.stops(field, NOW)} == stops


def test_a_hold_that_was_stored_before_there_were_kinds_is_a_pause() -> None:
    old: dict[str, Any] = {
        "hold_id": "h",
        "fields": [],
        "reason": "r",
        "author": "a",
        "created_at": "2026-11-30T03:00:00Z",
        "expires_at": None,
    }
    assert Hold.from_stored(old).kind is HoldKind.PAUSE


def test_a_freeze_lets_the_bounds_move_and_a_pause_does_not() -> None:
    for kind, target in ((HoldKind.FREEZE, 8), (HoldKind.PAUSE, None)):
        story = Story(document(holds=(hold(kind),)))
        story.hear(alert(signal=Signal.NO_INSTANCE))
        plan = story.look(0)
        moved = [change.after for change in plan.changes if change.field == OwnedField.MAX_INSTANCE_COUNT]
        assert moved == ([target] if target else [])
        assert (DenialCode.HOLD in {denial.code for denial in plan.denials}) is (target is None)


def test_a_freeze_of_a_service_or_of_all_stops_what_makes_a_revision() -> None:
    of_service = stopped(managed(spec=document(holds=(hold(HoldKind.FREEZE),))), NOW)
    assert of_service is not None
    assert (of_service[0].code, of_service[0].message) == (DenialCode.HOLD, "the template is held by alice without an end: launch")
    of_all = stopped(managed(fleet=Fleet(hold=hold(HoldKind.FREEZE))), NOW)
    assert of_all is not None
    assert of_all[0].code == DenialCode.FLEET_HOLD


def test_a_pause_of_the_bounds_lets_the_template_change() -> None:
    assert stopped(managed(spec=document(holds=(hold(HoldKind.PAUSE, *SCALING),))), NOW) is None
