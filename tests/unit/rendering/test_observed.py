from fractions import Fraction

import pytest
from google.cloud import run_v2

from shared.cloudrun.quantities import quantity
from shared.records.observed import Bounds, ReadyState, ScalingMode
from shared.rendering.observed import LONG_LIMIT, SHORT_LIMIT, observed_from_service, shape_of
from tests.support.simulated_service import START, gpu_service

State = run_v2.Condition.State


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4", 4),
        ("4000m", 4),
        ("0.5", Fraction(1, 2)),
        (".08", Fraction(8, 100)),
        ("16Gi", 16 * 2**30),
        ("512Mi", 512 * 2**20),
        ("1G", 10**9),
        ("1e3", 1000),
        ("2E-1", Fraction(1, 5)),
        ("1k", 1000),
        (" 8 ", 8),
    ],
)
def test_kubernetes_quantities(text: str, number: int | Fraction) -> None:
    assert quantity(text) == number


@pytest.mark.parametrize("text", ["", "Gi", "four", "-1", "1 Gi", "1Qi", "1e999", "9" * 40, "٤", "1.2.3"])
def test_what_is_no_quantity_is_unknown(text: str) -> None:
    assert quantity(text) is None


def test_an_empty_service_is_zeros_and_defaults() -> None:
    seen = observed_from_service(run_v2.Service(), read_at=START)
    assert seen.bounds == Bounds()
    assert seen.scaling_mode is ScalingMode.AUTOMATIC
    assert seen.manual_instance_count is None
    assert seen.shape.gpu_count == 0
    assert seen.shape.accelerator is None
    assert seen.shape.cpu is None
    assert seen.shape.gpu_zonal_redundancy is True
    assert seen.ready is ReadyState.UNKNOWN
    assert seen.latest_ready_revision == ""
    assert seen.read_at == START


def test_a_gpu_service_is_read_whole() -> None:
    service = gpu_service(low=1, high=3, revision_max=5)
    service.generation, service.observed_generation, service.etag = 7, 6, '"abc"'
    service.reconciling = True
    service.latest_ready_revision = "projects/p/locations/r/services/ranker/revisions/ranker-00003-abc"
    service.last_modifier = "sam@example.com"
    seen = observed_from_service(service, read_at=START)
    assert (seen.generation, seen.observed_generation, seen.etag, seen.reconciling) == (7, 6, '"abc"', True)
    assert seen.bounds == Bounds(min_instance_count=1, max_instance_count=3)
    assert (seen.revision_max_instance_count, seen.revision_min_instance_count, seen.max_in_force) == (5, 0, 3)
    assert seen.shape.accelerator == "nvidia-l4"
    assert (seen.shape.gpu_count, seen.shape.cpu, seen.shape.memory_gib, seen.shape.gpu_zonal_redundancy) == (1, 4.0, 16.0, False)
    assert seen.max_instance_request_concurrency == 16
    assert seen.latest_ready_revision == "ranker-00003-abc"
    assert seen.last_modifier == "sam@example.com"


def test_containers_add_up() -> None:
    template = gpu_service().template
    template.containers.append(run_v2.Container(resources=run_v2.ResourceRequirements(limits={"cpu": "500m", "memory": "512Mi"})))
    shape = shape_of(template)
    assert (shape.cpu, shape.memory_gib, shape.gpu_count) == (4.5, 16.5, 1)


def test_a_container_that_does_not_say_makes_the_sum_unknown() -> None:
    template = gpu_service().template
    template.containers.append(run_v2.Container(name="collector"))
    shape = shape_of(template)
    assert (shape.cpu, shape.memory_gib, shape.gpu_count) == (None, None, 1)
    template.containers[1].resources.limits = {"cpu": "lots", "memory": "1Gi"}
    shape = shape_of(template)
    assert (shape.cpu, shape.memory_gib) == (None, 17.0)


def test_manual_mode_keeps_the_presence_of_its_count() -> None:
    service = run_v2.Service(scaling=run_v2.ServiceScaling(scaling_mode=run_v2.ServiceScaling.ScalingMode.MANUAL, manual_instance_count=0))
    seen = observed_from_service(service, read_at=START)
    assert seen.scaling_mode is ScalingMode.MANUAL
    assert seen.manual_instance_count == 0


@pytest.mark.parametrize(
    ("state", "ready"),
    [
        (State.CONDITION_SUCCEEDED, ReadyState.SUCCEEDED),
        (State.CONDITION_FAILED, ReadyState.FAILED),
        (State.CONDITION_PENDING, ReadyState.PENDING),
        (State.CONDITION_RECONCILING, ReadyState.RECONCILING),
        (State.STATE_UNSPECIFIED, ReadyState.UNKNOWN),
        (9, ReadyState.UNKNOWN),
    ],
)
def test_each_state_of_the_terminal_condition(state: int, ready: ReadyState) -> None:
    service = run_v2.Service(terminal_condition=run_v2.Condition(type_="Ready", state=state))
    assert observed_from_service(service, read_at=START).ready is ready


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (run_v2.Condition(reason=run_v2.Condition.CommonReason.REVISION_FAILED), "REVISION_FAILED"),
        (run_v2.Condition(revision_reason=run_v2.Condition.RevisionReason.HEALTH_CHECK_CONTAINER_ERROR), "HEALTH_CHECK_CONTAINER_ERROR"),
        (run_v2.Condition(reason=99), "99"),
        (run_v2.Condition(), ""),
    ],
)
def test_the_reason_whichever_is_set(condition: run_v2.Condition, reason: str) -> None:
    assert observed_from_service(run_v2.Service(terminal_condition=condition), read_at=START).ready_reason == reason


def test_texts_are_cut_to_the_records_limits() -> None:
    service = run_v2.Service(
        last_modifier="m" * 1_000,
        latest_ready_revision="r" * 1_000,
        terminal_condition=run_v2.Condition(message="x" * 5_000),
        template=run_v2.RevisionTemplate(node_selector=run_v2.NodeSelector(accelerator="a" * 1_000)),
    )
    seen = observed_from_service(service, read_at=START)
    assert len(seen.ready_message) == LONG_LIMIT
    assert len(seen.last_modifier) == len(seen.latest_ready_revision) == SHORT_LIMIT
    assert len(seen.shape.accelerator or "") == SHORT_LIMIT


def test_negative_numbers_of_a_broken_answer_do_not_break_the_reading() -> None:
    service = run_v2.Service(scaling=run_v2.ServiceScaling(min_instance_count=-1, max_instance_count=-5))
    assert observed_from_service(service, read_at=START).bounds == Bounds()
