"""The local store forgets nothing: what Firestore's time-to-live deletes after a while is kept in the file."""

from pathlib import Path

from shared.local.sqlite_store import SqliteStore
from shared.records.facts import FACT_TTL_SECONDS
from shared.records.fleet import ActSlot, FleetUsage
from shared.records.state import ServiceState
from tests.support.builders import NOW, RANKER, alert
from tests.support.clocks import HandClock


def test_a_repeat_after_the_clouds_time_to_live_is_still_a_duplicate(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    store = SqliteStore(tmp_path / "trimtab.db", clock)
    store.create_fact(RANKER, alert())
    clock.advance(FACT_TTL_SECONDS + 1)
    assert store.create_fact(RANKER, alert()) == "duplicate"
    store.close()


def test_an_old_fact_keeps_its_place_before_the_new_ones() -> None:
    clock = HandClock(NOW)
    store = SqliteStore(":memory:", clock)
    store.create_fact(RANKER, alert("0.old"))
    clock.advance(400 * 24 * 3_600)
    store.create_fact(RANKER, alert("0.new"))
    assert [fact.key for fact in store.facts_after(RANKER, None, limit=9).facts] == ["0.old:open", "0.new:open"]


def test_an_old_fact_is_not_taken_for_a_missed_one() -> None:
    clock = HandClock(NOW)
    store = SqliteStore(":memory:", clock)
    store.create_fact(RANKER, alert())
    assert list(store.unfolded_services(since=NOW, until=clock.advance(60))) == [RANKER]
    now = clock.advance(24 * 3_600)
    assert list(store.unfolded_services(since=clock.advance(-600), until=now)) == []


def test_the_places_of_a_minute_that_is_over_stand_in_nobodys_way() -> None:
    clock = HandClock(NOW)
    store = SqliteStore(":memory:", clock)
    token = None
    for _ in range(3):
        minute = ActSlot.minute_of(clock.advance(60))
        taken = store.acts_in_minute(minute)
        slot = ActSlot.next_of(FleetUsage(minute=minute, acts_this_minute=taken))
        token = store.commit(RANKER, token=token, state=ServiceState(id=RANKER), act_slot=slot)
        assert (taken, store.acts_in_minute(minute)) == (0, 1)
