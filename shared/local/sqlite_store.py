"""The store on one machine: one SQLite file (or memory), many threads and processes.

Every write is one `BEGIN IMMEDIATE` transaction, so writers queue up and the order of the fact sequence is the order of commits.
The file is in WAL mode with `synchronous=NORMAL`: a killed process loses nothing; a power cut may lose the last moments.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from shared.errors import TokenConflict
from shared.local.sqlite_commands import SqliteCommands, write_fleet, write_service
from shared.local.sqlite_file import insert_parked, new_token
from shared.local.sqlite_models import SqliteModels
from shared.local.sqlite_rows import decode, encode, fact_of, micros, moment
from shared.records.decision import Decision
from shared.records.facts import Fact, FactPage, StoredFact
from shared.records.fleet import ActSlot, Fleet
from shared.records.parked import Parked
from shared.records.service import ServiceDocument
from shared.records.snapshot import Snapshot
from shared.records.state import ServiceState
from shared.records.subject import ServiceId, document_id

PAGE_ROWS = 500
"""How many ids one step of a listing holds."""


class SqliteStore(SqliteCommands, SqliteModels):
    """`ports.Store`, and with it every other port of the store, in one SQLite file, or in memory (see `SqliteFile`)."""

    def create_fact(self, service: ServiceId, fact: Fact) -> Literal["created", "duplicate"]:
        """Create the fact under its natural key; its time is the clock's, but never before the last fact's.

        Raises:
            Retry: the file was busy for too long; nothing was stored.
        """
        now = micros(self._clock.now())
        with self._write() as connection:
            last = connection.execute("SELECT created_at FROM facts ORDER BY seq DESC LIMIT 1").fetchone()
            stored = connection.execute(
                "INSERT INTO facts (service, key, created_at, record) VALUES (?, ?, ?, ?) ON CONFLICT (service, key) DO NOTHING",
                (str(service), document_id(fact.key), max(now, last[0]) if last else now, encode(fact)),
            )
            return "created" if stored.rowcount == 1 else "duplicate"

    def read(self, service: ServiceId) -> Snapshot:
        """The documents of one service and the fleet's, as of one moment. An unreadable state comes without its token.

        Raises:
            Retry: the file was busy for too long.
        """
        row = self._rows(
            "SELECT (SELECT record FROM services WHERE id = :id), (SELECT record FROM states WHERE service = :id),"
            " (SELECT token FROM states WHERE service = :id), (SELECT record FROM fleet)",
            {"id": str(service)},
        )[0]
        unreadable: dict[str, str] = {}
        state = decode(ServiceState, row[1], "state", unreadable)
        return Snapshot(
            document=decode(ServiceDocument, row[0], "document", unreadable),
            state=state,
            token=str(row[2]) if state is not None else None,
            fleet=decode(Fleet, row[3], "fleet", unreadable) or Fleet(),
            unreadable=unreadable,
        )

    def facts_after(self, service: ServiceId, position: str | None, *, limit: int) -> FactPage:
        """At most `limit` facts behind `position` in commit order.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows(
            "SELECT seq, key, created_at, record FROM facts WHERE service = ? AND seq > ? ORDER BY seq LIMIT ?",
            (str(service), int(position) if position else 0, limit + 1),
        )
        return FactPage(facts=tuple(fact_of(row) for row in rows[:limit]), more=len(rows) > limit)

    def facts_by_key(self, service: ServiceId, keys: Sequence[str]) -> dict[str, StoredFact]:
        """Those of the named facts that exist and can be read.

        Raises:
            Retry: the file was busy for too long.
        """
        by_id = {document_id(key): key for key in keys}
        rows = self._rows(
            "SELECT seq, key, created_at, record FROM facts WHERE service = ? AND key IN (SELECT value FROM json_each(?))",
            (str(service), json.dumps(list(by_id))),
        )
        found = {by_id[row[1]]: fact_of(row) for row in rows}
        return {key: fact for key, fact in found.items() if isinstance(fact, StoredFact)}

    def state_token(self, service: ServiceId) -> str | None:
        """The state's token now; None if there is no state.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT token FROM states WHERE service = ?", (str(service),))
        return str(rows[0][0]) if rows else None

    def commit(
        self,
        service: ServiceId,
        *,
        token: str | None,
        state: ServiceState,
        decision: Decision | None = None,
        parked: Sequence[Parked] = (),
        act_slot: ActSlot | None = None,
    ) -> str:
        """Write the state if its token still is `token`, with what belongs to it, all or nothing. Returns the new token.

        Raises:
            TokenConflict: somebody else committed, or the act slot (or the decision's id) is taken; nothing was written.
            Retry: the file was busy for too long; nothing was written.
        """
        with self._write() as connection:
            row = connection.execute("SELECT token FROM states WHERE service = ?", (str(service),)).fetchone()
            if token != (str(row[0]) if row else None):
                raise TokenConflict(f"the state of {service} is at token {row[0] if row else None}, not at {token}")
            try:
                if act_slot is not None:
                    connection.execute("INSERT INTO act_slots (minute, slot) VALUES (?, ?)", (act_slot.minute, act_slot.index))
                if decision is not None:
                    connection.execute(
                        "INSERT INTO decisions (service, decision_id, decided_at, record) VALUES (?, ?, ?, ?)",
                        (str(service), decision.decision_id, micros(decision.decided_at), encode(decision)),
                    )
            except sqlite3.IntegrityError as error:
                slot = act_slot.document_id if act_slot else "none"
                raise TokenConflict(f"commit of {service}: act slot {slot} or the decision's id is taken") from error
            for entry in parked:
                insert_parked(connection, entry)
            made = new_token(connection)
            connection.execute(
                "INSERT INTO states (service, token, record, cursor, next_look_at, usd_per_hour_at_max) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (service) DO UPDATE SET token = excluded.token, record = excluded.record, cursor = excluded.cursor,"
                " next_look_at = excluded.next_look_at, usd_per_hour_at_max = excluded.usd_per_hour_at_max",
                (
                    str(service),
                    made,
                    encode(state),
                    state.cursor,
                    micros(state.next_look_at) if state.next_look_at else None,
                    state.usd_per_hour_at_max,
                ),
            )
            return str(made)

    def put_service(self, document: ServiceDocument, *, if_generation: int | None) -> None:
        """Write a spec if the stored generation is `if_generation` (None: if there is no document).

        Raises:
            TokenConflict: the stored generation is another one, or the stored document cannot be read.
            Retry: the file was busy for too long; nothing was written.
        """
        with self._write() as connection:
            row = connection.execute("SELECT record FROM services WHERE id = ?", (str(document.id),)).fetchone()
            unreadable: dict[str, str] = {}
            stored = decode(ServiceDocument, row[0] if row else None, "document", unreadable)
            if unreadable or (stored.generation if stored else None) != if_generation:
                found = unreadable.get("document") or (stored.generation if stored else None)
                raise TokenConflict(f"the spec of {document.id} is at generation {found}, not at {if_generation}")
            write_service(connection, document)

    def put_fleet(self, fleet: Fleet) -> None:
        """Write the fleet document.

        Raises:
            Retry: the file was busy for too long; nothing was written.
        """
        with self._write() as connection:
            write_fleet(connection, fleet)

    def acts_in_minute(self, minute: str) -> int:
        """How many act slots of that minute (`YYYYmmddHHMM`, UTC) are taken.

        Raises:
            Retry: the file was busy for too long.
        """
        return int(self._rows("SELECT count(*) FROM act_slots WHERE minute = ?", (minute,))[0][0])

    def usd_per_hour_at_max(self) -> float:
        """The sum of `usd_per_hour_at_max` over all states.

        Raises:
            Retry: the file was busy for too long.
        """
        return float(self._rows("SELECT total(usd_per_hour_at_max) FROM states", ())[0][0])

    def due_services(self, *, now: datetime, sweep_slot: int) -> Iterable[ServiceId]:
        """The active services whose `next_look_at` has come, then all services of the sweep slot; each once.

        Raises:
            Retry: the file was busy for too long (while iterating).
        """
        seen: set[str] = set()
        after: tuple[Any, ...] = (-(2**62), "")
        while rows := self._rows(
            "SELECT next_look_at, service FROM states WHERE next_look_at <= ? AND (next_look_at, service) > (?, ?)"
            " ORDER BY next_look_at, service LIMIT ?",
            (micros(now), *after, PAGE_ROWS),
        ):
            yield from _unseen((row[1] for row in rows), seen)
            after = rows[-1]
        last = ""
        while rows := self._rows(
            "SELECT id FROM services WHERE sweep_slot = ? AND id > ? ORDER BY id LIMIT ?", (sweep_slot, last, PAGE_ROWS)
        ):
            yield from _unseen((row[0] for row in rows), seen)
            last = rows[-1][0]

    def unfolded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        """Services that have a fact created in [since, until) behind their state's cursor (or no state at all).

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows(
            "SELECT f.service FROM facts f LEFT JOIN states s ON s.service = f.service WHERE f.created_at >= ? AND f.created_at < ?"
            " GROUP BY f.service HAVING max(f.seq) > coalesce(CAST(s.cursor AS INTEGER), 0) ORDER BY f.service",
            (micros(since), micros(until)),
        )
        return [ServiceId.parse(row[0]) for row in rows]

    def commanded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        """The services that a command was about in [since, until).

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows(
            "SELECT DISTINCT subject FROM commands WHERE created_at >= ? AND created_at < ? AND subject <> '' ORDER BY subject",
            (micros(since), micros(until)),
        )
        return [ServiceId.parse(row[0]) for row in rows]

    def begin_tick(self, now: datetime) -> datetime | None:
        """When the last tick began, and from here on this one; None if there was none. Ticks that come late do not set it back.

        Raises:
            Retry: the file was busy for too long; nothing was written.
        """
        with self._write() as connection:
            row = connection.execute("SELECT at FROM ticks").fetchone()
            connection.execute(
                "INSERT INTO ticks (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = max(at, excluded.at)", (micros(now),)
            )
        return None if row is None else moment(row[0])

    def decisions(self, service: ServiceId, *, limit: int) -> list[Decision]:
        """The newest decisions that can be read, newest first.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows(
            "SELECT record FROM decisions WHERE service = ? ORDER BY decided_at DESC, decision_id DESC LIMIT ?", (str(service), limit)
        )
        return [decision for row in rows if (decision := decode(Decision, row[0], "decision", {}))]


def _unseen(names: Iterable[str], seen: set[str]) -> Iterator[ServiceId]:
    for name in names:
        if name not in seen:
            seen.add(name)
            yield ServiceId.parse(name)
