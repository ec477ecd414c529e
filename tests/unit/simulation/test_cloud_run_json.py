"""Cloud Run's messages as JSON, and the keys and enum texts that they have no field and no value for."""

from typing import Any

import pytest
from google.cloud import run_v2
from google.protobuf import field_mask_pb2
from hypothesis import given
from hypothesis import strategies as st

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_extras import extras_of, set_extras
from shared.simulation.cloud_run_json import from_json, mask_from_text, to_json
from tests.support.simulated_service import PARENT, RANKER, UNKNOWN_FIELD, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def document(**scaling: Any) -> dict[str, Any]:
    return {
        "generation": "7",
        "later": {"deep": [1, 2]},
        "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3},
        "template": {
            "timeout": "300s",
            "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN3",
            "vpcAccess": {"egress": "SOME_TRAFFIC"},
            "scaling": {"maxInstanceCount": 3, **scaling},
            "containers": [{"image": "a"}, {"image": "b", "sshEnabled": True, "ports": [{"containerPort": 8501, "quic": "on"}]}],
            "volumes": [{"name": "cache", "emptyDir": {"medium": "DISK", "sizeLimit": "10Gi"}}],
        },
        "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}],
    }


def read(data: dict[str, Any]) -> run_v2.Service:
    return from_json(data, run_v2.Service, at="service")


def test_a_document_comes_back_as_it_was_sent() -> None:
    sent = document(cpuUtilization=0.7, concurrencyUtilization=0.5)
    assert to_json(read(sent)) == sent


def test_known_fields_reach_their_message() -> None:
    service = read(document())
    assert service.generation == 7
    assert run_v2.Service.pb(service).template.timeout.seconds == 300
    assert service.template.containers[1].ports[0].container_port == 8501
    assert service.traffic[0].percent == 100


def test_unknown_keys_stay_with_the_message_they_were_in() -> None:
    raw = run_v2.Service.pb(read(document(cpuUtilization=0.7)))
    assert extras_of(raw) == {"later": {"deep": [1, 2]}}
    assert extras_of(raw.template.scaling) == {"cpuUtilization": 0.7}
    assert extras_of(raw.template.containers[0]) == {}
    assert extras_of(raw.template.containers[1]) == {"sshEnabled": True}
    assert extras_of(raw.template.containers[1].ports[0]) == {"quic": "on"}
    assert extras_of(raw.template.volumes[0].empty_dir) == {"medium": "DISK"}


def test_an_enum_text_that_is_not_known_leaves_its_field_unset() -> None:
    raw = run_v2.Service.pb(read(document()))
    assert extras_of(raw.template) == {"executionEnvironment": "EXECUTION_ENVIRONMENT_GEN3"}
    assert raw.template.execution_environment == 0
    assert extras_of(raw.template.vpc_access) == {"egress": "SOME_TRAFFIC"}


def test_an_enum_text_is_kept_under_the_fields_json_name() -> None:
    assert to_json(read({"template": {"execution_environment": "EXECUTION_ENVIRONMENT_GEN3"}})) == {
        "template": {"executionEnvironment": "EXECUTION_ENVIRONMENT_GEN3"}
    }


def test_the_fields_own_names_are_read_too() -> None:
    assert read({"template": {"max_instance_request_concurrency": 8}}).template.max_instance_request_concurrency == 8


def test_int64_is_text_and_defaults_are_left_out() -> None:
    assert to_json(run_v2.Service(name=NAME, generation=3)) == {"name": NAME, "generation": "3"}


@pytest.mark.parametrize(
    "data",
    [
        {"template": {"maxInstanceRequestConcurrency": "many"}},
        {"template": []},
        {"template": {"containers": [3]}},
        {"ingress": "sideways"},
        {"template": {"executionEnvironment": "gen2"}},
        {"template": {"timeout": "5 minutes"}},
        {"labels": {"a": 1}},
    ],
)
def test_values_of_the_wrong_kind_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(SimulatedError, match="INVALID_ARGUMENT: Invalid JSON payload received") as caught:
        read(data)
    assert caught.value.field == "service"


def test_a_mask_is_read_in_either_spelling_and_keeps_what_it_does_not_know() -> None:
    text = "template.maxInstanceRequestConcurrency, scaling.min_instance_count,template.scaling.cpuUtilization,traffic"
    assert list(mask_from_text(text, run_v2.Service).paths) == [
        "template.max_instance_request_concurrency",
        "scaling.min_instance_count",
        "template.scaling.cpuUtilization",
        "traffic",
    ]


