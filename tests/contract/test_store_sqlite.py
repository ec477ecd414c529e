"""The store's promises on SQLite, and what is SQLite's own."""

import json
import multiprocessing
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from shared.errors import Retry
from shared.local.sqlite_store import SqliteStore
from shared.records.facts import StoredFact
from shared.records.subject import ServiceId, document_id
from tests.contract.store_contract import NOW, RANKER, SCOPED, Harness, StoreContract, alert, all_facts, document, serving, state
from tests.contract.store_contract_commands import CommandContract, command, fleet
from tests.contract.store_contract_models import RANKER_MODEL, ModelContract, model_state, upload
from tests.support.clocks import START, HandClock

COLUMNS = {
    "fact": "INSERT INTO facts (service, key, created_at, record) VALUES (:service, :key, 0, :record)",
    "state": "INSERT INTO states (service, token, record) VALUES (:service, 7, :record)",
    "document": "INSERT INTO services (id, sweep_slot, record) VALUES (:service, 0, :record)",
    "decision": "INSERT INTO decisions (service, decision_id, decided_at, record) VALUES (:service, :key, 9000000000000000, :record)",
    "parked": "INSERT INTO parked (key, parked_at, record) VALUES (:key, 9000000000000000, :record)",
    "fleet": "INSERT INTO fleet (id, record) VALUES (1, :record)",
    "model": "INSERT INTO models (uri, token, record) VALUES (:raw_key, 7, :record)",
}
FIRST_SCHEMA = (
    "CREATE TABLE services (id TEXT PRIMARY KEY, sweep_slot INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX services_by_slot ON services (sweep_slot, id)",
    (
        "CREATE TABLE facts (seq INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, key TEXT NOT NULL,"
        " created_at INTEGER NOT NULL, record TEXT NOT NULL, UNIQUE (service, key)) STRICT"
    ),
    (
        "CREATE TABLE states (service TEXT PRIMARY KEY, token INTEGER NOT NULL, record TEXT NOT NULL, cursor TEXT,"
        " next_look_at INTEGER, usd_per_hour_at_max REAL) STRICT, WITHOUT ROWID"
    ),
    "CREATE TABLE parked (key TEXT PRIMARY KEY, parked_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT",
    "CREATE TABLE fleet (id INTEGER PRIMARY KEY CHECK (id = 1), record TEXT NOT NULL) STRICT",
    "PRAGMA user_version=1",
)
"""What the first Trimtab made of a new file, as far as it changed since."""


class SqliteHarness:
    def __init__(self, store: SqliteStore) -> None:
        self.store = self.commands = self.models = store

    def write_raw(self, kind: str, service: ServiceId, key: str, record: object) -> None:
        values = {"service": str(service), "key": document_id(key), "raw_key": key, "record": json.dumps(record)}
        with self.store._write() as connection:
            connection.execute(COLUMNS[kind], values)


class TestSqliteInMemory(StoreContract, CommandContract, ModelContract):
    @pytest.fixture
    def harness(self) -> Iterator[Harness]:
        with closing(SqliteStore(":memory:", HandClock())) as store:
            yield SqliteHarness(store)


class TestSqliteFile(StoreContract, CommandContract, ModelContract):
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


@pytest.fixture
def first_file(tmp_path: Path) -> Path:
    """A file of the first version, with two services, one that cannot be read, a state and the fleet's document."""
    path = tmp_path / "store.db"
    rows = [(str(RANKER), 1, json.dumps(document(serving=serving()).to_stored())), (str(SCOPED), 2, "{broken")]
    rows.append((f"{RANKER}-image", 3, json.dumps({"spec": {"serving": {"model": {"uri": "/models/ranker"}}}})))
    rows.append((f"{RANKER}-odd", 4, json.dumps({"spec": {"serving": {"model": {"uri": [5]}}}})))
    with closing(sqlite3.connect(path)) as connection:
        for statement in FIRST_SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO services (id, sweep_slot, record) VALUES (?, ?, ?)", rows)
        connection.execute("INSERT INTO states (service, token, record) VALUES (?, 41, ?)", (str(RANKER), json.dumps(state().to_stored())))
        connection.execute("INSERT INTO fleet (id, record) VALUES (1, ?)", (json.dumps(fleet(5).to_stored()),))
        connection.commit()
    return path


