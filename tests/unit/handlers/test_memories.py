"""What one instance remembers: of wakes it sent and of facts it saw. Forgetting costs an operation more, nothing else."""

from datetime import timedelta

import pytest

from shared.handlers import recent_facts, wake_limit
from shared.handlers.recent_facts import REMEMBERED_FOR, RecentFacts
from shared.handlers.wake_limit import BURST, PER_SECOND, WakeLimiter
from tests.support.clocks import HandClock


def allowed(limiter: WakeLimiter, tries: int, subject: str = "a") -> int:
    return sum(limiter.allows(subject) for _ in range(tries))


def test_a_burst_goes_out_at_once_and_no_more() -> None:
    assert allowed(WakeLimiter(HandClock()), 1_000) == BURST


def test_wakes_come_back_at_their_rate() -> None:
    clock = HandClock()
    limiter = WakeLimiter(clock)
    allowed(limiter, 100)
    clock.advance(0.5 / PER_SECOND)
    assert allowed(limiter, 100) == 0
    clock.advance(2 / PER_SECOND)
    assert allowed(limiter, 100) == 2


def test_a_long_rest_gives_one_burst_not_more() -> None:
    clock = HandClock()
    limiter = WakeLimiter(clock)
    allowed(limiter, 100)
    clock.advance(86_400)
    assert allowed(limiter, 1_000) == BURST


def test_subjects_do_not_take_each_others_wakes() -> None:
    limiter = WakeLimiter(HandClock())
    assert (allowed(limiter, 100, "a"), allowed(limiter, 100, "b")) == (BURST, BURST)


def test_a_clock_that_goes_backwards_gives_nothing_and_takes_nothing() -> None:
    clock = HandClock()
    limiter = WakeLimiter(clock)
    assert allowed(limiter, 2) == 2
    clock.advance(-3_600)
    assert allowed(limiter, 100) == BURST - 2
    clock.advance(1 / PER_SECOND)
    assert allowed(limiter, 100) == 1


def test_only_so_many_subjects_are_remembered_and_the_idle_ones_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_limit, "SUBJECTS_REMEMBERED", 3)
    limiter = WakeLimiter(HandClock())
    for subject in ("a", "b", "c", "a", "d"):
        allowed(limiter, 100, subject)
    assert list(limiter._buckets) == ["c", "a", "d"]
    assert (allowed(limiter, 100, "a"), allowed(limiter, 100, "b")) == (0, BURST)


def test_a_fact_is_known_once_the_store_has_confirmed_it() -> None:
    recent = RecentFacts(HandClock())
    assert not recent.knows("a", "0.1:open")
    recent.confirm("a", "0.1:open")
    assert recent.knows("a", "0.1:open")


def test_the_same_key_of_another_service_is_another_fact() -> None:
    recent = RecentFacts(HandClock())
    recent.confirm("a", "0.1:open")
    assert not recent.knows("b", "0.1:open")


def test_a_confirmation_is_believed_for_a_while_only() -> None:
    clock = HandClock()
    recent = RecentFacts(clock)
    recent.confirm("a", "k")
    clock.advance((REMEMBERED_FOR - timedelta(seconds=1)).total_seconds())
    assert recent.knows("a", "k")
    clock.advance(1)
    assert not recent.knows("a", "k")


def test_only_so_many_facts_are_remembered_and_the_longest_unseen_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_facts, "REMEMBERED", 3)
    recent = RecentFacts(HandClock())
    for key in ("1", "2", "3", "1", "4"):
        recent.confirm("a", key)
    assert [key for key in "1234" if recent.knows("a", key)] == ["1", "3", "4"]


def test_a_wake_that_could_not_be_published_is_given_back() -> None:
    limiter = WakeLimiter(HandClock())
    for _ in range(20):
        assert limiter.allows("s")
        limiter.give_back("s")
    assert [limiter.allows("s") for _ in range(BURST + 1)] == [True] * BURST + [False]
