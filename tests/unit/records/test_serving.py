"""The records of what an instance is to be: what is wrong by itself is refused by the record."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from shared.records.serving import DesiredServing, NetworkInterface, ServingSpec, SetPoints, VpcAccess
from tests.support.desired import desired
from tests.support.specs import OWN_ENTRY, TYPICAL


def spec(**changes: Any) -> ServingSpec:
    return ServingSpec.model_validate({**TYPICAL, **changes})


def refused(message: str, **changes: Any) -> None:
    with pytest.raises(ValidationError, match=message):
        spec(**changes)


def test_numbers_are_written_as_cloud_run_writes_them() -> None:
    given = spec(cpu=4, memory="16384Mi")
    assert (given.cpu, given.memory) == ("4", "16Gi")
    assert spec(cpu="4000m").cpu == "4"
    assert spec(cpu=0.5).cpu == "500m"


@pytest.mark.parametrize("cpu", ["", "four", "-1", "0.0001", True])
def test_an_amount_that_is_no_quantity_is_refused(cpu: object) -> None:
    refused("cpu|string", cpu=cpu)


@pytest.mark.parametrize(
    ("uri", "source"),
    [
        ("gs://acme-models", "gcs"),
        ("gs://acme-models/ranker/", "gcs"),
        ("gs://acme-models/../secret", "gcs"),
        ("gs://Acme/ranker", "gcs"),
        ("/models/ranker", "gcs"),
        ("gs://acme-models/ranker", "image"),
        ("models/ranker", "image"),
        ("/models/./ranker", "image"),
        ("s3://acme/ranker", "copied"),
        ("gs://acme-models/" + "x" * 1_024, "gcs"),
        ("gs://acme-models/a\nb", "gcs"),
    ],
)
def test_a_place_that_its_source_cannot_have_is_refused(uri: str, source: str) -> None:
    refused("model.uri", model={"name": "ranker", "uri": uri, "source": source})


@pytest.mark.parametrize("name", ["", "a/b", "a:b", ".a", "é", "x" * 64, "a b"])
def test_a_model_is_named_by_what_needs_no_escape_in_a_url(name: str) -> None:
    refused("model.name", model={"name": name, "uri": "gs://acme-models/ranker"})


@pytest.mark.parametrize("version", ["7", -1, 2**63, 1.0, True, "newest"])
def test_a_version_is_a_number_or_latest(version: object) -> None:
    refused("model.version", model={"name": "ranker", "uri": "gs://acme-models/ranker", "version": version})


@pytest.mark.parametrize("value", ["$(HOME)", "a$(", "a\0b"])
def test_a_value_that_cloud_run_would_expand_or_cannot_hold_is_refused(value: str) -> None:
    refused("environment.A", environment={"A": value})
    refused("extra_flags", extra_flags={"saved_model_tags": value})


@pytest.mark.parametrize("value", ["$(HOME)", "a$("])
def test_a_threads_name_that_cloud_run_would_expand_is_refused(value: str) -> None:
    # It stands in the file of batching parameters, and that in an environment variable.
    refused("thread_pool_name holds '\\$\\('", batching={"thread_pool_name": value})
    assert spec(batching={"thread_pool_name": "batchers$"}).batching


def test_an_owners_command_may_say_what_cloud_run_expands_but_no_null_character() -> None:
    kept = spec(**{**OWN_ENTRY, "own_entry": {"args": ["--port=$(PORT)"]}}).own_entry
    assert kept is not None
    assert kept.args == ("--port=$(PORT)",)
    refused("own_entry.args.0", **{**OWN_ENTRY, "own_entry": {"args": ["a\0b"]}})


def test_too_long_a_text_is_measured_in_characters() -> None:
    refused("at most 32768 characters", environment={"A": "x" * 32_769})
    refused("at most 1024 characters", extra_flags={"saved_model_tags": "x" * 1_025})


IMAGES_THAT_ARE_NONE = (
    "europe-docker.pkg.dev/acme-ml/serving/../../evil/repo/x:1",
    "a:b:c",
    "x/..:1",
    "a//b:1",
    "a/:1",
    "a/B:1",
    "/a:1",
    "a/.b:1",
    "a/b_:1",
    "a/b___c:1",
    "a/b.-c:1",
    "-host.dev/a:1",
    "host.dev:x/a:1",
    "tensorflow/serving:-gpu",
    "tensorflow/serving:.1",
    "tensorflow/serving:",
    f"tensorflow/serving:{'1' * 129}",
    "tensorflow/serving:1@sha256:abc",
    f"tensorflow/serving@sha256:{'A' * 64}",
    "tensorflow/serving:2.20.0\n",
    "a b:1",
    "",
)


@pytest.mark.parametrize("image", IMAGES_THAT_ARE_NONE)
def test_an_image_that_is_no_reference_by_dockers_grammar_is_refused(image: str) -> None:
    refused("image", image=image)


@pytest.mark.parametrize(
    "image",
    [
        "a",
        "a/b__c:1",
        "a/b--c.d_e:1",
        "Host.dev:5000/a/b:1",
        "localhost/a:_1",
        f"tensorflow/serving:{'1' * 128}",
        f"tensorflow/serving:2.20.0-GPU@sha256:{'a' * 64}",
    ],
)
def test_an_image_is_a_reference_by_dockers_grammar(image: str) -> None:
    assert spec(image=image).image == image


@pytest.mark.parametrize(
    "connector", ["$(x)", "not a connector\n", "Main", "a" * 26, "main-", "projects/acme-ml/locations/x/networks/main"]
)
def test_a_connector_has_a_name_that_cloud_run_gives(connector: str) -> None:
    refused("vpc_access.connector", vpc_access={"connector": connector})


@pytest.mark.parametrize("network", ["a b,c", "A", "-a", "a" * 64, "main\n", "projects/acme-ml/global/subnetworks/main"])
@pytest.mark.parametrize("kind", ["network", "subnetwork"])
def test_a_network_has_a_name_that_compute_engine_gives(kind: str, network: str) -> None:
    refused(f"network_interfaces.0.{kind}", vpc_access={"network_interfaces": [{kind: network}]})


@pytest.mark.parametrize(
    "access",
    [
        {"connector": "main"},
        {"connector": "projects/123/locations/europe-west4/connectors/main"},
        {"network_interfaces": [{"network": "projects/example.com:host/global/networks/main", "subnetwork": "serving"}]},
        {"network_interfaces": [{"subnetwork": "projects/host-ml/regions/europe-west4/subnetworks/serving"}]},
        {"network_interfaces": [{"network": "https://www.googleapis.com/compute/v1/projects/host-ml/global/networks/main"}]},
    ],
)
def test_a_network_is_named_shortly_or_in_full(access: dict[str, Any]) -> None:
    assert spec(vpc_access=access).vpc_access


@pytest.mark.parametrize("set_points", [{}, {"cpu_utilization": None}])
def test_set_points_that_say_nothing_are_none(set_points: dict[str, Any]) -> None:
    assert spec(set_points=set_points).set_points is None


def test_without_a_command_of_the_owners_the_spec_is_whole() -> None:
    refused("model, cpu, memory: needed, unless own_entry", model=None, cpu=None, memory=None)
    refused("batching, timeout_seconds: needed, unless own_entry", batching=None, timeout_seconds=None)


def test_a_command_of_the_owners_leaves_no_room_for_what_trimtab_would_render() -> None:
    refused(
        "write batching as null, write start_up_seconds as null, write max_instance_request_concurrency as a number or null, "
        "leave environment out; or leave own_entry out",
        own_entry={},
        environment={"A": "1"},
    )
    assert spec(**OWN_ENTRY, cpu=None, memory=None, model=None, timeout_seconds=None).own_entry is not None


def test_both_drivers_of_the_autoscaler_cannot_be_disabled() -> None:
    with pytest.raises(ValidationError, match="leave one of them in"):
        SetPoints(cpu_utilization="disabled", concurrency_utilization="disabled")
    with pytest.raises(ValidationError, match=r"less than or equal to 0\.9"):
        SetPoints(cpu_utilization=0.95)


def test_a_vpc_is_reached_one_way() -> None:
    with pytest.raises(ValidationError, match="either a connector or network_interfaces"):
        VpcAccess(connector="c", network_interfaces=(NetworkInterface(network="n"),))
    with pytest.raises(ValidationError, match="either a connector or network_interfaces"):
        VpcAccess()


@pytest.mark.parametrize(
    "changes",
    [{"gpu_zonal_redundancy": None}, {"accelerator": None}, {"accelerator": None, "gpu_zonal_redundancy": True}],
)
def test_redundancy_is_decided_with_a_gpu_and_only_then(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="gpu_zonal_redundancy is said with an accelerator, and only then"):
        desired(**changes)


def test_what_is_desired_is_whole_unless_the_command_is_the_owners() -> None:
    with pytest.raises(ValidationError, match="model, start_up_seconds: needed"):
        desired(model=None, start_up_seconds=None)


@pytest.mark.parametrize("record", [spec(), spec(**OWN_ENTRY), desired()], ids=["spec", "own entry", "desired"])
def test_it_is_stored_as_json_and_read_back_the_same(record: ServingSpec | DesiredServing) -> None:
    assert type(record).from_stored(json.loads(json.dumps(record.to_stored()))) == record


def test_a_flag_keeps_the_kind_it_was_written_with() -> None:
    flags = spec(extra_flags={"a": True, "b": 1, "c": 1.5, "d": "1"}).extra_flags
    assert [type(value) for value in flags.values()] == [bool, int, float, str]
