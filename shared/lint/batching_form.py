"""The batching parameters file: whether TF Serving reads it, and takes its numbers. Pure.

What the server checks, and its words, are those of `shared.tfserving.batching.faults`.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

from shared.lint.deployment import ConfigFile, Deployment
from shared.lint.finding import Finding
from shared.lint.form_findings import form_findings, not_read
from shared.tfserving.batching import DEFAULT_MAX_BATCH_SIZE, faults
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.faults import Fault, Found
from shared.tfserving.reading import FormFault

_CODES = {
    FormFault.SYNTAX: "batching-file-syntax",
    FormFault.WRAPPER: "batching-wrapper-syntax",
    FormFault.UNKNOWN_FIELD: "batching-unknown-field",
}
_WHEN = {
    Found.START: "The server does not start",
    Found.MODEL_LOAD: "Each load of the model fails, about five minutes long by default, with no port open",
    Found.NEVER: "The server starts and does something else than was meant",
}
_POSITIVE = {
    "max_batch_size": ("max_batch_size { value: 32 }", 1),
    "batch_timeout_micros": ("batch_timeout_micros { value: 0 }", 0),
    "num_batch_threads": ("num_batch_threads { value: 2 }", 1),
    "max_enqueued_batches": ("max_enqueued_batches { value: 4 }", 0),
}
"""Field to a line that is in range, and the least value."""
_SHOWN_SIZES = 12


def form_rules(deployment: Deployment) -> Iterator[Finding]:
    """batching-file-syntax, batching-wrapper-syntax, batching-unknown-field: also in a block inside the models' file."""
    if deployment.batching is not None:
        yield from form_findings(deployment.batching, _CODES)


def range_rules(deployment: Deployment) -> Iterator[Finding]:
    """batching-value-out-of-range."""
    file, meant = _read(deployment)
    if file is None or meant is None:
        return
    broken = {fault.field: fault for fault in reversed(faults(meant)) if fault.field in _POSITIVE}
    for field, (right, least) in _POSITIVE.items():
        value = getattr(meant, field)
        fault = broken.get(field)
        refused = fault is not None and fault.found is not Found.NEVER
        if value is None or fault is None or not (value < least or refused):
            continue
        yield Finding(
            "batching-value-out-of-range",
            f"{field} is {value}{_empty(value)}. {fault.rule} {_consequence(fault)}",
            file.where(field),
            right,
        )


def last_size_rules(deployment: Deployment) -> Iterator[Finding]:
    """allowed-last-not-max: what the server compares is max_batch_size, with splitting on too."""
    file, meant = _read(deployment)
    if file is None or meant is None or (meant.max_batch_size is None and _size_not_read(file)) or not_read(file, "allowed_batch_sizes"):
        return
    fault = next((each for each in faults(meant) if each.field == "allowed_batch_sizes" and each.found is Found.MODEL_LOAD), None)
    if fault is None:
        return
    allowed, size = meant.allowed_batch_sizes, meant.max_batch_size
    stated = f"max_batch_size is {size}" if size is not None else f"max_batch_size is not given, which means {DEFAULT_MAX_BATCH_SIZE}"
    yield Finding(
        "allowed-last-not-max",
        f"The last of allowed_batch_sizes is {allowed[-1]}, and {stated}. {fault.rule} {_consequence(fault)}",
        file.where(f"allowed_batch_sizes[{len(allowed) - 1}]"),
        _right_sizes(meant, deployment.rows),
    )


def order_rules(deployment: Deployment) -> Iterator[Finding]:
    """allowed-not-increasing."""
    file, meant = _read(deployment)
    if file is None or meant is None:
        return
    allowed = meant.allowed_batch_sizes
    at = next((index for index, (one, next_) in enumerate(itertools.pairwise(allowed), 1) if next_ <= one), None)
    if at is None:
        return
    yield Finding(
        "allowed-not-increasing",
        f"In allowed_batch_sizes {allowed[at]} stands behind {allowed[at - 1]}. The server does not check the order: it pads a batch up to "
        "the first entry that is large enough, so entries behind a larger one are never used",
        file.where(f"allowed_batch_sizes[{at}]"),
        _right_sizes(meant, deployment.rows),
    )


def least_size_rules(deployment: Deployment) -> Iterator[Finding]:
    """allowed-min-too-large: a request that is alone in its batch is filled up to the smallest size."""
    file, meant = _read(deployment)
    if file is None or meant is None or not meant.allowed_batch_sizes:
        return
    least, rows = min(meant.allowed_batch_sizes), deployment.rows
    if least <= rows:
        return
    requests = "one row" if rows == 1 else f"{rows} rows"
    yield Finding(
        "allowed-min-too-large",
        f"The smallest of allowed_batch_sizes is {least}, and a request has {requests}: every request that is alone in its batch is padded "
        f"to {least} and costs as much as {least} rows",
        file.where("allowed_batch_sizes"),
        _right_sizes(meant, rows),
    )


