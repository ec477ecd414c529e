"""The tables of the SQLite store. Times are whole microseconds since 1970 (UTC); `record` is a record's JSON."""

SCHEMA_VERSION = 1
"""Kept in the file's `user_version`."""

SCHEMA = (
    # The spec of a service; `sweep_slot` says in which minute of ten the schedule looks at it when it is settled.
    "CREATE TABLE IF NOT EXISTS services (id TEXT PRIMARY KEY, sweep_slot INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS services_by_slot ON services (sweep_slot, id)",
    # Facts; `seq` only ever grows, and grows in commit order because writers hold the write lock.
    (
        "CREATE TABLE IF NOT EXISTS facts (seq INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, key TEXT NOT NULL,"
        " created_at INTEGER NOT NULL, record TEXT NOT NULL, UNIQUE (service, key)) STRICT"
    ),
    "CREATE INDEX IF NOT EXISTS facts_in_order ON facts (service, seq)",
    "CREATE INDEX IF NOT EXISTS facts_by_time ON facts (created_at, service)",
    # Reconcile's document; `token` counts its commits.
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
    "CREATE TABLE IF NOT EXISTS fleet (id INTEGER PRIMARY KEY CHECK (id = 1), record TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS act_slots (minute TEXT NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (minute, slot)) STRICT, WITHOUT ROWID",
)
