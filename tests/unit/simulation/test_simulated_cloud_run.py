import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_state import KEPT_OPERATIONS
from tests.support.simulated_service import PARENT, RANKER, START, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name
State = run_v2.Condition.State


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


def mask(*paths: str) -> field_mask_pb2.FieldMask:
    return field_mask_pb2.FieldMask(paths=list(paths))


def scaled(*, etag: str = "", **scaling: Any) -> run_v2.Service:
    return run_v2.Service(name=NAME, etag=etag, scaling=run_v2.ServiceScaling(**scaling))


def raw(service: run_v2.Service) -> bytes:
    message: bytes = run_v2.Service.pb(service).SerializeToString(deterministic=True)
    return message


def refused(cloud_run: SimulatedCloudRun, service: run_v2.Service, *paths: str) -> SimulatedError:
    with pytest.raises(SimulatedError) as caught:
        cloud_run.update_service(service, update_mask=mask(*paths) if paths else None)
    assert not [write for write in cloud_run.write_log if write.principal != "owner@example.com"]
    return caught.value


def test_a_new_service_reconciles_and_becomes_ready(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now, rollout_seconds=60)
    operation = cloud_run.create_service(PARENT, "ranker", gpu_service(), principal="sam@example.com")
    assert not operation.done
    new = cloud_run.get_service(NAME)
    assert (new.generation, new.observed_generation, new.reconciling) == (1, 0, True)
    assert new.terminal_condition.state == State.CONDITION_RECONCILING
    assert (new.creator, new.last_modifier) == ("sam@example.com", "sam@example.com")
    assert cloud_run.in_force(NAME) == ()
    clock.pass_seconds(60)
    ready = cloud_run.get_service(NAME)
    assert (ready.generation, ready.observed_generation, ready.reconciling) == (1, 1, False)
    assert ready.terminal_condition.state == State.CONDITION_SUCCEEDED
    assert ready.latest_ready_revision == ready.latest_created_revision
    assert ready.latest_ready_revision.startswith(f"{NAME}/revisions/ranker-00001-")
    assert ready.etag != new.etag
    assert [status.percent for status in ready.traffic_statuses] == [100]
    assert cloud_run.get_operation(operation.name).done


