"""The REST door of the simulated Cloud Run, spoken to over HTTP."""

from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import grpc
import pytest
import requests
from google.cloud import run_v2
from google.cloud.run_v2.services.services.transports import ServicesGrpcTransport

from shared.local.cloud_run_door import CloudRunDoor
from shared.local.cloud_run_rest import CloudRunRest
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Behaviour
from shared.simulation.platform import TRIMTAB
from tests.support.simulated_service import PARENT, RANKER, StandingClock, with_ranker

NAME = RANKER.resource_name
SCALING = "template.scaling"


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    return with_ranker(clock)


@pytest.fixture
def rest(cloud_run: SimulatedCloudRun) -> Iterator[CloudRunRest]:
    with CloudRunRest(cloud_run) as opened:
        yield opened


class Caller:
    """An HTTP client of the door."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def __call__(self, method: str, path: str, *, status: int = 200, body: Any = None, **params: str) -> Any:
        answer = requests.request(method, f"{self._base_url}/v2/{path}", json=body, params=params, timeout=10)
        assert answer.status_code == status, answer.text
        return answer.json()


@pytest.fixture
def call(rest: CloudRunRest) -> Caller:
    return Caller(rest.base_url)


def cpu_document() -> dict[str, Any]:
    return {
        "template": {
            "scaling": {"maxInstanceCount": 3, "cpuUtilization": 0.7},
            "containers": [{"image": "tensorflow/serving:2.19.0", "sshEnabled": True, "ports": [{"containerPort": 8501}]}],
        }
    }


def test_a_service_is_read_in_googles_json(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    service = call("GET", NAME)
    assert service["generation"] == "1"
    assert service["etag"] == cloud_run.get_service(NAME).etag
    assert service["ingress"] == "INGRESS_TRAFFIC_INTERNAL_ONLY"
    assert service["terminalCondition"]["state"] == "CONDITION_SUCCEEDED"
    assert service["template"]["containers"][0]["ports"] == [{"name": "h2c", "containerPort": 8500}]


def test_a_service_is_created_and_its_operation_followed(call: Caller, clock: StandingClock, cloud_run: SimulatedCloudRun) -> None:
    operation = call("POST", f"{PARENT}/services", body=cpu_document(), serviceId="embedder")
    assert "done" not in operation
    assert operation["metadata"]["@type"] == "type.googleapis.com/google.cloud.run.v2.Service"
    clock.pass_seconds(60)
    done = call("GET", operation["name"])
    assert done["done"] is True
    assert done["response"]["latestReadyRevision"].startswith(f"{PARENT}/services/embedder/revisions/")
    assert cloud_run.write_log[-1].principal == TRIMTAB
    assert [each["name"] for each in call("GET", f"{PARENT}/services")["services"]] == [f"{PARENT}/services/embedder", NAME]


def test_lists_come_in_pages(call: Caller) -> None:
    call("POST", f"{PARENT}/services", body=cpu_document(), serviceId="embedder")
    first = call("GET", f"{PARENT}/services", pageSize="1")
    second = call("GET", f"{PARENT}/services", pageSize="1", pageToken=first["nextPageToken"])
    assert [each["name"].rsplit("/", 1)[1] for each in (*first["services"], *second["services"])] == ["embedder", "ranker"]
    assert "nextPageToken" not in second
    call("GET", f"{PARENT}/services", status=400, pageSize="many")


@pytest.mark.parametrize("mask", ["scaling.maxInstanceCount", "scaling.max_instance_count"])
def test_a_patch_writes_its_mask_in_either_spelling(call: Caller, cloud_run: SimulatedCloudRun, mask: str) -> None:
    call("PATCH", NAME, body={"description": "x", "scaling": {"maxInstanceCount": 5}}, updateMask=mask)
    service = cloud_run.get_service(NAME)
    assert (service.scaling.max_instance_count, service.description) == (5, "ranks things")
    assert cloud_run.write_log[-1].mask == ("scaling.max_instance_count",)


def test_a_set_point_that_the_client_has_no_field_for_is_a_change_of_the_template(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    body = {"template": {"scaling": {"cpuUtilization": 0.8, "concurrencyUtilization": 0.5}}}
    mask = f"{SCALING}.cpuUtilization,{SCALING}.concurrencyUtilization"
    call("PATCH", NAME, body=body, updateMask=mask)
    scaling = call("GET", NAME)["template"]["scaling"]
    assert (scaling["cpuUtilization"], scaling["concurrencyUtilization"]) == (0.8, 0.5)
    revisions = call("GET", f"{NAME}/revisions")["revisions"]
    assert len(revisions) == 2
    assert call("GET", revisions[0]["name"])["scaling"]["cpuUtilization"] == 0.8
    assert len(cloud_run.write_log) == 2


def test_googles_python_client_keeps_the_set_point_it_does_not_know(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    call("PATCH", NAME, body={"template": {"scaling": {"cpuUtilization": 0.8}}}, updateMask=f"{SCALING}.cpuUtilization")
    with (
        CloudRunDoor(cloud_run) as door,
        run_v2.ServicesClient(transport=ServicesGrpcTransport(channel=grpc.insecure_channel(door.endpoint))) as client,
    ):
        service = client.get_service(name=NAME)
        service.template.max_instance_request_concurrency = 8
        client.update_service(service=service)
    assert call("GET", NAME)["template"]["scaling"]["cpuUtilization"] == 0.8


def test_enum_texts_that_the_client_does_not_know_are_given_back_and_survive_its_writes(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    body = {"ingress": "INGRESS_TRAFFIC_FUTURE", "template": {"executionEnvironment": "EXECUTION_ENVIRONMENT_GEN3"}}
    call("PATCH", NAME, body=body, updateMask="ingress,template.executionEnvironment")
    with (
        CloudRunDoor(cloud_run) as door,
        run_v2.ServicesClient(transport=ServicesGrpcTransport(channel=grpc.insecure_channel(door.endpoint))) as client,
    ):
        service = client.get_service(name=NAME)
        service.template.max_instance_request_concurrency = 8
        client.update_service(service=service)
    written = call("GET", NAME)
    assert (written["ingress"], written["template"]["executionEnvironment"]) == (body["ingress"], "EXECUTION_ENVIRONMENT_GEN3")
    assert written["template"]["maxInstanceRequestConcurrency"] == 8
    newest = call("GET", f"{NAME}/revisions")["revisions"][0]
    assert newest["executionEnvironment"] == "EXECUTION_ENVIRONMENT_GEN3"


def test_a_set_point_out_of_range_is_refused(call: Caller) -> None:
    answer = call(
        "PATCH", NAME, status=400, body={"template": {"scaling": {"cpuUtilization": 0.99}}}, updateMask=f"{SCALING}.cpuUtilization"
    )
    assert answer["error"]["status"] == "INVALID_ARGUMENT"
    assert "between 0.1 and 0.9" in answer["error"]["message"]


def test_a_refusal_is_written_as_google_writes_one(call: Caller) -> None:
    answer = call("PATCH", NAME, status=400, body={"scaling": {"maxInstanceCount": 90}}, updateMask="scaling.maxInstanceCount")
    error = answer["error"]
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert "requested: 90 allowed: 8" in error["message"]
    (detail,) = error["details"]
    assert detail["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert detail["fieldViolations"][0]["field"] == "scaling.max_instance_count"


def test_validate_only_writes_nothing_and_its_operation_cannot_be_followed(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    operation = call("PATCH", NAME, body={"scaling": {"maxInstanceCount": 5}}, updateMask="scaling", validateOnly="true")
    assert operation["response"]["scaling"] == {"maxInstanceCount": 5}
    assert len(cloud_run.write_log) == 1
    assert call("GET", operation["name"], status=404)["error"]["status"] == "NOT_FOUND"


def test_a_stale_etag_in_the_body_is_a_conflict(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    old = cloud_run.get_service(NAME).etag
    cloud_run.bump_etag(NAME)
    answer = call("PATCH", NAME, status=409, body={"etag": old, "description": "x"}, updateMask="description")
    assert answer["error"]["status"] == "ABORTED"
    assert "was specified but current version is" in answer["error"]["message"]


def test_allow_missing_creates(call: Caller) -> None:
    path = f"{PARENT}/services/embedder"
    call("PATCH", path, status=404, body=cpu_document())
    call("PATCH", path, body=cpu_document(), allowMissing="true")
    assert call("GET", path)["template"]["containers"][0]["sshEnabled"] is True


def test_revisions_and_services_are_deleted(call: Caller, clock: StandingClock) -> None:
    first = call("GET", f"{NAME}/revisions")["revisions"][0]["name"]
    refused = call("DELETE", first, status=400)
    assert refused["error"]["status"] == "FAILED_PRECONDITION"
    call("PATCH", NAME, body={"template": {"maxInstanceRequestConcurrency": 8}}, updateMask="template.maxInstanceRequestConcurrency")
    clock.pass_seconds(60)
    assert call("DELETE", first)["response"]["@type"] == "type.googleapis.com/google.cloud.run.v2.Revision"
    call("GET", first, status=404)
    assert call("DELETE", NAME)["done"] is True
    call("GET", NAME, status=404)


def test_a_failed_operation_carries_its_error(call: Caller, cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.fail_next_reconciliation("Resource readiness deadline exceeded")
    operation = call("PATCH", NAME, body={"scaling": {"maxInstanceCount": 5}}, updateMask="scaling.maxInstanceCount")
    clock.pass_seconds(5)
    assert call("GET", operation["name"])["error"] == {"code": 13, "message": "Resource readiness deadline exceeded"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "projects/acme-ml/locations", 404),
        ("PUT", NAME, 501),
        ("POST", NAME, 404),
        ("GET", f"{PARENT}/services/", 404),
        ("GET", f"{PARENT}/services/nobody", 404),
    ],
)
def test_what_the_door_does_not_know(rest: CloudRunRest, method: str, path: str, status: int) -> None:
    assert requests.request(method, f"{rest.base_url}/v2/{path}", timeout=10).status_code == status


@pytest.mark.parametrize("body", ["{", "[]", '{"template": 3}'])
def test_a_body_that_is_no_service_is_refused(rest: CloudRunRest, body: str) -> None:
    answer = requests.patch(f"{rest.base_url}/v2/{NAME}", data=body, timeout=10)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("Invalid JSON payload received.")


@pytest.mark.parametrize(("length", "status"), [("many", 400), ("-1", 400), (str(2**30), 413)])
def test_a_length_that_cannot_be_is_refused_before_the_body_is_read(rest: CloudRunRest, length: str, status: int) -> None:
    connection = HTTPConnection(rest.base_url.removeprefix("http://"), timeout=5)
    connection.putrequest("PATCH", f"/v2/{NAME}")
    connection.putheader("Content-Length", length)
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()


def test_a_bug_of_the_simulation_is_an_internal_error_and_logged(
    rest: CloudRunRest, cloud_run: SimulatedCloudRun, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_template: run_v2.RevisionTemplate) -> Behaviour:
        raise RuntimeError("no behaviour")

    cloud_run.set_behaviour(broken)
    answer = requests.post(f"{rest.base_url}/v2/{PARENT}/services?serviceId=embedder", json=cpu_document(), timeout=10)
    assert (answer.status_code, answer.json()["error"]["status"]) == (500, "INTERNAL")
    assert "no behaviour" in caplog.text


def test_the_addresses_of_service_and_tag_answer_and_point_nowhere_else_once_it_is_closed(
    cloud_run: SimulatedCloudRun, clock: StandingClock
) -> None:
    def tagged(service: run_v2.Service) -> None:
        service.traffic[0].tag = "stable"
        service.template.containers[0].ports = [run_v2.ContainerPort(name="http1", container_port=8501)]

    cloud_run.change_by(NAME, "sam@example.com", edit=tagged)
    clock.pass_seconds(60)
    with CloudRunRest(cloud_run) as rest:
        service = cloud_run.get_service(NAME)
        assert service.uri == f"{rest.base_url}/urls/acme-ml/europe-west1/ranker"
        assert service.traffic_statuses[0].uri == f"{service.uri}/stable"
        for uri in (service.uri, service.traffic_statuses[0].uri):
            answer = requests.post(f"{uri}/v1/models/m:predict", json={"instances": [1, 2]}, timeout=10)
            assert (answer.status_code, len(answer.json()["predictions"])) == (200, 2)
        assert requests.get(f"{service.uri}/nothing/v1/models/m", timeout=10).status_code == 404
        assert requests.get(f"{rest.base_url}/urls/acme-ml", timeout=10).status_code == 404
    assert cloud_run.get_service(NAME).uri == "https://ranker-simulated.europe-west1.run.app"


def test_a_fault_on_order_reaches_the_caller(call: Caller, cloud_run: SimulatedCloudRun) -> None:
    cloud_run.faults.fail_next("UNAVAILABLE", "not now", method="get")
    assert call("GET", NAME, status=503)["error"] == {"code": 503, "message": "not now", "status": "UNAVAILABLE"}
    assert call("GET", NAME)["name"] == NAME


def test_it_opens_once_and_closes_twice(cloud_run: SimulatedCloudRun) -> None:
    door = CloudRunRest(cloud_run).start()
    with pytest.raises(RuntimeError, match="open already"):
        door.start()
    port = int(door.base_url.rsplit(":", 1)[1])
    with pytest.raises(RuntimeError, match="cannot be bound"):
        CloudRunRest(cloud_run, port=port).start()
    door.stop()
    door.stop()
    with CloudRunRest(cloud_run, port=port) as again:
        assert again.base_url == f"http://127.0.0.1:{port}"
