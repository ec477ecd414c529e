"""Revisions of the simulated Cloud Run: when they are made, how they are named and shown, which may be deleted."""

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import run_v2

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from tests.support.simulated_service import PARENT, RANKER, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name
State = run_v2.Condition.State
Reasons = run_v2.Condition.RevisionReason


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    return with_ranker(clock)


def named(revision: str, *, concurrency: int = 16) -> Callable[[run_v2.Service], None]:
    def edit(service: run_v2.Service) -> None:
        service.template.revision = revision
        service.template.max_instance_request_concurrency = concurrency

    return edit


def conditions(revision: run_v2.Revision) -> dict[str, tuple[Any, Any]]:
    return {each.type_: (each.state, each.revision_reason) for each in revision.conditions}


def refused(work: Callable[[], object]) -> SimulatedError:
    with pytest.raises(SimulatedError) as caught:
        work()
    return caught.value


def test_a_revision_carries_its_template_and_who_made_it(cloud_run: SimulatedCloudRun) -> None:
    (revision,) = cloud_run.list_revisions(NAME)
    assert revision.name == cloud_run.get_service(NAME).latest_created_revision
    assert revision.containers[0].image == gpu_service().template.containers[0].image
    assert (revision.max_instance_request_concurrency, revision.node_selector.accelerator) == (16, "nvidia-l4")
    assert "gpu_zonal_redundancy_disabled" in revision
    assert (revision.creator, revision.service, revision.generation) == ("owner@example.com", "ranker", 1)
    assert revision.etag
    assert revision.uid


