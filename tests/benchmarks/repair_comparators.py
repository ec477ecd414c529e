"""What the repair is compared with: common advice left to itself, and controllers that raise and lower the batch size by what they see.

`python -m tests.benchmarks.repair_comparators` prints them beside the figures of an earlier study.

The controller (additive increase, multiplicative decrease: AIMD) begins with the defaults over gRPC. Every five minutes it reads the 99th
percentile of the last two minutes that can be read: within the objective the largest batch grows by `STEP_ROWS`, above it it is halved.
The first step enables batching. Each step is a revision; it starts as many instances as Cloud Run's autoscaler holds of the one before (the
most that it wanted in the last five minutes), and gets the traffic when they are up, whereupon the old ones end. Both kinds let the
server have a thread for each request that Cloud Run sends it, since nothing that they do has an effect otherwise. "B only" leaves all else
as it comes; "consistent" has two batch threads and C = (N + 1) B.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.simulation.world.settings import Batching, CloudRunSettings, Revision, ServerSettings
from shared.simulation.world.world import AddRevision, SetBounds, SetTraffic, World, simulate
from tests.benchmarks.cores import on_all_cores
from tests.benchmarks.repair_cells import CELLS, DURATION_S, LAG_S, LAST_S, Cell, Outcome, outcome
from tests.benchmarks.world_policies import POLICIES

FORUM_GRPC, FORUM_REST = "forum 1, gRPC", "forum 1, REST"
AIMD_B, AIMD_CONSISTENT = "AIMD, B only", "AIMD, consistent"
COMPARED = (FORUM_GRPC, FORUM_REST, AIMD_B, AIMD_CONSISTENT)

STEP_ROWS = 8
SHRINK = 0.5
FIRST_S, EVERY_S = 180.0, 300.0
"""Two windows and the lag until the first step; then twelve in an hour."""
SEEN_S = 120.0
SPARE_THREADS = 8
CONSISTENT_THREADS = 2
DEFAULT_THREADS = 4
LARGEST_BATCH = 256
P99 = "run.googleapis.com/request_latencies p99 [ms]"


@dataclass(frozen=True)
class Ended:
    """One policy in one cell with one seed."""

    cell: Cell
    policy: str
    seed: int
    outcome: Outcome


def comparators(cell: Cell, seeds: Sequence[int]) -> dict[str, tuple[Outcome, ...]]:
    """Of each policy the last twenty minutes, seed by seed."""
    return {policy: tuple(run((cell, policy, seed)).outcome for seed in seeds) for policy in COMPARED}


def run(item: tuple[Cell, str, int]) -> Ended:
    """One of `COMPARED` in one cell with one seed, over the whole hour."""
    cell, policy, seed = item
    if policy in {FORUM_GRPC, FORUM_REST}:
        server, cloud_run = POLICIES[policy]
        revision = Revision(cell.times, server, cloud_run)
        result = simulate(
            cell.workload, revision, good_ms=cell.good_ms, seed=seed, duration_s=LAST_S, warm_up_s=DURATION_S - LAST_S, warm_instances=1
        )
        return Ended(cell, policy, seed, outcome(result, 0))
    return Ended(cell, policy, seed, _aimd(cell, seed, consistent=policy == AIMD_CONSISTENT))


def aimd_revision(base: Revision, rows: int, *, consistent: bool) -> Revision:
    """The settings with that largest batch."""
    threads = CONSISTENT_THREADS if consistent else DEFAULT_THREADS
    concurrency = max((threads + 1) * rows, 1) if consistent else base.cloud_run.concurrency
    server = ServerSettings(Batching(rows, max_enqueued_batches=1000, threads=threads), server_threads=concurrency + SPARE_THREADS)
    return replace(base, server=server, cloud_run=replace(base.cloud_run, concurrency=concurrency))


def _aimd(cell: Cell, seed: int, *, consistent: bool) -> Outcome:
    base = Revision(cell.times, ServerSettings(), CloudRunSettings())
    world = World(cell.workload, base, good_ms=cell.good_ms, seed=seed, warm_instances=1)
    rows, now_s = cell.workload.largest, FIRST_S
    while now_s < DURATION_S:
        world.run_until(now_s)
        seen = world.metrics(SEEN_S, lag_s=LAG_S).get(P99)
        wanted = rows
        if len(world.revisions) == 1 or (seen is not None and seen <= cell.good_ms):
            wanted = rows + STEP_ROWS
        elif seen is not None:
            wanted = math.ceil(rows * SHRINK)
        wanted = min(max(wanted, cell.workload.largest), LARGEST_BATCH)
        if wanted != rows:
            rows = wanted
            _switch(world, aimd_revision(base, rows, consistent=consistent))
        now_s += EVERY_S
    world.run_until(DURATION_S)
    return outcome(world.result(DURATION_S - LAST_S), len(world.revisions) - 1)


def _switch(world: World, revision: Revision) -> None:
    """A new revision, and the traffic to it as soon as its instances are up."""
    old, new = world.revisions[-1], f"{len(world.revisions) + 1:05d}"
    world.apply(AddRevision(new, revision, max(world.wanted[old], 1)))
    world.run_until(world.now + revision.cloud_run.start_s)
    world.apply(SetTraffic({new: 1.0}))
    world.apply(SetBounds(old, 0, 0))


EARLIER = {
    (AIMD_CONSISTENT, "A"): ((1.000, 0.157), (0.983, 0.914), (1.000, 0.190), (1.000, 0.317), (0.975, 1.13)),
    (AIMD_CONSISTENT, "B"): ((1.000, 0.629), (0.887, 5.66), (0.964, 2.62), (1.000, 0.668), (0.972, 7.37)),
}
"""The study's last twenty minutes in the order of the loads, one seed: good answers, dollars per million of them."""


def main(seeds: int = 2) -> None:
    """Print every cell."""
    items = [(cell, policy, seed) for cell in CELLS for policy in COMPARED for seed in range(seeds)]
    ended = on_all_cores(run, items)
    for place, cell in enumerate(CELLS):
        for policy in COMPARED:
            found = [each.outcome for each in ended if (each.cell, each.policy) == (cell, policy)]
            costs = [each.usd for each in found if each.usd is not None]
            earlier = EARLIER.get((policy, cell.model))
            said = "" if earlier is None else "   study {:.3f} {:.3f}".format(*earlier[place % 5])
            goodput, usd = statistics.mean(each.goodput for each in found), statistics.mean(costs) if costs else math.nan
            print(f"{cell.name:10} {policy:18} {goodput:.3f} {usd:7.3f}  revisions {max(each.revisions for each in found)}{said}")


if __name__ == "__main__":
    main()
