"""Parked events: handled again as the message they were, or dropped."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shared.errors import Park, Retry
from shared.events.envelope import Envelope
from shared.handlers.answer import Handled, Reply
from shared.handlers.command import receive_command
from shared.handlers.intake import take
from shared.local.bus import InProcessBus
from shared.local.redrive import LocalRedriver
from shared.local.sqlite_store import SqliteStore
from shared.records.parked import BODY_LIMIT_BYTES, ParkCode, Parked
from tests.support.builders import NOW, RANKER
from tests.support.clocks import HandClock
from tests.support.commands import RANKER as RANKER_FILE
from tests.unit.handlers.twins_command import ALICE, MemoryCommands, Republished, Scene, bearer, grant, pushed


@pytest.fixture(params=["memory", "sqlite"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    clock = HandClock(NOW)
    store: Any = MemoryCommands() if request.param == "memory" else SqliteStore(":memory:", clock)
    yield Scene(store=store, clock=clock)
    if isinstance(store, SqliteStore):
        store.close()


def ask(scene: Scene, command: dict[str, Any]) -> Reply:
    reply = receive_command(bearer(ALICE), lambda: json.dumps({"command_id": "c1", **command}).encode(), scene.ports)
    assert isinstance(reply, Reply)
    return reply


def parked(scene: Scene, function: str, body: bytes, headers: dict[str, str] | None = None) -> str:
    """Park a body as its function would; returns the key."""

    def work(envelope: Envelope) -> Handled:
        envelope.payload()
        raise Park(ParkCode.UNROUTABLE, "it says no region")

    return take(function, headers or {}, lambda: body, work, store=scene.store, clock=scene.clock).key


def keys(scene: Scene) -> list[str]:
    return [entry.key for entry in scene.store.parked(limit=50)]


def test_the_message_inside_a_push_goes_back_to_its_topic_and_is_parked_no_more(scene: Scene) -> None:
    key = parked(scene, "alert", pushed(b'{"incident": {}}', "77", origin="monitoring"))
    reply = ask(scene, {"command": "redrive", "key": key})
    assert (key, reply.status, reply.content["detail"]) == ("alert:77", 200, "given to alert again")
    assert scene.redriver.messages == [("alert", b'{"incident": {}}', {"origin": "monitoring"})]
    assert keys(scene) == []


def test_a_structured_event_goes_back_as_its_data(scene: Scene) -> None:
    event = {"specversion": "1.0", "id": "5", "source": "//x", "type": "google.cloud.audit.log.v1.written", "data": {"insertId": "i"}}
    key = parked(scene, "audit", json.dumps(event).encode(), {"content-type": "application/cloudevents+json"})
    ask(scene, {"command": "redrive", "key": key})
    ((source, data, attributes),) = scene.redriver.messages
    assert (source, json.loads(data), attributes) == ("audit", {"insertId": "i"}, {})


@pytest.mark.parametrize("body", [b"no json at all", b"\xff\xfe\x00", json.dumps({"message": {"data": "%%%"}}).encode()])
def test_what_had_no_envelope_goes_back_as_it_came(scene: Scene, body: bytes) -> None:
    ask(scene, {"command": "redrive", "key": parked(scene, "upload", body)})
    assert [message[:2] for message in scene.redriver.messages] == [("upload", body)]


def test_a_redriven_event_comes_back_to_its_function_over_the_bus_as_it_was_sent(scene: Scene) -> None:
    bodies: list[tuple[str, Any]] = []

    def deliver(name: str, _headers: Mapping[str, str], body: bytes) -> int:
        bodies.append((name, json.loads(body)))
        return 200

    bus = InProcessBus(deliver, scene.clock)
    bus.subscribe("model-uploads", "upload")
    scene.redriver = LocalRedriver(bus, {"upload": "model-uploads"})  # type: ignore[assignment]  # the real one in place of the twin
    ask(scene, {"command": "redrive", "key": parked(scene, "upload", pushed(b"{}", "5", eventType="OBJECT_FINALIZE"))})
    bus.run_until_idle()
    ((name, body),) = bodies
    assert (name, base64.b64decode(body["message"]["data"])) == ("upload", b"{}")
    assert body["message"]["attributes"] == {"eventType": "OBJECT_FINALIZE"}


def test_a_body_of_which_only_the_beginning_is_kept_cannot_go_back(scene: Scene) -> None:
    key = parked(scene, "alert", b"x" * (BODY_LIMIT_BYTES + 1))
    reply = ask(scene, {"command": "redrive", "key": key})
    assert (reply.status, keys(scene), scene.redriver.messages) == (400, [key], [])
    assert "65537 bytes" in reply.content["problems"][0]["problem"]


def test_it_stays_parked_until_the_topic_has_it(scene: Scene) -> None:
    key = parked(scene, "alert", pushed(b"{}", "77"))
    scene.redriver = Republished(fails=Retry("pubsub is away"))
    assert ask(scene, {"command": "redrive", "key": key}).status == 503
    assert keys(scene) == [key]
    scene.redriver = Republished()
    assert ask(scene, {"command": "redrive", "key": key}).content["outcome"] == "done"


def test_a_repeat_of_a_redrive_is_a_repeat_and_another_one_finds_nothing(scene: Scene) -> None:
    key = parked(scene, "alert", pushed(b"{}", "77"))
    ask(scene, {"command": "redrive", "key": key})
    assert ask(scene, {"command": "redrive", "key": key}).content["outcome"] == "duplicate"
    other = ask(scene, {"command": "redrive", "key": key, "command_id": "c2"})
    assert (other.status, other.content["problems"][0]["problem"]) == (400, "no event is parked under this key")
    assert len(scene.redriver.messages) == 1


def test_discard_drops_it_for_good(scene: Scene) -> None:
    key = parked(scene, "alert", pushed(b"{}", "77"))
    assert ask(scene, {"command": "discard", "key": key}).content["detail"] == "dropped"
    assert (keys(scene), scene.redriver.messages) == ([], [])
    assert ask(scene, {"command": "discard", "key": key}).content["outcome"] == "duplicate"


def test_an_event_of_a_function_that_is_none_stays(scene: Scene) -> None:
    scene.store.park(Parked.of(code=ParkCode.UNPARSABLE, reason="r", source="console", body=b"x", now=NOW, key="k"))
    reply = ask(scene, {"command": "redrive", "key": "k"})
    assert (reply.status, keys(scene)) == (400, ["k"])


def test_a_document_that_could_not_be_read_is_looked_at_again(scene: Scene) -> None:
    about = {"source": "reconcile", "body": b"schema_version 2", "now": NOW, "subject": str(RANKER), "key": f"unreadable:{RANKER}:state"}
    scene.store.park(Parked.of(code=ParkCode.UNREADABLE_RECORD, reason="r", **about))  # type: ignore[arg-type]
    assert ask(scene, {"command": "redrive", "key": f"unreadable:{RANKER}:state"}).content["outcome"] == "done"
    assert [wake.subject_id for wake in scene.bus.wakes] == [str(RANKER)]


def test_a_fact_that_reconcile_passed_over_cannot_go_back_and_the_answer_says_why(scene: Scene) -> None:
    key = f"{RANKER}:0.a:open"
    about = {"source": "reconcile", "body": b"{}", "now": NOW, "subject": str(RANKER), "key": key}
    scene.store.park(Parked.of(code=ParkCode.UNREADABLE_RECORD, reason="r", **about))  # type: ignore[arg-type]
    reply = ask(scene, {"command": "redrive", "key": key})
    assert (reply.status, keys(scene)) == (400, [key])
    assert "facts are folded once" in reply.content["problems"][0]["problem"]


def test_an_alert_without_a_spec_waits_for_one_and_then_its_service_is_looked_at(scene: Scene) -> None:
    key = f"{RANKER}:0.a:open"
    about = {"source": "reconcile", "body": b"{}", "now": NOW, "subject": str(RANKER), "key": key}
    scene.store.park(Parked.of(code=ParkCode.NO_SPEC, reason="r", **about))  # type: ignore[arg-type]
    reply = ask(scene, {"command": "redrive", "key": key})
    assert (reply.status, keys(scene)) == (400, [key])
    assert "there still is no spec" in reply.content["problems"][0]["problem"]
    applied = ask(scene, {"command": "apply", "service": str(RANKER), "spec": RANKER_FILE["spec"], "command_id": "a"})
    assert applied.content["outcome"] == "done"
    assert ask(scene, {"command": "redrive", "key": key, "command_id": "c2"}).content["outcome"] == "done"
    assert (keys(scene), scene.bus.wakes[-1].reason) == ([], f"redrive {key}")


def test_a_parked_command_gains_no_rights_on_its_way_back(scene: Scene) -> None:
    scene.grants = [grant("redrive", identity=ALICE)]
    command = {"command": "delete", "service": str(RANKER)}
    key = parked(scene, "command", pushed(command, "5"))
    reply = ask(scene, {"command": "redrive", "key": key})
    assert (reply.status, scene.redriver.messages) == (403, [])
    scene.grants = [grant("redrive delete", identity=ALICE)]
    assert ask(scene, {"command": "redrive", "key": key}).status == 200
    assert [json.loads(data) for _, data, _ in scene.redriver.messages] == [command]


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        ({"autonomy": "act"}, 403),
        ({"serving": {"image": "docker.io/evil/serving:2.20.0-gpu"}}, 403),
        ({"serving": None}, 403),
        ({"scale": {"max_instance_count": 9}, "serving": {}}, 403),
        ({"scale": {"max_instance_count": 9}}, 200),
    ],
)
def test_a_parked_patch_gains_no_right_to_apply_on_its_way_back(scene: Scene, patch: dict[str, Any], status: int) -> None:
    scene.grants = [grant("redrive patch", identity=ALICE), grant("apply", "acme-ml:europe-west1:scorer", identity=ALICE)]
    key = parked(scene, "command", pushed({"command": "patch", "service": str(RANKER), "patch": patch}, "5"))
    assert (ask(scene, {"command": "redrive", "key": key}).status, len(scene.redriver.messages)) == (status, int(status == 200))
    scene.grants.append(grant("apply", str(RANKER), identity=ALICE))
    assert ask(scene, {"command": "redrive", "key": key}).status == 200
