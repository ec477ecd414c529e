"""Quotas of the simulated Cloud Run: at request time and when instances should start."""

from collections.abc import Callable

import pytest
from google.cloud import run_v2

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_quota import NO_GPUS_LEFT
from tests.support.simulated_service import PARENT, RANKER, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name
PROJECT, REGION = "acme-ml", "europe-west1"
RTX = "nvidia-rtx-pro-6000"
State = run_v2.Condition.State


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


def rtx_service(high: int) -> run_v2.Service:
    service = gpu_service(high=high)
    service.template.node_selector.accelerator = RTX
    service.template.containers[0].resources.limits.update({"cpu": "20", "memory": "80Gi"})
    return service


def concurrency_of(number: int) -> Callable[[run_v2.Service], None]:
    def edit(service: run_v2.Service) -> None:
        service.template.max_instance_request_concurrency = number

    return edit


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(SimulatedError) as caught:
        work()
    assert caught.value.status == "INVALID_ARGUMENT"
    return caught.value.text


def test_the_rtx_quota_is_counted_in_thousandths_of_a_gpu(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    text = refused(lambda: cloud_run.create_service(PARENT, "big", rtx_service(5)))
    assert "Max instances must be set to 3 or fewer in order to set GPU requirements." in text
    assert "NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion requested: 5000 allowed: 3000" in text
    cloud_run.set_gpu_quota(PROJECT, REGION, 5, accelerator=RTX)
    cloud_run.create_service(PARENT, "big", rtx_service(5))


def test_cpu_and_memory_are_refused_together_in_googles_words(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    cloud_run.set_cpu_quota(PROJECT, REGION, 20_000)
    cloud_run.set_memory_quota(PROJECT, REGION, 40 * 2**30)
    text = refused(lambda: cloud_run.create_service(PARENT, "big", rtx_service(3)))
    assert text == (
        "scaling.max_instance_count: Max instances must be set to 0 or fewer to set the requested total CPU/memory.\n"
        "Quota violated:\n"
        "CpuAllocPerProjectRegion requested: 60000 allowed: 20000\n"
        "MemAllocPerProjectRegion requested: 257698037760 allowed: 42949672960"
    )


def test_only_the_quota_that_is_violated_is_named(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    cloud_run.set_cpu_quota(PROJECT, REGION, 8_000)
    text = refused(lambda: cloud_run.create_service(PARENT, "ranker", gpu_service(high=3)))
    assert "Max instances must be set to 2 or fewer to set the requested total CPU/memory." in text
    assert "CpuAllocPerProjectRegion requested: 12000 allowed: 8000" in text
    assert "MemAlloc" not in text


def test_the_gpu_quota_is_looked_at_first(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    cloud_run.set_cpu_quota(PROJECT, REGION, 1)
    wrong = gpu_service(high=9)
    wrong.template.max_instance_request_concurrency = 5_000
    text = refused(lambda: cloud_run.create_service(PARENT, "ranker", wrong))
    assert "in order to set GPU requirements" in text
    assert "Cpu" not in text


def test_in_manual_mode_the_count_is_held_against_the_quota(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3)

    def manual(service: run_v2.Service) -> None:
        service.scaling.scaling_mode = run_v2.ServiceScaling.ScalingMode(2)
        service.scaling.manual_instance_count = 4

    assert "requested: 4 allowed: 3" in refused(lambda: cloud_run.change_by(NAME, "sam@example.com", edit=manual))


def test_a_new_revision_needs_a_gpu_beside_those_that_run(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3, high=3)
    cloud_run.set_running_instances(NAME, 3)
    operation = cloud_run.change_by(NAME, "sam@example.com", edit=concurrency_of(8))
    assert not operation.done
    clock.pass_seconds(5)
    service = cloud_run.get_service(NAME)
    revision = service.latest_created_revision.rsplit("/", 1)[1]
    assert service.terminal_condition.state == State.CONDITION_FAILED
    assert service.terminal_condition.message == f"Revision '{revision}' is not ready and cannot serve traffic. {NO_GPUS_LEFT}"
    assert service.observed_generation == 1


def test_once_an_instance_has_ended_the_same_template_starts_under_a_new_name(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3, high=3)
    cloud_run.set_running_instances(NAME, 3)
    cloud_run.change_by(NAME, "sam@example.com", edit=concurrency_of(8))
    clock.pass_seconds(5)
    cloud_run.set_running_instances(NAME, 2)

    def again(service: run_v2.Service) -> None:
        service.template.revision = "ranker-again-2"

    cloud_run.change_by(NAME, "sam@example.com", edit=again)
    clock.pass_seconds(60)
    assert cloud_run.get_service(NAME).latest_ready_revision.endswith("ranker-again-2")


def test_instances_kept_warm_run(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=4, low=2, high=3)
    cloud_run.change_by(NAME, "sam@example.com", edit=concurrency_of(8))
    clock.pass_seconds(60)
    assert cloud_run.get_service(NAME).terminal_condition.state == State.CONDITION_SUCCEEDED
    cloud_run.set_gpu_quota(PROJECT, REGION, 3)
    cloud_run.change_by(NAME, "sam@example.com", edit=concurrency_of(4))
    clock.pass_seconds(5)
    assert NO_GPUS_LEFT in cloud_run.get_service(NAME).terminal_condition.message


def test_other_services_of_the_region_hold_gpus_too(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3, low=2)
    cloud_run.create_service(PARENT, "embedder", gpu_service(low=2))
    clock.pass_seconds(5)
    embedder = cloud_run.get_service(f"{PARENT}/services/embedder")
    assert NO_GPUS_LEFT in embedder.terminal_condition.message
    cloud_run.create_service(PARENT, "small", gpu_service(low=1))
    clock.pass_seconds(60)
    small = cloud_run.get_service(f"{PARENT}/services/small")
    assert small.terminal_condition.state == State.CONDITION_SUCCEEDED


def test_other_regions_and_accelerators_do_not_count(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3, low=3)
    for parent, service in (("projects/acme-ml/locations/us-east4", gpu_service(low=3)), (PARENT, rtx_service(1))):
        cloud_run.create_service(parent, "other", service)
        clock.pass_seconds(60)
        assert cloud_run.get_service(f"{parent}/services/other").terminal_condition.state == State.CONDITION_SUCCEEDED
