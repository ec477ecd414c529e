"""Batching and concurrency with which a service starts: every `auto`, and every field of `batching` that the owner left out. Pure.

The numbers here hold before anything of the service was measured. Letters as in the rules they come from:

    N  num_batch_threads        batches that run at once
    B  max_batch_size           rows of a request; and of a batch, unless splitting is on
    E  rows of a batch          max_execution_batch_size with splitting, else B
    Q  max_enqueued_batches     batches that wait
    C  max_instance_request_concurrency
    r  rows of a request
    k  requests that fit into one batch, E / r rounded down

* N = 2 on a GPU: while one batch computes, the next is prepared. More threads add no capacity and form smaller batches (TF Serving's
  shared_batch_scheduler.h: "a common configuration is to set the number of threads equal to the number of hardware accelerator
  units"). Without a GPU one for each CPU, as the batching guide has it.
* B = 32, or the power of two that holds a request's rows; with the owner's C not more than C requests fill.
* C = (N + 1) E / r: what runs and one batch more. With C requests in an instance that is full, batches have min(E, C r / (N + 1))
  rows: fewer requests would never fill them, more would only wait in the instance instead of where Cloud Run sees them and scales.
* batch_timeout_micros = 0: a batch starts as soon as a thread is free. While the threads are busy batches fill by themselves; at low
  traffic a timeout is latency and nothing else.
* Q k >= C: then no request can meet a full queue, however they arrive. (E (N + Q) rows is what a queue can hold at its best; with
  timeout 0 the batches that run may hold a single request each, so only what waits is counted.)
* allowed_batch_sizes are powers of two up to B, from a quarter of a typical request on: a lone request costs little more than its own
  rows, padding never doubles a larger batch, and there are few shapes to prepare the GPU for.

Where the owner gives one of batching and concurrency, the other follows from it by the same rules. Where the owner gives some fields
of batching, these stay and the others follow, instead of TF Serving's own defaults (1,000 rows, a thread for each CPU, 10 batches),
which fit no GPU: an `auto` concurrency would be 1,000 by them.
"""

import math
from fractions import Fraction

from shared.cloudrun.limits import MAX_CONCURRENCY
from shared.cloudrun.quantities import quantity
from shared.records.serving import AUTO, ServingSpec
from shared.tfserving.batching import effective
from shared.tfserving.batching_parameters import BatchingParameters

GPU_BATCH_THREADS = 2
START_MAX_BATCH_SIZE = 32
"""The first max_batch_size: on every GPU far from its memory, and half or more of the way to what batching can gain."""
MIN_ENQUEUED_BATCHES = 4
SMALLER_THAN_TYPICAL = 4
"""The first allowed size is this part of a typical request's rows: the requests of a service are seldom all alike."""
_INT32_END = 1 << 31


def starting_batching(serving: ServingSpec) -> tuple[BatchingParameters | None, int]:
    """The batching parameters, whole, and the concurrency of a spec whose command is Trimtab's; no parameters where batching is off.

    What the owner wrote is in it unchanged, right or wrong: admission judges the result.
    """
    threads = _batch_threads(serving)
    concurrency = serving.max_instance_request_concurrency
    given = concurrency if isinstance(concurrency, int) else None
    if isinstance(serving.batching, BatchingParameters):
        return _filled(serving.batching, rows=serving.rows_per_request or 1, threads=threads, concurrency=given)
    if serving.batching == AUTO:
        return _filled(BatchingParameters(), rows=serving.rows_per_request or 1, threads=threads, concurrency=given)
    # Each request is a batch of its own: as many as run, and one more.
    return None, given or min(threads + 1, MAX_CONCURRENCY)


def is_whole(batching: BatchingParameters) -> bool:
    """Whether nothing of it is left to TF Serving's own defaults."""
    return None not in (
        batching.max_batch_size,
        batching.batch_timeout_micros,
        batching.max_enqueued_batches,
        batching.num_batch_threads,
    )


