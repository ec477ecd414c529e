"""A template that somebody else made is left alone until an incident is explained by it; then it is repaired, and judged by what it did."""

from datetime import timedelta
from typing import Any

import pytest

from shared.records.evidence import WINDOW_SECONDS
from shared.records.fleet import Brakes, Fleet
from shared.records.plan import DenialCode
from shared.records.service import Autonomy, Hold, HoldKind, Objective, OwnedField, Pin, ScaleBounds
from shared.records.windows import Weekday, Window
from shared.simulation.cloud_run_behaviour import Outcome
from tests.scenarios.test_template_changes import NAME
from tests.support.builders import NOW, RANKER
from tests.support.repairs import Clinic, exhausted, ours, readings, sound, to_repair
from tests.support.tracing import Trace

DEPLOY_AND_PROMOTE = [("client", "client_version", "template", "traffic"), ("client", "client_version", "traffic")]


def on_trial(spec: Any = None, *, afterwards: Any = None) -> Clinic:
    """Thread exhaustion, explained; its repair has the traffic, and from there on the readings are those."""
    town = Clinic(spec)
    town.ails(exhausted())
    town.until("on-trial")
    town.alarm(state="closed")
    town.metrics.set(sound() if afterwards is None else afterwards)
    return town


def test_a_template_that_is_taken_over_to_repair_only_is_left_alone_while_nothing_is_wrong() -> None:
    town = Clinic()
    town.minutes(60)
    assert (town.writes(), town.revisions()[-1]) == ([], town.foreign)
    assert town.condition()[:2] == ("False", "NotTakenOver")


def test_a_template_that_is_taken_over_at_once_is_replaced_at_the_first_look() -> None:
    town = Clinic(ours())
    town.minutes(12)
    assert town.writes() == DEPLOY_AND_PROMOTE
    assert town.condition()[:2] == ("True", "Served")


def test_exhausted_threads_are_repaired_by_one_template_and_one_move_of_the_traffic() -> None:
    town = on_trial()
    town.until("kept")
    town.clock.advance(900)
    town.minutes(3)
    assert town.writes() == DEPLOY_AND_PROMOTE
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.condition()[:2] == ("True", "Served")


def test_the_decision_that_asks_says_the_cause_the_settings_and_what_is_expected() -> None:
    town = on_trial()
    (asked,) = (each.repair.repair for each in town.decisions() if each.repair is not None)
    assert (asked.cause, asked.takes_over) == ("server-thread-quota", True)
    assert {"max_instance_request_concurrency from 80 to 96", "grpc_max_threads from 16 to 104", "enable_batching from off to on"} <= set(
        asked.changes
    )
    assert asked.predicted.failed_ratio is not None
    assert asked.predicted.requests_per_second_low is not None
    assert "TF Serving counts 40" in asked.why


def test_the_decision_that_judges_says_what_failed_before_and_after() -> None:
    town = on_trial()
    town.until("kept")
    judged = town.decisions()[-1].repair
    assert judged is not None
    assert judged.repair.after is not None
    assert (judged.repair.before.failed_ratio.value, judged.repair.after.failed_ratio.value) == (0.8, 0.0)  # type: ignore[union-attr]
    assert "0.0% of requests fail (80.0% before)" in town.decisions()[-1].explanation


def test_a_repair_that_does_worse_gives_the_traffic_and_the_template_back() -> None:
    town = on_trial(afterwards=readings(served={"OK": 10}))
    town.until("reverted")
    assert town.traffic() == {town.foreign: 100}
    assert town.cloud_run.get_service(NAME).template.revision == town.foreign
    assert [each.revision for each in town.state().quarantined] == [town.revisions()[-1]]
    assert town.writes()[2:] == [("client", "client_version", "traffic"), ("client", "client_version", "template")]


def test_a_repair_that_did_worse_is_not_asked_for_again() -> None:
    town = on_trial(afterwards=readings(served={"OK": 10}))
    town.until("reverted")
    town.ails(exhausted(), incident="0.b2")
    town.minutes(5)
    assert (town.repairs().count(("ask", "asked")), town.template_writes()) == (1, 2)
    assert "failed at" in town.denied(DenialCode.QUARANTINED)[-1]


def test_a_repair_that_did_worse_is_asked_for_again_at_once_where_a_person_released_it() -> None:
    town = on_trial(afterwards=readings(served={"OK": 10}))
    town.until("reverted")
    town.ails(exhausted(), incident="0.b2")
    town.minutes(2)
    town.apply(to_repair(2).model_copy(update={"released_at": town.clock.now()}))
    town.minutes(3)
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.revisions()[-1] != town.foreign


