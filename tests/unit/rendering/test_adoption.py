"""The spec that keeps a service as it is: its scale, its kind, its traffic."""

from typing import Any

import pytest

from shared.records.desired import desired_serving
from shared.records.serving import TrafficTarget
from shared.records.subject import ServiceId
from shared.rendering.adoption import adopted, pin_command, pinned_traffic
from shared.rendering.document import read_document
from shared.rendering.messages import service_to_json
from shared.rendering.reading import UnreadableServiceError
from shared.rendering.service_plan import plan_service
from tests.support.desired import desired, rendered

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
REVISION = f"{SERVICE.resource_name}/revisions/ranker-00002-bbb"
LATEST = {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"}


def service(*, scaling: dict[str, Any] | None = None, template: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    containers = [{"image": "app:1", "args": ["--port=8500"]}]
    return {"name": SERVICE.resource_name, "scaling": scaling or {}, "template": {"containers": containers, **(template or {})}, **fields}


def scale(**parts: Any) -> tuple[int, int]:
    found = adopted(service(**parts), SERVICE).spec.scale
    return found.min_instance_count, found.max_instance_count


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        pytest.param({}, (0, 100), id="Cloud Run's default"),
        pytest.param({"scaling": {"minInstanceCount": 2, "maxInstanceCount": 7}}, (2, 7), id="the service's bounds"),
        pytest.param({"template": {"scaling": {"minInstanceCount": 1, "maxInstanceCount": 5}}}, (0, 5), id="the revision's maximum"),
        pytest.param({"scaling": {"maxInstanceCount": 9}, "template": {"scaling": {"maxInstanceCount": 5}}}, (0, 5), id="the lower one"),
        pytest.param({"scaling": {"minInstanceCount": 6}, "template": {"scaling": {"maxInstanceCount": 5}}}, (5, 6), id="min above max"),
        pytest.param({"scaling": {"scalingMode": "MANUAL", "manualInstanceCount": 3}}, (3, 3), id="manual"),
        pytest.param({"scaling": {"scalingMode": "MANUAL", "manualInstanceCount": 0}}, (0, 1), id="manual, nothing"),
    ],
)
def test_the_scale_is_what_is_in_force(parts: dict[str, Any], wanted: tuple[int, int]) -> None:
    assert scale(**parts) == wanted


def test_more_instances_than_a_spec_can_say_are_refused_with_the_limit() -> None:
    with pytest.raises(UnreadableServiceError, match="2000 instances are allowed: a spec's scale goes up to 1000"):
        scale(scaling={"maxInstanceCount": 2_000})


def test_a_rendered_service_comes_back_as_what_it_was_rendered_from() -> None:
    wanted = desired(set_points={"cpu_utilization": "disabled", "concurrency_utilization": 0.5}, batching=None)
    document = service_to_json(rendered(wanted), set_points=wanted.set_points)
    found = adopted(document, SERVICE).spec
    assert desired_serving(found) == wanted
    assert (found.scale.min_instance_count, found.scale.max_instance_count) == (1, 10)


def test_a_rendered_service_without_the_revisions_maximum_is_kept_as_the_owners() -> None:
    document = service_to_json(rendered())
    del document["template"]["scaling"]
    found = adopted(document, SERVICE).spec
    assert found.serving is not None
    assert found.serving.own_entry is not None
    assert desired_serving(found).max_instance_count is None


def test_a_rendered_service_without_a_number_of_batching_is_kept_as_the_owners() -> None:
    # A spec cannot say "TF Serving's own default": what is left out there follows from the rest.
    document = service_to_json(rendered(desired(batching={"max_batch_size": 32})))
    found = adopted(document, SERVICE).spec
    assert found.serving is not None
    assert found.serving.own_entry is not None
    assert plan_service(document, desired_serving(found), service=SERVICE, bounds=found.scale).differences == ()


def test_a_rendered_service_whose_minimum_is_above_its_revisions_maximum_is_kept_as_the_owners() -> None:
    document = service_to_json(rendered(desired(max_instance_count=3)))
    document["scaling"] = {"minInstanceCount": 5, "maxInstanceCount": 8}
    adoption = adopted(document, SERVICE)
    spec = adoption.spec
    assert spec.serving is not None
    assert spec.serving.own_entry is not None
    assert (spec.scale.min_instance_count, spec.scale.max_instance_count) == (3, 5)
    assert plan_service(document, desired_serving(spec), service=SERVICE, bounds=spec.scale).differences == ()
    assert adoption.notes[0] == (
        "Trimtab rendered this service, and its command is kept as it is (own_entry): its minInstanceCount 5 is above its revision's "
        "maxInstanceCount 3, which no spec renders; no more than 3 are allowed. Lower the first, and adopt it again"
    )
    assert adoption.notes[1] == (
        "the service's minInstanceCount 5 is above the 3 instances that its revision allows: both stay as they are while scale is 3 to 5"
    )


