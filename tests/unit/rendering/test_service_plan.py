"""What a spec would change of a service, and what it costs."""

from typing import Any

import pytest

from shared.records.service import ScaleBounds
from shared.records.serving import DesiredServing
from shared.records.subject import ServiceId
from shared.rendering.messages import service_to_json
from shared.rendering.names import read_revision_name, revision_name
from shared.rendering.service_plan import ServicePlan, cost_of, new_service, plan_service
from tests.support.desired import desired, own_entry, rendered

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
SCALE = ScaleBounds(min_instance_count=1, max_instance_count=10)


def now(**scaling: Any) -> dict[str, Any]:
    """A rendered service with these scaling bounds, its traffic pinned."""
    pinned = [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", "revision": "ranker-1", "percent": 100}]
    document = {**service_to_json(rendered()), "traffic": pinned}
    return {**document, "scaling": scaling} if scaling else document


def plan(document: dict[str, Any] | None, wanted: DesiredServing | None = None, scale: ScaleBounds = SCALE) -> ServicePlan:
    return plan_service(document, wanted or desired(), service=SERVICE, bounds=scale)


def changes(found: ServicePlan) -> dict[str, tuple[Any, Any]]:
    return {each.path: (each.before, each.after) for each in found.differences}


def test_nothing_differs_from_what_was_rendered() -> None:
    found = plan(now())
    assert (found.differences, found.settings, found.revision, found.notes) == ((), (), None, ())


def test_a_template_change_names_the_revision_that_a_write_would_make() -> None:
    found = plan(now(), desired(timeout_seconds=90))
    after = service_to_json(rendered(desired(timeout_seconds=90)))["template"]
    assert found.revision == revision_name("ranker", after)
    assert [(each.setting, each.before, each.after) for each in found.settings] == [("timeout_seconds", 60, 90)]


def test_what_is_not_in_the_template_takes_no_revision() -> None:
    found = plan(now(), desired(ingress="internal"))
    assert (list(changes(found)), found.new_revision) == (["ingress"], False)


@pytest.mark.parametrize(
    ("bounds", "scale", "wanted"),
    [
        pytest.param({"minInstanceCount": 1, "maxInstanceCount": 4}, (1, 10), {}, id="inside: decisions move them"),
        pytest.param({"minInstanceCount": 3, "maxInstanceCount": 10}, (1, 10), {}, id="at the limit"),
        pytest.param({"minInstanceCount": 1}, (1, 10), {}, id="no maximum, the revision's is in force"),
        pytest.param({"maxInstanceCount": 4}, (1, 10), {"scaling.minInstanceCount": (None, 1)}, id="below the minimum"),
        pytest.param({"minInstanceCount": 12, "maxInstanceCount": 12}, (1, 10), {"scaling.minInstanceCount": (12, 10)}, id="min above"),
        pytest.param(
            {"minInstanceCount": 2, "maxInstanceCount": 2},
            (3, 10),
            {"scaling.minInstanceCount": (2, 3), "scaling.maxInstanceCount": (2, 3)},
            id="max below the min",
        ),
    ],
)  # fmt: skip
def test_bounds_differ_only_where_they_are_outside_the_specs(
    bounds: dict[str, int], scale: tuple[int, int], wanted: dict[str, tuple[int | None, int]]
) -> None:
    found = plan(now(**bounds), scale=ScaleBounds(min_instance_count=scale[0], max_instance_count=scale[1]))
    assert changes(found) == wanted
    assert found.revision is None
    assert bool(found.notes) == bool(wanted)


def test_an_owners_template_that_allows_too_many_is_bounded_by_the_service() -> None:
    document = service_to_json(rendered(own_entry(max_instance_count=None)))
    document["scaling"] = {}
    found = plan(document, own_entry(max_instance_count=None), ScaleBounds(max_instance_count=6))
    assert changes(found) == {"scaling.maxInstanceCount": (None, 6)}
    assert found.notes == (
        "the scaling bounds in force, 0 to 100, are outside the spec's 0 to 6; inside them they move by decisions, not with the spec",
    )


def test_manual_scaling_is_left_and_costs_what_runs() -> None:
    found = plan(now(scalingMode="MANUAL", manualInstanceCount=3))
    assert found.differences == ()
    assert (found.then.min_instances, found.then.max_instances) == (3, 3)
    assert "scaling is manual, 3 instances" in found.notes[0]


def test_a_new_service_is_all_of_it_with_the_specs_bounds_and_no_traffic() -> None:
    found = plan(None)
    wanted = changes(found)
    assert all(before is None for before, _ in wanted.values())
    assert wanted["scaling.maxInstanceCount"] == (None, 10)
    assert wanted["template.timeout"] == (None, 60)
    assert not [path for path in wanted if path.startswith("traffic") and path != "traffic.percent.LATEST"]
    assert found.now is None
    assert found.revision is not None
    assert read_revision_name(found.revision) is not None


def test_traffic_that_follows_the_latest_revision_is_warned_of_where_a_revision_comes() -> None:
    document = {**now(), "traffic": []}
    assert plan(document).notes == ()
    assert "pin it first" in plan(document, desired(timeout_seconds=90)).notes[0]


def test_taking_the_command_over_is_told_in_cloud_runs_words_only() -> None:
    found = plan(service_to_json(rendered(own_entry())))
    assert found.settings == ()
    assert "template.containers[(serving)].command" in changes(found)


def test_keys_that_the_client_does_not_know_are_no_difference() -> None:
    document = now()
    document["template"]["sshEnabled"] = True
    found = plan(document, desired(timeout_seconds=90))
    assert set(changes(found)) == {"template.timeout", "template.containers[(serving)].args"}


def test_what_an_instance_costs_follows_its_shape_and_the_bounds() -> None:
    cost = cost_of(service_to_json(rendered(desired(metrics_sidecar=False))), "europe-west1")
    assert cost.usd_per_instance == pytest.approx((0.0001867 + 4 * 0.000018 + 16 * 0.000002) * 3_600)
    assert cost.usd_at_min == pytest.approx(cost.usd_per_instance)
    assert cost.usd_at_max == pytest.approx(4 * (cost.usd_per_instance or 0))


@pytest.mark.parametrize(
    ("changed", "region", "why"),
    [
        ({}, "asia-southeast1", "prices of asia-southeast1 are not in the published table"),
        ({"accelerator": "nvidia-b9000"}, "europe-west1", "nvidia-b9000 is not in the published table"),
    ],
)
def test_a_price_that_is_not_known_is_unknown_with_the_reason(changed: dict[str, Any], region: str, why: str) -> None:
    cost = cost_of(service_to_json(rendered(desired(**changed))), region)
    assert (cost.usd_per_instance, cost.usd_at_min, cost.usd_at_max, cost.unknown) == (None, None, None, why)


def test_without_a_gpu_too_an_instance_has_its_price_while_it_is_billed_as_one() -> None:
    document = service_to_json(rendered(desired(accelerator=None, gpu_zonal_redundancy=None, metrics_sidecar=False)))
    assert cost_of(document, "europe-west1").usd_per_instance == pytest.approx((4 * 0.000018 + 16 * 0.000002) * 3_600)
    document["template"]["containers"][0]["resources"]["cpuIdle"] = True
    found = cost_of(document, "europe-west1")
    assert (found.usd_per_instance, found.unknown) == (None, "the CPU is billed by the request, so the price hangs on the traffic")


def test_a_scale_that_changes_is_told_in_the_specs_words_once_with_both_ends() -> None:
    found = plan(
        now(minInstanceCount=1, maxInstanceCount=4),
        desired(max_instance_count=12),
        ScaleBounds(min_instance_count=2, max_instance_count=12),
    )
    assert [(each.setting, each.before, each.after) for each in found.settings] == [
        ("scale.min_instance_count", 1, 2),
        ("scale.max_instance_count", 10, 12),
    ]


def test_what_decisions_may_raise_the_service_to_has_its_price_beside_what_is_in_force() -> None:
    found = plan(now(minInstanceCount=1, maxInstanceCount=4), desired(max_instance_count=12), ScaleBounds(max_instance_count=12))
    price = found.then.usd_per_instance or 0
    assert (found.then.max_instances, found.then.allowed_instances) == (4, 12)
    assert found.then.usd_when_all_allowed == pytest.approx(12 * price)
    kept = plan(now(maxInstanceCount=4), own_entry(max_instance_count=None), ScaleBounds(max_instance_count=12))
    assert kept.then.allowed_instances == 10  # the kept template's own maximum


def test_limits_are_named_as_cloud_run_has_them() -> None:
    found = changes(plan(now(), desired(cpu="8", memory="32Gi")))
    assert found["template.containers[(serving)].resources.limits.cpu"] == ("4", "8")
    assert found["template.containers[(serving)].resources.limits.memory"] == ("16Gi", "32Gi")
    assert "template.containers[(serving)].resources.limits.nvidia.com/gpu" in changes(plan(None))
    assert "template.containers[(serving)].resources.startupCpuBoost" in changes(plan(None))


def test_a_container_without_a_size_makes_the_price_unknown() -> None:
    document = service_to_json(rendered())
    document["template"]["containers"].append({"name": "helper", "image": "helper:1"})
    assert cost_of(document, "europe-west1").unknown == "not every container states its CPU and memory"


def test_a_new_services_bounds_are_the_specs() -> None:
    assert new_service(SERVICE, desired(), SCALE)["scaling"] == {"minInstanceCount": 1, "maxInstanceCount": 10}
