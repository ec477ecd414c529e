"""The real alert function in memory, with spans at the ratio `BENCH_RATIO`, sent to `BENCH_COLLECTOR` (HOST:PORT); none at 0."""

import os

from shared import wiring
from shared.clock import SystemClock
from shared.gcp.traces import Traces
from shared.handlers.keeping import FactPorts
from tests.benchmarks.sources import load_main
from tests.benchmarks.twins import EncodingBus, memory_store

RATIO = float(os.environ["BENCH_RATIO"])

_clock = SystemClock()
_store, _bus = memory_store(), EncodingBus()
if RATIO:
    _traces = Traces("acme-ml", ratio=RATIO, endpoint=f"http://{os.environ['BENCH_COLLECTOR']}")
    wiring.install(alert=FactPorts.of(_traces.of("store", _store), _traces.of("bus", _bus), _clock))
    wiring.watch = _traces.request
else:
    wiring.install(alert=FactPorts.of(_store, _bus, _clock))

alert = load_main("alert").alert
