"""The parked entries in the SQLite file."""

from shared.local.sqlite_file import SqliteFile, insert_parked
from shared.local.sqlite_rows import decode
from shared.records.parked import Parked
from shared.records.subject import document_id


class SqliteParking(SqliteFile):
    """What every port of the store has of parked entries."""

    def park(self, parked: Parked) -> None:
        """Create the parked entry; one that exists already is left as it is.

        Raises:
            Retry: the file was busy for too long; nothing was written.
        """
        with self._write() as connection:
            insert_parked(connection, parked)

    def read_parked(self, key: str) -> Parked | None:
        """A parked entry by its key; None if there is none, or none that can be read.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT record FROM parked WHERE key = ?", (document_id(key),))
        return decode(Parked, rows[0][0], "parked", {}) if rows else None

    def parked(self, *, limit: int) -> list[Parked]:
        """The newest parked entries that can be read, newest first.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT record FROM parked ORDER BY parked_at DESC, key DESC LIMIT ?", (limit,))
        return [entry for row in rows if (entry := decode(Parked, row[0], "parked", {}))]