def test_a_file_of_the_first_version_is_brought_up_to_date(first_file: Path) -> None:
    with closing(SqliteStore(first_file, HandClock())) as store:
        snapshot = store.read(RANKER)
        assert (snapshot.document, snapshot.state, snapshot.token) == (document(serving=serving()), state(), "41")
        assert store.read_fleet().fleet == fleet(5)
        assert "document" in store.read(SCOPED).unreadable
        assert store.followers(RANKER_MODEL) == [RANKER]
    with closing(sqlite3.connect(first_file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_file_of_the_first_version_takes_every_write(first_file: Path) -> None:
    with closing(SqliteStore(first_file, HandClock())) as store:
        assert int(store.commit(RANKER, token="41", state=state(cursor="1"))) > 41
        read = store.read_spec(RANKER)
        assert store.commit_spec(RANKER, command("c-1"), document=document(generation=2), token=read.token) == "created"
        assert store.commit_fleet(command("c-1"), fleet=fleet(6), token=store.read_fleet().token) == "created"
        assert store.create_upload(RANKER_MODEL, upload()) == "created"
        assert store.commit_model(RANKER_MODEL, token=None, state=model_state()) is not None
        assert store.followers(RANKER_MODEL) == []


def test_a_file_that_was_brought_up_to_date_is_opened_again(first_file: Path) -> None:
    for _ in range(2):
        with closing(SqliteStore(first_file, HandClock())) as store:
            assert store.followers(RANKER_MODEL) == [RANKER]


def test_a_new_file_and_an_old_one_that_was_brought_up_to_date_have_the_same_columns(first_file: Path, tmp_path: Path) -> None:
    def columns(path: Path) -> dict[str, list[tuple[object, ...]]]:
        with closing(SqliteStore(path, HandClock())) as store:
            tables = [row[0] for row in store._rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", ())]
            return {table: store._rows("SELECT name, type, [notnull], pk FROM pragma_table_info(?)", (table,)) for table in tables}

    assert columns(first_file) == columns(tmp_path / "new.db")


def test_the_time_of_an_upload_is_the_clocks_and_its_window_begins_and_ends_sharp() -> None:
    clock = HandClock(NOW)
    moment = timedelta(microseconds=1)
    with closing(SqliteStore(":memory:", clock)) as store:
        store.create_upload(RANKER_MODEL, upload())
        assert list(store.unlisted_models(since=NOW, until=NOW + moment)) == [RANKER_MODEL]
        assert list(store.unlisted_models(since=NOW - moment, until=NOW)) == []
        assert list(store.unlisted_models(since=NOW + moment, until=NOW + 2 * moment)) == []


def test_a_listing_of_the_same_moment_does_not_hide_an_upload() -> None:
    moment = timedelta(microseconds=1)
    with closing(SqliteStore(":memory:", HandClock(NOW))) as store:
        store.create_upload(RANKER_MODEL, upload())
        token = store.commit_model(RANKER_MODEL, token=None, state=model_state(listed_at=NOW))
        assert list(store.unlisted_models(since=NOW, until=NOW + moment)) == [RANKER_MODEL]
        store.commit_model(RANKER_MODEL, token=token, state=model_state(listed_at=NOW + moment))
        assert list(store.unlisted_models(since=NOW, until=NOW + moment)) == []


def test_a_file_that_stays_busy_is_a_retry(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path, HandClock(), busy_timeout_seconds=0.05)) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        writes: list[Callable[[], object]] = [
            lambda: store.create_fact(RANKER, alert("1")),
            lambda: store.commit_spec(RANKER, command(), document=document(), token=None),
            lambda: store.commit_fleet(command(), fleet=fleet(1), token=None),
            lambda: store.create_command(RANKER, command()),
            lambda: store.discard_parked(command(), key="a"),
            lambda: store.create_upload(RANKER_MODEL, upload()),
            lambda: store.commit_model(RANKER_MODEL, token=None, state=model_state()),
        ]
        for write in writes:
            with pytest.raises(Retry, match="busy"):
                write()
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
            ("SELECT id FROM services WHERE model_uri = 'gs://a/b' ORDER BY id", "services_by_model"),
            ("SELECT next_look_at, uri FROM models WHERE next_look_at <= 5 AND (next_look_at, uri) > (1, '')", "models_due"),
            ("SELECT model FROM uploads WHERE created_at >= 1 AND created_at < 5", "uploads_by_time"),
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
