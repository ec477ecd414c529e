"""One suite over both doors of the simulated Cloud Run: the port in process, and Google's client over gRPC on loopback."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from google.cloud import run_v2

from shared.errors import Answer, QuotaRefused, Refused, Retry, RevisionNameTaken, ServiceMissing, StaleEtag
from shared.gcp.cloud_run import CloudRunPlatform
from shared.local.cloud_run_door import CloudRunDoor
from shared.ports import Platform
from shared.records.observed import Bounds, ReadyState, ScalingMode
from shared.records.service import OwnedField
from shared.records.snapshot import OperationStatus
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.platform import TRIMTAB, SimulatedPlatform
from tests.support.simulated_service import PARENT, RANKER, START, StandingClock, gpu_service, with_ranker

MIN, MAX = OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT
NAME = RANKER.resource_name
NOBODY = RANKER.model_copy(update={"name": "nobody"})


@dataclass(frozen=True)
class World:
    clock: StandingClock
    cloud_run: SimulatedCloudRun
    platform: Platform

    @property
    def written(self) -> list[tuple[str, ...]]:
        """The masks of Trimtab's own accepted writes."""
        return [write.mask for write in self.cloud_run.write_log if write.principal == TRIMTAB]

    def write(self, *, low: int = 0, high: int = 0, fields: tuple[OwnedField, ...] = (MAX,), etag: str | None = None) -> str:
        given = self.platform.get_service(RANKER).etag if etag is None else etag
        bounds = Bounds(min_instance_count=low, max_instance_count=high)
        return self.platform.update_scaling(RANKER, etag=given, bounds=bounds, fields=fields)


