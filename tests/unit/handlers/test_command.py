"""Commands done: what is stored, what is woken, what happens when two come at once, twice, or half."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.errors import Refused, Retry, ServiceMissing
from shared.handlers.answer import Handled, Reply
from shared.handlers.command import receive_command
from shared.local.sqlite_store import SqliteStore
from shared.records.commands import DELETE_WORDS
from shared.records.observed import Bounds
from shared.records.outgoing import OutgoingEvent
from shared.records.parked import ParkCode
from shared.records.rollout import Served
from shared.records.service import PinnedValues, ServiceDocument
from shared.records.state import Desired, ServiceState
from shared.rendering.plain import plain_service
from tests.support.builders import NOW, RANKER, document
from tests.support.clocks import HandClock
from tests.support.commands import RANKER as RANKER_FILE
from tests.unit.handlers.twins import Batches
from tests.unit.handlers.twins_command import ALICE, PUSH_ACCOUNT, MemoryCommands, Scene, bearer, pushed

SERVICE = str(RANKER)
APPLY: dict[str, Any] = {"command": "apply", "command_id": "c1", "service": SERVICE, "spec": RANKER_FILE["spec"]}


def patch(high: int, command_id: str = "p1", **about: Any) -> dict[str, Any]:
    return {"command": "patch", "command_id": command_id, "service": SERVICE, "patch": {"scale": {"max_instance_count": high}}, **about}


@pytest.fixture(params=["memory", "sqlite"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """The same behaviour over the twin and over SQLite."""
    clock = HandClock(NOW)
    store: Any = MemoryCommands() if request.param == "memory" else SqliteStore(":memory:", clock)
    yield Scene(store=store, clock=clock)
    if isinstance(store, SqliteStore):
        store.close()


def push(scene: Scene, command: object, message_id: str = "9001", **about: str) -> Handled:
    handled = receive_command(bearer(PUSH_ACCOUNT), lambda: pushed(command, message_id, **about), scene.ports)
    assert isinstance(handled, Handled)
    return handled


def ask(scene: Scene, command: object) -> Reply:
    body = command if isinstance(command, bytes) else json.dumps(command).encode()
    reply = receive_command(bearer(ALICE), lambda: body, scene.ports)
    assert isinstance(reply, Reply)
    return reply


def told(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.content["outcome"]


def stored(scene: Scene) -> ServiceDocument:
    found: ServiceDocument | None = scene.store.read_spec(RANKER).document
    assert found is not None
    return found


def remembered(scene: Scene, state: ServiceState) -> None:
    """What reconcile is to have written."""
    if isinstance(scene.store, SqliteStore):
        scene.store.commit(RANKER, token=None, state=state)
    else:
        scene.store.states[SERVICE] = state


# -- each command


def test_an_apply_over_pubsub_stores_the_spec_and_wakes_reconcile(scene: Scene) -> None:
    assert push(scene, APPLY).verdict == "done"
    assert (stored(scene).generation, stored(scene).spec.scale.max_instance_count) == (1, 6)
    assert [(wake.subject_id, wake.reason) for wake in scene.bus.wakes] == [(SERVICE, "command apply c1")]


def test_an_apply_over_https_is_answered_with_the_generation(scene: Scene) -> None:
    content = ask(scene, APPLY).content
    assert {**content, "detail": ""} == {"command_id": "c1", "outcome": "done", "problems": [], "generation": 1, "detail": ""}
    assert str(content["detail"]).startswith("generation 1; lint warns: gpu-quota-default-exceeded: At most 6 instances take 6 GPUs")


def test_a_spec_that_lint_finds_an_error_in_is_refused_and_nothing_is_stored(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoilt(name: str, desired: Any, **bounds: int) -> dict[str, Any]:
        return plain_service(name, desired.model_copy(update={"memory": "8Gi"}), **bounds)

    monkeypatch.setattr("shared.lint.specs.plain_service", spoilt)
    reply = ask(scene, APPLY)
    (problem,) = reply.content["problems"]
    assert (reply.content["outcome"], problem["value"]) == ("refused", "cpu-memory-shape")
    assert scene.bus.wakes == []


def test_a_patch_makes_the_next_generation(scene: Scene) -> None:
    ask(scene, APPLY)
    assert ask(scene, patch(9)).content["generation"] == 2
    assert stored(scene).spec.scale.max_instance_count == 9


def test_a_hold_and_its_release(scene: Scene) -> None:
    ask(scene, APPLY)
    held = ask(scene, {"command": "hold", "command_id": "h1", "service": SERVICE, "reason": "launch day"})
    assert (told(held), held.content["detail"]) == ((200, "done"), f"pause h1 by {ALICE} until it is released")
    assert [hold.author for hold in stored(scene).holds] == [ALICE]
    assert told(ask(scene, {"command": "release", "command_id": "r1", "service": SERVICE, "hold_id": "h1"})) == (200, "done")
    assert stored(scene).holds == ()
    assert [wake.reason for wake in scene.bus.wakes] == ["command apply c1", "command hold h1", "command release r1"]


class Told:
    """An event bus that keeps what it is given; `fails` is raised once, before anything is kept."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.events: list[OutgoingEvent] = []
        self._fails = fails

    def publish_events(self, events: Sequence[OutgoingEvent]) -> None:
        if self._fails is not None:
            failure, self._fails = self._fails, None
            raise failure
        self.events += events


