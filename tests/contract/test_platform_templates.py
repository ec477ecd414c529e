"""Templates, traffic and revisions over both doors of the simulated Cloud Run: in process, and Google's client over gRPC and REST."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import run_v2

from shared.cloudrun.conditions import Verdict, VerdictKind, meaning_of
from shared.errors import QuotaRefused, Refused, Retry, RevisionNameTaken, ServiceMissing, StaleEtag
from shared.gcp.cloud_run import CloudRunPlatform
from shared.local.cloud_run_door import CloudRunDoor
from shared.local.cloud_run_rest import CloudRunRest
from shared.ports import TemplatePlatform
from shared.records.observed import Bounds, ReadyState
from shared.records.service import OwnedField
from shared.records.serving import SetPoints, TrafficTarget
from shared.rendering.observed import observed_from_service
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Outcome
from shared.simulation.cloud_run_json import from_json, to_json
from shared.simulation.platform import TRIMTAB, SimulatedPlatform
from tests.support.desired import desired, rendered
from tests.support.simulated_service import PARENT, RANKER, START, StandingClock

NAME = RANKER.resource_name
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
BIGGER = desired(cpu="8", memory="32Gi")


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    """The typical service, as it is rendered, in force as `ranker-a`."""
    made = SimulatedCloudRun(now=clock.now)
    made.set_gpu_quota("acme-ml", "europe-west1", 16)
    service = rendered()
    service.template.revision = "ranker-a"
    made.create_service(PARENT, "ranker", service, settled=True)
    return made


@pytest.fixture(params=["in-process", "grpc-and-rest"])
def platform(request: pytest.FixtureRequest, cloud_run: SimulatedCloudRun, clock: StandingClock) -> Iterator[TemplatePlatform]:
    if request.param == "in-process":
        yield SimulatedPlatform(cloud_run, now=clock.now)
        return
    with CloudRunDoor(cloud_run) as door, CloudRunRest(cloud_run) as rest:
        remote = CloudRunPlatform(clock, endpoint=door.endpoint, rest_endpoint=rest.base_url.removeprefix("http://"))
        try:
            yield remote
        finally:
            remote.close()


def etag_of(platform: TemplatePlatform) -> str:
    return platform.get_service(RANKER).etag


def test_what_the_server_fills_in_is_no_difference(platform: TemplatePlatform, cloud_run: SimulatedCloudRun) -> None:
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=desired()) is None
    assert len(cloud_run.write_log) == 1


def test_a_template_and_its_traffic_are_one_write(platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    traffic = [TrafficTarget(revision="ranker-a", percent=95), TrafficTarget(revision="ranker-b", percent=5, tag="candidate")]
    operation = platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b", traffic=traffic)
    assert operation is not None
    clock.pass_seconds(60)
    status = platform.get_operation(operation)
    assert status is not None
    assert (status.done, status.error) == (True, None)
    service = cloud_run.get_service(NAME)
    assert [(each.revision, each.percent) for each in service.traffic_statuses] == [("ranker-a", 95), ("ranker-b", 5)]
    assert (service.last_modifier, service.client) == (TRIMTAB, "trimtab")
    assert cloud_run.write_log[-1].mask == ("client", "client_version", "template", "traffic")


def test_set_points_that_the_client_has_no_field_for_are_written_and_read(platform: TemplatePlatform, cloud_run: SimulatedCloudRun) -> None:
    wanted = desired(set_points={"cpu_utilization": 0.9, "concurrency_utilization": 0.7})
    platform.update_service(RANKER, etag=etag_of(platform), serving=wanted, revision="ranker-b")
    scaling = platform.read_service(RANKER).document["template"]["scaling"]
    assert (scaling["cpuUtilization"], scaling["concurrencyUtilization"]) == (0.9, 0.7)
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=wanted) is None


def test_validating_alone_writes_nothing(platform: TemplatePlatform, cloud_run: SimulatedCloudRun) -> None:
    platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b", validate_only=True)
    assert len(cloud_run.list_revisions(NAME)) == 1


def test_a_revision_is_read_by_its_short_name(platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.CRASHES)
    platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b")
    starting = platform.get_revision(RANKER, "ranker-b")
    assert starting is not None
    assert starting.ready is ReadyState.RECONCILING
    clock.pass_seconds(10)
    failed = platform.get_revision(RANKER, "ranker-b")
    assert failed is not None
    assert (failed.ready, failed.reason) == (ReadyState.FAILED, "HEALTH_CHECK_CONTAINER_ERROR")
    assert failed.message.startswith("The user-provided container failed to start")
    assert platform.get_revision(RANKER, "ranker-z") is None


def test_refusals_of_a_template_write_are_told_apart(platform: TemplatePlatform, cloud_run: SimulatedCloudRun) -> None:
    with pytest.raises(StaleEtag):
        platform.update_service(RANKER, etag="1", serving=BIGGER, revision="ranker-b")
    with pytest.raises(RevisionNameTaken):
        platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-a")
    with pytest.raises(Refused, match="must be prefixed by the name"):
        platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="other-b")
    with pytest.raises(ServiceMissing):
        platform.read_service(RANKER.model_copy(update={"name": "nobody"}))
    with pytest.raises(ValueError, match="no revision is named"):
        platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER)
    assert len(cloud_run.write_log) == 1


def set_by_rest(cloud_run: SimulatedCloudRun, edit: Callable[[dict[str, Any]], None]) -> None:
    """What somebody with a newer client writes: a field this client has no name for."""
    document = to_json(cloud_run.get_service(NAME))
    edit(document)
    cloud_run.update_service(from_json(document, run_v2.Service, at="service"), principal="newer@example.com")


def test_what_this_client_has_no_name_for_survives_every_write(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    def edit(document: dict[str, Any]) -> None:
        document["brandNew"] = {"level": 3}
        document["template"] |= {"sshEnabled": True, "revision": "ranker-newer"}
        document["template"]["scaling"]["concurrencyUtilization"] = 0.4
        document["template"]["containers"][0]["novelty"] = ["x"]
        document["traffic"] = [{"type": REVISION, "revision": "ranker-a", "percent": 100, "sticky": True}]

    set_by_rest(cloud_run, edit)
    clock.pass_seconds(60)
    bounds = Bounds(min_instance_count=1, max_instance_count=5)
    platform.update_scaling(RANKER, etag=etag_of(platform), bounds=bounds, fields=[OwnedField.MAX_INSTANCE_COUNT])
    clock.pass_seconds(60)
    platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b")
    clock.pass_seconds(60)
    wanted = BIGGER.model_copy(update={"set_points": SetPoints(cpu_utilization=0.8)})
    platform.update_service(RANKER, etag=etag_of(platform), serving=wanted, revision="ranker-c")
    clock.pass_seconds(60)
    kept = TrafficTarget(revision="ranker-a", percent=90)
    platform.update_service(RANKER, etag=etag_of(platform), traffic=[kept, TrafficTarget(revision="ranker-c", percent=10)])
    clock.pass_seconds(60)
    platform.restore_template(RANKER, etag=etag_of(platform), revision="ranker-b")
    document = platform.read_service(RANKER).document
    assert (document["brandNew"], document["template"]["sshEnabled"]) == ({"level": 3}, True)
    assert document["template"]["containers"][0]["novelty"] == ["x"]
    assert next(each for each in document["traffic"] if each["revision"] == "ranker-a")["sticky"] is True
    scaling = document["template"]["scaling"]
    assert (scaling["concurrencyUtilization"], "cpuUtilization" in scaling) == (0.4, False)


def test_a_write_with_set_points_is_one_write_and_one_revision(platform: TemplatePlatform, cloud_run: SimulatedCloudRun) -> None:
    wanted = desired(cpu="8", memory="32Gi", set_points={"concurrency_utilization": 0.3})
    traffic = [TrafficTarget(revision="ranker-a", percent=100), TrafficTarget(revision="ranker-b", percent=0, tag="next")]
    platform.update_service(RANKER, etag=etag_of(platform), serving=wanted, revision="ranker-b", traffic=traffic)
    assert [write.principal for write in cloud_run.write_log].count(TRIMTAB) == 1
    assert [each.name.rsplit("/", 1)[-1] for each in cloud_run.list_revisions(NAME)] == ["ranker-b", "ranker-a"]


def verdict_of(cloud_run: SimulatedCloudRun) -> Verdict:
    service = cloud_run.get_service(NAME)
    seen = observed_from_service(service, read_at=START)
    return meaning_of(reason=seen.ready_reason, message=seen.ready_message, state=f"CONDITION_{seen.ready.name}")


def test_a_quota_that_refuses_the_call_says_what_was_asked_and_what_is_allowed(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun
) -> None:
    cloud_run.set_gpu_quota("acme-ml", "europe-west1", 3)
    with pytest.raises(QuotaRefused) as refused:
        platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b")
    assert (refused.value.requested, refused.value.allowed, refused.value.allowed_instances) == (4, 3, 3)
    assert len(cloud_run.write_log) == 1


def test_no_gpu_at_provisioning_is_a_quota_that_frees_up_and_the_old_revision_serves_on(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    cloud_run.set_gpu_quota("acme-ml", "europe-west1", 4)
    cloud_run.set_running_instances(NAME, 4)
    pinned = [TrafficTarget(revision="ranker-a", percent=100)]
    operation = platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b", traffic=pinned)
    clock.pass_seconds(120)
    status = platform.get_operation(str(operation))
    assert status is not None
    assert status.error is not None
    assert "Quota exceeded for total allowable count of GPUs" in status.error
    assert verdict_of(cloud_run).kind is VerdictKind.QUOTA
    assert platform.get_service(RANKER).latest_ready_revision == "ranker-a"


@pytest.mark.parametrize(
    ("outcome", "kind"), [(Outcome.CRASHES, VerdictKind.FAILED_REVISION), (Outcome.IMAGE_MISSING, VerdictKind.REFUSED)]
)
def test_a_bad_template_is_not_mistaken_for_a_quota(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock, outcome: Outcome, kind: VerdictKind
) -> None:
    cloud_run.set_start_up(NAME, outcome=outcome)
    platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b")
    clock.pass_seconds(2_000)
    assert verdict_of(cloud_run).kind is kind
    revision = platform.get_revision(RANKER, "ranker-b")
    assert revision is not None
    assert revision.ready is ReadyState.FAILED


def test_an_etag_that_the_platform_moved_by_itself_is_stale_and_the_next_look_writes(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun
) -> None:
    old = etag_of(platform)
    cloud_run.bump_etag(NAME)
    with pytest.raises(StaleEtag):
        platform.update_service(RANKER, etag=old, serving=BIGGER, revision="ranker-b")
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b") is not None


def test_a_reply_that_is_lost_leaves_the_write_where_it_is_found_by_its_name(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun
) -> None:
    etag = etag_of(platform)
    cloud_run.faults.fail_next("UNAVAILABLE", "connection reset", method="update", applied=True)
    with pytest.raises(Retry):
        platform.update_service(RANKER, etag=etag, serving=BIGGER, revision="ranker-b")
    assert platform.get_revision(RANKER, "ranker-b") is not None
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b") is None


def test_the_template_of_the_revision_that_serves_is_put_back_without_a_new_revision(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.CRASHES)
    pinned = [TrafficTarget(revision="ranker-a", percent=100)]
    platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b", traffic=pinned)
    clock.pass_seconds(60)
    assert platform.restore_template(RANKER, etag=etag_of(platform), revision="ranker-a") is not None
    clock.pass_seconds(60)
    reading = platform.read_service(RANKER)
    assert (reading.observed.ready, reading.observed.latest_ready_revision) == (ReadyState.SUCCEEDED, "ranker-a")
    assert platform.update_service(RANKER, etag=reading.observed.etag, serving=desired()) is None
    assert [each.name.rsplit("/", 1)[-1] for each in cloud_run.list_revisions(NAME)] == ["ranker-b", "ranker-a"]
    assert platform.restore_template(RANKER, etag=etag_of(platform), revision="ranker-a") is None
    with pytest.raises(ServiceMissing):
        platform.restore_template(RANKER, etag=etag_of(platform), revision="ranker-z")


def test_a_revision_of_the_same_template_is_made_again_under_another_name_only_when_asked(
    platform: TemplatePlatform, cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=desired(), revision="ranker-b") is None
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=desired(), revision="ranker-b", again=True) is not None
    assert [each.name.rsplit("/", 1)[-1] for each in cloud_run.list_revisions(NAME)] == ["ranker-b", "ranker-a"]
