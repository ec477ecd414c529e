"""The owner's spec with what repairs decided in the places that it leaves to Trimtab. Pure."""

from shared.records.batching_start import allowed_sizes
from shared.records.repair import RepairSettings
from shared.records.serving import AUTO, ServingSpec
from shared.tfserving.batching_parameters import BatchingParameters

BATCHING_FIELDS = ("max_batch_size", "num_batch_threads", "max_enqueued_batches")


def repaired(serving: ServingSpec, settings: RepairSettings) -> ServingSpec:
    """The spec with the settings filled in; what the owner wrote stays as it is."""
    update: dict[str, object] = {}
    concurrency = settings.max_instance_request_concurrency
    if concurrency is not None and leaves_to_trimtab(serving, "max_instance_request_concurrency"):
        update["max_instance_request_concurrency"] = concurrency
    owners = serving.batching if isinstance(serving.batching, BatchingParameters) else BatchingParameters()
    decided = {
        name: value for name in BATCHING_FIELDS if (value := getattr(settings, name)) is not None and leaves_to_trimtab(serving, name)
    }
    size = decided.get("max_batch_size")
    if size is not None and owners.max_execution_batch_size is not None:
        size = decided["max_batch_size"] = max(size, owners.max_execution_batch_size)
    if size is not None and not owners.allowed_batch_sizes and not owners.enable_large_batch_splitting:
        decided["allowed_batch_sizes"] = allowed_sizes(size, serving.rows_per_request or 1)
    if decided:
        update["batching"] = owners.model_copy(update=decided)
    return serving.model_copy(update=update) if update else serving


def leaves_to_trimtab(serving: ServingSpec, name: str) -> bool:
    """Whether the spec leaves that field of batching, or the concurrency, to Trimtab."""
    if serving.own_entry is not None:
        return False
    if name == "max_instance_request_concurrency":
        return serving.max_instance_request_concurrency == AUTO
    if isinstance(serving.batching, BatchingParameters):
        return getattr(serving.batching, name) is None and not (name == "max_batch_size" and serving.batching.allowed_batch_sizes)
    return serving.batching == AUTO
