"""The alert policies of a served model are those that the simulation runs with, and Trimtab understands what they send."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.events.alert import RoutedAlert, parse_alert
from shared.local.world.alerts import AUTO_CLOSE_S, policies
from shared.records.service import Objective
from shared.records.signals import Signal
from shared.records.subject import ServiceId
from shared.simulation.monitoring import EVALUATED_S, AlertPolicy, Form, notification
from tests.terraform.plans import Plan
from tests.terraform.sample import PROJECT, REGION, SERVICE

NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
RANKER = ServiceId(project=PROJECT, region=REGION, name=SERVICE)
KINDS = {
    Form.THRESHOLD: "condition_threshold",
    Form.ABSENT: "condition_absent",
    Form.PROMQL: "condition_prometheus_query_language",
}
WANTED = {policy.signal: policy for policy in policies(Objective(p99_ms=800, error_ratio=0.02))}


@pytest.fixture(scope="module")
def planned(plan: Plan) -> Mapping[str, Mapping[str, Any]]:
    """The policies of the ranker, by signal."""
    return {str(each.key): each.values for each in plan.of("monitoring_alert_policy") if f'module.alerts["{SERVICE}"]' in each.address}


def test_there_is_one_for_each_signal(planned: Mapping[str, Any]) -> None:
    assert set(planned) == set(Signal) == set(WANTED)


@pytest.mark.parametrize("signal", Signal)
def test_it_is_the_simulated_one(signal: Signal, planned: Mapping[str, Any]) -> None:
    wanted, found = WANTED[signal], planned[signal]
    (condition,) = found["conditions"]
    ((kind, details),) = [(name, condition[name][0]) for name in KINDS.values() if condition[name]]
    assert kind == KINDS[wanted.form]
    assert details.get("query", details.get("filter")) == wanted.text(RANKER)
    assert details["duration"] == f"{wanted.duration_s}s"
    assert condition["display_name"] == wanted.condition
    assert found["display_name"] == f"{SERVICE}: {wanted.title}"
    assert found["documentation"][0]["content"] == wanted.documentation
    assert found["alert_strategy"][0]["auto_close"] == f"{AUTO_CLOSE_S:.0f}s"
    if wanted.form is Form.PROMQL:
        assert details["evaluation_interval"] == f"{EVALUATED_S}s"
        return
    (aggregation,) = details["aggregations"]
    assert aggregation["alignment_period"] == f"{EVALUATED_S}s"
    assert (aggregation["per_series_aligner"], aggregation["cross_series_reducer"]) == (wanted.aligner, wanted.reducer)
    if wanted.form is Form.THRESHOLD:
        assert (details["comparison"], details["threshold_value"]) == ("COMPARISON_GT", wanted.threshold)
    assert wanted.metric in details["filter"]


@pytest.mark.parametrize("state", ["open", "closed"])
@pytest.mark.parametrize("signal", Signal)
def test_what_it_sends_is_understood(signal: Signal, state: str, planned: Mapping[str, Any]) -> None:
    routed = parse_alert(json.dumps(sent(planned[signal], WANTED[signal], state)).encode(), published_at=NOW)
    assert isinstance(routed, RoutedAlert)
    assert routed.service == RANKER
    assert (routed.fact.signal, routed.fact.signal_source, routed.fact.state) == (signal, "label", state)


@pytest.mark.parametrize("signal", Signal)
def test_the_labels_are_all_that_routing_needs(signal: Signal, planned: Mapping[str, Any]) -> None:
    """What a policy aggregates away is gone from the resource: the labels say it."""
    body = sent(planned[signal], WANTED[signal], "open")
    body["incident"]["resource"]["labels"] = {}
    routed = parse_alert(json.dumps(body).encode(), published_at=NOW)
    assert isinstance(routed, RoutedAlert)
    assert routed.service == RANKER


@pytest.mark.parametrize("signal", Signal)
def test_its_labels_are_labels_that_cloud_monitoring_takes(signal: Signal, planned: Mapping[str, Any]) -> None:
    for name, value in planned[signal]["user_labels"].items():
        assert re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", name)
        assert re.fullmatch(r"[a-z0-9_-]{0,63}", value)


def sent(found: Mapping[str, Any], wanted: AlertPolicy, state: Any) -> dict[str, Any]:
    """The notification of the simulated policy, with the names, labels and texts of the planned one."""
    body = notification(RANKER, "0.a1", state, started_at=NOW, now=NOW, policy=wanted, observed=1.0)
    body["incident"] |= {
        "policy_name": found["display_name"],
        "condition_name": found["conditions"][0]["display_name"],
        "policy_user_labels": found["user_labels"],
        "documentation": {"content": found["documentation"][0]["content"], "mime_type": "text/markdown"},
    }
    return body
