"""Which texts stand for a value that is filled in later."""

import pytest

from shared.lint.service_parts import is_stand_in
from tests.support.pasted_services import V1, changed, one, silent


@pytest.mark.parametrize(
    "text",
    [
        "$IMAGE",
        "gcr.io/${PROJECT}/a:1",
        "<region>",
        "{{ image }}",
        "[REGION]",
        "%IMAGE%",
        "IMAGE_URL",
        "SERVICE",
        "MY-SERVICE",
        "gcr.io/PROJECT/a:1",
        "gcr.io/XXX/a",
        "REGION-docker.pkg.dev/PROJECT_ID/REPO/IMAGE:TAG",
    ],
)
def test_marks_and_words_of_documentation(text: str) -> None:
    assert is_stand_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA-L4",
        "PARCEL-ETA",
        "TENSORFLOW/SERVING:2.20.0",
        "gcr.io/a/eta@sh}256:ab",
        "gcr.io/a/Eta%@sha256:ab",
        "us-east4",
        "a}",
        "a:1 --set-env-vars=MODEL_NAME=a",
    ],
)
def test_mistakes_and_plain_values(text: str) -> None:
    assert not is_stand_in(text)


def test_a_name_and_an_image_in_capitals_are_reported_and_stand_ins_are_not() -> None:
    invalid = "service-document-invalid"
    assert one(changed(V1, ("name: vision\n", "name: PARCEL-ETA\n")), invalid).where.field == "metadata.name"
    assert silent(changed(V1, ("name: vision\n", "name: SERVICE_NAME\n")), invalid)
    assert "image" in one(changed(V1, ("docker.io/tensorflow/serving:2.20.0-gpu", "gcr.io/a/Eta%@sha256:ab")), invalid).where.field
    assert silent(changed(V1, ("docker.io/tensorflow/serving:2.20.0-gpu", "IMAGE_URL")), invalid)
