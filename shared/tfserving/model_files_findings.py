"""What a complete version will not do well in the service that is to serve it: its signatures against batching, its size against memory.

Nothing here keeps a version from loading; a request would find it, or the instance would die while loading.
"""

from dataclasses import dataclass
from enum import StrEnum

from shared.tfserving.faults import shown
from shared.tfserving.model_files_saved_model import Signature, Structure, Tensor

RAM_PER_FILE_BYTE = 1.2
"""TF Serving's kResourceEstimateRAMMultiplier: main memory that a loaded model takes, as a multiple of the size of its files."""
MAX_FINDINGS = 20
_SHOWN_NAME = 80
_GIB = 2**30


class FindingCode(StrEnum):
    """What was found, for programs."""

    NO_SIGNATURES = "no_signatures"
    """The graph has nothing that can be asked for."""
    INPUT_RANK_ZERO = "input_rank_zero"
    """An input is a scalar, and batching is on."""
    INPUT_NOT_BATCHABLE = "input_not_batchable"
    """The first dimension of an input is fixed, and batching is on."""
    OUTPUT_NOT_BATCHABLE = "output_not_batchable"
    """An output is a scalar or has a fixed first dimension, and batching is on."""
    MEMORY_TOO_SMALL = "memory_too_small"
    """The instance's memory is less than TF Serving estimates for the files."""
    GPU_MEMORY_TOO_SMALL = "gpu_memory_too_small"
    """The GPU's memory is less than the files by the same estimate."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that will go wrong, in which signature (None for the whole version), when, and what to do."""

    code: FindingCode
    signature: str | None
    text: str


def findings(
    structure: Structure | None,
    *,
    size_bytes: int,
    batching_enabled: bool,
    memory_bytes: int | None = None,
    gpu_memory_bytes: int | None = None,
    copied_into_memory: bool = False,
) -> tuple[Finding, ...]:
    """What will go wrong, at most `MAX_FINDINGS`; memory first.

    `size_bytes` are all files of the version together. `copied_into_memory` is true where the files are first copied to a file system
    that lives in the instance's memory, as every writable one on Cloud Run does: they then take their size once more. A `structure` of
    None is one that is not known: nothing is found in it.
    """
    found = _memory(size_bytes, memory_bytes, gpu_memory_bytes, copied_into_memory)
    if structure is not None and not structure.signatures:
        found.append(
            Finding(
                FindingCode.NO_SIGNATURES,
                None,
                'The graph has no signature: every request would fail with Serving signature key "serving_default" not found. Export the '
                "model "
                "with signatures.",
            )
        )
    if structure is not None and batching_enabled:
        for signature in structure.signatures:
            found.extend(_batching(signature))
    return tuple(found[:MAX_FINDINGS])


def _memory(size_bytes: int, memory_bytes: int | None, gpu_memory_bytes: int | None, copied_into_memory: bool) -> list[Finding]:
    found = []
    loaded = size_bytes * RAM_PER_FILE_BYTE
    needed = loaded + (size_bytes if copied_into_memory else 0)
    if memory_bytes is not None and needed > memory_bytes:
        copy = f" and {_gib(size_bytes)} for the copy of the files in memory" if copied_into_memory else ""
        found.append(
            Finding(
                FindingCode.MEMORY_TOO_SMALL,
                None,
                f"The instance has {_gib(memory_bytes)}; the version needs {_gib(loaded)} ({RAM_PER_FILE_BYTE} times its files, TF "
                f"Serving's own estimate){copy}. Cloud Run would end the instance while it loads. Give the service more memory, or make "
                "the model smaller.",
            )
        )
    if gpu_memory_bytes is not None and loaded > gpu_memory_bytes:
        found.append(
            Finding(
                FindingCode.GPU_MEMORY_TOO_SMALL,
                None,
                f"The GPU has {_gib(gpu_memory_bytes)}; the version needs about {_gib(loaded)} ({RAM_PER_FILE_BYTE} times its files), "
                "and batches come on top. Loading would fail with RESOURCE_EXHAUSTED: OOM when allocating tensor. Take a larger GPU, or "
                "make the model smaller.",
            )
        )
    return found


def _gib(size: float) -> str:
    return f"{size / _GIB:.2f} GiB"


def _batching(signature: Signature) -> list[Finding]:
    found = []
    name = shown(signature.name, limit=_SHOWN_NAME)
    for tensor in signature.inputs:
        if not tensor.is_dense or tensor.shape is None or _takes_any_rows(tensor):
            continue
        of = f'Input "{shown(tensor.name, limit=_SHOWN_NAME)}" of signature "{name}"'
        if not tensor.shape:
            found.append(
                Finding(
                    FindingCode.INPUT_RANK_ZERO,
                    signature.name,
                    f"{of} is a scalar. With batching on, every request would fail with INVALID_ARGUMENT: Batching Run() input tensors "
                    "must have at least one dimension. Give the input a first dimension of any size, or turn batching off.",
                )
            )
        else:
            found.append(
                Finding(
                    FindingCode.INPUT_NOT_BATCHABLE,
                    signature.name,
                    f"{of} has a first dimension of {tensor.shape[0]}, not of any size. With batching on, requests are put together "
                    "along it, and a batch of two would fail. Export the model with a first dimension of None, or turn batching off.",
                )
            )
    for tensor in signature.outputs:
        if not tensor.is_dense or tensor.shape is None or _takes_any_rows(tensor):
            continue
        what = "is a scalar" if not tensor.shape else f"has a first dimension of {tensor.shape[0]}"
        text = (
            "Batched output tensor has 0 dimensions"
            if not tensor.shape
            else "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors"
        )
        found.append(
            Finding(
                FindingCode.OUTPUT_NOT_BATCHABLE,
                signature.name,
                f'Output "{shown(tensor.name, limit=_SHOWN_NAME)}" of signature "{name}" {what}. With batching on, a batch is cut back '
                "into its "
                f"requests along the first dimension, and would fail with FAILED_PRECONDITION: {text}. Export the model with one row of "
                "output for each row of input, or turn batching off.",
            )
        )
    return found


def _takes_any_rows(tensor: Tensor) -> bool:
    return bool(tensor.shape) and tensor.shape is not None and tensor.shape[0] < 0
