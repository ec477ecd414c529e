"""GPU, CPU, memory, region and generation of a service."""

import pytest

from shared.cloudrun.shapes import L4, RTX_PRO_6000
from shared.lint.gpu_rules import nearest_shape
from tests.support.pasted_services import GPU_COMMAND, V1, V2, changed, findings, one, silent

CODES = ("cpu-memory-shape", "gpu-request-invalid", "gpu-region-unsupported", "gpu-cpu-throttled", "gen2-required")
SIDECAR = "  - name: side\n    image: gcr.io/acme/side:1\n    resources: {limits: {cpu: '1', memory: 512Mi, nvidia.com/gpu: '1'}}\n"


@pytest.mark.parametrize("text", [GPU_COMMAND, V1, V2], ids=["gcloud", "v1", "v2"])
@pytest.mark.parametrize("code", CODES)
def test_a_sound_gpu_service_has_none_of_these(text: str, code: str) -> None:
    assert silent(text, code)


@pytest.mark.parametrize(
    ("cpu", "memory", "fix"),
    [
        ("4", "8Gi", "--cpu=4 --memory=16Gi"),
        ("4", "24Gi", "--cpu=6 --memory=24Gi"),
        ("2", "16Gi", "--cpu=4 --memory=16Gi"),
        ("8", "64Gi", "--cpu=8 --memory=32Gi"),
    ],
)
def test_an_l4_with_too_little_or_too_much(cpu: str, memory: str, fix: str) -> None:
    found = one(changed(GPU_COMMAND, ("--cpu=8", f"--cpu={cpu}"), ("32Gi", memory)), "cpu-memory-shape")
    assert found.fix == fix
    assert "4 vCPU with exactly 16 GiB" in found.message


def test_the_fix_has_the_form_of_the_document() -> None:
    found = one(changed(V1, ("cpu: '8', memory: 32Gi", "cpu: '4', memory: 8Gi")), "cpu-memory-shape")
    assert found.fix == 'resources:\n  limits:\n    cpu: "4"\n    memory: 16Gi'
    assert (found.where.line, found.where.field) == (19, "spec.template.spec.containers[0].resources.limits.memory")


def test_the_larger_card_needs_the_larger_instance() -> None:
    rtx = changed(V2, ("nvidia-l4", "nvidia-rtx-pro-6000"), ("us-east4", "europe-west4"))
    assert one(rtx, "cpu-memory-shape").fix == 'resources:\n  limits:\n    cpu: "20"\n    memory: 80Gi'
    assert silent(changed(rtx, ("cpu: '8', memory: 32Gi", "cpu: '30', memory: 120Gi")), "cpu-memory-shape")


@pytest.mark.parametrize(
    ("cpu", "memory", "card", "right"),
    [
        (4, 8, L4, (4, 16)),
        (16, 64, RTX_PRO_6000, (20, 80)),
        (20, 64, RTX_PRO_6000, (20, 80)),
        (3, 4, None, (4, 4)),
        (1, 8, None, (2, 8)),
        (8, 2, None, (8, 4)),
    ],
)
def test_the_nearest_legal_pair(cpu: float, memory: float, card: object, right: tuple[float, float]) -> None:
    assert nearest_shape(cpu, memory, card) == right  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "flags", ["--cpu=3 --memory=4Gi", "--cpu=1 --memory=8Gi", "--cpu=4", "--memory=8Gi", "--cpu=0.5 --memory=512Mi --concurrency=8"]
)
def test_a_cpu_service_has_shapes_too(flags: str) -> None:
    assert findings(f"gcloud run deploy a --image=gcr.io/acme/a:1 {flags}", "cpu-memory-shape")


@pytest.mark.parametrize(
    "flags", ["--cpu=2 --memory=8Gi", "", "--cpu=2", "--memory=4Gi", "--cpu=0.5 --memory=512Mi --concurrency=1", "--cpu=$CPU --memory=64Gi"]
)
def test_shapes_that_are_taken(flags: str) -> None:
    assert silent(f"gcloud run deploy a --image=gcr.io/acme/a:1 {flags}", "cpu-memory-shape")


def test_a_change_of_one_of_the_two_is_judged_by_what_no_other_can_mend() -> None:
    assert silent("gcloud run services update a --memory=8Gi", "cpu-memory-shape")
    assert one("gcloud run services update a --cpu=3", "cpu-memory-shape").where.field == "--cpu"


