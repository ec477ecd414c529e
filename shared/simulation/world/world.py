"""The world: one service, its revisions and its clients, in simulated time. It runs up to a time, is looked at and changed, and goes on."""

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shared.records.evidence import INGESTION_DELAY_SECONDS, WINDOW_SECONDS
from shared.simulation.world.arrays import new_state, with_minutes, with_revision, with_room
from shared.simulation.world.layout import MINUTE_S, MORE_ROOM
from shared.simulation.world.loop import Advance, made
from shared.simulation.world.results import RunResult, result_of
from shared.simulation.world.sampling import Sampled
from shared.simulation.world.settings import Revision
from shared.simulation.world.workload import Recorded, Workload, source_of

_UNLIMITED = 1 << 40


@functools.cache
def _advance() -> Advance:
    return made()


@dataclass(frozen=True, slots=True)
class SetBounds:
    """Bounds of instances of a revision, from now on; no new revision."""

    revision: str
    min_instances: int
    max_instances: int


@dataclass(frozen=True, slots=True)
class AddRevision:
    """A new revision, which starts `instances` now. It has no traffic until a SetTraffic gives it some."""

    name: str
    revision: Revision
    instances: int = 1


@dataclass(frozen=True, slots=True)
class SetTraffic:
    """Shares of the traffic by revision, from now on; they add up to 1. One that is not named gets none."""

    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SetQuota:
    """GPUs that the service may have at once, draining instances included."""

    gpus: int


Change = SetBounds | AddRevision | SetTraffic | SetQuota


@dataclass(frozen=True, slots=True)
class Tally:
    """Tries of clients: `inside` are those that wait or are worked on, of whom `pending` wait for an instance."""

    tried: int
    answered: int
    failed: int
    pending: int
    inside: int


