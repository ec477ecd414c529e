"""The best static settings for a workload that is known beforehand: a yardstick for whoever has to find them out. Seeded.

Random and coordinate-wise search in the simulated world, begun where the capacity model says. Sought is the lowest cost of a good answer
at which the share of good ones is at least the target, as means over seeds; a miss is priced, so that the search may pass through
settings that just fail. Runs that can no longer become better than the best are broken off, which changes no result.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from shared.simulation.oracle_knobs import Asked, Knobs, Space
from shared.simulation.world.settings import Revision
from shared.simulation.world.streams import stream
from shared.simulation.world.workload import Workload
from shared.simulation.world.world import World

TARGET = 0.99
SEEDS = 3
EVALUATIONS = 150
"""Settings that are looked at, at most; most runs are broken off."""
RANDOM = 24
PROMISING = 4
"""Settings of the first seed that the others are run for."""
MOST_TRIES = 1_000
"""Moves by chance in a space so small that they only find what is known."""
SPARE = 0.5
"""Of what may be missed, the part that is kept back: chosen among many on a few seeds, the best looks better than it is on others."""
MISS_PRICE = 12.0
"""A hundredth of goodput below the target weighs as twelve hundredths of cost."""
NO_COST = 1e12
"""In place of the cost of a million good answers where none is good."""
LOOKS = 6
"""How often a run is looked at on its way."""
NEARLY = 1.02
"""A setting that is dearer by more than this on the seeds so far is left."""
BETTER = 0.999
STEPS = (1.0, 0.4, 0.15)


@dataclass(frozen=True, slots=True)
class Task:
    """What settings are sought for."""

    workload: Workload
    base: Revision
    """What is not turned: model, protocol, vCPUs, price, start; and the bounds of instances, inside which the search stays."""
    good_ms: float
    warm_up_s: float
    duration_s: float
    warm_instances: int | None = None
    """None: as many as the settings' minimum, one at least."""
    quota: int | None = None

    def world(self, knobs: Knobs, seed: int) -> World:
        """A world with those settings."""
        revision = knobs.revision(self.base, self.workload.largest)
        warm = max(1, knobs.min_instances) if self.warm_instances is None else self.warm_instances
        most = knobs.max_instances if self.quota is None else min(knobs.max_instances, self.quota)
        return World(
            self.workload, revision, good_ms=self.good_ms, seed=seed, warm_instances=min(warm, most), quota=self.quota, name="oracle"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What settings came to, as means over the seeds that were run."""

    knobs: Knobs
    goodput: float
    usd_per_million_good: float
    seeds: int
    """That were run to their end."""

    def said(self) -> str:
        """In a few words."""
        return f"{self.goodput:.4f} good, ${self.usd_per_million_good:.3f} per million"

    def price(self, target: float) -> float:
        """What is made small: the cost, and what misses the target."""
        return self.usd_per_million_good * (1 + MISS_PRICE * max(0.0, target - self.goodput))


@dataclass(frozen=True, slots=True)
class Oracle:
    """The settings found."""

    knobs: Knobs
    revision: Revision
    met: bool
    """Whether they reach the target on the seeds of the search; if not, they come closest for their cost."""
    outcome: Outcome
    evaluations: int


def search(
    task: Task,
    *,
    seed: int = 0,
    target: float = TARGET,
    seeds: int = SEEDS,
    evaluations: int = EVALUATIONS,
    progress: Callable[[str], None] = lambda _: None,
) -> Oracle:
    """Search; the same arguments find the same settings. `seed` chooses the seeds that are run, none of which is small."""
    chance = stream(seed, "oracle")
    chosen = tuple(int(each) for each in chance.integers(1 << 20, 1 << 40, size=seeds))
    asked = Asked.of(task.workload, chosen[0], begin_s=task.warm_up_s, end_s=task.warm_up_s + task.duration_s)
    most = task.base.cloud_run.max_instances if task.quota is None else min(task.base.cloud_run.max_instances, task.quota)
    space = Space(task.base, asked, task.good_ms, most)
    sought = target + SPARE * (1 - target)
    runs = _Runs(task, sought)
    best = _explored(runs, space, chosen[:1], chance, progress)
    best = _descended(runs, space, best, chosen[:1], evaluations=evaluations * 2 // 3, chance=chance)
    best = _wandered(runs, space, best, chosen[:1], evaluations=evaluations * 2 // 3, chance=chance)
    progress(f"one seed: {best.said()}, {runs.count} settings")
    if seeds > 1:
        best = min((runs.of(each, chosen) for each in runs.promising(PROMISING)), key=lambda each: each.price(sought))
        best = _descended(runs, space, best, chosen, evaluations=evaluations, chance=chance)
        best = _wandered(runs, space, best, chosen, evaluations=evaluations, chance=chance)
        progress(f"{seeds} seeds: {best.said()}, {runs.count} settings")
    return Oracle(best.knobs, best.knobs.revision(task.base, task.workload.largest), best.goodput >= target, best, runs.count)


def _explored(runs: "_Runs", space: Space, seeds: tuple[int, ...], chance: np.random.Generator, progress: Callable[[str], None]) -> Outcome:
    candidates: list[Knobs] = list(dict.fromkeys([*space.starts(), *(space.random(chance) for _ in range(RANDOM))]))
    best = runs.of(candidates[0], seeds)
    for knobs in candidates[1:]:
        best = runs.better(knobs, seeds, best)
    progress(f"{len(candidates)} starts: {best.said()}")
    return best


def _descended(
    runs: "_Runs", space: Space, best: Outcome, seeds: tuple[int, ...], *, evaluations: int, chance: np.random.Generator
) -> Outcome:
    """Coordinates moved in an order by chance until none helps, then with smaller steps."""
    for step in STEPS:
        moved = True
        while moved and runs.count < evaluations:
            moved = False
            near = space.near(best.knobs, step)
            for place in chance.permutation(len(near)):
                found = runs.better(near[int(place)], seeds, best)
                if found is not best:
                    best, moved = found, True
                    break
                if runs.count >= evaluations:
                    break
    return best


def _wandered(
    runs: "_Runs", space: Space, best: Outcome, seeds: tuple[int, ...], *, evaluations: int, chance: np.random.Generator
) -> Outcome:
    """Two or three moves at once from the best: past what one coordinate alone makes worse."""
    tries = 0
    while runs.count < evaluations and tries < MOST_TRIES:
        tries += 1
        knobs = best.knobs
        for _ in range(int(chance.integers(2, 4))):
            near = space.near(knobs, float(chance.uniform(0.2, 2.0)))
            knobs = near[int(chance.integers(len(near)))]
        best = runs.better(knobs, seeds, best)
    return best


@dataclass
class _Runs:
    """Runs the world and remembers what came of it."""

    task: Task
    target: float
    _ended: dict[tuple[Knobs, int], tuple[float, float]] = field(default_factory=dict)
    """Goodput and cost of whole runs."""
    _left: set[tuple[Knobs, int]] = field(default_factory=set)
    """Runs that were broken off."""
    _arrived: dict[int, int] = field(default_factory=dict)
    _tried: set[Knobs] = field(default_factory=set)

    @property
    def count(self) -> int:
        """Settings that were looked at."""
        return len(self._tried)

    def of(self, knobs: Knobs, seeds: tuple[int, ...]) -> Outcome:
        """The settings, on all those seeds to their end."""
        found = self._compared(knobs, seeds, None)
        assert found is not None  # noqa: S101 (nothing breaks it off; for the type checker)
        return found

    def better(self, knobs: Knobs, seeds: tuple[int, ...], best: Outcome) -> Outcome:
        """The settings if they are better than the best, else the best."""
        found = self._compared(knobs, seeds, best)
        return found if found is not None and found.price(self.target) < BETTER * best.price(self.target) else best

    def promising(self, count: int) -> list[Knobs]:
        """The settings of the lowest price on their first seed."""
        ended = {knobs: self._outcome(knobs, [result]) for (knobs, _), result in self._ended.items()}
        return sorted(ended, key=lambda knobs: ended[knobs].price(self.target))[:count]

    def _compared(self, knobs: Knobs, seeds: tuple[int, ...], best: Outcome | None) -> Outcome | None:
        self._tried.add(knobs)
        results: list[tuple[float, float]] = []
        for seed in seeds:
            if (knobs, seed) not in self._ended:
                if best is not None and (knobs, seed) in self._left:
                    return None
                others = None if best is None else self._outcome(best.knobs, [self._ended[best.knobs, seed]])
                result = self._run(knobs, seed, None if others is None else NEARLY * others.price(self.target))
                if result is None:
                    self._left.add((knobs, seed))
                    return None
                self._ended[knobs, seed] = result
            results.append(self._ended[knobs, seed])
            if best is not None:
                so_far = [self._ended[best.knobs, each] for each in seeds[: len(results)]]
                if self._outcome(knobs, results).price(self.target) > NEARLY * self._outcome(best.knobs, so_far).price(self.target):
                    return None
        return self._outcome(knobs, results)

    @staticmethod
    def _outcome(knobs: Knobs, results: Iterable[tuple[float, float]]) -> Outcome:
        goodputs, costs = zip(*results, strict=True)
        return Outcome(knobs, float(np.mean(goodputs)), float(np.mean(costs)), len(goodputs))

    def _run(self, knobs: Knobs, seed: int, limit: float | None) -> tuple[float, float] | None:
        """Goodput and cost; None: broken off, since its price is above the limit whatever comes."""
        task = self.task
        world = task.world(knobs, seed)
        minutes = int(task.duration_s / 60)
        looks = sorted({max(1, minutes * look // LOOKS) for look in range(1, LOOKS + 1)})
        total = self._arrived.get(seed)
        goodput, cost = 0.0, NO_COST
        for minute in looks:
            now = task.warm_up_s + 60 * minute
            world.run_until(now)
            result = world.result(task.warm_up_s, now)
            good = (result.goodput or 0.0) * result.requests
            usd = result.mean_instances * 60 * minute * task.base.cloud_run.usd_per_instance_s
            if minute == minutes:
                self._arrived[seed] = result.requests
                goodput = 1.0 if result.goodput is None else result.goodput
                cost = usd * 1e6 / good if good else NO_COST
            elif limit is not None and total is not None and total > 0:
                most_good = max(total - (result.requests - good), 1.0)
                least_usd = usd + knobs.min_instances * 60 * (minutes - minute) * task.base.cloud_run.usd_per_instance_s
                at_best = Outcome(knobs, most_good / total, least_usd * 1e6 / most_good, 0)
                if at_best.price(self.target) > limit:
                    return None
        return goodput, cost