def test_nothing_is_judged_before_a_whole_window_was_measured_after_the_repair() -> None:
    town = on_trial(afterwards=readings(served={"OK": 10}))
    promoted_at = town.repair().promoted_at
    assert promoted_at is not None
    town.until("reverting")
    assert town.decisions()[-1].decided_at >= promoted_at + timedelta(seconds=WINDOW_SECONDS)


@pytest.mark.parametrize("afterwards", ["503 from Cloud Monitoring", readings(served=None), readings(served={"OK": 0}, rate=0)])
def test_what_cannot_be_measured_is_never_reverted_nor_kept_but_stays_unproven(afterwards: Any) -> None:
    town = on_trial(afterwards=afterwards)
    town.clock.advance(600)
    town.minutes(3)
    town.clock.advance(780)
    town.minutes(1)
    assert town.phase() == "on-trial"
    town.clock.advance(240)
    town.minutes(2)
    assert (town.phase(), len(town.writes())) == ("unproven", 2)
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.condition()[:2] == ("True", "Served")


def test_one_status_that_cannot_be_read_is_no_proof_that_every_request_fails() -> None:
    town = on_trial()
    unread = readings(served={"UNAVAILABLE": 0.0})
    town.metrics.set(unread, unread_served="503 from Cloud Monitoring")
    town.clock.advance(900)
    town.minutes(2)
    town.clock.advance(900)
    town.minutes(2)
    assert (town.phase(), town.traffic()) == ("unproven", {town.revisions()[-1]: 100})


def test_much_more_load_is_no_comparison_and_reverts_nothing() -> None:
    town = on_trial(afterwards=readings(rate=400, served={"OK": 40}))
    town.clock.advance(900)
    town.minutes(2)
    town.clock.advance(900)
    town.minutes(2)
    assert (town.phase(), len(town.writes())) == ("unproven", 2)
    assert "400 requests/s come, 200 before: that is no comparison" in town.repair().outcome


def test_an_uncertain_cause_changes_no_template() -> None:
    town = Clinic()
    town.ails(readings(served={"OK": 150}, in_flight=4))
    town.minutes(20)
    assert (town.writes(), town.phase()) == ([], None)


def test_without_evidence_only_the_bounds_move() -> None:
    town = Clinic()
    town.load.set_demand(RANKER, 10)
    town.ails("503 from Cloud Monitoring", signal="no-instance")
    town.minutes(10)
    assert town.bounds() == (0, 4)
    assert (town.template_writes(), town.phase()) == (0, None)


def test_a_certain_cause_that_no_template_mends_leaves_the_template_alone() -> None:
    town = Clinic()
    town.ails(readings(served={"OK": 200}))
    for _ in range(3):
        town.says("gs://acme-models/ranker/7/saved_model.pb: Permission denied")
    town.minutes(5)
    assert (town.writes(), town.phase()) == ([], None)


def hold(**fields: Any) -> Hold:
    return Hold.model_validate({"hold_id": "h", "reason": "launch day", "author": "kim", "created_at": NOW, **fields})


@pytest.mark.parametrize("fields", [{}, {"fields": (OwnedField.TEMPLATE,)}, {"kind": HoldKind.FREEZE}])
def test_a_hold_of_the_template_keeps_a_repair_from_being_asked_for(fields: Any) -> None:
    town = Clinic(to_repair(holds=(hold(**fields),)))
    town.ails(exhausted())
    town.minutes(10)
    assert (town.writes(), town.phase(), town.state().repairs_asked_at) == ([], None, ())
    assert any("is held by kim" in message for message in town.denied(DenialCode.HOLD))


def test_a_hold_of_the_fleet_keeps_a_repair_from_being_asked_for() -> None:
    town = Clinic()
    town.store.put_fleet(Fleet(hold=hold()))
    town.ails(exhausted())
    town.minutes(10)
    assert (town.writes(), town.phase()) == ([], None)
    assert town.denied(DenialCode.FLEET_HOLD)


def test_a_repair_waits_for_its_window_and_is_made_in_it() -> None:
    day = list(Weekday)[NOW.weekday()]
    window = Window(days=(day,), start=f"{NOW.hour + 1:02d}:00", end=f"{NOW.hour + 3:02d}:00")
    town = Clinic(to_repair(windows=(window,)))
    town.ails(exhausted())
    town.minutes(3)
    assert (town.writes(), town.phase()) == ([], None)
    assert any("template changes may start from" in message for message in town.denied(DenialCode.WINDOW))
    town.clock.advance(3600)
    town.minutes(4)
    assert town.writes() == DEPLOY_AND_PROMOTE


