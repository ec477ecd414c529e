import json
from typing import Any

import pytest

from shared.cloudrun.fields import ServiceDocumentError
from shared.cloudrun.knative import to_v1, to_v2
from tests.support.v2_services import LATEST, NAME, REVISION

RUN = "run.googleapis.com/"


def _v1(
    *, annotations: dict[str, Any] | None = None, template_annotations: dict[str, Any] | None = None, **template_spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": "ranker", "annotations": annotations or {}},
        "spec": {"template": {"metadata": {"annotations": template_annotations or {}}, "spec": template_spec}},
    }


def _template(**kwargs: Any) -> dict[str, Any]:
    """v2's template of a v1 service with these template annotations and fields of the template's spec."""
    template: dict[str, Any] = to_v2(_v1(**kwargs)).document["template"]
    return template


def _template_annotations(template: dict[str, Any]) -> dict[str, str]:
    annotations: dict[str, str] = to_v1({"template": template}).document["spec"]["template"].get("metadata", {}).get("annotations", {})
    return annotations


def _sized(*, gpu: bool = False, **fields: Any) -> dict[str, Any]:
    limits = {"cpu": "4", **({"nvidia.com/gpu": "1"} if gpu else {})}
    return {"image": "i", "resources": {"limits": limits}, **fields}


class TestCpuBilling:
    @pytest.mark.parametrize(
        ("annotation", "gpu", "idle"),
        [
            ("true", False, True),
            ("True", False, True),
            ("false", False, None),
            (None, False, True),  # absent: throttled
            (None, True, None),  # absent with a GPU: Cloud Run accepts it, and a GPU is never throttled
            ("false", True, None),
            ("true", True, True),  # Cloud Run will refuse this: it is said as it was written
        ],
    )
    def test_v1_says_it_for_the_revision(self, annotation: str | None, gpu: bool, idle: bool | None) -> None:
        said = {} if annotation is None else {f"{RUN}cpu-throttling": annotation}
        (container,) = _template(template_annotations=said, containers=[_sized(gpu=gpu)])["containers"]
        assert container["resources"].get("cpuIdle") is idle

    def test_an_accelerator_without_a_gpu_limit_counts_as_a_gpu(self) -> None:
        spec = {"containers": [_sized()], "nodeSelector": {f"{RUN}accelerator": "nvidia-l4"}}
        assert "cpuIdle" not in _template(**spec)["containers"][0]["resources"]

    def test_a_container_without_resources_gets_them_so_that_the_word_is_not_lost(self) -> None:
        spec = {"containers": [{"image": "sidecar"}, {"image": "i", "ports": [{"containerPort": 8500}]}]}
        sidecar, front = _template(template_annotations={f"{RUN}cpu-throttling": "false"}, **spec)["containers"]
        assert "resources" not in sidecar
        assert front["resources"] == {}

    def test_v2_resources_without_cpu_idle_are_written_as_not_throttled(self) -> None:
        assert _template_annotations({"containers": [_sized()]})[f"{RUN}cpu-throttling"] == "false"

    def test_a_v2_container_without_resources_says_nothing(self) -> None:
        assert _template_annotations({"containers": [{"image": "i"}]}) == {}

    def test_containers_that_differ_are_not_throttled_and_the_difference_is_kept(self) -> None:
        idle = {"resources": {"cpuIdle": True}}
        there = to_v1({"template": {"containers": [{**_sized(), "name": "a"}, {**idle, "name": "b"}]}})
        assert there.document["spec"]["template"]["metadata"]["annotations"] == {f"{RUN}cpu-throttling": "false"}
        assert there.unmapped == {"/template/containers/1/resources/cpuIdle": True}

    def test_one_boosted_container_boosts_the_revision_and_the_others_are_kept(self) -> None:
        boosted = {"resources": {"startupCpuBoost": True}}
        there = to_v1({"template": {"containers": [{**boosted, "name": "a"}, {**_sized(), "name": "b"}]}})
        assert there.document["spec"]["template"]["metadata"]["annotations"][f"{RUN}startup-cpu-boost"] == "true"
        assert there.unmapped == {"/template/containers/1/resources/startupCpuBoost": None}
        assert "startupCpuBoost" not in to_v2(there.document, there.unmapped).document["template"]["containers"][1]["resources"]


