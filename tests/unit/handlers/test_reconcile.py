"""Reconcile at its edges: documents it cannot read, more facts than one look takes, services without a spec, looks that take too long."""

import json

import pytest

from shared.errors import Retry
from shared.handlers.reconcile import LOOK_WITHIN_SECONDS, PAGE_LIMIT, PAGES_PER_LOOK, ReconcilePorts, handle_wake, reconcile
from shared.handlers.recording import fingerprint
from shared.local.sqlite_store import SqliteStore
from shared.records.parked import ParkCode
from shared.records.plan import Denial, DenialCode, Plan
from shared.records.service import Autonomy
from shared.records.signals import Signal
from shared.records.state import ServiceState
from shared.records.subject import ServiceId, Wake
from tests.functions.apps import pushed, wake
from tests.support.builders import NOW, RANKER, alert, at, document, observed
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import Batches, ScriptedMetrics, ScriptedPlatform


class CountingIds:
    def __init__(self) -> None:
        self.count = 0

    def new_id(self) -> str:
        self.count += 1
        return f"{self.count:026d}"


class House:
    """One service in a real SQLite store, a scripted Cloud Run, a bus that keeps what it gets."""

    def __init__(self, *, adopted: bool = True, platform: ScriptedPlatform | None = None) -> None:
        self.clock = HandClock(NOW)
        self.store = SqliteStore(":memory:", self.clock)
        self.bus = Batches()
        self.platform = platform or ScriptedPlatform()
        if adopted:
            self.store.put_service(document(), if_generation=None)

    def look(self, service: ServiceId = RANKER) -> str:
        return reconcile(service, "test", self.ports())

    def ports(self) -> ReconcilePorts:
        return ReconcilePorts(self.store, self.platform, self.bus, self.clock, CountingIds())

    def hear(self, count: int) -> None:
        for number in range(count):
            self.store.create_fact(RANKER, alert(f"0.{number}"))

    def spoil(self, table: str, record: str) -> None:
        self.store._connect().execute(f"UPDATE {table} SET record = ?", (record,))  # noqa: S608 (a table of ours)

    def raw(self, table: str) -> list[tuple[str, ...]]:
        return self.store._rows(f"SELECT * FROM {table}", ())  # noqa: S608 (a table of ours)


BROKEN = {
    "no JSON": "{",
    "no state": '{"rubbish": true}',
    "newer code": json.dumps({**ServiceState(id=RANKER).to_stored(), "schema_version": 2}),
    "a field of newer code": json.dumps({**ServiceState(id=RANKER).to_stored(), "rollout": {}}),
}


@pytest.mark.parametrize("record", BROKEN.values(), ids=BROKEN)
def test_a_state_that_cannot_be_read_is_parked_reported_and_never_overwritten(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    house = House()
    house.look()
    house.spoil("states", record)
    house.hear(1)
    before = house.raw("states")
    assert [house.look() for _ in range(3)] == ["unreadable: state"] * 3
    assert house.raw("states") == before
    (parked,) = house.store.parked(limit=9)
    assert (parked.code, parked.subject, parked.source) == (ParkCode.UNREADABLE_RECORD, str(RANKER), "reconcile")
    assert f"state of {RANKER}" in parked.reason
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(line["severity"], line["message"], line["document"]) for line in said} == {("ERROR", "unreadable record", "state")}


@pytest.mark.parametrize(("table", "name"), [("services", "document"), ("fleet", "fleet")])
def test_a_spec_or_fleet_that_cannot_be_read_stops_the_look_and_is_kept(table: str, name: str) -> None:
    house = House()
    house.store.put_fleet(house.store.read(RANKER).fleet)
    house.spoil(table, '{"rubbish": true}')
    before = house.raw(table)
    assert house.look() == f"unreadable: {name}"
    assert (house.raw(table), house.platform.written) == (before, [])


def test_an_unreadable_document_is_looked_at_again_once_the_code_is_right() -> None:
    house = House()
    house.look()
    ((_, _, good, *_),) = house.raw("states")
    house.spoil("states", "{")
    house.look()
    house.spoil("states", good)
    assert house.look() == "nothing to do"


def test_a_fact_that_cannot_be_read_is_parked_with_its_body_and_passed_over() -> None:
    house = House()
    house.hear(1)
    house.spoil("facts", '{"kind": "of newer code"}')
    house.store.create_fact(RANKER, alert("0.good"))
    house.look()
    (parked,) = house.store.parked(limit=9)
    assert (parked.code, parked.body) == (ParkCode.UNREADABLE_RECORD, '{"kind": "of newer code"}')
    state = house.store.read(RANKER).state
    assert state is not None
    assert [incident.incident_id for incident in state.incidents] == ["0.good"]
    house.look()
    assert len(house.store.parked(limit=9)) == 1


