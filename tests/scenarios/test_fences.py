"""Fenced, not locked: two looks at once, a stalled one that wakes late, an etag that moves by itself."""

from collections.abc import Callable
from typing import Any

from shared.handlers.reconcile import ReconcilePorts, reconcile
from shared.records.fleet import Brakes, Fleet
from shared.simulation.platform import SimulatedPlatform
from tests.support.builders import RANKER
from tests.support.rig import Rig


class Paused:
    """A port that lets something else happen before or after one call of one method, once."""

    def __init__(
        self, inner: Any, method: str, *, before: Callable[[], object] | None = None, after: Callable[[], object] | None = None
    ) -> None:
        self._inner, self._method, self._before, self._after = inner, method, before, after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name != self._method:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            before, self._before = self._before, None
            after, self._after = self._after, None
            if before is not None:
                before()
            result = method(*args, **kwargs)
            if after is not None:
                after()
            return result

        return call


def alerted() -> Rig:
    """A service at its cap with an open incident that nobody has decided on."""
    rig = Rig()
    rig.minutes(1)
    rig.bus._subscriptions["wakes"] = []
    rig.notify()
    rig.run()
    return rig


def ports(rig: Rig, *, store: Any = None, platform: Any = None) -> ReconcilePorts:
    return ReconcilePorts(
        store or rig.store,
        platform or SimulatedPlatform(rig.cloud_run, now=rig.clock.now),
        rig.bus,
        rig.clock,
        rig.ids,
        metrics=rig.load,
        quota=rig.load,
    )


def look(rig: Rig, **replaced: Any) -> str:
    return reconcile(RANKER, "test", ports(rig, **replaced))


def test_of_two_looks_at_once_the_one_that_commits_second_finds_nothing_left_to_do() -> None:
    rig = alerted()
    second: list[str] = []
    paused = Paused(rig.store, "commit", before=lambda: second.append(look(rig)))
    first = look(rig, store=paused)
    assert second[0].startswith("written")
    assert rig.writes() == [("scaling.max_instance_count",)]
    assert "nothing is changed" in first


def test_a_look_between_announcement_and_write_leaves_the_change_to_its_announcer() -> None:
    rig = alerted()
    second: list[str] = []
    paused = Paused(rig.store, "commit", after=lambda: second.append(look(rig)))
    first = look(rig, store=paused)
    assert second == ["a change announced by another look is under way"]
    assert first.startswith("written")
    assert len(rig.writes()) == 1


def test_a_look_that_stalls_before_its_fence_and_wakes_after_a_newer_change_writes_nothing() -> None:
    rig = alerted()
    newer: list[str] = []

    def meanwhile() -> None:
        rig.clock.advance(61)
        newer.append(look(rig))

    first = look(rig, store=Paused(rig.store, "state_token", before=meanwhile))
    assert newer[0].startswith("written")
    assert first.startswith("overtaken: the state was committed by somebody else")
    assert rig.writes() == [("scaling.max_instance_count",)]
    assert rig.bounds() == (0, 8)


def test_a_look_that_stalls_behind_its_fence_is_stopped_by_the_etag() -> None:
    rig = alerted()
    newer: list[str] = []

    def meanwhile() -> None:
        rig.clock.advance(61)
        newer.append(look(rig))

    stalled = Paused(SimulatedPlatform(rig.cloud_run, now=rig.clock.now), "update_scaling", before=meanwhile)
    first = look(rig, platform=stalled)
    assert newer[0].startswith("written")
    assert first.startswith("overtaken")
    assert len(rig.writes()) == 1


def test_an_etag_bumped_by_the_platform_between_read_and_write_is_read_again_and_written_once() -> None:
    rig = alerted()
    bumped = Paused(
        SimulatedPlatform(rig.cloud_run, now=rig.clock.now),
        "update_scaling",
        before=lambda: rig.cloud_run.bump_etag(RANKER.resource_name),
    )
    assert look(rig, platform=bumped).startswith("written")
    assert rig.writes() == [("scaling.max_instance_count",)]
    assert rig.bounds() == (0, 8)


