"""Cloud Run services and alert policies in a plan of Terraform."""

from typing import Any

import pytest

from shared.cloudrun.described import Form, ReadingProblem
from shared.cloudrun.limits import MadeWith
from shared.cloudrun.terraform_reading import alert_policies, read_plan

SERVICE: dict[str, Any] = {
    "name": "ranker",
    "location": "us-east4",
    "project": "acme-ml",
    "deletion_protection": True,
    "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "description": None,
    "custom_audiences": [],
    "scaling": [{"min_instance_count": 1, "max_instance_count": 3}],
    "template": [
        {
            "max_instance_request_concurrency": 64,
            "gpu_zonal_redundancy_disabled": True,
            "node_selector": [{"accelerator": "nvidia-l4"}],
            "timeout": "60s",
            "containers": [
                {
                    "image": "tensorflow/serving:2.20.0-gpu",
                    "args": ["--enable_batching=true"],
                    "env": [
                        {"name": "MODEL_NAME", "value": "ranker", "value_source": []},
                        {"name": "KEY", "value": None, "value_source": [{"secret_key_ref": [{"secret": "api", "version": "2"}]}]},
                    ],
                    "ports": [{"name": "h2c", "container_port": 8500}],
                    "resources": [
                        {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}, "cpu_idle": False, "startup_cpu_boost": None}
                    ],
                    "startup_probe": [{"tcp_socket": [{"port": 8500}], "period_seconds": 10, "failure_threshold": 60, "http_get": []}],
                    "liveness_probe": [],
                    "volume_mounts": [{"name": "models", "mount_path": "/models"}],
                }
            ],
            "volumes": [{"name": "models", "gcs": [{"bucket": "acme-models", "read_only": True}], "secret": []}],
        }
    ],
    "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100, "revision": None}],
}


def resource(kind: str, values: Any, address: str | None = None, **rest: Any) -> dict[str, Any]:
    return {"address": address or f"{kind}.main", "mode": "managed", "type": kind, "name": "main", "values": values, **rest}


def plan(*resources: dict[str, Any], children: list[Any] | None = None) -> dict[str, Any]:
    return {"format_version": "1.2", "planned_values": {"root_module": {"resources": list(resources), "child_modules": children or []}}}


def test_a_service_of_the_v2_resource_has_the_names_of_the_api() -> None:
    ((address, found),) = read_plan(plan(resource("google_cloud_run_v2_service", SERVICE)))
    assert address == "google_cloud_run_v2_service.main"
    assert (found.form, found.complete, found.region, found.project, found.made_with) == (
        Form.TERRAFORM,
        True,
        "us-east4",
        "acme-ml",
        MadeWith.TERRAFORM,
    )
    assert found.problems == ()
    assert found.service == {
        "name": "projects/acme-ml/locations/us-east4/services/ranker",
        "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
        "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3},
        "template": {
            "maxInstanceRequestConcurrency": 64,
            "gpuZonalRedundancyDisabled": True,
            "nodeSelector": {"accelerator": "nvidia-l4"},
            "timeout": "60s",
            "containers": [
                {
                    "image": "tensorflow/serving:2.20.0-gpu",
                    "args": ["--enable_batching=true"],
                    "env": [
                        {"name": "MODEL_NAME", "value": "ranker"},
                        {"name": "KEY", "valueSource": {"secretKeyRef": {"secret": "api", "version": "2"}}},
                    ],
                    "ports": [{"name": "h2c", "containerPort": 8500}],
                    "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}, "cpuIdle": False},
                    "startupProbe": {"tcpSocket": {"port": 8500}, "periodSeconds": 10, "failureThreshold": 60},
                    "volumeMounts": [{"name": "models", "mountPath": "/models"}],
                }
            ],
            "volumes": [{"name": "models", "gcs": {"bucket": "acme-models", "readOnly": True}}],
        },
        "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}],
    }


def test_a_field_is_called_by_its_address_and_attribute() -> None:
    ((_, found),) = read_plan(plan(resource("google_cloud_run_v2_service", SERVICE)))
    base = "google_cloud_run_v2_service.main: template"
    assert found.place("/template/maxInstanceRequestConcurrency") == (f"{base}.max_instance_request_concurrency", None)
    assert found.place("/template/containers/0/args/0") == (f"{base}.containers[0].args[0]", None)
    assert found.place("/template/containers/0/resources/limits/nvidia.com~1gpu") == (
        f'{base}.containers[0].resources.limits["nvidia.com/gpu"]',
        None,
    )
    assert found.place("/template/executionEnvironment") == (base, None)


