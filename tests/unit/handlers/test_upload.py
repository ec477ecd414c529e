"""A notification of Cloud Storage becomes one fact of its model and a wake; thousands of them become thousands of facts and few wakes."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from shared.errors import Retry
from shared.handlers.answer import Handled
from shared.handlers.upload import UploadPorts, handle_upload
from shared.handlers.wake_limit import BURST
from shared.records.facts import UploadFact
from shared.records.model_subject import ModelSubject
from shared.records.subject import Wake
from tests.functions.apps import pushed
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import Batches, ParkingLot

RANKER = ModelSubject(uri="gs://acme-models/ranker")


class Facts(ParkingLot):
    """The part of the store that uploads use."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: dict[tuple[str, str], UploadFact] = {}
        self.creates = 0
        self.fails: Exception | None = None

    def create_upload(self, model: ModelSubject, fact: UploadFact) -> Literal["created", "duplicate"]:
        self.creates += 1
        if self.fails is not None:
            raise self.fails
        before = self.facts.setdefault((model.uri, fact.key), fact)
        return "created" if before is fact else "duplicate"


class Function:
    """functions/upload without HTTP."""

    def __init__(self, *, bus: Batches | None = None) -> None:
        self.store, self.bus, self.clock = Facts(), bus or Batches(), HandClock(NOW)
        self.cold_start()

    def cold_start(self) -> None:
        self.ports = UploadPorts.of(self.store, self.bus, self.clock)

    def __call__(
        self, name: str, *, event: str = "OBJECT_FINALIZE", generation: int = 1, message_id: str = "1", **attributes: Any
    ) -> Handled:
        said = {
            "eventType": event,
            "bucketId": "acme-models",
            "objectId": name,
            "objectGeneration": str(generation),
            "payloadFormat": "NONE",
        }
        return self.raw(pushed(None, message_id, attributes={**said, **attributes}))

    def raw(self, body: bytes) -> Handled:
        return handle_upload({"content-type": "application/json"}, lambda: body, self.ports)


def test_a_new_object_is_one_fact_and_one_wake_of_its_model() -> None:
    function = Function()
    handled = function("ranker/7/saved_model.pb")
    assert handled == Handled("done", "acme-models/ranker/7/saved_model.pb#1", "gs://acme-models/ranker finalize")
    assert list(function.store.facts) == [(RANKER.uri, "acme-models/ranker/7/saved_model.pb#1")]
    assert function.bus.wakes == [Wake.of_model(RANKER.uri, "upload finalize")]


def test_a_repeat_costs_no_operation_of_the_store_and_still_wakes() -> None:
    function = Function()
    function("ranker/7/x")
    assert function("ranker/7/x", message_id="2").verdict == "duplicate"
    assert (function.store.creates, len(function.bus.wakes)) == (1, 2)


def test_a_repeat_at_another_instance_meets_its_fact() -> None:
    function = Function()
    function("ranker/7/x")
    function.cold_start()
    assert function("ranker/7/x", message_id="2").verdict == "duplicate"
    assert (function.store.creates, len(function.store.facts)) == (2, 1)


def test_a_version_of_thousands_of_files_wakes_a_handful_of_times() -> None:
    function = Function()
    for number in range(3_000):
        function(f"ranker/7/variables/{number}", message_id=f"{number}")
    assert (function.store.creates, len(function.store.facts), len(function.bus.wakes)) == (3_000, 3_000, BURST)


def test_what_happens_to_one_object_later_is_another_fact() -> None:
    function = Function()
    for event, generation in (("OBJECT_FINALIZE", 1), ("OBJECT_FINALIZE", 2), ("OBJECT_DELETE", 1)):
        assert function("ranker/7/x", event=event, generation=generation).verdict == "done"
    assert len(function.store.facts) == 3


@pytest.mark.parametrize("name", ["ranker/latest/saved_model.pb", "notes.txt", "ranker/v7/x", "ranker/\u0667/x"])
def test_an_object_that_is_no_file_of_a_version_is_ignored(name: str) -> None:
    function = Function()
    assert function(name).verdict == "ignored"
    assert (function.store.creates, function.bus.wakes) == (0, [])


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/7/passwd",
        "$(reboot)/7/x",
        "a\n- b: !!python/7/x",
        "<script>/7/x",
        "x" * 500 + "/7/" + "y" * 500,
        "\u202e/7/x",
        "//7//x",
        "7/x",
    ],
)
def test_a_hostile_name_is_data_and_nothing_else(name: str) -> None:
    function = Function()
    assert function(name).verdict == "done"
    (fact,) = function.store.facts.values()
    assert fact.name == name
    assert function.bus.wakes[0].subject_id.startswith("gs://acme-models")


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"objectId": ""}, "unparsable"),
        ({"objectId": "x" * 1_025}, "unparsable"),
        ({"bucketId": "../x"}, "unparsable"),
        ({"objectGeneration": "newest"}, "unparsable"),
        ({"eventType": "OBJECT_EXPLODED"}, "unsupported"),
    ],
)
def test_what_can_never_work_is_parked_once(attributes: dict[str, Any], code: str) -> None:
    function = Function()
    for _ in range(2):
        assert function("ranker/7/x", **attributes).verdict == "parked"
    assert [str(entry.code) for entry in function.store.entries.values()] == [code]
    assert (function.store.facts, function.bus.wakes) == ({}, [])


def test_junk_is_parked() -> None:
    function = Function()
    assert function.raw(b"junk").verdict == "parked"


def test_a_store_that_fails_is_retried_and_nobody_is_woken() -> None:
    function = Function()
    function.store.fails = Retry("unavailable")
    with pytest.raises(Retry, match="unavailable"):
        function("ranker/7/x")
    assert function.bus.wakes == []
    function.store.fails = None
    assert function("ranker/7/x").verdict == "done"


def test_a_wake_that_was_not_published_is_not_counted_against_the_limit() -> None:
    function = Function(bus=Batches(fails=Retry("no bus")))
    for _ in range(BURST + 1):
        with pytest.raises(Retry, match="no bus"):
            function("ranker/7/x")
    function.bus = Batches()
    limiter = function.ports.limiter
    assert all(limiter.allows(RANKER.id) for _ in range(BURST))


FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "events").glob("*-object-*.json"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_form_of_notification_ends_as_its_fixture_says(path: Path) -> None:
    sent = json.loads(path.read_text())
    function = Function()
    handled = handle_upload(sent["headers"], lambda: json.dumps(sent["body"]).encode(), function.ports)
    expect = sent["expect"]["upload"]
    if "parked" in expect:
        assert (handled.verdict, [str(entry.code) for entry in function.store.entries.values()]) == ("parked", [expect["parked"]])
    elif "ignored" in expect:
        assert handled.verdict == "ignored"
    else:
        (model, key) = next(iter(function.store.facts))
        assert (handled.verdict, model, len(function.bus.wakes)) == ("done", expect["model"], 1)
        assert key == expect.get("key", key)
