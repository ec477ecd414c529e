"""The real alert function with a store and a bus in memory.

`BENCH_STORE=sqlite` puts the SQLite store behind it (in memory), otherwise it is the twin that is a dictionary.
"""

import os

from shared import wiring
from shared.clock import SystemClock
from shared.handlers.keeping import FactPorts
from shared.local.sqlite_store import SqliteStore
from tests.benchmarks.sources import load_main
from tests.benchmarks.twins import EncodingBus, memory_store

_clock = SystemClock()
_store = SqliteStore(":memory:", _clock) if os.environ.get("BENCH_STORE") == "sqlite" else memory_store()
_ports = FactPorts.of(_store, EncodingBus(), _clock)
wiring.install(alert=_ports)

alert = load_main("alert").alert
