"""What must fit: weights and batches into the card's memory, model and requests into the instance's.

Bytes throughout. A bytes-for-each-row number is that of the largest intermediate results of the model, which only a measurement gives.
"""

from dataclasses import dataclass

GIB = 1 << 30
RUNTIME_BYTES = GIB
"""CUDA, cuDNN and the allocator, on the card."""
CARD_SHARE = 0.9
"""The part of a card's memory that may be planned."""
INSTANCE_SHARE = 0.8
"""The part of an instance's memory that may be planned."""
MODEL_IN_RAM = 1.2
"""TF Serving's own estimate of a model's RAM, in sizes of its files."""
RELOAD_COPIES = 2
"""A new version in place is loaded beside the old one."""


@dataclass(frozen=True, slots=True)
class CardMemory:
    """weights * copies + N*B*bytes of a row + 1 GiB <= 0.9 * the card's memory."""

    card_bytes: int
    weights_bytes: int
    row_bytes: int
    reloads_in_place: bool = False
    """Whether a version is replaced within a running server; a new revision is a new server."""

    @property
    def fixed_bytes(self) -> int:
        """What does not depend on batches."""
        return self.weights_bytes * (RELOAD_COPIES if self.reloads_in_place else 1) + RUNTIME_BYTES

    def used_bytes(self, *, max_batch_rows: int, batch_threads: int) -> int:
        """The left side: N batches of B rows at once."""
        return self.fixed_bytes + batch_threads * max_batch_rows * self.row_bytes

    def fits(self, *, max_batch_rows: int, batch_threads: int) -> bool:
        """Whether the rule holds."""
        return self.used_bytes(max_batch_rows=max_batch_rows, batch_threads=batch_threads) <= CARD_SHARE * self.card_bytes

    def max_batch_rows(self, *, batch_threads: int) -> int | None:
        """The largest B that fits, 0 where the weights alone do not; None where rows need nothing, so any does."""
        left = int(CARD_SHARE * self.card_bytes) - self.fixed_bytes
        if left < 0:
            return 0
        return left // (batch_threads * self.row_bytes) if self.row_bytes else None


@dataclass(frozen=True, slots=True)
class InstanceMemory:
    """1.2*model + the model's files where they are in memory too + 2*C*(request + response) <= 0.8 * the instance's memory."""

    instance_bytes: int
    model_bytes: int
    exchange_bytes: int
    """A request and its response."""
    files_in_memory: bool = False
    """Whether the model was copied into the instance's file system, which is memory."""

    @property
    def fixed_bytes(self) -> float:
        """What does not depend on requests."""
        return MODEL_IN_RAM * self.model_bytes + (self.model_bytes if self.files_in_memory else 0)

    def used_bytes(self, *, requests: int) -> float:
        """The left side, with `requests` in the instance at once: each twice, as bytes and as tensors."""
        return self.fixed_bytes + 2 * requests * self.exchange_bytes

    def fits(self, *, requests: int) -> bool:
        """Whether the rule holds."""
        return self.used_bytes(requests=requests) <= INSTANCE_SHARE * self.instance_bytes

    def max_requests(self) -> int | None:
        """The largest C that fits, 0 where the model alone does not; None where requests need nothing."""
        left = INSTANCE_SHARE * self.instance_bytes - self.fixed_bytes
        if left < 0:
            return 0
        return int(left // (2 * self.exchange_bytes)) if self.exchange_bytes else None