def test_a_new_revision_reconciles_and_then_passes_every_check(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    starting = cloud_run.get_revision(f"{NAME}/revisions/ranker-b-1")
    assert (starting.reconciling, starting.observed_generation) == (True, 0)
    assert conditions(starting)["Ready"][0] == State.CONDITION_RECONCILING
    clock.pass_seconds(60)
    ready = cloud_run.get_revision(f"{NAME}/revisions/ranker-b-1")
    assert (ready.reconciling, ready.observed_generation, ready.creator) == (False, 1, "sam@example.com")
    assert {kind: state for kind, (state, _) in conditions(ready).items()} == dict.fromkeys(
        ("Ready", "Active", "ContainerHealthy", "ContainerReady", "ResourcesAvailable"), State.CONDITION_SUCCEEDED
    )


def test_a_revision_without_traffic_is_retired_and_still_ready(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    first = cloud_run.get_service(NAME).latest_created_revision
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    clock.pass_seconds(60)
    seen = conditions(cloud_run.get_revision(first))
    assert seen["Ready"] == (State.CONDITION_SUCCEEDED, Reasons.RETIRED)
    assert seen["Active"] == (State.CONDITION_FAILED, Reasons.RETIRED)


def test_a_serving_revision_says_how_many_instances_it_keeps_warm(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, low=2)
    (revision,) = cloud_run.list_revisions(NAME)
    assert revision.scaling_status.desired_min_instance_count == 2


def test_revisions_are_listed_newest_first(cloud_run: SimulatedCloudRun) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-c-1", concurrency=4))
    assert [each.name.rsplit("/", 1)[1] for each in cloud_run.list_revisions(NAME)][:2] == ["ranker-c-1", "ranker-b-1"]


def test_the_same_template_under_the_same_name_makes_no_revision(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    clock.pass_seconds(60)
    cloud_run.change_by(NAME, "sam@example.com", max_instance_count=2)
    assert len(cloud_run.list_revisions(NAME)) == 2


def test_a_taken_name_with_another_template_is_refused(cloud_run: SimulatedCloudRun) -> None:
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    error = refused(lambda: cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=9)))
    assert (error.status, error.text) == (
        "ALREADY_EXISTS",
        "Revision named 'ranker-b-1' with different configuration already exists.",
    )
    assert len(cloud_run.list_revisions(NAME)) == 2


def test_validate_only_makes_no_revision(cloud_run: SimulatedCloudRun) -> None:
    wanted = cloud_run.get_service(NAME)
    named("ranker-b-1")(wanted)
    cloud_run.update_service(wanted, validate_only=True)
    assert len(cloud_run.list_revisions(NAME)) == 1


@pytest.mark.parametrize(
    ("revision", "text"),
    [
        ("other-1", "must be prefixed by the name of the enclosing"),
        ("ranker", "must be prefixed by the name of the enclosing"),
        ("ranker-" + "x" * 57, "at most 63 characters"),
        ("ranker-Big", "RFC 1123"),
        ("ranker-", "RFC 1123"),
    ],
)
def test_names_a_revision_may_not_have(cloud_run: SimulatedCloudRun, revision: str, text: str) -> None:
    error = refused(lambda: cloud_run.change_by(NAME, "sam@example.com", edit=named(revision)))
    assert error.status == "INVALID_ARGUMENT"
    assert "template.revision" in error.text
    assert text in error.text


def test_a_revisions_name_may_have_63_characters(cloud_run: SimulatedCloudRun) -> None:
    longest = "ranker-" + "x" * 56
    cloud_run.change_by(NAME, "sam@example.com", edit=named(longest))
    assert cloud_run.get_service(NAME).latest_created_revision.endswith(longest)


def test_a_retired_revision_can_be_deleted(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    first = cloud_run.get_service(NAME).latest_created_revision
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    clock.pass_seconds(60)
    operation = cloud_run.delete_revision(first)
    assert cloud_run.get_operation(operation.name).done
    assert operation.revision is not None
    assert operation.revision.name == first
    assert refused(lambda: cloud_run.get_revision(first)).status == "NOT_FOUND"


def test_a_revision_that_serves_or_is_the_newest_cannot_be_deleted(cloud_run: SimulatedCloudRun) -> None:
    first = cloud_run.get_service(NAME).latest_created_revision
    cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    serving = refused(lambda: cloud_run.delete_revision(first))
    newest = refused(lambda: cloud_run.delete_revision(f"{NAME}/revisions/ranker-b-1"))
    assert (serving.status, newest.status) == ("FAILED_PRECONDITION", "FAILED_PRECONDITION")
    assert "can receive traffic" in serving.text
    assert "latest created revision" in newest.text
    assert len(cloud_run.list_revisions(NAME)) == 2


def test_a_deleted_service_is_gone_with_its_revisions(cloud_run: SimulatedCloudRun) -> None:
    stale = refused(lambda: cloud_run.delete_service(NAME, etag="1"))
    assert stale.status == "ABORTED"
    cloud_run.delete_service(NAME, validate_only=True)
    assert cloud_run.get_service(NAME).name == NAME
    operation = cloud_run.delete_service(NAME, etag=cloud_run.get_service(NAME).etag)
    assert refused(lambda: cloud_run.get_service(NAME)).status == "NOT_FOUND"
    assert refused(lambda: cloud_run.list_revisions(NAME)).status == "NOT_FOUND"
    assert cloud_run.get_operation(operation.name).service.name == NAME
    cloud_run.create_service(PARENT, "ranker", gpu_service())


def test_a_rollout_under_way_ends_with_the_service(cloud_run: SimulatedCloudRun) -> None:
    rollout = cloud_run.change_by(NAME, "sam@example.com", edit=named("ranker-b-1", concurrency=8))
    cloud_run.delete_service(NAME)
    ended = cloud_run.get_operation(rollout.name)
    assert ended.done
    assert ended.error is not None
    assert ended.error.status == "NOT_FOUND"


def test_what_is_no_revision(cloud_run: SimulatedCloudRun) -> None:
    missing = refused(lambda: cloud_run.get_revision(f"{NAME}/revisions/ranker-x"))
    assert missing.text == ("Resource 'ranker-x' of kind 'REVISION' in region 'europe-west1' in project 'acme-ml' does not exist.")
    assert refused(lambda: cloud_run.get_revision(NAME)).status == "INVALID_ARGUMENT"
