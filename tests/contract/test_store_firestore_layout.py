"""Where documents lie in Firestore, what is indexed of them, and what happens to those that others or older code wrote."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from google.cloud import firestore

from shared.deployment import REQUIRED_INDEXES, TTL_FIELDS, UNINDEXED_FIELDS
from shared.gcp.firestore_layout import position_of, read_position
from shared.records.decision import DECISION_TTL_SECONDS
from shared.records.facts import FACT_TTL_SECONDS
from shared.records.fleet import ActSlot, Fleet
from shared.records.subject import document_id
from tests.contract.store_contract import (
    FAR_AHEAD,
    LONG_AGO,
    NOW,
    RANKER,
    alert,
    all_facts,
    decision,
    document,
    parked,
    serving,
    state,
)
from tests.contract.store_contract_commands import command, fleet, put
from tests.contract.store_contract_models import RANKER_MODEL, model_state, upload
from tests.support.firestore_harness import FirestoreHarness

pytestmark = pytest.mark.emulator


def fields_of(client: firestore.Client, path: str) -> dict[str, Any]:
    return client.document(path).get(timeout=10).to_dict() or {}


def test_documents_lie_where_the_layout_says(harness: FirestoreHarness) -> None:
    store, client = harness.store, harness.client
    slot = ActSlot(minute="202603011200", index=3)
    store.create_fact(RANKER, alert("a/b"))
    store.put_service(document(), if_generation=None)
    store.put_fleet(Fleet())
    wanted = state(next_look_at=NOW, usd_per_hour_at_max=2.0)
    store.commit(RANKER, token=None, state=wanted, decision=decision(1), parked=[parked("p")], act_slot=slot)
    root = f"services/{RANKER}"
    fact = fields_of(client, f"{root}/facts/{document_id('a/b:open')}")
    assert (fact["record"], fact["schema_version"]) == (alert("a/b").to_stored(), 1)
    assert abs((fact["expire_at"] - fact["created_at"]).total_seconds() - FACT_TTL_SECONDS) < 60
    spec = fields_of(client, root)
    assert isinstance(spec.pop("committed_at"), datetime)
    assert spec == {"record": document().to_stored(), "sweep_slot": RANKER.sweep_slot}
    stored = fields_of(client, f"{root}/state/current")
    assert isinstance(stored.pop("committed_at"), datetime)
    assert stored == {"record": wanted.to_stored(), "next_look_at": NOW, "usd_per_hour_at_max": 2.0}
    kept = fields_of(client, f"{root}/decisions/decision-0001")
    assert (kept["record"], kept["decided_at"]) == (decision(1).to_stored(), NOW + timedelta(seconds=1))
    assert kept["expire_at"] - kept["decided_at"] == timedelta(seconds=DECISION_TTL_SECONDS)
    entry = fields_of(client, "parked/p")
    assert json.loads(entry.pop("attributes")) == parked("p").attributes
    assert {**entry, "parked_at": None} == {
        name: None if name == "parked_at" else value for name, value in parked("p").to_stored().items() if name != "attributes"
    }
    brakes = fields_of(client, "fleet/current")
    assert isinstance(brakes.pop("committed_at"), datetime)
    assert brakes == {"record": Fleet().to_stored()}
    taken = fields_of(client, "fleet/current/acts/202603011200-0003")
    assert taken == {"minute": "202603011200", "expire_at": datetime(2026, 3, 2, 12, 0, tzinfo=UTC)}


def test_commands_lie_where_the_layout_says(harness: FirestoreHarness) -> None:
    client, wanted = harness.client, document(serving=serving(golden_request={"instances": [[1, 2]]}))
    harness.commands.commit_spec(RANKER, command("a/b"), document=wanted, token=None)
    harness.commands.commit_fleet(command("c"), fleet=Fleet(), token=None)
    kept = fields_of(client, f"services/{RANKER}/commands/{document_id('a/b')}")
    assert (json.loads(kept["record"]), kept["schema_version"]) == (command("a/b").to_stored(), 1)
    assert abs((kept["expire_at"] - kept["created_at"]).total_seconds() - FACT_TTL_SECONDS) < 60
    assert json.loads(fields_of(client, "fleet/current/commands/c")["record"]) == command("c").to_stored()
    stored = fields_of(client, f"services/{RANKER}")
    assert sorted(stored) == ["committed_at", "model_uri", "record", "sweep_slot"]
    assert (stored["model_uri"], stored["sweep_slot"]) == (RANKER_MODEL.uri, RANKER.sweep_slot)
    assert json.loads(stored["record"]["spec"]["serving"]["golden_request"]) == {"instances": [[1, 2]]}
    put(harness.commands, document(generation=2), "d")
    assert sorted(fields_of(client, f"services/{RANKER}")) == ["committed_at", "record", "sweep_slot"]


def test_models_lie_where_the_layout_says(harness: FirestoreHarness) -> None:
    client, fact = harness.client, upload("ranker/7/a/b")
    state = model_state(next_look_at=NOW, listed_at=NOW + timedelta(seconds=1))
    harness.models.create_upload(RANKER_MODEL, fact)
    harness.models.commit_model(RANKER_MODEL, token=None, state=state)
    root = f"models/{RANKER_MODEL.id}"
    kept = fields_of(client, f"{root}/uploads/{document_id(fact.key)}")
    assert abs((kept.pop("expire_at") - kept.pop("created_at")).total_seconds() - FACT_TTL_SECONDS) < 60
    assert kept == {"record": fact.to_stored(), "uri": RANKER_MODEL.uri, "schema_version": 1}
    stored = fields_of(client, f"{root}/model_state/current")
    assert isinstance(stored.pop("committed_at"), datetime)
    assert stored == {"record": state.to_stored(), "uri": RANKER_MODEL.uri, "next_look_at": NOW, "listed_at": NOW + timedelta(seconds=1)}


def everything_written(harness: FirestoreHarness) -> None:
    """One document of each kind."""
    slot = ActSlot(minute="202603011200", index=0)
    put(harness.commands, document(serving=serving()), "c")
    harness.commands.commit_fleet(command("c"), fleet=fleet(5), token=None)
    harness.store.create_fact(RANKER, alert("1"))
    harness.store.commit(RANKER, token=None, state=state(), decision=decision(1), parked=[parked()], act_slot=slot)
    harness.models.create_upload(RANKER_MODEL, upload())
    harness.models.commit_model(RANKER_MODEL, token=None, state=model_state())
    harness.store.begin_tick(NOW)


def every_document(root: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of its collection, and the fields, of every document; those that are only parents of others have none."""
    for collection in root.collections(timeout=10):
        for reference in collection.list_documents(timeout=10):
            yield collection.id, reference.get(timeout=10).to_dict() or {}
            yield from every_document(reference)


