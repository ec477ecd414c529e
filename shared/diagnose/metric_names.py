"""Which names of metrics exist, among those of Cloud Run and of TF Serving; others' names are not judged. Pure."""

from shared.cloudrun import metrics as cloud_run
from shared.tfserving import metrics as serving

_CLOUD_RUN_FAMILIES = ("request_", "container_", "pending_queue_", "scaling_")
_SERVING_FAMILIES = ("tensorflow_serving_", "tensorflow_core_", "tensorflow_cc_")
_PER_SERVICE = ("client_",)


def is_real(name: str) -> bool | None:
    """Whether there is such a metric; None where the name is neither Cloud Run's nor TF Serving's, or is in no family known whole."""
    if name.startswith(cloud_run.PREFIX):
        return True if cloud_run.is_metric(name) else False if cloud_run.is_wrong(name) else None
    if name.startswith(":tensorflow:"):
        return True if serving.is_metric(name) else False if serving.is_wrong(name) else None
    return None


def meant_by(name: str) -> str | None:
    """The real metric that a wrong name means; None where nothing is alike."""
    return cloud_run.nearest(name) if name.startswith(cloud_run.PREFIX) else serving.nearest(name)


def is_related(canonical_name: str) -> bool:
    """Whether a canonical name is a metric of the service or of its callers, and no word about the window."""
    return canonical_name.startswith((*_CLOUD_RUN_FAMILIES, *_SERVING_FAMILIES, *_PER_SERVICE))
