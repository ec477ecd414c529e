"""What the owner's spec asks an instance to be now: every `auto` and `latest` decided. Pure.

The numbers here are where a service starts, before anything of it was measured. Letters as in the rules they come from:

    N  num_batch_threads        batches that run at once
    B  max_batch_size           rows of a batch
    Q  max_enqueued_batches     batches that wait
    C  max_instance_request_concurrency
    r  rows of a request
    k  requests that fit into one batch, B / r rounded down

* N = 2 on a GPU: while one batch computes, the next is prepared. More threads add no capacity and form smaller batches (TF Serving's
  shared_batch_scheduler.h: "a common configuration is to set the number of threads equal to the number of hardware accelerator
  units"). Without a GPU one for each CPU, as the batching guide has it.
* C = (N + 1) B / r: what runs and one batch more. With C requests in an instance that is full, batches have min(B, C r / (N + 1))
  rows: fewer requests would never fill them, more would only wait in the instance instead of where Cloud Run sees them and scales.
* batch_timeout_micros = 0: a batch starts as soon as a thread is free. While the threads are busy batches fill by themselves; at low
  traffic a timeout is latency and nothing else.
* Q k >= C: then no request can meet a full queue, however they arrive. (B (N + Q) rows is what a queue can hold at its best; with
  timeout 0 the batches that run may hold a single request each, so only what waits is counted.)
* allowed_batch_sizes are the powers of two up to B: a lone request costs a batch of one, padding never doubles a batch.

Where the owner gives one of batching and concurrency, the other follows from it by the same rules.
"""

import math
from fractions import Fraction

from shared.cloudrun.limits import MAX_CONCURRENCY
from shared.cloudrun.quantities import quantity
from shared.errors import TrimtabError
from shared.records.admission import start_up_limit_seconds
from shared.records.service import ServiceSpec
from shared.records.serving import AUTO, DesiredModel, DesiredServing, ModelSpec, ServingSpec
from shared.tfserving.batching import effective
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.flags import BY_NAME, FlagValue, Kind

GPU_BATCH_THREADS = 2
START_MAX_BATCH_SIZE = 32
"""The first max_batch_size: on every GPU far from its memory, and half or more of the way to what batching can gain."""
MIN_ENQUEUED_BATCHES = 4
START_UP_FACTOR = 3
"""The window is this many times the longest start measured: images and models are sometimes pulled from a cold cache."""
MIN_START_UP_SECONDS = 60


class VersionUnknown(TrimtabError):
    """The spec asks for the latest version and none is known: nothing can be rendered yet."""


def desired_serving(spec: ServiceSpec, *, version: int | None = None, measured_start_seconds: float | None = None) -> DesiredServing:
    """Decide every `auto` and `latest` of an admitted spec.

    `version` is the newest complete version of the model, where the spec says `latest`. `measured_start_seconds` is the longest start
    of an instance seen so far, None where none was. With `own_entry` the owner's command decides which model is loaded and how it
    batches, so model and batching stay out, and so does the revision's maximum.

    Raises:
        VersionUnknown: the spec says `latest` and `version` is None.
        ValueError: the spec has no `serving`: there is nothing to decide.
    """
    serving = spec.serving
    if serving is None:
        raise ValueError("spec.serving is not set: Trimtab leaves the template to its owner, there is nothing to desire of it")
    own = serving.own_entry is not None
    batching, concurrency = (None, _explicit_concurrency(serving)) if own else _batching_and_concurrency(serving)
    return DesiredServing(
        image=serving.image,
        model=None if own or serving.model is None else _model(serving.model, version),
        protocol=serving.protocol,
        accelerator=serving.accelerator,
        gpu_zonal_redundancy=None if serving.accelerator is None else serving.gpu_zonal_redundancy,
        cpu=serving.cpu,
        memory=serving.memory,
        service_account=serving.service_account,
        ingress=serving.ingress,
        vpc_access=serving.vpc_access,
        max_instance_request_concurrency=concurrency,
        batching=batching,
        timeout_seconds=serving.timeout_seconds,
        start_up_seconds=_start_up_seconds(serving, measured_start_seconds),
        set_points=serving.set_points,
        # The revision's own maximum is part of what is rendered; a template that is kept keeps its own.
        max_instance_count=None if own else spec.scale.max_instance_count,
        extra_flags={name: _as_read_back(name, value) for name, value in serving.extra_flags.items()},
        environment=serving.environment,
        metrics_sidecar=serving.metrics_sidecar and not own,
        own_entry=serving.own_entry,
    )


