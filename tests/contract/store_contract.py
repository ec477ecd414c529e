"""What `ports.Store` promises, as tests that every implementation runs. A subclass gives the fixture `harness`.

The other ports of the store have their promises in `store_contract_commands` and `store_contract_models`.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import pytest

from shared.errors import TokenConflict
from shared.ports import CommandStore, ModelStore, Store
from shared.records.decision import Decision, DecisionInputs
from shared.records.facts import AlertFact, AuditFact, StoredFact, UnreadableFact
from shared.records.fleet import ActSlot, Brakes, Fleet
from shared.records.metric import Unknown
from shared.records.parked import ParkCode, Parked
from shared.records.service import Autonomy, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.serving import ServingSpec
from shared.records.signals import Signal
from shared.records.state import Incident, ServiceState
from shared.records.subject import ServiceId

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
RANKER = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
SCOPED = ServiceId(project="example.com:acme-ml", region="us-central1", name="ranker")
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
FAR_AHEAD = datetime(2100, 1, 1, tzinfo=UTC)
T = TypeVar("T")


class Harness(Protocol):
    """A store, and a way round it."""

    @property
    def store(self) -> Store: ...

    @property
    def commands(self) -> CommandStore: ...

    @property
    def models(self) -> ModelStore: ...

    def write_raw(self, kind: str, service: ServiceId, key: str, record: object) -> None:
        """Put any content where the record of a `fact`, `state`, `document`, `decision`, `parked`, `fleet` or `model` belongs.

        The key of a `model` is its uri.
        """


def service_number(number: int) -> ServiceId:
    return ServiceId(project="acme-ml", region="europe-west1", name=f"model-{number:04d}")


def alert(incident_id: str, state: str = "open") -> AlertFact:
    return AlertFact.model_validate(
        {
            "incident_id": incident_id,
            "state": state,
            "signal": Signal.QUEUE_FULL,
            "signal_source": "label",
            "started_at": NOW,
            "url": "https://x/é",
        }
    )


def document(service: ServiceId = RANKER, generation: int = 1, *, serving: ServingSpec | None = None) -> ServiceDocument:
    spec = ServiceSpec(scale=ScaleBounds(min_instance_count=1, max_instance_count=8), autonomy=Autonomy.ACT, serving=serving)
    return ServiceDocument(id=service, generation=generation, spec=spec)


def serving(uri: str = "gs://acme-models/ranker", **fields: object) -> ServingSpec:
    values = {"image": "tensorflow/serving:2.20.0-gpu", "model": {"name": "ranker", "uri": uri}, "cpu": "4", "memory": "16Gi", **fields}
    return ServingSpec.model_validate(values)


def state(service: ServiceId = RANKER, **fields: object) -> ServiceState:
    return ServiceState.model_validate({"id": service, **fields})


def decision(number: int, service: ServiceId = RANKER) -> Decision:
    inputs = DecisionInputs(
        bounds=None,
        cloud_run_generation=None,
        instance_count=Unknown(reason="no source"),
        quota_instances=Unknown(reason="no source"),
        open_incidents=0,
        usd_per_instance_hour=0.6,
    )
    return Decision.model_validate(
        {
            "decision_id": f"decision-{number:04d}",
            "subject": service,
            "decided_at": NOW + timedelta(seconds=number),
            "trigger": "alert",
            "generation": 1,
            "mode": Autonomy.ACT,
            "signals": (Signal.QUEUE_FULL,),
            "inputs": inputs,
            "changes": (),
            "denials": (),
            "explanation": "nothing to do",
        }
    )


def parked(key: str = "alert:1", reason: str = "first", seconds: int = 0) -> Parked:
    return Parked.of(
        code=ParkCode.UNPARSABLE,
        reason=reason,
        source="alert",
        body=b"\xff\x00{",
        now=NOW + timedelta(seconds=seconds),
        key=key,
        attributes={"": "no name", "__x__": "reserved", "a.b/c`": "\u00e9\n"},
    )


def together(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run all of them at once, each in its own thread, and give their results in order."""
    barrier = threading.Barrier(len(tasks))

    def run(task: Callable[[], T]) -> T:
        barrier.wait(10)
        return task()

    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(run, tasks))


def all_facts(store: Store, service: ServiceId, limit: int = 7) -> list[StoredFact | UnreadableFact]:
    found: list[StoredFact | UnreadableFact] = []
    while True:
        page = store.facts_after(service, found[-1].position if found else None, limit=limit)
        found += page.facts
        assert len(page.facts) <= limit
        if not page.more:
            return found


