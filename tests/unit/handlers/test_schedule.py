"""The tick: each service that is due or was missed is woken once, and nothing else happens."""

from datetime import timedelta
from typing import Any

import pytest

from shared.errors import Retry
from shared.handlers.answer import Handled
from shared.handlers.schedule import BATCH, MISSED_WITHIN, STILL_UNDER_WAY, SchedulePorts, handle_tick, tick
from shared.records.subject import ServiceId
from tests.functions.apps import pushed
from tests.support.builders import NOW, RANKER, at
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import Batches, Listing

OTHER = RANKER.model_copy(update={"name": "other"})


def ports(listing: Listing, bus: Batches, clock: HandClock | None = None) -> SchedulePorts:
    store: Any = listing
    return SchedulePorts(store, bus, clock or HandClock(NOW))


def ticked(listing: Listing, clock: HandClock | None = None) -> tuple[Handled, Batches]:
    bus = Batches()
    return tick(ports(listing, bus, clock)), bus


def services(count: int) -> list[ServiceId]:
    return [RANKER.model_copy(update={"name": f"s{number}"}) for number in range(count)]


def test_nothing_due_is_no_publish() -> None:
    handled, bus = ticked(Listing())
    assert (handled, bus.batches) == (Handled("done", "tick 2026-11-30T03:00Z", "0 woken"), [])


def test_what_is_due_and_what_was_missed_are_woken_with_the_reason() -> None:
    _, bus = ticked(Listing(due=[RANKER], missed=[OTHER]))
    assert [(wake.subject_id, wake.reason) for wake in bus.wakes] == [(str(RANKER), "due"), (str(OTHER), "missed fact")]


def test_a_service_that_is_due_and_missed_is_woken_once() -> None:
    handled, bus = ticked(Listing(due=[RANKER, RANKER], missed=[RANKER, OTHER]))
    assert [wake.subject_id for wake in bus.wakes] == [str(RANKER), str(OTHER)]
    assert handled.detail == "2 woken"


def test_wakes_go_out_in_batches_that_one_publish_takes() -> None:
    handled, bus = ticked(Listing(due=services(2 * BATCH), missed=[OTHER]))
    assert [len(batch) for batch in bus.batches] == [BATCH, BATCH, 1]
    assert handled.detail == f"{2 * BATCH + 1} woken"


def test_wakes_already_found_go_out_before_the_rest_is_listed() -> None:
    bus = Batches()

    def slow() -> Any:
        yield from services(BATCH)
        assert len(bus.wakes) == BATCH
        yield OTHER

    tick(ports(Listing(due=slow()), bus))
    assert len(bus.wakes) == BATCH + 1


@pytest.mark.parametrize(("seconds", "slot"), [(0, 0), (59, 0), (60, 1), (540, 9), (600, 0)])
def test_each_minute_has_its_slot_and_ten_minutes_have_all(seconds: float, slot: int) -> None:
    listing = Listing()
    ticked(listing, HandClock(at(seconds)))
    assert listing.slots == [slot]


def test_a_fact_counts_as_missed_only_when_its_own_wake_had_its_time() -> None:
    listing = Listing()
    ticked(listing)
    assert listing.asked == [(NOW - MISSED_WITHIN, NOW - STILL_UNDER_WAY)]
    assert timedelta(minutes=1) + STILL_UNDER_WAY < MISSED_WITHIN


def test_any_message_is_a_tick() -> None:
    bus = Batches()
    assert handle_tick({}, lambda: pushed(b"whatever"), ports(Listing(due=[RANKER]), bus)).verdict == "done"
    assert len(bus.wakes) == 1


def test_a_bus_that_is_not_there_is_tried_again() -> None:
    with pytest.raises(Retry):
        handle_tick({}, lambda: pushed(b""), ports(Listing(due=[RANKER]), Batches(fails=Retry("Pub/Sub is not there"))))


def test_a_service_whose_command_was_not_looked_at_yet_is_woken() -> None:
    _, bus = ticked(Listing(commanded=[RANKER], last_tick=at(-60)))
    assert [(wake.subject_id, wake.reason) for wake in bus.wakes] == [(str(RANKER), "new generation")]


def test_commands_are_looked_for_since_the_last_tick_however_long_ago_that_was(capsys: pytest.CaptureFixture[str]) -> None:
    listing = Listing(last_tick=at(-1_200))
    handled, _ = ticked(listing)
    assert listing.commanded_since == [at(-1_200) - STILL_UNDER_WAY]
    assert handled.detail == "0 woken, ticks were missed"
    assert "ticks were missed" in capsys.readouterr().out


def test_a_tick_in_time_says_nothing_of_missed_ones(capsys: pytest.CaptureFixture[str]) -> None:
    handled, _ = ticked(Listing(last_tick=at(-61)))
    assert (handled.detail, capsys.readouterr().out) == ("0 woken", "")
