"""The store's promises on SQLite, and what is SQLite's own."""

import json
import multiprocessing
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from shared.errors import Retry
from shared.local.sqlite_store import SqliteStore
from shared.records.facts import StoredFact
from shared.records.subject import ServiceId, document_id
from tests.contract.store_contract import RANKER, Harness, StoreContract, alert, all_facts, state
from tests.support.clocks import START, HandClock

COLUMNS = {
    "fact": "INSERT INTO facts (service, key, created_at, record) VALUES (:service, :key, 0, :record)",
    "state": "INSERT INTO states (service, token, record) VALUES (:service, 7, :record)",
    "document": "INSERT INTO services (id, sweep_slot, record) VALUES (:service, 0, :record)",
    "decision": "INSERT INTO decisions (service, decision_id, decided_at, record) VALUES (:service, :key, 9000000000000000, :record)",
    "parked": "INSERT INTO parked (key, parked_at, record) VALUES (:key, 9000000000000000, :record)",
    "fleet": "INSERT INTO fleet (id, record) VALUES (1, :record)",
}


class SqliteHarness:
    def __init__(self, store: SqliteStore) -> None:
        self.store = store

    def write_raw(self, kind: str, service: ServiceId, key: str, record: object) -> None:
        values = {"service": str(service), "key": document_id(key), "record": json.dumps(record)}
        with self.store._write() as connection:
            connection.execute(COLUMNS[kind], values)


class TestSqliteInMemory(StoreContract):
    @pytest.fixture
    def harness(self) -> Iterator[Harness]:
        with closing(SqliteStore(":memory:", HandClock())) as store:
            yield SqliteHarness(store)


class TestSqliteFile(StoreContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Iterator[Harness]:
        with closing(SqliteStore(tmp_path / "store.db", HandClock())) as store:
            yield SqliteHarness(store)


def test_time_never_goes_backwards() -> None:
    clock = HandClock()
    with closing(SqliteStore(":memory:", clock)) as store:
        for seconds in (0, -100, 50, 200):
            clock.advance(seconds)
            store.create_fact(RANKER, alert(f"{seconds}"))
        times = [stored.created_at for stored in all_facts(store, RANKER) if isinstance(stored, StoredFact)]
    assert times == [START, START, START, START + timedelta(seconds=150)]


def test_what_was_committed_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path, HandClock())) as store:
        token = store.commit(RANKER, token=None, state=state(cursor="1"))
        store.close()
        assert store.read(RANKER).token == token
    with closing(SqliteStore(path, HandClock())) as store:
        assert store.read(RANKER).state == state(cursor="1")


def test_text_that_is_no_json_is_unreadable() -> None:
    with closing(SqliteStore(":memory:", HandClock())) as store:
        with store._write() as connection:
            connection.execute(COLUMNS["state"], {"service": str(RANKER), "record": '{"broken'})
        assert "state" in store.read(RANKER).unreadable


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(ValueError, match="newer Trimtab"):
        SqliteStore(path, HandClock())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_file_that_stays_busy_is_a_retry(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path, HandClock(), busy_timeout_seconds=0.05)) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Retry, match="busy"):
            store.create_fact(RANKER, alert("1"))
        assert store.facts_after(RANKER, None, limit=1).facts == ()
        other.rollback()
        assert store.create_fact(RANKER, alert("1")) == "created"


def _create_many(path: str, count: int) -> int:
    with closing(SqliteStore(path, HandClock())) as store:
        return sum(store.create_fact(RANKER, alert(f"shared-{number}")) == "created" for number in range(count))


def test_several_processes_share_one_new_file(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        created = pool.starmap(_create_many, [(path, 150)] * 3)
        pool.close()
        pool.join()
    assert sum(created) == 150
    with closing(SqliteStore(path, HandClock())) as store:
        assert len(all_facts(store, RANKER, limit=50)) == 150


def test_listings_read_in_proportion_to_what_they_yield(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "store.db", HandClock())) as store:
        plans = [
            ("SELECT next_look_at, service FROM states WHERE next_look_at <= 5 AND (next_look_at, service) > (1, '')", "states_due"),
            ("SELECT id FROM services WHERE sweep_slot = 1 AND id > '' ORDER BY id LIMIT 5", "services_by_slot"),
            ("SELECT seq FROM facts WHERE service = 'x' AND seq > 5 ORDER BY seq LIMIT 5", "facts_in_order"),
            ("SELECT service FROM facts WHERE created_at >= 1 AND created_at < 5", "facts_by_time"),
        ]
        for statement, index in plans:
            steps = [row[3] for row in store._rows(f"EXPLAIN QUERY PLAN {statement}", ())]
            assert all(step.startswith("SEARCH") and index in step for step in steps), steps


def test_creating_facts_is_fast_enough_for_a_storm(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "store.db", HandClock())) as store:
        began = time.perf_counter()
        for number in range(500):
            store.create_fact(RANKER, alert(f"{number}"))
        assert 500 / (time.perf_counter() - began) > 200