def test_a_pin_keeps_a_repair_from_being_asked_for() -> None:
    town = Clinic()
    pin = Pin(revision=town.foreign, reason="launch day", author="kim", created_at=NOW)
    town.apply(to_repair(2).model_copy(update={"pin": pin}))
    town.ails(exhausted())
    town.minutes(10)
    assert (town.phase(), town.traffic()) == (None, {town.foreign: 100})
    assert any("kim pinned the traffic" in message for message in town.denied(DenialCode.PINNED))


def test_the_fleets_brake_holds_the_write_and_lets_the_repair_wait() -> None:
    town = Clinic()
    town.store.put_fleet(Fleet(brakes=Brakes(acts_per_minute=0)))
    town.ails(exhausted())
    town.minutes(5)
    assert (town.writes(), town.phase()) == ([], "asked")
    town.store.put_fleet(Fleet())
    town.minutes(5)
    assert town.writes() == DEPLOY_AND_PROMOTE


def test_recommend_shows_the_repair_once_and_uses_nothing_up() -> None:
    town = Clinic(to_repair(autonomy=Autonomy.RECOMMEND))
    town.ails(exhausted())
    town.minutes(5)
    town.clock.advance(1200)
    town.minutes(3)
    assert (town.writes(), town.repairs()) == ([], [("ask", "asked")])
    assert (town.phase(), town.state().repairs_asked_at) == (None, ())


def test_observe_asks_for_no_repair() -> None:
    town = Clinic(to_repair(autonomy=Autonomy.OBSERVE))
    town.ails(exhausted())
    town.minutes(10)
    assert (town.writes(), town.repairs(), town.phase()) == ([], [], None)


def test_a_spec_that_changes_while_a_repair_is_asked_for_drops_it() -> None:
    town = Clinic()
    town.cloud_run.set_start_up(NAME, seconds=250)
    town.ails(exhausted())
    town.minutes(1)
    assert town.phase() == "asked"
    town.metrics.set(sound())
    town.apply(to_repair(2, rows_per_request=2))
    town.minutes(12)
    assert (town.phase(), town.traffic()) == ("dropped", {town.foreign: 100})


def test_a_spec_that_changes_while_a_repair_is_on_trial_drops_it() -> None:
    town = on_trial()
    town.apply(to_repair(2, rows_per_request=2))
    town.minutes(1)
    assert town.phase() == "dropped"


def test_a_person_who_moves_the_traffic_while_a_repair_is_on_trial_has_it_dropped() -> None:
    town = on_trial(afterwards=readings(served={"OK": 10}))

    def back(service: Any) -> None:
        service.traffic = [{"type_": 2, "revision": town.foreign, "percent": 100}]

    town.cloud_run.change_by(NAME, "kim@example.com", edit=back)
    town.minutes(15)
    assert (town.phase(), town.traffic()) == ("dropped", {town.foreign: 100})
    assert len(town.writes()) == 2


def test_a_candidate_that_never_gets_ready_fails_the_repair_and_the_traffic_stays() -> None:
    town = Clinic()
    town.versions(7, Outcome.DOES_NOT_LOAD)
    town.ails(exhausted())
    town.until("failed", minutes=40)
    assert town.traffic() == {town.foreign: 100}
    assert town.cloud_run.get_service(NAME).template.revision == town.foreign
    town.clock.advance(1200)
    town.minutes(3)
    assert town.repairs().count(("ask", "asked")) == 1


def test_a_candidate_that_cloud_run_refuses_fails_the_repair_and_the_traffic_stays() -> None:
    town = Clinic()
    town.versions(7, Outcome.IMAGE_MISSING)
    town.ails(exhausted())
    town.until("failed", minutes=40)
    assert town.traffic() == {town.foreign: 100}
    assert town.condition()[:2] == ("False", "NotTakenOver")


def test_no_repair_is_asked_for_while_every_gpu_of_the_quota_is_in_use() -> None:
    town = Clinic()
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 4)
    town.load.set_demand(RANKER, 4)
    town.minutes(8)
    town.ails(exhausted())
    town.minutes(10)
    assert (town.repairs(), town.traffic()) == ([], {town.foreign: 100})
    said = [denial for decision in town.store.decisions(RANKER, limit=20) for denial in decision.denials]
    assert any(each.code is DenialCode.NOT_REPAIRED and "the quota is 4" in each.message for each in said)
    town.load.set_demand(RANKER, 2)
    town.minutes(40)
    assert town.traffic() == {town.revisions()[-1]: 100}


