"""The part of the SQLite store that uploads and models use."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

from shared.errors import TokenConflict
from shared.local.sqlite_file import new_token
from shared.local.sqlite_parking import SqliteParking
from shared.local.sqlite_rows import decode, encode, micros
from shared.records.facts import UploadFact
from shared.records.model import ModelSnapshot, ModelState
from shared.records.model_subject import ModelSubject
from shared.records.subject import ServiceId, document_id

PAGE_ROWS = 500
"""How many models one step of a listing holds."""
UNREADABLE_LIMIT_CHARACTERS = 512


class SqliteModels(SqliteParking):
    """`ports.ModelStore` in the SQLite file."""

    def create_upload(self, model: ModelSubject, fact: UploadFact) -> Literal["created", "duplicate"]:
        """Create the fact under the model; its time is the clock's.

        Raises:
            Retry: the file was busy for too long; nothing was stored.
        """
        now = micros(self._clock.now())
        with self._write() as connection:
            stored = connection.execute(
                "INSERT INTO uploads (model, key, created_at, record) VALUES (?, ?, ?, ?) ON CONFLICT (model, key) DO NOTHING",
                (model.uri, document_id(fact.key), now, encode(fact)),
            )
            return "created" if stored.rowcount == 1 else "duplicate"

    def read_model(self, model: ModelSubject) -> ModelSnapshot:
        """The model's state with its token. An unreadable state comes without its token.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT record, token FROM models WHERE uri = ?", (model.uri,))
        unreadable: dict[str, str] = {}
        state = decode(ModelState, rows[0][0] if rows else None, "state", unreadable)
        why = unreadable.get("state")
        return ModelSnapshot(
            state=state,
            token=str(rows[0][1]) if state is not None else None,
            unreadable=why[:UNREADABLE_LIMIT_CHARACTERS] if why is not None else None,
        )

    def commit_model(self, model: ModelSubject, *, token: str | None, state: ModelState) -> str:
        """Write the state if its token still is `token` (None: if there is none). Returns the new token.

        Raises:
            TokenConflict: somebody else committed; nothing was written.
            Retry: the file was busy for too long; nothing was written.
        """
        with self._write() as connection:
            row = connection.execute("SELECT token FROM models WHERE uri = ?", (model.uri,)).fetchone()
            if token != (str(row[0]) if row else None):
                raise TokenConflict(f"the state of {model.uri} is at token {row[0] if row else None}, not at {token}")
            made = new_token(connection)
            connection.execute(
                "INSERT INTO models (uri, token, record, next_look_at, listed_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (uri) DO UPDATE SET token = excluded.token, record = excluded.record,"
                " next_look_at = excluded.next_look_at, listed_at = excluded.listed_at",
                (
                    model.uri,
                    made,
                    encode(state),
                    micros(state.next_look_at) if state.next_look_at else None,
                    micros(state.listed_at) if state.listed_at else None,
                ),
            )
            return str(made)

    def followers(self, model: ModelSubject) -> list[ServiceId]:
        """The services whose specs name this model's uri.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows("SELECT id FROM services WHERE model_uri = ? ORDER BY id", (model.uri,))
        return [ServiceId.parse(row[0]) for row in rows]

    def due_models(self, *, now: datetime) -> Iterable[ModelSubject]:
        """The models whose `next_look_at` has come; each once.

        Raises:
            Retry: the file was busy for too long (while iterating).
        """
        return self._due(now)

    def unlisted_models(self, *, since: datetime, until: datetime) -> Iterable[ModelSubject]:
        """Models with an upload created in [since, until) and not listed since.

        Raises:
            Retry: the file was busy for too long.
        """
        rows = self._rows(
            "SELECT u.model FROM uploads u LEFT JOIN models m ON m.uri = u.model WHERE u.created_at >= ? AND u.created_at < ?"
            " GROUP BY u.model HAVING m.listed_at IS NULL OR max(u.created_at) >= m.listed_at ORDER BY u.model",
            (micros(since), micros(until)),
        )
        return [ModelSubject(uri=row[0]) for row in rows]

    def _due(self, now: datetime) -> Iterator[ModelSubject]:
        seen: set[str] = set()
        after: tuple[int, str] = (-(2**62), "")
        while rows := self._rows(
            "SELECT next_look_at, uri FROM models WHERE next_look_at <= ? AND (next_look_at, uri) > (?, ?)"
            " ORDER BY next_look_at, uri LIMIT ?",
            (micros(now), *after, PAGE_ROWS),
        ):
            for _, uri in rows:
                if uri not in seen:
                    seen.add(uri)
                    yield ModelSubject(uri=uri)
            after = rows[-1]
