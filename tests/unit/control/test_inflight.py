"""A change under way is settled by what Cloud Run says, whatever happened to the process that announced it."""

from itertools import pairwise

from shared.control.inflight import announce, effects, quota_refused, refused, settle
from shared.control.timing import ACT_LEASE_SECONDS
from shared.records.observed import Bounds
from shared.records.plan import DenialCode
from shared.records.service import OwnedField
from shared.records.snapshot import OperationStatus
from shared.records.state import Act, ServiceState
from tests.support.builders import Story, alert, at, known, observed
from tests.unit.control.test_decide_raises import changes, codes


def announced() -> tuple[Story, Act]:
    """A raise from 4 to 8 that was announced at 30 s; whether it was written is not known."""
    story = Story()
    story.hear(alert())
    before = story.seen
    plan = story.look(30, count=known(4))
    act = announce(plan, before, act_id="a", decision_id="d", generation=1, now=at(30))
    story.seen = before
    story.state = plan.state.model_copy(update={"act": act})
    return story, act


def test_an_act_names_what_it_was_decided_on() -> None:
    _, act = announced()
    assert (act.base_generation, act.before, act.after) == (7, Bounds(max_instance_count=4), Bounds(max_instance_count=8))


def test_a_write_whose_reply_was_lost_is_recognised() -> None:
    story, act = announced()
    story.seen = observed(high=8, generation=8)
    plan = story.look(90, count=known(4))
    assert plan.state.act is None
    assert plan.state.last_act is not None
    assert plan.state.last_act.outcome == "done"
    assert plan.state.resting_max == 4
    assert len(plan.state.attempts[0].at) == 1
    assert act.act_id == plan.state.last_act.act_id


def test_an_announced_act_blocks_others_until_its_lease_ends() -> None:
    story, _ = announced()
    assert codes(story.look(60, count=known(4))) == [DenialCode.IN_FLIGHT]


def test_an_act_that_was_never_written_leaves_no_trace_and_is_decided_again() -> None:
    story, _ = announced()
    plan = story.look(30 + ACT_LEASE_SECONDS, count=known(4))
    assert len(changes(plan)) == 1
    assert plan.state.last_act is not None
    assert plan.state.last_act.outcome == "not-written"
    assert plan.state.attempts == ()


def test_an_act_overtaken_by_a_person_is_dropped_and_their_value_kept() -> None:
    story, _ = announced()
    story.seen = observed(high=5, generation=8, last_modifier="ben@acme.example")
    plan = story.look(60, count=known(4))
    assert plan.state.last_act is not None
    assert plan.state.last_act.outcome == "overtaken"
    assert OwnedField.MAX_INSTANCE_COUNT not in changes(plan)


def test_a_failed_operation_counts_as_refused() -> None:
    story, act = announced()
    running = act.model_copy(update={"operation": "operations/1"})
    state = settle(
        story.state.model_copy(update={"act": running}), observed(generation=8), OperationStatus(done=True, error="no quota"), at(90)
    )
    assert state.last_act is not None
    assert (state.last_act.outcome, state.last_act.detail) == ("refused", "no quota")


def test_effects_are_counted_once_when_the_write_was_recorded() -> None:
    story, act = announced()
    state = effects(story.state, act, at(31))
    state = state.model_copy(update={"act": act.model_copy(update={"operation": "operations/1"})})
    settled = settle(state, observed(high=8, generation=8), None, at(90))
    assert len(settled.attempts[0].at) == 1


def test_a_quota_refusal_is_believed_and_the_next_decision_stays_below_it() -> None:
    story, act = announced()
    story.state = quota_refused(story.state, act, "Max instances must be set to 6 or fewer", 6, at(31))
    plan = story.look(60, count=known(4))
    assert changes(plan) != {}
    assert plan.changes[0].after == 6
    assert codes(plan) == [DenialCode.QUOTA]
    assert len(plan.state.attempts) == 0


def test_a_refused_write_waits_and_uses_up_no_attempt() -> None:
    story, act = announced()
    story.state = refused(story.state, act, "permission denied", at(31))
    assert codes(story.look(60, count=known(4))) == [DenialCode.WRITE_FAILED]
    assert story.state.attempts == ()
    assert len(changes(story.look(31 + 600, count=known(4)))) == 1


def test_writes_that_never_arrive_are_tried_at_growing_distances_of_at_most_five_minutes() -> None:
    story, act = announced()
    announcements = []
    for seconds in range(30 + int(ACT_LEASE_SECONDS), 30 + 3_600, 30):
        plan = story.look(seconds, count=known(4))
        if plan.changes:
            announcements.append(seconds)
            story.seen = observed()
            story.state = plan.state.model_copy(update={"act": act.model_copy(update={"lease_expires_at": at(seconds + 60)})})
    distances = [later - earlier for earlier, later in pairwise(announcements)]
    assert distances[:3] == [120, 180, 300]
    assert max(distances) <= 360


def test_a_written_change_is_done_only_when_cloud_run_has_brought_it_into_force() -> None:
    story, _ = announced()
    story.seen = observed(high=8, generation=8, observed_generation=7, reconciling=True)
    assert story.look(40, count=known(4)).state.act is not None
    assert len(story.state.attempts[0].at) == 1
    story.seen = observed(high=8, generation=8)
    state = story.look(100, count=known(4)).state
    assert (state.act, state.last_act and state.last_act.outcome, len(state.attempts[0].at)) == (None, "done", 1)


def test_a_written_change_that_cloud_run_failed_to_bring_into_force_is_a_refusal_with_its_reason() -> None:
    story, _ = announced()
    story.seen = observed(high=8, generation=8, ready="failed", ready_message="GPU capacity not available in zone")
    plan = story.look(60, count=known(4))
    assert plan.state.last_act is not None
    assert plan.state.last_act.outcome == "refused"
    assert "GPU capacity not available" in plan.state.last_act.detail
    assert DenialCode.WRITE_FAILED in codes(plan)


def test_a_write_that_lands_after_it_was_given_up_is_ours_and_comes_down_again() -> None:
    story, _ = announced()
    story.hear(alert(state="closed"))
    story.look(30 + ACT_LEASE_SECONDS, count=known(2))
    story.seen = observed(high=8, generation=8, last_modifier="trimtab@acme-ml")
    plan = story.look(120, count=known(2))
    assert DenialCode.FOREIGN_CHANGE not in codes(plan)
    assert (plan.state.resting_max, plan.state.unwritten) == (4, None)
    assert plan.state.last_act is not None
    assert plan.state.last_act.outcome == "done"


def test_nothing_is_settled_where_nothing_is_under_way() -> None:
    story = Story()
    state = ServiceState(id=story.state.id)
    assert settle(state, story.seen, None, at(0)) is state