def test_a_client_that_edits_what_it_read_keeps_unknown_keys_and_one_that_builds_anew_loses_them() -> None:
    service = read(document(cpuUtilization=0.7))
    again = run_v2.Service.deserialize(run_v2.Service.serialize(service))
    again.template.scaling.max_instance_count = 9
    assert to_json(again)["template"]["scaling"] == {"maxInstanceCount": 9, "cpuUtilization": 0.7}
    rebuilt = run_v2.RevisionScaling(max_instance_count=again.template.scaling.max_instance_count)
    assert to_json(rebuilt) == {"maxInstanceCount": 9}


@given(extras=st.dictionaries(st.text(max_size=6), values, max_size=4), later=st.dictionaries(st.text(max_size=6), values, max_size=4))
def test_extras_are_replaced_and_nothing_else_is(extras: dict[str, Any], later: dict[str, Any]) -> None:
    raw = run_v2.RevisionScaling.pb(run_v2.RevisionScaling(max_instance_count=3))
    raw.MergeFromString(UNKNOWN_FIELD)
    before = raw.SerializeToString()
    set_extras(raw, extras)
    assert extras_of(raw) == extras
    set_extras(raw, later)
    assert extras_of(raw) == later
    set_extras(raw, {})
    assert raw.SerializeToString() == before


def with_set_point(value: float) -> run_v2.Service:
    service = run_v2.Service(name=NAME)
    set_extras(run_v2.Service.pb(service).template.scaling, {"cpuUtilization": value})
    return service


def masked(*paths: str) -> field_mask_pb2.FieldMask:
    return field_mask_pb2.FieldMask(paths=list(paths))


def test_an_unknown_key_can_be_written_by_its_mask_alone() -> None:
    cloud_run = with_ranker(StandingClock(), revision_max=5)
    cloud_run.update_service(with_set_point(0.7), update_mask=masked("template.scaling.cpuUtilization"))
    scaling = to_json(cloud_run.get_service(NAME))["template"]["scaling"]
    assert scaling == {"maxInstanceCount": 5, "cpuUtilization": 0.7}


def test_a_change_of_an_unknown_key_in_the_template_makes_a_revision() -> None:
    cloud_run = with_ranker(StandingClock())
    mask = masked("template.scaling.cpuUtilization")
    cloud_run.update_service(with_set_point(0.7), update_mask=mask)
    cloud_run.update_service(with_set_point(0.7), update_mask=mask)
    assert len(cloud_run.list_revisions(NAME)) == 2
    assert to_json(cloud_run.list_revisions(NAME)[0])["scaling"]["cpuUtilization"] == 0.7


def test_a_masked_unknown_key_that_is_not_sent_is_cleared() -> None:
    cloud_run = with_ranker(StandingClock(), revision_max=5)
    mask = masked("template.scaling.cpuUtilization")
    cloud_run.update_service(with_set_point(0.7), update_mask=mask)
    cloud_run.update_service(run_v2.Service(name=NAME), update_mask=mask)
    assert to_json(cloud_run.get_service(NAME))["template"]["scaling"] == {"maxInstanceCount": 5}


def test_a_mask_on_a_key_that_nobody_has_is_refused() -> None:
    cloud_run = with_ranker(StandingClock())
    with pytest.raises(SimulatedError, match="Invalid update mask"):
        cloud_run.update_service(run_v2.Service(name=NAME), update_mask=masked("template.scaling.cpuUtilization"))


def test_unknown_keys_survive_a_service_that_is_created_with_them() -> None:
    cloud_run = SimulatedCloudRun(now=StandingClock().now)
    service = gpu_service()
    set_extras(run_v2.Service.pb(service).template.containers[0], {"sshEnabled": True})
    cloud_run.create_service(PARENT, "ranker", service)
    assert to_json(cloud_run.get_service(NAME))["template"]["containers"][0]["sshEnabled"] is True


FUTURE, GEN3 = "INGRESS_TRAFFIC_FUTURE", "EXECUTION_ENVIRONMENT_GEN3"


@pytest.fixture
def newer() -> SimulatedCloudRun:
    """A service with two enum texts that this client does not know, one in its template."""
    made = SimulatedCloudRun(now=StandingClock().now)
    wanted: dict[str, Any] = {
        "ingress": FUTURE,
        "template": {"executionEnvironment": GEN3, "containers": [{"image": "tensorflow/serving"}]},
        "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_FUTURE", "percent": 100}],
    }
    made.create_service(PARENT, "ranker", read(wanted), settled=True)
    return made