def test_the_etag_moves_at_the_write_and_again_when_it_comes_into_force(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    first = cloud_run.get_service(NAME)
    cloud_run.update_service(scaled(etag=first.etag, max_instance_count=4), update_mask=mask("scaling.max_instance_count"))
    written = cloud_run.get_service(NAME)
    clock.pass_seconds(5)
    settled = cloud_run.get_service(NAME)
    assert len({first.etag, written.etag, settled.etag}) == 3
    assert int(first.etag) < int(written.etag) < int(settled.etag)
    assert (first.generation, written.generation, settled.generation) == (1, 2, 2)
    assert (written.observed_generation, settled.observed_generation) == (1, 2)


def test_the_bounds_in_force_follow_the_reconciliation(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, low=0, high=3)
    cloud_run.change_by(NAME, "sam@example.com", min_instance_count=2, max_instance_count=5)
    assert len(cloud_run.in_force(NAME)) == 1
    clock.pass_seconds(30)
    history = cloud_run.in_force(NAME)
    assert [(each.min_instance_count, each.max_instance_count) for each in history] == [(0, 3), (2, 5)]
    assert history[1].at == START + timedelta(seconds=5)


def test_a_stale_etag_is_refused_in_googles_words(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    old = cloud_run.get_service(NAME).etag
    new = cloud_run.bump_etag(NAME)
    error = refused(cloud_run, scaled(etag=old, max_instance_count=4), "scaling.max_instance_count")
    assert error.status == "ABORTED"
    assert error.text == f"Conflict for resource 'ranker': version '{old}' was specified but current version is '{new}'."
    assert cloud_run.get_service(NAME).generation == 1


def test_no_etag_means_no_check(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    cloud_run.update_service(scaled(max_instance_count=4), update_mask=mask("scaling.max_instance_count"))
    assert cloud_run.get_service(NAME).scaling.max_instance_count == 4


def test_a_mask_writes_its_fields_and_nothing_else(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, low=1, high=3)
    before = cloud_run.get_service(NAME)
    given = gpu_service(low=0, high=7)
    given.name, given.description = NAME, "something else"
    given.template.max_instance_request_concurrency = 99
    cloud_run.update_service(given, update_mask=mask("scaling.max_instance_count"))
    clock.pass_seconds(60)
    after = cloud_run.get_service(NAME)
    assert after.scaling.max_instance_count == 7
    after.scaling.max_instance_count = 3
    for field in ("generation", "observed_generation", "etag", "update_time", "last_modifier", "terminal_condition"):
        setattr(after, field, getattr(before, field))
    assert raw(after) == raw(before)


def test_unknown_fields_survive_a_masked_write(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    cloud_run.update_service(scaled(max_instance_count=4), update_mask=mask("scaling.max_instance_count"))
    assert raw(cloud_run.get_service(NAME)).count(b"later") == 3


def test_a_replacement_without_a_mask_loses_what_it_does_not_carry(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    replacement = gpu_service(high=2)
    replacement.name, replacement.labels, replacement.creator, replacement.uid = NAME, {}, "nobody@example.com", "mine"
    cloud_run.update_service(replacement)
    after = cloud_run.get_service(NAME)
    assert dict(after.labels) == {}
    assert after.scaling.max_instance_count == 2
    assert after.creator == "owner@example.com"
    assert after.uid != "mine"


def test_a_masked_field_that_is_not_sent_is_cleared(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, low=2, high=3)
    cloud_run.update_service(run_v2.Service(name=NAME), update_mask=mask("scaling.min_instance_count", "description"))
    after = cloud_run.get_service(NAME)
    assert (after.scaling.min_instance_count, after.scaling.max_instance_count, after.description) == (0, 3, "")


def test_a_mask_may_name_output_only_fields_but_they_stay(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    given = scaled(max_instance_count=4)
    given.creator = "nobody@example.com"
    cloud_run.update_service(given, update_mask=mask("creator", "scaling.max_instance_count"))
    assert cloud_run.get_service(NAME).creator == "owner@example.com"


@pytest.mark.parametrize("path", ["scaling.maxInstanceCount", "nothing", "scaling.nothing"])
def test_a_mask_with_an_unknown_path_is_refused(clock: StandingClock, path: str) -> None:
    assert refused(with_ranker(clock), scaled(max_instance_count=4), path).status == "INVALID_ARGUMENT"


def test_only_the_template_makes_revisions(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    first = cloud_run.get_service(NAME).latest_created_revision
    cloud_run.change_by(NAME, "sam@example.com", max_instance_count=5, edit=lambda service: service.labels.update({"a": "b"}))
    assert cloud_run.get_service(NAME).latest_created_revision == first
    cloud_run.change_by(NAME, "sam@example.com", edit=_concurrency_of(8))
    during = cloud_run.get_service(NAME)
    assert during.latest_created_revision != first
    assert during.latest_ready_revision == first
    clock.pass_seconds(60)
    assert cloud_run.get_service(NAME).latest_ready_revision == during.latest_created_revision


def _concurrency_of(number: int) -> Callable[[run_v2.Service], None]:
    def edit(service: run_v2.Service) -> None:
        service.template.max_instance_request_concurrency = number

    return edit


def test_a_revision_name_cannot_be_used_for_another_template(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    service = gpu_service()
    service.template.revision = "ranker-0123456789-1"
    cloud_run.create_service(PARENT, "ranker", service, settled=True)
    changed = cloud_run.get_service(NAME)
    changed.template.max_instance_request_concurrency = 8
    error = refused(cloud_run, changed)
    assert error.status == "ALREADY_EXISTS"
    assert error.text == "Revision named 'ranker-0123456789-1' with different configuration already exists."
    changed.template.revision = "ranker-0123456789-2"
    cloud_run.update_service(changed)
    back = cloud_run.get_service(NAME)
    back.template.revision, back.template.max_instance_request_concurrency = "ranker-0123456789-1", 16
    cloud_run.update_service(back)
    assert cloud_run.get_service(NAME).latest_created_revision.endswith("ranker-0123456789-1")


def test_a_write_without_a_change_keeps_the_generation(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, high=3)
    before = cloud_run.get_service(NAME)
    operation = cloud_run.update_service(scaled(max_instance_count=3), update_mask=mask("scaling.max_instance_count"))
    after = cloud_run.get_service(NAME)
    assert operation.done
    assert (after.generation, after.reconciling) == (before.generation, False)
    assert after.etag != before.etag


@pytest.mark.parametrize(
    ("scaling", "paths", "text"),
    [
        ({"min_instance_count": 4}, ["scaling.min_instance_count"], "must be greater than or equal to min_instance_count"),
        ({"max_instance_count": -1}, ["scaling.max_instance_count"], "must be greater than or equal to zero"),
        ({"min_instance_count": -1}, ["scaling.min_instance_count"], "must be greater than or equal to zero"),
        ({"manual_instance_count": 0}, ["scaling.manual_instance_count"], "scaling mode must be set to MANUAL"),
        ({"manual_instance_count": -1}, ["scaling.manual_instance_count"], "must be greater than or equal to zero"),
    ],
)
def test_scaling_that_cloud_run_refuses(clock: StandingClock, scaling: dict[str, Any], paths: list[str], text: str) -> None:
    cloud_run = with_ranker(clock)
    error = refused(cloud_run, scaled(**scaling), *paths)
    assert error.status == "INVALID_ARGUMENT"
    assert f"Violation in UpdateServiceRequest.service.{paths[0].rsplit('.', 1)[0]}." in error.text
    assert text in error.text


def test_template_scaling_traffic_and_gpus_are_checked_too(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    for change, text in (
        (run_v2.Service(template={"scaling": {"min_instance_count": 2, "max_instance_count": 1}}), "min_instance_count"),
        (run_v2.Service(template={"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}), "GPU can only be set to 1"),
        (run_v2.Service(traffic=[{"percent": 60}]), "should be 100"),
    ):
        change.name = NAME
        assert text in refused(cloud_run, change).text


def test_manual_mode_takes_its_count_in_force(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    manual = run_v2.ServiceScaling.ScalingMode.MANUAL
    given = scaled(scaling_mode=manual, manual_instance_count=0)
    cloud_run.update_service(given, update_mask=mask("scaling.scaling_mode", "scaling.manual_instance_count"))
    clock.pass_seconds(5)
    after = cloud_run.get_service(NAME)
    assert "manual_instance_count" in after.scaling
    assert (cloud_run.in_force(NAME)[-1].min_instance_count, cloud_run.in_force(NAME)[-1].max_instance_count) == (0, 0)


def test_gpu_quota_is_checked_at_request_time_in_googles_words(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3, high=3)
    error = refused(cloud_run, scaled(max_instance_count=10), "scaling.max_instance_count")
    assert error.status == "INVALID_ARGUMENT"
    assert error.text == (
        "scaling.max_instance_count: Max instances must be set to 3 or fewer in order to set GPU requirements.\n"
        "To request quota: g.co/cloudrun/gpu-quota\n"
        "Quota violated:\nNvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 10 allowed: 3"
    )
    cloud_run.set_gpu_quota("acme-ml", "europe-west1", 10)
    cloud_run.update_service(scaled(max_instance_count=10), update_mask=mask("scaling.max_instance_count"))


def test_gpu_quota_counts_one_service_alone_and_the_lower_maximum(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3, high=3)
    cloud_run.create_service(PARENT, "embedder", gpu_service(high=3))
    cloud_run.create_service(PARENT, "unbounded", gpu_service(high=0))
    cloud_run.create_service(PARENT, "capped", gpu_service(high=50, revision_max=2))
    assert [each.name.rsplit("/", 1)[1] for each in cloud_run.list_services(PARENT)] == ["capped", "embedder", "ranker", "unbounded"]


def test_zonal_redundancy_has_a_quota_of_its_own(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock, quota=3)
    with pytest.raises(SimulatedError, match="You do not have quota for using GPUs with zonal redundancy"):
        cloud_run.create_service(PARENT, "safe", gpu_service(high=1, zonal_redundancy=True))
    cloud_run.set_gpu_quota("acme-ml", "europe-west1", 1, zonal_redundancy=True)
    cloud_run.create_service(PARENT, "safe", gpu_service(high=1, zonal_redundancy=True))


def test_validate_only_changes_nothing(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    before = cloud_run.get_service(NAME)
    wanted = scaled(max_instance_count=4)
    operation = cloud_run.update_service(wanted, update_mask=mask("scaling.max_instance_count"), validate_only=True)
    assert operation.service.scaling.max_instance_count == 4
    assert raw(cloud_run.get_service(NAME)) == raw(before)
    assert len(cloud_run.write_log) == 1
    with pytest.raises(SimulatedError, match="NOT_FOUND"):
        cloud_run.get_operation(operation.name)


def test_what_is_not_there(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    text = "Resource 'ranker' of kind 'SERVICE' in region 'europe-west1' in project 'acme-ml' does not exist."
    for call in (lambda: cloud_run.get_service(NAME), lambda: cloud_run.update_service(run_v2.Service(name=NAME))):
        with pytest.raises(SimulatedError) as caught:
            call()
        assert (caught.value.status, caught.value.text) == ("NOT_FOUND", text)
    with pytest.raises(SimulatedError, match="INVALID_ARGUMENT"):
        cloud_run.get_service("services/ranker")
    cloud_run.update_service(_named(gpu_service()), allow_missing=True)
    with pytest.raises(SimulatedError, match="already exists"):
        cloud_run.create_service(PARENT, "ranker", gpu_service())


def _named(service: run_v2.Service) -> run_v2.Service:
    service.name = NAME
    return service


def test_a_newer_write_overtakes_one_under_way(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    first = cloud_run.change_by(NAME, "sam@example.com", max_instance_count=4)
    clock.pass_seconds(3)
    second = cloud_run.change_by(NAME, "sam@example.com", max_instance_count=5)
    clock.pass_seconds(2)
    assert cloud_run.get_operation(first.name).done
    assert cloud_run.get_service(NAME).reconciling
    assert not cloud_run.get_operation(second.name).done
    clock.pass_seconds(3)
    assert cloud_run.get_operation(second.name).done
    service = cloud_run.get_service(NAME)
    assert (service.reconciling, service.observed_generation) == (False, 3)
    assert [each.max_instance_count for each in cloud_run.in_force(NAME)] == [3, 5]


def test_a_reconciliation_can_fail(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    text = "Revision 'x' is not ready and cannot serve traffic. Quota exceeded for total allowable count of GPUs per project per region."
    cloud_run.fail_next_reconciliation(text)
    operation = cloud_run.change_by(NAME, "sam@example.com", edit=_concurrency_of(8))
    clock.pass_seconds(60)
    service = cloud_run.get_service(NAME)
    assert (service.generation, service.observed_generation, service.reconciling) == (2, 1, False)
    assert service.terminal_condition.state == State.CONDITION_FAILED
    assert service.terminal_condition.reason == run_v2.Condition.CommonReason.REVISION_FAILED
    assert service.terminal_condition.message == text
    assert service.latest_ready_revision != service.latest_created_revision
    error = cloud_run.get_operation(operation.name).error
    assert error is not None
    assert error.text == text


def test_the_write_log_names_who_wrote_what(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    given = scaled(max_instance_count=4)
    cloud_run.update_service(given, update_mask=mask("scaling.max_instance_count"), principal="trimtab@example.com")
    cloud_run.change_by(NAME, "sam@example.com", max_instance_count=5)
    assert [(write.mask, write.principal, write.generation) for write in cloud_run.write_log] == [
        ((), "owner@example.com", 1),
        (("scaling.max_instance_count",), "trimtab@example.com", 2),
        ((), "sam@example.com", 3),
    ]
    assert {write.name for write in cloud_run.write_log} == {NAME}


def test_faults_are_used_in_order_and_once(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    cloud_run.faults.fail_next("UNAVAILABLE", "not now", method="get", times=2)
    for _ in range(2):
        with pytest.raises(SimulatedError, match="not now"):
            cloud_run.get_service(NAME)
    assert cloud_run.get_service(NAME).generation == 1


def test_a_lost_reply_is_applied_all_the_same(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    cloud_run.faults.fail_next("UNAVAILABLE", "connection reset", applied=True)
    with pytest.raises(SimulatedError, match="connection reset"):
        cloud_run.update_service(scaled(max_instance_count=4), update_mask=mask("scaling.max_instance_count"))
    assert cloud_run.get_service(NAME).scaling.max_instance_count == 4
    assert len(cloud_run.write_log) == 2


def test_time_and_other_peoples_edits_fit_on_either_side_of_a_write(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    etag = cloud_run.get_service(NAME).etag
    cloud_run.faults.on_next("update", before=lambda: cloud_run.change_by(NAME, "sam@example.com", max_instance_count=2))
    with pytest.raises(SimulatedError, match="ABORTED"):
        cloud_run.update_service(scaled(etag=etag, max_instance_count=4), update_mask=mask("scaling.max_instance_count"))
    cloud_run.faults.on_next("update", after=lambda: clock.pass_seconds(30))
    operation = cloud_run.update_service(scaled(max_instance_count=4), update_mask=mask("scaling.max_instance_count"))
    assert clock.now() == START + timedelta(seconds=30)
    assert cloud_run.get_operation(operation.name).done


def test_answers_are_copies(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    cloud_run.get_service(NAME).scaling.max_instance_count = 99
    assert cloud_run.get_service(NAME).scaling.max_instance_count == 3


def test_old_operations_are_forgotten(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    first = cloud_run.change_by(NAME, "sam@example.com", max_instance_count=2)
    for number in range(KEPT_OPERATIONS):
        cloud_run.change_by(NAME, "sam@example.com", edit=_concurrency_of(100 + number % 2))
    with pytest.raises(SimulatedError, match="NOT_FOUND"):
        cloud_run.get_operation(first.name)
    clock.pass_seconds(60)
    assert not cloud_run.get_service(NAME).reconciling


def test_of_many_writers_with_one_etag_one_wins(clock: StandingClock) -> None:
    cloud_run = with_ranker(clock)
    etag = cloud_run.get_service(NAME).etag
    start = threading.Barrier(8)
    answers: list[str] = []

    def write(number: int) -> None:
        start.wait()
        try:
            cloud_run.update_service(scaled(etag=etag, max_instance_count=number), update_mask=mask("scaling.max_instance_count"))
        except SimulatedError as error:
            answers.append(error.status)
        else:
            answers.append("written")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4, 9)] + [
        threading.Thread(target=write, args=(number,)) for number in range(1, 3 + 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["ABORTED"] * 7 + ["written"]
