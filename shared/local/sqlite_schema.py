"""The tables of the SQLite store. Times are whole microseconds since 1970 (UTC); `record` is a record's JSON."""

SCHEMA_VERSION = 2
"""Kept in the file's `user_version`."""

MIGRATIONS = {
    1: (
        "ALTER TABLE services ADD COLUMN model_uri TEXT",
        "ALTER TABLE services ADD COLUMN token INTEGER NOT NULL DEFAULT 0",
        (
            "UPDATE services SET model_uri = json_extract(record, '$.spec.serving.model.uri')"
            " WHERE json_valid(record) AND json_extract(record, '$.spec.serving.model.uri') LIKE 'gs://%'"
        ),
        "ALTER TABLE fleet ADD COLUMN token INTEGER NOT NULL DEFAULT 0",
    )
}
"""What makes a file of that version one of the next, before the tables below that are missing in it are added."""

SCHEMA = (
    # The spec of a service; `sweep_slot` says in which minute of ten the schedule looks at it when it is settled.
    (
        "CREATE TABLE IF NOT EXISTS services (id TEXT PRIMARY KEY, sweep_slot INTEGER NOT NULL, record TEXT NOT NULL, model_uri TEXT,"
        " token INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID"
    ),
    "CREATE INDEX IF NOT EXISTS services_by_slot ON services (sweep_slot, id)",
    "CREATE INDEX IF NOT EXISTS services_by_model ON services (model_uri, id) WHERE model_uri IS NOT NULL",
    # Commands; `subject` is a service, or empty for one that is about no one service.
    (
        "CREATE TABLE IF NOT EXISTS commands (subject TEXT NOT NULL, command_id TEXT NOT NULL, created_at INTEGER NOT NULL,"
        " record TEXT NOT NULL, PRIMARY KEY (subject, command_id)) STRICT"
    ),
    # Facts; `seq` only ever grows, and grows in commit order because writers hold the write lock.
    (
        "CREATE TABLE IF NOT EXISTS facts (seq INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, key TEXT NOT NULL,"
        " created_at INTEGER NOT NULL, record TEXT NOT NULL, UNIQUE (service, key)) STRICT"
    ),
    "CREATE INDEX IF NOT EXISTS facts_in_order ON facts (service, seq)",
    "CREATE INDEX IF NOT EXISTS facts_by_time ON facts (created_at, service)",
    # Reconcile's document; `token` is another one after each commit.
    (
        "CREATE TABLE IF NOT EXISTS states (service TEXT PRIMARY KEY, token INTEGER NOT NULL, record TEXT NOT NULL, cursor TEXT,"
        " next_look_at INTEGER, usd_per_hour_at_max REAL) STRICT, WITHOUT ROWID"
    ),
    "CREATE INDEX IF NOT EXISTS states_due ON states (next_look_at, service) WHERE next_look_at IS NOT NULL",
    (
        "CREATE TABLE IF NOT EXISTS decisions (service TEXT NOT NULL, decision_id TEXT NOT NULL, decided_at INTEGER NOT NULL,"
        " record TEXT NOT NULL, PRIMARY KEY (service, decision_id)) STRICT"
    ),
    "CREATE INDEX IF NOT EXISTS decisions_by_time ON decisions (service, decided_at)",
    "CREATE TABLE IF NOT EXISTS parked (key TEXT PRIMARY KEY, parked_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS parked_by_time ON parked (parked_at)",
    (
        "CREATE TABLE IF NOT EXISTS fleet (id INTEGER PRIMARY KEY CHECK (id = 1), record TEXT NOT NULL, token INTEGER NOT NULL DEFAULT 0)"
        " STRICT"
    ),
    "CREATE TABLE IF NOT EXISTS act_slots (minute TEXT NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (minute, slot)) STRICT, WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS ticks (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER NOT NULL) STRICT",
    # Models by their uri: what was uploaded, and reconcile's document.
    (
        "CREATE TABLE IF NOT EXISTS uploads (model TEXT NOT NULL, key TEXT NOT NULL, created_at INTEGER NOT NULL, record TEXT NOT NULL,"
        " PRIMARY KEY (model, key)) STRICT"
    ),
    "CREATE INDEX IF NOT EXISTS uploads_by_time ON uploads (created_at, model)",
    (
        "CREATE TABLE IF NOT EXISTS models (uri TEXT PRIMARY KEY, token INTEGER NOT NULL, record TEXT NOT NULL, next_look_at INTEGER,"
        " listed_at INTEGER) STRICT, WITHOUT ROWID"
    ),
    "CREATE INDEX IF NOT EXISTS models_due ON models (next_look_at, uri) WHERE next_look_at IS NOT NULL",
    # The last token given out. One row for the whole file: what is deleted and made anew never gets a token that it had before.
    "CREATE TABLE IF NOT EXISTS tokens (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT",
    "INSERT INTO tokens (id, last) SELECT 1, coalesce(max(token), 0) FROM states WHERE true ON CONFLICT (id) DO NOTHING",
)
