"""Several instances: what one may be given, how many there must be, where Cloud Run's autoscaler should aim, what a million answers cost.

Assumptions: instances share the load evenly; a rate is a mean over what the autoscaler looks at, and bursts are in the headroom factor r.
"""

import itertools
import math

from shared.tfserving.capacity.cpu import cpu_rows_per_second
from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance
from shared.tfserving.capacity.inverses import rate_within_p99
from shared.tfserving.capacity.latency import mean_ms

P99_SHARE = 0.9
"""The part of an objective that the predicted 99th percentile may use up."""
LOWEST_TARGET = 0.10
HIGHEST_TARGET = 0.95
"""Cloud Run's limits of a scaling target."""
SMALLEST_HEADROOM = 1.03
LARGEST_HEADROOM = 3.0
BURST_HEADROOM = 1.5
"""Above it, load grows faster than an instance starts: instances must be there before (`instances_for_bursts`)."""
BURST_RESERVE = 1.15
PER_MILLION = 1e6


def planned_rows_per_second(instance: Instance, *, slo_ms: float, cpu_target: float) -> float:
    """The rate X* = min(largest rate with p99 <= 0.9*SLO, u_cpu*K / (d/s + h/B)) that a plan gives one instance; 0 where none will do."""
    return min(rate_within_p99(instance, P99_SHARE * slo_ms), cpu_rows_per_second(instance, busy=cpu_target))


def headroom(rates: list[float], *, planned_rate: float) -> float:
    """r: the 95th percentile of rate(t + 1 min) / rate(t) over the minutes with at least half of `planned_rate`, within 1.03 and 3.

    `rates`: one number a minute, oldest first. Without such a minute it is the smallest.
    """
    grown = sorted(after / before for before, after in itertools.pairwise(rates) if before > 0.0 and before >= planned_rate / 2.0)
    if not grown:
        return SMALLEST_HEADROOM
    found = grown[min(len(grown) - 1, math.ceil(0.95 * len(grown)) - 1)]
    return min(LARGEST_HEADROOM, max(SMALLEST_HEADROOM, found))


def instances_needed(total_rows_per_second: float, *, planned_rows_per_second: float, headroom: float = 1.0) -> int | None:
    """The count n = ceil(r * rate / X*), at least 1; None where an instance can be given nothing."""
    if planned_rows_per_second <= 0.0:
        return None
    return max(1, math.ceil(headroom * total_rows_per_second / planned_rows_per_second - 1e-9))


def instances_for_bursts(largest_rows_per_second: float, *, planned_rows_per_second: float) -> int | None:
    """The count ceil(1.15 * the largest rate / X*): to keep up all the time where r is above `BURST_HEADROOM`."""
    return instances_needed(largest_rows_per_second, planned_rows_per_second=planned_rows_per_second, headroom=BURST_RESERVE)


def concurrency_target(instance: Instance, *, concurrency: int, rows_per_second: float) -> float:
    """u_c = L / C, L = requests per second * W, within 0.10 and 0.95: the scaling target at which an instance carries that rate.

    Little's law with `latency.mean_ms`. `rows_per_second` is X*/r; above it Cloud Run adds instances, well below it takes some away.
    """
    requests = rows_per_second / instance.rows_per_request / MS_PER_SECOND * mean_ms(instance, rows_per_second)
    return min(HIGHEST_TARGET, max(LOWEST_TARGET, requests / concurrency))


def usd_per_million_good(*, usd_per_instance_second: float, instances: float, good_per_second: float) -> float:
    """What 10^6 good answers cost: price * n / good rate * 10^6, n the mean of instances; infinite where nothing is good.

    What is asked of it decides the unit: good requests for requests, good rows for rows.
    """
    return PER_MILLION * usd_per_instance_second * instances / good_per_second if good_per_second > 0.0 else math.inf


def least_usd_per_million(*, usd_per_instance_second: float, planned_rows_per_second: float) -> float:
    """The floor price / X* * 10^6, every instance full; infinite where an instance can be given nothing."""
    return usd_per_million_good(usd_per_instance_second=usd_per_instance_second, instances=1.0, good_per_second=planned_rows_per_second)