@pytest.fixture(params=["in-process", "grpc"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    clock = StandingClock()
    cloud_run = with_ranker(clock, quota=8, low=1, high=3, revision_max=20)
    if request.param == "in-process":
        yield World(clock, cloud_run, SimulatedPlatform(cloud_run, now=clock.now))
        return
    with CloudRunDoor(cloud_run) as door:
        platform = CloudRunPlatform(clock, endpoint=door.endpoint)
        try:
            yield World(clock, cloud_run, platform)
        finally:
            platform.close()


def test_a_service_is_read(world: World) -> None:
    seen = world.platform.get_service(RANKER)
    assert (seen.generation, seen.observed_generation, seen.reconciling) == (1, 1, False)
    assert seen.bounds == Bounds(min_instance_count=1, max_instance_count=3)
    assert seen.revision_max_instance_count == 20
    assert (seen.shape.accelerator, seen.shape.gpu_count, seen.shape.cpu, seen.shape.memory_gib) == ("nvidia-l4", 1, 4.0, 16.0)
    assert seen.shape.gpu_zonal_redundancy is False
    assert seen.ready is ReadyState.SUCCEEDED
    assert seen.latest_ready_revision.startswith("ranker-00001-")
    assert seen.last_modifier == "owner@example.com"
    assert seen.etag
    assert seen.read_at == START


def test_a_write_changes_exactly_the_named_field(world: World) -> None:
    before = world.cloud_run.get_service(NAME)
    world.write(low=7, high=5, fields=(MAX,))
    world.clock.pass_seconds(5)
    after = world.cloud_run.get_service(NAME)
    assert (after.scaling.min_instance_count, after.scaling.max_instance_count) == (1, 5)
    assert world.written == [("scaling.max_instance_count",)]
    assert after.last_modifier == TRIMTAB
    after.scaling.max_instance_count = 3
    for field in ("generation", "observed_generation", "etag", "update_time", "last_modifier", "terminal_condition"):
        setattr(after, field, getattr(before, field))
    assert run_v2.Service.serialize(after) == run_v2.Service.serialize(before)
    assert run_v2.Service.serialize(after).count(b"later") == 3


def test_both_bounds_go_in_one_write_and_zero_is_a_value(world: World) -> None:
    world.write(low=0, high=5, fields=(MIN, MAX))
    assert world.platform.get_service(RANKER).bounds == Bounds(min_instance_count=0, max_instance_count=5)
    assert world.written == [("scaling.max_instance_count", "scaling.min_instance_count")]


def test_a_scaling_write_makes_no_revision(world: World) -> None:
    before = world.platform.get_service(RANKER)
    world.write(high=5)
    world.clock.pass_seconds(300)
    after = world.platform.get_service(RANKER)
    assert after.latest_ready_revision == before.latest_ready_revision
    assert world.cloud_run.get_service(NAME).latest_created_revision.endswith(before.latest_ready_revision)


def test_generation_etag_and_readiness_move_with_the_write(world: World) -> None:
    before = world.platform.get_service(RANKER)
    world.write(high=5)
    during = world.platform.get_service(RANKER)
    assert (during.generation, during.observed_generation, during.reconciling) == (2, 1, True)
    assert during.ready is ReadyState.RECONCILING
    world.clock.pass_seconds(5)
    after = world.platform.get_service(RANKER)
    assert (after.generation, after.observed_generation, after.reconciling) == (2, 2, False)
    assert len({before.etag, during.etag, after.etag}) == 3


def test_a_stale_etag_is_told_from_everything_else(world: World) -> None:
    etag = world.platform.get_service(RANKER).etag
    world.cloud_run.change_by(NAME, "sam@example.com", max_instance_count=2)
    with pytest.raises(StaleEtag, match="was specified but current version is"):
        world.write(high=5, etag=etag)
    assert world.written == []
    assert world.platform.get_service(RANKER).bounds.max_instance_count == 2


def test_the_platform_moves_the_etag_without_the_generation(world: World) -> None:
    before = world.platform.get_service(RANKER)
    world.cloud_run.bump_etag(NAME)
    with pytest.raises(StaleEtag):
        world.write(high=5, etag=before.etag)
    after = world.platform.get_service(RANKER)
    assert after.generation == before.generation
    assert after.same_as(before)
    world.write(high=5, etag=after.etag)
    assert world.written == [("scaling.max_instance_count",)]


def test_quota_refuses_with_what_it_would_allow(world: World) -> None:
    with pytest.raises(QuotaRefused) as caught:
        world.write(high=12)
    refused = caught.value
    assert refused.metric == "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"
    assert (refused.requested, refused.allowed, refused.allowed_instances) == (12, 8, 8)
    assert "Max instances must be set to 8 or fewer" in refused.message
    assert world.written == []
    assert world.platform.get_service(RANKER).generation == 1


def test_no_quota_at_all_allows_nothing(world: World) -> None:
    world.cloud_run.set_gpu_quota("acme-ml", "europe-west1", 0)
    with pytest.raises(QuotaRefused) as caught:
        world.write(high=2)
    assert (caught.value.allowed_instances, caught.value.metric) == (0, None)


def test_what_validation_refuses_is_refused_for_good(world: World) -> None:
    with pytest.raises(Refused, match="must be greater than or equal to min_instance_count"):
        world.write(low=4, fields=(MIN,))
    assert world.written == []


def test_a_missing_service_is_missing(world: World) -> None:
    with pytest.raises(ServiceMissing, match="does not exist"):
        world.platform.get_service(NOBODY)
    with pytest.raises(ServiceMissing, match="does not exist"):
        world.platform.update_scaling(NOBODY, etag="1", bounds=Bounds(), fields=[MAX])


def test_an_operation_runs_and_is_done(world: World) -> None:
    name = world.write(high=5)
    assert name.startswith(f"{PARENT}/operations/")
    assert world.platform.get_operation(name) == OperationStatus(done=False)
    world.clock.pass_seconds(5)
    assert world.platform.get_operation(name) == OperationStatus(done=True)


def test_an_operation_that_failed_says_why(world: World) -> None:
    world.cloud_run.fail_next_reconciliation("Resource readiness deadline exceeded\n" + "x" * 5_000)
    name = world.write(high=5)
    world.clock.pass_seconds(5)
    status = world.platform.get_operation(name)
    assert status is not None
    assert status.done
    assert status.error is not None
    assert status.error.startswith("Resource readiness deadline exceeded x")
    assert len(status.error) <= 1_000
    assert world.platform.get_service(RANKER).ready is ReadyState.FAILED


def test_an_unknown_operation_is_none(world: World) -> None:
    assert world.platform.get_operation(f"{PARENT}/operations/nothing") is None


def test_a_lost_reply_leaves_the_write_in_place(world: World) -> None:
    world.cloud_run.faults.fail_next("UNAVAILABLE", "Connection reset by peer", applied=True)
    with pytest.raises(Retry, match="Connection reset"):
        world.write(high=5)
    seen = world.platform.get_service(RANKER)
    assert (seen.bounds.max_instance_count, seen.generation, seen.last_modifier) == (5, 2, TRIMTAB)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        ("UNAVAILABLE", "try later", Retry),
        ("DEADLINE_EXCEEDED", "too slow", Retry),
        ("INTERNAL", "bug", Retry),
        ("ABORTED", "concurrent something", Retry),
        ("RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Write requests' of service 'run.googleapis.com'", Retry),
        ("PERMISSION_DENIED", "Permission 'run.services.update' denied", Refused),
        ("ALREADY_EXISTS", "Revision named 'ranker-00022-jot' with different configuration already exists.", RevisionNameTaken),
        ("NOT_FOUND", "Resource 'ranker' does not exist.", ServiceMissing),
    ],
)
def test_refusals_are_told_apart_and_no_write_is_repeated(world: World, status: str, text: str, kind: type[Answer | Retry]) -> None:
    etag = world.platform.get_service(RANKER).etag
    world.cloud_run.faults.fail_next(status, text)
    with pytest.raises(kind) as caught:
        world.write(high=5, etag=etag)
    assert type(caught.value) is kind
    assert text in str(caught.value)
    assert world.written == []
    world.write(high=5, etag=etag)


