"""The store's promises on Google's Firestore emulator, and what is Firestore's own: errors, lost replies, late commits."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import firestore

from shared.errors import Retry, TokenConflict
from shared.gcp import firestore_queries
from shared.gcp.firestore_layout import UNINDEXED_FIELDS, position_of, read_position
from shared.gcp.firestore_store import FirestoreStore
from shared.records.decision import DECISION_TTL_SECONDS
from shared.records.facts import FACT_TTL_SECONDS, StoredFact
from shared.records.fleet import ActSlot, Fleet
from shared.records.subject import ServiceId, document_id
from tests.contract.store_contract import (
    FAR_AHEAD,
    LONG_AGO,
    NOW,
    RANKER,
    SCOPED,
    Harness,
    StoreContract,
    alert,
    all_facts,
    decision,
    document,
    parked,
    service_number,
    state,
)
from tests.support.emulators import firestore_client, fresh_project
from tests.support.firestore_proxy import Fault, Proxy, proxy_before

pytestmark = pytest.mark.emulator

SETTLE_SECONDS = 0.2
PATHS = {
    "fact": "services/{service}/facts/{key}",
    "state": "services/{service}/state/current",
    "document": "services/{service}",
    "decision": "services/{service}/decisions/{key}",
    "parked": "parked/{key}",
    "fleet": "fleet/current",
}


class FirestoreHarness:
    def __init__(self, client: firestore.Client) -> None:
        self.client = client
        self.store = FirestoreStore(client, settle_seconds=SETTLE_SECONDS)

    def write_raw(self, kind: str, service: ServiceId, key: str, record: object) -> None:
        fields: dict[str, Any] = {"record": record}
        if kind == "fact":
            fields["created_at"] = firestore.SERVER_TIMESTAMP
        if kind in {"decision", "parked"}:
            fields["decided_at" if kind == "decision" else "parked_at"] = FAR_AHEAD
        path = PATHS[kind].format(service=service, key=document_id(key) if key else "")
        self.client.document(path).set(fields, timeout=10)


@pytest.fixture
def client(firestore_emulator: str) -> Iterator[firestore.Client]:
    with firestore_client(firestore_emulator, fresh_project()) as made:
        yield made


@pytest.fixture
def harness(client: firestore.Client) -> FirestoreHarness:
    return FirestoreHarness(client)


class TestFirestoreEmulator(StoreContract):
    @pytest.fixture
    def harness(self, client: firestore.Client) -> Harness:
        return FirestoreHarness(client)


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
    assert fields_of(client, root) == {"record": document().to_stored(), "sweep_slot": RANKER.sweep_slot}
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
    assert fields_of(client, "fleet/current") == {"record": Fleet().to_stored()}
    taken = fields_of(client, "fleet/current/acts/202603011200-0003")
    assert taken == {"minute": "202603011200", "expire_at": datetime(2026, 3, 2, 12, 0, tzinfo=UTC)}
    assert len(UNINDEXED_FIELDS) == len(set(UNINDEXED_FIELDS))


def test_positions_sort_as_firestore_does_and_are_read_back() -> None:
    moment = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)
    pairs = [(moment, "a"), (moment, "a|b"), (moment, "é"), (moment, "🦀"), (moment + timedelta(microseconds=1), "A")]
    positions = [position_of(*pair) for pair in pairs]
    assert all(before < after for before, after in pairwise(positions))
    assert [read_position(position) for position in positions] == pairs
    with pytest.raises(ValueError, match="want <time>"):
        read_position("0000000000000000007")


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


def test_facts_without_a_time_are_not_in_the_way(harness: FirestoreHarness) -> None:
    for key, created_at in (("text", "2100"), ("none", None), ("map", {"a": 1})):
        fields = {"record": alert(key).to_stored(), "created_at": created_at}
        harness.client.document(f"services/{RANKER}/facts/{key}:open").create(fields, timeout=10)
    harness.store.create_fact(RANKER, alert("good"))
    assert [stored.key for stored in all_facts(harness.store, RANKER)] == ["good:open"]
    assert list(harness.store.facts_by_key(RANKER, ["text:open", "good:open"])) == ["good:open"]
    assert list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == [RANKER]


def test_documents_of_other_subjects_are_not_services(harness: FirestoreHarness) -> None:
    client = harness.client
    for root in ("models/0123456789abcdef0123", "services/no-service-id"):
        client.document(f"{root}/state/current").set({"record": {}, "next_look_at": NOW}, timeout=10)
        client.document(f"{root}/facts/f").set({"record": {}, "created_at": NOW}, timeout=10)
    client.document("services/no-service-id").set({"sweep_slot": 3}, timeout=10)
    assert list(harness.store.due_services(now=FAR_AHEAD, sweep_slot=3)) == []
    assert list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == []


def test_long_listings_are_paged_without_gap_or_repeat(harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firestore_queries, "PAGE_DOCUMENTS", 7)
    monkeypatch.setattr(firestore_queries, "STATES_PER_READ", 7)
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


def test_a_search_for_unfolded_services_is_bounded_and_says_so(
    harness: FirestoreHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(firestore_queries, "PAGE_DOCUMENTS", 4)
    monkeypatch.setattr(firestore_queries, "UNFOLDED_LIMIT_FACTS", 10)
    for number in range(12):
        service = service_number(number)
        path = f"services/{service}/facts/f"
        harness.client.document(path).set({"record": {}, "created_at": NOW + timedelta(seconds=number)}, timeout=10)
    found = list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD))
    assert found == [service_number(number) for number in range(10)]
    assert "more than 10 facts" in caplog.text


# errors


@pytest.fixture
def proxied(firestore_emulator: str) -> Iterator[tuple[FirestoreStore, Proxy]]:
    with proxy_before(firestore_emulator) as proxy, firestore_client(proxy.host, fresh_project()) as client:
        yield FirestoreStore(client, settle_seconds=0.0), proxy


MENDABLE = [
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNKNOWN,
]
WRITES: dict[str, Callable[[FirestoreStore], object]] = {
    "create_fact": lambda store: store.create_fact(RANKER, alert("1")),
    "commit": lambda store: store.commit(RANKER, token=None, state=state(), parked=[parked()]),
    "put_service": lambda store: store.put_service(document(), if_generation=None),
    "put_fleet": lambda store: store.put_fleet(Fleet()),
    "park": lambda store: store.park(parked()),
}
READS: dict[str, Callable[[FirestoreStore], object]] = {
    "read": lambda store: store.read(RANKER),
    "facts_after": lambda store: store.facts_after(RANKER, None, limit=5),
    "facts_by_key": lambda store: store.facts_by_key(RANKER, ["1"]),
    "state_token": lambda store: store.state_token(RANKER),
    "put_service": lambda store: store.put_service(document(generation=2), if_generation=1),
    "acts_in_minute": lambda store: store.acts_in_minute("202603011200"),
    "usd_per_hour_at_max": lambda store: store.usd_per_hour_at_max(),
    "due_services": lambda store: list(store.due_services(now=NOW, sweep_slot=1)),
    "unfolded_services": lambda store: list(store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)),
    "decisions": lambda store: store.decisions(RANKER, limit=5),
    "parked": lambda store: store.parked(limit=5),
}
CALLS = [*WRITES.values(), *READS.values()]
CALL_NAMES = [*WRITES, *(f"{name}-read" for name in READS)]


@pytest.mark.parametrize("call", CALLS, ids=CALL_NAMES)
def test_what_may_mend_is_a_retry_after_one_bounded_call(
    proxied: tuple[FirestoreStore, Proxy], call: Callable[[FirestoreStore], object]
) -> None:
    store, proxy = proxied
    for code in MENDABLE:
        proxy.calls.clear()
        proxy.faults[:] = [Fault(code)]
        with pytest.raises(Retry):
            call(store)
        assert len(proxy.calls) == 1, code
    assert all(left is not None and 0 < left < firestore_queries.RPC_TIMEOUT_SECONDS + 1 for left in proxy.deadlines)


@pytest.mark.parametrize("call", CALLS, ids=CALL_NAMES)
def test_everything_else_is_a_bug_and_is_not_hidden(
    proxied: tuple[FirestoreStore, Proxy], call: Callable[[FirestoreStore], object]
) -> None:
    store, proxy = proxied
    for code in (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED):
        proxy.faults[:] = [Fault(code)]
        with pytest.raises(exceptions.GoogleAPICallError):
            call(store)


@pytest.mark.parametrize("name", ["facts_after", "due_services", "unfolded_services", "acts_in_minute", "usd_per_hour_at_max"])
def test_a_missing_index_is_a_bug_and_no_conflict(proxied: tuple[FirestoreStore, Proxy], name: str) -> None:
    store, proxy = proxied
    proxy.faults[:] = [Fault(grpc.StatusCode.FAILED_PRECONDITION)]
    with pytest.raises(exceptions.FailedPrecondition):
        READS[name](store)


def test_round_trips_are_what_the_flow_counts_on(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    slow = FirestoreStore(store._client, settle_seconds=30.0, sleep=lambda _seconds: None)
    calls: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: slow.create_fact(RANKER, alert("1")), ["Commit"]),
        (lambda: slow.create_fact(RANKER, alert("1")), ["Commit"]),
        (lambda: slow.read(RANKER), ["BatchGetDocuments"]),
        (lambda: slow.facts_by_key(RANKER, ["1", "2"]), ["BatchGetDocuments"]),
        (lambda: slow.facts_after(RANKER, None, limit=5), ["RunQuery", "RunQuery"]),
        (lambda: slow.facts_after(SCOPED, None, limit=5), ["RunQuery"]),
        (lambda: slow.state_token(RANKER), ["BatchGetDocuments"]),
        (lambda: slow.commit(RANKER, token=None, state=state(), parked=[parked()], decision=decision(1)), ["Commit"]),
        (lambda: slow.commit(SCOPED, token=None, state=state(SCOPED), parked=[parked()]), ["Commit", "BatchGetDocuments", "Commit"]),
    ]
    for call, expected in calls:
        proxy.calls.clear()
        call()
        assert proxy.calls == expected


def test_a_fact_that_landed_while_its_reply_was_lost_is_not_mistaken_for_a_repeat(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    proxy.faults[:] = [Fault(grpc.StatusCode.UNAVAILABLE, "after")]
    with pytest.raises(Retry):
        store.create_fact(RANKER, alert("1"))
    assert proxy.calls == ["Commit"]
    assert store.create_fact(RANKER, alert("1")) == "duplicate"
    (stored,) = all_facts(store, RANKER)
    assert isinstance(stored, StoredFact)


def test_a_commit_that_landed_while_its_reply_was_lost_can_be_recognised(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    token = store.commit(RANKER, token=None, state=state(cursor="1"))
    proxy.faults[:] = [Fault(grpc.StatusCode.DEADLINE_EXCEEDED, "after")]
    with pytest.raises(Retry):
        store.commit(RANKER, token=token, state=state(cursor="2"), decision=decision(1), parked=[parked()])
    snapshot = store.read(RANKER)
    assert (snapshot.state, store.decisions(RANKER, limit=5)) == (state(cursor="2"), [decision(1)])
    assert snapshot.token == store.state_token(RANKER) != token
    with pytest.raises(TokenConflict):
        store.commit(RANKER, token=token, state=state(cursor="2"), decision=decision(1), parked=[parked()])


def test_a_commit_that_never_arrived_leaves_everything_as_it_was(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    token = store.commit(RANKER, token=None, state=state(cursor="1"))
    proxy.faults[:] = [Fault(grpc.StatusCode.UNAVAILABLE)]
    with pytest.raises(Retry):
        store.commit(RANKER, token=token, state=state(cursor="2"))
    assert store.state_token(RANKER) == token
    assert store.commit(RANKER, token=token, state=state(cursor="2")) != token


def test_a_state_that_vanished_is_a_conflict(harness: FirestoreHarness) -> None:
    token = harness.store.commit(RANKER, token=None, state=state())
    harness.client.document(f"services/{RANKER}/state/current").delete(timeout=10)
    with pytest.raises(TokenConflict):
        harness.store.commit(RANKER, token=token, state=state())
    assert harness.store.state_token(RANKER) is None
