"""What the name of an image tells."""

import pytest

from shared.lint.images import read_image

DIGEST = "sha256:7d0b6d2f1c9be3c0a6d5a3f5a6ad2f0b4b0b0f1a9c55e7d1f0f3a2b1c0d9e8f7"


@pytest.mark.parametrize(
    ("text", "serving", "gpu", "pinned"),
    [
        ("tensorflow/serving:2.20.0-gpu", True, True, True),
        ("docker.io/tensorflow/serving:2.20.0", True, False, True),
        ("tensorflow/serving", True, False, False),
        ("tensorflow/serving:latest-gpu", True, True, False),
        ("tensorflow/serving:nightly", True, False, False),
        (f"tensorflow/serving@{DIGEST}", True, None, True),
        (f"tensorflow/serving:2.20.0-gpu@{DIGEST}", True, True, True),
        ("us-docker.pkg.dev/acme/repo/tensorflow/serving:2.20.0", True, False, True),
        ("localhost:5000/tensorflow/serving:2.19.1-gpu", True, True, True),
        ("acme/tensorflow-serving:2.20.0", False, None, True),
        ("us-docker.pkg.dev/acme/repo/mask", False, None, False),
        ("localhost:5000/mask", False, None, False),
        ("us-docker.pkg.dev/acme/repo/mask:v3", False, None, True),
    ],
)
def test_an_image_in_its_parts(text: str, serving: bool, gpu: bool | None, pinned: bool) -> None:
    image = read_image(text)
    assert (image.is_tf_serving, image.is_gpu_build, image.is_pinned) == (serving, gpu, pinned)


def test_a_port_of_a_registry_is_no_tag() -> None:
    image = read_image("localhost:5000/mask")
    assert (image.name, image.tag) == ("localhost:5000/mask", None)
