"""Images, bounds of instances, redundancy, concurrency and revision names of a service."""

import pytest

from tests.support.pasted_services import GPU_COMMAND, V1, V2, changed, findings, one, silent

CPU_COMMAND = "gcloud run deploy a --image=tensorflow/serving:2.20.0 --cpu=2 --memory=4Gi --concurrency=4 --port=8501"
CODES = (
    "image-gpu-mismatch",
    "image-not-pinned",
    "max-instances-one",
    "gpu-quota-default-exceeded",
    "gpu-zonal-redundancy-implicit",
    "concurrency-unset",
    "revision-name-fixed",
    "revision-level-scaling",
)
UPDATE = "gcloud run services update vision --concurrency=48"


@pytest.mark.parametrize("text", [GPU_COMMAND, V1, V2, CPU_COMMAND, UPDATE], ids=["gcloud", "v1", "v2", "cpu", "update"])
@pytest.mark.parametrize("code", CODES)
def test_a_sound_service_has_none_of_these(text: str, code: str) -> None:
    assert silent(text, code)


def test_the_build_without_cuda_on_a_gpu() -> None:
    found = one(changed(GPU_COMMAND, ("2.20.0-gpu", "2.20.0")), "image-gpu-mismatch")
    assert found.fix == "--image=docker.io/tensorflow/serving:2.20.0-gpu"
    assert findings("gcloud run services update a --image=tensorflow/serving --gpu=1", "image-gpu-mismatch")


def test_the_gpu_build_without_a_gpu() -> None:
    found = one(changed(CPU_COMMAND, ("2.20.0", "2.19.0-gpu")), "image-gpu-mismatch")
    assert found.fix.splitlines()[0] == "--image=tensorflow/serving:2.19.0"
    assert silent("gcloud run services update a --image=tensorflow/serving:2.20.0-gpu", "image-gpu-mismatch")
    assert silent("docker run --gpus all -p 8500:8500 tensorflow/serving:2.20.0-gpu", "image-gpu-mismatch")


def test_an_image_of_ones_own_is_not_judged_by_its_name() -> None:
    assert silent(changed(GPU_COMMAND, ("docker.io/tensorflow/serving:2.20.0-gpu", "gcr.io/acme/tfs:7")), "image-gpu-mismatch")


@pytest.mark.parametrize("image", ["tensorflow/serving", "tensorflow/serving:latest-gpu", "gcr.io/acme/tfs:nightly", "gcr.io/acme/tfs"])
def test_an_image_that_means_other_bytes_tomorrow(image: str) -> None:
    assert one(f"gcloud run deploy a --image={image}", "image-not-pinned").where.field == "--image"
    assert not one(f"docker run -p 8501:8501 {image}", "image-not-pinned").fix.startswith("--")


@pytest.mark.parametrize(
    "image", ["gcr.io/acme/tfs:7", f"gcr.io/acme/tfs:latest@sha256:{'0' * 64}", "$IMAGE", "gcr.io/PROJECT_ID/tfs", "<image>"]
)
def test_an_image_that_is_fixed_or_filled_in_later(image: str) -> None:
    assert silent(f"gcloud run deploy a --image='{image}'", "image-not-pinned")


def test_one_gpu_instance_at_most() -> None:
    text = changed(GPU_COMMAND, ("--max-instances=3", "--max-instances=1"))
    assert one(text, "max-instances-one").fix == "--max-instances=2"
    assert silent(text, "max-instances-one", bulk=True)
    assert silent(f"{CPU_COMMAND} --max-instances=1", "max-instances-one")


def test_more_gpus_than_are_granted() -> None:
    text = changed(GPU_COMMAND, ("--max-instances=3", "--max-instances=8"))
    assert "Max instances must be set to 3 or fewer" in one(text, "gpu-quota-default-exceeded").message
    assert silent(text, "gpu-quota-default-exceeded", gpu_quota=8)
    assert "must be set to 2 or fewer" in one(GPU_COMMAND, "gpu-quota-default-exceeded", gpu_quota=2).message
    assert silent(f"{text} --max=2", "gpu-quota-default-exceeded")


def test_silence_about_redundancy() -> None:
    assert one(changed(GPU_COMMAND, ("--no-gpu-zonal-redundancy ", "")), "gpu-zonal-redundancy-implicit").fix == "--no-gpu-zonal-redundancy"
    implicit = changed(V1, ("        run.googleapis.com/gpu-zonal-redundancy-disabled: 'true'\n", ""))
    assert one(implicit, "gpu-zonal-redundancy-implicit").fix == 'run.googleapis.com/gpu-zonal-redundancy-disabled: "true"'
    assert silent(changed(V1, ("disabled: 'true'", "disabled: 'false'")), "gpu-zonal-redundancy-implicit")
    assert silent("gcloud run services update a --gpu=1", "gpu-zonal-redundancy-implicit")


def test_concurrency_left_to_the_default() -> None:
    found = one(changed(GPU_COMMAND, ("--concurrency=24 ", "")), "concurrency-unset")
    assert "gcloud makes it 640" in found.message
    assert (found.where.line, found.where.field) == (1, "--concurrency")
    assert "The Admin API makes it 80" in one(changed(V2, ("Concurrency: 24", "Concurrency: 0")), "concurrency-unset").message


def test_the_concurrency_that_fits_the_batching() -> None:
    batching = "max_batch_size { value: 16 } num_batch_threads { value: 2 } max_enqueued_batches { value: 4 }"
    found = one(changed(GPU_COMMAND, ("--concurrency=24 ", "")), "concurrency-unset", batching=batching)
    assert found.fix.startswith("--concurrency=48\n")


def test_a_cpu_service_may_leave_its_concurrency() -> None:
    assert silent(changed(CPU_COMMAND, ("--concurrency=4 ", "")), "concurrency-unset")


def test_a_fixed_name_of_the_revision() -> None:
    assert one(changed(V2, ("template:\n", "template:\n  revision: vision-7\n")), "revision-name-fixed").where.field == "template.revision"
    v1 = changed(V1, ("  template:\n    metadata:\n", "  template:\n    metadata:\n      name: vision-7\n"))
    assert one(v1, "revision-name-fixed").where.field == "spec.template.metadata.name"
    assert one(f"{GPU_COMMAND} --revision-suffix=seven", "revision-name-fixed").where.field == "--revision-suffix"


def test_the_minimum_on_the_revision() -> None:
    assert one(f"{GPU_COMMAND} --min-instances=1", "revision-level-scaling").fix == "--min=1"
    assert silent(f"{GPU_COMMAND} --min=1", "revision-level-scaling")
    assert silent(f"{GPU_COMMAND} --min-instances=0", "revision-level-scaling")


@pytest.mark.parametrize("image", ["tensorflow/serving", "docker.io/tensorflow/serving:latest"])
def test_the_pinned_image_of_a_gpu_service_is_the_gpu_build(image: str) -> None:
    found = one(changed(GPU_COMMAND, ("docker.io/tensorflow/serving:2.20.0-gpu", image)), "image-not-pinned")
    assert found.fix == f"--image={image.removesuffix(':latest')}:2.20.0-gpu"


def test_the_pinned_image_of_a_service_without_a_gpu_is_the_plain_build() -> None:
    assert one(changed(CPU_COMMAND, (":2.20.0", "")), "image-not-pinned").fix == "--image=tensorflow/serving:2.20.0"
