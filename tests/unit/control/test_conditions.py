"""The four statements about a service, and since when each of them holds."""

import pytest

from shared.control.conditions import LIMITS, MEANINGS, conditions
from shared.records.observed import Bounds
from shared.records.plan import Denial, DenialCode
from shared.records.signals import Signal
from shared.records.state import STATE_TEXT_LIMIT, Condition, Desired, ServiceState
from tests.support.builders import NOW, RANKER, Story, alert, at, folded
from tests.unit.handlers.test_executor import ACT

SETTLED = ServiceState(id=RANKER, desired=Desired(bounds=Bounds(max_instance_count=4), generation=1, set_at=NOW))


def stated(
    state: ServiceState = SETTLED, *, denials: tuple[Denial, ...] = (), unreadable: str | None = None, seconds: float = 0
) -> dict[str, Condition]:
    found = conditions(state, denials=denials, unreadable=unreadable, generation=3, now=at(seconds))
    return {condition.type: condition for condition in found}


def said(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def denial(code: DenialCode, message: str = "why") -> Denial:
    return Denial(code=code, message=message)


def test_a_settled_service_is_observed_converged_quiet_and_unlimited() -> None:
    assert {kind: condition.status for kind, condition in stated().items()} == dict.fromkeys(set(MEANINGS) - {"Current"}, "True")


def test_every_condition_says_for_which_generation_of_the_spec_it_holds() -> None:
    assert {condition.observed_generation for condition in stated().values()} == {3}


def test_a_service_that_cannot_be_read_is_unknown_not_false() -> None:
    found = stated(unreadable="503 unavailable")
    assert said(found["Observed"]) == ("Unknown", "CloudRunUnreadable", "503 unavailable")
    assert said(found["Converged"]) == ("Unknown", "CloudRunUnreadable", "503 unavailable")


def test_a_change_under_way_is_not_converged_even_while_cloud_run_cannot_be_read() -> None:
    state = SETTLED.model_copy(update={"act": ACT})
    for unreadable in (None, "503"):
        assert said(stated(state, unreadable=unreadable)["Converged"]) == ("False", "ChangeUnderWay", "change act-1 is not settled yet")


def test_a_service_never_seen_is_not_known_to_be_converged() -> None:
    assert stated(ServiceState(id=RANKER))["Converged"].status == "Unknown"


def test_open_incidents_are_counted_and_their_signals_named_the_most_urgent_first() -> None:
    state = folded(alert("0.1", signal=Signal.IDLE), alert("0.2"), alert("0.3"), state=SETTLED)
    assert said(stated(state)["Quiet"]) == ("False", "IncidentOpen", "3 open: no-instance, idle")


def test_incidents_that_are_only_counted_are_not_quiet() -> None:
    state = SETTLED.model_copy(update={"incidents_not_kept": 7})
    assert said(stated(state)["Quiet"]) == ("False", "IncidentOpen", "7 open: not kept")


@pytest.mark.parametrize("code", sorted(LIMITS))
def test_what_only_a_person_can_lift_is_a_limit_with_its_reason(code: DenialCode) -> None:
    limit = stated(denials=(denial(DenialCode.COOLDOWN), denial(code, "ask for quota")))["Unlimited"]
    assert (limit.status, limit.message) == ("False", "ask for quota")
    assert limit.reason.replace("-", "").lower() == code.replace("-", "")
    assert limit.reason[0].isupper()


@pytest.mark.parametrize("code", sorted(set(DenialCode) - LIMITS))
def test_what_time_or_the_world_lifts_is_no_limit(code: DenialCode) -> None:
    assert stated(denials=(denial(code),))["Unlimited"].status == "True"


def test_the_first_limit_is_the_one_that_is_named() -> None:
    denials = (denial(DenialCode.QUOTA, "quota"), denial(DenialCode.BUDGET, "budget"))
    assert stated(denials=denials)["Unlimited"].message == "quota"


def test_the_transition_time_moves_with_the_status_alone() -> None:
    state = SETTLED.model_copy(update={"conditions": tuple(stated().values())})
    later = stated(state, denials=(denial(DenialCode.QUOTA, "first"),), seconds=60)
    assert {kind: condition.last_transition_at for kind, condition in later.items()} == {
        "Observed": NOW,
        "Converged": NOW,
        "Quiet": NOW,
        "Unlimited": at(60),
    }
    state = state.model_copy(update={"conditions": tuple(later.values())})
    another = stated(state, denials=(denial(DenialCode.BUDGET, "second"),), seconds=120)["Unlimited"]
    assert (another.reason, another.message, another.last_transition_at) == ("Budget", "second", at(60))
    state = state.model_copy(update={"conditions": (another,)})
    assert stated(state, seconds=180)["Unlimited"].last_transition_at == at(180)


def test_a_message_is_bounded() -> None:
    assert len(stated(unreadable="x" * 9_000)["Observed"].message) == STATE_TEXT_LIMIT


def test_a_decision_states_the_conditions_of_what_it_saw() -> None:
    story = Story()
    story.hear(alert())
    found = {condition.type: condition.status for condition in story.look(30).state.conditions}
    assert found["Quiet"] == "False"
    assert found["Observed"] == "True"