HOLD = {"command": "hold", "command_id": "h1", "reason": "launch day", "minutes": 30}


@pytest.mark.parametrize(("of", "subject"), [({"service": SERVICE}, SERVICE), ({"all": True}, "fleet")])
def test_a_hold_and_its_release_are_told_and_a_repeat_is_told_under_the_same_id(scene: Scene, of: dict[str, Any], subject: str) -> None:
    told_of = Told()
    scene.settings["events"] = told_of
    ask(scene, APPLY)
    for _ in range(2):
        ask(scene, HOLD | of)
        scene.clock.advance(60)
    release = {"command": "release", "command_id": "r1", **({"service": SERVICE} if "service" in of else {}), "hold_id": "h1"}
    ask(scene, release)
    first, again, released = told_of.events
    assert (first.type, first.subject, first.data["change"], first.data["author"]) == ("trimtab.hold.v1", subject, "held", ALICE)
    assert (first.data["hold"]["reason"], first.data["hold"]["expires_at"]) == ("launch day", "2026-11-30T03:30:00Z")
    assert first == again
    assert (released.data["change"], released.data["hold_id"], released.data["command_id"]) == ("released", "h1", "r1")
    assert len({first.id, released.id}) == 2


def test_a_hold_that_could_not_be_told_is_done_and_is_told_when_the_command_comes_again(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    told_of = Told(fails=Retry("the topic is away"))
    scene.settings["events"] = told_of
    ask(scene, APPLY)
    assert told(ask(scene, HOLD | {"service": SERVICE})) == (200, "done")
    warnings = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["severity"] == "WARNING"]
    assert [(line["change"], line["hold_id"], line["reason"]) for line in warnings] == [("held", "h1", "the topic is away")]
    assert told(ask(scene, HOLD | {"service": SERVICE})) == (200, "duplicate")
    assert [event.data["hold_id"] for event in told_of.events] == ["h1"]


def test_a_hold_through_pubsub_that_could_not_be_told_comes_again_until_it_is(scene: Scene) -> None:
    told_of = Told(fails=Retry("the topic is away"))
    scene.settings["events"] = told_of
    push(scene, APPLY)
    with pytest.raises(Retry, match="the topic is away"):
        push(scene, HOLD | {"service": SERVICE}, "9002")
    assert [hold.hold_id for hold in stored(scene).holds] == ["h1"]
    assert push(scene, HOLD | {"service": SERVICE}, "9002").verdict == "duplicate"
    assert [event.data["hold_id"] for event in told_of.events] == ["h1"]


@pytest.mark.parametrize("of", [{"service": SERVICE}, {"all": True}])
def test_a_release_that_could_not_be_told_is_done_and_is_told_when_it_comes_again(scene: Scene, of: dict[str, Any]) -> None:
    ask(scene, APPLY)
    ask(scene, HOLD | of)
    told_of = Told(fails=Retry("the topic is away"))
    scene.settings["events"] = told_of
    release = {"command": "release", "command_id": "r1", **({"service": SERVICE} if "service" in of else {}), "hold_id": "h1"}
    assert told(ask(scene, release)) == (200, "done")
    assert told(ask(scene, release)) == (200, "duplicate")
    assert [(event.data["change"], event.data["hold_id"]) for event in told_of.events] == [("released", "h1")]


