"""What is counted of each minute, and how a request ends."""

import math

from shared.simulation.world.compiled import compiled
from shared.simulation.world.heap import push
from shared.simulation.world.layout import ANSWERED, BUCKETS, FAILED, LOWEST_EXPONENT, MINUTE_S, NONE, RETRY, RETRYABLE, STEPS, State


@compiled
def bucket_of(seconds: float) -> int:
    """The bucket of a time; each octave has `STEPS` of equal width. Exact: no logarithm, whose last digit differs between machines."""
    if seconds <= 0.0:
        return 0
    fraction, exponent = math.frexp(seconds)
    return min(max((exponent - LOWEST_EXPONENT) * STEPS + int((fraction - 0.5) * (2 * STEPS)), 0), BUCKETS - 1)


@compiled
def minute_of(now: float) -> int:
    """The minute that a time is in."""
    return int(now / MINUTE_S)


@compiled
def count_time(s: State, revision: int, now: float, kind: int, seconds: float) -> None:
    """One more time of that kind."""
    s.times[revision, minute_of(now), kind, bucket_of(seconds)] += 1


@compiled
def new_request(s: State, arrival: float, rows: int) -> int:
    """A place for a request that just came."""
    clock = s.clock[0]
    place = clock.free_request
    request = s.requests[place]
    clock.free_request = request.next
    request.arrival = arrival
    request.rows = rows
    request.tries = 1
    return int(place)


@compiled
def forget(s: State, place: int) -> None:
    """The request is over for its client."""
    s.requests[place].next = s.clock[0].free_request
    s.clock[0].free_request = place


@compiled
def succeed(s: State, place: int, now: float) -> None:
    """Its answer went out."""
    request = s.requests[place]
    minute = s.minutes[request.revision, minute_of(now)]
    minute.answered += 1
    latency = now - request.arrival
    minute.latency_s += latency
    count_time(s, request.revision, now, ANSWERED, latency)
    if latency <= s.clock[0].good_s:
        s.minutes[request.revision, minute_of(request.arrival)].good += 1
    forget(s, place)


@compiled
def fail(s: State, place: int, cause: int, now: float, drawn: float) -> None:
    """It ends with an error at `now`; its client may try again, after a wait of half to one and a half times the usual (`drawn`)."""
    request = s.requests[place]
    s.failures[request.revision, minute_of(now), cause] += 1
    count_time(s, request.revision, now, FAILED, now - request.came)
    clock = s.clock[0]
    if request.tries < clock.tries and RETRYABLE[cause]:
        wait = clock.backoff_s * 2.0 ** (request.tries - 1) * (0.5 + drawn)
        request.tries += 1
        request.next = NONE
        push(s, now + wait, RETRY, place)
    else:
        forget(s, place)
