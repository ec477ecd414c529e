"""What of a scenario is more than a simulation of minutes and of a few gigabytes can hold. Pure.

Retries count: clients that are refused at once ask as often as they may, and while they wait for the next try they are held in memory.
"""

import math

from shared.simulation.scenario_workload import BurstyLoad, ClientRetries, Load

MAX_REQUESTS = 300_000_000
"""Of one run with their retries, at most: two to five minutes of CPU time."""
MAX_WAITING = 5_000_000
"""Requests that may wait at once for an instance or for their next try, at most: a gigabyte and a half."""
MAX_TURN_SECONDS = 2_000_000_000
"""Turns of a bursty load times the seconds of its run, at most: what its turns cost grows with both, here to half a minute."""


def too_much(load: Load, *, mean_rows: float, span_s: float, start_s: float) -> str | None:
    """Why the load is not simulated for so long, and what to lower; None where it is.

    `mean_rows` are those of a request, `start_s` is what an instance takes to start.
    """
    per_s = load.highest_rows_per_s / mean_rows
    retries = ClientRetries(tries=1) if load.retries is None else load.retries
    again = retries.tries > 1
    most = per_s * _tries_s(retries, span_s)
    if most > MAX_REQUESTS:
        return (
            f"at up to {per_s:,.0f} requests a second for {span_s:,.0f} s it may come to {most:,.0f} requests"
            f"{', retries included' if again else ''}, and at most {MAX_REQUESTS:,} are simulated: "
            f"lower duration_s{', workload.retries.tries' if again else ''} or the rate"
        )
    waiting = per_s * min(span_s, _alive_s(retries, start_s))
    if waiting > MAX_WAITING:
        return (
            f"at {per_s:,.0f} requests a second {waiting:,.0f} may wait for an instance that starts for {start_s:g} s"
            f"{' or for their next try' if again else ''}, and at most {MAX_WAITING:,} are simulated: lower the rate, "
            f"{'workload.retries ' if again else ''}or limits.start_s"
        )
    return _too_many_turns(load, span_s) if isinstance(load, BurstyLoad) else None


def _tries_s(retries: ClientRetries, span_s: float) -> float:
    """Seconds of the run in which a try can begin, summed over the tries: each wait is half its usual length at least."""
    return math.fsum(max(span_s - retries.backoff_s / 2 * (2.0**before - 1), 0.0) for before in range(retries.tries))


def _alive_s(retries: ClientRetries, start_s: float) -> float:
    """How long a request may be there: each try waits for an instance as long as Cloud Run lets it, and the waits between them."""
    return retries.tries * max(3.5 * start_s, 10.0) + retries.backoff_s * (2.0 ** (retries.tries - 1) - 1)


def _too_many_turns(load: BurstyLoad, span_s: float) -> str | None:
    turns = 2 * span_s / (load.mean_low_s + load.mean_high_s)
    if turns * span_s <= MAX_TURN_SECONDS:
        return None
    return (
        f"in {span_s:,.0f} s its rate turns {turns:,.0f} times, and in so long a run {MAX_TURN_SECONDS / span_s:,.0f} turns are simulated: "
        "lower duration_s, or raise workload.mean_low_s and workload.mean_high_s"
    )