class World:
    """Deterministic by `seed`: the same calls give the same figures, and where a run stops in between does not matter.

    `good_ms`: an answer in time, after its client's first try. `warm_instances`: those that serve at time zero.
    """

    def __init__(
        self,
        workload: Workload | Recorded,
        revision: Revision,
        *,
        good_ms: float,
        seed: int,
        warm_instances: int = 2,
        quota: int | None = None,
        name: str = "00001",
    ) -> None:
        self._arrivals = source_of(workload, seed)
        self._largest = workload.largest
        self._names: list[str] = []
        self._settings: list[Revision] = []
        self._shares: dict[str, float] = {}
        self._seed = seed
        self._state = new_state()
        self._chunk_end = 0.0
        self._times = self._rows = self._draws = np.zeros(0)
        clock = self._state.clock[0]
        clock.good_s = good_ms / 1000
        clock.tries, clock.backoff_s = workload.retries.tries, workload.retries.backoff_s
        clock.quota = _UNLIMITED if quota is None else quota
        self._add(AddRevision(name, revision, warm_instances), warm=True)

    @property
    def now(self) -> float:
        """Simulated seconds since the beginning."""
        return float(self._state.clock[0].now)

    @property
    def revisions(self) -> tuple[str, ...]:
        """Names, in the order in which they were made."""
        return tuple(self._names)

    @property
    def instances(self) -> dict[str, int]:
        """Of each revision those that hold a GPU now: starting, serving or draining."""
        return {
            name: int(each.starting + each.ready + each.draining) for name, each in zip(self._names, self._state.revisions, strict=True)
        }

    @property
    def wanted(self) -> dict[str, int]:
        """Of each revision the most instances that its autoscaler wanted at any tick of the time for which it holds them."""
        tick = int(self._state.clock[0].tick)
        firsts = [max(tick - int(each.hold_ticks), 0) for each in self._state.revisions]
        return {name: int(self._state.wants[place, firsts[place] : tick].max(initial=0)) for place, name in enumerate(self._names)}

    def run_until(self, until_s: float) -> None:
        """All that happens before that time."""
        advance = _advance()
        self._state = with_minutes(self._state, math.ceil(until_s / MINUTE_S) + 1)
        while self.now < until_s:
            if self.now >= self._chunk_end:
                self._times, self._rows, self._draws = self._arrivals.next_chunk()
                self._chunk_end = self._arrivals.drawn_to_s
                self._state.clock[0].arrival = self._state.clock[0].draw = 0
            self._make_room()
            while advance(self._state, self._times, self._rows, self._draws, min(until_s, self._chunk_end)) == MORE_ROOM:
                self._make_room()

    def apply(self, change: Change) -> None:
        """From now on.

        Raises:
            ValueError: no such revision, a name that is taken, or shares that do not add up to 1.
        """
        match change:
            case SetBounds():
                place = self._place(change.revision)
                self._state.revisions[place].least = change.min_instances
                self._state.revisions[place].most = change.max_instances
                self._count_needed()
            case AddRevision():
                self._add(change, warm=False)
            case SetTraffic():
                self._share(change.shares)
            case SetQuota():
                self._state.clock[0].quota = change.gpus

    def result(self, from_s: float, to_s: float | None = None, *, last_s: float = 1200.0) -> RunResult:
        """What happened between two full minutes (up to now, if not given); within it, the last `last_s` once more.

        Raises:
            ValueError: `from_s` or `to_s` is not a full minute, or they are in the wrong order, or the time is still to come.
        """
        end = self.now if to_s is None else to_s
        if not 0 <= from_s < end <= self.now or from_s % MINUTE_S or end % MINUTE_S:
            raise ValueError(f"from {from_s} s to {end} s: two full minutes in order, the second not after now ({self.now} s)")
        return result_of(self._state, tuple(self._settings), int(from_s / MINUTE_S), int(end / MINUTE_S), last=int(last_s / MINUTE_S))

    def tally(self) -> Tally:
        """What became of all tries so far."""
        s = self._state
        return Tally(
            tried=int(s.minutes.tried.sum()),
            answered=int(s.minutes.answered.sum()),
            failed=int(s.failures.sum()),
            pending=int(s.revisions.pending.sum()),
            inside=int(s.revisions.inflight.sum() + s.revisions.pending.sum()),
        )

    def metrics(self, window_s: float = WINDOW_SECONDS, *, lag_s: float = INGESTION_DELAY_SECONDS, loss: float = 0.0) -> dict[str, float]:
        """What Cloud Monitoring and TF Serving's metrics page say of a window that ended `lag_s` ago, by the keys of a diagnosis.

        A key that is missing has no points. Points are of whole minutes: the window ends with the last one that is old enough. Each
        point of each metric is lost with the chance `loss`.
        """
        end = max(math.floor((self.now - lag_s) / MINUTE_S), 0)
        first = max(end - math.ceil(window_s / MINUTE_S), 0)
        return Sampled(self._state, tuple(self._settings), range(first, end), loss=loss, seed=self._seed).readings()

    def _make_room(self) -> None:
        parts = int(self._state.clock[0].batches_per_event)
        self._state = with_room(self._state, least_instances=int(self._state.clock[0].needed_instances), largest_batch_parts=parts)

    def _place(self, name: str) -> int:
        if name not in self._names:
            raise ValueError(f"no revision {name!r}: there are {', '.join(self._names)}")
        return self._names.index(name)

    def _add(self, change: AddRevision, *, warm: bool) -> None:
        if change.name in self._names:
            raise ValueError(f"revision {change.name!r} exists: a revision never changes, give another name")
        self._names.append(change.name)
        self._settings.append(change.revision)
        self._state = with_revision(self._state, change.revision, largest_request=self._largest)
        made = self._state.revisions[-1]
        made.asked, made.asked_warm = change.instances, warm
        clock = self._state.clock[0]
        clock.batches_per_event = max(int(clock.batches_per_event), self._parts(change.revision) + 1)
        self._share({**self._shares, change.name: 0.0} if self._shares else {change.name: 1.0})
        self._count_needed()

    def _parts(self, revision: Revision) -> int:
        """Of the largest request, in batches."""
        batching = revision.server.batching
        if batching is None or not batching.splitting:
            return 1
        return math.ceil(min(self._largest, batching.max_batch_size) / batching.batch_rows)

    def _share(self, shares: Mapping[str, float]) -> None:
        for name in shares:
            self._place(name)
        total = math.fsum(shares.values())
        if not math.isclose(total, 1.0) or any(share < 0 for share in shares.values()):
            raise ValueError(f"the shares {dict(shares)} are not parts of 1")
        self._shares = {name: shares.get(name, 0.0) for name in self._names}
        ends = list(itertools.accumulate(self._shares.values()))
        for place, end in enumerate(ends):
            self._state.revisions[place].share = 1.0 if math.isclose(end, 1.0) else end

    def _count_needed(self) -> None:
        self._state.clock[0].needed_instances = int(self._state.revisions.most.sum())


def simulate(
    workload: Workload | Recorded,
    revision: Revision,
    *,
    good_ms: float,
    seed: int,
    duration_s: float,
    warm_up_s: float = 420.0,
    warm_instances: int = 2,
) -> RunResult:
    """One service left to itself: `duration_s` after a warm-up that is not counted."""
    world = World(workload, revision, good_ms=good_ms, seed=seed, warm_instances=warm_instances)
    world.run_until(warm_up_s + duration_s)
    return world.result(warm_up_s)
