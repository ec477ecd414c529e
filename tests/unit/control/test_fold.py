"""Facts into incidents: any order, any repetition, bounded, exact."""

import itertools

from shared.control.fold import expire, fold, keys_to_look_up
from shared.control.timing import LOG_MATCH_INCIDENT_SECONDS
from shared.records.facts import FactPage, UnreadableFact
from shared.records.signals import Signal
from shared.records.state import KEPT_INCIDENTS, STATE_LIMIT_BYTES, ServiceState
from tests.support.builders import RANKER, alert, at, folded, page, stored


def test_an_open_alert_is_an_open_incident_with_its_evidence() -> None:
    state = folded(alert("0.a1", started=30))
    assert [(incident.incident_id, incident.signal) for incident in state.incidents] == [("0.a1", Signal.NO_INSTANCE)]
    assert state.incidents[0].started_at == at(30)


def test_a_close_ends_its_incident() -> None:
    assert folded(alert(), alert(state="closed")).incidents == ()


def test_a_close_that_overtakes_its_open_ends_it_before_it_begins() -> None:
    state = folded(alert(state="closed"), alert())
    assert state.incidents == ()
    assert state.tombstones == ()


def test_every_order_of_two_incidents_leaves_the_same_one_open() -> None:
    facts = [alert("0.a1"), alert("0.a1", "closed"), alert("0.b2", started=60)]
    for order in itertools.permutations(facts):
        state = folded(*order)
        assert [incident.incident_id for incident in state.incidents] == ["0.b2"], order


def test_a_reopened_trouble_is_a_new_incident() -> None:
    state = folded(alert("0.a1"), alert("0.a1", "closed"), alert("0.a2", started=900))
    assert [incident.incident_id for incident in state.incidents] == ["0.a2"]


def test_of_a_storm_the_newest_are_kept_and_the_others_counted() -> None:
    state = folded(*(alert(f"0.{n:05d}", started=n) for n in range(1_000)))
    assert len(state.incidents) == KEPT_INCIDENTS
    assert state.incidents[-1].incident_id == "0.00999"
    assert state.open_incident_count == 1_000
    assert len(state.model_dump_json()) < STATE_LIMIT_BYTES


def test_the_only_incident_of_a_signal_is_kept_however_old_it_is() -> None:
    state = folded(alert("0.old", signal=Signal.LATENCY), *(alert(f"0.{n:05d}", started=n + 1) for n in range(500)))
    assert "0.old" in {incident.incident_id for incident in state.incidents}
    assert state.open_incident_count == 501


def test_closes_of_incidents_that_are_only_counted_bring_the_count_down_exactly() -> None:
    opens = [stored(alert(f"0.{n:05d}", started=n), n + 1) for n in range(300)]
    state, _ = fold(ServiceState(id=RANKER), page(*opens), {})
    closes = page(*(stored(alert(f"0.{n:05d}", "closed", started=n), 1_000 + n) for n in range(300)))
    keys = keys_to_look_up(state, closes)
    assert len(keys) == 200
    found = {fact.key: fact for fact in opens if fact.key in keys}
    state, _ = fold(state, closes, found)
    assert (state.open_incident_count, state.tombstones) == (0, ())


def test_opens_of_many_closes_that_came_first_are_looked_up_where_the_tombstones_overflowed() -> None:
    closes = [stored(alert(f"0.{n:05d}", "closed", started=n), n + 1) for n in range(300)]
    state, _ = fold(ServiceState(id=RANKER), page(*closes), {})
    opens = page(*(stored(alert(f"0.{n:05d}", started=n), 1_000 + n) for n in range(300)))
    keys = keys_to_look_up(state, opens)
    found = {fact.key: fact for fact in closes if fact.key in keys}
    state, _ = fold(state, opens, found)
    assert (state.open_incident_count, state.tombstones, state.tombstones_dropped) == (0, (), 0)


def test_nothing_is_looked_up_in_quiet_times() -> None:
    assert keys_to_look_up(ServiceState(id=RANKER), page(stored(alert(), 1), stored(alert(state="closed"), 2))) == ()


def test_a_log_match_incident_ends_by_itself_because_its_end_is_never_reported() -> None:
    state = folded(alert(closes=False))
    assert expire(state, at(LOG_MATCH_INCIDENT_SECONDS - 1)).incidents == state.incidents
    assert expire(state, at(LOG_MATCH_INCIDENT_SECONDS)).incidents == ()


def test_incidents_that_are_only_counted_end_as_well() -> None:
    state = folded(*(alert(f"0.{n:05d}", started=n, closes=False) for n in range(150)))
    assert state.open_incident_count == 150
    assert expire(state, at(LOG_MATCH_INCIDENT_SECONDS + 150)).open_incident_count == 0


def test_an_unreadable_fact_is_passed_over_and_handed_back() -> None:
    broken = UnreadableFact(key="0.x:open", position="000000000001", error="newer schema", body="{}")
    state, unreadable = fold(ServiceState(id=RANKER), FactPage(facts=(broken, stored(alert(), 2)), more=False), {})
    assert unreadable == (broken,)
    assert state.cursor == "000000000002"
    assert state.open_incident_count == 1


def test_an_empty_page_leaves_the_state_alone() -> None:
    state = folded(alert())
    assert fold(state, page(), {}) == (state, ())
