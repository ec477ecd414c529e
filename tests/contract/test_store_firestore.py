"""The store's promises on Google's Firestore emulator, and what is Firestore's own: late commits, long listings."""

from datetime import datetime, timedelta

import pytest
from google.cloud import firestore

from shared.errors import TokenConflict
from shared.gcp import firestore_calls, firestore_models, firestore_queries
from shared.gcp.firestore_store import FirestoreStore
from shared.records.model_subject import ModelSubject
from tests.contract.store_contract import (
    FAR_AHEAD,
    LONG_AGO,
    NOW,
    RANKER,
    Harness,
    StoreContract,
    alert,
    all_facts,
    service_number,
    state,
)
from tests.contract.store_contract_commands import CommandContract
from tests.contract.store_contract_models import RANKER_MODEL, ModelContract, model_number, model_state, upload
from tests.support.firestore_harness import SETTLE_SECONDS, FirestoreHarness

pytestmark = pytest.mark.emulator


class TestFirestoreEmulator(StoreContract, CommandContract, ModelContract):
    @pytest.fixture
    def harness(self, client: firestore.Client) -> Harness:
        return FirestoreHarness(client)


def test_reconcile_has_all_of_the_store_in_one(harness: FirestoreHarness) -> None:
    store = harness.store
    store.create_upload(RANKER_MODEL, upload())
    token = store.commit_model(RANKER_MODEL, token=None, state=model_state(next_look_at=NOW))
    assert harness.models.read_model(RANKER_MODEL).token == token
    assert list(store.due_models(now=NOW)) == list(store.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)) == [RANKER_MODEL]


def test_the_window_of_unlisted_models_begins_and_ends_sharp(harness: FirestoreHarness) -> None:
    moment = timedelta(microseconds=1)
    fields = {"record": {}, "uri": RANKER_MODEL.uri, "created_at": NOW}
    harness.client.document(f"models/{RANKER_MODEL.id}/uploads/u").set(fields, timeout=10)

    def unlisted(since: datetime, until: datetime) -> list[ModelSubject]:
        return list(harness.models.unlisted_models(since=since, until=until))

    assert unlisted(NOW, NOW + moment) == [RANKER_MODEL]
    assert unlisted(NOW - moment, NOW) == unlisted(NOW + moment, FAR_AHEAD) == []
    token = harness.models.commit_model(RANKER_MODEL, token=None, state=model_state(listed_at=NOW))
    assert unlisted(NOW, NOW + moment) == [RANKER_MODEL]
    harness.models.commit_model(RANKER_MODEL, token=token, state=model_state(listed_at=NOW + moment))
    assert unlisted(NOW, NOW + moment) == []


def test_a_fact_that_commits_late_is_waited_for(harness: FirestoreHarness) -> None:
    waits: list[float] = []

    def late_commit(seconds: float) -> None:
        waits.append(seconds)
        first = harness.client.collection(f"services/{RANKER}/facts").document("early:open").get(timeout=10).get("created_at")
        fields = {"record": alert("straggler").to_stored(), "created_at": first - timedelta(milliseconds=1)}
        harness.client.document(f"services/{RANKER}/facts/straggler:open").create(fields, timeout=10)
        harness.store.create_fact(RANKER, alert("after"))

    store = FirestoreStore(harness.client, settle_seconds=5.0, sleep=late_commit)
    harness.store.create_fact(RANKER, alert("early"))
    page = store.facts_after(RANKER, None, limit=10)
    assert [stored.key for stored in page.facts] == ["straggler:open", "early:open"]
    assert page.more
    assert len(waits) == 1
    assert 0 < waits[0] <= 5.0


def test_settled_facts_are_not_waited_for(harness: FirestoreHarness) -> None:
    harness.store.create_fact(RANKER, alert("1"))
    all_facts(harness.store, RANKER)

    def never(seconds: float) -> None:
        raise AssertionError(seconds)

    store = FirestoreStore(harness.client, settle_seconds=SETTLE_SECONDS, sleep=never)
    assert [stored.key for stored in store.facts_after(RANKER, None, limit=5).facts] == ["1:open"]