def test_reads_are_refused_as_writes_are(world: World) -> None:
    world.cloud_run.faults.fail_next("UNAVAILABLE", "not now", method="get")
    with pytest.raises(Retry, match="not now"):
        world.platform.get_service(RANKER)
    world.cloud_run.faults.fail_next("PERMISSION_DENIED", "Permission 'run.services.get' denied", method="get")
    with pytest.raises(Refused):
        world.platform.get_service(RANKER)
    world.cloud_run.faults.fail_next("UNAVAILABLE", "not now", method="operation")
    with pytest.raises(Retry, match="not now"):
        world.platform.get_operation(f"{PARENT}/operations/x")


def test_manual_mode_is_seen_and_left_alone(world: World) -> None:
    def manual(service: run_v2.Service) -> None:
        service.scaling.scaling_mode = run_v2.ServiceScaling.ScalingMode(2)
        service.scaling.manual_instance_count = 0

    world.cloud_run.change_by(NAME, "sam@example.com", edit=manual)
    seen = world.platform.get_service(RANKER)
    assert (seen.scaling_mode, seen.manual_instance_count) == (ScalingMode.MANUAL, 0)
    world.write(high=5)
    seen = world.platform.get_service(RANKER)
    assert (seen.scaling_mode, seen.manual_instance_count, seen.bounds.max_instance_count) == (ScalingMode.MANUAL, 0, 5)


def test_an_update_that_would_replace_or_not_check_is_never_sent(world: World) -> None:
    with pytest.raises(ValueError, match="fields is empty"):
        world.write(high=5, fields=())
    with pytest.raises(ValueError, match="etag is empty"):
        world.write(high=5, etag="")
    assert world.written == []


def test_of_eight_writers_with_one_etag_one_wins(world: World) -> None:
    etag = world.platform.get_service(RANKER).etag
    start = threading.Barrier(8)
    answers: list[str] = []

    def write(high: int) -> None:
        start.wait()
        try:
            world.write(high=high, etag=etag)
        except StaleEtag:
            answers.append("stale")
        else:
            answers.append("written")

    threads = [threading.Thread(target=write, args=(high,)) for high in (1, 2, 4, 5, 6, 7, 8, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["stale"] * 7 + ["written"]
    assert len(world.written) == 1


def test_over_grpc_a_deadline_leaves_the_outcome_open() -> None:
    clock = StandingClock()
    cloud_run = with_ranker(clock)
    with CloudRunDoor(cloud_run) as door:
        platform = CloudRunPlatform(clock, endpoint=door.endpoint, timeout_seconds=5)
        hasty = CloudRunPlatform(clock, endpoint=door.endpoint, timeout_seconds=0.3)
        try:
            etag = platform.get_service(RANKER).etag
            applied = threading.Event()
            cloud_run.faults.on_next("update", before=lambda: time.sleep(0.6), after=applied.set)
            with pytest.raises(Retry, match="Deadline"):
                hasty.update_scaling(RANKER, etag=etag, bounds=Bounds(max_instance_count=2), fields=[MAX])
            assert applied.wait(5)
            assert platform.get_service(RANKER).bounds.max_instance_count == 2
        finally:
            platform.close()
            hasty.close()


def test_over_grpc_nobody_there_is_tried_again_soon() -> None:
    with CloudRunDoor(SimulatedCloudRun(now=StandingClock().now)) as door:
        endpoint = door.endpoint
    platform = CloudRunPlatform(StandingClock(), endpoint=endpoint, timeout_seconds=2)
    started = time.monotonic()
    try:
        with pytest.raises(Retry):
            platform.get_service(RANKER)
    finally:
        platform.close()
    assert time.monotonic() - started < 3


def test_a_second_service_of_the_scene_does_not_disturb(world: World) -> None:
    world.cloud_run.create_service(PARENT, "embedder", gpu_service(high=2), settled=True)
    world.write(high=5)
    embedder = RANKER.model_copy(update={"name": "embedder"})
    assert world.platform.get_service(embedder).bounds.max_instance_count == 2
