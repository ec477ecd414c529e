"""The same cases for the simulated scheduler: the world with one instance, looked into while it runs.

A batch takes so long that none ends while the requests of a phase come; then one after the other does.
"""

from itertools import accumulate

import numpy as np

from shared.simulation.world.layout import CAUSES, NONE
from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Recorded
from shared.simulation.world.world import World
from tests.benchmarks.tf.cases import Case, Outcome
from tests.support.tf_server.rules import Rules

BATCH_S = 20.0
"""Longer than any phase."""
LOOK_S = 0.005
MANY = 10_000


def revision_of(rules: Rules) -> Revision:
    """One instance with nothing in the way of the queue."""
    batching = Batching(
        rules.max_batch_size,
        float(rules.batch_timeout_ms),
        max(rules.max_enqueued_batches, 1),
        rules.num_batch_threads,
        rules.allowed_batch_sizes,
        splitting=rules.enable_large_batch_splitting,
        max_execution_batch_size=rules.execution_rows if rules.enable_large_batch_splitting else None,
    )
    cloud_run = CloudRunSettings(concurrency=MANY, min_instances=1, max_instances=1, timeout_s=float(MANY))
    return Revision(ModelTimes.affine(BATCH_S * 1000, 0.0), ServerSettings(batching, server_threads=MANY), cloud_run)


class _Watched:
    """A world, and what its queue has done so far."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.batches: dict[tuple[float, float, int, int], tuple[int, int]] = {}
        """By the times when it was taken and begun; of a split request's pieces the full ones come first."""

    def run_until(self, time_s: float) -> None:
        self.world.run_until(time_s)
        state = self.world._state
        taken = state.batches.taken
        for place in np.flatnonzero((taken > 0) & (taken <= time_s) & (time_s < taken + BATCH_S)):
            rows = int(state.batches.rows[place])
            key = (float(taken[place]), float(state.batches.start[place]), -rows, int(place))
            self.batches[key] = (rows, int(state.padded[0, rows]))

    @property
    def failures(self) -> list[int]:
        return [int(count) for count in self.world._state.failures.sum(axis=(0, 1))]

    @property
    def waiting(self) -> bool:
        return bool(self.world._state.instances[0].queue_head != NONE)


def run(case: Case) -> Outcome:
    """What the simulated scheduler does with it; the text of a refusal is its cause in the words of the diagnosis."""
    rows = [offer.rows for phase in case.phases for offer in phase]
    phase_s = BATCH_S * (3 + sum(rows))
    times = [
        [(number + 1) * phase_s + passed / 1000 for passed in accumulate(offer.after_ms for offer in phase)]
        for number, phase in enumerate(case.phases)
    ]
    recorded = Recorded(tuple(time for phase in times for time in phase), tuple(rows))
    watched = _Watched(World(recorded, revision_of(case.rules), good_ms=1e9, seed=1, warm_instances=1))
    refused, number = [], 0
    for phase in times:
        for time_s in phase:
            watched.run_until(time_s - LOOK_S)
            before = watched.failures
            watched.run_until(time_s + LOOK_S)
            causes = [cause for cause, old, new in zip(CAUSES, before, watched.failures, strict=True) if new > old]
            refused += [(number, cause) for cause in causes]
            number += 1
        for half in range(1, 2 * int(phase_s / BATCH_S) - 2):
            watched.run_until(phase[0] + (half + 0.5) * BATCH_S / 2)
            if not watched.waiting and half > 1:
                break
    return Outcome(tuple(watched.batches[key] for key in sorted(watched.batches)), tuple(refused))
