"""Two services compared by what they mean."""

from typing import Any

import pytest

from shared.rendering.differences import Difference, differences
from shared.rendering.messages import service_to_json
from shared.rendering.serving import overlay
from tests.support.desired import desired, rendered

PLAIN: dict[str, Any] = {"template": {"containers": [{"image": "app:1"}]}}


def service(**template: Any) -> dict[str, Any]:
    return {"template": {"containers": [{"image": "app:1", "resources": {"limits": {"cpu": "4", "memory": "16Gi"}}}], **template}}


def container(**fields: Any) -> dict[str, Any]:
    return {"template": {"containers": [{"image": "app:1", **fields}]}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(service(), service(timeout="300s"), id="the default timeout"),
        pytest.param(service(), service(maxInstanceRequestConcurrency=80), id="the default concurrency"),
        pytest.param(
            container(resources={"limits": {"cpu": "500m"}}),
            {"template": {**container(resources={"limits": {"cpu": "0.5"}})["template"], "maxInstanceRequestConcurrency": 1}},
            id="the default concurrency below one CPU",
        ),
        pytest.param(PLAIN, {**PLAIN, "ingress": "INGRESS_TRAFFIC_ALL", "launchStage": "GA"}, id="default ingress and launch stage"),
        pytest.param(PLAIN, {**PLAIN, "ingress": "INGRESS_TRAFFIC_UNSPECIFIED"}, id="an unspecified enum"),
        pytest.param(PLAIN, container(ports=[{"containerPort": 8080}]), id="the default port"),
        pytest.param(container(ports=[{"containerPort": 8501}]), container(ports=[{"name": "http1", "containerPort": 8501}]), id="http1"),
        pytest.param(
            PLAIN,
            container(startupProbe={"tcpSocket": {"port": 8080}, "timeoutSeconds": 240, "periodSeconds": 240, "failureThreshold": 1}),
            id="the default start-up probe",
        ),
        pytest.param(
            container(livenessProbe={"httpGet": {"port": 8080}}),
            container(
                livenessProbe={"httpGet": {"path": "/", "port": 8080}, "timeoutSeconds": 1, "periodSeconds": 10, "failureThreshold": 3}
            ),
            id="a probe's defaults",
        ),
        pytest.param(
            container(resources={"limits": {"cpu": "4", "memory": "16Gi"}}),
            container(resources={"limits": {"cpu": "4000m", "memory": "16384Mi"}}),
            id="quantities",
        ),
        pytest.param(
            container(env=[{"name": "A", "value": "1"}, {"name": "B"}]),
            container(env=[{"name": "B", "value": ""}, {"name": "A", "value": "1"}]),
            id="the order of variables, and an empty value",
        ),
        pytest.param(
            {**PLAIN, "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}]}, PLAIN, id="the default traffic"
        ),
        pytest.param(
            {**PLAIN, "traffic": [{"revision": "a-1", "percent": 100}, {"revision": "a-2", "percent": 0}]},
            {**PLAIN, "traffic": [{"revision": "a-1", "percent": 100}]},
            id="a share of nothing without a tag",
        ),
        pytest.param(PLAIN, {**PLAIN, "scaling": {"scalingMode": "AUTOMATIC", "minInstanceCount": 0}}, id="zero and absent bounds"),
        pytest.param(
            {"template": {**PLAIN["template"], "nodeSelector": {"accelerator": "nvidia-l4"}}},
            {
                "template": {
                    **PLAIN["template"],
                    "nodeSelector": {"accelerator": "nvidia-l4"},
                    "gpuZonalRedundancyDisabled": False,
                    "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
                }
            },
            id="a GPU's redundancy and its generation",
        ),
        pytest.param(PLAIN, {"template": {"containers": [{"name": "app-1", "image": "app:1"}]}}, id="the name of the only container"),
        pytest.param(PLAIN, {**PLAIN, "etag": "7", "generation": "7", "lastModifier": "x", "client": "gcloud"}, id="what Cloud Run writes"),
        pytest.param(
            {"template": {**PLAIN["template"], "revision": "a-1"}}, {"template": {**PLAIN["template"], "revision": "a-2"}}, id="the name"
        ),
    ],
)
def test_there_is_no_difference_where_nothing_means_anything_else(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert differences(one, other) == ()
    assert differences(other, one) == ()


@pytest.mark.parametrize(
    ("after", "path", "values"),
    [
        (service(timeout="60s"), "template.timeout", (300.0, 60.0)),
        (service(maxInstanceRequestConcurrency=16), "template.maxInstanceRequestConcurrency", (80, 16)),
        (service(scaling={"maxInstanceCount": 3}), "template.scaling.maxInstanceCount", (None, 3)),
        ({**service(), "scaling": {"minInstanceCount": 1}}, "scaling.minInstanceCount", (None, 1)),
        ({**service(), "scaling": {"scalingMode": "MANUAL", "manualInstanceCount": 0}}, "scaling.manualInstanceCount", (None, 0)),
        (service(brandNewField={"on": True}), "template.brandNewField.on", (None, True)),
    ],
)
def test_a_difference_names_the_field_with_both_values(after: dict[str, Any], path: str, values: tuple[object, object]) -> None:
    assert Difference(path, *values) in differences(service(), after)


def test_billing_by_the_request_is_told_from_billing_by_the_instance() -> None:
    idle = container(resources={"limits": {"cpu": "1"}, "cpuIdle": True})
    by_instance = container(resources={"limits": {"cpu": "1"}})
    assert differences(idle, PLAIN) == ()
    assert [found.path for found in differences(by_instance, PLAIN)] == ["template.containers[(serving)].resources.cpuIdle"]


def test_only_the_template_takes_a_new_revision() -> None:
    after = {**service(timeout="60s"), "scaling": {"maxInstanceCount": 3}, "traffic": [{"revision": "a-1", "percent": 100}]}
    assert {found.path.split(".", maxsplit=1)[0]: found.new_revision for found in differences(service(), after)} == {
        "scaling": False,
        "template": True,
        "traffic": False,
    }


def test_the_serving_container_is_the_same_one_whether_or_not_it_has_a_name() -> None:
    after = overlay(rendered(), desired(metrics_sidecar=False))
    paths = [found.path for found in differences(service_to_json(rendered()), service_to_json(after))]
    assert "template.containers[(serving)].image" not in paths
    assert "template.containers[collector].image" in paths


def test_a_variable_is_named_by_its_name() -> None:
    after = service_to_json(overlay(rendered(), desired(environment={"A": "1"})))
    assert Difference("template.containers[(serving)].env[A].value", None, "1") in differences(service_to_json(rendered()), after)


def test_a_driver_of_the_autoscaler_that_is_taken_out_is_told_from_one_that_is_left_alone() -> None:
    out = service(scaling={"cpuUtilization": 0})
    assert Difference("template.scaling.cpuUtilization", None, 0) in differences(service(), out)


def test_the_start_up_boost_is_one_word_for_all_containers_of_a_revision() -> None:
    def boosted(*names: str) -> dict[str, Any]:
        every = [{"name": name, "image": "app:1", "resources": {"startupCpuBoost": name in names}} for name in ("tfs", "collector")]
        return {"template": {"containers": every}}

    assert differences(boosted("tfs"), boosted("tfs", "collector")) == ()
    assert {found.path.rpartition(".")[2] for found in differences(boosted(), boosted("tfs"))} == {"startupCpuBoost"}


def test_an_accelerator_means_one_gpu_billed_by_the_instance_whether_or_not_the_limit_says_so() -> None:
    chosen = {"nodeSelector": {"accelerator": "nvidia-l4"}}
    silent = {"template": {"containers": [{"image": "app:1"}], **chosen}}
    said = {"template": {"containers": [{"image": "app:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}], **chosen}}
    assert differences(silent, said) == ()
    without = {"template": {**said["template"], "nodeSelector": {}}}
    assert [found.path for found in differences(silent, without)] == ["template.nodeSelector.accelerator"]


def test_an_empty_label_is_there_and_an_empty_header_is_empty() -> None:
    assert [found.path for found in differences(PLAIN, {**PLAIN, "labels": {"team": ""}})] == ["labels.team"]
    probe = {"httpGet": {"port": 8080, "httpHeaders": [{"name": "x"}]}}
    written = {"httpGet": {"port": 8080, "httpHeaders": [{"name": "x", "value": ""}]}}
    assert differences(container(livenessProbe=probe), container(livenessProbe=written)) == ()


def test_the_default_concurrency_is_of_the_whole_instance() -> None:
    half = {"image": "app:1", "resources": {"limits": {"cpu": "500m"}}}
    two = {"template": {"containers": [{**half, "name": "a", "ports": [{"containerPort": 8080}]}, {**half, "name": "b"}]}}
    assert differences(two, {"template": {**two["template"], "maxInstanceRequestConcurrency": 80}}) == ()