@pytest.mark.parametrize("there", [None, {"reason": "another reason"}, {"minutes": 31}, {"kind": "freeze"}])
def test_a_hold_under_the_id_of_another_command_is_not_told(scene: Scene, there: dict[str, Any] | None) -> None:
    ask(scene, APPLY)
    ask(scene, {"command": "reconcile", "command_id": "x", "service": SERVICE})
    if there is not None:
        ask(scene, HOLD | {"service": SERVICE} | there)
    told_of = Told()
    scene.settings["events"] = told_of
    assert told(ask(scene, HOLD | {"service": SERVICE, "command_id": "x", "hold_id": "h1"})) == (200, "duplicate")
    assert told_of.events == []


@pytest.mark.parametrize("which", [{"hold_id": "h1"}, {"all": True}])
def test_a_release_under_the_id_of_another_command_is_not_told_while_the_hold_is_there(scene: Scene, which: dict[str, Any]) -> None:
    ask(scene, APPLY)
    ask(scene, {"command": "reconcile", "command_id": "x", "service": SERVICE})
    ask(scene, HOLD | {"service": SERVICE})
    told_of = Told()
    scene.settings["events"] = told_of
    assert told(ask(scene, {"command": "release", "command_id": "x", "service": SERVICE, **which})) == (200, "duplicate")
    assert (told_of.events, len(stored(scene).holds)) == ([], 1)


def test_a_hold_that_was_released_since_is_not_told_as_held_again(scene: Scene) -> None:
    ask(scene, APPLY)
    ask(scene, HOLD | {"service": SERVICE})
    ask(scene, {"command": "release", "command_id": "r1", "service": SERVICE, "all": True})
    told_of = Told()
    scene.settings["events"] = told_of
    assert told(ask(scene, HOLD | {"service": SERVICE})) == (200, "duplicate")
    assert told_of.events == []


def test_a_hold_of_all_services_and_its_release(scene: Scene) -> None:
    assert told(ask(scene, {"command": "hold", "command_id": "h1", "all": True, "reason": "outage"})) == (200, "done")
    assert scene.store.read_fleet().fleet.hold.reason == "outage"
    assert told(ask(scene, {"command": "release", "command_id": "r1", "all": True})) == (200, "done")
    assert scene.store.read_fleet().fleet.hold is None


def test_a_rollback_pins_the_revision(scene: Scene) -> None:
    ask(scene, APPLY)
    reply = ask(scene, {"command": "rollback", "command_id": "b1", "service": SERVICE, "to_revision": "ranker-aaaaaaaaaa-1"})
    assert told(reply) == (200, "done")
    pin = stored(scene).pin
    assert pin is not None
    assert (pin.revision, pin.author) == ("ranker-aaaaaaaaaa-1", ALICE)


def test_a_rollback_without_a_revision_reads_what_served_before(scene: Scene) -> None:
    ask(scene, APPLY)
    state = ServiceState(
        id=RANKER, served=Served(revision="ranker-bbbbbbbbbb-1", desired_hash="b" * 10, since=NOW, previous="ranker-aaaaaaaaaa-1")
    )
    remembered(scene, state)
    assert told(ask(scene, {"command": "rollback", "command_id": "b1", "service": SERVICE})) == (200, "done")
    pin = stored(scene).pin
    assert pin is not None
    assert pin.revision == "ranker-aaaaaaaaaa-1"


def test_a_pin_keeps_what_reconcile_saw_last(scene: Scene) -> None:
    ask(scene, APPLY)
    hold = {"command": "hold", "command_id": "h1", "kind": "pin", "service": SERVICE, "reason": "launch day"}
    assert told(ask(scene, hold)) == (400, "refused")
    desired = Desired(bounds=Bounds(min_instance_count=1, max_instance_count=4), generation=1, set_at=NOW)
    remembered(scene, ServiceState(id=RANKER, desired=desired))
    reply = ask(scene, {**hold, "fields": ["scaling.max_instance_count"]})
    assert (told(reply), reply.content["detail"].rpartition(": ")[2]) == ((200, "done"), "max instances 4")
    assert stored(scene).holds[0].pinned == PinnedValues(max_instance_count=4)