class StoreContract:
    """The promises."""

    def test_an_empty_store_has_nothing_and_says_so(self, harness: Harness) -> None:
        store = harness.store
        snapshot = store.read(RANKER)
        assert (snapshot.document, snapshot.state, snapshot.token, snapshot.unreadable) == (None, None, None, {})
        assert snapshot.fleet == Fleet()
        assert store.state_token(RANKER) is None
        page = store.facts_after(RANKER, None, limit=10)
        assert (page.facts, page.more) == ((), False)
        assert store.facts_by_key(RANKER, []) == {}
        assert store.facts_by_key(RANKER, ["x"]) == {}
        assert store.acts_in_minute("202603011200") == 0
        assert store.usd_per_hour_at_max() == 0
        assert list(store.due_services(now=FAR_AHEAD, sweep_slot=RANKER.sweep_slot)) == []
        assert list(store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == []
        assert store.decisions(RANKER, limit=5) == []
        assert store.parked(limit=5) == []

    # facts

    def test_a_fact_is_created_once_and_its_first_content_stays(self, harness: Harness) -> None:
        fact = alert("incident-1")
        assert harness.store.create_fact(RANKER, fact) == "created"
        assert harness.store.create_fact(RANKER, fact.model_copy(update={"summary": "another"})) == "duplicate"
        assert harness.store.create_fact(SCOPED, fact) == "created"
        assert harness.store.create_fact(RANKER, alert("incident-1", "closed")) == "created"
        first, second = all_facts(harness.store, RANKER)
        assert isinstance(first, StoredFact)
        assert (first.key, first.fact) == ("incident-1:open", fact)
        assert second.key == "incident-1:closed"
        assert [stored.key for stored in all_facts(harness.store, SCOPED)] == ["incident-1:open"]

    def test_changes_by_others_stand_among_the_alerts(self, harness: Harness) -> None:
        change = AuditFact(
            insert_id="1x2y3z", log="activity", method="google.cloud.run.v2.Services.UpdateService", principal="mia@acme.com", generation=7
        )
        for fact in (alert("1"), change, alert("2")):
            assert harness.store.create_fact(RANKER, fact) == "created"
        assert harness.store.create_fact(RANKER, change.model_copy(update={"log": "system_event"})) == "duplicate"
        found = [stored.fact for stored in all_facts(harness.store, RANKER) if isinstance(stored, StoredFact)]
        assert found == [alert("1"), change, alert("2")]
        assert harness.store.facts_by_key(RANKER, ["1x2y3z"])["1x2y3z"].fact == change

    def test_a_fact_that_was_stored_before_its_kinds_grew_still_loads(self, harness: Harness) -> None:
        record = {
            "schema_version": 1,
            "kind": "alert",
            "incident_id": "old",
            "state": "open",
            "signal": "latency",
            "signal_source": "label",
        }
        harness.write_raw("fact", RANKER, "old:open", record)
        (stored,) = all_facts(harness.store, RANKER)
        assert isinstance(stored, StoredFact)
        assert stored.fact == AlertFact(incident_id="old", state="open", signal=Signal.LATENCY, signal_source="label")

    def test_of_racing_creators_exactly_one_creates(self, harness: Harness) -> None:
        for number in range(20):
            fact = alert(f"incident-{number}")
            answers = together([lambda fact=fact: harness.store.create_fact(RANKER, fact)] * 8)  # type: ignore[misc]
            assert sorted(answers) == ["created"] + ["duplicate"] * 7

    def test_positions_are_commit_order_and_sort_as_text(self, harness: Harness) -> None:
        keys = [f"{(number * 37) % 25:02d}" for number in range(25)]
        for key in keys:
            harness.store.create_fact(RANKER, alert(key))
        found = all_facts(harness.store, RANKER)
        assert [stored.key for stored in found] == [f"{key}:open" for key in keys]
        positions = [stored.position for stored in found]
        assert positions == sorted(set(positions))
        times = [stored.created_at for stored in found if isinstance(stored, StoredFact)]
        assert times == sorted(times)
        page = harness.store.facts_after(RANKER, positions[9], limit=15)
        assert [stored.position for stored in page.facts] == positions[10:]
        assert not page.more
        assert harness.store.facts_after(RANKER, positions[9], limit=14).more
        assert harness.store.facts_after(RANKER, positions[-1], limit=1).facts == ()

    def test_a_reader_that_pages_while_others_write_misses_nothing(self, harness: Harness) -> None:
        writers, each = 6, 40
        done = threading.Event()

        def write(writer: int) -> None:
            for number in range(each):
                assert harness.store.create_fact(RANKER, alert(f"{(number * 7 + writer) % 100:02d}-{writer}-{number}")) == "created"

        def write_all() -> list[str]:
            try:
                together([lambda writer=writer: write(writer) for writer in range(writers)])  # type: ignore[misc]
            finally:
                done.set()
            return []

        def read() -> list[str]:
            position: str | None = None
            keys: list[str] = []
            while True:
                last_look = done.is_set()
                page = harness.store.facts_after(RANKER, position, limit=25)
                positions = [stored.position for stored in page.facts]
                assert positions == sorted(positions)
                assert not positions or position is None or positions[0] > position
                position = positions[-1] if positions else position
                keys += [stored.key for stored in page.facts]
                if last_look and not page.more:
                    return keys

        _, keys = together([write_all, read])
        assert len(set(keys)) == writers * each

    @pytest.mark.parametrize(
        "incident_id",
        ["a/b", "..", ".", "__x__", "x" * 250, "é" * 250, "🦀" * 200, " ", "a\nb", "projects/p/x?y#z%2F", "\x00", "`a`.b"],
    )
    def test_odd_keys_are_kept_and_found(self, harness: Harness, incident_id: str) -> None:
        fact = alert(incident_id)
        assert harness.store.create_fact(RANKER, fact) == "created"
        assert harness.store.create_fact(RANKER, fact) == "duplicate"
        (stored,) = all_facts(harness.store, RANKER)
        assert stored.key == fact.key
        assert harness.store.facts_by_key(RANKER, [fact.key, "missing"]) == {fact.key: stored}

    @pytest.mark.parametrize("key", ["/", "..", "__x__", "k" * 2_000, "🦀" * 500, ""])
    def test_odd_keys_of_parked_entries_are_kept(self, harness: Harness, key: str) -> None:
        entry = parked(key)
        harness.store.park(entry)
        harness.store.park(entry)
        harness.store.commit(RANKER, token=None, state=state(), parked=[entry])
        assert harness.store.parked(limit=5) == [entry]

    def test_facts_are_found_by_their_natural_keys(self, harness: Harness) -> None:
        for number in range(5):
            harness.store.create_fact(RANKER, alert(f"{number}"))
        found = harness.store.facts_by_key(RANKER, ["1:open", "3:open", "1:open", "9:open", "1:closed"])
        assert sorted(found) == ["1:open", "3:open"]
        assert found["1:open"] == all_facts(harness.store, RANKER)[1]

    # state

    def test_a_commit_is_read_back_as_it_was(self, harness: Harness) -> None:
        incident = Incident(
            incident_id="i", signal=Signal.LATENCY, started_at=NOW, first_seen_at=NOW, expires_at=FAR_AHEAD, observed_value=0.1, url="é"
        )
        wanted = state(cursor="c", next_look_at=NOW, usd_per_hour_at_max=1.25, incidents=(incident,))
        token = harness.store.commit(RANKER, token=None, state=wanted, decision=decision(1))
        snapshot = harness.store.read(RANKER)
        assert (snapshot.state, snapshot.token, snapshot.document) == (wanted, token, None)
        assert harness.store.state_token(RANKER) == token
        assert harness.store.read(SCOPED).state is None
        assert harness.store.decisions(RANKER, limit=5) == [decision(1)]

    def test_a_commit_with_a_stale_token_writes_nothing(self, harness: Harness) -> None:
        store = harness.store
        first = store.commit(RANKER, token=None, state=state(cursor="1"))
        second = store.commit(RANKER, token=first, state=state(cursor="2"))
        assert first != second
        for stale in (first, None, "nonsense", "", "999999", "2026-03-01T12:00:00Z"):
            with pytest.raises(TokenConflict):
                store.commit(
                    RANKER,
                    token=stale,
                    state=state(cursor="3"),
                    decision=decision(1),
                    parked=[parked()],
                    act_slot=ActSlot(minute="202603011200", index=0),
                )
        snapshot = store.read(RANKER)
        assert (snapshot.state, snapshot.token) == (state(cursor="2"), second)
        assert store.decisions(RANKER, limit=5) == []
        assert store.parked(limit=5) == []
        assert store.acts_in_minute("202603011200") == 0

    def test_a_token_of_an_absent_state_is_a_conflict(self, harness: Harness) -> None:
        token = harness.store.commit(SCOPED, token=None, state=state(SCOPED))
        with pytest.raises(TokenConflict):
            harness.store.commit(RANKER, token=token, state=state())
        assert harness.store.state_token(RANKER) is None

    def test_a_commit_that_changes_nothing_takes_the_token_all_the_same(self, harness: Harness) -> None:
        first = harness.store.commit(RANKER, token=None, state=state())
        second = harness.store.commit(RANKER, token=first, state=state())
        assert first != second
        with pytest.raises(TokenConflict):
            harness.store.commit(RANKER, token=first, state=state())

    def test_a_taken_act_slot_stops_the_whole_commit(self, harness: Harness) -> None:
        store, slot = harness.store, ActSlot(minute="202603011200", index=0)
        store.commit(SCOPED, token=None, state=state(SCOPED), act_slot=slot)
        token = store.commit(RANKER, token=None, state=state(cursor="1"))
        store.park(parked("there", "first"))
        with pytest.raises(TokenConflict):
            store.commit(
                RANKER,
                token=token,
                state=state(cursor="2"),
                decision=decision(1),
                parked=[parked("there", "second"), parked("new")],
                act_slot=slot,
            )
        snapshot = store.read(RANKER)
        assert (snapshot.state, snapshot.token) == (state(cursor="1"), token)
        assert store.decisions(RANKER, limit=5) == []
        assert [entry.key for entry in store.parked(limit=5)] == ["there"]
        assert store.commit(RANKER, token=token, state=state(cursor="2"), act_slot=ActSlot(minute=slot.minute, index=1))
        assert store.acts_in_minute(slot.minute) == 2
        assert store.acts_in_minute("202603011201") == 0

    def test_of_racing_acts_exactly_one_takes_the_slot(self, harness: Harness) -> None:
        slot = ActSlot(minute="202603011200", index=0)

        def act(number: int) -> bool:
            service = service_number(number)
            try:
                harness.store.commit(service, token=None, state=state(service), act_slot=slot)
            except TokenConflict:
                return False
            return True

        assert sum(together([lambda number=number: act(number) for number in range(8)])) == 1  # type: ignore[misc]
        assert harness.store.acts_in_minute(slot.minute) == 1
        assert sum(harness.store.state_token(service_number(number)) is not None for number in range(8)) == 1

    def test_a_decision_is_never_overwritten(self, harness: Harness) -> None:
        token = harness.store.commit(RANKER, token=None, state=state(), decision=decision(1))
        with pytest.raises(TokenConflict):
            harness.store.commit(RANKER, token=token, state=state(cursor="2"), decision=decision(1).model_copy(update={"trigger": "x"}))
        assert harness.store.decisions(RANKER, limit=5) == [decision(1)]
        assert harness.store.state_token(RANKER) == token

    def test_parked_entries_that_exist_are_left_and_do_not_fail_the_commit(self, harness: Harness) -> None:
        store = harness.store
        store.park(parked("a", "first"))
        store.park(parked("a", "second"))
        token = store.commit(
            RANKER, token=None, state=state(), parked=[parked("a", "third"), parked("b", "first", 1), parked("c", "first", 2)]
        )
        store.commit(
            RANKER, token=token, state=state(), parked=[parked("b", "x"), parked("a", "x"), parked("b", "y"), parked("d", "first", 3)]
        )
        kept = store.parked(limit=10)
        assert [(entry.key, entry.reason) for entry in kept] == [("d", "first"), ("c", "first"), ("b", "first"), ("a", "first")]
        assert kept[3] == parked("a", "first")
        assert [entry.key for entry in store.parked(limit=2)] == ["d", "c"]

    def test_of_racing_commits_exactly_one_wins_each_token(self, harness: Harness) -> None:
        store, threads, wins_wanted = harness.store, 8, 25
        store.commit(RANKER, token=None, state=state(incidents_not_kept=0))

        def count_up(_thread: int) -> list[str]:
            tokens: list[str] = []
            while len(tokens) < wins_wanted:
                snapshot = store.read(RANKER)
                assert snapshot.state is not None
                counted = snapshot.state.incidents_not_kept + 1
                try:
                    store.commit(RANKER, token=snapshot.token, state=state(incidents_not_kept=counted))
                except TokenConflict:
                    continue
                tokens.append(str(snapshot.token))
            return tokens

        spent = [token for tokens in together([lambda n=n: count_up(n) for n in range(threads)]) for token in tokens]  # type: ignore[misc]
        assert len(spent) == len(set(spent)) == threads * wins_wanted
        assert store.read(RANKER).state == state(incidents_not_kept=threads * wins_wanted)

    def test_decisions_come_newest_first(self, harness: Harness) -> None:
        token = None
        for number in (2, 0, 3, 1):
            token = harness.store.commit(RANKER, token=token, state=state(cursor=f"{number}"), decision=decision(number))
        harness.store.commit(SCOPED, token=None, state=state(SCOPED), decision=decision(9, SCOPED))
        assert harness.store.decisions(RANKER, limit=3) == [decision(3), decision(2), decision(1)]

    # specs and the fleet

    def test_a_spec_is_written_only_on_the_generation_it_was_made_from(self, harness: Harness) -> None:
        store = harness.store
        with pytest.raises(TokenConflict):
            store.put_service(document(generation=2), if_generation=1)
        store.put_service(document(), if_generation=None)
        with pytest.raises(TokenConflict):
            store.put_service(document(generation=9), if_generation=None)
        with pytest.raises(TokenConflict):
            store.put_service(document(generation=9), if_generation=2)
        store.put_service(document(generation=2), if_generation=1)
        with pytest.raises(TokenConflict):
            store.put_service(document(generation=2), if_generation=1)
        assert store.read(RANKER).document == document(generation=2)
        store.put_service(document(SCOPED), if_generation=None)
        assert store.read(SCOPED).document == document(SCOPED)

    def test_of_racing_specs_exactly_one_is_written(self, harness: Harness) -> None:
        def write(max_instance_count: int, generation: int | None) -> bool:
            spec = ServiceSpec(scale=ScaleBounds(max_instance_count=max_instance_count))
            wanted = ServiceDocument(id=RANKER, generation=(generation or 0) + 1, spec=spec)
            try:
                harness.store.put_service(wanted, if_generation=generation)
            except TokenConflict:
                return False
            return True

        for generation in (None, 1, 2):
            writers = [lambda n=n, g=generation: write(n, g) for n in range(1, 7)]
            assert sum(together(writers)) == 1
        stored = harness.store.read(RANKER).document
        assert stored is not None
        assert stored.generation == 3

    @pytest.mark.parametrize("body", [{"instances": [[[0.5, 1], [2, 3]]]}, {"inputs": {"__x__": [[1], []], "": None}}, {}])
    def test_the_golden_request_of_a_spec_is_any_json(self, harness: Harness, body: dict[str, object]) -> None:
        wanted = document(serving=serving(golden_request=body))
        harness.store.put_service(wanted, if_generation=None)
        assert harness.store.read(RANKER).document == wanted
        changed = wanted.model_copy(update={"generation": 2})
        harness.store.put_service(changed, if_generation=1)
        assert harness.store.read(RANKER).document == changed

    def test_the_fleet_document_is_written_and_read(self, harness: Harness) -> None:
        for acts in (5, 6):
            fleet = Fleet(brakes=Brakes(acts_per_minute=acts, usd_per_hour=10.5))
            harness.store.put_fleet(fleet)
            assert harness.store.read(RANKER).fleet == fleet

    def test_dollars_are_summed_over_the_states_that_have_a_price(self, harness: Harness) -> None:
        token = harness.store.commit(RANKER, token=None, state=state(usd_per_hour_at_max=100.0))
        harness.store.commit(SCOPED, token=None, state=state(SCOPED, usd_per_hour_at_max=0.25))
        harness.store.commit(service_number(1), token=None, state=state(service_number(1)))
        assert harness.store.usd_per_hour_at_max() == pytest.approx(100.25)
        harness.store.commit(RANKER, token=token, state=state(usd_per_hour_at_max=2.0))
        assert harness.store.usd_per_hour_at_max() == pytest.approx(2.25)

    # what the schedule asks for

    def test_due_services_come_first_then_the_slot_each_once(self, harness: Harness) -> None:
        store, many = harness.store, [service_number(number) for number in range(30)]
        for service in many:
            store.put_service(document(service), if_generation=None)
        slot = many[0].sweep_slot
        in_slot = {str(service) for service in many if service.sweep_slot == slot}
        due = {many[0]: -1.0, many[1]: -0.000001, many[2]: 0.0, many[3]: 0.000001, many[4]: 3600.0}
        for service, seconds in due.items():
            store.commit(service, token=None, state=state(service, next_look_at=NOW + timedelta(seconds=seconds)))
        store.commit(many[5], token=None, state=state(many[5]))
        found = list(store.due_services(now=NOW, sweep_slot=slot))
        assert found[:3] == many[:3]
        assert {str(service) for service in found[3:]} == in_slot - {str(service) for service in many[:3]}
        assert len(found) == len(set(found))
        other = next(number for number in range(10) if number not in {service.sweep_slot for service in many} or number != slot)
        assert set(store.due_services(now=LONG_AGO, sweep_slot=other)) == {service for service in many if service.sweep_slot == other}

    def test_unfolded_services_are_those_with_facts_behind_the_cursor(self, harness: Harness) -> None:
        store = harness.store
        folded, behind, fresh, quiet = (service_number(number) for number in range(4))
        for service in (folded, behind, fresh):
            for number in range(3):
                store.create_fact(service, alert(f"{number}"))
        positions = {service: [stored.position for stored in all_facts(store, service)] for service in (folded, behind)}
        store.commit(folded, token=None, state=state(folded, cursor=positions[folded][2]))
        store.commit(behind, token=None, state=state(behind, cursor=positions[behind][1]))
        store.commit(quiet, token=None, state=state(quiet))
        assert list(store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == [behind, fresh]
        assert list(store.unfolded_services(since=LONG_AGO, until=LONG_AGO + timedelta(days=1))) == []
        times = [stored.created_at for stored in all_facts(store, fresh) if isinstance(stored, StoredFact)]
        assert fresh in list(store.unfolded_services(since=times[2], until=times[2] + timedelta(microseconds=1)))
        assert fresh not in list(store.unfolded_services(since=times[2] + timedelta(microseconds=1), until=FAR_AHEAD))
        assert fresh not in list(store.unfolded_services(since=LONG_AGO, until=times[0]))
        store.commit(fresh, token=None, state=state(fresh))
        assert list(store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == [behind, fresh]

    # what cannot be read

    @pytest.mark.parametrize("record", [{"schema_version": 2, "new": True}, "text", None, [1], {"id": 5}])
    def test_unreadable_documents_are_named_and_never_overwritten(self, harness: Harness, record: object) -> None:
        store = harness.store
        store.commit(SCOPED, token=None, state=state(SCOPED))
        for kind in ("document", "state", "fleet"):
            harness.write_raw(kind, RANKER, "", record)
        snapshot = store.read(RANKER)
        assert set(snapshot.unreadable) == {"document", "state", "fleet"}
        assert all(snapshot.unreadable.values())
        assert (snapshot.document, snapshot.state, snapshot.token, snapshot.fleet) == (None, None, None, Fleet())
        for generation in (None, 1):
            with pytest.raises(TokenConflict):
                store.put_service(document(), if_generation=generation)
        with pytest.raises(TokenConflict):
            store.commit(RANKER, token=snapshot.token, state=state())
        assert set(store.read(RANKER).unreadable) == {"document", "state", "fleet"}
        assert set(store.read(SCOPED).unreadable) == {"fleet"}

    def test_unreadable_facts_stand_in_their_place(self, harness: Harness) -> None:
        store = harness.store
        store.create_fact(RANKER, alert("1"))
        harness.write_raw("fact", RANKER, "odd", {"kind": "from-the-future", "n": 1})
        store.create_fact(RANKER, alert("2"))
        first, odd, last = all_facts(store, RANKER)
        assert (first.key, last.key) == ("1:open", "2:open")
        assert isinstance(odd, UnreadableFact)
        assert odd.key == "odd"
        assert "from-the-future" in odd.body
        assert odd.error
        assert first.position < odd.position < last.position
        assert sorted(store.facts_by_key(RANKER, ["odd", "1:open"])) == ["1:open"]
        assert list(store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == [RANKER]

    def test_unreadable_decisions_and_parked_entries_are_passed_over(self, harness: Harness) -> None:
        store = harness.store
        store.commit(RANKER, token=None, state=state(), decision=decision(1), parked=[parked("good")])
        harness.write_raw("decision", RANKER, "decision-9999", {"x": 1})
        harness.write_raw("parked", RANKER, "bad", {"x": 1})
        assert store.decisions(RANKER, limit=5) == [decision(1)]
        assert store.parked(limit=5) == [parked("good")]