def _filled(owners: BatchingParameters, *, rows: int, threads: int, concurrency: int | None) -> tuple[BatchingParameters, int]:
    """The owner's parameters with what is missing, and the concurrency that goes with them."""
    threads = threads if owners.num_batch_threads is None else owners.num_batch_threads
    size = (
        owners.max_batch_size if owners.max_batch_size is not None else _size(owners, rows=rows, threads=threads, concurrency=concurrency)
    )
    sizes = owners.allowed_batch_sizes
    if not sizes and owners.max_batch_size is None and not owners.enable_large_batch_splitting:
        sizes = allowed_sizes(size, rows)
    known = owners.model_copy(
        update={
            "max_batch_size": size,
            "batch_timeout_micros": 0 if owners.batch_timeout_micros is None else owners.batch_timeout_micros,
            "num_batch_threads": threads,
            "allowed_batch_sizes": sizes,
        }
    )
    scheduler = effective(known, cpus=1)  # the threads are said, so the number of CPUs does not count
    execution = max(1, scheduler.max_execution_batch_size)
    if concurrency is None:
        wanted = _clamped(Fraction((scheduler.num_batch_threads + 1) * execution, rows))
        concurrency = wanted if owners.max_enqueued_batches is None else max(1, min(wanted, _waiting(known, rows)))
    if known.max_enqueued_batches is not None:
        return known, concurrency
    # Batches of split requests are filled to the last row; of whole ones only as many fit as fit whole.
    batches = (
        -(-concurrency * rows // execution) if scheduler.enable_large_batch_splitting else -(-concurrency // max(1, execution // rows))
    )
    return known.model_copy(update={"max_enqueued_batches": max(MIN_ENQUEUED_BATCHES, batches + 1)}), concurrency


def _size(owners: BatchingParameters, *, rows: int, threads: int, concurrency: int | None) -> int:
    """B where the owner does not say it: the last allowed size, which must be it; else what auto takes, and never less than E."""
    if owners.allowed_batch_sizes and 1 <= owners.allowed_batch_sizes[-1] < _INT32_END:
        return owners.allowed_batch_sizes[-1]
    size = max(_power_of_two_at_least(rows), START_MAX_BATCH_SIZE if concurrency is None else _fillable(concurrency * rows, threads))
    return max(size, owners.max_execution_batch_size or 0) if owners.enable_large_batch_splitting else size


def _waiting(batching: BatchingParameters, rows: int) -> int:
    """How many requests the queue is sure to have room for."""
    scheduler = effective(batching, cpus=1)
    if scheduler.enable_large_batch_splitting:
        return scheduler.max_enqueued_batches * scheduler.max_execution_batch_size // rows
    return scheduler.max_enqueued_batches * (scheduler.max_execution_batch_size // rows)


def allowed_sizes(size: int, rows: int) -> tuple[int, ...]:
    """Powers of two from a quarter of a typical request up to the size, and the size; for powers of two up to 32, 1 to 6 of them."""
    first = max(1, rows // SMALLER_THAN_TYPICAL).bit_length() - 1
    powers = tuple(1 << power for power in range(min(first, size.bit_length() - 1), size.bit_length()))
    return powers if powers[-1] == size else (*powers, size)


def _batch_threads(serving: ServingSpec) -> int:
    return _cpus(serving) if serving.accelerator is None else GPU_BATCH_THREADS


def _cpus(serving: ServingSpec) -> int:
    """Whole CPUs of the container, at least one: what TF Serving sees as its parallelism."""
    amount = quantity(serving.cpu) if serving.cpu is not None else None
    return max(1, int(amount)) if amount is not None else 1


def _fillable(rows: int, threads: int) -> int:
    """The largest power of two that (N + 1) batches of it have no more than that many rows; 1 to 32."""
    most = rows // (max(0, threads) + 1)
    return min(1 << (most.bit_length() - 1), START_MAX_BATCH_SIZE) if most else 1


def _power_of_two_at_least(rows: int) -> int:
    return 1 << (rows - 1).bit_length()


def _clamped(concurrency: Fraction) -> int:
    return max(1, min(math.ceil(concurrency), MAX_CONCURRENCY))