def test_a_person_who_writes_between_read_and_write_wins() -> None:
    rig = alerted()
    overtaken = Paused(
        SimulatedPlatform(rig.cloud_run, now=rig.clock.now),
        "update_scaling",
        before=lambda: rig.cloud_run.change_by(RANKER.resource_name, "ben@acme.example", max_instance_count=5),
    )
    assert look(rig, platform=overtaken).startswith("overtaken: Cloud Run is not any more what was decided on")
    assert (rig.bounds(), rig.writes()) == ((0, 5), [])
    rig.bus._subscriptions["wakes"] = ["reconcile"]
    rig.minutes(5)
    assert rig.bounds()[1] == 5


def test_an_etag_that_never_stands_still_ends_the_try_not_the_process() -> None:
    rig = alerted()

    class Restless(SimulatedPlatform):
        def update_scaling(self, *args: Any, **kwargs: Any) -> str:
            rig.cloud_run.bump_etag(RANKER.resource_name)
            return super().update_scaling(*args, **kwargs)

    assert look(rig, platform=Restless(rig.cloud_run, now=rig.clock.now)).startswith("not written: the etag moved at every try")
    rig.clock.advance(61)
    assert look(rig).startswith("written")


def test_a_quota_refusal_is_remembered_and_the_next_decision_stays_below_it() -> None:
    rig = alerted()
    rig.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 6)
    rig.load.set_quota_unknown("no quota source")
    assert look(rig).startswith("refused for quota")
    assert look(rig).startswith("written")
    assert rig.bounds() == (0, 6)


def test_a_write_that_takes_too_long_to_begin_is_left_to_the_next_look() -> None:
    rig = alerted()
    slow = Paused(rig.store, "commit", after=lambda: rig.clock.advance(26))
    assert look(rig, store=slow).startswith("announced, but this look took too long")
    assert rig.writes() == []
    rig.clock.advance(60)
    assert look(rig).startswith("written")


def test_the_brake_on_acts_per_minute_holds_between_services_that_act_at_once() -> None:
    rig = alerted()
    rig.store.put_fleet(Fleet(brakes=Brakes(acts_per_minute=0)))
    assert "brake-acts" in look(rig)
    assert rig.writes() == []
    rig.store.put_fleet(Fleet(brakes=Brakes(acts_per_minute=1)))
    rig.clock.advance(60)
    assert look(rig).startswith("written")


def test_a_quota_below_what_is_in_force_stops_every_write_for_an_hour_instead_of_looping() -> None:
    rig = Rig(demand=2)
    rig.minutes(5)
    rig.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 2)
    rig.notify()
    rig.run()
    rig.minutes(50)
    assert rig.trace.operations["platform.update_scaling"] <= 2
    assert len(rig.store.decisions(RANKER, limit=200)) < 8


def test_the_fleets_dollars_count_a_service_from_its_first_look_and_an_announced_raise_at_once() -> None:
    rig = Rig()
    rig.store.put_fleet(Fleet(brakes=Brakes(usd_per_hour=5 * 1.04652)))
    rig.notify()
    rig.run()
    rig.minutes(2)
    assert rig.bounds()[1] <= 5
    assert rig.store.usd_per_hour_at_max() <= 5 * 1.04652 + 1e-6


def test_a_metric_that_comes_and_goes_is_recorded_a_few_times_not_each_minute() -> None:
    rig = Rig(demand=10)
    rig.minutes(1)
    rig.notify()
    rig.run()
    for minute in range(240):
        rig.load.set_metric_unknown(RANKER, "no series" if minute % 2 else None)
        rig.minutes(1)
    assert len(rig.store.decisions(RANKER, limit=500)) < 12


def test_an_alert_dated_in_the_future_is_no_new_trouble() -> None:
    rig = Rig(demand=100)
    rig.minutes(1)
    rig.notify(started_at=rig.clock.now().replace(year=2099))
    rig.run()
    rig.minutes(60)
    assert rig.bounds()[1] == 8
