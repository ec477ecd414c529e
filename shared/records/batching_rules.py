"""What is wrong with a spec's own batching parameters: all that TF Serving refuses or silently makes something else of. Pure.

TF Serving's rules come from `tfserving.batching.faults`. Those it never notices are refused too: a spec says what is meant, and nobody
would see that the server does something else (no limit where a number is negative, a size that is never used, a field that is ignored).

Judged is the whole that would be rendered: what the owner wrote, with the fields that were left out.
"""

from collections.abc import Iterator

from shared.records.batching_start import starting_batching
from shared.records.refusal import Authority, Refusal, in_the_servers_words, shown
from shared.records.serving import ServingSpec
from shared.tfserving.batching import EffectiveBatching, effective, faults
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.faults import Fault, Found

BATCHING = "spec.serving.batching"
MAX_BATCH_THREADS = 1_000
"""An instance holds 1,000 requests at most, so no more batches than that can run at once."""
LONG_TIMEOUT_MICROS = 1_000_000
MANY_ENQUEUED_BATCHES = 100
_MICROS_PER_SECOND = 1_000_000

_WHEN = {
    Found.START: "TF Serving does not start with it",
    Found.MODEL_LOAD: "TF Serving does not load the model with it, tries for minutes, and then ends",
    Found.NEVER: "TF Serving takes it and does something else than was meant",
}
_FIXES = {
    "allowed_batch_sizes": "list increasing sizes from 1 on that end with max_batch_size, such as 1, 2, 4, 8, 16, 32",
    "max_batch_size": "use 1 or more, the same as the last of allowed_batch_sizes",
    "batch_timeout_micros": "use 0, or a few thousand microseconds: 5 ms is 5000",
    "num_batch_threads": "use 1 to 4 for each GPU, or leave it out for one per CPU",
    "max_enqueued_batches": "use 1 or more",
    "max_execution_batch_size": "set enable_large_batch_splitting and a size between 1 and max_batch_size, or leave it out",
}


def batching_refusals(serving: ServingSpec) -> Iterator[Refusal]:
    """What is wrong with `serving.batching`, where it gives parameters: `auto` and `off` are always right."""
    if not isinstance(serving.batching, BatchingParameters):
        return
    parameters, _ = starting_batching(serving)
    if parameters is None:
        return
    found = faults(parameters)
    yield from map(_of_fault, found)
    threads = parameters.num_batch_threads
    if threads is not None and threads > MAX_BATCH_THREADS and not any(fault.field == "num_batch_threads" for fault in found):
        yield Refusal(
            field=f"{BATCHING}.num_batch_threads",
            value=shown(threads),
            limit=f"{MAX_BATCH_THREADS} threads",
            why="an instance holds no more requests than that, so no more batches can run at once",
            fix=_FIXES["num_batch_threads"],
            authority=Authority.TRIMTAB,
        )
    sizes = {"max_batch_size", "max_enqueued_batches", "max_execution_batch_size"}
    if serving.rows_per_request is not None and not any(fault.field in sizes for fault in found):
        yield from _row_refusals(serving.rows_per_request, effective(parameters, cpus=1))


def batching_notes(serving: ServingSpec) -> Iterator[str]:
    """What TF Serving takes of the owner's parameters and is seldom meant, a sentence each; none keeps a spec from being taken."""
    owners = serving.batching
    if serving.own_entry is not None or not isinstance(owners, BatchingParameters):
        return
    whole, concurrency = starting_batching(serving)
    timeout, rows = owners.batch_timeout_micros or 0, serving.rows_per_request or 1
    if timeout >= LONG_TIMEOUT_MICROS:
        yield (
            f"{BATCHING}.batch_timeout_micros {timeout} is {timeout / _MICROS_PER_SECOND:g} s: a request alone in its batch waits "
            "that long before it runs; 5 ms is 5000"
        )
    execution = 0 if whole is None else effective(whole, cpus=1).max_execution_batch_size
    if timeout > 0 and concurrency * rows < execution:
        yield (
            f"{BATCHING}: with max_instance_request_concurrency {concurrency} an instance holds at most {concurrency * rows} rows, a batch "
            f"is full with {execution}: none fills, each waits the whole batch_timeout_micros of {timeout}; use 0, or smaller batches"
        )
    if (owners.max_enqueued_batches or 0) > MANY_ENQUEUED_BATCHES:
        yield (
            f"{BATCHING}.max_enqueued_batches {owners.max_enqueued_batches}: a queue that long never pushes back, requests wait in it "
            "until their deadline instead of being refused at once; a few batches for each thread are enough"
        )


def _row_refusals(rows: int, scheduler: EffectiveBatching) -> Iterator[Refusal]:
    """Requests of that many rows that would all be refused: larger than max_batch_size (with splitting too), or than the whole queue."""
    if rows > scheduler.max_batch_size:
        split = scheduler.enable_large_batch_splitting
        yield Refusal(
            field="spec.serving.rows_per_request",
            value=f"{rows} rows",
            limit=f"{scheduler.max_batch_size} rows, max_batch_size" + (", with splitting too" if split else ""),
            why="every request would be refused; TF Serving says "
            f'"Task size {rows} is larger than maximum input batch size {scheduler.max_batch_size}"',
            fix=f"raise {BATCHING}.max_batch_size to {rows} or more and keep max_execution_batch_size"
            if split
            else f"raise {BATCHING}.max_batch_size, or set enable_large_batch_splitting with a higher max_batch_size "
            "and max_execution_batch_size as it is now",
            authority=Authority.TF_SERVING,
        )
        return
    queue = scheduler.max_enqueued_batches * scheduler.max_execution_batch_size
    if scheduler.enable_large_batch_splitting and rows > queue:
        yield Refusal(
            field="spec.serving.rows_per_request",
            value=f"{rows} rows",
            limit=f"{queue} rows, max_enqueued_batches x max_execution_batch_size",
            why="every request would be refused, even by an empty queue; TF Serving says "
            f'"task size is {rows} but scheduling capacity is only {queue}"',
            fix=f"raise {BATCHING}.max_enqueued_batches to {-(-rows // scheduler.max_execution_batch_size)} or more",
            authority=Authority.TF_SERVING,
        )


def _of_fault(fault: Fault) -> Refusal:
    return Refusal(
        field=f"{BATCHING}.{fault.field}",
        value="not set" if fault.value is None else shown(fault.value),
        limit=fault.rule.rstrip("."),
        why=in_the_servers_words(_WHEN[fault.found], fault.text),
        fix=_FIXES[fault.field],
        authority=Authority.TF_SERVING,
    )
