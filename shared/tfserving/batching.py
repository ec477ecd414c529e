"""TF Serving's batching parameters: the file of --batching_parameters_file as a value, what the scheduler makes of it, what breaks.

Defaults and checks are those of the model server's own path: SharedBatchScheduler (shared_batch_scheduler.h), and GetQueueOptions
and WrapSessionForBatching, which put the file's numbers into it (bundle_factory_util). The batching guide describes
CreateBasicBatchingSession in places, which the model server does not use: there the last allowed size must equal
max_execution_batch_size when splitting is on; here it must equal max_batch_size, always.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.descriptors import new_message
from shared.tfserving.faults import Fault, Found
from shared.tfserving.text import ConfigTextError, read_text, write_fields

DEFAULT_MAX_BATCH_SIZE = 1_000
DEFAULT_BATCH_TIMEOUT_MICROS = 0
DEFAULT_MAX_ENQUEUED_BATCHES = 10
DEFAULT_THREAD_POOL_NAME = "batch_threads"

PARAMETERS_IN_MODEL_FILE = "batching_params.pbtxt"
"""Its name in the root of a SavedModel version, read with --enable_per_model_batching_parameters; a version without it is not batched."""

_INT32_VALUES = 1 << 32
_INT64_VALUES = 1 << 64


_INVENTED_FIELDS = {
    "batch_commit_timeout_micros": 'No release has such a field. The time an open batch may wait is "batch_timeout_micros".',
    "timeout_batch_timeout_micros": 'No release has such a field. The time an open batch may wait is "batch_timeout_micros".',
    "batching_parameters": "The file is one BatchingParameters message without a wrapper: leave batching_parameters { and its brace out.",
    "model_config_list": "These are models; they belong in the file of --model_config_file.",
    "enable_batching": "Batching is switched on by the flag --enable_batching, not in this file.",
}


class BatchingTextError(ConfigTextError):
    """The text is no BatchingParameters file."""


WITHOUT_A_FILE = BatchingParameters(thread_pool_name="model_server_batch_threads")
"""What --enable_batching alone means."""


class EffectiveBatching(BaseModel):
    """The numbers the scheduler works with. Sizes and queue lengths are unsigned there: a negative one became a huge one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_batch_size: int
    batch_timeout_micros: int
    max_enqueued_batches: int
    num_batch_threads: int
    thread_pool_name: str
    allowed_batch_sizes: tuple[int, ...]
    pad_variable_length_inputs: bool
    enable_large_batch_splitting: bool
    max_execution_batch_size: int


_WRAPPED = (
    "max_batch_size",
    "batch_timeout_micros",
    "max_enqueued_batches",
    "num_batch_threads",
    "thread_pool_name",
    "enable_large_batch_splitting",
    "max_execution_batch_size",
)


def parse_batching(text: str) -> BatchingParameters:
    """Read the file's text. An empty text is a legal file: every default.

    Raises:
        BatchingTextError: TF Serving would refuse the file.
    """
    message = new_message("BatchingParameters")
    read_text(text, message, BatchingTextError, _INVENTED_FIELDS)
    wrapped: dict[str, Any] = {name: getattr(message, name).value for name in _WRAPPED if message.HasField(name)}
    return BatchingParameters(
        **wrapped,
        allowed_batch_sizes=tuple(message.allowed_batch_sizes),
        pad_variable_length_inputs=message.pad_variable_length_inputs,
    )


def format_batching(parameters: BatchingParameters) -> str:
    """The file's text, one field a line, in the order of the message; zero is written, a field left out is not."""
    message = new_message("BatchingParameters")
    for name in _WRAPPED:
        value = getattr(parameters, name)
        if value is not None:
            getattr(message, name).value = value
            getattr(message, name).SetInParent()
    message.allowed_batch_sizes.extend(parameters.allowed_batch_sizes)
    message.pad_variable_length_inputs = parameters.pad_variable_length_inputs
    return write_fields(message)


