"""What is deployed in the simulated Cloud Run serves in the world, from the moment at which Cloud Run would have it serve."""

from typing import Any

import pytest
from google.cloud import run_v2

from shared.local.world.served import ServedWorld, place
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_traffic import REVISION
from tests.support.running import running, served
from tests.support.specs import SERVICE

NAME = SERVICE.resource_name


def deploy(cloud_run: SimulatedCloudRun, *args: str, traffic: bool = True) -> str:
    """A new revision with other flags, and by default all traffic on it as soon as it is ready."""
    first = cloud_run.get_service(NAME).latest_ready_revision.rpartition("/")[2]

    def edit(service: run_v2.Service) -> None:
        service.template.containers[0].args = list(args)
        if not traffic:
            service.traffic = [run_v2.TrafficTarget(type_=REVISION, revision=first, percent=100)]

    cloud_run.change_by(NAME, "owner@example.com", edit=edit)
    return cloud_run.get_service(NAME).latest_created_revision.rpartition("/")[2]


def share_of(world: ServedWorld, from_s: float) -> float:
    """Requests answered well and in time, in one minute."""
    return world.result(from_s, from_s + 60).goodput or 0.0


def test_both_times_move_together() -> None:
    cloud_run, world = served(running(), rate=10)
    world.advance(90)
    assert world.now_s == 90
    assert world.seconds(world.moment(42)) == 42
    assert world.result(0, 60).requests == pytest.approx(600, rel=0.1)
    assert cloud_run.get_service(NAME).latest_ready_revision.endswith(next(iter(world.revisions)))


def test_a_raised_maximum_reaches_the_world_once_it_is_in_force() -> None:
    cloud_run, world = served(running("--grpc_max_threads=96", max_instances=1, maxInstanceRequestConcurrency=80), rate=2000)
    world.advance(240)
    assert world.instances == 1
    cloud_run.change_by(NAME, "owner@example.com", max_instance_count=6)
    world.advance(180)
    assert world.instances == 6


def test_a_raised_minimum_starts_instances_that_nobody_asked_for() -> None:
    cloud_run, world = served(running(), rate=1)
    cloud_run.change_by(NAME, "owner@example.com", min_instance_count=3)
    world.advance(60)
    assert world.instances == 3


def test_a_new_revision_is_ready_after_its_start_and_takes_traffic_only_then() -> None:
    cloud_run, world = served(running(), rate=1600)
    world.advance(60)
    name = deploy(cloud_run, "--grpc_max_threads=96", "--enable_batching")
    world.advance(20)
    assert cloud_run.get_service(NAME).latest_ready_revision.rpartition("/")[2] != name
    assert world.instances == 2
    world.advance(100)
    assert cloud_run.get_service(NAME).latest_ready_revision.rpartition("/")[2] == name
    world.advance(60)
    assert share_of(world, 0) < 0.4
    assert share_of(world, 180) > 0.99
    assert world.serving is world.revisions[name][1]


def test_a_revision_without_traffic_serves_nobody() -> None:
    cloud_run, world = served(running(), rate=1600)
    deploy(cloud_run, "--grpc_max_threads=96", "--enable_batching", traffic=False)
    world.advance(120)
    assert share_of(world, 60) < 0.4


def test_instances_of_a_revision_that_gets_no_more_traffic_end() -> None:
    cloud_run, world = served(running(), rate=100)
    deploy(cloud_run, "--grpc_max_threads=96", "--enable_batching")
    world.advance(120)
    assert world.instances == 2
    world.advance(600)
    assert world.instances == 1


def test_what_tf_serving_does_not_start_with_never_becomes_ready_and_gets_no_traffic() -> None:
    cloud_run, world = served(running(), rate=10)
    first = next(iter(world.revisions))
    deploy(cloud_run, "--batching_parameters_file=/models/batching.config")
    world.advance(360)
    service: Any = cloud_run.get_service(NAME)
    assert service.latest_ready_revision.endswith(first)
    assert "failed to start" in service.terminal_condition.message
    assert list(world.revisions) == [first]
    assert share_of(world, 300) == 1.0


def test_a_rollout_finds_no_gpu_where_all_are_in_use() -> None:
    cloud_run, world = served(running("--grpc_max_threads=96", max_instances=3), rate=4000, warm=3)
    cloud_run.set_gpu_quota(SERVICE.project, SERVICE.region, 3)
    world.advance(5)
    assert world.instances == 3
    deploy(cloud_run, "--grpc_max_threads=90")
    world.advance(60)
    assert "Quota exceeded" in cloud_run.get_service(NAME).terminal_condition.message


def test_what_cloud_run_refuses_is_refused_when_it_is_placed() -> None:
    cloud_run, _ = served(running(), rate=1)
    with pytest.raises(SimulatedError, match="Max instances must be set to 5 or fewer"):
        place(cloud_run, SERVICE.model_copy(update={"name": "other"}), running(max_instances=9), gpu_quota=5)
