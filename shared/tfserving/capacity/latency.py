"""How long a request takes while load is below capacity: its middle, its 99th percentile, its mean.

Assumptions: requests of one row that come independently (Poisson), a batch timeout of (almost) zero, room for every request (no limit of
concurrency, threads or queue is reached; `concurrency` has those), and CPU that is not the bottleneck. `cpu_ms_per_request` is added whole.

Against discrete-event simulations of 144 settings (two models, N 1-4, B 16, 32 and 64, load 0.2-0.92) the 99th percentile is 1.3-3.1 % off
on average for loads up to 0.8 (10.7 % at worst, four threads at light load) and 3.3-5.9 % above (14.4 % at worst); the mean is 0.2-9 % off
(29 % at worst, the same corner). Against an event loop in which the CPU is never waited for, on the same settings, the percentile is 2.4 %
off on average up to a load of 0.8 and 7-8 % too long at 0.92; the middle is up to 59 % too long with four threads at a load of 0.2.
"""

import math

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance

FITTED_SPREAD = 1.75
"""Standard deviations of a batch above its mean that a slow request meets. Fitted on the 144 settings, not held out."""
FITTED_BACKLOG = 2.5
"""Square roots of B that the backlog may be before the spread of batches no longer covers it. Fitted with it."""
LOG_OF_100 = 4.6
"""The 99th percentile of an exponential tail, in its means."""


def p50_ms(instance: Instance, rows_per_second: float) -> float:
    """The middle d + (N + 1/2) * Delta(b), b the mean batch; infinite at capacity and above.

    Half a cycle until a thread is free, then N cycles: N threads take turns, so a batch is under way for N of them.
    """
    if rows_per_second >= instance.capacity_rows_per_second:
        return math.inf
    cycle = instance.cycle_ms(instance.mean_batch_rows(rows_per_second))
    return instance.cpu_ms_per_request + (instance.batch_threads + 0.5) * cycle


def p99_ms(instance: Instance, rows_per_second: float) -> float:
    """The 99th percentile d + (N+1) * Delta(min(B, b + 1.75*sqrt(2/(N+1))*sigma)) + backlog; infinite at capacity and above.

    sigma^2 = b / (1 - (rate*c)^2) is the spread of a batch that feeds on the arrivals during the one before it (a first-order
    autoregression); c is the slope of the batch time, of a table its mean slope up to B. The backlog's tail matters above a load of 0.8
    or so: `backlog_p99_ms`.
    """
    if rows_per_second >= instance.capacity_rows_per_second:
        return math.inf
    cycle = instance.cycle_ms(large_batch_rows(instance, rows_per_second))
    return instance.cpu_ms_per_request + (instance.batch_threads + 1) * cycle + backlog_p99_ms(instance, rows_per_second)


def large_batch_rows(instance: Instance, rows_per_second: float) -> float:
    """The batch min(B, b + 1.75*sqrt(2/(N+1))*sigma) that the slowest hundredth of requests meets."""
    batch = instance.mean_batch_rows(rows_per_second)
    most = float(instance.max_batch_rows)
    feedback = rows_per_second / MS_PER_SECOND * instance.batch_time.per_row_ms(instance.max_batch_rows)
    if feedback >= 1.0:
        return most
    spread = math.sqrt(batch / (1.0 - feedback * feedback))
    return min(most, batch + FITTED_SPREAD * math.sqrt(2.0 / (instance.batch_threads + 1)) * spread)


def backlog_p99_ms(instance: Instance, rows_per_second: float) -> float:
    """The wait max(0, 4.6 - theta*2.5*sqrt(B)) * rho / (2*(1-rho)*rate), theta = 2*(1-rho)/rho, behind whole batches.

    theta is the decay of the queue for each row (heavy traffic, batches of B at even times); infinite at capacity and above.
    """
    load = instance.load(rows_per_second)
    if load >= 1.0:
        return math.inf
    if load <= 0.0:
        return 0.0
    decay = 2.0 * (1.0 - load) / load
    beyond = LOG_OF_100 - decay * FITTED_BACKLOG * math.sqrt(instance.max_batch_rows)
    return max(0.0, beyond) / (decay * rows_per_second / MS_PER_SECOND)


def mean_ms(instance: Instance, rows_per_second: float) -> float:
    """The mean: `mean_ms_of_one_thread` where it applies, else the middle, which lies a little below; infinite at capacity and above.

    Against an event loop the middle is 2-6 % below the mean for loads of 0.35-0.8, up to 10 % at 0.92. With three or four threads at a
    load of 0.2 it is 13-22 % above on average, 47 % at worst: the threads do not take turns there.
    """
    if rows_per_second >= instance.capacity_rows_per_second:
        return math.inf
    if instance.batch_threads == 1 and isinstance(instance.batch_time, AffineBatchTime):
        return mean_ms_of_one_thread(instance.batch_time, rows_per_second, cpu_ms_per_request=instance.cpu_ms_per_request)
    return p50_ms(instance, rows_per_second)


def mean_ms_of_one_thread(batch_time: AffineBatchTime, rows_per_second: float, *, cpu_ms_per_request: float = 0.0) -> float:
    """The mean d + min(phi0, phi1) with one batch thread (N = 1) and batches without a limit; infinite where rate * c reaches 1.

    phi1 = 1.5*a/(1-rate*c) + (c/2)*(rate*c+2)/(1-(rate*c)^2)
    phi0 = (c+a)/(2*(1-rate*c)) * (1 + 2*rate*a + (1-rate*a)/(1+rate*c))

    Inoue 2021 (arXiv 1912.06322): upper bounds of the mean for batch service in a time that is a straight line. Within 2 % for loads of
    0.3-0.9 with B of 32 and more, up to 8 % above at a load of 0.1. `chain.OneThread` gives it exactly, a limit B included.
    """
    rate = rows_per_second / MS_PER_SECOND
    fixed, row = batch_time.fixed_ms, batch_time.row_ms
    feedback = rate * row
    if feedback >= 1.0:
        return math.inf
    idle_fixed = rate * fixed
    busy = 1.5 * fixed / (1.0 - feedback) + row / 2.0 * (feedback + 2.0) / (1.0 - feedback**2)
    idle = (row + fixed) / (2.0 * (1.0 - feedback)) * (1.0 + 2.0 * idle_fixed + (1.0 - idle_fixed) / (1.0 + feedback))
    return cpu_ms_per_request + min(idle, busy)
