"""The `Platform` port on the simulated Cloud Run, in process: templates, traffic and revisions."""

import pytest

from shared.errors import Refused, RevisionNameTaken, ServiceMissing, StaleEtag
from shared.records.observed import ReadyState
from shared.records.serving import TrafficTarget
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Outcome
from shared.simulation.platform import TRIMTAB, SimulatedPlatform
from tests.support.desired import desired, rendered
from tests.support.simulated_service import PARENT, RANKER, StandingClock

NAME = RANKER.resource_name
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


@pytest.fixture
def platform(cloud_run: SimulatedCloudRun, clock: StandingClock) -> SimulatedPlatform:
    return SimulatedPlatform(cloud_run, now=clock.now)


def etag_of(platform: SimulatedPlatform) -> str:
    return platform.get_service(RANKER).etag


def test_what_the_server_fills_in_is_no_difference(platform: SimulatedPlatform, cloud_run: SimulatedCloudRun) -> None:
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=desired()) is None
    assert len(cloud_run.write_log) == 1


def test_a_template_and_its_traffic_are_one_write(platform: SimulatedPlatform, cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
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


def test_set_points_that_the_client_has_no_field_for_are_written_and_read(
    platform: SimulatedPlatform, cloud_run: SimulatedCloudRun
) -> None:
    wanted = desired(set_points={"cpu_utilization": 0.9, "concurrency_utilization": 0.7})
    platform.update_service(RANKER, etag=etag_of(platform), serving=wanted, revision="ranker-b")
    scaling = platform.read_service(RANKER).document["template"]["scaling"]
    assert (scaling["cpuUtilization"], scaling["concurrencyUtilization"]) == (0.9, 0.7)
    assert platform.update_service(RANKER, etag=etag_of(platform), serving=wanted) is None


def test_validating_alone_writes_nothing(platform: SimulatedPlatform, cloud_run: SimulatedCloudRun) -> None:
    platform.update_service(RANKER, etag=etag_of(platform), serving=BIGGER, revision="ranker-b", validate_only=True)
    assert len(cloud_run.list_revisions(NAME)) == 1


def test_a_revision_is_read_by_its_short_name(platform: SimulatedPlatform, cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
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


def test_refusals_of_a_template_write_are_told_apart(platform: SimulatedPlatform, cloud_run: SimulatedCloudRun) -> None:
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
