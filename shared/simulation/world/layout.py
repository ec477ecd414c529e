"""What the event loop keeps, as arrays: one record for each request, batch, instance, revision and minute.

Times are seconds of simulated time, places are indices, `NONE` is no place. Lists run through `next`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NONE = -1
MINUTE_S = 60.0
TICK_S = 5.0
"""Cloud Run looks at its instances so often."""
TICKS_PER_MINUTE = 12
REMEMBERED_TICKS = 121
"""Ten minutes, and the tick before them."""

PARSED, BATCH_DONE, QUEUE_DUE, INSTANCE_UP, RETRY = range(5)
"""Kinds of events: a request's CPU work is done, a batch is back from the GPU, an open batch may have waited long enough, an instance
has started, a client tries again."""

FREE, STARTING, READY, DRAINING, GIVEN_UP = range(5)
"""States of an instance; given up: while it was still starting."""

SERVER_THREADS, QUEUE_FULL, ROWS_OVER_LIMIT, QUEUE_WAIT, TOO_LATE, AT_CAP, SCALE_OUT_LAG = range(7)
CAUSES = (
    "server-thread-quota",
    "batch-queue-full",
    "request-rows-over-limit",
    "batch-queue-wait-timeout",
    "request-timeout",
    "instance-cap-reached",
    "scale-out-lag",
)
"""Why a request failed, in the words of the diagnosis, by the numbers above."""
RETRYABLE = (True, True, False, True, False, True, True)
"""Whether a client that retries would: RESOURCE_EXHAUSTED, UNAVAILABLE and 429 are tried again."""

ANSWERED, FAILED, PENDED = range(3)
"""Which times of a minute are counted: of good answers, of failures, of waits for an instance."""
STEPS = 128
"""Buckets from a time to its double: the widest is 0.8 % of its time."""
LOWEST_EXPONENT = -19
OCTAVES = 34
BUCKETS = STEPS * OCTAVES
"""From a microsecond to four hours."""

DONE, MORE_ROOM = range(2)
"""What the loop returns: it came to the time asked for, or it needs larger arrays to go on."""

CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("tick", "i8"),
        ("arrival", "i8"),
        ("draw", "i8"),
        ("events", "i8"),
        ("sources", "i8"),
        ("free_request", "i8"),
        ("free_batch", "i8"),
        ("free_batches", "i8"),
        ("free_instances", "i8"),
        ("needed_instances", "i8"),
        ("revisions", "i8"),
        ("live_instances", "i8"),
        ("quota", "i8"),
        ("samples", "i8"),
        ("good_s", "f8"),
        ("tries", "i8"),
        ("backoff_s", "f8"),
        ("batches_per_event", "i8"),
    ]
)
EVENT = np.dtype([("at", "f8"), ("kind", "i8"), ("place", "i8")])
REQUEST = np.dtype(
    [
        ("arrival", "f8"),
        ("came", "f8"),
        ("served", "f8"),
        ("queued", "f8"),
        ("expires", "f8"),
        ("rows", "i8"),
        ("next", "i8"),
        ("instance", "i8"),
        ("revision", "i8"),
        ("tries", "i8"),
    ]
)
"""`arrival`: at first; `came`: of this try, at Cloud Run; `served`: at the server; `queued`: in the batch queue; `expires`: when the
server gives it up."""
BATCH = np.dtype([("start", "f8"), ("taken", "f8"), ("rows", "i8"), ("head", "i8"), ("tail", "i8"), ("next", "i8"), ("instance", "i8")])
INSTANCE = np.dtype(
    [
        ("gpu_free", "f8"),
        ("due", "f8"),
        ("billed_to", "f8"),
        ("up_to", "f8"),
        ("cpu_s", "f8"),
        ("gpu_s", "f8"),
        ("state", "i8"),
        ("revision", "i8"),
        ("place", "i8"),
        ("inflight", "i8"),
        ("peak", "i8"),
        ("serving", "i8"),
        ("waiting_head", "i8"),
        ("waiting_tail", "i8"),
        ("queue_head", "i8"),
        ("queue_tail", "i8"),
        ("queued", "i8"),
        ("idle_threads", "i8"),
    ]
)
"""`place`: in its revision's list of ready instances; `due`: the time of its QUEUE_DUE event, or infinity; `peak`: the most requests at
once in this minute; `serving`: server threads in use."""
REVISION = np.dtype(
    [
        ("share", "f8"),
        ("concurrency", "i8"),
        ("least", "i8"),
        ("most", "i8"),
        ("start_s", "f8"),
        ("pending_s", "f8"),
        ("timeout_s", "f8"),
        ("concurrency_target", "f8"),
        ("cpu_target", "f8"),
        ("short_ticks", "i8"),
        ("long_ticks", "i8"),
        ("hold_ticks", "i8"),
        ("vcpus", "i8"),
        ("cpu_s", "f8"),
        ("host_s", "f8"),
        ("batching", "i8"),
        ("limit_rows", "i8"),
        ("batch_rows", "i8"),
        ("wait_s", "f8"),
        ("poll_s", "f8"),
        ("max_batches", "i8"),
        ("threads", "i8"),
        ("splitting", "i8"),
        ("server_threads", "i8"),
        ("queues_for_threads", "i8"),
        ("server_timeout_s", "f8"),
        ("client_timeout_s", "f8"),
        ("ready", "i8"),
        ("starting", "i8"),
        ("draining", "i8"),
        ("inflight", "i8"),
        ("pending", "i8"),
        ("pending_head", "i8"),
        ("pending_tail", "i8"),
        ("request_area", "f8"),
        ("cpu_area", "f8"),
        ("born", "i8"),
        ("asked", "i8"),
        ("asked_warm", "i8"),
        ("started_at", "f8"),
    ]
)
"""First the settings, then what is. `share`: of the traffic, with those before it added; `request_area`: request-seconds up to now, at
instances and waiting for one, less `(inflight + pending) * now`; `asked`: instances to start at once; `started_at`: the last start."""
MINUTE = np.dtype(
    [
        ("arrived", "i8"),
        ("good", "i8"),
        ("tried", "i8"),
        ("answered", "i8"),
        ("pended", "i8"),
        ("batches", "i8"),
        ("rows", "i8"),
        ("padding", "i8"),
        ("gpu_s", "f8"),
        ("cpu_s", "f8"),
        ("queue_s", "f8"),
        ("run_s", "f8"),
        ("latency_s", "f8"),
        ("billed_s", "f8"),
        ("up_s", "f8"),
        ("starts", "i8"),
    ]
)
"""`arrived` and `good` are of the requests that came in the minute, everything else is of what happened in it."""
SAMPLE = np.dtype([("minute", "i8"), ("revision", "i8"), ("cpu", "f8"), ("gpu", "f8"), ("peak", "i8")])
"""One instance in one minute: the shares of CPU and GPU in use, and the most requests at once."""

Records = np.recarray[Any, Any]
Numbers = NDArray[np.float64]


class State(NamedTuple):
    """All of it.

    `ready`: of each revision, the ready instances first; `device_s` and `padded`: of each revision, by a batch's rows; `loads`: of each
    revision, request-seconds and CPU seconds up to each of the last ticks; `wants`: revision, tick: instances wanted then; `failures`:
    revision, minute, cause; `times`: revision, minute, kind, bucket.
    """

    clock: Records
    heap: Records
    requests: Records
    batches: Records
    instances: Records
    revisions: Records
    cpus: Numbers
    ready: NDArray[np.int64]
    device_s: Numbers
    padded: NDArray[np.int64]
    loads: Numbers
    wants: NDArray[np.int64]
    minutes: Records
    failures: NDArray[np.int64]
    times: NDArray[np.uint32]
    samples: Records
