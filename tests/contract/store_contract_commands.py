"""What `ports.CommandStore` promises, as tests that every implementation runs. A subclass gives the fixture `harness`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.errors import TokenConflict
from shared.ports import CommandStore
from shared.records.commands import CommandFact, PatchCommand, ReconcileCommand
from shared.records.fleet import Brakes, Fleet
from shared.records.service import ServiceDocument
from shared.records.snapshot import FleetReading, SpecReading
from shared.records.subject import ServiceId
from tests.contract.store_contract import (
    FAR_AHEAD,
    RANKER,
    SCOPED,
    Harness,
    alert,
    all_facts,
    decision,
    document,
    parked,
    service_number,
    serving,
    state,
    together,
)

ODD_IDS = ["a/b", ".", "..", "__x__", "/", "~" * 128, "projects/p?x#y%2F", "`a`.b", "[0]", "a*b"]


def command(command_id: str = "c-1", author: str | None = None) -> CommandFact:
    wanted = ReconcileCommand(command="reconcile", service=RANKER)
    return CommandFact(command_id=command_id, command=wanted, claimed_author=author, subscription="projects/p/subscriptions/commands")


def fleet(acts: int) -> Fleet:
    return Fleet(brakes=Brakes(acts_per_minute=acts))


def put(commands: CommandStore, wanted: ServiceDocument, command_id: str) -> str:
    """Write the document over the one that is there, and give its token."""
    before = commands.read_spec(wanted.id)
    assert commands.commit_spec(wanted.id, command(command_id), document=wanted, token=before.token) == "created"
    token = commands.read_spec(wanted.id).token
    assert token is not None
    return token


class CommandContract:
    """The promises."""

    def test_an_empty_store_has_no_spec_no_fleet_and_nothing_parked(self, harness: Harness) -> None:
        assert harness.commands.read_spec(RANKER) == SpecReading(document=None, token=None)
        assert harness.commands.read_fleet() == FleetReading(fleet=Fleet(), token=None)
        assert harness.commands.read_parked("x") is None
        assert harness.commands.parked(limit=5) == []

    # specs

    def test_a_spec_is_written_with_its_command_and_read_back(self, harness: Harness) -> None:
        assert harness.commands.commit_spec(RANKER, command(), document=document(), token=None) == "created"
        reading = harness.commands.read_spec(RANKER)
        assert (reading.document, reading.unreadable) == (document(), None)
        assert reading.token is not None
        assert harness.store.read(RANKER).document == document()
        assert harness.commands.read_spec(SCOPED).document is None

    def test_a_spec_is_changed_on_the_token_that_was_read(self, harness: Harness) -> None:
        first = put(harness.commands, document(), "c-1")
        second = put(harness.commands, document(generation=2), "c-2")
        assert first != second
        assert harness.commands.read_spec(RANKER).document == document(generation=2)

    def test_a_write_that_changes_nothing_takes_the_token_all_the_same(self, harness: Harness) -> None:
        first = put(harness.commands, document(), "c-1")
        assert put(harness.commands, document(), "c-2") != first
        with pytest.raises(TokenConflict):
            harness.commands.commit_spec(RANKER, command("c-3"), document=document(), token=first)

    @pytest.mark.parametrize("wanted", [document(generation=9), None], ids=["change", "delete"])
    def test_a_stale_token_writes_neither_the_spec_nor_the_command(self, harness: Harness, wanted: ServiceDocument | None) -> None:
        first = put(harness.commands, document(), "c-1")
        harness.store.commit(RANKER, token=None, state=state(cursor="1"))
        second = put(harness.commands, document(generation=2), "c-2")
        for stale in (first, None, "nonsense", "", "999999", "2026-03-01T12:00:00Z"):
            with pytest.raises(TokenConflict):
                harness.commands.commit_spec(RANKER, command("c-3"), document=wanted, token=stale)
        assert harness.commands.read_spec(RANKER) == SpecReading(document=document(generation=2), token=second)
        assert harness.store.read(RANKER).state == state(cursor="1")
        assert harness.commands.commit_spec(RANKER, command("c-3"), document=document(generation=3), token=second) == "created"

    @pytest.mark.parametrize("wanted", [document(), None], ids=["write", "delete"])
    def test_a_token_of_an_absent_spec_is_a_conflict(self, harness: Harness, wanted: ServiceDocument | None) -> None:
        token = put(harness.commands, document(SCOPED), "c-1")
        with pytest.raises(TokenConflict):
            harness.commands.commit_spec(RANKER, command("c-2"), document=wanted, token=token)
        assert harness.commands.read_spec(RANKER).token is None
        assert harness.commands.create_command(RANKER, command("c-2")) == "created"

    def test_a_repeated_command_is_a_duplicate_and_writes_nothing(self, harness: Harness) -> None:
        first = put(harness.commands, document(), "c-1")
        second = put(harness.commands, document(generation=2), "c-2")
        for token in (second, first, None):
            for wanted in (document(generation=3), None):
                again = command("c-1", author="somebody else")
                assert harness.commands.commit_spec(RANKER, again, document=wanted, token=token) == "duplicate"
        assert harness.commands.read_spec(RANKER) == SpecReading(document=document(generation=2), token=second)

    def test_a_command_id_counts_for_its_own_service_only(self, harness: Harness) -> None:
        for service in (RANKER, SCOPED):
            assert harness.commands.commit_spec(service, command(), document=document(service), token=None) == "created"
        assert harness.commands.create_command(None, command()) == "created"
        assert harness.commands.create_command(RANKER, command()) == "duplicate"

    def test_a_document_of_another_service_is_refused(self, harness: Harness) -> None:
        with pytest.raises(ValueError, match=r"example\.com:acme-ml:us-central1:ranker cannot be that of acme-ml"):
            harness.commands.commit_spec(RANKER, command(), document=document(SCOPED), token=None)
        assert harness.commands.create_command(RANKER, command()) == "created"

    def test_a_spec_that_is_put_without_a_command_moves_the_token(self, harness: Harness) -> None:
        first = put(harness.commands, document(), "c-1")
        harness.store.put_service(document(), if_generation=1)
        assert harness.commands.read_spec(RANKER).token != first
        with pytest.raises(TokenConflict):
            harness.commands.commit_spec(RANKER, command("c-2"), document=document(generation=2), token=first)

    def test_a_changed_spec_leaves_the_state_alone(self, harness: Harness) -> None:
        token = harness.store.commit(RANKER, token=None, state=state(cursor="1"))
        put(harness.commands, document(), "c-1")
        put(harness.commands, document(generation=2), "c-2")
        snapshot = harness.store.read(RANKER)
        assert (snapshot.state, snapshot.token) == (state(cursor="1"), token)

    @pytest.mark.parametrize("body", [{"instances": [[[0.5, 1], [2, 3]]]}, {"inputs": {"__x__": [[1], []], "": None}}])
    def test_the_golden_request_of_a_spec_is_any_json(self, harness: Harness, body: dict[str, object]) -> None:
        wanted = document(serving=serving(golden_request=body))
        put(harness.commands, wanted, "c-1")
        put(harness.commands, wanted, "c-2")
        assert harness.commands.read_spec(RANKER).document == harness.store.read(RANKER).document == wanted

    def test_of_racing_commands_exactly_one_wins_each_token(self, harness: Harness) -> None:
        def change(number: int, generation: int, token: str | None) -> bool:
            wanted = document(generation=generation)
            try:
                return harness.commands.commit_spec(RANKER, command(f"{generation}-{number}"), document=wanted, token=token) == "created"
            except TokenConflict:
                return False

        for generation in (1, 2, 3):
            token = harness.commands.read_spec(RANKER).token
            racers = [lambda n=n, g=generation, t=token: change(n, g, t) for n in range(6)]
            assert sum(together(racers)) == 1

    def test_of_the_same_command_sent_many_times_at_once_one_is_done(self, harness: Harness) -> None:
        token = put(harness.commands, document(), "c-1")
        changed = document(generation=2)
        answers = together([lambda: harness.commands.commit_spec(RANKER, command("c-2"), document=changed, token=token)] * 8)
        assert sorted(answers) == ["created"] + ["duplicate"] * 7

    # deletion

    def test_a_deleted_service_loses_spec_and_state_and_keeps_its_history(self, harness: Harness) -> None:
        store = harness.store
        token = put(harness.commands, document(serving=serving()), "c-1")
        store.create_fact(RANKER, alert("1"))
        store.commit(RANKER, token=None, state=state(next_look_at=FAR_AHEAD, usd_per_hour_at_max=2.0), decision=decision(1))
        store.commit(SCOPED, token=None, state=state(SCOPED, next_look_at=FAR_AHEAD))
        assert harness.commands.commit_spec(RANKER, command("c-2"), document=None, token=token) == "created"
        snapshot = store.read(RANKER)
        assert (snapshot.document, snapshot.state, snapshot.token) == (None, None, None)
        assert harness.commands.read_spec(RANKER) == SpecReading(document=None, token=None)
        assert list(store.due_services(now=FAR_AHEAD, sweep_slot=RANKER.sweep_slot)) == [SCOPED]
        assert store.usd_per_hour_at_max() == 0
        assert [stored.key for stored in all_facts(store, RANKER)] == ["1:open"]
        assert store.decisions(RANKER, limit=5) == [decision(1)]
        assert store.read(SCOPED).state is not None

    def test_a_repeated_delete_does_not_delete_what_was_made_since(self, harness: Harness) -> None:
        token = put(harness.commands, document(), "c-1")
        assert harness.commands.commit_spec(RANKER, command("c-2"), document=None, token=token) == "created"
        again = put(harness.commands, document(generation=5), "c-3")
        for stated in (token, again, None):
            assert harness.commands.commit_spec(RANKER, command("c-2"), document=None, token=stated) == "duplicate"
        assert harness.commands.read_spec(RANKER).token == again

    def test_a_service_without_a_state_is_deleted_too(self, harness: Harness) -> None:
        token = put(harness.commands, document(), "c-1")
        assert harness.commands.commit_spec(RANKER, command("c-2"), document=None, token=token) == "created"
        assert harness.store.read(RANKER).document is None

    def test_what_is_not_there_can_be_deleted_and_the_command_is_kept(self, harness: Harness) -> None:
        assert harness.commands.commit_spec(RANKER, command(), document=None, token=None) == "created"
        assert harness.commands.commit_spec(RANKER, command(), document=None, token=None) == "duplicate"

    def test_tokens_from_before_a_deletion_never_fit_again(self, harness: Harness) -> None:
        specs: list[str] = []
        states: list[str] = []
        for round_ in range(3):
            specs.append(put(harness.commands, document(), f"write-{round_}"))
            states.append(harness.store.commit(RANKER, token=None, state=state(cursor=f"{round_}")))
            for old in states[:-1]:
                with pytest.raises(TokenConflict):
                    harness.store.commit(RANKER, token=old, state=state())
            for old in specs[:-1]:
                with pytest.raises(TokenConflict):
                    harness.commands.commit_spec(RANKER, command("late"), document=document(generation=9), token=old)
            harness.commands.commit_spec(RANKER, command(f"delete-{round_}"), document=None, token=specs[-1])
        assert len(set(specs)) == len(set(states)) == 3

    # commands by themselves

    @pytest.mark.parametrize("service", [RANKER, None], ids=["service", "fleet"])
    def test_a_command_that_changes_nothing_is_created_once(self, harness: Harness, service: ServiceId | None) -> None:
        assert harness.commands.create_command(service, command()) == "created"
        assert harness.commands.create_command(service, command(author="another")) == "duplicate"
        assert harness.commands.create_command(service, command("c-2")) == "created"

    @pytest.mark.parametrize("service", [RANKER, None], ids=["service", "fleet"])
    def test_a_command_that_was_done_is_there_to_be_found(self, harness: Harness, service: ServiceId | None) -> None:
        for odd in ("c-1", "a/b", ".."):
            assert not harness.commands.has_command(service, odd)
            harness.commands.create_command(service, command(odd))
            assert harness.commands.has_command(service, odd)
        assert not harness.commands.has_command(SCOPED, "c-1")

    def test_a_command_that_lost_its_race_is_not_there(self, harness: Harness) -> None:
        put(harness.commands, document(), "c-1")
        with pytest.raises(TokenConflict):
            harness.commands.commit_spec(RANKER, command("c-2"), document=document(), token=None)
        assert harness.commands.has_command(RANKER, "c-1")
        assert not harness.commands.has_command(RANKER, "c-2")

    def test_of_racing_creators_exactly_one_creates(self, harness: Harness) -> None:
        for number in range(5):
            answers = together([lambda n=number: harness.commands.create_command(RANKER, command(f"c-{n}"))] * 8)  # type: ignore[misc]
            assert sorted(answers) == ["created"] + ["duplicate"] * 7

    @pytest.mark.parametrize("service", [RANKER, None], ids=["service", "fleet"])
    def test_odd_command_ids_are_all_kept_apart(self, harness: Harness, service: ServiceId | None) -> None:
        assert [harness.commands.create_command(service, command(odd)) for odd in ODD_IDS] == ["created"] * len(ODD_IDS)
        assert [harness.commands.create_command(service, command(odd)) for odd in ODD_IDS] == ["duplicate"] * len(ODD_IDS)

    def test_odd_command_ids_do_not_reach_other_documents(self, harness: Harness) -> None:
        for odd in ("../../state/current", "../facts/x", "a/facts/b", "current"):
            assert harness.commands.create_command(RANKER, command(odd)) == "created"
        assert harness.store.read(RANKER).unreadable == {}
        assert all_facts(harness.store, RANKER) == []

    def test_a_command_may_hold_any_json(self, harness: Harness) -> None:
        deep: Any = "é🦀"
        for _ in range(30):
            deep = [deep]
        serving_patch = {"": None, "__x__": [[1], [[2]]], "a.b/c`": deep, "number": 2**63, "text": "x" * 200_000}
        patch = PatchCommand(command="patch", service=RANKER, patch={"serving": serving_patch})
        fact = CommandFact(command_id="c-1", command=patch)
        assert harness.commands.commit_spec(RANKER, fact, document=document(), token=None) == "created"
        assert harness.commands.create_command(RANKER, fact) == "duplicate"

    # the fleet

    def test_the_fleet_is_changed_on_the_token_that_was_read(self, harness: Harness) -> None:
        commands = harness.commands
        assert commands.commit_fleet(command("c-1"), fleet=fleet(5), token=None) == "created"
        first = commands.read_fleet()
        assert first.fleet == harness.store.read(RANKER).fleet == fleet(5)
        assert commands.commit_fleet(command("c-2"), fleet=fleet(6), token=first.token) == "created"
        second = commands.read_fleet()
        assert (second.fleet, second.token != first.token) == (fleet(6), True)
        assert commands.commit_fleet(command("c-3"), fleet=fleet(6), token=second.token) == "created"
        assert commands.read_fleet().token not in {first.token, second.token}

    def test_a_stale_token_of_the_fleet_writes_nothing(self, harness: Harness) -> None:
        commands = harness.commands
        commands.commit_fleet(command("c-1"), fleet=fleet(5), token=None)
        first = commands.read_fleet().token
        harness.store.put_fleet(fleet(6))
        for stale in (first, None, "nonsense"):
            with pytest.raises(TokenConflict):
                commands.commit_fleet(command("c-2"), fleet=fleet(7), token=stale)
        assert commands.read_fleet().fleet == fleet(6)
        assert commands.commit_fleet(command("c-2"), fleet=fleet(7), token=commands.read_fleet().token) == "created"

    def test_a_token_of_an_absent_fleet_is_a_conflict(self, harness: Harness) -> None:
        token = put(harness.commands, document(), "c-1")
        with pytest.raises(TokenConflict):
            harness.commands.commit_fleet(command("c-2"), fleet=fleet(7), token=token)
        assert harness.commands.read_fleet() == FleetReading(fleet=Fleet(), token=None)

    def test_a_repeated_command_of_the_fleet_is_a_duplicate_and_writes_nothing(self, harness: Harness) -> None:
        commands = harness.commands
        commands.commit_fleet(command("c-1"), fleet=fleet(5), token=None)
        reading = commands.read_fleet()
        for token in (reading.token, None):
            assert commands.commit_fleet(command("c-1"), fleet=fleet(9), token=token) == "duplicate"
        assert commands.read_fleet() == reading

    # what cannot be read

    @pytest.mark.parametrize(
        "record", [{"schema_version": 2, "new": True}, "text", None, [1], {"spec": {"serving": {"golden_request": "{"}}}]
    )
    def test_unreadable_documents_are_named_and_never_overwritten(self, harness: Harness, record: object) -> None:
        harness.write_raw("document", RANKER, "", record)
        harness.write_raw("fleet", RANKER, "", record)
        spec, whole = harness.commands.read_spec(RANKER), harness.commands.read_fleet()
        assert (spec.document, spec.token, whole.fleet, whole.token) == (None, None, Fleet(), None)
        assert spec.unreadable
        assert whole.unreadable
        for wanted in (document(), None):
            with pytest.raises(TokenConflict):
                harness.commands.commit_spec(RANKER, command(), document=wanted, token=spec.token)
        with pytest.raises(TokenConflict):
            harness.commands.commit_fleet(command(), fleet=fleet(1), token=whole.token)
        assert (harness.commands.read_spec(RANKER), harness.commands.read_fleet()) == (spec, whole)

    # parked entries

    def test_a_parked_entry_is_read_by_its_key(self, harness: Harness) -> None:
        harness.commands.park(parked("a", "first"))
        harness.commands.park(parked("a", "second"))
        harness.store.park(parked("b"))
        assert harness.commands.read_parked("a") == parked("a", "first")
        assert harness.commands.read_parked("b") == parked("b")
        assert harness.commands.read_parked("c") is None

    @pytest.mark.parametrize("key", ["/", "..", "__x__", "k" * 2_000, "🦀" * 500, ""])
    def test_odd_keys_of_parked_entries_are_found_and_discarded(self, harness: Harness, key: str) -> None:
        entry = parked(key)
        harness.commands.park(entry)
        assert harness.commands.read_parked(key) == harness.commands.read_parked(entry.key) == entry
        assert harness.commands.discard_parked(command(), key=entry.key) == "created"
        assert harness.commands.read_parked(entry.key) is None

    def test_parked_entries_come_newest_first_and_no_more_than_asked_for(self, harness: Harness) -> None:
        for number in (2, 0, 3, 1):
            harness.commands.park(parked(f"{number}", seconds=number))
        assert [entry.key for entry in harness.commands.parked(limit=10)] == ["3", "2", "1", "0"]
        assert [entry.key for entry in harness.commands.parked(limit=3)] == ["3", "2", "1"]

    def test_an_unreadable_parked_entry_is_passed_over(self, harness: Harness) -> None:
        harness.write_raw("parked", RANKER, "bad", {"x": 1})
        harness.commands.park(parked("good"))
        assert harness.commands.read_parked("bad") is None
        assert harness.commands.parked(limit=5) == [parked("good")]

    def test_a_discarded_entry_is_gone_and_the_others_stay(self, harness: Harness) -> None:
        for key in ("a", "b"):
            harness.commands.park(parked(key))
        assert harness.commands.discard_parked(command(), key="a") == "created"
        assert harness.commands.parked(limit=5) == [parked("b")]

    def test_what_is_gone_already_can_be_discarded_again(self, harness: Harness) -> None:
        harness.commands.park(parked("a"))
        for number in range(2):
            assert harness.commands.discard_parked(command(f"c-{number}"), key="a") == "created"

    def test_a_repeated_discard_leaves_what_was_parked_since(self, harness: Harness) -> None:
        harness.commands.park(parked("a"))
        assert harness.commands.discard_parked(command(), key="a") == "created"
        harness.commands.park(parked("a", "again"))
        assert harness.commands.discard_parked(command(), key="a") == "duplicate"
        assert harness.commands.read_parked("a") == parked("a", "again")

    def test_discards_share_their_ids_with_the_commands_of_the_fleet(self, harness: Harness) -> None:
        harness.commands.park(parked("a"))
        harness.commands.create_command(None, command())
        assert harness.commands.discard_parked(command(), key="a") == "duplicate"
        assert harness.commands.read_parked("a") == parked("a")

    def test_many_services_are_changed_at_once_without_a_conflict(self, harness: Harness) -> None:
        services = [service_number(number) for number in range(8)]
        together([lambda s=service: put(harness.commands, document(s), "c-1") for service in services])  # type: ignore[misc]
        assert [harness.commands.read_spec(service).document for service in services] == [document(service) for service in services]

    # what the schedule asks

    def test_a_service_with_a_new_spec_is_found_by_when_it_was_written(self, harness: Harness) -> None:
        schedule: Any = harness.store
        before = datetime(2000, 1, 1, tzinfo=UTC)
        assert list(schedule.commanded_services(since=before, until=FAR_AHEAD)) == []
        put(harness.commands, document(RANKER), "c-1")
        assert list(schedule.commanded_services(since=before, until=FAR_AHEAD)) == [RANKER]
        assert list(schedule.commanded_services(since=FAR_AHEAD, until=FAR_AHEAD + timedelta(hours=1))) == []

    def test_a_tick_is_told_when_the_last_one_began_and_a_late_one_does_not_set_it_back(self, harness: Harness) -> None:
        schedule: Any = harness.store
        first = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
        assert schedule.begin_tick(first) is None
        assert schedule.begin_tick(first + timedelta(minutes=1)) == first
        assert schedule.begin_tick(first) == first + timedelta(minutes=1)
        assert schedule.begin_tick(first + timedelta(minutes=2)) == first + timedelta(minutes=1)
