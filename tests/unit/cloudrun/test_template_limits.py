"""Cloud Run's limits of volumes, mounts, images, names, networks, targets of scaling, tags and small instances."""

from typing import Any

import pytest

from shared.cloudrun.template_limits import (
    container_name_faults,
    image_faults,
    limit_name_faults,
    set_point_faults,
    small_instance_faults,
    tag_faults,
    vpc_access_faults,
)
from shared.cloudrun.volumes import mount_faults, volume_faults

CONNECTOR = "projects/p/locations/l/connectors/c"
MODELS = {"name": "models", "gcs": {"bucket": "acme-models"}}
KEY = {"name": "key", "secret": {"secret": "api-key"}}


@pytest.mark.parametrize(
    ("volume", "refused"),
    [
        (MODELS, False),
        ({"name": "models", "gcs": {}}, True),
        ({"name": "models", "gcs": {"bucket": "b", "mountOptions": ["implicit-dirs"]}}, False),
        ({"name": "models", "gcs": {"bucket": "b", "mountOptions": ["--implicit-dirs"]}}, True),
        ({"name": "cloudsql", "cloudSqlInstance": {"instances": ["p:r:db"]}}, False),
        ({"name": "cloudsql", "cloudSqlInstance": {"instances": ["db"]}}, True),
        ({"name": "db", "cloudSqlInstance": {"instances": ["p:r:db"]}}, True),
        ({"name": "cloudsql", "emptyDir": {}}, True),
        ({"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}, False),
        ({"name": "scratch", "emptyDir": {"sizeLimit": "much"}}, True),
        ({"name": "nothing"}, False),
        ({"name": "share", "nfs": {"server": "10.0.0.2", "path": "models"}}, False),
    ],
)
def test_a_volume(volume: dict[str, Any], refused: bool) -> None:
    assert bool(list(volume_faults([volume]))) is refused


def test_two_volumes_of_one_name() -> None:
    assert [fault.value for fault in volume_faults([MODELS, MODELS])] == ["models"]


@pytest.mark.parametrize(
    ("mount", "refused"),
    [
        ({"name": "models", "mountPath": "/models"}, False),
        ({"name": "models", "mountPath": "models"}, True),
        ({"name": "models", "mountPath": "/a:b"}, True),
        ({"name": "models", "mountPath": "/dev/x"}, True),
        ({"name": "models", "mountPath": "/a/../proc"}, True),
        ({"name": "models", "mountPath": "/devices"}, False),
        ({"name": "nobody", "mountPath": "/models"}, True),
        ({"name": "models", "mountPath": "/models", "subPath": "ranker"}, False),
        ({"name": "key", "mountPath": "/key", "subPath": "k"}, True),
    ],
)
def test_a_mount(mount: dict[str, Any], refused: bool) -> None:
    assert bool(list(mount_faults({"volumeMounts": [mount]}, [MODELS, KEY], at=0))) is refused


@pytest.mark.parametrize(
    ("image", "refused"),
    [
        ("tensorflow/serving:2.20.0-gpu", False),
        ("localhost:5000/tfs__x/a--b.c", False),
        (f"gcr.io/acme/tfs:V1_rc.1@sha256:{'0a' * 32}", False),
        ("", True),
        ("Tensorflow/serving", True),
        ("https://gcr.io/acme/tfs", True),
        ("gcr.io/acme/tfs@sha256:abc", True),
    ],
)
def test_an_image(image: str, refused: bool) -> None:
    assert bool(list(image_faults({"image": image}, at=0))) is refused


def test_a_container_built_from_source_needs_no_image() -> None:
    assert list(image_faults({"sourceCode": {}}, at=0)) == []


@pytest.mark.parametrize(
    ("names", "refused"),
    [(["tfs", "a.b"], False), (["", ""], False), (["TFS"], True), (["x" * 64], True), (["x" * 63], False), (["a", "a"], True)],
)
def test_names_of_containers(names: list[str], refused: bool) -> None:
    assert bool(list(container_name_faults(names))) is refused


def test_limits_have_known_names_and_amounts() -> None:
    assert list(limit_name_faults({"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}, at=0)) == []
    assert [fault.field for fault in limit_name_faults({"cpu": "four", "disk": "1Gi"}, at=1)] == [
        "template.containers[1].resources.limits[cpu]",
        "template.containers[1].resources.limits[disk]",
    ]


@pytest.mark.parametrize(
    ("access", "refused"),
    [
        ({"connector": CONNECTOR}, False),
        ({"connector": "c"}, True),
        ({"networkInterfaces": [{"subnetwork": "s"}]}, False),
        ({"networkInterfaces": [{}]}, True),
        ({"networkInterfaces": [{"network": "a"}, {"network": "b"}]}, True),
        ({"connector": CONNECTOR, "networkInterfaces": [{"network": "a"}]}, True),
    ],
)
def test_the_way_into_a_network(access: dict[str, Any], refused: bool) -> None:
    assert bool(list(vpc_access_faults(access))) is refused


@pytest.mark.parametrize(
    ("scaling", "refused"),
    [
        ({"cpuUtilization": 0.9, "concurrencyUtilization": 0.95}, False),
        ({"cpuUtilization": 0.91}, True),
        ({"cpuUtilization": 0.05}, True),
        ({"cpuUtilization": 0}, False),
        ({"cpuUtilization": 0, "concurrencyUtilization": 0}, True),
    ],
)
def test_targets_of_the_autoscaler(scaling: dict[str, float], refused: bool) -> None:
    assert bool(list(set_point_faults(scaling))) is refused


def test_tags_make_host_names() -> None:
    assert list(tag_faults(["", "canary", "t" * 40], service="ranker")) == []
    assert [fault.value for fault in tag_faults(["Old", "-x", "t" * 41], service="ranker")] == ["Old", "-x", "t" * 41]


@pytest.mark.parametrize(
    ("cpu", "memory_gib", "concurrency", "gen2", "always_on", "refused"),
    [
        (1, 0.5, 80, True, True, False),
        (0.5, 0.5, 1, False, False, False),
        (0.5, 0.5, 2, False, False, True),
        (0.5, 0.5, 1, True, False, True),
        (0.5, 0.5, 1, False, True, True),
        (1, 0.25, 80, False, False, False),
        (1, 0.25, 80, True, False, True),
        (1, 0.25, 80, False, True, True),
    ],
)
def test_a_small_instance(*, cpu: float, memory_gib: float, concurrency: int, gen2: bool, always_on: bool, refused: bool) -> None:
    found = small_instance_faults(cpu=cpu, memory_gib=memory_gib, concurrency=concurrency, gen2=gen2, always_on=always_on)
    assert bool(list(found)) is refused
