"""What others are told: every decision and the end of every rollout, at least once, and every parked event, if the topic is there."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from shared.errors import Retry
from shared.handlers.intake import take
from shared.handlers.telling import with_untold_rollout
from shared.records.outgoing import OutgoingEvent
from shared.records.rollout import LastRollout
from shared.records.state import KEPT_UNTOLD_ROLLOUTS, ServiceState
from tests.scenarios.test_template_changes import Town, document
from tests.support.builders import NOW, RANKER
from tests.support.rig import Rig
from tests.support.tracing import Fault, Trace, Traced


class Told:
    """An event bus that keeps what it is given; `fails` makes so many publishes fail first."""

    def __init__(self, fails: int = 0) -> None:
        self.events: list[OutgoingEvent] = []
        self._fails = fails

    def publish_events(self, events: Sequence[OutgoingEvent]) -> None:
        if self._fails:
            self._fails -= 1
            raise Retry("Pub/Sub is not there")
        self.events += events

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events]


def listening(rig: Rig, told: Told) -> Told:
    rig.reconcile_ports = replace(rig.reconcile_ports, events=told)
    return told


def test_each_decision_is_told_once() -> None:
    rig = Rig()
    told = listening(rig, Told())
    rig.minutes(1)
    rig.notify()
    rig.minutes(30)
    recorded = {f"decision:{each.decision_id}" for each in rig.store.decisions(RANKER, limit=100)}
    assert len(recorded) > 0
    assert sorted(told.ids) == sorted(recorded)


def test_the_end_of_a_rollout_is_told_with_its_revision() -> None:
    town = Town()
    told = listening(town, Told())
    town.settled()
    (ended,) = [event for event in told.events if event.type == "trimtab.rollout.v1"]
    assert (ended.data["outcome"], ended.data["revision"]) == ("promoted", town.revisions()[1])
    assert ended.subject == str(RANKER)


def test_a_topic_that_is_not_there_for_a_while_hears_of_it_later() -> None:
    rig = Rig()
    told = listening(rig, Told(fails=2))
    rig.minutes(1)
    rig.notify()
    rig.minutes(30)
    recorded = {f"decision:{each.decision_id}" for each in rig.store.decisions(RANKER, limit=100)}
    assert set(told.ids) == recorded


def test_a_topic_that_is_down_holds_up_no_change_and_is_told_of_it_later() -> None:
    def after_half_an_hour(told: Told) -> tuple[Rig, tuple[int, int]]:
        rig = Rig()
        listening(rig, told)
        rig.minutes(1)
        rig.notify()
        rig.minutes(30)
        return rig, rig.bounds()

    down = Told(fails=10**6)
    rig, bounds = after_half_an_hour(down)
    assert bounds == after_half_an_hour(Told())[1] != (0, 4)
    assert {status for _, status in rig.statuses} == {200}
    assert down.ids == []
    told = listening(rig, Told())
    rig.minutes(15)
    assert sorted(told.ids) == sorted(f"decision:{each.decision_id}" for each in rig.store.decisions(RANKER, limit=100))


def test_a_change_is_written_then_told_then_recorded_and_marked_in_one_commit() -> None:
    rig = Rig()
    rig.minutes(1)
    rig.start_process(Trace())
    rig.reconcile_ports = replace(rig.reconcile_ports, events=Traced("events", Told(), rig.trace))
    rig.notify()
    rig.run()
    written = rig.trace.effects.index("platform.update_scaling")
    around = rig.trace.effects[written - 1 : written + 4]
    assert around == ["store.commit", "platform.update_scaling", "events.publish_events", "store.commit", "bus.publish_wakes"]


def test_each_rollout_that_ended_while_the_topic_was_down_is_told_once() -> None:
    town = Town()
    listening(town, Told(fails=10**6))
    town.settled()
    first = town.state().last_rollout
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(25)
    last = town.state().last_rollout
    assert first is not None
    assert last is not None
    assert first.revision != last.revision
    told = listening(town, Told())
    town.minutes(15)
    ended = [event for event in told.events if event.type == "trimtab.rollout.v1"]
    assert [event.data["revision"] for event in ended] == [first.revision, last.revision]
    assert town.state().untold_rollouts == ()


def test_of_the_rollouts_nobody_was_told_of_the_newest_are_kept_in_short() -> None:
    state = ServiceState(id=RANKER)
    for number in range(KEPT_UNTOLD_ROLLOUTS + 3):
        last = LastRollout(rollout_id=f"r{number}", revision=f"ranker-{number}", outcome="failed", detail="\U0001f600" * 512, at=NOW)
        state = with_untold_rollout(state.model_copy(update={"last_rollout": last}), state)
    assert [each.rollout_id for each in state.untold_rollouts] == [f"r{number}" for number in range(2, 12)]
    size = len(json.dumps([each.to_stored() for each in state.untold_rollouts], ensure_ascii=False).encode())
    assert size < 5_000


@pytest.mark.parametrize("fault", get_args(Fault))
def test_whatever_breaks_nothing_is_left_untold(fault: Fault) -> None:
    def tell(trace: Trace) -> tuple[set[str], set[str], int]:
        told = Told()

        class Telling(Town):
            def start_process(self, trace: Trace) -> None:
                super().start_process(trace)
                self.reconcile_ports = replace(self.reconcile_ports, events=Traced("events", told, trace))

        town = Telling(document(), trace=trace)
        town.minutes(40)
        recorded = {f"decision:{each.decision_id}" for each in town.store.decisions(RANKER, limit=100)}
        return recorded, set(told.ids), len(trace.effects)

    _, _, effects = tell(Trace())
    for number in range(1, effects + 1):
        recorded, told, _ = tell(Trace(fault=fault, at=number))
        assert recorded <= told, f"{fault} at {number}"


def test_the_attributes_are_those_of_a_cloudevent() -> None:
    rig = Rig()
    told = listening(rig, Told())
    rig.minutes(1)
    rig.notify()
    rig.run()
    attributes = told.events[0].attributes("//trimtab/projects/acme-ml")
    assert (attributes["ce-specversion"], attributes["ce-type"]) == ("1.0", "trimtab.decision.v1")
    assert attributes["ce-id"] == told.events[0].id
    assert attributes["ce-time"].endswith("Z")
    json.dumps(told.events[0].data)


def test_a_parked_event_is_told_without_its_body() -> None:
    rig, told = Rig(), Told()
    body: Any = b"junk with a secret"
    for _ in range(2):
        take("alert", {}, lambda: body, lambda _: pytest.fail("never"), store=rig.store, clock=rig.clock, events=told)
    assert len(set(told.ids)) == 1
    assert "secret" not in json.dumps(told.events[0].data)
    assert told.events[0].data["code"] == "unparsable"
    assert told.events[0].time == NOW