def test_two_gpus_and_an_unknown_card() -> None:
    assert one(changed(GPU_COMMAND, ("--gpu=1", "--gpu=2")), "gpu-request-invalid").fix == "--gpu=1"
    assert one(changed(GPU_COMMAND, ("nvidia-l4", "nvidia-tesla-t4")), "gpu-request-invalid").fix == "--gpu-type=nvidia-l4"
    assert "nvidia-a100" in one("gcloud run services update a --gpu-type=nvidia-a100", "gpu-request-invalid").message


def test_a_gpu_on_two_containers() -> None:
    assert "2 containers ask for a GPU" in one(V2 + SIDECAR, "gpu-request-invalid").message
    assert silent(V2 + SIDECAR.replace(", nvidia.com/gpu: '1'", ""), "gpu-request-invalid")


def test_a_gpu_without_its_type_in_the_admin_api() -> None:
    assert (
        one(changed(V2, ("  nodeSelector: {accelerator: nvidia-l4}\n", "")), "gpu-request-invalid").fix
        == "nodeSelector:\n  accelerator: nvidia-l4"
    )
    assert silent(changed(GPU_COMMAND, ("--gpu-type=nvidia-l4 ", "")), "gpu-request-invalid")


REFUSAL = "must be set when GPU redundancy is set"
NO_TYPE = ("  nodeSelector: {accelerator: nvidia-l4}\n", "")
NO_NUMBER = (", nvidia.com/gpu: '1'", "")


def test_redundancy_of_no_gpu() -> None:
    assert REFUSAL in one(changed(V2, NO_TYPE, NO_NUMBER), "gpu-request-invalid").message
    found = one("gcloud run deploy a --image=gcr.io/acme/a:1 --no-gpu-zonal-redundancy", "gpu-request-invalid")
    assert (found.where.field, REFUSAL in found.message) == ("--no-gpu-zonal-redundancy", True)
    assert REFUSAL in one("gcloud run services update a --gpu=0 --gpu-zonal-redundancy", "gpu-request-invalid").message


def test_a_type_alone_is_a_gpu_and_an_update_may_leave_the_gpu_to_what_is_there() -> None:
    assert silent(changed(V2, NO_NUMBER), "gpu-request-invalid")
    assert silent(changed(GPU_COMMAND, ("--gpu=1 ", "")), "gpu-request-invalid")
    assert silent("gcloud run services update a --no-gpu-zonal-redundancy", "gpu-request-invalid")
    assert silent("gcloud run services update a --gpu=0", "gpu-request-invalid")


def test_redundancy_beside_a_misnamed_flag_for_the_gpu_is_no_second_mistake() -> None:
    command = "gcloud run deploy a --image=gcr.io/acme/a:1 --gpu-count=1 --no-gpu-zonal-redundancy"
    assert silent(command, "gpu-request-invalid")
    assert findings(command, "gcloud-unknown-flag")


@pytest.mark.parametrize("number", ["-1", "one", "nvidia-l4", "=1", "0x10", "0", "4"])
def test_a_number_of_gpus_that_is_not_one(number: str) -> None:
    assert one(changed(GPU_COMMAND, ("--gpu=1", f"--gpu={number}")), "gpu-request-invalid").where.field == "--gpu"


@pytest.mark.parametrize("number", ["$GPUS", "<gpus>", "1"])
def test_a_number_of_gpus_that_is_filled_in_later(number: str) -> None:
    assert silent(changed(GPU_COMMAND, ("--gpu=1", f"--gpu={number}")), "gpu-request-invalid")


def test_a_card_is_spelt_in_small_letters() -> None:
    assert one(changed(GPU_COMMAND, ("nvidia-l4", "NVIDIA-L4")), "gpu-request-invalid").fix == "--gpu-type=nvidia-l4"
    assert silent(changed(GPU_COMMAND, ("nvidia-l4", "GPU_TYPE")), "gpu-request-invalid")


