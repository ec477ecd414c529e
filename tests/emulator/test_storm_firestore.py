"""The same storm on Firestore's emulator: 10,000 copies of one alert and 10,000 distinct incidents, one change, nothing lost.

As many bare creates, on the same emulator with the same two threads, are the measure: the storm may take three times as long.
"""

from collections.abc import Iterator

import pytest

from shared import log
from shared.gcp.firestore_store import FirestoreStore
from shared.records.state import STATE_LIMIT_BYTES
from tests.support.builders import RANKER
from tests.support.emulators import firestore_client, fresh_project
from tests.support.storm import Outcome, rage

EVENTS_OF_EACH_KIND = 10_000

pytestmark = [pytest.mark.emulator, pytest.mark.storm, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def outcome(firestore_emulator: str) -> Iterator[Outcome]:
    with firestore_client(firestore_emulator, fresh_project()) as client, log.silenced():
        yield rage(FirestoreStore(client), RANKER, copies=EVENTS_OF_EACH_KIND, distinct=EVENTS_OF_EACH_KIND)


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