def test_reconcile_stores_the_command_and_wakes(scene: Scene) -> None:
    command = {"command": "reconcile", "command_id": "l1", "service": SERVICE}
    assert told(ask(scene, command)) == (200, "done")
    assert told(ask(scene, command)) == (200, "duplicate")
    assert len(scene.bus.wakes) == 2


def test_delete_forgets_the_service_and_leaves_cloud_run_alone(scene: Scene) -> None:
    ask(scene, APPLY)
    assert told(ask(scene, {"command": "delete", "command_id": "d1", "service": SERVICE})) == (200, "done")
    assert scene.store.read_spec(RANKER).document is None
    assert scene.deleter.deleted == []
    assert told(ask(scene, {"command": "delete", "command_id": "d1", "service": SERVICE})) == (200, "duplicate")


def test_the_words_delete_the_cloud_run_service_as_well_and_once(scene: Scene) -> None:
    ask(scene, APPLY)
    command = {"command": "delete", "command_id": "d1", "service": SERVICE, "delete_cloud_run_service": DELETE_WORDS}
    reply = ask(scene, command)
    assert (told(reply), reply.content["detail"]) == (
        (200, "done"),
        "Trimtab looks after it no more; the Cloud Run service is deleted",
    )
    ask(scene, {**APPLY, "command_id": "c2"})
    assert told(ask(scene, command)) == (200, "duplicate")
    assert (scene.deleter.deleted, stored(scene).generation) == ([SERVICE], 1)


def test_other_words_delete_nothing(scene: Scene) -> None:
    ask(scene, APPLY)
    reply = ask(scene, {"command": "delete", "command_id": "d1", "service": SERVICE, "delete_cloud_run_service": True})
    assert told(reply) == (400, "refused")
    assert (scene.deleter.deleted, stored(scene).generation) == ([], 1)


def test_a_deletion_that_died_half_way_is_finished_by_its_repeat(scene: Scene) -> None:
    ask(scene, APPLY)
    command = {"command": "delete", "command_id": "d1", "service": SERVICE, "delete_cloud_run_service": DELETE_WORDS}
    scene.deleter.fails = Retry("Cloud Run is unavailable")
    assert told(ask(scene, command)) == (503, "later")
    assert stored(scene).generation == 1
    scene.deleter.fails = ServiceMissing("no such service")
    assert told(ask(scene, command)) == (200, "done")
    assert scene.store.read_spec(RANKER).document is None


def test_where_cloud_run_refuses_the_deletion_trimtab_goes_on_looking_after_it(scene: Scene) -> None:
    ask(scene, APPLY)
    scene.deleter.fails = Refused("permission run.services.delete denied")
    command = {"command": "delete", "command_id": "d1", "service": SERVICE, "delete_cloud_run_service": DELETE_WORDS}
    reply = ask(scene, command)
    assert (told(reply), stored(scene).generation) == ((400, "refused"), 1)
    assert "run.services.delete denied" in reply.content["problems"][0]["problem"]


# -- twice, at once, half


def test_a_repeat_is_answered_as_done_before_changes_nothing_and_wakes_again(scene: Scene) -> None:
    push(scene, APPLY)
    push(scene, patch(9))
    assert push(scene, APPLY, "9002").verdict == "duplicate"
    assert (stored(scene).generation, stored(scene).spec.scale.max_instance_count) == (2, 9)
    assert len(scene.bus.wakes) == 3


def test_a_repeat_of_a_command_that_would_now_be_refused_is_a_repeat_and_is_not_parked(scene: Scene) -> None:
    push(scene, APPLY)
    push(scene, patch(9, if_generation=1))
    assert push(scene, patch(9, if_generation=1), "9002").verdict == "duplicate"
    assert scene.store.parked(limit=5) == []


def test_a_command_that_was_refused_may_be_given_again_under_its_id(scene: Scene) -> None:
    assert told(ask(scene, patch(9))) == (400, "refused")
    ask(scene, APPLY)
    assert told(ask(scene, patch(9))) == (200, "done")


def test_a_command_whose_wake_was_lost_wakes_when_it_comes_again(scene: Scene) -> None:
    broken = Scene(store=scene.store, clock=scene.clock, bus=Batches(fails=Retry("pubsub is away")))
    with pytest.raises(Retry):
        push(broken, APPLY)
    assert push(scene, APPLY, "9002").verdict == "duplicate"
    assert len(scene.bus.wakes) == 1