def effective(parameters: BatchingParameters, cpus: int) -> EffectiveBatching:
    """What the scheduler works with on a machine of `cpus` processors.

    `max_enqueued_batches` of zero becomes 1 unless splitting is on. With splitting on, `max_execution_batch_size` left out is what the
    file says for `max_batch_size`, and zero where it says nothing (the default of 1000 is not used there): nothing is ever accepted.
    """
    max_batch_size = _unsigned(_or(parameters.max_batch_size, DEFAULT_MAX_BATCH_SIZE))
    max_enqueued_batches = _unsigned(_or(parameters.max_enqueued_batches, DEFAULT_MAX_ENQUEUED_BATCHES))
    splitting = bool(parameters.enable_large_batch_splitting)
    return EffectiveBatching(
        max_batch_size=max_batch_size,
        batch_timeout_micros=_or(parameters.batch_timeout_micros, DEFAULT_BATCH_TIMEOUT_MICROS),
        max_enqueued_batches=max_enqueued_batches if splitting else max(1, max_enqueued_batches),
        num_batch_threads=_int32(_or(parameters.num_batch_threads, cpus)),
        thread_pool_name=parameters.thread_pool_name if parameters.thread_pool_name is not None else DEFAULT_THREAD_POOL_NAME,
        allowed_batch_sizes=tuple(_int32(size) for size in parameters.allowed_batch_sizes),
        pad_variable_length_inputs=parameters.pad_variable_length_inputs,
        enable_large_batch_splitting=splitting,
        max_execution_batch_size=_unsigned(_or(parameters.max_execution_batch_size, parameters.max_batch_size or 0))
        if splitting
        else max_batch_size,
    )


def faults(parameters: BatchingParameters) -> list[Fault]:
    """Every rule these parameters break: first what stops the server, then what keeps versions from loading, then what nobody checks."""
    checks = (_start_faults, _load_faults, _split_faults, _unchecked_numbers, _unchecked_sizes, _unchecked_splitting)
    found = [fault for check in checks for fault in check(parameters)]
    order = list(Found)
    return sorted(found, key=lambda fault: order.index(fault.found))


def _start_faults(parameters: BatchingParameters) -> Iterator[Fault]:
    threads = parameters.num_batch_threads
    if threads is not None and _int32(threads) < 1:
        yield Fault(
            "num_batch_threads",
            threads,
            "At least one thread must run batches; leave it out for one thread per CPU.",
            f"num_batch_threads must be positive; was {_int32(threads)}",
            Found.START,
        )


def _load_faults(parameters: BatchingParameters) -> Iterator[Fault]:
    size = _or(parameters.max_batch_size, DEFAULT_MAX_BATCH_SIZE)
    allowed = parameters.allowed_batch_sizes
    if allowed and _int32(allowed[-1]) != _int32(size):
        of_default = "" if parameters.max_batch_size is not None else " (1000 where the file does not say)"
        yield Fault(
            "allowed_batch_sizes",
            allowed,
            f"The last allowed size must equal max_batch_size{of_default}, also when splitting is on.",
            f"Last entry in allowed_batch_sizes must match max_batch_size; last entry was {_int32(allowed[-1])}; expected {_int32(size)}",
            Found.MODEL_LOAD,
        )
    if size == 0:
        yield Fault(
            "max_batch_size",
            0,
            "A batch holds at least one row.",
            "input_batch_size_limit must be positive; was 0",
            Found.MODEL_LOAD,
        )
    timeout = parameters.batch_timeout_micros
    if timeout is not None and timeout < 0:
        yield Fault(
            "batch_timeout_micros",
            timeout,
            "The timeout is zero or more microseconds.",
            f"batch_timeout_micros must be non-negative; was {timeout}",
            Found.MODEL_LOAD,
        )