@pytest.mark.parametrize(
    ("annotation", "text", "field", "value"),
    [
        ("description", "ranks", "description", "ranks"),
        ("ingress", "internal", "ingress", "INGRESS_TRAFFIC_INTERNAL_ONLY"),
        ("ingress", "internal-and-cloud-load-balancing", "ingress", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"),
        ("launch-stage", "BETA", "launchStage", "BETA"),
        ("minScale", "2", "scaling", {"minInstanceCount": 2}),
        ("maxScale", "5", "scaling", {"maxInstanceCount": 5}),
        ("scalingMode", "manual", "scaling", {"scalingMode": "MANUAL"}),
        ("manualInstanceCount", "0", "scaling", {"manualInstanceCount": 0}),
        ("custom-audiences", '["https://a"]', "customAudiences", ["https://a"]),
        ("invoker-iam-disabled", "true", "invokerIamDisabled", True),
        ("default-url-disabled", "true", "defaultUriDisabled", True),
        ("iap-enabled", "true", "iapEnabled", True),
        ("binary-authorization", "default", "binaryAuthorization", {"useDefault": True}),
        ("binary-authorization", "projects/p/platforms/q", "binaryAuthorization", {"policy": "projects/p/platforms/q"}),
        ("client-name", "gcloud", "client", "gcloud"),
        ("urls", '["https://a.run.app"]', "urls", ["https://a.run.app"]),
    ],
)
def test_a_setting_of_the_service_is_an_annotation_in_v1_and_a_field_in_v2(annotation: str, text: str, field: str, value: Any) -> None:
    key = f"{RUN}{annotation}"
    assert to_v2(_v1(annotations={key: text})).document[field] == value
    assert to_v1({field: value}).document["metadata"]["annotations"] == {key: text}


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("autoscaling.knative.dev/minScale", "1", "scaling", {"minInstanceCount": 1}),
        ("autoscaling.knative.dev/maxScale", "3", "scaling", {"maxInstanceCount": 3}),
        (f"{RUN}scaling-cpu-target", "0.75", "scaling", {"cpuUtilization": 0.75}),
        (f"{RUN}scaling-concurrency-target", "disabled", "scaling", {"concurrencyUtilization": 0}),
        (f"{RUN}execution-environment", "gen2", "executionEnvironment", "EXECUTION_ENVIRONMENT_GEN2"),
        (f"{RUN}gpu-zonal-redundancy-disabled", "true", "gpuZonalRedundancyDisabled", True),
        (f"{RUN}gpu-zonal-redundancy-disabled", "false", "gpuZonalRedundancyDisabled", False),
        (f"{RUN}vpc-access-connector", "c", "vpcAccess", {"connector": "c"}),
        (f"{RUN}vpc-access-egress", "all-traffic", "vpcAccess", {"egress": "ALL_TRAFFIC"}),
        (
            f"{RUN}network-interfaces",
            '[{"network": "n", "tags": ["t"]}]',
            "vpcAccess",
            {"networkInterfaces": [{"network": "n", "tags": ["t"]}]},
        ),
        (f"{RUN}sessionAffinity", "true", "sessionAffinity", True),
        (f"{RUN}health-check-disabled", "true", "healthCheckDisabled", True),
        (f"{RUN}encryption-key", "k", "encryptionKey", "k"),
        (f"{RUN}encryption-key-shutdown-hours", "2", "encryptionKeyShutdownDuration", "7200s"),
        (f"{RUN}post-key-revocation-action-type", "shut-down", "encryptionKeyRevocationAction", "SHUTDOWN"),
        (f"{RUN}mesh", "m", "serviceMesh", {"mesh": "m"}),
        ("client.knative.dev/user-image", "tfs", "annotations", {"client.knative.dev/user-image": "tfs"}),
    ],
)
def test_a_setting_of_the_template_is_an_annotation_in_v1_and_a_field_in_v2(key: str, text: str, field: str, value: Any) -> None:
    assert _template(template_annotations={key: text})[field] == value
    assert _template_annotations({field: value}) == {key: text}


