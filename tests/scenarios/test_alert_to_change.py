"""From the alert's body to Cloud Run's bounds, through all three functions."""

import json
from typing import Any

from shared.handlers.answer import Handled, serve
from shared.local.bus import Trouble
from shared.records.parked import ParkCode
from shared.records.plan import DenialCode
from shared.records.service import Autonomy
from shared.records.subject import ServiceId
from tests.support.builders import RANKER, at, document
from tests.support.rig import PostedRequest, Rig
from tests.support.tracing import Trace


def opened(rig: Rig) -> Rig:
    """The alert has come and was answered."""
    rig.minutes(1)
    rig.notify()
    rig.run()
    return rig


def test_an_alert_ends_in_one_write_of_exactly_the_maximum() -> None:
    rig = opened(Rig())
    assert rig.bounds() == (0, 8)
    assert rig.writes() == [("scaling.max_instance_count",)]


def test_the_decision_says_what_it_saw_what_it_did_and_why() -> None:
    rig = opened(Rig())
    decision = rig.store.decisions(RANKER, limit=5)[-1]
    assert "raise scaling.max_instance_count from 4 to 8" in decision.explanation
    assert decision.trigger == "alert no-instance open"
    assert decision.inputs.instance_count.kind == "known"
    assert round(decision.inputs.usd_per_instance_hour or 0, 6) == 1.04652
    assert decision.act_id is not None


def test_the_same_decision_is_recorded_once_however_often_it_is_looked_at() -> None:
    rig = opened(Rig())
    rig.minutes(6)
    decisions = rig.store.decisions(RANKER, limit=50)
    recorded = [(decision.act_id is not None, [denial.code for denial in decision.denials]) for decision in decisions]
    assert recorded == [(False, [DenialCode.COOLDOWN]), (True, [])]


def test_a_settled_service_costs_no_write() -> None:
    rig = Rig()
    rig.minutes(20)
    rig.start_process(Trace())
    rig.minutes(20)
    assert set(rig.trace.effects) == {"store.begin_tick", "bus.publish_wakes"}


def test_an_open_incident_that_waits_costs_no_write_either() -> None:
    rig = opened(Rig(demand=10))
    rig.minutes(12)
    rig.start_process(Trace())
    rig.minutes(10)
    assert set(rig.trace.effects) == {"store.begin_tick", "bus.publish_wakes"}
    assert rig.trace.operations["platform.get_service"] == 10


def test_recommend_explains_and_writes_nothing() -> None:
    rig = opened(Rig(spec=document(autonomy=Autonomy.RECOMMEND)))
    rig.minutes(5)
    assert (rig.bounds(), rig.writes()) == ((0, 4), [])
    decisions = rig.store.decisions(RANKER, limit=5)
    assert [len(decision.changes) for decision in decisions] == [1]
    assert decisions[0].mode == Autonomy.RECOMMEND


def test_observe_records_the_incident_and_decides_nothing() -> None:
    rig = opened(Rig(spec=document(autonomy=Autonomy.OBSERVE)))
    assert rig.state().open_incident_count == 1
    (decision,) = rig.store.decisions(RANKER, limit=5)
    assert [denial.code for denial in decision.denials] == [DenialCode.AUTONOMY_OBSERVE]


def test_the_close_and_the_calm_bring_it_back_to_rest() -> None:
    rig = opened(Rig())
    rig.minutes(4)
    rig.notify(state="closed")
    rig.run()
    rig.load.set_demand(RANKER, 2)
    rig.minutes(60)
    assert rig.bounds() == (0, 4)
    assert len(rig.writes()) == 4
    state = rig.state()
    assert (state.next_look_at, state.resting_max, state.incidents, state.episodes) == (None, None, (), ())


def test_every_event_three_times_and_shuffled_is_the_same_story() -> None:
    for seed in range(5):
        rig = Rig(trouble=Trouble(seed=seed, repeat=3, shuffle=True))
        rig.notify()
        rig.notify("0.b2", "open", started_at=at(5))
        rig.notify("0.b2", "closed", started_at=at(5))
        rig.run()
        assert (rig.bounds(), len(rig.writes())) == ((0, 8), 1), seed
        assert [incident.incident_id for incident in rig.state().incidents] == ["0.a1"]