def test_five_thousand_facts_take_three_looks_each_of_which_wakes_the_next() -> None:
    house = House()
    house.hear(5_000)
    looks = 0
    while not looks or "more facts" in {wake.reason for wake in house.bus.wakes}:
        house.bus.batches.clear()
        house.look()
        looks += 1
    state = house.store.read(RANKER).state
    assert state is not None
    assert looks == -(-5_000 // (PAGE_LIMIT * PAGES_PER_LOOK))
    assert (state.open_incident_count, len(state.incidents)) == (5_000, 100)
    assert house.store.facts_after(RANKER, state.cursor, limit=1).facts == ()


def test_thousands_of_facts_without_a_spec_are_parked_page_by_page() -> None:
    house = House(adopted=False)
    house.hear(1_001)
    assert [house.look() for _ in range(3)] == ["no spec: 500 parked", "no spec: 500 parked", "no spec: 1 parked"]
    assert [wake.reason for wake in house.bus.wakes] == ["more facts", "more facts"]
    assert house.look() == "no spec, nothing to park"
    assert len(house.store.parked(limit=5_000)) == 1_001


def test_alerts_that_came_before_the_spec_are_taken_up_by_the_first_look_that_finds_one() -> None:
    house = House(adopted=False)
    house.hear(501)
    assert [house.look() for _ in range(2)] == ["no spec: 500 parked", "no spec: 1 parked"]
    house.store.put_service(document(), if_generation=None)
    house.look()
    state = house.store.read(RANKER).state
    assert state is not None
    assert (state.open_incident_count, state.passed_from) == (501, None)
    house.look()
    again = house.store.read(RANKER).state
    assert again is not None
    assert again.open_incident_count == 501


def test_of_a_service_without_spec_and_state_only_incidents_still_open_are_parked() -> None:
    house = House(adopted=False)
    for incident, state in (("0.over", "open"), ("0.over", "closed"), ("0.open", "open"), ("0.end", "closed")):
        house.store.create_fact(RANKER, alert(incident, state=state))
    assert house.look() == "no spec: 2 parked"
    assert sorted(parked.key for parked in house.store.parked(limit=9)) == [f"{RANKER}:0.end:closed", f"{RANKER}:0.open:open"]


def test_a_service_nobody_knows_leaves_nothing_behind() -> None:
    house = House(adopted=False)
    assert house.look() == "no spec, nothing to park"
    assert (house.raw("states"), house.bus.batches) == ([], [])


def test_a_look_that_took_too_long_writes_nothing_and_is_begun_anew() -> None:
    class Slow(ScriptedPlatform):
        def get_service(self, service: ServiceId) -> object:  # type: ignore[override]
            house.clock.advance(LOOK_WITHIN_SECONDS + 1)
            return super().get_service(service)

    house = House(platform=Slow())
    house.hear(1)
    with pytest.raises(Retry, match="looking took 21 s"):
        house.look()
    assert (house.raw("states"), house.platform.written) == ([], [])


def test_losing_every_race_leaves_a_wake_behind() -> None:
    house = House()

    class Contended(ScriptedPlatform):
        def get_service(self, service: ServiceId) -> object:  # type: ignore[override]
            state = house.store.read(RANKER)
            house.store.commit(RANKER, token=state.token, state=ServiceState(id=RANKER, resting_max=9))
            return observed()

    house.platform = Contended()
    house.hear(1)
    assert house.look() == "somebody else looks at the same time"
    assert [wake.reason for wake in house.bus.wakes] == ["lost a race"]


def test_a_cloud_run_that_cannot_be_read_is_remembered_and_looked_at_again() -> None:
    house = House(platform=ScriptedPlatform(reads=[Retry("503 unavailable")]))
    house.hear(1)
    assert "503 unavailable" in house.look()
    state = house.store.read(RANKER).state
    assert state is not None
    assert state.next_look_at == at(60)
    assert {condition.type: condition.status for condition in state.conditions}["Observed"] == "Unknown"


def test_the_wake_that_is_no_wake_is_parked() -> None:
    house = House()
    handled = handle_wake({}, lambda: pushed(b'{"subject_id": "nonsense", "reason": "r"}', "9"), house.ports())
    assert (handled.verdict, handled.key) == ("parked", "reconcile:9")


def test_the_outcome_of_a_look_is_what_the_log_gets() -> None:
    handled = handle_wake({}, lambda: pushed(wake()), House().ports())
    assert handled.key == str(RANKER)
    assert handled.detail.startswith("no incident open: nothing is changed")


def test_a_quota_source_that_fails_stops_no_look() -> None:
    house = House()
    ports = house.ports()
    failing = ScriptedMetrics(Retry("no quota"))
    assert reconcile(
        RANKER, "t", ReconcilePorts(ports.store, ports.platform, ports.bus, ports.clock, ports.ids, metrics=failing, quota=failing)
    )


def test_wakes_of_reconcile_are_about_its_own_service() -> None:
    house = House()
    house.hear(PAGE_LIMIT * PAGES_PER_LOOK + 1)
    house.look()
    assert house.bus.wakes == [Wake.of(RANKER, "more facts")]


def plan(**fields: object) -> Plan:
    return Plan.model_validate({"state": ServiceState(id=RANKER), "explanation": "e", **fields})


def test_a_plan_that_decides_nothing_has_no_fingerprint() -> None:
    assert fingerprint(plan(signals=(Signal.LATENCY,)), Autonomy.ACT) is None


def test_the_words_of_a_denial_do_not_make_it_another_decision() -> None:
    one, other = (plan(denials=(Denial(code=DenialCode.COOLDOWN, message=words),)) for words in ("at 03:00", "at 03:01"))
    assert fingerprint(one, Autonomy.ACT) == fingerprint(other, Autonomy.ACT)
    assert fingerprint(one, Autonomy.ACT) != fingerprint(one, Autonomy.RECOMMEND)
    assert fingerprint(one, Autonomy.ACT) != fingerprint(plan(denials=(Denial(code=DenialCode.HOLD, message="at 03:00"),)), Autonomy.ACT)