def test_every_large_or_ever_growing_field_is_kept_out_of_the_indexes(harness: FirestoreHarness) -> None:
    everything_written(harness)
    found = {(group, name) for group, fields in every_document(harness.client) for name in fields}
    grown = {field for field in found if field[1] in {"record", "committed_at", "body", "attributes"}}
    # The schedule asks which specs were written since its last tick.
    assert grown - {("services", "committed_at")} <= set(UNINDEXED_FIELDS)
    assert set(UNINDEXED_FIELDS) <= found
    assert len(UNINDEXED_FIELDS) == len(set(UNINDEXED_FIELDS))


def test_every_document_that_says_when_it_expires_is_deleted_then(harness: FirestoreHarness) -> None:
    everything_written(harness)
    expiring = {group for group, fields in every_document(harness.client) if "expire_at" in fields}
    assert {(group, "expire_at") for group in expiring} == set(TTL_FIELDS)


def test_every_listing_over_all_collections_of_a_name_has_its_index(harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    collection_group = harness.client.collection_group

    def ask(name: str) -> object:
        asked.append(name)
        return collection_group(name)

    monkeypatch.setattr(harness.client, "collection_group", ask)
    list(harness.store.due_services(now=NOW, sweep_slot=0))
    list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD))
    harness.store.usd_per_hour_at_max()
    list(harness.models.due_models(now=NOW))
    list(harness.models.unlisted_models(since=LONG_AGO, until=FAR_AHEAD))
    assert sorted(asked) == sorted(group for group, _, _ in REQUIRED_INDEXES)
    assert {scope for _, _, scope in REQUIRED_INDEXES} == {"COLLECTION_GROUP"}


