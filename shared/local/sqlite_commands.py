"""The part of the SQLite store that commands use: each command in one transaction with the change that it makes."""

import sqlite3
from datetime import datetime

from shared.errors import TokenConflict
from shared.local.sqlite_file import new_token
from shared.local.sqlite_parking import SqliteParking
from shared.local.sqlite_rows import decode, encode, micros
from shared.ports import CommandOutcome
from shared.records.commands import CommandFact
from shared.records.fleet import Fleet
from shared.records.service import ServiceDocument
from shared.records.snapshot import FleetReading, SpecReading
from shared.records.subject import ServiceId, document_id


class SqliteCommands(SqliteParking):
    """`ports.CommandStore` in the SQLite file."""

    def read_spec(self, service: ServiceId) -> SpecReading:
        """The service's document with its token. An unreadable document comes without its token: it is never overwritten.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT record, token FROM services WHERE id = ?", (str(service),))
        unreadable: dict[str, str] = {}
        document = decode(ServiceDocument, rows[0][0] if rows else None, "document", unreadable)
        token = str(rows[0][1]) if document is not None else None
        return SpecReading(document=document, token=token, unreadable=unreadable.get("document"))

    def commit_spec(
        self, service: ServiceId, command: CommandFact, *, document: ServiceDocument | None, token: str | None
    ) -> CommandOutcome:
        """Create the command and write the document (None: delete it, with its state), if its token still is `token`; all or nothing.

        Raises:
            TokenConflict: the document changed since it was read; nothing was written.
            Retry: the file was busy for too long; nothing was written.
            ValueError: the document is that of another service.
        """
        if document is not None and document.id != service:
            raise ValueError(f"the document of {document.id} cannot be that of {service}")
        now = self._clock.now()
        with self._write() as connection:
            if not _insert_command(connection, service, command, now):
                return "duplicate"
            row = connection.execute("SELECT token FROM services WHERE id = ?", (str(service),)).fetchone()
            _check(f"the spec of {service}", row, token)
            if document is None:
                connection.execute("DELETE FROM services WHERE id = ?", (str(service),))
                connection.execute("DELETE FROM states WHERE service = ?", (str(service),))
            else:
                write_service(connection, document)
            return "created"

    def has_command(self, service: ServiceId | None, command_id: str) -> bool:
        """Whether a command was done before.

        Raises:
            Retry: the file was busy for too long.
        """
        wanted = (_subject(service), document_id(command_id))
        return bool(self._rows("SELECT 1 FROM commands WHERE subject = ? AND command_id = ?", wanted))

    def create_command(self, service: ServiceId | None, command: CommandFact) -> CommandOutcome:
        """Create a command that changes no document.

        Raises:
            Retry: the file was busy for too long; nothing was written.
        """
        now = self._clock.now()
        with self._write() as connection:
            return "created" if _insert_command(connection, service, command, now) else "duplicate"

    def read_fleet(self) -> FleetReading:
        """The fleet's document with its token. An unreadable document comes without its token: it is never overwritten.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT record, token FROM fleet", ())
        unreadable: dict[str, str] = {}
        fleet = decode(Fleet, rows[0][0] if rows else None, "fleet", unreadable)
        token = str(rows[0][1]) if fleet is not None else None
        return FleetReading(fleet=fleet or Fleet(), token=token, unreadable=unreadable.get("fleet"))

    def commit_fleet(self, command: CommandFact, *, fleet: Fleet, token: str | None) -> CommandOutcome:
        """Create the command and write the fleet's document, if its token still is `token`; all or nothing.

        Raises:
            TokenConflict: the document changed since it was read; nothing was written.
            Retry: the file was busy for too long; nothing was written.
        """
        now = self._clock.now()
        with self._write() as connection:
            if not _insert_command(connection, None, command, now):
                return "duplicate"
            _check("the fleet's document", connection.execute("SELECT token FROM fleet").fetchone(), token)
            write_fleet(connection, fleet)
            return "created"

    def discard_parked(self, command: CommandFact, *, key: str) -> CommandOutcome:
        """Create the command and delete the parked entry (one that is gone already is no error), all or nothing.

        Raises:
            Retry: the file was busy for too long; nothing was written.
        """
        now = self._clock.now()
        with self._write() as connection:
            if not _insert_command(connection, None, command, now):
                return "duplicate"
            connection.execute("DELETE FROM parked WHERE key = ?", (document_id(key),))
            return "created"


def write_service(connection: sqlite3.Connection, document: ServiceDocument) -> None:
    """Put the document in its row, under a new token."""
    connection.execute(
        "INSERT INTO services (id, sweep_slot, record, model_uri, token) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        " sweep_slot = excluded.sweep_slot, record = excluded.record, model_uri = excluded.model_uri, token = excluded.token",
        (str(document.id), document.id.sweep_slot, encode(document), document.model_uri, new_token(connection)),
    )


def write_fleet(connection: sqlite3.Connection, fleet: Fleet) -> None:
    """Put the fleet's document in its row, under a new token."""
    connection.execute(
        "INSERT INTO fleet (id, record, token) VALUES (1, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET record = excluded.record, token = excluded.token",
        (encode(fleet), new_token(connection)),
    )


def _subject(service: ServiceId | None) -> str:
    """What a command is about: a service, or nothing for one that is about no one service."""
    return "" if service is None else str(service)


def _insert_command(connection: sqlite3.Connection, service: ServiceId | None, command: CommandFact, now: datetime) -> bool:
    """Whether the command was not there before."""
    stored = connection.execute(
        "INSERT INTO commands (subject, command_id, created_at, record) VALUES (?, ?, ?, ?) ON CONFLICT (subject, command_id) DO NOTHING",
        (_subject(service), document_id(command.command_id), micros(now), encode(command)),
    )
    return stored.rowcount == 1


def _check(what: str, row: tuple[int] | None, token: str | None) -> None:
    if token != (str(row[0]) if row else None):
        raise TokenConflict(f"{what} is at token {row[0] if row else None}, not at {token}")