def test_the_older_word_for_all_egress_is_understood() -> None:
    assert _template(template_annotations={f"{RUN}vpc-access-egress": "all"})["vpcAccess"] == {"egress": "ALL_TRAFFIC"}


@pytest.mark.parametrize(
    ("v1", "v2"),
    [
        (
            {"name": "v", "secret": {"secretName": "s", "items": [{"key": "1", "path": "p"}]}},
            {"secret": {"secret": "s", "items": [{"version": "1", "path": "p"}]}},
        ),
        ({"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, {"emptyDir": {"medium": "MEMORY", "sizeLimit": "1Gi"}}),
        ({"name": "v", "emptyDir": {}}, {"emptyDir": {}}),
        ({"name": "v", "nfs": {"server": "s", "path": "/p", "readOnly": True}}, {"nfs": {"server": "s", "path": "/p", "readOnly": True}}),
        (
            {
                "name": "v",
                "csi": {
                    "driver": "gcsfuse.run.googleapis.com",
                    "readOnly": True,
                    "volumeAttributes": {"bucketName": "b", "mountOptions": "a,b=1"},
                },
            },
            {"gcs": {"bucket": "b", "readOnly": True, "mountOptions": ["a", "b=1"]}},
        ),
        (
            {"name": "v", "csi": {"driver": "cloudsql.run.googleapis.com", "volumeAttributes": {"instances": "p:r:a"}}},
            {"cloudSqlInstance": {"instances": ["p:r:a"]}},
        ),
    ],
)
def test_a_volume_of_each_kind(v1: dict[str, Any], v2: dict[str, Any]) -> None:
    assert _template(volumes=[v1])["volumes"] == [{"name": "v", **v2}]
    assert to_v1({"template": {"volumes": [{"name": "v", **v2}]}}).document["spec"]["template"]["spec"]["volumes"] == [v1]


def test_cloud_sql_instances_of_the_annotation_are_a_mounted_volume_in_v2() -> None:
    annotations = {f"{RUN}cloudsql-instances": "p:r:a,p:r:b"}
    template = _template(template_annotations=annotations, containers=[{"image": "i"}])
    assert template["volumes"] == [{"name": "cloudsql", "cloudSqlInstance": {"instances": ["p:r:a", "p:r:b"]}}]
    assert template["containers"] == [{"image": "i", "volumeMounts": [{"name": "cloudsql", "mountPath": "/cloudsql"}]}]
    assert _template_annotations(template) == annotations


def test_secrets_of_other_projects_have_full_names_in_v2_and_an_alias_in_v1() -> None:
    def reference(secret: str) -> dict[str, Any]:
        return {"secretKeyRef": {"secret": secret, "version": "1"}}

    env = [{"name": "A", "valueSource": reference("key")}, {"name": "B", "valueSource": reference("projects/42/secrets/key")}]
    document = to_v1({"template": {"containers": [{"env": env}]}}).document["spec"]["template"]
    assert document["metadata"]["annotations"] == {f"{RUN}secrets": "key-2:projects/42/secrets/key"}
    assert [each["valueFrom"]["secretKeyRef"]["name"] for each in document["spec"]["containers"][0]["env"]] == ["key", "key-2"]


def test_start_up_order_is_one_annotation_in_v1() -> None:
    containers = [{"name": "tfs"}, {"name": "collector", "dependsOn": ["tfs"]}]
    annotations = _template_annotations({"containers": containers})
    assert json.loads(annotations[f"{RUN}container-dependencies"]) == {"collector": ["tfs"]}
    assert _template(template_annotations=annotations, containers=[{"name": "tfs"}, {"name": "collector"}])["containers"] == containers


def test_a_dependency_of_a_container_that_is_not_there_is_left_as_it_was() -> None:
    key = f"{RUN}container-dependencies"
    there = to_v2(_v1(template_annotations={key: '{"ghost": ["tfs"]}'}, containers=[{"name": "tfs"}]))
    assert there.unmapped == {"/spec/template/metadata/annotations/run.googleapis.com~1container-dependencies": '{"ghost": ["tfs"]}'}


def test_a_dependency_of_a_container_without_a_name_is_kept() -> None:
    there = to_v1({"template": {"containers": [{"dependsOn": ["tfs"]}, {"name": "tfs"}]}})
    assert there.unmapped == {"/template/containers/0/dependsOn": ["tfs"]}


def test_a_network_interface_with_a_part_that_v2_has_not_is_kept_whole() -> None:
    text = '[{"network": "n", "mtu": 1460}]'
    there = to_v2(_v1(template_annotations={f"{RUN}network-interfaces": text}))
    assert there.document["template"]["vpcAccess"] == {"networkInterfaces": [{"network": "n"}]}
    assert there.unmapped == {"/spec/template/metadata/annotations/run.googleapis.com~1network-interfaces": text}


def test_a_duration_finer_than_v1_counts_is_kept() -> None:
    there = to_v1({"template": {"timeout": "1.5s", "encryptionKeyShutdownDuration": "90s"}})
    assert there.unmapped == {"/template/timeout": "1.5s", "/template/encryptionKeyShutdownDuration": "90s"}


def test_the_order_of_a_cloud_sql_volume_that_is_not_the_last_is_kept() -> None:
    volumes = [{"name": "cloudsql", "cloudSqlInstance": {"instances": ["p:r:a"]}}, {"name": "s", "emptyDir": {}}]
    mounts = [{"name": "cloudsql", "mountPath": "/cloudsql"}, {"name": "s", "mountPath": "/s"}]
    service = {"template": {"containers": [{"image": "i", "volumeMounts": mounts}], "volumes": volumes}}
    there = to_v1(service)
    assert there.document["spec"]["template"]["metadata"]["annotations"] == {f"{RUN}cloudsql-instances": "p:r:a"}
    assert to_v2(there.document, there.unmapped).document == service


def test_traffic_and_its_state() -> None:
    spec = [{"latestRevision": True, "percent": 90}, {"revisionName": "ranker-1", "percent": 10, "tag": "old"}]
    status = {"traffic": [{"latestRevision": True, "revisionName": "ranker-2", "percent": 100, "tag": "t", "url": "https://t"}]}
    document = {**_v1(), "status": status}
    document["spec"]["traffic"] = spec
    service = to_v2(document).document
    assert service["traffic"] == [{"type": LATEST, "percent": 90}, {"type": REVISION, "revision": "ranker-1", "percent": 10, "tag": "old"}]
    assert service["trafficStatuses"] == [{"type": LATEST, "revision": "ranker-2", "percent": 100, "tag": "t", "uri": "https://t"}]


def test_the_state_of_a_service_that_is_being_rolled_out() -> None:
    document = {
        **_v1(),
        "metadata": {
            "name": "ranker",
            "namespace": "acme-ml",
            "labels": {"cloud.googleapis.com/location": "europe-west1"},
            "generation": 8,
        },
        "status": {
            "observedGeneration": 8,
            "latestReadyRevisionName": "ranker-00006-xyz",
            "url": "https://r",
            "address": {"url": "https://r"},
            "conditions": [
                {"type": "RoutesReady", "status": "True", "severity": "Info"},
                {"type": "Ready", "status": "Unknown", "reason": "HealthCheckContainerError", "message": "m"},
            ],
        },
    }
    there = to_v2(document)
    service = there.document
    assert service["name"] == NAME
    assert service["generation"] == service["observedGeneration"] == "8"
    assert service["latestReadyRevision"] == f"{NAME}/revisions/ranker-00006-xyz"
    assert service["reconciling"] is True
    assert service["terminalCondition"] == {
        "type": "Ready",
        "state": "CONDITION_RECONCILING",
        "revisionReason": "HEALTH_CHECK_CONTAINER_ERROR",
        "message": "m",
    }
    assert service["conditions"] == [{"type": "RoutesReady", "state": "CONDITION_SUCCEEDED", "severity": "INFO"}]
    assert there.unmapped == {}


def test_a_word_that_is_newer_than_this_code_is_kept_and_restored() -> None:
    document = _v1(
        annotations={f"{RUN}ingress": "from-the-moon"}, template_annotations={f"{RUN}warp": "9"}, containers=[{"imagePullPolicy": "Always"}]
    )
    there = to_v2(document)
    assert there.unmapped == {
        "/metadata/annotations/run.googleapis.com~1ingress": "from-the-moon",
        "/spec/template/metadata/annotations/run.googleapis.com~1warp": "9",
        "/spec/template/spec/containers/0/imagePullPolicy": "Always",
    }
    back = to_v1(there.document, there.unmapped).document
    assert back["metadata"]["annotations"] == {f"{RUN}ingress": "from-the-moon"}
    assert back["spec"]["template"]["spec"]["containers"] == [{"imagePullPolicy": "Always"}]


def test_a_v2_field_that_is_newer_than_this_code_is_kept_and_restored() -> None:
    service = {"template": {"containers": [{"image": "i", "sshEnabled": True}], "scaling": {"quantum": 1}}, "warp": {"factor": 9}}
    there = to_v1(service)
    assert there.unmapped == {"/template/containers/0/sshEnabled": True, "/template/scaling/quantum": 1, "/warp": {"factor": 9}}
    assert to_v2(there.document, there.unmapped).document == service


def test_annotations_of_other_tools_stay_and_those_of_cloud_run_in_a_v2_document_are_not_let_in() -> None:
    there = to_v1({"annotations": {"acme.example/owner": "a", "autoscaling.knative.dev/maxScale": "4"}})
    assert there.document["metadata"]["annotations"] == {"acme.example/owner": "a"}
    assert there.unmapped == {"/annotations/autoscaling.knative.dev~1maxScale": "4"}


def test_what_was_kept_for_a_container_that_is_gone_is_refused() -> None:
    with pytest.raises(ServiceDocumentError, match="/spec/template/spec/containers/1/tty was kept from another form"):
        to_v1({"template": {"containers": [{"image": "i"}]}}, {"/spec/template/spec/containers/1/tty": True})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({**_v1(), "kind": "Job"}, "/kind is 'Job'; a Cloud Run service of the v1 API has 'Service'"),
        (_v1(annotations={f"{RUN}custom-audiences": "a"}), "run.googleapis.com~1custom-audiences is not JSON"),
        (_v1(annotations={f"{RUN}minScale": "many"}), "/metadata/annotations/run.googleapis.com~1minScale is 'many'; write a whole number"),
        (_v1(template_annotations={f"{RUN}secrets": "key=projects/1"}), "write ALIAS:projects/PROJECT_NUMBER/secrets/SECRET"),
        (_v1(containers={"image": "i"}), "/spec/template/spec/containers is an object; a list is needed"),
        (_v1(containers=["i"]), "/spec/template/spec/containers/0 is a text; an object with named fields is needed"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_field(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceDocumentError) as refused:
        to_v2(document)
    assert message in refused.value.message
