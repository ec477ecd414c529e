"""Many events at once: one change at most, nothing lost, nothing too large, few wakes.

10,000 copies of one alert and 10,000 distinct incidents of one service, two workers; 1,000 entries of the audit log about one service;
1,000 notifications of a model with a hundred versions.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared import log
from shared.clock import SystemClock
from shared.handlers.model import DEBOUNCE_SECONDS
from shared.handlers.wake_limit import BURST, PER_SECOND
from shared.local.sqlite_store import SqliteStore
from shared.records.model import MODEL_STATE_LIMIT_BYTES
from shared.records.state import STATE_LIMIT_BYTES
from tests.scenarios.test_uploads import BUCKET, FILES, Harbour
from tests.support.audits import entry
from tests.support.builders import RANKER
from tests.support.rig import Rig
from tests.support.storm import Outcome, rage

EVENTS_OF_EACH_KIND = 10_000


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    path: Path = tmp_path_factory.mktemp("storm") / "store.db"
    store = SqliteStore(path, SystemClock())
    with log.silenced():
        yield rage(store, RANKER, copies=EVENTS_OF_EACH_KIND, distinct=EVENTS_OF_EACH_KIND)
    store.close()


pytestmark = [pytest.mark.storm, pytest.mark.timeout(300)]


def test_one_needed_change_is_exactly_one_write(outcome: Outcome) -> None:
    assert (outcome.writes, outcome.bounds) == (1, (0, 8))


def test_no_incident_is_lost_and_none_is_counted_twice(outcome: Outcome) -> None:
    assert outcome.state.open_incident_count == EVENTS_OF_EACH_KIND + 1


def test_the_state_stays_small(outcome: Outcome) -> None:
    assert outcome.state_bytes < STATE_LIMIT_BYTES


def test_every_delivery_is_answered_with_success(outcome: Outcome) -> None:
    assert outcome.statuses == {200}


def test_it_costs_at_most_three_times_the_bare_creates(outcome: Outcome) -> None:
    print(f"storm {outcome.storm_seconds:.1f} s, bare creates {outcome.bare_seconds:.1f} s, ratio {outcome.ratio:.2f}")
    assert outcome.ratio <= 3


EVENTS = 1_000
BATCH = 50
BETWEEN_BATCHES_SECONDS = 5
TICKS = 10
FOLLOWERS_WOKEN = 2
"""Wakes of the services that follow a model: only when there is a newer complete version."""


def publish(rig: Rig, topic: str, messages: list[tuple[bytes, dict[str, str]]]) -> float:
    """Shuffled, every fifth twice, a batch every few seconds; returns how many seconds that took."""
    chance = random.Random(17)
    copies = [*messages, *messages[::5]]
    chance.shuffle(copies)
    began = rig.clock.now()
    for start in range(0, len(copies), BATCH):
        for body, attributes in copies[start : start + BATCH]:
            rig.bus.publish(topic, body, attributes)
        rig.run()
        rig.clock.advance(BETWEEN_BATCHES_SECONDS)
    return (rig.clock.now() - began).total_seconds()


def test_a_thousand_audit_entries_are_a_few_looks_and_no_write() -> None:
    rig = Rig(demand=1)
    rig.minutes(2)
    before = rig.trace.operations["platform.get_service"]
    entries = [entry(RANKER, f"a{number}", principal="kim@example.com", at=rig.clock.now()) for number in range(EVENTS)]
    with log.silenced():
        seconds = publish(rig, "changes", [(body, {}) for body in entries])
        rig.minutes(TICKS)
    assert {status for _, status in rig.statuses} == {200}
    assert (rig.writes(), rig.bounds()) == ([], (0, 4))
    assert len(rig.store.facts_after(RANKER, None, limit=2 * EVENTS).facts) == EVENTS
    assert not rig.store.facts_after(RANKER, rig.state().cursor, limit=1).facts
    assert len(json.dumps(rig.state().to_stored())) < STATE_LIMIT_BYTES // 10
    looks = rig.trace.operations["platform.get_service"] - before
    print(
        f"{looks} looks for {EVENTS} entries in {seconds:.0f} s and {TICKS} ticks, state {len(json.dumps(rig.state().to_stored()))} bytes"
    )
    assert 0 < looks <= BURST + seconds * PER_SECOND + TICKS


def test_a_thousand_notifications_of_a_hundred_versions_are_a_few_listings_and_one_change() -> None:
    harbour = Harbour()
    began, deployed = harbour.clock.now(), harbour.deployed()
    files = {**FILES, **{f"assets/{number}": b"" for number in range(6)}}
    assert len(files) * 100 == EVENTS
    messages = []
    for version in range(1, 101):
        for resource in harbour.put(version, files):
            attributes = {"eventType": "OBJECT_FINALIZE", "bucketId": BUCKET, "objectId": resource["name"]}
            messages.append((json.dumps(resource).encode(), {**attributes, "objectGeneration": resource["generation"]}))
    with log.silenced():
        seconds = publish(harbour, "uploads", messages)
        wakes = harbour.trace.operations["bus.publish_wakes"]
        harbour.minutes(TICKS)
    assert {status for _, status in harbour.statuses} == {200}
    assert harbour.trace.operations["store.create_upload"] >= EVENTS
    assert (harbour.model().latest, harbour.served(), harbour.deployed() - deployed) == (100, 100, 1)
    assert len(json.dumps(harbour.model().to_stored())) < MODEL_STATE_LIMIT_BYTES
    elapsed = (harbour.clock.now() - began).total_seconds()
    assert harbour.listings() <= 1 + elapsed // DEBOUNCE_SECONDS
    print(f"{wakes} wakes, {harbour.listings()} listings in {elapsed:.0f} s, state {len(json.dumps(harbour.model().to_stored()))} bytes")
    assert wakes <= BURST + seconds * PER_SECOND + FOLLOWERS_WOKEN
