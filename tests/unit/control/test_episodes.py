"""Stretches of trouble: when one begins, when it is still the same, and from which bounds its targets are computed."""

import pytest

from shared.control.episodes import URGENCY, advance, fresh, open_signals
from shared.control.timing import EFFECT_SECONDS, EPISODE_GRACE_SECONDS, METRIC_FRESH_SECONDS
from shared.records.metric import Metric, Unknown
from shared.records.observed import Observed
from shared.records.signals import Signal
from shared.records.state import Attempts, Episode, ServiceState
from tests.support.builders import RANKER, UNKNOWN, alert, at, folded, known, observed

OPEN = folded(alert())


def on(state: ServiceState, seen: Observed | None = None, count: Metric = UNKNOWN, *, seconds: float = 0) -> ServiceState:
    return advance(state, seen or observed(), count, at(seconds))


def only(state: ServiceState) -> Episode:
    (episode,) = state.episodes
    return episode


def closed(state: ServiceState) -> ServiceState:
    return folded(alert(state="closed"), state=state)


def test_every_signal_has_its_urgency_once() -> None:
    assert sorted(URGENCY) == sorted(Signal)


def test_open_signals_come_the_most_urgent_first_and_each_once() -> None:
    state = folded(alert("0.1", signal=Signal.IDLE), alert("0.2", signal=Signal.LATENCY), alert("0.3"), alert("0.4"))
    assert open_signals(state) == (Signal.NO_INSTANCE, Signal.LATENCY, Signal.IDLE)


def test_a_first_incident_begins_an_episode_anchored_at_the_bounds_in_force() -> None:
    episode = only(on(OPEN, observed(low=1, high=4), seconds=30))
    assert (episode.signal, episode.anchor_min, episode.anchor_max) == (Signal.NO_INSTANCE, 1, 4)
    assert (episode.started_at, episode.anchored_at, episode.ended_at) == (at(30), at(30), None)


def test_another_incident_of_the_same_trouble_moves_no_anchor() -> None:
    state = folded(alert("0.2"), state=on(OPEN))
    assert only(on(state, observed(high=8), known(8), seconds=60)).anchor_max == 4


def test_an_episode_ends_with_its_last_incident_and_is_remembered_for_a_grace() -> None:
    state = on(closed(on(OPEN)), seconds=100)
    assert only(state).ended_at == at(100)
    assert only(on(state, seconds=100 + EPISODE_GRACE_SECONDS - 1)).ended_at == at(100)
    assert on(state, seconds=100 + EPISODE_GRACE_SECONDS).episodes == ()


def test_a_signal_that_comes_back_within_the_grace_is_the_same_trouble() -> None:
    state = folded(alert("0.2", started=500), state=on(closed(on(OPEN)), seconds=100))
    episode = only(on(state, observed(high=8), known(3), seconds=500))
    assert (episode.ended_at, episode.anchor_max, episode.started_at) == (None, 4, at(0))


def test_a_signal_that_comes_back_later_is_new_trouble_with_a_new_anchor() -> None:
    over = on(on(closed(on(OPEN)), seconds=100), seconds=100 + EPISODE_GRACE_SECONDS)
    episode = only(on(folded(alert("0.2", started=2_000), state=over), observed(high=8), seconds=2_000))
    assert (episode.anchor_max, episode.started_at) == (8, at(2_000))


def raised(at_seconds: float) -> ServiceState:
    """In trouble since 0, and changed for it."""
    return on(OPEN).model_copy(update={"attempts": (Attempts(signal=Signal.NO_INSTANCE, at=(at(at_seconds),)),)})


AFTER = 60 + EFFECT_SECONDS


@pytest.mark.parametrize(
    ("started", "count", "anchor"),
    [
        (AFTER + 1, known(8), 8),
        (AFTER, known(8), 4),
        (AFTER + 1, known(7), 4),
        (AFTER + 1, UNKNOWN, 4),
    ],
    ids=["new trouble at the new bound", "opened before the change could show", "the bound is not reached", "the count is unknown"],
)
def test_the_anchor_moves_only_for_new_trouble_at_the_new_bound(started: float, count: Metric, anchor: int) -> None:
    state = folded(alert("0.2", started=started), state=raised(60))
    assert only(on(state, observed(high=8), count, seconds=started)).anchor_max == anchor


def test_a_change_before_the_anchor_moves_it_no_more() -> None:
    state = folded(alert("0.2", started=AFTER + 1), state=raised(60))
    moved = on(state, observed(high=8), known(8), seconds=AFTER + 1)
    again = on(moved, observed(high=16), known(16), seconds=AFTER + 60)
    assert (only(again).anchor_max, only(again).anchored_at) == (8, at(AFTER + 1))


def test_incidents_of_another_signal_move_no_anchor() -> None:
    state = folded(alert("0.2", signal=Signal.LATENCY, started=AFTER + 1), state=raised(60))
    anchors = {episode.signal: episode.anchor_max for episode in on(state, observed(high=8), known(8), seconds=AFTER + 1).episodes}
    assert anchors == {Signal.NO_INSTANCE: 4, Signal.LATENCY: 8}


def test_there_is_at_most_one_episode_per_signal() -> None:
    state = folded(*(alert(f"0.{number}", signal=signal) for number, signal in enumerate(Signal)))
    assert [episode.signal for episode in on(on(state)).episodes] == list(URGENCY)


def test_a_quiet_service_has_no_episode() -> None:
    assert on(ServiceState(id=RANKER)).episodes == ()


def test_a_sample_is_fresh_until_it_is_too_old_and_then_unknown_with_its_age() -> None:
    fine = known(3, age_seconds=METRIC_FRESH_SECONDS)
    assert fresh(fine) == fine
    assert fresh(known(3, age_seconds=METRIC_FRESH_SECONDS + 1)) == Unknown(reason="the newest sample is 301 s old, more than 300 s")
    assert fresh(UNKNOWN) == UNKNOWN