def test_a_rendered_service_with_manual_scaling_comes_back_whatever_its_bounds() -> None:
    document = service_to_json(rendered(desired(max_instance_count=3)))
    document["scaling"] = {"scalingMode": "MANUAL", "manualInstanceCount": 2, "minInstanceCount": 5}
    spec = adopted(document, SERVICE).spec
    assert spec.serving is not None
    assert spec.serving.own_entry is None
    assert plan_service(document, desired_serving(spec), service=SERVICE, bounds=spec.scale).differences == ()


def test_what_is_no_service_is_named_with_the_field() -> None:
    with pytest.raises(UnreadableServiceError, match="not a service that can be read: Failed to parse createTime field"):
        adopted(service(createTime="yesterday"), SERVICE)


def test_what_stays_is_named() -> None:
    document = service(
        template={
            "containers": [
                {"name": "proxy", "image": "proxy:1"},
                {"name": "tfs", "image": "app:1", "ports": [{"containerPort": 1}], "env": [{"name": "A"}], "livenessProbe": {"grpc": {}}},
            ],
            "volumes": [{"name": "models", "gcs": {"bucket": "b"}}],
        }
    )
    assert [note for note in adopted(document, SERVICE).notes if note.startswith("left alone")] == [
        "left alone: environment A",
        "left alone: probes livenessProbe",
        "left alone: sidecars proxy",
        "left alone: volumes models",
    ]


@pytest.mark.parametrize(
    ("traffic", "pinned", "follows"),
    [
        ([], [("ranker-00002-bbb", 100, None)], True),
        ([{**LATEST, "percent": 100}], [("ranker-00002-bbb", 100, None)], True),
        ([{**LATEST, "percent": 40}, {"revision": "ranker-00002-bbb", "percent": 60}], [("ranker-00002-bbb", 100, None)], True),
        (
            [{"revision": "ranker-00001-aaa", "percent": 100}, {**LATEST, "tag": "next"}, {"revision": "ranker-00001-aaa"}],
            [("ranker-00001-aaa", 100, None), ("ranker-00002-bbb", 0, "next")],
            True,
        ),
        (
            [{"revision": "ranker-00001-aaa", "percent": 90, "tag": "live"}, {"revision": "ranker-00002-bbb", "percent": 10}],
            [("ranker-00001-aaa", 90, "live"), ("ranker-00002-bbb", 10, None)],
            False,
        ),
    ],
)
def test_traffic_is_pinned_as_it_is(traffic: list[dict[str, Any]], pinned: list[tuple[str, int, str | None]], follows: bool) -> None:
    found, moves = pinned_traffic({"traffic": traffic, "latestReadyRevision": REVISION})
    assert ([(each.revision, each.percent, each.tag) for each in found], moves) == (pinned, follows)


def test_without_a_latest_ready_revision_nothing_can_be_pinned() -> None:
    assert pinned_traffic({"traffic": [{**LATEST, "percent": 100}]}) == ((), True)


def test_the_command_names_every_revision_once_and_keeps_the_tags() -> None:
    pinned = [
        TrafficTarget(revision="ranker-a", percent=60),
        TrafficTarget(revision="ranker-a", percent=30, tag="live"),
        TrafficTarget(revision="ranker-b", percent=10),
    ]
    assert pin_command(SERVICE, pinned) == (
        "gcloud run services update-traffic ranker --project=acme-ml --region=europe-west1 "
        "--to-revisions=ranker-a=90,ranker-b=10 --update-tags=live=ranker-a"
    )


def test_set_points_that_cloud_run_does_not_document_are_named() -> None:
    with pytest.raises(UnreadableServiceError, match=r"template\.scaling\.cpu_utilization.*=0\.99"):
        read_document(service(template={"scaling": {"cpuUtilization": 0.99}}))


def test_both_drivers_taken_out_is_named_without_an_empty_field() -> None:
    with pytest.raises(UnreadableServiceError, match=r"template\.scaling: Value error, set_points: cpu_utilization and concurrency"):
        read_document(service(template={"scaling": {"cpuUtilization": 0, "concurrencyUtilization": 0}}))


def test_a_connector_beside_network_interfaces_is_named() -> None:
    access = {"connector": "c", "networkInterfaces": [{"network": "main"}]}
    with pytest.raises(UnreadableServiceError, match="vpc_access wants either a connector or network_interfaces"):
        adopted(service(template={"vpcAccess": access}), SERVICE)


def test_a_tag_that_no_target_can_have_is_named() -> None:
    with pytest.raises(UnreadableServiceError, match="tag='Not A Tag'"):
        adopted(service(traffic=[{"revision": "ranker-a", "percent": 100, "tag": "Not A Tag"}]), SERVICE)


def test_a_rendered_service_that_somebody_changed_by_hand_is_kept_as_they_left_it() -> None:
    document = service_to_json(rendered())
    document["template"]["containers"][0]["args"].append("--enable_profiler=false")
    document["template"]["containers"][0]["livenessProbe"] = {"tcpSocket": {"port": 8500}}
    found = adopted(document, SERVICE).spec
    assert found.serving is not None
    assert found.serving.own_entry is not None
    assert plan_service(document, desired_serving(found), service=SERVICE, bounds=found.scale).differences == ()
