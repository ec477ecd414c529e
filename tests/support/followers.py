"""A service that follows the latest version of `gs://acme-models/ranker`."""

from shared.records.model_subject import ModelSubject
from shared.records.service import ServiceDocument
from shared.records.serving import ServingSpec
from tests.support.builders import document

MODEL = ModelSubject(uri="gs://acme-models/ranker")


def follower() -> ServiceDocument:
    """Its document."""
    serving = {
        "image": "tensorflow/serving:2.20.0-gpu",
        "model": {"name": "ranker", "uri": MODEL.uri, "version": "latest"},
        "protocol": "rest",
        "accelerator": "nvidia-l4",
        "gpu_zonal_redundancy": False,
        "cpu": "4",
        "memory": "16Gi",
    }
    plain = document()
    return plain.model_copy(update={"spec": plain.spec.model_copy(update={"serving": ServingSpec.model_validate(serving)})})
