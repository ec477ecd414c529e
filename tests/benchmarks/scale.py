"""A tick over 10,000 settled services against 1,000."""

import gc
import statistics
import tempfile
import time
import tracemalloc
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from shared.handlers.schedule import SchedulePorts, tick
from shared.local.clock import VirtualClock
from shared.local.sqlite_store import SqliteStore
from shared.ports import ScheduleStore
from shared.records.subject import SWEEP_SLOTS, ServiceId
from tests.benchmarks.cost import _as_bus, settle
from tests.benchmarks.table import Area, Row, spread
from tests.benchmarks.twins import ListBus, as_bus
from tests.support.builders import NOW, alert
from tests.support.tracing import Trace, Traced

FEW, MANY = 1_000, 10_000
LARGEST_RATIO = 10.5

HOW = (
    "SQLite files with 1,000 and with 10,000 services that have nothing ahead of them, each with an incident that was opened and closed an "
    "hour ago. Ten ticks, one for each minute of the sweep, so that every service is due once; {rounds} rounds, the two sizes in turns at "
    "every tick (each after one that is not timed). Of each of the ten ticks the quickest of all rounds counts, and the ratio is that of "
    "their sums (the median is that of whole rounds); the woken are compared with the exact set that is due."
)


class Fleet(NamedTuple):
    """Settled services and what the tick sees of them."""

    services: list[ServiceId]
    clock: VirtualClock
    bus: ListBus
    trace: Trace
    ports: SchedulePorts


def measure(*, rounds: int = 15) -> Area:
    with tempfile.TemporaryDirectory() as name:
        fleets = {count: _fleet(Path(name) / f"{count}.db", count) for count in (FEW, MANY)}
        seconds: dict[int, list[list[float]]] = {count: [] for count in fleets}
        wrong = 0
        for _ in range(rounds):
            round_of = {count: [0.0] * SWEEP_SLOTS for count in fleets}
            gc.collect()
            for number in range(SWEEP_SLOTS):
                for count, fleet in fleets.items():
                    round_of[count][number], unlike = _timed_tick(fleet)
                    wrong += unlike
            for count in fleets:
                seconds[count].append(round_of[count])
        peaks = {count: _peak_of_a_tick(fleet) for count, fleet in fleets.items()}
        called = set().union(*(fleet.trace.operations for fleet in fleets.values()))
    whole = {count: [sum(ticks) for ticks in found] for count, found in seconds.items()}
    best = {count: sum(map(min, zip(*found, strict=True))) for count, found in seconds.items()}
    ratios = [many / few for few, many in zip(whole[FEW], whole[MANY], strict=True)]
    ratio = best[MANY] / best[FEW]
    platform = [name for name in called if not name.startswith(("store.", "bus."))]
    rows = (
        Row(
            f"ten ticks over {FEW:,} services", f"quickest {1e3 * best[FEW]:.1f} ms, {spread([1e3 * value for value in whole[FEW]], ' ms')}"
        ),
        Row(
            f"ten ticks over {MANY:,} services",
            f"quickest {1e3 * best[MANY]:.1f} ms, {spread([1e3 * value for value in whole[MANY]], ' ms')}",
        ),
        Row(
            "ratio",
            f"{ratio:.2f} (median of rounds {statistics.median(ratios):.2f})",
            f"<= {LARGEST_RATIO}",
            ratio <= LARGEST_RATIO,
        ),
        Row("ticks that woke anything else than what was due", f"{wrong} of {2 * rounds * SWEEP_SLOTS}", "0", wrong == 0),
        Row("platform calls", f"{len(platform)} (the tick has no platform port)", "0", not platform),
        Row("memory that one tick adds, at its peak", f"{peaks[FEW]:.2f} MiB for {FEW:,}, {peaks[MANY]:.2f} MiB for {MANY:,}"),
        Row("resident memory of the whole process afterwards", f"{_resident_mib():.0f} MiB"),
    )
    return Area("Scale", HOW.format(rounds=rounds), rows)


def _fleet(path: Path, count: int) -> Fleet:
    clock = VirtualClock(NOW - timedelta(hours=1))
    store, bus, trace = SqliteStore(path, clock), ListBus(), Trace()
    services = settle(store, count)
    for service in services:
        store.create_fact(service, alert())
        store.create_fact(service, alert(state="closed"))
        snapshot, page = store.read(service), store.facts_after(service, None, limit=2)
        assert snapshot.state is not None
        folded = snapshot.state.model_copy(update={"cursor": page.facts[-1].position})
        store.commit(service, token=snapshot.token, state=folded)
    clock.advance(3_600)
    ports = SchedulePorts(_as_schedule_store(Traced("store", store, trace)), _as_bus(Traced("bus", as_bus(bus), trace)), clock)
    return Fleet(services, clock, bus, trace, ports)


def _timed_tick(fleet: Fleet) -> tuple[float, bool]:
    """The seconds of one tick (a second one in its minute, so that both sizes find warm caches), and whether it woke the wrong set."""
    slot = int(fleet.clock.now().timestamp() // 60) % SWEEP_SLOTS
    tick(fleet.ports)
    fleet.bus.published.clear()
    began = time.perf_counter()
    tick(fleet.ports)
    seconds = time.perf_counter() - began
    due = sorted(str(service) for service in fleet.services if service.sweep_slot == slot)
    fleet.clock.advance(60)
    return seconds, sorted(chain.from_iterable(fleet.bus.published)) != due


def _peak_of_a_tick(fleet: Fleet) -> float:
    fleet.bus.published.clear()
    tracemalloc.start()
    tick(fleet.ports)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def _resident_mib() -> float:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def _as_schedule_store(traced: Traced) -> ScheduleStore:
    return traced
