"""What an instance can be made of, and what Cloud Run says of a shape it does not take."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cloudrun.limits import Found, LimitFault
from shared.cloudrun.prices import USD_PER_GPU_SECOND
from shared.cloudrun.server_texts import ServerText
from shared.cloudrun.shapes import ACCELERATORS, L4, RTX_PRO_6000, memory_range_gib, shape_faults


def faults(accelerator: str | None = "nvidia-l4", *, cpu: float = 8, memory_gib: float = 32, **more: Any) -> list[LimitFault]:
    return shape_faults(accelerator=accelerator, cpu=cpu, memory_gib=memory_gib, **more)


def only(found: list[LimitFault]) -> LimitFault:
    assert len(found) == 1, [str(each) for each in found]
    return found[0]


@pytest.mark.parametrize(
    ("accelerator", "cpu", "memory"),
    [
        ("nvidia-l4", 4, 16),
        ("nvidia-l4", 6, 16),
        ("nvidia-l4", 6, 24),
        ("nvidia-l4", 8, 16),
        ("nvidia-l4", 8, 32),
        ("nvidia-rtx-pro-6000", 20, 80),
        ("nvidia-rtx-pro-6000", 22, 88),
        ("nvidia-rtx-pro-6000", 30, 80),
        ("nvidia-rtx-pro-6000", 30, 120),
        (None, 1, 0.5),
        (None, 1, 4),
        (None, 2, 8),
        (None, 4, 2),
        (None, 8, 32),
    ],
)
def test_these_shapes_are_taken(accelerator: str | None, cpu: float, memory: float) -> None:
    assert faults(accelerator, cpu=cpu, memory_gib=memory) == []


@pytest.mark.parametrize(
    ("accelerator", "cpu", "memory", "field", "text"),
    [
        ("nvidia-l4", 2, 16, "cpu", ServerText.GPU_MINIMUM),
        ("nvidia-l4", 4, 8, "memory", ServerText.GPU_MINIMUM),
        ("nvidia-l4", 4, 24, "memory", ServerText.MEMORY),
        ("nvidia-l4", 8, 64, "memory", ServerText.MEMORY),
        ("nvidia-l4", 5, 16, "cpu", ServerText.CPU),
        ("nvidia-l4", 16, 32, "cpu", ServerText.CPU),
        ("nvidia-rtx-pro-6000", 8, 80, "cpu", ServerText.RTX_CPU),
        ("nvidia-rtx-pro-6000", 21, 80, "cpu", ServerText.RTX_CPU),
        ("nvidia-rtx-pro-6000", 32, 80, "cpu", ServerText.RTX_CPU),
        ("nvidia-rtx-pro-6000", 20, 64, "memory", ServerText.RTX_MEMORY),
        ("nvidia-rtx-pro-6000", 20, 84, "memory", ServerText.RTX_MEMORY),
        (None, 3, 4, "cpu", ServerText.CPU),
        (None, 0.01, 0.5, "cpu", ServerText.CPU),
        (None, 1, 8, "memory", ServerText.MEMORY),
        (None, 1, 0.25, "memory", ServerText.MEMORY),
        (None, 8, 2, "memory", ServerText.MEMORY),
    ],
)
def test_these_are_refused_in_cloud_runs_own_words(
    accelerator: str | None, cpu: float, memory: float, field: str, text: ServerText
) -> None:
    fault = only(faults(accelerator, cpu=cpu, memory_gib=memory))
    assert fault.field == f"template.containers.resources.limits.{field}"
    assert (fault.text, fault.found) == (text, Found.REQUEST)


def test_too_little_of_both_is_said_of_both() -> None:
    assert [fault.value for fault in faults(cpu=2, memory_gib=4)] == [2, 4]


def test_four_vcpu_and_an_l4_have_exactly_16_gib() -> None:
    assert L4.memory_range_gib(4) == (16, 16)
    assert "16 GiB with nvidia-l4 and 4 vCPU" in only(faults(cpu=4, memory_gib=20)).limit


@pytest.mark.parametrize(("cpu", "most"), [(20, 80), (22, 88), (24, 96), (26, 104), (28, 112), (30, 120)])
def test_an_rtx_takes_four_gib_for_each_vcpu(cpu: int, most: int) -> None:
    assert RTX_PRO_6000.memory_range_gib(cpu) == (80, most)


def test_the_fix_is_the_next_size_that_is_taken() -> None:
    assert only(faults(cpu=5, memory_gib=16)).fix == "use 6"
    assert only(faults("nvidia-rtx-pro-6000", cpu=21, memory_gib=80)).fix == "use 22"


@pytest.mark.parametrize("name", ["nvidia-t4", "nvidia-h100-80gb", "NVIDIA-L4", ""])
def test_other_accelerators_are_refused(name: str) -> None:
    fault = faults(name, cpu=8, memory_gib=32)[0]
    assert (fault.field, fault.value, fault.text) == ("template.node_selector.accelerator", name, ServerText.ACCELERATOR)


@pytest.mark.parametrize(
    ("name", "region"), [(card.name, region) for card in ACCELERATORS.values() for region in sorted(card.open_regions)]
)
def test_open_regions_are_open(name: str, region: str) -> None:
    cpu, memory = ACCELERATORS[name].min_cpu, ACCELERATORS[name].min_memory_gib
    assert faults(name, cpu=cpu, memory_gib=memory, region=region) == []


@pytest.mark.parametrize(
    ("name", "region"), [(card.name, region) for card in ACCELERATORS.values() for region in sorted(card.invited_regions)]
)
def test_regions_by_invitation_are_for_the_invited(name: str, region: str) -> None:
    cpu, memory = ACCELERATORS[name].min_cpu, ACCELERATORS[name].min_memory_gib
    assert "invitation" in only(faults(name, cpu=cpu, memory_gib=memory, region=region)).why
    assert faults(name, cpu=cpu, memory_gib=memory, region=region, invited=True) == []


def test_an_invitation_opens_no_other_region() -> None:
    assert only(faults(region="europe-north1", invited=True)).field == "region"
    assert faults(None, region="europe-north1") == []


@pytest.mark.parametrize(
    ("more", "field", "text"),
    [
        ({"gpu_count": 2}, "template.containers.resources.limits[nvidia.com/gpu]", ServerText.GPU_COUNT),
        ({"gpu_containers": 2}, "template.containers.resources.limits[nvidia.com/gpu]", ServerText.GPU_ONE_CONTAINER),
        ({"gen1": True}, "template.execution_environment", ServerText.GPU_GEN2),
        ({"cpu_throttling": True}, "template.containers.resources.cpu_idle", ServerText.GPU_THROTTLING),
        ({"gpu_count": 0}, "template.containers.resources.limits[nvidia.com/gpu]", None),
    ],
)
def test_what_a_gpu_forbids(more: dict[str, Any], field: str, text: ServerText | None) -> None:
    fault = only(faults(**more))
    assert (fault.field, fault.text) == (field, text)


def test_a_service_that_says_nothing_of_throttling_is_taken() -> None:
    assert faults(cpu_throttling=False) == []


def test_redundancy_belongs_to_gpus() -> None:
    assert faults(redundancy_stated=True) == []
    assert only(faults(None, redundancy_stated=True)).text == ServerText.GPU_REDUNDANCY_WITHOUT_GPU


def test_less_than_one_vcpu_is_for_the_first_generation() -> None:
    assert only(faults(None, cpu=0.5, memory_gib=0.5)).found == Found.NEVER
    assert faults(None, cpu=0.5, memory_gib=0.125, gen1=True) == []
    assert memory_range_gib(0.08, gen1=True) == (0.125, 0.5)


@pytest.mark.parametrize(
    ("card", "redundant", "metric"),
    [
        (L4, False, "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"),
        (L4, True, "NvidiaL4GpuAllocPerProjectRegion"),
        (RTX_PRO_6000, False, "NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion"),
        (RTX_PRO_6000, True, "NvidiaRtxPro6000GpuAllocPerProjectRegion"),
    ],
)
def test_each_redundancy_has_its_quota(card: Any, redundant: bool, metric: str) -> None:
    assert card.quota_metric(zonal_redundancy=redundant) == metric


def test_what_has_a_price_is_what_can_be_had() -> None:
    assert {name for name, _ in USD_PER_GPU_SECOND} == set(ACCELERATORS)


@given(
    accelerator=st.sampled_from([None, *ACCELERATORS]),
    cpu=st.one_of(st.integers(-1, 40).map(float), st.floats(0, 1)),
    memory=st.one_of(st.integers(0, 130).map(float), st.floats(0, 2)),
)
def test_a_shape_is_taken_exactly_when_its_memory_fits_its_cpu(accelerator: str | None, cpu: float, memory: float) -> None:
    card = None if accelerator is None else ACCELERATORS[accelerator]
    with_card = card.memory_range_gib(cpu) if card is not None and cpu in card.cpus else None
    allowed = memory_range_gib(cpu) if card is None else with_card
    fits = allowed is not None and allowed[0] <= memory <= allowed[1]
    refused = [fault for fault in faults(accelerator, cpu=cpu, memory_gib=memory) if fault.found == Found.REQUEST]
    assert fits == (not refused)
    assert all(fault.text is not None for fault in refused)