def test_services_of_modules_are_found_and_data_sources_are_not() -> None:
    inner = {"resources": [resource("google_cloud_run_v2_service", {"name": "b"}, "module.m.google_cloud_run_v2_service.main")]}
    outer = {"resources": [], "child_modules": [inner]}
    found = read_plan(
        plan(
            resource("google_cloud_run_v2_service", {"name": "a"}),
            resource("google_cloud_run_v2_service", {}, mode="data"),
            children=[outer],
        )
    )
    assert [address for address, _ in found] == ["google_cloud_run_v2_service.main", "module.m.google_cloud_run_v2_service.main"]


def test_a_service_of_the_v1_resource_is_read_as_v2() -> None:
    values = {
        "name": "ranker",
        "location": "us-east4",
        "metadata": [{"annotations": {"run.googleapis.com/ingress": "internal"}, "labels": {"team": "search"}, "namespace": "acme-ml"}],
        "template": [
            {
                "metadata": [{"annotations": {"autoscaling.knative.dev/maxScale": "3"}, "labels": None, "name": None}],
                "spec": [
                    {
                        "container_concurrency": 8,
                        "timeout_seconds": 60,
                        "service_account_name": "a@b",
                        "containers": [
                            {
                                "image": "tensorflow/serving:2.20.0",
                                "args": ["--port=8500"],
                                "env": [{"name": "MODEL_NAME", "value": "m", "value_from": []}],
                                "ports": [{"name": "h2c", "container_port": 8500, "protocol": None}],
                                "resources": [{"limits": {"cpu": "2", "memory": "4Gi"}, "requests": None}],
                                "startup_probe": [{"tcp_socket": [{"port": 8500}], "failure_threshold": 3}],
                            }
                        ],
                    }
                ],
            }
        ],
        "traffic": [{"latest_revision": True, "percent": 100}],
    }
    ((_, found),) = read_plan(plan(resource("google_cloud_run_service", values)))
    assert found.problems == ()
    assert found.service == {
        "name": "ranker",
        "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
        "labels": {"team": "search"},
        "template": {
            "scaling": {"maxInstanceCount": 3},
            "maxInstanceRequestConcurrency": 8,
            "timeout": "60s",
            "serviceAccount": "a@b",
            "containers": [
                {
                    "image": "tensorflow/serving:2.20.0",
                    "args": ["--port=8500"],
                    "env": [{"name": "MODEL_NAME", "value": "m"}],
                    "ports": [{"name": "h2c", "containerPort": 8500}],
                    "resources": {"limits": {"cpu": "2", "memory": "4Gi"}},
                    "startupProbe": {"tcpSocket": {"port": 8500}, "failureThreshold": 3},
                }
            ],
        },
        "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}],
    }
    assert found.place("/template/containers/0/image") == ("google_cloud_run_service.main", None)


def test_cpu_throttling_of_the_v1_resource_is_kept_where_it_is_said() -> None:
    values = {
        "name": "x",
        "template": [
            {
                "metadata": [{"annotations": {"run.googleapis.com/cpu-throttling": "true"}}],
                "spec": [{"containers": [{"image": "a", "resources": [{"limits": {"cpu": "1"}}]}]}],
            }
        ],
    }
    ((_, found),) = read_plan(plan(resource("google_cloud_run_service", values)))
    assert found.service["template"]["containers"][0]["resources"]["cpuIdle"] is True


def test_a_value_of_the_wrong_type_is_a_problem_and_not_an_exception() -> None:
    ((_, v2),) = read_plan(plan(resource("google_cloud_run_v2_service", {"name": "x", "template": "t"})))
    assert [problem.kind for problem in v2.problems] == [ReadingProblem.DOCUMENT_INVALID]
    ((_, v1),) = read_plan(plan(resource("google_cloud_run_service", {"name": "x", "template": [{"spec": [{"timeout_seconds": "soon"}]}]})))
    assert [problem.kind for problem in v1.problems] == [ReadingProblem.DOCUMENT_INVALID]
    assert not v1.complete


def test_alert_policies_come_with_their_address_and_values() -> None:
    values = {"display_name": "full queue", "combiner": "OR", "conditions": []}
    document = plan(resource("google_monitoring_alert_policy", values), resource("google_pubsub_topic", {"name": "t"}))
    assert alert_policies(document) == (("google_monitoring_alert_policy.main", values),)


def test_a_state_is_read_like_a_plan() -> None:
    state = {"values": plan(resource("google_cloud_run_v2_service", SERVICE))["planned_values"]}
    assert len(read_plan(state)) == 1


@pytest.mark.parametrize(
    "document",
    [{}, {"planned_values": None}, {"planned_values": {"root_module": []}}, {"planned_values": {"root_module": {"resources": 1}}}],
)
def test_other_json_has_no_services(document: dict[str, Any]) -> None:
    assert read_plan(document) == ()
    assert alert_policies(document) == ()
