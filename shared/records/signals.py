"""What an alert or a metric means. The list is complete; alert policies carry it in the label `trimtab_signal`."""

from enum import StrEnum


class Signal(StrEnum):
    """The ten meanings an alert can have; the value is what stands in the policy's user label."""

    QUEUE_FULL = "queue-full"
    """TF Serving's batching queue refuses requests (UNAVAILABLE)."""
    THREAD_GAP = "thread-gap"
    """Cloud Run counts more requests than TF Serving does: the server's threads are exhausted."""
    NO_INSTANCE = "no-instance"
    """Cloud Run answers 429: no instance was available."""
    PENDING_LATENCY = "pending-latency"
    """Requests wait for an instance to start."""
    LATENCY = "latency"
    """Requests are slower than the objective."""
    ERROR_RATIO = "error-ratio"
    """More requests fail than the objective allows."""
    CPU_HIGH_GPU_LOW = "cpu-high-gpu-low"
    """The CPU is busy while the GPU idles."""
    GPU_MEMORY = "gpu-memory"
    """GPU memory is nearly full, or allocations fail."""
    IDLE = "idle"
    """The service holds more instances than its traffic needs."""
    NO_DATA = "no-data"
    """A series that should be there is absent: nothing is known."""