def test_two_commands_at_once_end_as_if_one_had_come_after_the_other(scene: Scene) -> None:
    ask(scene, APPLY)
    numbers = range(1, 13)
    barrier = threading.Barrier(len(numbers))

    def give(number: int) -> Reply:
        barrier.wait()
        body = {"hold_id": f"h{number}", "command_id": f"k{number}", "command": "hold", "service": SERVICE, "reason": "all at once"}
        while True:
            reply = ask(scene, body)
            if reply.status != 503:
                return reply

    with ThreadPoolExecutor(len(numbers)) as pool:
        replies = list(pool.map(give, numbers))
    assert {told(reply) for reply in replies} <= {(200, "done"), (200, "duplicate")}
    assert {hold.hold_id for hold in stored(scene).holds} == {f"h{number}" for number in numbers}


def test_a_patch_for_a_generation_that_is_gone_is_told_so_over_https_and_parked_over_pubsub(scene: Scene) -> None:
    ask(scene, APPLY)
    ask(scene, patch(9))
    reply = ask(scene, patch(7, "p2", if_generation=1))
    assert (told(reply), reply.content["generation"]) == ((409, "superseded"), 2)
    assert reply.content["problems"][0] == {
        "field": "if_generation",
        "value": "1",
        "problem": "the spec has generation 2 now",
        "fix": "look at the spec as it is, and give the command with if_generation 2",
    }
    assert push(scene, patch(7, "p3", if_generation=1), "77").verdict == "parked"
    (parked,) = scene.store.parked(limit=5)
    assert (parked.code, parked.key) == (ParkCode.SUPERSEDED, "command:77")
    assert stored(scene).generation == 2


def test_a_patch_that_was_issued_before_the_last_change_is_parked_as_superseded(scene: Scene) -> None:
    push(scene, APPLY)
    assert push(scene, patch(9), published="2026-11-30T02:59:59Z").verdict == "parked"
    assert [entry.code for entry in scene.store.parked(limit=5)] == [ParkCode.SUPERSEDED]


@pytest.mark.parametrize(
    "command",
    [
        {"command": "delete", "delete_cloud_run_service": DELETE_WORDS},
        {"command": "rollback", "to_revision": "ranker-aaaaaaaaaa-1"},
    ],
)
def test_a_delete_or_rollback_that_waited_in_pubsub_while_the_spec_was_changed_is_parked(scene: Scene, command: dict[str, Any]) -> None:
    push(scene, APPLY)
    late = {"command_id": "late", "service": SERVICE, **command}
    assert push(scene, late, "77", published="2026-11-30T02:59:59Z").verdict == "parked"
    assert [entry.code for entry in scene.store.parked(limit=5)] == [ParkCode.SUPERSEDED]
    assert (stored(scene).pin, scene.deleter.deleted) == (None, [])
    assert told(ask(scene, late)) == (200, "done")  # over HTTPS it is as young as it can be


# -- the cost, and trouble with the store (the twin counts and scripts)


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        (patch(9), ["read_spec", "commit_spec"]),
        ({**APPLY, "command_id": "c2"}, ["read_spec", "commit_spec"]),
        ({"command": "hold", "service": SERVICE, "reason": "x", "command_id": "h"}, ["read_spec", "commit_spec"]),
        ({"command": "release", "service": SERVICE, "all": True, "command_id": "r"}, ["read_spec", "commit_spec"]),
        ({"command": "rollback", "service": SERVICE, "to_revision": "ranker-a-1", "command_id": "b"}, ["read_spec", "commit_spec"]),
        ({"command": "delete", "service": SERVICE, "command_id": "d"}, ["read_spec", "commit_spec"]),
        ({"command": "reconcile", "service": SERVICE, "command_id": "l"}, ["create_command"]),
        ({"command": "hold", "all": True, "reason": "x", "command_id": "h"}, ["read_fleet", "commit_fleet"]),
    ],
)
def test_a_command_costs_three_round_trips_at_most(command: dict[str, Any], calls: list[str]) -> None:
    scene = Scene()
    scene.store.put(document())
    assert told(ask(scene, command)) == (200, "done")
    assert scene.store.calls == calls
    assert len(scene.bus.batches) <= 1


