"""How a revision of the simulated Cloud Run starts, and what becomes of the service when it does not."""

from typing import Any

import pytest
from google.cloud import run_v2
from hypothesis import given
from hypothesis import strategies as st

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import (
    Behaviour,
    Outcome,
    Start,
    environment_of,
    probe_window_seconds,
    start_of,
)
from shared.simulation.cloud_run_quota import NO_GPUS_LEFT
from tests.support.simulated_service import PARENT, RANKER, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name
State = run_v2.Condition.State
NOT_LISTENING = (
    "The user-provided container failed to start and listen on the port defined provided by the PORT=8500 environment variable "
    "within the allocated timeout."
)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    return with_ranker(clock)


def roll_out(cloud_run: SimulatedCloudRun, *, version: str = "2", probe: dict[str, Any] | None = None) -> str:
    """Write a template of that model version as `ranker-v<version>`; the operation's name."""

    def edit(service: run_v2.Service) -> None:
        service.template.revision = f"ranker-v{version}"
        service.template.containers[0].env = [run_v2.EnvVar(name="MODEL_VERSION", value=version)]
        if probe is not None:
            service.template.containers[0].startup_probe = run_v2.Probe(probe)

    return cloud_run.change_by(NAME, "sam@example.com", edit=edit).name


def test_a_revision_is_ready_after_its_start_up_time(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, seconds=200)
    operation = roll_out(cloud_run)
    clock.pass_seconds(199)
    during = cloud_run.get_service(NAME)
    assert (during.reconciling, during.latest_ready_revision == during.latest_created_revision) == (True, False)
    clock.pass_seconds(1)
    after = cloud_run.get_service(NAME)
    assert (after.reconciling, after.observed_generation, after.generation) == (False, 2, 2)
    assert after.latest_ready_revision == after.latest_created_revision
    assert cloud_run.get_operation(operation).error is None


def test_a_model_that_does_not_load_fails_when_the_default_probe_runs_out(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.DOES_NOT_LOAD)
    operation = roll_out(cloud_run)
    clock.pass_seconds(239)
    assert cloud_run.get_service(NAME).reconciling
    clock.pass_seconds(1)
    service = cloud_run.get_service(NAME)
    assert service.terminal_condition.state == State.CONDITION_FAILED
    assert service.terminal_condition.reason == run_v2.Condition.CommonReason.REVISION_FAILED
    assert service.terminal_condition.message.startswith(f"Revision 'ranker-v2' is not ready and cannot serve traffic. {NOT_LISTENING}")
    error = cloud_run.get_operation(operation).error
    assert error is not None
    assert error.text == service.terminal_condition.message


def test_the_failed_revision_says_why_itself(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.DOES_NOT_LOAD)
    roll_out(cloud_run)
    clock.pass_seconds(240)
    revision = cloud_run.get_revision(f"{NAME}/revisions/ranker-v2")
    failed = {each.type_: each for each in revision.conditions if each.state == State.CONDITION_FAILED}
    assert set(failed) == {"Ready", "ContainerHealthy"}
    assert failed["Ready"].revision_reason == run_v2.Condition.RevisionReason.HEALTH_CHECK_CONTAINER_ERROR
    assert failed["Ready"].message.startswith(NOT_LISTENING)


