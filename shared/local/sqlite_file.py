"""The store's SQLite file: one connection per process behind a lock, one transaction per write."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared.errors import Retry
from shared.local.sqlite_rows import encode, micros
from shared.local.sqlite_schema import MIGRATIONS, SCHEMA, SCHEMA_VERSION
from shared.ports import Clock
from shared.records.parked import Parked
from shared.records.subject import document_id


class SqliteFile:
    """The SQLite file `path`, or memory for `:memory:` (then of this one process).

    One connection per process behind a lock; a forked child opens its own. `busy_timeout_seconds` is how long a write waits
    for the writes of other processes before it becomes `Retry`.

    Raises:
        ValueError: the file was written by a newer Trimtab.
    """

    def __init__(self, path: str | Path, clock: Clock, *, busy_timeout_seconds: float = 10.0) -> None:
        self._path = str(path)
        self._clock = clock
        self._busy_timeout_seconds = busy_timeout_seconds
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process_id = 0
        with self._lock:
            self._connect()

    def close(self) -> None:
        """Close the file; the store of a file opens it again when it is used."""
        with self._lock:
            if self._connection is not None and self._process_id == os.getpid():
                self._connection.close()
            self._connection = None

    def _rows(self, statement: str, values: Any) -> list[Any]:
        with self._lock, _busy_as_retry():
            return self._connect().execute(statement, values).fetchall()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _busy_as_retry():
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._process_id == os.getpid():
            return self._connection
        connection = sqlite3.connect(
            self._path, timeout=self._busy_timeout_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            _prepare(connection, self._path, self._busy_timeout_seconds)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process_id = connection, os.getpid()
        return connection


def new_token(connection: sqlite3.Connection) -> int:
    """A token that no row of this file ever had: a document that was deleted and made anew never has its old one again."""
    row = connection.execute("UPDATE tokens SET last = last + 1 RETURNING last").fetchone()
    return int(row[0])


def insert_parked(connection: sqlite3.Connection, entry: Parked) -> None:
    """Create the parked entry; one that exists already is left as it is."""
    connection.execute(
        "INSERT INTO parked (key, parked_at, record) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
        (document_id(entry.key), micros(entry.parked_at), encode(entry)),
    )


def _prepare(connection: sqlite3.Connection, path: str, patience_seconds: float) -> None:
    # The change to WAL does not wait for other processes by itself: several that open a new file at once must take turns.
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA journal_size_limit=67108864")  # bytes: a WAL that a burst made large shrinks again
    connection.execute("BEGIN IMMEDIATE")  # before the version is read: another process may be bringing the file up to date
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > SCHEMA_VERSION:
        raise ValueError(f"{path}: written by a newer Trimtab (schema {found}; this one knows {SCHEMA_VERSION}): update Trimtab")
    # A new file has version 0, and nothing in it to bring up to date.
    for version in range(found or SCHEMA_VERSION, SCHEMA_VERSION):
        for statement in MIGRATIONS[version]:
            connection.execute(statement)
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.execute("COMMIT")


@contextmanager
def _busy_as_retry() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise Retry(f"the store's file is busy: {error}", after_seconds=1.0) from error
        raise
