"""The settings of a batch queue, in the words of TensorFlow's BatchFunction."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Attributes of BatchFunction. With splitting on, a batch that runs has at most the last of `allowed_batch_sizes`."""

    max_batch_size: int
    num_batch_threads: int = 1
    max_enqueued_batches: int = 10
    batch_timeout_ms: int = 0
    allowed_batch_sizes: tuple[int, ...] = ()
    enable_large_batch_splitting: bool = False

    @property
    def execution_rows(self) -> int:
        """Rows of a batch that runs, at most."""
        return self.allowed_batch_sizes[-1] if self.enable_large_batch_splitting and self.allowed_batch_sizes else self.max_batch_size