def test_a_fact_whose_own_commit_took_too_long_gets_a_new_time(harness: FirestoreHarness, caplog: pytest.LogCaptureFixture) -> None:
    strict = FirestoreStore(harness.client, settle_seconds=1e-9)
    assert strict.create_fact(RANKER, alert("1")) == "created"
    snapshot = harness.client.document(f"services/{RANKER}/facts/1:open").get(timeout=10)
    assert snapshot.update_time > snapshot.create_time
    assert snapshot.get("created_at") >= snapshot.create_time.replace(microsecond=snapshot.create_time.microsecond // 1000 * 1000)
    assert "may be folded late" in caplog.text


def test_long_listings_are_paged_without_gap_or_repeat(harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firestore_calls, "PAGE_DOCUMENTS", 7)
    monkeypatch.setattr(firestore_calls, "DOCUMENTS_PER_READ", 7)
    services = [service_number(number) for number in range(30)]
    batch = harness.client.batch()
    for service in services:
        batch.set(harness.client.document(f"services/{service}"), {"record": {}, "sweep_slot": 4})
        batch.set(harness.client.document(f"services/{service}/state/current"), {"record": {"cursor": None}, "next_look_at": NOW})
        batch.set(harness.client.document(f"services/{service}/facts/f"), {"record": {}, "created_at": NOW})
    batch.commit(timeout=10)
    assert sorted(harness.store.due_services(now=NOW, sweep_slot=4), key=str) == services
    assert list(harness.store.due_services(now=LONG_AGO, sweep_slot=4)) == services
    assert list(harness.store.unfolded_services(since=NOW, until=FAR_AHEAD)) == services


def test_long_listings_of_models_are_paged_without_gap_or_repeat(harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firestore_calls, "PAGE_DOCUMENTS", 7)
    monkeypatch.setattr(firestore_calls, "DOCUMENTS_PER_READ", 7)
    models, services = [model_number(number) for number in range(30)], [service_number(number) for number in range(30)]
    batch = harness.client.batch()
    for model, service in zip(models, services, strict=True):
        stated = {"record": {}, "uri": model.uri, "next_look_at": NOW, "listed_at": NOW}
        batch.set(harness.client.document(f"models/{model.id}/model_state/current"), stated)
        batch.set(harness.client.document(f"models/{model.id}/uploads/u"), {"uri": model.uri, "created_at": NOW})
        batch.set(harness.client.document(f"services/{service}"), {"record": {}, "model_uri": RANKER_MODEL.uri})
    batch.commit(timeout=10)
    assert sorted(harness.models.due_models(now=NOW), key=lambda model: model.uri) == models
    assert list(harness.models.unlisted_models(since=NOW, until=FAR_AHEAD)) == models
    assert harness.models.followers(RANKER_MODEL) == services


def test_a_search_for_unlisted_models_is_bounded_and_says_so(
    harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(firestore_calls, "PAGE_DOCUMENTS", 4)
    monkeypatch.setattr(firestore_models, "UNLISTED_LIMIT_UPLOADS", 10)
    models = [model_number(number) for number in range(12)]
    for number, model in enumerate(models):
        fields = {"uri": model.uri, "created_at": NOW + timedelta(seconds=number)}
        harness.client.document(f"models/{model.id}/uploads/u").set(fields, timeout=10)
    assert list(harness.models.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)) == models[:10]
    assert "more than 10 uploads" in caplog.text


def test_a_search_for_unfolded_services_is_bounded_and_says_so(
    harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(firestore_calls, "PAGE_DOCUMENTS", 4)
    monkeypatch.setattr(firestore_queries, "UNFOLDED_LIMIT_FACTS", 10)
    for number in range(12):
        service = service_number(number)
        path = f"services/{service}/facts/f"
        harness.client.document(path).set({"record": {}, "created_at": NOW + timedelta(seconds=number)}, timeout=10)
    found = list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD))
    assert found == [service_number(number) for number in range(10)]
    assert "more than 10 facts" in caplog.text


def test_a_state_that_vanished_is_a_conflict(harness: FirestoreHarness) -> None:
    token = harness.store.commit(RANKER, token=None, state=state())
    harness.client.document(f"services/{RANKER}/state/current").delete(timeout=10)
    with pytest.raises(TokenConflict):
        harness.store.commit(RANKER, token=token, state=state())
    assert harness.store.state_token(RANKER) is None