def test_a_failed_rollout_leaves_the_last_serving_state(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    before = cloud_run.get_service(NAME)
    cloud_run.set_start_up(NAME, outcome=Outcome.DOES_NOT_LOAD)
    roll_out(cloud_run)
    clock.pass_seconds(240)
    after = cloud_run.get_service(NAME)
    assert (after.generation, after.observed_generation, after.reconciling) == (2, 1, False)
    assert after.latest_ready_revision == before.latest_ready_revision
    assert after.latest_created_revision.endswith("ranker-v2")
    assert list(after.traffic_statuses) == list(before.traffic_statuses)
    assert {each.type_: each.state for each in after.conditions} == {
        "ConfigurationsReady": State.CONDITION_FAILED,
        "RoutesReady": State.CONDITION_SUCCEEDED,
    }


def test_a_good_template_mends_a_failed_service(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_behaviour(lambda template: Behaviour(_outcome_of_version(template)))
    roll_out(cloud_run, version="2")
    clock.pass_seconds(240)
    roll_out(cloud_run, version="3")
    clock.pass_seconds(60)
    service = cloud_run.get_service(NAME)
    assert service.terminal_condition.state == State.CONDITION_SUCCEEDED
    assert service.latest_ready_revision.endswith("ranker-v3")
    assert service.observed_generation == service.generation == 3


def _outcome_of_version(template: run_v2.RevisionTemplate) -> Outcome:
    return Outcome.DOES_NOT_LOAD if environment_of(template).get("MODEL_VERSION") == "2" else Outcome.OK


def test_scaling_comes_into_force_while_the_newest_revision_is_a_failed_one(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.CRASHES)
    roll_out(cloud_run)
    clock.pass_seconds(10)
    cloud_run.change_by(NAME, "sam@example.com", max_instance_count=5)
    clock.pass_seconds(5)
    assert cloud_run.in_force(NAME)[-1].max_instance_count == 5
    assert cloud_run.get_service(NAME).terminal_condition.state == State.CONDITION_FAILED


def test_a_scaling_write_does_not_end_a_rollout_early(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    roll_out(cloud_run)
    cloud_run.change_by(NAME, "sam@example.com", max_instance_count=5)
    clock.pass_seconds(5)
    during = cloud_run.get_service(NAME)
    assert during.reconciling
    assert not during.latest_ready_revision.endswith("ranker-v2")
    clock.pass_seconds(55)
    assert cloud_run.get_service(NAME).latest_ready_revision.endswith("ranker-v2")


@pytest.mark.parametrize(
    ("outcome", "seconds", "text"),
    [
        (Outcome.CRASHES, 2, NOT_LISTENING),
        (Outcome.IMAGE_MISSING, 5, f"Image '{gpu_service().template.containers[0].image}' not found."),
        (Outcome.NO_GPU, 5, NO_GPUS_LEFT),
    ],
)
def test_other_starts_fail_soon(cloud_run: SimulatedCloudRun, clock: StandingClock, outcome: Outcome, seconds: int, text: str) -> None:
    cloud_run.set_start_up(NAME, outcome=outcome)
    roll_out(cloud_run)
    clock.pass_seconds(seconds)
    condition = cloud_run.get_service(NAME).terminal_condition
    assert condition.state == State.CONDITION_FAILED
    assert condition.message.startswith(f"Revision 'ranker-v2' is not ready and cannot serve traffic. {text}")


def test_the_reason_of_a_missing_image_is_the_containers(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.IMAGE_MISSING)
    roll_out(cloud_run)
    clock.pass_seconds(5)
    ready = next(each for each in cloud_run.get_revision(f"{NAME}/revisions/ranker-v2").conditions if each.type_ == "Ready")
    assert ready.reason == run_v2.Condition.CommonReason.CONTAINER_MISSING


def test_a_start_that_takes_longer_than_the_probe_waits_fails_when_the_probe_does(
    cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    cloud_run.set_start_up(NAME, seconds=400)
    roll_out(cloud_run, probe={"tcp_socket": {"port": 8500}, "period_seconds": 10, "failure_threshold": 30})
    clock.pass_seconds(299)
    assert cloud_run.get_service(NAME).reconciling
    clock.pass_seconds(1)
    assert cloud_run.get_service(NAME).terminal_condition.state == State.CONDITION_FAILED


def test_googles_gpu_probe_waits_half_an_hour(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, seconds=1_200)
    roll_out(cloud_run, probe={"tcp_socket": {"port": 8500}, "period_seconds": 1, "failure_threshold": 1_800})
    clock.pass_seconds(1_200)
    assert cloud_run.get_service(NAME).terminal_condition.state == State.CONDITION_SUCCEEDED


@pytest.mark.parametrize(
    ("probe", "window"),
    [
        (None, 240),
        ({"tcp_socket": {}}, 30),
        ({"tcp_socket": {}, "period_seconds": 240, "failure_threshold": 1, "timeout_seconds": 240}, 240),
        ({"grpc": {}, "initial_delay_seconds": 20, "period_seconds": 5, "failure_threshold": 4}, 40),
        ({"http_get": {}, "period_seconds": 240, "failure_threshold": 1, "timeout_seconds": 240}, 1),
        ({"http_get": {}, "initial_delay_seconds": 60, "period_seconds": 10, "failure_threshold": 6}, 111),
    ],
)
def test_how_long_a_start_up_probe_waits(probe: dict[str, Any] | None, window: float) -> None:
    template = gpu_service().template
    if probe is not None:
        template.containers[0].startup_probe = run_v2.Probe(probe)
    assert probe_window_seconds(template) == window


def test_a_probe_that_fails_in_the_first_second_fails_the_service_in_it(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    roll_out(cloud_run, probe={"http_get": {"port": 8501}, "period_seconds": 240, "failure_threshold": 1, "timeout_seconds": 240})
    clock.pass_seconds(1)
    assert cloud_run.get_service(NAME).terminal_condition.state == State.CONDITION_FAILED


@given(start_up=st.integers(0, 2_000), threshold=st.integers(1, 200), period=st.integers(1, 20))
def test_a_start_ends_within_the_window_and_well_only_if_it_fits(start_up: int, threshold: int, period: int) -> None:
    template = run_v2.RevisionTemplate(
        containers=[{"startup_probe": {"tcp_socket": {}, "failure_threshold": threshold, "period_seconds": period}}]
    )
    start = start_of(template, Behaviour(start_up_seconds=start_up), usual_seconds=60, provisioning_seconds=5)
    assert start.seconds <= threshold * period
    assert (start.failure is None) == (start_up <= threshold * period)
    if start.failure is None:
        assert start == Start(start_up)


def test_the_first_revision_can_fail_too(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now, behaviour=lambda _template: Behaviour(Outcome.DOES_NOT_LOAD))
    cloud_run.create_service(PARENT, "ranker", gpu_service())
    clock.pass_seconds(240)
    service = cloud_run.get_service(NAME)
    assert service.terminal_condition.state == State.CONDITION_FAILED
    assert (service.latest_ready_revision, list(service.traffic_statuses), service.observed_generation) == ("", [], 0)
    assert cloud_run.in_force(NAME) == ()


def test_an_overtaken_rollout_that_fails_ends_its_own_operation_with_the_error(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_behaviour(lambda template: Behaviour(_outcome_of_version(template)))
    first = roll_out(cloud_run, version="2")
    second = roll_out(cloud_run, version="3")
    clock.pass_seconds(240)
    overtaken, newest = cloud_run.get_operation(first), cloud_run.get_operation(second)
    assert overtaken.error is not None
    assert newest.error is None
    assert cloud_run.get_service(NAME).terminal_condition.state == State.CONDITION_SUCCEEDED


def test_without_instances_in_manual_mode_the_health_check_is_skipped(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    def manual(service: run_v2.Service) -> None:
        service.scaling.scaling_mode = run_v2.ServiceScaling.ScalingMode(2)
        service.scaling.manual_instance_count = 0

    cloud_run.change_by(NAME, "sam@example.com", edit=manual)
    cloud_run.set_start_up(NAME, outcome=Outcome.DOES_NOT_LOAD)
    roll_out(cloud_run)
    clock.pass_seconds(5)
    ready = next(each for each in cloud_run.get_revision(f"{NAME}/revisions/ranker-v2").conditions if each.type_ == "Ready")
    assert (ready.state, ready.revision_reason) == (
        State.CONDITION_SUCCEEDED,
        run_v2.Condition.RevisionReason.HEALTH_CHECK_SKIPPED,
    )
