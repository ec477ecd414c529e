"""The arrays of the event loop: made, filled from settings, and made larger."""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shared.simulation.world.layout import (
    BATCH,
    BUCKETS,
    CAUSES,
    CLOCK,
    EVENT,
    INSTANCE,
    MINUTE,
    NONE,
    REMEMBERED_TICKS,
    REQUEST,
    REVISION,
    SAMPLE,
    TICK_S,
    TICKS_PER_MINUTE,
    Records,
    State,
)
from shared.simulation.world.settings import Revision

_Number = TypeVar("_Number", np.float64, np.int64)

_SMALL = 4096
_KINDS_OF_TIMES = 3


def records(dtype: np.dtype[np.void], *shape: int) -> Records:
    """All zero."""
    made: Records = np.zeros(shape, dtype).view(np.recarray)
    return made


def new_state() -> State:
    """Before anything: no revision, no instance, time zero."""
    state = State(
        clock=records(CLOCK, 1),
        heap=records(EVENT, 0),
        requests=records(REQUEST, 0),
        batches=records(BATCH, 0),
        instances=records(INSTANCE, 0),
        revisions=records(REVISION, 0),
        cpus=np.zeros((0, 1)),
        ready=np.zeros((0, 0), np.int64),
        device_s=np.zeros((0, 1)),
        padded=np.zeros((0, 1), np.int64),
        loads=np.zeros((0, REMEMBERED_TICKS, 2)),
        wants=np.zeros((0, 0), np.int64),
        minutes=records(MINUTE, 0, 0),
        failures=np.zeros((0, 0, len(CAUSES)), np.int64),
        times=np.zeros((0, 0, _KINDS_OF_TIMES, BUCKETS), np.uint32),
        samples=records(SAMPLE, 0),
    )
    clock = state.clock[0]
    clock.free_request = NONE
    clock.free_batch = NONE
    return state


def _longer(old: Records, size: int) -> Records:
    new = records(old.dtype, size)
    new[: len(old)] = old
    return new


def _chained(items: Records, first: int, head: int) -> None:
    """Puts the items from `first` on before `head` in a list of free ones."""
    items.next[first:] = np.arange(first + 1, len(items) + 1)
    items.next[-1] = head


def with_room(s: State, *, least_instances: int, largest_batch_parts: int) -> State:
    """The same with more room for whatever is nearly full."""
    clock = s.clock[0]
    requests, batches, instances, cpus, ready, samples = s.requests, s.batches, s.instances, s.cpus, s.ready, s.samples
    if clock.free_request == NONE:
        requests = _longer(requests, max(2 * len(requests), _SMALL))
        _chained(requests, len(s.requests), NONE)
        clock.free_request = len(s.requests)
    if clock.free_batches <= largest_batch_parts:
        batches = _longer(batches, max(2 * len(batches), _SMALL, 4 * largest_batch_parts))
        _chained(batches, len(s.batches), clock.free_batch)
        clock.free_batch = len(s.batches)
        clock.free_batches += len(batches) - len(s.batches)
    if clock.free_instances < least_instances:
        instances = _longer(instances, len(instances) + max(len(instances), least_instances + 8))
        cpus = np.zeros((len(instances), s.cpus.shape[1]))
        cpus[: len(s.cpus)] = s.cpus
        ready = np.zeros((len(s.ready), len(instances)), np.int64)
        ready[:, : s.ready.shape[1]] = s.ready
        clock.free_instances += len(instances) - len(s.instances)
    if clock.samples + len(instances) > len(samples):
        samples = _longer(samples, 2 * len(samples) + 32 * len(instances))
    heap = _longer(s.heap, len(requests) + len(batches) + 2 * len(instances)) if _grew(s, requests, batches, instances) else s.heap
    return s._replace(requests=requests, batches=batches, instances=instances, cpus=cpus, ready=ready, samples=samples, heap=heap)


def _grew(s: State, *now: Records) -> bool:
    return any(len(new) > len(old) for new, old in zip(now, (s.requests, s.batches, s.instances), strict=True))


