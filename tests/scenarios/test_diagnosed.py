"""Logs and metrics in the whole of reconcile: asked for only in trouble, kept with the decision, and never in the way of a sound raise."""

from dataclasses import replace
from typing import Any

import pytest

from shared.errors import Retry
from shared.gcp.cloud_logging import CALL_SECONDS
from shared.gcp.cloud_monitoring import WORK_SECONDS
from shared.handlers import template
from shared.handlers.reconcile import EVIDENCE_BEGINS_WITHIN_SECONDS, LOOK_WITHIN_SECONDS
from shared.records.decision import Decision
from shared.records.desired import desired_serving
from shared.records.evidence import LogLines
from shared.records.plan import DenialCode
from shared.records.subject import ServiceId
from shared.simulation.cloud_run_behaviour import Outcome
from tests.scenarios.test_template_changes import Town
from tests.scenarios.test_template_changes import document as serving_document
from tests.support.builders import RANKER
from tests.support.rig import Rig
from tests.support.tracing import Trace

TOO_MANY_ROWS = "Task size 64 is larger than maximum input batch size 32"


def newest(rig: Rig) -> Decision:
    return rig.store.decisions(RANKER, limit=1)[0]


def opened(rig: Rig) -> Rig:
    rig.minutes(1)
    rig.notify()
    rig.run()
    return rig


def test_an_idle_look_asks_for_no_log_and_no_metric() -> None:
    rig = Rig(demand=1, diagnoses=True)
    rig.minutes(20)
    rig.start_process(Trace())
    rig.minutes(20)
    assert not [name for name in rig.trace.operations if name.startswith(("logs.", "metrics."))]


def test_a_look_with_an_open_incident_asks_once_for_each() -> None:
    rig = opened(Rig(demand=10, diagnoses=True))
    rig.minutes(12)
    rig.start_process(Trace())
    rig.minutes(10)
    asked = {name: count for name, count in rig.trace.operations.items() if name.startswith(("logs.", "metrics."))}
    assert asked == {"logs.recent": 10, "metrics.readings": 10, "metrics.instance_count": 10}


def test_an_open_incident_that_waits_costs_no_write() -> None:
    rig = opened(Rig(demand=10, diagnoses=True))
    rig.minutes(20)
    rig.start_process(Trace())
    rig.minutes(10)
    assert set(rig.trace.effects) == {"store.begin_tick", "bus.publish_wakes"}


def test_refused_requests_at_the_cap_are_raised_for_and_the_decision_says_the_cause() -> None:
    rig = opened(Rig(demand=10, diagnoses=True))
    rig.minutes(2)
    assert rig.bounds() == (0, 8)
    causes = [decision.diagnosis.causes[0].cause for decision in rig.store.decisions(RANKER, limit=9) if decision.diagnosis is not None]
    assert "instance-cap-reached" in causes
    explanations = [decision.explanation for decision in rig.store.decisions(RANKER, limit=9)]
    assert any("the evidence confirms it: instance-cap-reached" in text for text in explanations)


def test_a_server_that_says_why_keeps_a_raise_back_until_it_says_so_no_more() -> None:
    rig = Rig(demand=2, diagnoses=True)
    rig.minutes(1)
    for _ in range(3):
        rig.logs.write(RANKER, TOO_MANY_ROWS)
    rig.clock.advance(1)
    rig.notify()
    rig.run()
    decision = newest(rig)
    assert decision.diagnosis is not None
    assert (decision.diagnosis.causes[0].cause, rig.writes()) == ("request-rows-over-limit", [])
    (denial,) = (each for each in decision.denials if each.code is DenialCode.DIAGNOSED)
    assert TOO_MANY_ROWS in denial.message
    assert "more instances do not mend it" in denial.message
    rig.minutes(16)
    assert rig.bounds() == (2, 4)


def test_where_logs_cannot_be_read_the_story_is_the_one_without_them() -> None:
    class Silent:
        def recent(self, *_: Any, **__: Any) -> LogLines:
            raise Retry("503")

    rig, plain = Rig(diagnoses=True), Rig()
    rig.reconcile_ports = type(rig.reconcile_ports)(**{**vars(rig.reconcile_ports), "logs": Silent()})
    for each in (rig, plain):
        opened(each)
        each.minutes(12)
    assert (rig.bounds(), rig.writes()) == (plain.bounds(), plain.writes())


def test_a_slow_cloud_run_costs_the_evidence_and_not_the_raise() -> None:
    rig = Rig(demand=10, diagnoses=True)
    platform = rig.reconcile_ports.platform

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(platform, name)

        def get_service(self, service: ServiceId) -> Any:
            rig.clock.advance(EVIDENCE_BEGINS_WITHIN_SECONDS + 1)
            return platform.get_service(service)

    rig.reconcile_ports = replace(rig.reconcile_ports, platform=Slow(), templates=None)
    opened(rig)
    rig.minutes(2)
    assert "logs.recent" not in rig.trace.operations
    assert rig.bounds() == (0, 8)


def test_logs_and_metrics_at_their_slowest_leave_time_for_the_raise() -> None:
    """Of a look's 20 s: what was taken before they may begin, both calls for lines, all readings, and the write's own beginning."""
    most = EVIDENCE_BEGINS_WITHIN_SECONDS + 2 * CALL_SECONDS + WORK_SECONDS
    assert most < LOOK_WITHIN_SECONDS


def test_a_candidate_that_fails_is_diagnosed_by_its_own_lines() -> None:
    town = Town(diagnoses=True).settled()
    town.versions(8, Outcome.IMAGE_MISSING)
    town.apply(serving_document(2, model={"name": "ranker", "uri": "gs://acme-models/ranker", "version": 8}))
    town.start_process(Trace())
    town.minutes(30)
    assert town.trace.operations["logs.recent"] >= 1
    assert any(decision.diagnosis is not None for decision in town.store.decisions(RANKER, limit=20))


def test_a_template_with_a_fault_in_it_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = desired_serving

    def doctored(*args: Any, **kwargs: Any) -> Any:
        return sound(*args, **kwargs).model_copy(update={"memory": "8Gi"})

    monkeypatch.setattr(template, "desired_serving", doctored)
    town = Town()
    before = town.revisions()
    town.minutes(12)
    assert (town.revisions(), town.writes()) == (before, [])
    denials = [each for each in newest(town).denials if each.code is DenialCode.LINT]
    assert len(denials) == 1
    assert "cpu-memory-shape" in denials[0].message
    assert town.state().rollout is None
    monkeypatch.setattr(template, "desired_serving", sound)
    assert town.settled().revisions() != before
