"""The formulas the other way round: the largest rate, and the largest batch, within a latency budget.

In closed form where there is one, else by a bracketed search with a stated end. Everything else that is inverted stands beside its formula:
`Instance.rows_within_cycle`, the concurrency for a batch or a rate, the queue for a share of refusals, the batch a card's memory holds.
"""

import math

from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance
from shared.tfserving.capacity.latency import FITTED_BACKLOG, LOG_OF_100, large_batch_rows, p99_ms

CLOSE_TO_BUDGET = 1e-7
"""The search ends where the 99th percentile is that close below the budget, relative to it ..."""
CLOSE_RATES = 1e-12
"""... or where the rates it is left with are that close together, relative to the capacity."""
_MAX_STEPS = 100


def max_batch_rows_within(instance: Instance, p99_budget_ms: float) -> int | None:
    """The largest B with d + (N+1)*Delta(B) <= budget; 0 where a row alone takes longer, None where batches of any size take less.

    B <= ((budget - d)/(N+1) - (a-h)) / c, and where the threads bind (N*(budget - d)/(N+1) - a) / c. The instance's own B plays no
    part. It is what a request takes while full batches run, without the backlog near capacity.
    """
    rows = instance.rows_within_cycle((p99_budget_ms - instance.cpu_ms_per_request) / (instance.batch_threads + 1))
    return None if math.isinf(rows) else math.floor(rows + 1e-9)


def rate_within_p50(instance: Instance, p50_budget_ms: float) -> float:
    """The largest rate (rows per second) with `latency.p50_ms` <= budget: b / Delta(b) of the largest batch b with (N+1/2)*Delta(b) in it.

    0 where a row alone takes longer; the capacity, which itself is not carried, where the budget allows full batches. Of a table on which
    larger batches pass fewer rows a second, some larger rate may keep the budget too.
    """
    rows = instance.rows_within_cycle((p50_budget_ms - instance.cpu_ms_per_request) / (instance.batch_threads + 0.5))
    return instance.rows_per_second_at(min(rows, float(instance.max_batch_rows))) if rows >= 1.0 else 0.0


def rate_within_p99(instance: Instance, p99_budget_ms: float) -> float:
    """The largest rate (rows per second) with `latency.p99_ms` <= budget, never beyond it but for rounding; 0 where there is none.

    Closed where the slowest requests meet full batches anyway, so only the backlog moves with the rate (a quadratic in the load). Else a
    search between closed bounds, some ten steps: the percentile never falls with the rate.
    """
    cycles = instance.batch_threads + 1
    left = p99_budget_ms - instance.cpu_ms_per_request
    rows = instance.rows_within_cycle(left / cycles)
    if rows < 1.0:
        return 0.0
    capacity = instance.capacity_rows_per_second
    full = float(instance.max_batch_rows)
    if rows >= full:
        low = capacity * _load_of_backlog(instance, left - cycles * instance.cycle_ms(full))
        large = large_batch_rows(instance, low)
        if large >= full:
            return _within(instance, p99_budget_ms, low)
        high = capacity * _load_of_backlog(instance, left - cycles * instance.cycle_ms(large))
    elif p99_ms(instance, 0.0) > p99_budget_ms:
        return 0.0
    else:
        low, high = 0.0, min(instance.rows_per_second_at(rows), capacity * (1.0 - CLOSE_RATES))
    return _largest_rate(instance, p99_budget_ms, low, high)


def _within(instance: Instance, budget_ms: float, rate: float) -> float:
    """The rate, or one so little below it that rounding does not take the percentile beyond the budget.

    Close to a large capacity the last digit of the rate is a part of the percentile that can be seen.
    """
    step = math.ulp(rate)
    while rate > 0.0 and p99_ms(instance, rate) > budget_ms:
        rate -= step
        step *= 2.0
    return max(rate, 0.0)


def _load_of_backlog(instance: Instance, backlog_ms: float) -> float:
    """The load at which `latency.backlog_p99_ms` is that long: rho from 2*X*R*rho^2 + (4.6 + k - 2*X*R)*rho - k = 0, k = 5*sqrt(B)."""
    rows = 2.0 * instance.capacity_rows_per_second / MS_PER_SECOND * backlog_ms
    spread = 2.0 * FITTED_BACKLOG * math.sqrt(instance.max_batch_rows)
    middle = LOG_OF_100 + spread - rows
    root = math.sqrt(middle * middle + 4.0 * rows * spread)
    # The same number twice; each form is the one without cancellation.
    return 2.0 * spread / (middle + root) if middle > 0.0 else (root - middle) / (2.0 * rows)


def _largest_rate(instance: Instance, budget_ms: float, low: float, high: float) -> float:
    """Regula falsi (Illinois); `low` is within the budget throughout, `high` is not."""
    over_low = min(0.0, p99_ms(instance, low) - budget_ms)
    over_high = p99_ms(instance, high) - budget_ms
    if over_high <= 0.0:
        # A table on which smaller batches pass more rows a second: the load does not reach the batch that the bound was taken from.
        high = instance.capacity_rows_per_second * (1.0 - CLOSE_RATES)
        over_high = p99_ms(instance, high) - budget_ms
        if over_high <= 0.0:
            return high
    close = CLOSE_RATES * instance.capacity_rows_per_second
    weight_low, weight_high = over_low, over_high
    moved_low = moved_high = False
    for _ in range(_MAX_STEPS):
        if over_low >= -CLOSE_TO_BUDGET * budget_ms or high - low <= close:
            break
        rate = (low * weight_high - high * weight_low) / (weight_high - weight_low)
        if not low < rate < high:
            rate = (low + high) / 2.0
        over = p99_ms(instance, rate) - budget_ms
        if over <= 0.0:
            low, over_low, weight_low = rate, over, over
            if moved_low:
                weight_high /= 2.0
        else:
            high, weight_high = rate, over
            if moved_high:
                weight_low /= 2.0
        moved_low, moved_high = over <= 0.0, over > 0.0
    return low
