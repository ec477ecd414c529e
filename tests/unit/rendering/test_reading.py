"""From a service back to what it was rendered from; what somebody else wrote stays theirs."""

import pytest
from google.cloud import run_v2

from shared.records.serving import SetPoints
from shared.rendering.document import read_document, read_document_as_own, rendered_document
from shared.rendering.messages import service_to_json
from shared.rendering.reading import UnreadableServiceError, read_serving
from shared.rendering.serving import overlay
from tests.support.desired import desired, own_entry, rendered


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"protocol": "rest", "batching": None, "metrics_sidecar": False},
        {
            "model": {"name": "ranker", "uri": "/models/ranker", "version": 0, "source": "image"},
            "accelerator": None,
            "gpu_zonal_redundancy": None,
        },
        {"model": {"name": "r", "uri": "gs://acme-models/a/b/c", "version": 2**63 - 1, "source": "copied"}},
        {"batching": {}, "extra_flags": {"per_process_gpu_memory_fraction": 0.5, "saved_model_tags": "serve,gpu"}},
        {"ingress": "internal", "vpc_access": {"network_interfaces": [{"network": "default", "tags": ["tfs"]}], "egress": "all-traffic"}},
        {"service_account": None, "environment": {"A": "", "B": "x=y, z\n"}},
    ],
)
def test_what_was_rendered_is_read_back(changes: dict[str, object]) -> None:
    wanted = desired(**changes)
    assert read_serving(rendered(wanted)) == wanted


def test_what_somebody_changed_by_hand_is_not_ours_any_more() -> None:
    service = rendered()
    service.template.containers[0].args.append("--enable_profiler=false")
    service.template.containers[0].args[0] = "--port=9000"
    found = read_serving(service)
    assert found.own_entry is not None
    assert overlay(service, found) is service


def test_another_entry_is_kept_word_for_word() -> None:
    service = run_v2.Service(
        template=run_v2.RevisionTemplate(containers=[run_v2.Container(image="serve:1", command=["/serve.sh"], args=["--a", "b c"])])
    )
    found = read_serving(service)
    assert found.own_entry is not None
    assert (found.own_entry.command, found.own_entry.args, found.own_entry.port) == (("/serve.sh",), ("--a", "b c"), None)
    assert (found.cpu, found.memory, found.timeout_seconds, found.max_instance_request_concurrency) == (None, None, None, None)
    assert overlay(service, found) is service


def test_an_entry_of_the_owners_is_read_back_as_well() -> None:
    assert read_serving(rendered(own_entry())) == own_entry()


def test_a_value_no_spec_can_say_is_named() -> None:
    service = rendered()
    service.template.containers[0].command = []
    service.template.containers[0].image = "Not An Image"
    with pytest.raises(UnreadableServiceError, match=r"image='Not An Image'"):
        read_serving(service)


def test_what_cloud_run_expands_in_an_owners_command_is_kept() -> None:
    service = rendered()
    service.template.containers[0].command = ["/bin/$(NAME)"]
    service.template.containers[0].args = ["--port=$(PORT)"]
    entry = read_serving(service).own_entry
    assert entry is not None
    assert (entry.command, entry.args) == (("/bin/$(NAME)",), ("--port=$(PORT)",))


def test_a_gpu_without_its_kind_is_named() -> None:
    service = rendered()
    service.template.node_selector.accelerator = ""
    with pytest.raises(UnreadableServiceError, match=r"node_selector\.accelerator is not"):
        read_serving(service)


def test_set_points_travel_in_the_document() -> None:
    wanted = desired(set_points=SetPoints(concurrency_utilization=0.3))
    document = rendered_document(service_to_json(rendered()), wanted)
    assert document["template"]["scaling"] == {"maxInstanceCount": 10, "concurrencyUtilization": 0.3}
    assert read_document(document) == wanted
    assert rendered_document(document, wanted) == document


def test_a_key_the_client_does_not_know_stays_where_it_was() -> None:
    document = service_to_json(rendered())
    document["brandNew"] = {"a": 1}
    document["template"]["sshEnabled"] = True
    document["template"]["containers"][0]["novelty"] = "x"
    document["template"]["containers"][0]["env"].append({"name": "SECRET", "valueSource": {"vaultRef": {"path": "p"}}})
    after = rendered_document(document, desired(cpu="8", memory="32Gi", environment={"A": "1"}))
    assert (after["brandNew"], after["template"]["sshEnabled"], after["template"]["containers"][0]["novelty"]) == ({"a": 1}, True, "x")
    secret = next(each for each in after["template"]["containers"][0]["env"] if each["name"] == "SECRET")
    assert secret["valueSource"] == {"vaultRef": {"path": "p"}}
    assert after["template"]["containers"][0]["resources"]["limits"]["cpu"] == "8"


def test_a_driver_that_is_taken_out_is_a_set_point_of_0_in_rest() -> None:
    wanted = desired(set_points=SetPoints(cpu_utilization="disabled", concurrency_utilization=0.3))
    document = rendered_document(service_to_json(rendered()), wanted)
    assert document["template"]["scaling"]["cpuUtilization"] == 0.0
    assert read_document(document) == wanted


def test_a_timeout_of_parts_of_a_second_is_left_as_it_is() -> None:
    document = service_to_json(rendered(own_entry()))
    document["template"]["timeout"] = "1.500s"
    assert read_document(document).timeout_seconds is None
    assert rendered_document(document, read_document(document)) == document


def test_a_rendered_command_can_be_kept_as_the_owners() -> None:
    document = service_to_json(rendered())
    kept = read_document_as_own(document)
    assert kept.own_entry is not None
    assert (kept.model, kept.batching, kept.cpu) == (None, None, "4")
    assert rendered_document(document, kept) == document


def test_more_than_one_gpu_is_refused_instead_of_made_one() -> None:
    document = service_to_json(rendered(own_entry()))
    document["template"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "4"
    with pytest.raises(UnreadableServiceError, match=r"nvidia\.com/gpu is 4: a spec says one GPU for each instance"):
        read_document(document)


def test_values_of_enumerations_and_keys_the_client_has_never_heard_of_stay_also_where_names_are_missing() -> None:
    document = service_to_json(rendered(desired(metrics_sidecar=False)))
    document |= {"ingress": "INGRESS_TRAFFIC_FUTURE", "traffic": [{"revision": "a-1", "percent": 100, "sticky": True}]}
    serving = document["template"]["containers"][0]
    serving.pop("name", None)
    serving |= {"novelty": "x", "ports": [{**serving["ports"][0], "dualStack": True}]}
    serving["resources"]["burst"] = {"cpu": "2"}
    document["template"]["volumes"] = [{"name": "scratch", "emptyDir": {"medium": "DISK", "sizeLimit": "10Gi"}}]
    after = rendered_document(document, desired(set_points={"cpu_utilization": 0.8}))
    changed = after["template"]["containers"][0]
    assert (after["ingress"], after["traffic"]) == ("INGRESS_TRAFFIC_FUTURE", document["traffic"])
    assert (changed["novelty"], changed["ports"][0]["dualStack"], changed["resources"]["burst"]) == ("x", True, {"cpu": "2"})
    assert {"name": "scratch", "emptyDir": {"medium": "DISK", "sizeLimit": "10Gi"}} in after["template"]["volumes"]
    assert len(after["template"]["containers"]) == 2
