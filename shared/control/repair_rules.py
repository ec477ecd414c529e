"""What a repair changes for a cause, without a fitted model: bounded steps of what the spec leaves to Trimtab. Pure.

A template that Trimtab rendered is consistent (server threads above concurrency, a queue that no request finds full, batches that the
concurrency can fill, probes from the measured start): its rules are in `records/batching_start.py`, and one that somebody else made is
replaced by it whole. The steps here are for what those rules cannot know beforehand: the GPU's memory, the size of requests, the host's
memory, what clients wait for. No size moves by more than a factor of two at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from shared.records.repair import RepairSettings
from shared.tfserving.batching_parameters import BatchingParameters

HALF = 2
SAFE_SHARE = 0.75
"""Of a batch size at which the GPU ran out of memory: no batch is made larger than this part of it again."""


@dataclass(frozen=True)
class InForce:
    """The settings that are to be changed, and what the repairs before decided."""

    batching: BatchingParameters | None
    concurrency: int
    rows_per_request: int
    decided: RepairSettings

    @property
    def size(self) -> int:
        """B: rows of a batch, at most; without batching those of a request."""
        return self.rows_per_request if self.batching is None else (self.batching.max_batch_size or 1)

    @property
    def threads(self) -> int:
        """N: batches that run at once."""
        return 1 if self.batching is None else (self.batching.num_batch_threads or 1)

    @property
    def queue(self) -> int:
        """Q: batches that wait."""
        return 0 if self.batching is None else (self.batching.max_enqueued_batches or 0)


@dataclass(frozen=True)
class StepChange:
    """The settings after a step, and why these."""

    settings: RepairSettings
    why: str


Rule = Callable[[InForce], StepChange | None]


def _smaller_batches(now: InForce) -> StepChange | None:
    """The GPU ran out of memory: batches of half the rows, and never again of much more; where a request fills one, fewer at once."""
    if now.batching is None:
        return None
    ceiling = max(1, min(int(SAFE_SHARE * now.size), now.decided.batch_size_ceiling or now.size))
    if now.size // HALF >= now.rows_per_request:
        settings = now.decided.model_copy(update={"max_batch_size": now.size // HALF, "batch_size_ceiling": ceiling})
        return StepChange(settings, f"batches of half the rows need about half the memory; none above {ceiling} rows is tried again")
    if now.threads > 1:
        size = min(now.size, now.decided.batch_size_ceiling or now.size)
        settings = now.decided.model_copy(update={"num_batch_threads": now.threads // HALF, "batch_size_ceiling": size})
        return StepChange(settings, f"half as many batches at once need about half the memory; none above {size} rows is tried again")
    return None


def _larger_batches(now: InForce) -> StepChange | None:
    """A request has more rows than a batch may have: batches of twice the rows, as far as the GPU's memory is not known to forbid it."""
    ceiling = now.decided.batch_size_ceiling
    if now.batching is None or (ceiling is not None and HALF * now.size > ceiling):
        return None
    settings = now.decided.model_copy(update={"max_batch_size": HALF * now.size})
    return StepChange(settings, f"a request of up to {HALF * now.size} rows fits into a batch then; at most twice the rows at once")


def _deeper_queue(now: InForce) -> StepChange | None:
    """The queue refuses requests that the instance holds: room for each of them as a batch of its own."""
    if now.batching is None or now.queue >= now.concurrency:
        return None
    settings = now.decided.model_copy(update={"max_enqueued_batches": now.concurrency})
    return StepChange(
        settings, f"with {now.concurrency} batches of room none of the {now.concurrency} requests an instance holds finds it full"
    )


def _fewer_requests(now: InForce) -> StepChange | None:
    """Requests wait too long, or need too much memory, inside the instance: half as many, the others wait where Cloud Run sees them."""
    fewest = now.threads + 1
    wanted = max(fewest, now.concurrency // HALF)
    if wanted >= now.concurrency:
        return None
    settings = now.decided.model_copy(update={"max_instance_request_concurrency": wanted})
    return StepChange(settings, "requests beyond that wait where Cloud Run sees them and starts instances")


STEPS: dict[str, Rule] = {
    "gpu-out-of-memory": _smaller_batches,
    "request-rows-over-limit": _larger_batches,
    "batch-queue-full": _deeper_queue,
    "batch-queue-wait-timeout": _fewer_requests,
    "queue-too-deep": _fewer_requests,
    "concurrency-too-high": _fewer_requests,
    "host-memory-exceeded": _fewer_requests,
}
"""By the cause's name in the catalog of causes. Other causes are not mended by a setting that the spec leaves to Trimtab."""

TEMPLATE_REMEDIES = frozenset(
    {
        "add-small-allowed-size",
        "enable-batching",
        "fix-port-or-protocol",
        "fix-probe",
        "fix-server-config",
        "lower-batch-threads",
        "lower-batch-timeout",
        "lower-concurrency",
        "lower-max-batch-size",
        "lower-max-enqueued-batches",
        "raise-concurrency",
        "raise-max-batch-size",
        "raise-max-enqueued-batches",
        "raise-server-threads",
    }
)
"""Remedies that Trimtab's own template is: where the evidence asks for one, it takes the place of a template that has not got it."""
