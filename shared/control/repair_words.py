"""What a repair changes, in the settings' real names: for the decision and for whoever reads it at night. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.records.serving import DesiredServing, Protocol
from shared.tfserving.flags import SPARE_GRPC_THREADS

if TYPE_CHECKING:
    from shared.lint.deployment import Deployment

_BATCHING = ("max_batch_size", "num_batch_threads", "batch_timeout_micros", "max_enqueued_batches")
OFF = "off"


def numbers(desired: DesiredServing) -> dict[str, object]:
    """The settings that a repair moves, of what Trimtab would render."""
    concurrency, batching = desired.max_instance_request_concurrency, desired.batching
    said: dict[str, object] = {"max_instance_request_concurrency": concurrency}
    if desired.own_entry is None and concurrency is not None:
        said[_thread_flag(desired.protocol)] = concurrency + SPARE_GRPC_THREADS
    said["enable_batching"] = OFF if batching is None else "on"
    said |= {name: getattr(batching, name, None) for name in _BATCHING}
    return said


def running_numbers(running: Deployment, protocol: Protocol) -> dict[str, object]:
    """The same settings of a deployment that somebody else made, as far as it says them."""
    batching = running.batching.meant if running.batching is not None and running.batching_on else None
    said: dict[str, object] = {"max_instance_request_concurrency": running.concurrency}
    said[_thread_flag(protocol)] = running.grpc_threads if protocol is Protocol.GRPC else running.rest_threads
    said["enable_batching"] = None if running.batching_on is None else "on" if running.batching_on else OFF
    said |= {name: getattr(batching, name, None) for name in _BATCHING}
    return said


def moved(before: dict[str, object], after: dict[str, object]) -> tuple[str, ...]:
    """What differs, a setting each; one that was not said before has no `from`."""
    return tuple(
        f"{name} to {value}" if before.get(name) is None else f"{name} from {before[name]} to {value}"
        for name, value in after.items()
        if value is not None and before.get(name) != value
    )


def _thread_flag(protocol: Protocol) -> str:
    return "grpc_max_threads" if protocol is Protocol.GRPC else "rest_api_num_threads"