def test_a_close_before_its_open_leaves_nothing_open() -> None:
    rig = Rig()
    rig.notify(state="closed")
    rig.run()
    rig.notify()
    rig.run()
    assert rig.state().open_incident_count == 0
    assert rig.writes() == []


def test_a_renotification_is_the_same_incident() -> None:
    rig = opened(Rig(demand=10))
    for _ in range(3):
        rig.clock.advance(600)
        rig.notify()
        rig.run()
    assert rig.state().open_incident_count == 1
    assert rig.writes() == [("scaling.max_instance_count",)]


def test_an_alert_about_a_service_without_a_spec_is_parked_once_and_writes_nothing() -> None:
    rig = Rig(known_service=False)
    for _ in range(3):
        rig.notify()
        rig.run()
        rig.minutes(1)
    parked = rig.store.parked(limit=10)
    assert [entry.code for entry in parked] == [ParkCode.NO_SPEC]
    assert json.loads(parked[0].body)["incident_id"] == "0.a1"
    assert rig.writes() == []


def test_a_body_that_can_never_work_is_parked_and_acknowledged() -> None:
    rig = Rig()
    assert rig.post("alert", b'{"message": {"data": "not base64!", "messageId": "1"}}') == 200
    assert rig.post("alert", b"\xff\xfe not json") == 200
    assert {entry.code for entry in rig.store.parked(limit=10)} == {ParkCode.UNPARSABLE}


def test_an_alert_that_names_no_region_is_parked_with_what_is_missing() -> None:
    rig = Rig()
    rig.notify(resource={"type": "cloud_run_revision", "labels": {"project_id": "acme-ml"}})
    rig.run()
    (parked,) = rig.store.parked(limit=10)
    assert parked.code == ParkCode.UNROUTABLE
    assert "trimtab_region" in parked.reason


def test_the_console_test_notification_is_acknowledged_and_forgotten() -> None:
    rig = Rig()
    body = {"version": "test", "incident": {"incident_id": "12345", "state": "OPEN", "documentation": "Test documentation"}}
    rig.bus.publish("alerts", json.dumps(body).encode())
    rig.run()
    assert rig.statuses == [("alert", 200)]
    assert rig.trace.effects == []


def test_a_lost_wake_costs_one_tick() -> None:
    rig = Rig(trouble=Trouble(drop_ratio=0.0))
    rig.minutes(1)
    rig.notify()
    rig.bus._subscriptions["wakes"] = []
    rig.run()
    assert rig.writes() == []
    rig.bus._subscriptions["wakes"] = ["reconcile"]
    rig.minutes(1)
    assert len(rig.writes()) == 1


def test_only_post_is_taken() -> None:
    def unreachable(*_: Any) -> Handled:
        raise AssertionError

    assert serve("alert", PostedRequest(b"", method="GET"), unreachable)[1] == 405


def test_services_of_one_name_in_two_regions_are_two_services() -> None:
    rig = opened(Rig())
    other = ServiceId(project=RANKER.project, region="us-east4", name=RANKER.name)
    rig.notify("0.z", resource={"type": "cloud_run_revision", "labels": {"project_id": "acme-ml", "location": other.region}})
    rig.run()
    assert rig.state().open_incident_count == 1
    assert [entry.subject for entry in rig.store.parked(limit=5)] == [str(other)]


def test_a_long_outage_of_cloud_runs_writes_is_one_decision_and_one_write_in_the_end() -> None:
    rig = Rig()
    rig.minutes(1)
    rig.cloud_run.faults.fail_next("UNAVAILABLE", "the service is currently unavailable", times=8)
    rig.notify()
    rig.run()
    rig.minutes(70)
    acted = [decision for decision in rig.store.decisions(RANKER, limit=200) if decision.act_id is not None]
    assert len(rig.writes()) >= 1
    assert rig.writes()[0] == ("scaling.max_instance_count",)
    assert [decision.changes[0].after for decision in acted if decision.changes[0].field == "scaling.max_instance_count"] == [8]
    assert len(rig.store.decisions(RANKER, limit=200)) < 12
    last_act = rig.state().last_act
    assert last_act is not None
    assert last_act.decision_id in {decision.decision_id for decision in acted}
