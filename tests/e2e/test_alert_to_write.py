"""From a published alert to a changed Cloud Run service, through real processes: Pub/Sub, HTTP, Firestore, gRPC.

Metrics have no source on Google Cloud yet, so the instance count is Unknown, and every raise here is the one that Unknown allows.
"""

import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal

import pytest

from shared.gcp.firestore_layout import Layout, fact_fields
from shared.records.parked import Parked
from shared.records.signals import Signal
from shared.records.state import ServiceState
from shared.records.subject import SWEEP_SLOTS, ServiceId
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.monitoring import notification
from shared.simulation.platform import TRIMTAB
from tests.support.builders import alert
from tests.support.processes import VERDICTS, Deployment, wait_for

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(180)]

COPIES = 3
MAX = "scaling.max_instance_count"


def body(deployment: Deployment, service: ServiceId, incident: str, state: Literal["open", "closed"] = "open", **fields: Any) -> bytes:
    """What Cloud Monitoring publishes; `fields` replace those of the incident."""
    now = deployment.clock.now()
    content = notification(service, incident, state, started_at=now, now=now)
    content["incident"] |= fields
    return json.dumps(content).encode()


def raised_once(deployment: Deployment, service: ServiceId) -> None:
    """The one change that was needed was made once, and explains itself."""
    assert deployment.bounds(service) == (0, 8)
    assert [(write.mask, write.principal) for write in deployment.writes(service)] == [((MAX,), TRIMTAB)]
    decision = deployment.changing_decisions(service)[0]
    (change,) = decision.changes
    assert (change.field, change.before, change.after) == (MAX, 4, 8)
    assert decision.explanation.startswith("no-instance open: raise scaling.max_instance_count from 4 to 8")
    assert decision.inputs.instance_count.kind == "unknown"


# -- begun first, because time must pass ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Killed:
    """A service whose reconcile was killed while Cloud Run had its write in hand."""

    service: ServiceId
    announced: ServiceState


@pytest.fixture(scope="module", autouse=True)
def killed(deployment: Deployment) -> dict[str, Killed]:
    """The kills come before all other tests: an announced act is left alone for a minute, which the other tests fill."""
    return {moment: kill_in_the_write(deployment, moment) for moment in ("before", "after")}


def kill_in_the_write(deployment: Deployment, moment: str) -> Killed:
    service = deployment.place(f"killed-{moment}")
    arrived, dead = threading.Event(), threading.Event()

    def stand_still() -> None:
        arrived.set()
        assert dead.wait(30)
        if moment == "before":
            raise SimulatedError("UNAVAILABLE", "the caller is gone")

    hook: Callable[[], object] = stand_still
    deployment.cloud_run.faults.on_next("update", **{moment: hook})
    try:
        deployment.publish("alerts", body(deployment, service, "0.k"))
        assert arrived.wait(30), "reconcile did not write to Cloud Run"
        deployment.functions["reconcile"].kill()
    finally:
        dead.set()
    deployment.restart("reconcile")
    state = deployment.state(service)
    assert state is not None
    return Killed(service, state)