def texts(cloud_run: SimulatedCloudRun) -> tuple[str | None, str | None]:
    shown = to_json(cloud_run.get_service(NAME))
    return shown.get("ingress"), shown["template"].get("executionEnvironment")


def written(cloud_run: SimulatedCloudRun, data: dict[str, Any], *paths: str) -> tuple[str | None, str | None]:
    cloud_run.update_service(read({"name": NAME, **data}), update_mask=masked(*paths) if paths else None)
    return texts(cloud_run)


def test_enum_texts_that_are_not_known_are_held_and_no_default_takes_their_place(newer: SimulatedCloudRun) -> None:
    assert texts(newer) == (FUTURE, GEN3)
    shown = newer.get_service(NAME)
    assert run_v2.Service.pb(shown).ingress == 0
    assert to_json(shown)["traffic"] == [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_FUTURE", "percent": 100}]


def test_a_write_that_sends_the_texts_back_changes_nothing(newer: SimulatedCloudRun) -> None:
    assert written(newer, to_json(newer.get_service(NAME))) == (FUTURE, GEN3)
    assert written(newer, to_json(newer.get_service(NAME)), "ingress", "template") == (FUTURE, GEN3)
    assert newer.get_service(NAME).generation == 1


def test_a_write_of_something_else_leaves_the_texts_alone(newer: SimulatedCloudRun) -> None:
    data = {"description": "new", "template": {"maxInstanceRequestConcurrency": 7}}
    assert written(newer, data, "description", "template.max_instance_request_concurrency") == (FUTURE, GEN3)


@pytest.mark.parametrize("path", ["template", "template.execution_environment"])
def test_a_masked_write_that_does_not_send_the_text_clears_it(newer: SimulatedCloudRun, path: str) -> None:
    containers = [{"image": "tensorflow/serving"}]
    assert written(newer, {"template": {"containers": containers}}, path) == (FUTURE, None)
    assert len(newer.list_revisions(NAME)) == 2


def test_a_write_of_everything_without_the_texts_clears_them_and_defaults_come_back(newer: SimulatedCloudRun) -> None:
    assert written(newer, {"template": {"containers": [{"image": "tensorflow/serving"}]}}) == ("INGRESS_TRAFFIC_ALL", None)


def test_a_text_takes_the_place_of_a_value_and_a_value_that_of_a_text(newer: SimulatedCloudRun) -> None:
    assert written(newer, {"ingress": "INGRESS_TRAFFIC_ALL"}, "ingress") == ("INGRESS_TRAFFIC_ALL", GEN3)
    assert written(newer, {"ingress": FUTURE}, "ingress") == (FUTURE, GEN3)


def test_a_client_that_writes_a_value_it_knows_beside_the_text_it_kept_means_the_value(newer: SimulatedCloudRun) -> None:
    service = newer.get_service(NAME)
    run_v2.Service.pb(service).ingress = run_v2.IngressTraffic.INGRESS_TRAFFIC_INTERNAL_ONLY
    newer.update_service(service)
    assert texts(newer) == ("INGRESS_TRAFFIC_INTERNAL_ONLY", GEN3)


def test_a_launch_stage_that_is_none_is_refused_whatever_its_text() -> None:
    cloud_run = SimulatedCloudRun(now=StandingClock().now)
    with pytest.raises(SimulatedError, match="only ALPHA, BETA, GA, or unspecified are supported"):
        cloud_run.create_service(PARENT, "ranker", read({"launchStage": "GAMMA"}))


def test_what_a_template_holds_unknown_its_revision_holds_in_the_same_encoding(newer: SimulatedCloudRun) -> None:
    service = newer.get_service(NAME)
    set_extras(run_v2.Service.pb(service).template, {"executionEnvironment": GEN3, "sshEnabled": True})
    run_v2.Service.pb(service).template.MergeFromString(UNKNOWN_FIELD)
    newer.update_service(service)
    (revision, *_), template = newer.list_revisions(NAME), newer.get_service(NAME).template

    def unknown(message: Any) -> bytes:
        raw = type(message).pb(type(message)(message))
        for field, _ in raw.ListFields():
            raw.ClearField(field.name)
        return bytes(raw.SerializeToString())

    assert to_json(revision)["executionEnvironment"] == GEN3
    assert UNKNOWN_FIELD in unknown(revision)
    assert unknown(revision) == unknown(template)
