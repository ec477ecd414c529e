"""A storm on one service: what it leaves behind, and its wall time against bare creates on the same store."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shared import log
from shared.clock import SystemClock
from shared.gcp.firestore_store import FirestoreStore
from shared.local.sqlite_store import SqliteStore
from shared.ports import Store
from shared.records.state import STATE_LIMIT_BYTES
from tests.benchmarks.emulated import firestore_or_none
from tests.benchmarks.table import Area, Row, at_most
from tests.support.builders import RANKER
from tests.support.emulators import firestore_client, fresh_project
from tests.support.storm import Outcome, rage

LARGEST_RATIO = 3.0

HOW = (
    "{each:,} copies of one alert and {each:,} distinct incidents of one service, shuffled, through the real alert and reconcile handlers, "
    "two workers, a simulated Cloud Run; before it, as many bare creates on the same store. {where}"
)
SLOW_LEFT_OUT = "On SQLite (a file); on the Firestore emulator only with `--slow`."


def measure(*, slow: bool = False, each: int = 10_000) -> Area:
    where, rows = SLOW_LEFT_OUT, list(_rows("SQLite", _on_sqlite(each), each))
    if slow:
        with _firestore() as store:
            where = "On SQLite (a file) and on the Firestore emulator." if store else "On SQLite (a file); no Firestore emulator was found."
            if store:
                rows += _rows("Firestore emulator", _outcome(store, each), each)
    return Area("Storm", HOW.format(each=each, where=where), tuple(rows))


def _rows(where: str, outcome: Outcome, each: int) -> Iterator[Row]:
    counted = outcome.state.open_incident_count
    yield Row(f"platform writes for 1 needed change, {where}", f"{outcome.writes}", "1", outcome.writes == 1)
    yield Row(f"open incidents counted, {where}", f"{counted:,}", f"{each + 1:,}", counted == each + 1)
    yield at_most(f"largest document, {where}", outcome.state_bytes, STATE_LIMIT_BYTES, " bytes", digits=0)
    yield Row(f"HTTP statuses, {where}", ", ".join(map(str, sorted(outcome.statuses))), "200", outcome.statuses == {200})
    yield Row(f"storm, {where}", f"{outcome.storm_seconds:.1f} s, {2 * each / outcome.storm_seconds:,.0f} events/s")
    yield Row(f"bare creates, {where}", f"{outcome.bare_seconds:.1f} s")
    yield at_most(f"storm / bare creates, {where}", outcome.ratio, LARGEST_RATIO)


def _on_sqlite(each: int) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        store = SqliteStore(Path(name) / "store.db", SystemClock())
        try:
            return _outcome(store, each)
        finally:
            store.close()


def _outcome(store: Store, each: int) -> Outcome:
    with log.silenced():
        return rage(store, RANKER, copies=each, distinct=each)


@contextlib.contextmanager
def _firestore() -> Iterator[Store | None]:
    with firestore_or_none() as host:
        if host is None:
            yield None
            return
        with firestore_client(host, fresh_project()) as client:
            yield FirestoreStore(client)