@pytest.fixture(scope="module", autouse=True)
def given_up(deployment: Deployment) -> bytes:
    """A message that nobody takes; after five deliveries it is given up."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"http://127.0.0.1:{server.getsockname()[1]}/"
    deployment.give_up_on("nobody", nobody)
    deployment.publish("nobody", b"given up")
    return b"given up"


# -- the straight way --------------------------------------------------------------------------------------------------------------


def test_an_alert_becomes_one_write_and_one_decision_that_explains_it(deployment: Deployment) -> None:
    service = deployment.place("straight")
    deployment.publish("alerts", body(deployment, service, "0.a"))
    state = deployment.settled(service, ["0.a:open"])
    raised_once(deployment, service)
    (decision,) = deployment.changing_decisions(service)
    assert decision.trigger == "alert no-instance open"
    assert summary(deployment, service, state) == {
        "Cloud Run": (0, 8),
        "desired": (0, 8),
        "incidents": [("0.a", "no-instance")],
        "incidents not kept": 0,
        "tombstones": 0,
        "episodes": [("no-instance", 0, 4, None, True)],
        "attempts": {"no-instance": 1},
        "resting max": 4,
        "last act": "done",
        "writes": 1,
        "changes": [[(MAX, 4, 8)]],
    }


def answered(deployment: Deployment, count: int) -> bool:
    """Whether the alert function has dealt with so many events since it was first started."""
    return len(deployment.answered("alert")) >= count


def summary(deployment: Deployment, service: ServiceId, state: ServiceState) -> dict[str, Any]:
    """What must not depend on the order of events; times and ids are left out."""
    assert state.desired is not None
    return {
        "Cloud Run": deployment.bounds(service),
        "desired": (state.desired.bounds.min_instance_count, state.desired.bounds.max_instance_count),
        "incidents": sorted((incident.incident_id, incident.signal.value) for incident in state.incidents),
        "incidents not kept": state.incidents_not_kept,
        "tombstones": len(state.tombstones) + state.tombstones_dropped,
        "episodes": [
            (episode.signal.value, episode.anchor_min, episode.anchor_max, episode.ended_at, episode.raised_while_unknown)
            for episode in state.episodes
        ],
        "attempts": {attempts.signal.value: len(attempts.at) for attempts in state.attempts},
        "resting max": state.resting_max,
        "last act": state.last_act.outcome if state.last_act is not None else None,
        "writes": len(deployment.writes(service)),
        "changes": [
            [(change.field, change.before, change.after) for change in decision.changes]
            for decision in deployment.changing_decisions(service)
        ],
    }


# -- repeated and shuffled ---------------------------------------------------------------------------------------------------------

HISTORY: tuple[tuple[str, Literal["open", "closed"]], ...] = (
    ("0.a", "open"),
    ("0.b", "open"),
    ("0.b", "closed"),
    ("0.c", "open"),
    ("0.c", "closed"),
)
KEYS = [f"{incident}:{state}" for incident, state in HISTORY]


@dataclass(frozen=True)
class Junk:
    """What can never work: its body, and the code under which it is parked (None: acknowledged and ignored)."""

    body: bytes
    code: str | None


def junk(deployment: Deployment, service: ServiceId) -> list[Junk]:
    nowhere: dict[str, Any] = {"policy_user_labels": {}, "resource": {"type": "", "labels": {}}}
    console = json.loads(body(deployment, service, "12345", state="open")) | {"version": "test"}
    return [
        Junk(b"\xff not JSON", "unparsable"),
        Junk(b"[]", "unparsable"),
        Junk(body(deployment, service, "0.nowhere", **nowhere), "unroutable"),
        Junk(json.dumps(console).encode(), None),
    ]


@pytest.fixture(scope="module")
def in_order(deployment: Deployment) -> dict[str, Any]:
    """What becomes of the history when every event comes once and in its order."""
    service = deployment.place("in-order")
    for incident, state in HISTORY:
        wanted = len(deployment.answered("alert")) + 1
        deployment.publish("alerts", body(deployment, service, incident, state))
        wait_for(partial(answered, deployment, wanted), "the next answer of the alert function")
    return summary(deployment, service, deployment.settled(service, KEYS, ticking=True))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_event_three_times_and_shuffled_ends_like_once_and_in_order(
    deployment: Deployment, in_order: dict[str, Any], seed: int
) -> None:
    service = deployment.place(f"shuffled-{seed}")
    ghost = service.model_copy(update={"name": f"ghost-{seed}"})
    spoilt = junk(deployment, service)
    bodies = [
        *(body(deployment, service, incident, state) for incident, state in HISTORY),
        *(each.body for each in spoilt),
        body(deployment, ghost, "0.ghost"),
    ] * COPIES
    random.Random(seed).shuffle(bodies)
    before = len(deployment.answered("alert"))
    ids = dict(zip(deployment.publish("alerts", *bodies), bodies, strict=True))
    wait_for(partial(answered, deployment, before + len(bodies)), "an answer to every message")
    state = deployment.settled(service, KEYS, ticking=True)

    assert summary(deployment, service, state) == in_order
    assert in_order["incidents"] == [("0.a", "no-instance")]
    raised_once(deployment, service)

    parked = deployment.store.parked(limit=1_000)
    codes = {each.body: each.code for each in spoilt if each.code is not None}
    expected = {message: codes[content] for message, content in ids.items() if content in codes}
    assert {entry.message_id: entry.code.value for entry in parked if entry.message_id in ids} == expected
    wait_for(lambda: ghosts(deployment, ghost), "the alert of a service without a spec to be parked", meanwhile=deployment.tick, seconds=40)
    assert [(entry.code, json.loads(entry.body)["incident_id"]) for entry in ghosts(deployment, ghost)] == [("no-spec", "0.ghost")]

    verdicts = Counter(line["message"] for line in deployment.answered("alert")[before:])
    facts = len(HISTORY) + 1
    assert verdicts == {"done": facts, "duplicate": facts * (COPIES - 1), "parked": len(expected), "ignored": COPIES}
    assert not any(deployment.dead_letters(topic) for topic in ("alerts", "wakes", "ticks"))


def ghosts(deployment: Deployment, ghost: ServiceId) -> list[Parked]:
    return [entry for entry in deployment.store.parked(limit=1_000) if entry.subject == str(ghost)]


# -- death and outage ---------------------------------------------------------------------------------------------------------------


def test_an_alert_function_killed_between_fact_and_wake_loses_nothing(deployment: Deployment) -> None:
    service = deployment.place("killed-alert")
    deployment.pubsub_gate.hold()
    try:
        deployment.publish("alerts", body(deployment, service, "0.k"))
        wait_for(lambda: deployment.store.facts_by_key(service, ["0.k:open"]), "the fact")
        deployment.functions["alert"].kill()
    finally:
        deployment.pubsub_gate.open()
    assert deployment.state(service) is None
    before = len(deployment.answered("alert"))
    deployment.restart("alert")
    deployment.settled(service, ["0.k:open"])
    raised_once(deployment, service)
    assert [(line["message"], line["key"]) for line in deployment.answered("alert")[before:]] == [("duplicate", "0.k:open")]


def test_a_tick_finds_a_fact_whose_wake_was_lost(deployment: Deployment) -> None:
    now = deployment.clock.now()
    soon = {int((now + timedelta(minutes=minutes)).timestamp() // 60) % SWEEP_SLOTS for minutes in range(2)}
    names = (f"missed-{number}" for number in range(100))
    name = next(name for name in names if ServiceId(project="acme-ml", region="europe-west1", name=name).sweep_slot not in soon)
    service = deployment.place(name)
    fact = alert("0.m")
    Layout(deployment.client).fact(service, fact.key).set({**fact_fields(fact), "created_at": now - timedelta(seconds=30)})
    deployment.tick()
    # The look after the write may come before Cloud Run is done: the next tick's look then settles it, as it would in a minute.
    deployment.settled(service, [fact.key], ticking=True)
    raised_once(deployment, service)
    assert [decision.trigger for decision in deployment.changing_decisions(service)] == ["missed fact"]


@pytest.fixture
def opened_gates(deployment: Deployment) -> Iterator[None]:
    yield
    deployment.firestore_gate.open()
    deployment.pubsub_gate.open()


@pytest.mark.usefixtures("opened_gates")
@pytest.mark.parametrize(("gate", "verdict"), [("firestore", "done"), ("pubsub", "duplicate")])
def test_what_cannot_be_reached_is_tried_again_and_done(deployment: Deployment, gate: str, verdict: str) -> None:
    service = deployment.place(f"without-{gate}")
    door = {"firestore": deployment.firestore_gate, "pubsub": deployment.pubsub_gate}[gate]
    before = len(deployment.functions["alert"].log_lines())
    door.shut()
    deployment.publish("alerts", body(deployment, service, "0.r"))

    def refusals() -> list[str]:
        lines = deployment.functions["alert"].log_lines()[before:]
        return [line["message"] for line in lines if line["severity"] == "WARNING"]

    wait_for(lambda: len(refusals()) > 1, "two answers that ask for a redelivery", seconds=40)
    assert not deployment.writes(service)
    door.open()
    deployment.settled(service, ["0.r:open"], ticking=True)
    raised_once(deployment, service)
    assert set(refusals()) == {"will be tried again"}
    assert [line["message"] for line in deployment.functions["alert"].log_lines()[before:] if line["message"] in VERDICTS] == [verdict]


def test_an_event_that_nobody_takes_ends_where_a_person_finds_it(deployment: Deployment, given_up: bytes) -> None:
    letters: list[Any] = []

    def found() -> bool:
        letters.extend(deployment.dead_letters("nobody"))
        return bool(letters)

    wait_for(found, "the dead letter", seconds=60)
    (letter,) = letters
    assert letter.data == given_up
    assert letter.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"


# -- last, a minute after they were killed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_reconcile_killed_in_its_write_is_finished_by_the_next_without_a_second_write(
    deployment: Deployment, killed: dict[str, Killed], moment: str
) -> None:
    service, announced = killed[moment].service, killed[moment].announced
    assert announced.act is not None
    assert announced.act.operation is None
    lease = announced.act.lease_expires_at
    # On a slow machine the lease may be over by now, and a tick of another test may have finished the act already.
    if deployment.clock.now() < lease:
        assert len(deployment.writes(service)) == (0 if moment == "before" else 1)

    wait_for(lambda: deployment.clock.now() > lease, "the lease of the announced act to end", seconds=70)
    deployment.tick()
    state = deployment.settled(service, ["0.k:open"], ticking=True)
    raised_once(deployment, service)
    assert len(deployment.changing_decisions(service)) == 1
    assert state.attempts[0].signal == Signal.NO_INSTANCE
    assert len(state.attempts[0].at) == 1
    assert state.last_act is not None
    assert (state.last_act.outcome, state.last_act.act_id == announced.act.act_id) == ("done", moment == "after")
