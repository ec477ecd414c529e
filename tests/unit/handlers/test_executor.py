"""The one place that acts: each answer of Cloud Run, and each way the store may have moved meanwhile."""

from typing import Any

import pytest

from shared.errors import QuotaRefused, Refused, Retry, ServiceMissing, StaleEtag, TokenConflict
from shared.handlers.executor import TRY_WITHIN_SECONDS, Executor, acts_on
from shared.records.observed import Bounds
from shared.records.plan import Plan
from shared.records.service import Autonomy, OwnedField
from shared.records.signals import Signal
from shared.records.state import Act, ServiceState
from tests.support.builders import NOW, RANKER, Story, alert, at, known, observed
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import ScriptedPlatform, ScriptedStates

ACT = Act(
    act_id="act-1",
    decision_id="d-1",
    signals=(Signal.NO_INSTANCE,),
    announced_at=NOW,
    lease_expires_at=at(60),
    base_generation=7,
    before=Bounds(max_instance_count=4),
    after=Bounds(max_instance_count=8),
    min_in_force=0,
    max_in_force=4,
    generation=1,
)
STATE = ServiceState(id=RANKER, act=ACT)


def perform(platform: ScriptedPlatform, states: ScriptedStates | None = None) -> tuple[str, ScriptedStates]:
    ready = states or ScriptedStates()
    store: Any = ready
    return Executor(store, platform, HandClock(at(5))).perform(RANKER, STATE, ACT, etag='"7"', token="t1"), ready


def recorded(states: ScriptedStates) -> ServiceState:
    ((token, state),) = states.committed
    assert token == "t1"
    assert state.next_look_at == at(5)
    return state


def plan() -> Plan:
    story = Story()
    story.hear(alert())
    return story.look(30, count=known(4))


def test_a_plan_is_written_only_where_the_owner_lets_trimtab_act() -> None:
    assert [autonomy for autonomy in Autonomy if acts_on(plan(), autonomy)] == [Autonomy.ACT]


def test_a_plan_without_changes_is_never_written() -> None:
    assert not acts_on(plan().model_copy(update={"changes": ()}), Autonomy.ACT)


def test_the_write_carries_the_etag_the_new_bounds_and_only_the_changed_field() -> None:
    platform = ScriptedPlatform()
    outcome, states = perform(platform)
    assert outcome == "written"
    assert platform.written == [('"7"', Bounds(max_instance_count=8), (OwnedField.MAX_INSTANCE_COUNT,))]
    state = recorded(states)
    assert state.act is not None
    assert state.act.operation == "operations/1"
    assert state.clocks.scaled_out_at == at(5)


def test_nothing_is_written_once_somebody_else_has_committed() -> None:
    platform = ScriptedPlatform()
    outcome, states = perform(platform, ScriptedStates("t9"))
    assert outcome.startswith("overtaken: the state was committed")
    assert (platform.written, states.committed) == ([], [])


def test_a_quota_refusal_is_believed_and_uses_up_no_attempt() -> None:
    refusal = QuotaRefused("no quota for 8 GPUs", allowed_instances=5)
    outcome, states = perform(ScriptedPlatform(writes=[refusal]))
    state = recorded(states)
    assert outcome == "refused for quota: no quota for 8 GPUs"
    assert state.quota_ceiling is not None
    assert (state.quota_ceiling.max_instance_count, state.attempts, state.act) == (5, (), None)


@pytest.mark.parametrize("refusal", [Refused("you may not"), ServiceMissing("it is gone")])
def test_a_refusal_is_recorded_with_its_text_and_uses_up_no_attempt(refusal: Exception) -> None:
    outcome, states = perform(ScriptedPlatform(writes=[refusal]))
    state = recorded(states)
    assert outcome == f"refused: {refusal}"
    assert state.last_act is not None
    assert (state.last_act.outcome, state.last_act.detail, state.attempts) == ("refused", str(refusal), ())


def test_a_lost_reply_is_recorded_as_nothing_and_left_to_the_next_look() -> None:
    outcome, states = perform(ScriptedPlatform(writes=[Retry("deadline exceeded")]))
    assert outcome == "not known to be written (deadline exceeded); the next look will tell"
    assert states.committed == []


def test_an_etag_that_moved_by_itself_is_read_again_and_written_with_the_new_one() -> None:
    platform = ScriptedPlatform(writes=[StaleEtag(), "operations/2"], reads=[observed(etag='"8"')])
    outcome, states = perform(platform)
    assert outcome == "written"
    assert [etag for etag, _, _ in platform.written] == ['"7"', '"8"']
    assert recorded(states).act is not None


@pytest.mark.parametrize("moved", [observed(generation=8), observed(high=5), observed(low=1)], ids=["generation", "max", "min"])
def test_a_service_that_is_not_what_was_decided_on_is_not_written(moved: object) -> None:
    platform = ScriptedPlatform(writes=[StaleEtag()], reads=[moved])
    outcome, states = perform(platform)
    assert outcome.startswith("overtaken: Cloud Run is not any more")
    assert (len(platform.written), states.committed) == (1, [])


@pytest.mark.parametrize("unseen", [Retry("503"), ServiceMissing("gone"), Refused("no")])
def test_a_service_that_cannot_be_looked_at_again_is_not_written(unseen: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _ = perform(ScriptedPlatform(writes=[StaleEtag()], reads=[unseen]))
    assert outcome.startswith("overtaken")
    assert "could not look again" in capsys.readouterr().out


def test_a_state_that_moves_between_two_tries_ends_them() -> None:
    states = ScriptedStates()

    class Moving(ScriptedPlatform):
        def get_service(self, service: Any) -> Any:
            states.token = "t9"
            return super().get_service(service)

    platform = Moving(writes=[StaleEtag()], reads=[observed(etag='"8"')])
    assert perform(platform, states)[0].startswith("overtaken: the state")
    assert len(platform.written) == 1


def test_three_tries_are_enough() -> None:
    platform = ScriptedPlatform(writes=[StaleEtag()] * 9)
    assert perform(platform)[0].startswith("not written: the etag moved at every try")
    assert len(platform.written) == 3


def test_no_further_try_begins_when_time_runs_out() -> None:
    clock = HandClock(at(5))

    class Slow(ScriptedPlatform):
        def get_service(self, service: Any) -> Any:
            clock.advance(TRY_WITHIN_SECONDS + 1)
            return super().get_service(service)

    platform, store = Slow(writes=[StaleEtag()] * 9), ScriptedStates()
    ports: Any = store
    outcome = Executor(ports, platform, clock).perform(RANKER, STATE, ACT, etag='"7"', token="t1")
    assert outcome.startswith("not written")
    assert (len(platform.written), store.committed) == (1, [])


def test_an_outcome_that_somebody_else_overtook_is_left_to_them(capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _ = perform(ScriptedPlatform(), ScriptedStates(fails=TokenConflict("t2")))
    assert outcome == "written"
    assert "outcome not recorded" in capsys.readouterr().out


def test_an_outcome_that_cannot_be_recorded_is_tried_again_by_delivery() -> None:
    with pytest.raises(Retry, match="Firestore"):
        perform(ScriptedPlatform(), ScriptedStates(fails=Retry("Firestore is not there")))