@pytest.mark.parametrize(
    ("card", "region"),
    [("nvidia-l4", "us-west1"), ("nvidia-rtx-pro-6000", "us-east4"), ("nvidia-tesla-t4", "us-west1"), (None, "us-west1")],
)
def test_a_region_without_the_card(card: str | None, region: str) -> None:
    kind = f"--gpu-type={card} " if card else ""
    found = one(changed(GPU_COMMAND, ("--gpu-type=nvidia-l4 ", kind), ("us-east4", region)), "gpu-region-unsupported")
    assert found.where.field == "--region"
    assert found.fix.startswith("--region=")


@pytest.mark.parametrize(
    ("card", "region"),
    [
        ("nvidia-l4", "us-central1"),
        ("nvidia-l4", "asia-south1"),
        ("nvidia-rtx-pro-6000", "asia-south2"),
        ("nvidia-tesla-t4", "europe-west1"),
        ("nvidia-l4", "$REGION"),
        ("nvidia-l4", "REGION"),
    ],
)
def test_a_region_by_invitation_or_unknown_is_not_reported(card: str, region: str) -> None:
    assert silent(changed(GPU_COMMAND, ("nvidia-l4", card), ("us-east4", region)), "gpu-region-unsupported")


def test_a_cpu_service_runs_anywhere() -> None:
    assert silent("gcloud run deploy a --image=gcr.io/acme/a:1 --region=us-west1", "gpu-region-unsupported")


def test_the_region_of_a_document() -> None:
    assert one(changed(V1, ("us-east4", "us-west1")), "gpu-region-unsupported").where.line == 5
    assert "/locations/us-east4/" in one(changed(V2, ("us-east4", "us-west1")), "gpu-region-unsupported").fix


def test_throttling_asked_for_on_a_gpu() -> None:
    assert one(f"{GPU_COMMAND} --cpu-throttling", "gpu-cpu-throttled").fix == "--no-cpu-throttling"
    annotation = "        run.googleapis.com/cpu-throttling: 'true'\n        run.googleapis.com/gpu"
    assert (
        one(changed(V1, ("        run.googleapis.com/gpu", annotation)), "gpu-cpu-throttled").fix
        == 'run.googleapis.com/cpu-throttling: "false"'
    )
    assert one(changed(V2, ("resources: {", "resources: {cpuIdle: true, ")), "gpu-cpu-throttled").where.line == 11


def test_throttling_is_fine_without_a_gpu_or_switched_off() -> None:
    assert silent(f"{GPU_COMMAND} --no-cpu-throttling", "gpu-cpu-throttled")
    assert silent("gcloud run deploy a --image=gcr.io/acme/a:1 --cpu-throttling", "gpu-cpu-throttled")


def test_the_first_generation_has_no_gpu_and_no_bucket() -> None:
    assert one(f"{GPU_COMMAND} --execution-environment=gen1", "gen2-required").fix == "--execution-environment=gen2"
    volume = "--add-volume=name=m,type=cloud-storage,bucket=b"
    plain = f"gcloud run deploy a --image=gcr.io/acme/a:1 {volume}"
    assert "a Cloud Storage volume needs gen2" in one(f"{plain} --execution-environment=gen1", "gen2-required").message
    assert silent(plain, "gen2-required")
    assert silent("gcloud run deploy a --image=gcr.io/acme/a:1 --execution-environment=gen1", "gen2-required")


def test_a_cpu_named_without_memory_keeps_its_cpu_and_gets_the_least_memory_that_goes_with_it() -> None:
    found = one("gcloud run deploy a --image=gcr.io/acme/a:1 --cpu=4", "cpu-memory-shape")
    assert (found.where.field, found.fix) == ("--memory", "--memory=2Gi")
    assert silent(f"gcloud run deploy a --image=gcr.io/acme/a:1 --cpu=4 {found.fix}", "cpu-memory-shape")


def test_memory_named_without_a_cpu_still_gets_both() -> None:
    found = one("gcloud run deploy a --image=gcr.io/acme/a:1 --memory=8Gi", "cpu-memory-shape")
    assert (found.where.field, found.fix) == ("--memory", "--cpu=2 --memory=8Gi")


def test_a_missing_flag_is_missing_on_the_line_of_the_command() -> None:
    found = one("#!/bin/bash\nset -e\n\ngcloud run deploy a \\\n  --image=gcr.io/acme/a:1 \\\n  --cpu=4\n", "cpu-memory-shape")
    assert (found.where.line, found.where.field) == (4, "--memory")
