"""The real alert function with a store and a bus in memory.

`BENCH_STORE=sqlite` puts the SQLite store behind it (in memory), otherwise it is the twin that is a dictionary.
"""

import os
from typing import cast

from shared import wiring
from shared.clock import SystemClock
from shared.handlers.alert import AlertPorts
from shared.handlers.reconcile import ReconcilePorts
from shared.handlers.schedule import SchedulePorts
from shared.local.sqlite_store import SqliteStore
from tests.benchmarks.sources import load_main
from tests.benchmarks.twins import EncodingBus, memory_store

_clock = SystemClock()
_store = SqliteStore(":memory:", _clock) if os.environ.get("BENCH_STORE") == "sqlite" else memory_store()
_ports = AlertPorts.of(_store, EncodingBus(), _clock)
wiring.install(alert=_ports, schedule=cast("SchedulePorts", None), reconcile=cast("ReconcilePorts", None))

alert = load_main("alert").alert
