"""Deleting a Cloud Run service through the real client: what it answers, and what is gone."""

from collections.abc import Iterator

import pytest

from shared.errors import ServiceMissing
from shared.gcp.cloud_run import CloudRunPlatform
from shared.local.cloud_run_door import CloudRunDoor
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from tests.support.simulated_service import PARENT, RANKER, StandingClock, gpu_service

OTHER = ServiceId(project=RANKER.project, region=RANKER.region, name="scorer")


@pytest.fixture
def world() -> SimulatedCloudRun:
    made = SimulatedCloudRun(now=StandingClock().now)
    made.set_gpu_quota(RANKER.project, RANKER.region, 8)
    for service in (RANKER, OTHER):
        made.create_service(PARENT, service.name, gpu_service(), settled=True)
    return made


@pytest.fixture
def platform(world: SimulatedCloudRun) -> Iterator[CloudRunPlatform]:
    with CloudRunDoor(world) as door:
        made = CloudRunPlatform(StandingClock(), endpoint=door.endpoint)
        yield made
        made.close()


def test_the_service_is_gone_and_no_other(platform: CloudRunPlatform) -> None:
    platform.delete_service(RANKER)
    with pytest.raises(ServiceMissing):
        platform.get_service(RANKER)
    assert platform.get_service(OTHER).generation >= 1


def test_a_service_that_is_gone_already_is_told_so(platform: CloudRunPlatform) -> None:
    platform.delete_service(RANKER)
    with pytest.raises(ServiceMissing):
        platform.delete_service(RANKER)