def _split_faults(parameters: BatchingParameters) -> Iterator[Fault]:
    if not parameters.enable_large_batch_splitting:
        return
    if parameters.max_enqueued_batches == 0:
        yield Fault(
            "max_enqueued_batches",
            0,
            "With splitting on, the queue holds at least one batch.",
            "max_enqueued_batches must be positive; was 0",
            Found.MODEL_LOAD,
        )
    scheduler = effective(parameters, cpus=1)
    if scheduler.max_batch_size < scheduler.max_execution_batch_size:
        yield Fault(
            "max_execution_batch_size",
            parameters.max_execution_batch_size,
            f"A batch that runs may not be larger than max_batch_size ({scheduler.max_batch_size}).",
            "When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or equal to "
            f"max_execution_batch_size.1{scheduler.max_batch_size}{scheduler.max_execution_batch_size}",
            Found.MODEL_LOAD,
        )


def _unchecked_numbers(parameters: BatchingParameters) -> Iterator[Fault]:
    for field in ("max_batch_size", "max_enqueued_batches", "max_execution_batch_size"):
        value = getattr(parameters, field)
        if value is not None and value < 0:
            yield Fault(field, value, "A negative number becomes a huge one: there is no limit at all.", None, Found.NEVER)
    if parameters.max_enqueued_batches == 0 and not parameters.enable_large_batch_splitting:
        yield Fault("max_enqueued_batches", 0, "Zero is silently made 1.", None, Found.NEVER)
    for field in ("max_batch_size", "num_batch_threads"):
        value = getattr(parameters, field)
        if value is not None and value != _int32(value):
            yield Fault(field, value, f"It is cut to 32 bits where it is used or checked: {_int32(value)}.", None, Found.NEVER)


def _unchecked_sizes(parameters: BatchingParameters) -> Iterator[Fault]:
    allowed = parameters.allowed_batch_sizes
    if any(later <= earlier for earlier, later in itertools.pairwise(allowed)):
        yield Fault(
            "allowed_batch_sizes",
            allowed,
            "The sizes must increase: the first that is large enough is taken, so with 4, 2, 8 one row is padded to 4.",
            None,
            Found.NEVER,
        )
    if any(size < 1 for size in allowed):
        yield Fault("allowed_batch_sizes", allowed, "A size below 1 fits no batch and is never used.", None, Found.NEVER)
    if any(size != _int32(size) for size in allowed):
        yield Fault("allowed_batch_sizes", allowed, "Sizes are cut to 32 bits.", None, Found.NEVER)


def _unchecked_splitting(parameters: BatchingParameters) -> Iterator[Fault]:
    execution = parameters.max_execution_batch_size
    if not parameters.enable_large_batch_splitting:
        if execution is not None:
            yield Fault(
                "max_execution_batch_size",
                execution,
                "It is ignored unless enable_large_batch_splitting { value: true } is set.",
                None,
                Found.NEVER,
            )
        return
    scheduler = effective(parameters, cpus=1)
    if scheduler.max_execution_batch_size == 0 and scheduler.max_batch_size != 0:
        yield Fault(
            "max_execution_batch_size",
            execution,
            "With splitting on and no max_batch_size, batches of zero rows run: every request is refused as UNAVAILABLE. "
            "Set max_batch_size or max_execution_batch_size.",
            "but scheduling capacity is only 0",
            Found.NEVER,
        )
        return
    larger = any(size > scheduler.max_execution_batch_size for size in scheduler.allowed_batch_sizes)
    if larger and scheduler.max_execution_batch_size not in scheduler.allowed_batch_sizes:
        yield Fault(
            "allowed_batch_sizes",
            parameters.allowed_batch_sizes,
            f"max_execution_batch_size ({scheduler.max_execution_batch_size}) is not among them: every full batch is padded further.",
            None,
            Found.NEVER,
        )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _unsigned(value: int) -> int:
    """An int64 stored in a size_t."""
    return value % _INT64_VALUES


def _int32(value: int) -> int:
    """An int64 stored in an int."""
    cut = value % _INT32_VALUES
    return cut - _INT32_VALUES if cut >= _INT32_VALUES // 2 else cut