def splitting_rules(deployment: Deployment) -> Iterator[Finding]:
    """splitting-sizes-inconsistent."""
    file, meant = _read(deployment)
    if file is None or meant is None or (meant.max_batch_size is None and _size_not_read(file)):
        return
    if not_read(file, "enable_large_batch_splitting") or not_read(file, "max_execution_batch_size"):
        return
    negative = meant.max_execution_batch_size is not None and meant.max_execution_batch_size < 0
    of_field = [fault for fault in faults(meant) if fault.field == "max_execution_batch_size"]
    fault = next((each for each in of_field if not (negative and each.rule.startswith("A negative"))), None)
    if fault is None:
        return
    size, execution = meant.max_batch_size, meant.max_execution_batch_size
    given = f"max_execution_batch_size is {execution}" if execution is not None else "Splitting is on"
    beside = f"max_batch_size is {size}" if size is not None else "max_batch_size is not given"
    yield Finding(
        "splitting-sizes-inconsistent",
        f"{given}, and {beside}. {fault.rule} {_consequence(fault)}",
        file.where("max_execution_batch_size" if execution is not None else "enable_large_batch_splitting"),
        _splitting(meant),
    )


def padding_rules(deployment: Deployment) -> Iterator[Finding]:
    """pad-first-element."""
    file, meant = _read(deployment)
    if file is None or meant is None or not meant.pad_variable_length_inputs:
        return
    yield Finding(
        "pad-first-element",
        "pad_variable_length_inputs is true: the shorter inputs of a batch are filled up with their own first element, not with 0. A model "
        "that takes padding for 0 answers differently depending on what it was batched with",
        file.where("pad_variable_length_inputs"),
        "pad_variable_length_inputs: false",
    )


def _read(deployment: Deployment) -> tuple[ConfigFile[BatchingParameters] | None, BatchingParameters | None]:
    file = deployment.batching
    return file, file.meant if file is not None else None


def _size_not_read(file: ConfigFile[BatchingParameters]) -> bool:
    """Whether max_batch_size may stand in the file under another name, or in a form that cannot be read."""
    return any(
        problem.field == "max_batch_size" or (problem.fault is not FormFault.WRAPPER and _names_a_size(problem.field))
        for problem in file.reading.problems
    )


def _names_a_size(field: str) -> bool:
    words = field.lower().split(".")[-1].replace("-", "_").split("_")
    return "batch" in words and any(word.startswith("size") for word in words) and "allowed" not in words


def _empty(value: int) -> str:
    return ", which empty braces mean too" if value == 0 else ""


def _consequence(fault: Fault) -> str:
    said = f": `{fault.text}`" if fault.text is not None and fault.found is not Found.NEVER else ""
    return f"{_WHEN[fault.found]}{said}"


def _right_sizes(meant: BatchingParameters, rows: int) -> str:
    """The one list that is right in all respects, whatever is wrong with the one that is given.

    In order, each size once, up to max_batch_size, with the size of a request and the one at which batches are split. Where no
    max_batch_size that anybody wrote is there to end the list, it follows the list.
    """
    allowed, size = meant.allowed_batch_sizes, meant.max_batch_size
    end = size if size is not None and size >= 1 else max(1, *allowed)
    sizes = {each for each in allowed if 0 < each < end} | {end}
    execution = meant.max_execution_batch_size if meant.enable_large_batch_splitting else None
    if execution is not None and 0 < execution < end:
        sizes.add(execution)
    if rows < min(sizes):
        sizes.add(rows)
    right = sorted(sizes)
    lines = [] if right == list(allowed) else [_sizes(right)]
    if end != (DEFAULT_MAX_BATCH_SIZE if size is None else size):
        lines.append(f"max_batch_size {{ value: {end} }}")
    return "\n".join(lines)


def _sizes(sizes: Sequence[int]) -> str:
    if len(sizes) > _SHOWN_SIZES:
        return f"allowed_batch_sizes: [{', '.join(map(str, sizes))}]"
    return "\n".join(f"allowed_batch_sizes: {size}" for size in sizes)


def _splitting(meant: BatchingParameters) -> str:
    size, execution = meant.max_batch_size, meant.max_execution_batch_size
    if not meant.enable_large_batch_splitting:
        return "enable_large_batch_splitting { value: true }"
    if size is None or size < 1:
        return f"max_batch_size {{ value: {max(execution or 32, 1)} }}"
    return f"max_execution_batch_size {{ value: {size} }}"


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    form_rules,
    range_rules,
    last_size_rules,
    order_rules,
    least_size_rules,
    splitting_rules,
    padding_rules,
)
