"""Settings that people deploy, under five loads: goodput and cost by an earlier simulation of the same rules, to compare with.

Its table (models A and B, good is 50 and 150 ms, means of six seeds) leaves open when its flash crowd comes; here it comes in the middle.
How many instances it began with and where its daily wave begins were found from its figures. Costs that it gives of one seed only, or
not at all, are not compared.
"""

import statistics
from dataclasses import dataclass

from shared.simulation.world.settings import Batching, CloudRunSettings, Revision, ServerSettings
from shared.simulation.world.workload import Bursty, Diurnal, Flash, Steady, Workload
from shared.simulation.world.world import simulate
from tests.benchmarks.world_cells import HEAVY, MODEL_A, MODEL_B

WARM_UP_S = 420.0
MEASURED_S = 1200.0
WARM_INSTANCES = 3
"""Of two to five, three and four give figures nearest to its own."""
LOADS = ("steady", "bursty", "diurnal", "flash", "heavy")
MODELS = {"A": (MODEL_A, 50.0, 4000.0), "B": (MODEL_B, 150.0, 1000.0)}
_FORUM_1 = Batching(16, max_enqueued_batches=1000)
POLICIES = {
    "defaults, gRPC": (ServerSettings(), CloudRunSettings()),
    "forum 1, gRPC": (ServerSettings(_FORUM_1), CloudRunSettings(concurrency=60)),
    "forum 1, REST": (ServerSettings(_FORUM_1, rest=True), CloudRunSettings(concurrency=60)),
    "forum 2": (ServerSettings(Batching(32, 5_000.0, 1000)), CloudRunSettings(concurrency=5)),
}
EARLIER_GOODPUT = {
    ("A", "defaults, gRPC"): (0.111, 0.132, 0.086, 0.099, 0.190),
    ("A", "forum 1, gRPC"): (0.565, 0.585, 0.221, 0.445, 0.422),
    ("A", "forum 1, REST"): (0.951, 0.896, 0.971, 0.895, 0.952),
    ("A", "forum 2"): (0.0, 0.0, 0.0, 0.0, 0.0),
    ("B", "defaults, gRPC"): (0.133, 0.158, 0.104, 0.119, 0.175),
    ("B", "forum 1, gRPC"): (0.296, 0.343, 0.229, 0.258, 0.396),
    ("B", "forum 1, REST"): (0.947, 0.887, 0.938, 0.892, 0.917),
    ("B", "forum 2"): (0.0, 0.0, 0.0, 0.0, 0.0),
}
EARLIER_USD = {
    ("A", "forum 1, REST"): (0.901, 1.71, 0.627, 0.700, 1.66),
    ("B", "forum 1, REST"): (3.68, 7.24, 3.60, 4.06, 11.6),
}


def load(name: str, mean: float) -> Workload:
    """One of LOADS, of so many rows a second on the average."""
    match name:
        case "bursty":
            return Workload(Bursty(0.5 * mean, 2.5 * mean))
        case "diurnal":
            return Workload(Diurnal(mean, zero_s=WARM_UP_S))
        case "flash":
            return Workload(Flash(0.5 * mean, 3 * mean, WARM_UP_S + 450, 300))
        case "heavy":
            return Workload(Steady(mean), HEAVY)
        case _:
            return Workload(Steady(mean))


@dataclass(frozen=True)
class Figures:
    """Means over the seeds; no cost where nothing was good."""

    goodput: float
    usd: float | None
    requests: int


def figures(model: str, policy: str, load_name: str, seeds: range) -> Figures:
    """One policy under one load."""
    times, good_ms, mean = MODELS[model]
    server, cloud_run = POLICIES[policy]
    runs = [
        simulate(
            load(load_name, mean),
            Revision(times, server, cloud_run),
            good_ms=good_ms,
            seed=seed,
            duration_s=MEASURED_S,
            warm_up_s=WARM_UP_S,
            warm_instances=WARM_INSTANCES,
        )
        for seed in seeds
    ]
    costs = [run.usd_per_million_good for run in runs if run.usd_per_million_good is not None]
    return Figures(
        statistics.mean(run.goodput or 0.0 for run in runs), statistics.mean(costs) if costs else None, sum(run.requests for run in runs)
    )
