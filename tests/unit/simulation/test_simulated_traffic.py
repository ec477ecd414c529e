"""Traffic of the simulated Cloud Run: who gets it, when it is routed, and what cannot be routed."""

from collections import Counter
from collections.abc import Callable

import pytest
from google.cloud import run_v2
from hypothesis import given
from hypothesis import strategies as st

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Outcome
from shared.simulation.cloud_run_traffic import Share, revision_for
from tests.support.simulated_service import PARENT, RANKER, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name
State = run_v2.Condition.State
LATEST = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST
REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
Target = tuple[str, int, str]


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    """The service with all its traffic pinned to `ranker-a`."""
    made = SimulatedCloudRun(now=clock.now)
    made.set_gpu_quota("acme-ml", "europe-west1", 8)
    service = gpu_service()
    service.template.revision = "ranker-a"
    routed(("ranker-a", 100, ""))(service)
    made.create_service(PARENT, "ranker", service, settled=True)
    return made


def routed(*targets: Target, concurrency: int | None = None, revision: str = "") -> Callable[[run_v2.Service], None]:
    def edit(service: run_v2.Service) -> None:
        service.traffic = [
            run_v2.TrafficTarget(type_=REVISION if name else LATEST, revision=name, percent=percent, tag=tag)
            for name, percent, tag in targets
        ]
        if concurrency is not None:
            service.template.max_instance_request_concurrency = concurrency
            service.template.revision = revision

    return edit


def statuses(service: run_v2.Service) -> list[Target]:
    return [(each.revision, each.percent, each.tag) for each in service.traffic_statuses]


def test_pinned_traffic_gives_a_new_revision_nothing(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    def retune(service: run_v2.Service) -> None:
        service.template.revision, service.template.max_instance_request_concurrency = "ranker-b", 8

    cloud_run.change_by(NAME, "sam@example.com", edit=retune)
    clock.pass_seconds(60)
    service = cloud_run.get_service(NAME)
    assert service.latest_ready_revision.endswith("ranker-b")
    assert statuses(service) == [("ranker-a", 100, "")]


def test_a_canary_is_routed_together_with_its_template(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    edit = routed(("ranker-a", 90, ""), ("ranker-b", 10, "canary"), concurrency=8, revision="ranker-b")
    cloud_run.change_by(NAME, "sam@example.com", edit=edit)
    assert statuses(cloud_run.get_service(NAME)) == [("ranker-a", 100, "")]
    clock.pass_seconds(60)
    service = cloud_run.get_service(NAME)
    assert statuses(service) == [("ranker-a", 90, ""), ("ranker-b", 10, "canary")]
    assert service.traffic_statuses[1].uri == "https://canary---ranker-simulated.europe-west1.run.app"
    assert service.traffic_statuses[0].uri == ""


def test_a_traffic_change_makes_no_revision_and_takes_a_while(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=routed(("ranker-a", 100, "stable")))
    assert statuses(cloud_run.get_service(NAME)) == [("ranker-a", 100, "")]
    clock.pass_seconds(5)
    assert statuses(cloud_run.get_service(NAME)) == [("ranker-a", 100, "stable")]
    assert len(cloud_run.list_revisions(NAME)) == 1


def test_no_traffic_at_all_means_the_latest_ready_revision(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=routed())
    clock.pass_seconds(5)
    (status,) = cloud_run.get_service(NAME).traffic_statuses
    assert (status.type_, status.revision, status.percent) == (LATEST, "", 100)


def test_a_tag_may_stand_on_a_revision_without_traffic(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    edit = routed(("ranker-a", 100, ""), ("ranker-b", 0, "next"), concurrency=8, revision="ranker-b")
    cloud_run.change_by(NAME, "sam@example.com", edit=edit)
    clock.pass_seconds(60)
    active = next(each for each in cloud_run.get_revision(f"{NAME}/revisions/ranker-b").conditions if each.type_ == "Active")
    assert active.revision_reason == run_v2.Condition.RevisionReason.RESERVE


def test_traffic_to_a_revision_that_is_not_there_fails_at_the_end_of_the_wait(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    operation = cloud_run.change_by(NAME, "sam@example.com", edit=routed(("ranker-a", 50, ""), ("ranker-z", 50, "")))
    clock.pass_seconds(5)
    error = cloud_run.get_operation(operation.name).error
    assert error is not None
    assert error.text == ("Revision 'ranker-z' does not exist or is deleted. Update all traffic to route to currently available revisions.")
    service = cloud_run.get_service(NAME)
    assert service.terminal_condition.state == State.CONDITION_FAILED
    assert statuses(service) == [("ranker-a", 100, "")]
    assert {each.type_: each.state for each in service.conditions}["RoutesReady"] == State.CONDITION_FAILED


def test_traffic_to_a_revision_that_failed_to_start_is_not_routed(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.DOES_NOT_LOAD)
    edit = routed(("ranker-a", 90, ""), ("ranker-b", 10, ""), concurrency=8, revision="ranker-b")
    cloud_run.change_by(NAME, "sam@example.com", edit=edit)
    clock.pass_seconds(240)
    service = cloud_run.get_service(NAME)
    assert service.terminal_condition.message.startswith("Revision 'ranker-b' is not ready and cannot serve traffic. The user-provided")
    assert statuses(service) == [("ranker-a", 100, "")]
    assert {each.state for each in service.conditions} == {State.CONDITION_FAILED}


def test_going_back_is_traffic_and_the_old_template_in_one_write(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=routed(("ranker-b", 100, ""), concurrency=8, revision="ranker-b"))
    clock.pass_seconds(60)
    cloud_run.change_by(NAME, "sam@example.com", edit=routed(("ranker-a", 100, ""), concurrency=16, revision="ranker-a"))
    clock.pass_seconds(5)
    service = cloud_run.get_service(NAME)
    assert statuses(service) == [("ranker-a", 100, "")]
    assert service.latest_ready_revision.endswith("ranker-a")
    assert (service.terminal_condition.state, service.observed_generation) == (State.CONDITION_SUCCEEDED, 3)
    assert len(cloud_run.list_revisions(NAME)) == 2


def test_bounds_of_the_serving_revisions_count_with_those_of_the_service(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, high=7, revision_max=3)
    assert cloud_run.in_force(NAME)[-1].max_instance_count == 3

    def split(service: run_v2.Service) -> None:
        old = service.latest_created_revision.rsplit("/", 1)[1]
        routed((old, 50, ""), ("ranker-b", 50, ""), concurrency=8, revision="ranker-b")(service)

    cloud_run.change_by(NAME, "sam@example.com", edit=split)
    clock.pass_seconds(60)
    assert cloud_run.in_force(NAME)[-1].max_instance_count == 6


@given(percents=st.lists(st.integers(1, 100), min_size=1, max_size=6))
def test_of_a_hundred_requests_each_revision_gets_its_percent(percents: list[int]) -> None:
    whole = sum(percents)
    scaled = [each * 100 // whole for each in percents]
    scaled[0] += 100 - sum(scaled)
    shares = [Share(f"r{index}", percent, "", latest=False) for index, percent in enumerate(scaled)]
    seen = Counter(revision_for(shares, number) for number in range(100))
    assert {share.revision: share.percent for share in shares if share.percent} == dict(seen)


def test_nothing_is_served_where_nothing_is_routed() -> None:
    assert revision_for([], 7) is None