def test_a_lost_race_is_run_again_on_what_is_there_now() -> None:
    scene = Scene()
    ask(scene, APPLY)
    theirs: Callable[[], object] = lambda: ask(scene, patch(9, "theirs"))  # noqa: E731 (a turn of somebody else, one line)
    scene.store.before_commit.append(theirs)
    ours = {"command": "patch", "command_id": "ours", "service": SERVICE, "patch": {"scale": {"min_instance_count": 2}}}
    assert ask(scene, ours).content["generation"] == 3
    scale = stored(scene).spec.scale
    assert (scale.min_instance_count, scale.max_instance_count) == (2, 9)


def test_a_lost_race_may_supersede_the_command() -> None:
    scene = Scene()
    ask(scene, APPLY)
    scene.store.before_commit.append(lambda: ask(scene, patch(9, "theirs")))
    assert told(ask(scene, patch(7, "ours", if_generation=1))) == (409, "superseded")
    assert stored(scene).spec.scale.max_instance_count == 9


def test_a_race_that_is_lost_again_and_again_is_put_off() -> None:
    scene = Scene()
    ask(scene, APPLY)
    scene.store.before_commit += [lambda: scene.store.put(stored(scene)) for _ in range(6)]
    reply = ask(scene, patch(7))
    assert (told(reply), reply.retry_after_seconds) == ((503, "later"), 2.0)


def test_a_document_of_newer_code_is_never_overwritten() -> None:
    scene = Scene()
    scene.store.unreadable = "schema_version 2"
    reply = ask(scene, APPLY)
    assert told(reply) == (400, "refused")
    assert "schema_version 2" in reply.content["problems"][0]["problem"]
    assert push(scene, APPLY).verdict == "parked"
    assert [entry.code for entry in scene.store.parked(limit=5)] == [ParkCode.UNREADABLE_RECORD]
    assert "commit_spec" not in scene.store.calls


TURNS: dict[str, dict[str, Any]] = {
    "apply": {**APPLY, "spec": {**APPLY["spec"], "scale": {"max_instance_count": 3}}},
    "apply at 1": {**APPLY, "spec": {**APPLY["spec"], "scale": {"max_instance_count": 5}}, "if_generation": 1},
    "patch the low": {"command": "patch", "service": SERVICE, "patch": {"scale": {"min_instance_count": 2}}},
    "patch the high": {"command": "patch", "service": SERVICE, "patch": {"scale": {"max_instance_count": 9}}},
    "patch at 1": {"command": "patch", "service": SERVICE, "patch": {"scale": {"max_instance_count": 4}}, "if_generation": 1},
    "hold": {"command": "hold", "service": SERVICE, "hold_id": "h", "reason": "x"},
    "release": {"command": "release", "service": SERVICE, "all": True},
    "rollback": {"command": "rollback", "service": SERVICE, "to_revision": "ranker-aaaaaaaaaa-1"},
    "delete": {"command": "delete", "service": SERVICE},
    "delete at 1": {"command": "delete", "service": SERVICE, "if_generation": 1},
}


def outcome_of(first: dict[str, Any], second: dict[str, Any], *, inside: bool) -> tuple[object, tuple[str, str]]:
    """The document in the end and both outcomes; `inside`: the first is done while the second is between its read and its commit."""
    scene = Scene()
    ask(scene, APPLY)
    first, second = {**first, "command_id": "first"}, {**second, "command_id": "second"}
    told_first: list[str] = []

    def do_first() -> None:
        told_first.append(ask(scene, first).content["outcome"])

    if inside:
        scene.store.before_commit.append(do_first)
    else:
        do_first()
    told_second: str = ask(scene, second).content["outcome"]
    found = scene.store.read_spec(RANKER).document
    return (None if found is None else found.to_stored()), (told_first[0], told_second) if told_first else ("not run", told_second)


@pytest.mark.parametrize("first", TURNS)
@pytest.mark.parametrize("second", TURNS)
def test_whatever_comes_between_read_and_commit_the_end_is_that_of_one_after_the_other(first: str, second: str) -> None:
    raced = outcome_of(TURNS[first], TURNS[second], inside=True)
    assert raced == outcome_of(TURNS[first], TURNS[second], inside=False)