def test_what_would_only_wait_is_better_refused_where_batches_are_large_already() -> None:
    town = Clinic()
    crowded = readings(rate=200, served={"OK": 150}, in_flight=16, gpu=1.0, cpu=0.3, active=4, batch=16)
    town.ails(crowded)
    town.minutes(10)
    assert (town.repairs(), town.traffic()) == ([], {town.foreign: 100})
    said = [denial for decision in town.store.decisions(RANKER, limit=20) for denial in decision.denials]
    assert any(each.code is DenialCode.NOT_REPAIRED and "allow more instances first" in each.message for each in said)


def test_the_maximum_rises_before_a_repair_that_lets_in_more_than_it_carries() -> None:
    town = Clinic(
        to_repair().model_copy(update={"spec": to_repair().spec.model_copy(update={"scale": ScaleBounds(max_instance_count=16)})})
    )
    town.ails(readings(rate=800, served={"OK": 160}, in_flight=16, gpu=0.8, cpu=0.3, active=4, batch=1))
    town.minutes(12)
    masks = town.writes()
    raised = next(at for at, mask in enumerate(masks) if any("scaling" in each for each in mask))
    deployed = next(at for at, mask in enumerate(masks) if "template" in mask)
    assert raised < deployed
    assert town.bounds()[1] > 4


def test_a_repair_that_makes_half_of_all_clients_wait_is_taken_back_before_a_whole_window_has_passed() -> None:
    town = Clinic(to_repair().model_copy(update={"spec": to_repair().spec.model_copy(update={"objective": Objective(p99_ms=200)})}))
    town.ails(exhausted())
    town.until("on-trial", minutes=20)
    town.metrics.now(readings(rate=200, served={"OK": 200}, p99_ms=4_000))
    town.until("reverted", minutes=9)
    assert town.traffic() == {town.foreign: 100}


def test_an_alert_that_comes_twice_and_out_of_order_asks_for_one_repair() -> None:
    town = Clinic()
    town.metrics.set(exhausted())
    town.clock.advance(600)
    town.alarm("0.b2", "closed")
    for incident in ("0.a1", "0.a1", "0.b2", "0.a1"):
        town.alarm(incident)
    town.minutes(5)
    town.alarm()
    town.minutes(20)
    assert (town.repairs().count(("ask", "asked")), town.writes()) == (1, DEPLOY_AND_PROMOTE)


def test_a_flapping_alert_asks_for_one_repair() -> None:
    town = Clinic()
    town.metrics.set(exhausted())
    town.clock.advance(600)
    for number in range(10):
        town.alarm(f"0.a{number}")
        town.minutes(1)
        town.alarm(f"0.a{number}", "closed")
        town.minutes(1)
    assert (town.repairs().count(("ask", "asked")), town.writes()) == (1, DEPLOY_AND_PROMOTE)


def test_a_service_on_trial_is_asked_for_its_metrics_only_from_the_time_on_at_which_it_can_be_judged() -> None:
    town = on_trial()
    town.start_process(Trace())
    town.minutes(4)
    assert "metrics.readings" not in town.trace.operations
    town.until("kept")
    assert town.trace.operations["metrics.readings"] <= 4


def test_a_settled_look_costs_what_it_cost_without_a_repair() -> None:
    plain = Clinic(ours())
    plain.minutes(20)
    repaired = on_trial()
    repaired.until("kept")
    repaired.clock.advance(1800)
    repaired.minutes(10)
    for town in (plain, repaired):
        town.start_process(Trace())
        town.minutes(20)
    assert repaired.trace.operations == plain.trace.operations


def test_the_room_of_a_repair_is_not_lowered_and_raised_again_while_it_is_on_trial() -> None:
    spec = to_repair().spec.model_copy(update={"scale": ScaleBounds(max_instance_count=16)})
    town = Clinic(to_repair().model_copy(update={"spec": spec}))
    town.ails(readings(rate=800, served={"OK": 160}, in_flight=16, gpu=0.8, cpu=0.3, active=4, batch=1))
    town.until("on-trial")
    town.alarm(state="closed")
    town.metrics.set("503")
    allowed = []
    while town.phase() == "on-trial":
        allowed.append(town.bounds()[1])
        town.minutes(1)
    assert len(allowed) > 12  # minutes: long enough for the way down, which waits ten after the last trouble
    assert allowed == sorted(allowed)