def _model(model: ModelSpec, version: int | None) -> DesiredModel:
    decided = model.version if isinstance(model.version, int) else version
    if decided is None:
        raise VersionUnknown(
            f"model.version is latest and no complete version of {model.name} is known under {model.uri}: upload one, or name a version"
        )
    return DesiredModel(name=model.name, uri=model.uri, version=decided, source=model.source)


def _as_read_back(flag: str, value: FlagValue) -> FlagValue:
    """The value as it is read from a revision's arguments: a whole number for a flag of fractions comes back as a fraction."""
    known = BY_NAME.get(flag)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and known is not None and known.kind is Kind.FLOAT else value


def _start_up_seconds(serving: ServingSpec, measured: float | None) -> int | None:
    asked = serving.start_up_seconds
    if asked is None or isinstance(asked, int):
        return asked
    limit = start_up_limit_seconds(serving)
    if measured is None:
        return limit
    return min(max(math.ceil(START_UP_FACTOR * measured), MIN_START_UP_SECONDS), limit)


def _explicit_concurrency(serving: ServingSpec) -> int | None:
    given = serving.max_instance_request_concurrency
    return given if isinstance(given, int) else None


def _batching_and_concurrency(serving: ServingSpec) -> tuple[BatchingParameters | None, int]:
    rows = serving.rows_per_request or 1
    threads = _batch_threads(serving)
    concurrency = _explicit_concurrency(serving)
    if isinstance(serving.batching, BatchingParameters):
        return serving.batching, concurrency or _concurrency_for(serving.batching, rows, _cpus(serving))
    if serving.batching != AUTO:
        # Each request is a batch of its own: as many as run, and one more.
        return None, concurrency or min(threads + 1, MAX_CONCURRENCY)
    size = _power_of_two_at_least(rows)
    size = max(size, START_MAX_BATCH_SIZE if concurrency is None else _fillable(concurrency * rows, threads))
    if concurrency is None:
        concurrency = _clamped(Fraction((threads + 1) * size, rows))
    enqueued = max(MIN_ENQUEUED_BATCHES, -(-concurrency // (size // rows)) + 1)
    return (
        BatchingParameters(
            max_batch_size=size,
            batch_timeout_micros=0,
            max_enqueued_batches=enqueued,
            num_batch_threads=threads,
            allowed_batch_sizes=tuple(1 << power for power in range(size.bit_length())),
        ),
        concurrency,
    )


def _batch_threads(serving: ServingSpec) -> int:
    return _cpus(serving) if serving.accelerator is None else GPU_BATCH_THREADS


def _cpus(serving: ServingSpec) -> int:
    """Whole CPUs of the container, at least one: what TF Serving sees as its parallelism."""
    amount = quantity(serving.cpu) if serving.cpu is not None else None
    return max(1, int(amount)) if amount is not None else 1


def _fillable(rows: int, threads: int) -> int:
    """The largest power of two that (N + 1) batches of it have no more than that many rows; 1 to 32."""
    most = rows // (threads + 1)
    return min(1 << (most.bit_length() - 1), START_MAX_BATCH_SIZE) if most else 1


def _concurrency_for(batching: BatchingParameters, rows: int, cpus: int) -> int:
    """C for the owner's batching: what runs and a batch more, never as many that one could meet a full queue."""
    scheduler = effective(batching, cpus)
    execution = scheduler.max_execution_batch_size
    wanted = _clamped(Fraction((scheduler.num_batch_threads + 1) * execution, rows))
    if scheduler.enable_large_batch_splitting:
        queue = scheduler.max_enqueued_batches * execution // rows  # its batches are filled to the last row
    else:
        queue = scheduler.max_enqueued_batches * (execution // rows)
    return max(1, min(wanted, queue))


def _power_of_two_at_least(rows: int) -> int:
    return 1 << (rows - 1).bit_length()


def _clamped(concurrency: Fraction) -> int:
    return max(1, min(math.ceil(concurrency), MAX_CONCURRENCY))