def with_minutes(s: State, minutes: int) -> State:
    """The same with room for so many minutes."""
    have = s.minutes.shape[1]
    if minutes <= have:
        return s
    size = max(minutes, 2 * have if have > 1 else minutes)
    grown = records(MINUTE, len(s.revisions), size)
    grown[:, :have] = s.minutes
    failures = np.zeros((len(s.revisions), size, len(CAUSES)), np.int64)
    failures[:, :have] = s.failures
    times = np.zeros((len(s.revisions), size, _KINDS_OF_TIMES, BUCKETS), np.uint32)
    times[:, :have] = s.times
    wants = np.zeros((len(s.revisions), size * TICKS_PER_MINUTE), np.int64)
    wants[:, : s.wants.shape[1]] = s.wants
    return s._replace(minutes=grown, failures=failures, times=times, wants=wants)


def _with_row(array: NDArray[_Number], row: NDArray[_Number]) -> NDArray[_Number]:
    """`array` with one row more, as wide as the wider of both."""
    grown = np.zeros((len(array) + 1, max(array.shape[1], len(row))), array.dtype)
    grown[:-1, : array.shape[1]] = array
    grown[-1, : len(row)] = row
    return grown


def with_revision(s: State, revision: Revision, *, largest_request: int) -> State:
    """The same with one revision more, which has no traffic and no instance yet."""
    settings, server, times = revision.cloud_run, revision.server, revision.model
    batching = server.batching
    row = records(REVISION, 1)
    made = row[0]
    made.concurrency = settings.concurrency
    made.least, made.most = settings.min_instances, settings.max_instances
    made.start_s, made.pending_s, made.timeout_s = settings.start_s, min(settings.pending_s, settings.timeout_s), settings.timeout_s
    made.concurrency_target = settings.concurrency_target or 0.0
    made.cpu_target = settings.cpu_target or 0.0
    made.short_ticks = round(settings.short_window_s / TICK_S)
    made.long_ticks = round(settings.long_window_s / TICK_S)
    made.hold_ticks = math.ceil(settings.scale_in_hold_s / TICK_S)
    made.vcpus = settings.vcpus
    made.cpu_s = times.cpu_ms_per_request / 1000
    made.host_s = times.batch_time.host_ms / 1000
    made.server_threads = revision.usable_threads
    made.queues_for_threads = server.rest
    made.server_timeout_s = server.rest_timeout_s if server.rest else math.inf
    made.client_timeout_s = math.inf if server.rest else revision.client_timeout_s
    made.threads = revision.batch_threads
    made.pending_head = made.pending_tail = NONE
    made.started_at = -math.inf
    made.born = s.clock[0].tick
    largest = largest_request
    if batching is not None:
        made.batching = 1
        made.limit_rows, made.batch_rows = batching.max_batch_size, batching.batch_rows
        made.wait_s, made.poll_s = batching.timeout_ms / 1000, server.poll_ms / 1000 if batching.timeout_ms > 0 else 0.0
        made.max_batches = batching.max_enqueued_batches
        made.splitting = batching.splitting
        largest = batching.batch_rows
    padded = np.array([0, *(rows if batching is None else batching.padded(rows) for rows in range(1, largest + 1))], np.int64)
    device_s = np.array([0.0, *(times.batch_time.device_ms(int(rows)) / 1000 for rows in padded[1:])])
    revisions = _longer(s.revisions, len(s.revisions) + 1)
    revisions[-1] = made
    cpus = np.zeros((len(s.cpus), max(s.cpus.shape[1], settings.vcpus)))
    cpus[:, : s.cpus.shape[1]] = s.cpus
    grown = records(MINUTE, len(revisions), s.minutes.shape[1])
    grown[:-1] = s.minutes
    s.clock[0].revisions = len(revisions)
    return s._replace(
        revisions=revisions,
        cpus=cpus,
        ready=np.concatenate((s.ready, np.zeros((1, s.ready.shape[1]), np.int64))),
        device_s=_with_row(s.device_s, device_s),
        padded=_with_row(s.padded, padded),
        loads=np.concatenate((s.loads, np.zeros((1, REMEMBERED_TICKS, 2)))),
        wants=np.concatenate((s.wants, np.zeros((1, s.wants.shape[1]), np.int64))),
        minutes=grown,
        failures=np.concatenate((s.failures, np.zeros((1, *s.failures.shape[1:]), np.int64))),
        times=np.concatenate((s.times, np.zeros((1, *s.times.shape[1:]), np.uint32))),
    )
