"""Alert policies over the simulated world: incidents as Cloud Monitoring would have them, told in bodies that Trimtab reads."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from shared.events.alert import RoutedAlert, parse_alert
from shared.local.world.alerts import Alerts, policies
from shared.local.world.seen import SeenWorld
from shared.records.facts import AlertFact
from shared.records.service import Objective
from shared.records.signals import Signal
from shared.simulation.monitoring import AlertPolicy, notification
from tests.support.running import START, running, served
from tests.support.specs import SERVICE

OBJECTIVE = Objective(p99_ms=50, error_ratio=0.02)
TOTAL = "run.googleapis.com/request_count rate [1/s]"
PENDING = "run.googleapis.com/request_latency/pending p99 [ms]"
TFS = ":tensorflow:serving:request_count{status=%s} rate [1/s]"
CODES = "run.googleapis.com/request_count{response_code%s} rate [1/s]"
CPU, GPU = "run.googleapis.com/container/cpu/utilizations p50 [ratio]", "run.googleapis.com/container/gpu/utilizations p50 [ratio]"
CALM = {TOTAL: 100.0, CODES % "_class=2xx": 100.0, TFS % "OK": 100.0, CPU: 0.3, GPU: 0.3, PENDING: 0.0}

BAD: dict[Signal, dict[str, float]] = {
    Signal.THREAD_GAP: {TFS % "OK": 98.0},
    Signal.QUEUE_FULL: {TFS % "UNAVAILABLE": 1.0},
    Signal.NO_INSTANCE: {CODES % "=429": 0.5},
    Signal.PENDING_LATENCY: {PENDING: 1_500.0},
    Signal.LATENCY: {"run.googleapis.com/request_latencies p99 [ms]": 51.0},
    Signal.ERROR_RATIO: {CODES % "_class=5xx": 3.0},
    Signal.CPU_HIGH_GPU_LOW: {CPU: 0.95, GPU: 0.4},
    Signal.GPU_MEMORY: {"run.googleapis.com/container/gpu/memory_utilizations p99 [ratio]": 0.99},
    Signal.IDLE: {"run.googleapis.com/container/instance_count{state=idle} value [instances]": 2.0},
}


def watched(*minutes: Mapping[str, float]) -> tuple[Alerts, list[tuple[int, dict[str, Any]]]]:
    """The policies after so many minutes, and what they sent in which of them."""
    alerts, sent = Alerts(SERVICE, policies(OBJECTIVE), seed=1), []
    for number, minute in enumerate(minutes):
        bodies = alerts.look(minute, START + timedelta(minutes=number))
        sent += [(number, json.loads(body)["incident"]) for body in bodies]
    return alerts, sent


def fact(body: bytes) -> AlertFact:
    found = parse_alert(body, published_at=START)
    assert isinstance(found, RoutedAlert)
    assert found.service == SERVICE
    return found.fact


def test_there_is_a_policy_for_each_signal_and_each_says_which() -> None:
    assert {each.signal for each in policies(OBJECTIVE)} == set(Signal)
    assert {each.signal for each in policies(Objective())} == set(Signal) - {Signal.LATENCY}


@pytest.mark.parametrize("policy", policies(OBJECTIVE), ids=lambda policy: str(policy.signal))
@pytest.mark.parametrize("state", ["open", "closed"])
def test_its_notifications_are_read_as_what_they_mean(policy: AlertPolicy, state: Any) -> None:
    body = notification(SERVICE, "0.a1", state, started_at=START, now=START + timedelta(minutes=9), policy=policy, observed=7.5)
    found = fact(json.dumps(body).encode())
    assert (found.signal, found.state, found.signal_source) == (policy.signal, state, "label")
    assert found.closes
    assert found.observed_value == 7.5
    assert not any(f"{{{name}}}" in policy.text(SERVICE) for name in ("service", "region", "project", "threshold"))


@pytest.mark.parametrize("signal", BAD, ids=str)
def test_an_incident_opens_when_its_condition_held_long_enough_and_closes_when_it_does_not(signal: Signal) -> None:
    policy = next(each for each in policies(OBJECTIVE) if each.signal is signal)
    looks = policy.duration_s // 60 + 1
    _, sent = watched(CALM, *[{**CALM, **BAD[signal]}] * (looks + 2), CALM if signal in CALM_TELLS else {**CALM, **GOOD[signal]})
    assert [(minute, each["state"], each["policy_user_labels"]["trimtab_signal"]) for minute, each in sent] == [
        (looks, "open", signal),
        (looks + 3, "closed", signal),
    ]
    assert len({each["incident_id"] for _, each in sent}) == 1


GOOD: dict[Signal, dict[str, float]] = {
    Signal.LATENCY: {"run.googleapis.com/request_latencies p99 [ms]": 49.0},
    Signal.GPU_MEMORY: {"run.googleapis.com/container/gpu/memory_utilizations p99 [ratio]": 0.5},
    Signal.IDLE: {"run.googleapis.com/container/instance_count{state=idle} value [instances]": 0.0},
}
CALM_TELLS = set(BAD) - set(GOOD)
"""Signals of which a calm minute says that they are over; of the others it says nothing."""


def test_a_minute_of_trouble_alone_opens_nothing() -> None:
    _, sent = watched(CALM, {**CALM, **BAD[Signal.NO_INSTANCE]}, CALM, {**CALM, **BAD[Signal.NO_INSTANCE]}, CALM)
    assert sent == []


def test_a_series_that_stops_is_no_data_and_one_that_never_was_is_not() -> None:
    assert watched(*[{}] * 10)[1] == []
    _, sent = watched(CALM, *[{}] * 6, CALM)
    assert [(minute, each["state"], each["policy_user_labels"]["trimtab_signal"]) for minute, each in sent] == [
        (6, "open", "no-data"),
        (7, "closed", "no-data"),
    ]


def test_without_points_an_incident_stays_open_for_half_an_hour() -> None:
    bad = {**CALM, **BAD[Signal.NO_INSTANCE]}
    _, sent = watched(bad, bad, *[{}] * 35)
    closed = [
        minute for minute, each in sent if each["state"] == "closed" and each["policy_user_labels"]["trimtab_signal"] == "no-instance"
    ]
    assert closed == [31]


def test_a_second_trouble_is_a_second_incident() -> None:
    bad = {**CALM, **BAD[Signal.NO_INSTANCE]}
    alerts, _ = watched(bad, bad, CALM, bad, bad)
    first, second = alerts.incidents
    assert first.incident_id != second.incident_id
    assert (first.closed_at, second.closed_at) == (START + timedelta(minutes=2), None)


def test_exhausted_server_threads_open_an_incident_within_three_minutes() -> None:
    cloud_run, world = served(running(), rate=4000)
    seen, alerts = SeenWorld(world, cloud_run), Alerts(SERVICE, policies(OBJECTIVE), seed=1)
    bodies: list[bytes] = []
    for _ in range(4):
        world.advance(60)
        bodies += alerts.look(seen.points(60), world.moment(world.now_s))
    (incident,) = alerts.incidents
    assert (incident.signal, world.seconds(incident.opened_at)) == (Signal.THREAD_GAP, 180.0)
    opened = fact(bodies[0])
    assert opened.observed_value == pytest.approx(0.89, abs=0.01)
    assert opened.signal is Signal.THREAD_GAP
