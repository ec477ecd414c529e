"""The service that pasted gcloud and docker commands describe."""

from typing import Any

import pytest

from shared.cloudrun.described import Described, Form
from shared.cloudrun.gcloud_reading import read_commands
from shared.cloudrun.limits import MadeWith


def read(text: str) -> Described:
    found = read_commands(text)
    assert found is not None
    return found


def template(text: str) -> dict[str, Any]:
    found = read(text)
    assert found.problems == ()
    result: dict[str, Any] = found.service["template"]
    return result


def container(text: str, at: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = template(text)["containers"][at]
    return found


GPU = """gcloud run deploy vision --region=us-east4 --project acme-ml \\
  --image=docker.io/tensorflow/serving:2.20.0-gpu \\
  --gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --no-cpu-throttling \\
  --cpu=8 --memory=32Gi --concurrency=112 --max-instances=3 \\
  --port=8500 --use-http2 --timeout=60 --no-allow-unauthenticated \\
  --startup-probe=tcpSocket.port=8500,periodSeconds=10,failureThreshold=60 \\
  --set-env-vars=MODEL_NAME=vision \\
  --args=--enable_batching=true,--grpc_max_threads=128
"""


def test_a_deployment_is_read_whole() -> None:
    found = read(GPU)
    assert found.problems == ()
    assert (found.form, found.complete, found.region, found.project, found.made_with) == (
        Form.GCLOUD,
        True,
        "us-east4",
        "acme-ml",
        MadeWith.GCLOUD,
    )
    assert found.service == {
        "name": "projects/acme-ml/locations/us-east4/services/vision",
        "template": {
            "nodeSelector": {"accelerator": "nvidia-l4"},
            "gpuZonalRedundancyDisabled": True,
            "maxInstanceRequestConcurrency": 112,
            "scaling": {"maxInstanceCount": 3},
            "timeout": "60s",
            "containers": [
                {
                    "image": "docker.io/tensorflow/serving:2.20.0-gpu",
                    "args": ["--enable_batching=true", "--grpc_max_threads=128"],
                    "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "8", "memory": "32Gi"}, "cpuIdle": False},
                    "ports": [{"name": "h2c", "containerPort": 8500}],
                    "env": [{"name": "MODEL_NAME", "value": "vision"}],
                    "startupProbe": {"tcpSocket": {"port": 8500}, "periodSeconds": 10, "failureThreshold": 60},
                }
            ],
        },
    }


def test_every_field_knows_its_flag_and_its_line() -> None:
    found = read(GPU)
    assert found.place("/template/maxInstanceRequestConcurrency") == ("--concurrency", 4)
    assert found.place("/template/containers/0/resources/limits/cpu") == ("--cpu", 4)
    assert found.place("/template/containers/0/resources/limits/nvidia.com~1gpu") == ("--gpu", 3)
    assert found.place("/template/containers/0/args/1") == ("--args", 8)
    assert found.place("/template/containers/0/ports/0/name") == ("--use-http2", 5)
    assert found.place("/template/containers/0/startupProbe/tcpSocket/port") == ("--startup-probe", 6)
    assert found.place("/template/containers/0/env/0/value") == ("--set-env-vars", 7)


def test_what_is_not_said_is_not_there() -> None:
    assert read("gcloud run deploy --platform managed --concurrency 5").service == {
        "template": {"maxInstanceRequestConcurrency": 5, "containers": [{}]}
    }


@pytest.mark.parametrize(
    ("flag", "way", "value"),
    [
        ("--timeout=90m", "timeout", "5400s"),
        ("--timeout 20s", "timeout", "20s"),
        ("--timeout=900", "timeout", "900s"),
        ("--timeout=1h30m", "timeout", "5400s"),
        ("--concurrency=2000", "maxInstanceRequestConcurrency", 2000),
        ("--concurrency=default", "maxInstanceRequestConcurrency", None),
        ("--execution-environment=gen1", "executionEnvironment", "EXECUTION_ENVIRONMENT_GEN1"),
        ("--service-account=a@b", "serviceAccount", "a@b"),
        ("--gpu-type=nvidia-tesla-t4", "nodeSelector", {"accelerator": "nvidia-tesla-t4"}),
        ("--min-instances=2", "scaling", {"minInstanceCount": 2}),
        ("--min-instances=0", "scaling", None),
        ("--gpu-zonal-redundancy", "gpuZonalRedundancyDisabled", False),
        ("--session-affinity", "sessionAffinity", True),
        ("--vpc-egress=all", "vpcAccess", {"egress": "ALL_TRAFFIC"}),
        (
            "--network=n --subnet=s --network-tags=a,b",
            "vpcAccess",
            {"networkInterfaces": [{"network": "n", "subnetwork": "s", "tags": ["a", "b"]}]},
        ),
        ("--revision-suffix=v2", "revision", "x-v2"),
        ("--labels=team=search", "labels", {"team": "search"}),
        ("--encryption-key-shutdown-hours=2", "encryptionKeyShutdownDuration", "7200s"),
    ],
)
def test_a_flag_of_the_revision(flag: str, way: str, value: Any) -> None:
    assert template(f"gcloud run deploy x {flag}").get(way) == value


@pytest.mark.parametrize(
    ("flag", "way", "value"),
    [
        ("--min=1", "scaling", {"minInstanceCount": 1}),
        ("--ingress=internal-and-cloud-load-balancing", "ingress", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"),
        ("--description='ranks offers'", "description", "ranks offers"),
        ("--set-custom-audiences=a,b", "customAudiences", ["a", "b"]),
        ("--no-invoker-iam-check", "invokerIamDisabled", True),
        ("--binary-authorization=default", "binaryAuthorization", {"useDefault": True}),
        ("--update-annotations=acme.example/owner=me", "annotations", {"acme.example/owner": "me"}),
    ],
)
def test_a_flag_of_the_service(flag: str, way: str, value: Any) -> None:
    assert read(f"gcloud run deploy x {flag}").service.get(way) == value


@pytest.mark.parametrize(
    ("flag", "way", "value"),
    [
        ("--command=tensorflow_model_server", "command", ["tensorflow_model_server"]),
        ("--args='^;^--a=1,2;--b=3'", "args", ["--a=1,2", "--b=3"]),
        ("--args=--a=1 --args=--b=2", "args", ["--a=1", "--b=2"]),
        ("--args=serve,foo", "args", ["serve", "foo"]),
        ("--args=", "args", None),
        ("--gpu=2", "resources", {"limits": {"nvidia.com/gpu": "2"}}),
        ("--cpu-throttling", "resources", {"cpuIdle": True}),
        ("--no-cpu-boost", "resources", {"startupCpuBoost": False}),
        ("--use-http2", "ports", [{"name": "h2c", "containerPort": 8080}]),
        ("--port=default", "ports", None),
        ("--no-use-http2 --port=8501", "ports", [{"containerPort": 8501}]),
        ("--set-env-vars='^|^A=1,2|B=x=y'", "env", [{"name": "A", "value": "1,2"}, {"name": "B", "value": "x=y"}]),
        ("--set-env-vars=PORT=8501", "env", [{"name": "PORT", "value": "8501"}]),
        ("--set-secrets=KEY=api:2", "env", [{"name": "KEY", "valueSource": {"secretKeyRef": {"secret": "api", "version": "2"}}}]),
        (
            "--liveness-probe=httpGet.path=/v1/models/m,timeoutSeconds=2",
            "livenessProbe",
            {"httpGet": {"path": "/v1/models/m"}, "timeoutSeconds": 2},
        ),
        ("--startup-probe=grpc.port=8500,grpc.service=s", "startupProbe", {"grpc": {"port": 8500, "service": "s"}}),
        ("--startup-probe=", "startupProbe", None),
        ("--add-volume-mount=volume=m,mount-path=/models", "volumeMounts", [{"name": "m", "mountPath": "/models"}]),
    ],
)
def test_a_flag_of_the_container(flag: str, way: str, value: Any) -> None:
    assert container(f"gcloud run deploy x {flag}").get(way) == value


def test_gcloud_moves_a_tcp_probe_of_the_default_port_to_the_containers_port() -> None:
    probed = container("gcloud run deploy x --startup-probe=tcpSocket.port=8080 --port=8500")
    assert probed["startupProbe"] == {"tcpSocket": {"port": 8500}}


@pytest.mark.parametrize(
    ("given", "volume"),
    [
        ("name=m,type=cloud-storage,bucket=b,readonly=true", {"gcs": {"bucket": "b", "readOnly": True}}),
        ("name=m,type=in-memory,size-limit=1Gi", {"emptyDir": {"medium": "MEMORY", "sizeLimit": "1Gi"}}),
        ("name=m,type=nfs,location=10.0.0.2:/models", {"nfs": {"server": "10.0.0.2", "path": "/models"}}),
    ],
)
def test_a_volume(given: str, volume: dict[str, Any]) -> None:
    assert template(f"gcloud run deploy x --add-volume={given}")["volumes"] == [{"name": "m", **volume}]


def test_a_secret_at_a_path_is_a_volume_and_its_mount() -> None:
    found = template("gcloud run services update x --update-secrets=/etc/tfs/batching.txt=tfs-batching:latest")
    assert found["volumes"] == [
        {"name": "tfs-batching", "secret": {"secret": "tfs-batching", "items": [{"path": "batching.txt", "version": "latest"}]}}
    ]
    assert found["containers"] == [{"volumeMounts": [{"name": "tfs-batching", "mountPath": "/etc/tfs"}]}]


def test_flags_behind_container_belong_to_it() -> None:
    found = template("gcloud run deploy x --cpu-boost --container=tfs --image=a --port=8500 --container side --image b --cpu 1")
    assert [(each["name"], each["image"], each.get("ports")) for each in found["containers"]] == [
        ("tfs", "a", [{"containerPort": 8500}]),
        ("side", "b", None),
    ]


def test_an_update_alone_is_no_whole_description() -> None:
    found = read("gcloud run services update vision --region=us-east4 --concurrency=48 --update-env-vars=TF_CPP_MIN_LOG_LEVEL=1")
    assert not found.complete
    assert found.service["template"]["maxInstanceRequestConcurrency"] == 48


def test_an_update_says_nothing_of_a_port_that_it_does_not_name() -> None:
    assert container("gcloud run services update x --use-http2") == {}


def test_several_commands_describe_one_service_and_the_later_one_wins() -> None:
    found = read(
        "gcloud run deploy x --cpu=4 --memory=8Gi --set-env-vars=A=1,B=2\n"
        "gcloud run services update x --cpu=8 --update-env-vars=B=3,C=4 --remove-env-vars=A\n"
    )
    assert found.complete
    first = found.service["template"]["containers"][0]
    assert first["resources"]["limits"] == {"cpu": "8", "memory": "8Gi"}
    assert first["env"] == [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]
    assert found.place("/template/containers/0/resources/limits/cpu") == ("--cpu", 2)


def test_set_replaces_the_variables_and_update_adds_to_them() -> None:
    assert container("gcloud run deploy x --set-env-vars=A=1\ngcloud run services update x --set-env-vars=B=2")["env"] == [
        {"name": "B", "value": "2"}
    ]


def test_the_track_is_a_launch_stage() -> None:
    assert read("gcloud beta run deploy x --max=3").service == {
        "launchStage": "BETA",
        "name": "x",
        "scaling": {"maxInstanceCount": 3},
        "template": {"containers": [{}]},
    }


def test_project_and_region_may_be_set_before() -> None:
    found = read("gcloud config set project acme-ml\ngcloud config set run/region us-east4\ngcloud run deploy x")
    assert (found.project, found.region) == ("acme-ml", "us-east4")
    assert read("gcloud --project=acme-ml run deploy x").project == "acme-ml"


def test_traffic_is_read_where_all_of_it_is_said() -> None:
    assert read("gcloud run services update-traffic x --to-latest").service["traffic"] == [
        {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}
    ]
    assert read("gcloud run services update-traffic x --to-revisions=x-1=10,LATEST=90").service["traffic"] == [
        {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", "revision": "x-1", "percent": 10},
        {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 90},
    ]
    assert read("gcloud run services update-traffic x --to-revisions=x-1=10").service == {}


@pytest.mark.parametrize("text", ["", "hello", "gcloud run jobs execute x", "gcloud compute instances list", "docker ps", '{"name": "x"}'])
def test_a_text_without_such_commands_is_none(text: str) -> None:
    assert read_commands(text) is None


def test_commands_that_describe_nothing_say_nothing() -> None:
    assert read("gcloud run services describe x --format=export").service == {}


@pytest.mark.parametrize("value", ["$C", '"${C}"', "$(nproc)", "<CONCURRENCY>"])
def test_a_value_that_nobody_gave_is_not_said_and_leaves_open_what_is_absent(value: str) -> None:
    found = read(f"gcloud run deploy x --concurrency={value}")
    assert found.problems == ()
    assert found.service == {"name": "x", "template": {"containers": [{}]}}
    assert not found.complete


def test_a_name_of_a_project_or_an_image_that_nobody_gave_leaves_the_description_whole() -> None:
    found = read("gcloud run deploy x --project=$PROJECT --image=$IMAGE --cpu=4")
    assert (found.problems, found.complete, found.project) == ((), True, None)
    assert found.service["template"]["containers"] == [{"resources": {"limits": {"cpu": "4"}}}]


def test_variables_in_a_list_stay_as_they_are_written() -> None:
    found = container("gcloud run deploy x --set-env-vars=MODEL_NAME=$MODEL,A=1 --args=--model_name=$MODEL,--port=8500")
    assert found["env"] == [{"name": "MODEL_NAME", "value": "$MODEL"}, {"name": "A", "value": "1"}]
    assert found["args"] == ["--model_name=$MODEL", "--port=8500"]


def test_docker_alone_is_a_container_and_no_service() -> None:
    found = read(
        "docker run --gpus all -p 8500:8500 -v /srv:/models --rm -it -e MODEL_NAME=m -eA=1 --env B \\\n"
        "  tensorflow/serving:2.20.0-gpu --enable_batching=true --port 8500\n"
    )
    assert (found.form, found.complete, found.is_service) == (Form.DOCKER, True, False)
    assert found.service == {
        "template": {
            "containers": [
                {
                    "image": "tensorflow/serving:2.20.0-gpu",
                    "args": ["--enable_batching=true", "--port", "8500"],
                    "env": [{"name": "MODEL_NAME", "value": "m"}, {"name": "A", "value": "1"}, {"name": "B", "value": "$B"}],
                }
            ]
        }
    }
    assert found.place("/template/containers/0/args/0") == ("--enable_batching=true", 2)


def test_docker_beside_gcloud_describes_the_container_where_gcloud_does_not() -> None:
    found = container("gcloud run deploy x --set-env-vars=A=1\npodman run -e A=2 -e B=3 --entrypoint=sh img:1 -c x")
    assert found == {
        "image": "img:1",
        "args": ["-c", "x"],
        "command": ["sh"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}],
    }


def test_what_is_cleared_or_removed_is_gone() -> None:
    before = (
        "gcloud run deploy x --set-secrets=K=s:1,/a/f=t:1 --add-volume=name=v,type=in-memory --add-volume-mount=volume=v,mount-path=/m "
        "--key=k --labels=a=b,c=d --add-cloudsql-instances=p:r:i --set-custom-audiences=a,b --network=n --gpu=1 --gpu-type=nvidia-l4\n"
    )
    after = (
        "gcloud run services update x --clear-secrets --remove-volume-mount=/m --remove-volume=v --clear-key --remove-labels=a "
        "--remove-cloudsql-instances=p:r:i --remove-custom-audiences=a --clear-network --gpu=0\n"
    )
    found = read(before + after)
    assert found.problems == ()
    assert found.service == {
        "name": "x",
        "labels": {"c": "d"},
        "customAudiences": ["b"],
        "template": {"labels": {"c": "d"}, "containers": [{}]},
    }


def test_files_of_one_secret_in_one_folder_are_one_volume() -> None:
    found = template("gcloud run deploy x --set-secrets=/etc/tfs/a=s:1,/etc/tfs/b=s:2,/var/c=s:3")
    assert [each["name"] for each in found["volumes"]] == ["s", "s-2"]
    assert [each["path"] for each in found["volumes"][0]["secret"]["items"]] == ["a", "b"]


def test_what_is_not_said_is_missing_on_the_line_of_the_last_command_that_deploys() -> None:
    found = read(
        "#!/bin/sh\ngcloud config set project acme-ml\ngcloud run deploy a --image=i\n\ngcloud run services update a \\\n  --port=8501\n"
    )
    assert found.place("/template/maxInstanceRequestConcurrency") == ("/template/maxInstanceRequestConcurrency", 5)
    assert found.place("/template/containers/0/image") == ("--image", 3)


def test_what_a_docker_run_does_not_say_is_missing_on_its_line_unless_a_command_deploys() -> None:
    assert read("# try it\ndocker run tensorflow/serving\n").place("/template/containers/0/args")[1] == 2
    assert read("gcloud run deploy a --image=i\ndocker run tensorflow/serving\n").place("/template/timeout")[1] == 1