def test_positions_sort_as_firestore_does_and_are_read_back() -> None:
    moment = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)
    pairs = [(moment, "a"), (moment, "a|b"), (moment, "é"), (moment, "🦀"), (moment + timedelta(microseconds=1), "A")]
    positions = [position_of(*pair) for pair in pairs]
    assert all(before < after for before, after in pairwise(positions))
    assert [read_position(position) for position in positions] == pairs
    with pytest.raises(ValueError, match="want <time>"):
        read_position("0000000000000000007")


def test_a_spec_that_was_written_without_its_model_follows_from_its_next_write_on(harness: FirestoreHarness) -> None:
    written = document(serving=serving())
    fields = {"record": written.to_stored(), "sweep_slot": RANKER.sweep_slot}
    harness.client.document(f"services/{RANKER}").set(fields, timeout=10)
    assert harness.models.followers(RANKER_MODEL) == []
    assert harness.commands.read_spec(RANKER).document == written
    put(harness.commands, written, "c-1")
    assert harness.models.followers(RANKER_MODEL) == [RANKER]


def test_a_golden_request_that_was_stored_as_a_map_still_loads(harness: FirestoreHarness) -> None:
    written = document(serving=serving(golden_request={"instances": [1.5]}))
    harness.write_raw("document", RANKER, "", written.to_stored())
    assert harness.commands.read_spec(RANKER).document == written
    assert harness.store.read(RANKER).document == written


def test_documents_of_no_model_are_passed_over(harness: FirestoreHarness) -> None:
    for root, uri in (
        ("models/0123456789abcdef0123", RANKER_MODEL.uri),
        (f"services/{RANKER}", RANKER_MODEL.uri),
        (f"models/{RANKER_MODEL.id}", None),
        (f"models/{RANKER_MODEL.id}", "/models/ranker"),
        (f"models/{RANKER_MODEL.id}", [5]),
    ):
        harness.client.document(f"{root}/model_state/current").set({"record": {}, "uri": uri, "next_look_at": NOW}, timeout=10)
        harness.client.document(f"{root}/uploads/u").set({"record": {}, "uri": uri, "created_at": NOW}, timeout=10)
        assert list(harness.models.due_models(now=FAR_AHEAD)) == []
        assert list(harness.models.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)) == []


def test_documents_of_other_subjects_are_not_services(harness: FirestoreHarness) -> None:
    client = harness.client
    for root in ("models/0123456789abcdef0123", "services/no-service-id"):
        client.document(f"{root}/state/current").set({"record": {}, "next_look_at": NOW}, timeout=10)
        client.document(f"{root}/facts/f").set({"record": {}, "created_at": NOW}, timeout=10)
    client.document("services/no-service-id").set({"sweep_slot": 3}, timeout=10)
    assert list(harness.store.due_services(now=FAR_AHEAD, sweep_slot=3)) == []
    assert list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == []


def test_facts_without_a_time_are_not_in_the_way(harness: FirestoreHarness) -> None:
    for key, created_at in (("text", "2100"), ("none", None), ("map", {"a": 1})):
        fields = {"record": alert(key).to_stored(), "created_at": created_at}
        harness.client.document(f"services/{RANKER}/facts/{key}:open").create(fields, timeout=10)
    harness.store.create_fact(RANKER, alert("good"))
    assert [stored.key for stored in all_facts(harness.store, RANKER)] == ["good:open"]
    assert list(harness.store.facts_by_key(RANKER, ["text:open", "good:open"])) == ["good:open"]
    assert list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == [RANKER]
