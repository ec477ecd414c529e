"""Whatever is written and however rollouts end: what always holds of a service of the simulated Cloud Run."""

from dataclasses import dataclass

from google.cloud import run_v2
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from tests.support.simulated_service import RANKER, StandingClock, with_ranker

NAME = RANKER.resource_name
State = run_v2.Condition.State
REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION


@dataclass(frozen=True)
class Step:
    """Perhaps a new template (whose start ends so), perhaps a new maximum, perhaps traffic to the newest; then time passes."""

    outcome: Outcome | None
    start_up_seconds: int
    max_instance_count: int | None
    pin_to_newest: bool
    pass_seconds: int


steps = st.lists(
    st.builds(
        Step,
        outcome=st.none() | st.sampled_from(list(Outcome)),
        start_up_seconds=st.integers(0, 300),
        max_instance_count=st.none() | st.integers(1, 8),
        pin_to_newest=st.booleans(),
        pass_seconds=st.integers(0, 300),
    ),
    min_size=1,
    max_size=6,
)


def take(cloud_run: SimulatedCloudRun, clock: StandingClock, number: int, step: Step) -> str:
    """Write the step. Returns the operation's name."""
    outcome = step.outcome
    if outcome is not None:
        cloud_run.set_behaviour(lambda _template: Behaviour(outcome, step.start_up_seconds))

    def edit(service: run_v2.Service) -> None:
        if outcome is not None:
            service.template.revision, service.template.max_instance_request_concurrency = f"ranker-s{number}", 20 + number
        if step.pin_to_newest:
            newest = service.template.revision or service.latest_created_revision.rsplit("/", 1)[1]
            service.traffic = [run_v2.TrafficTarget(type_=REVISION, revision=newest, percent=100)]

    operation = cloud_run.change_by(NAME, "sam@example.com", max_instance_count=step.max_instance_count, edit=edit)
    clock.pass_seconds(step.pass_seconds)
    return operation.name


@settings(max_examples=60, deadline=None)
@given(taken=steps)
def test_traffic_is_whole_and_on_ready_revisions_at_every_moment(taken: list[Step]) -> None:
    clock = StandingClock()
    cloud_run = with_ranker(clock)
    for number, step in enumerate(taken):
        take(cloud_run, clock, number, step)
        service = cloud_run.get_service(NAME)
        assert sum(status.percent for status in service.traffic_statuses) == 100
        serving = {f"{NAME}/revisions/{each.revision}" for each in service.traffic_statuses if each.revision}
        for name in {service.latest_ready_revision, *serving}:
            ready = next(each for each in cloud_run.get_revision(name).conditions if each.type_ == "Ready")
            assert ready.state == State.CONDITION_SUCCEEDED


@settings(max_examples=60, deadline=None)
@given(taken=steps)
def test_in_the_end_every_operation_is_done_and_the_service_says_how_it_stands(taken: list[Step]) -> None:
    clock = StandingClock()
    cloud_run = with_ranker(clock)
    operations = [take(cloud_run, clock, number, step) for number, step in enumerate(taken)]
    clock.pass_seconds(1_000)
    assert all(cloud_run.get_operation(name).done for name in operations)
    service = cloud_run.get_service(NAME)
    assert not service.reconciling
    assert service.observed_generation <= service.generation
    if service.terminal_condition.state == State.CONDITION_SUCCEEDED:
        assert service.observed_generation == service.generation
        assert service.latest_ready_revision == service.latest_created_revision
        assert [(each.revision, each.percent) for each in service.traffic] == [
            (each.revision, each.percent) for each in service.traffic_statuses
        ]
    else:
        assert service.terminal_condition.state == State.CONDITION_FAILED
        assert "is not ready and cannot serve traffic" in service.terminal_condition.message
        assert service.observed_generation < service.generation


@settings(max_examples=40, deadline=None)
@given(taken=steps)
def test_looking_more_often_changes_nothing(taken: list[Step]) -> None:
    seldom_clock, often_clock = StandingClock(), StandingClock()
    seldom, often = with_ranker(seldom_clock), with_ranker(often_clock)
    for number, step in enumerate(taken):
        take(seldom, seldom_clock, number, step)
        take(often, often_clock, number, Step(step.outcome, step.start_up_seconds, step.max_instance_count, step.pin_to_newest, 0))
        for _ in range(step.pass_seconds // 20):
            often_clock.pass_seconds(20)
            often.get_service(NAME)
        often_clock.pass_seconds(step.pass_seconds % 20)
    assert _without_versions(often) == _without_versions(seldom)
    assert often.in_force(NAME) == seldom.in_force(NAME)


def _without_versions(cloud_run: SimulatedCloudRun) -> bytes:
    service = cloud_run.get_service(NAME)
    service.etag = ""
    written: bytes = run_v2.Service.serialize(service)
    return written
