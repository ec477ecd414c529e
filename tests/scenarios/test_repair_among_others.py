"""A repair among others: people and tools who deploy, split, pin and tag; a clock that is late; a state from before there were any."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shared.local.clock import VirtualClock
from shared.records.plan import DenialCode
from shared.records.service import Pin
from tests.scenarios.test_repair import DEPLOY_AND_PROMOTE, on_trial
from tests.scenarios.test_template_changes import NAME, Town
from tests.support.repairs import Clinic, exhausted, readings, to_repair


def test_a_repair_is_not_asked_for_while_two_revisions_share_the_traffic() -> None:
    town = Clinic()
    first = town.revisions()[0]

    def split(service: Any) -> None:
        service.traffic = [{"type_": 2, "revision": each, "percent": 50} for each in (first, town.foreign)]

    town.cloud_run.change_by(NAME, "kim@example.com", edit=split)
    town.ails(exhausted())
    town.minutes(10)
    assert (town.writes(), town.phase()) == ([], None)
    assert any("the traffic is shared by" in message for message in town.denied(DenialCode.NOT_REPAIRED))


def test_a_repair_that_is_taken_back_leaves_the_addresses_of_others() -> None:
    town = Clinic()
    first = town.revisions()[0]

    def tagged(service: Any) -> None:
        service.traffic = [{"type_": 2, "revision": town.foreign, "percent": 100}, {"type_": 2, "revision": first, "tag": "kims"}]

    town.cloud_run.change_by(NAME, "kim@example.com", edit=tagged)
    town.ails(exhausted())
    town.until("on-trial")
    town.metrics.set(readings(served={"OK": 10}))
    town.until("reverted")
    assert {each.tag: each.revision for each in town.cloud_run.get_service(NAME).traffic if each.tag} == {"kims": first}


def test_a_pin_that_comes_before_the_repair_began_drops_it_and_is_not_taken_for_its_promotion() -> None:
    town = Clinic()
    town.cloud_run.set_start_up(NAME, seconds=250)
    town.ails(exhausted())
    town.minutes(1)
    pin = Pin(revision=town.revisions()[0], reason="as it was", author="kim", created_at=town.clock.now())
    town.apply(to_repair(2).model_copy(update={"pin": pin}))
    town.minutes(6)
    assert (town.phase(), town.traffic()) == ("dropped", {town.revisions()[0]: 100})


def test_whoever_deploys_the_old_template_every_hour_wins_in_the_end() -> None:
    town = on_trial()

    for number in range(4):
        town.redeploy()
        town.ails(exhausted(), incident=f"0.b{number}")
        town.minutes(6)
        town.clock.advance(600)
        town.alarm(f"0.b{number}", "closed")
        town.minutes(1)
        town.clock.advance(1800)
    assert len(town.state().repairs_asked_at) <= 3
    assert town.template_writes() <= 3
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.condition()[0] == "False"
    assert not [status for status in town.statuses if status[1] == 500]


class Behind:
    """A machine's clock that is five minutes late."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.now() - timedelta(minutes=5)


def test_a_clock_that_goes_back_judges_nothing_early_and_ends_all_the_same() -> None:
    town = on_trial(afterwards=readings(served={"OK": 10}))
    town.reconcile_ports = replace(town.reconcile_ports, clock=Behind(town.clock))
    town.minutes(11)
    assert town.phase() == "on-trial"
    town.until("reverted")
    assert town.traffic() == {town.foreign: 100}


def test_a_town_without_the_new_fields_in_its_stored_state_goes_on() -> None:
    town = Town(to_repair(), diagnoses=True)
    town.minutes(12)
    stored = {name: value for name, value in town.state().to_stored().items() if name not in {"repair", "repairs_asked_at"}}
    assert type(town.state()).from_stored(stored) == town.state()


def test_a_repair_waits_while_somebody_else_deploys() -> None:
    town = Clinic()
    town.cloud_run.set_start_up(NAME, seconds=200)
    town.metrics.set(exhausted())
    town.clock.advance(600)
    town.theirs.max_instance_request_concurrency = 64
    town.redeploy("kim@example.com")
    town.alarm()
    town.minutes(3)
    assert (town.phase(), town.writes()) == (None, [])
    town.cloud_run.set_start_up(NAME, seconds=60)
    town.minutes(12)
    assert town.writes() == DEPLOY_AND_PROMOTE
    assert town.repair().previous == town.revisions()[2]
