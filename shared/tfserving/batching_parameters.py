"""The message of TF Serving's batching file as a plain value: what stored records hold, without a protobuf reader behind it."""

from pydantic import BaseModel, ConfigDict

from shared.tfserving.fields import Int64, Utf8


class BatchingParameters(BaseModel):
    """The message tensorflow.serving.BatchingParameters. None is a field left out; the server's default then holds.

    `pad_variable_length_inputs` has no presence in the message: false and left out are the same.
    Any number the message can hold is held here; `faults` says which of them TF Serving refuses or gets wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_batch_size: Int64 | None = None
    """Rows of one request at most, and of a batch unless splitting is on."""
    batch_timeout_micros: Int64 | None = None
    """An open batch may run when its first request is this old, in microseconds, and a thread is free."""
    max_enqueued_batches: Int64 | None = None
    """Batches in one queue, the open one included; those being executed do not count."""
    num_batch_threads: Int64 | None = None
    """Batches that run at once, over all models, versions and signatures of the server."""
    thread_pool_name: Utf8 | None = None
    allowed_batch_sizes: tuple[Int64, ...] = ()
    """A batch is padded up to the first of these that is large enough."""
    pad_variable_length_inputs: bool = False
    """Pad the other dimensions to the largest in the batch, each tensor with its own first element."""
    enable_large_batch_splitting: bool | None = None
    max_execution_batch_size: Int64 | None = None
    """Rows of a batch as it runs; read only when splitting is on."""
