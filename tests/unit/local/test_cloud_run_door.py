from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.api_core import exceptions as core
from google.cloud import run_v2
from google.cloud.run_v2.services.revisions.transports import RevisionsGrpcTransport
from google.cloud.run_v2.services.services.transports import ServicesGrpcTransport
from google.longrunning import operations_pb2

from shared.local.cloud_run_door import CloudRunDoor
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.platform import TRIMTAB
from tests.support.simulated_service import PARENT, RANKER, StandingClock, gpu_service, with_ranker

NAME = RANKER.resource_name


@pytest.fixture
def cloud_run() -> SimulatedCloudRun:
    return with_ranker(StandingClock())


@pytest.fixture
def door(cloud_run: SimulatedCloudRun) -> Iterator[CloudRunDoor]:
    with CloudRunDoor(cloud_run) as opened:
        yield opened


@pytest.fixture
def client(door: CloudRunDoor) -> Iterator[run_v2.ServicesClient]:
    made = run_v2.ServicesClient(transport=ServicesGrpcTransport(channel=grpc.insecure_channel(door.endpoint)))
    with made:
        yield made


def test_googles_client_creates_lists_and_waits(client: run_v2.ServicesClient, cloud_run: SimulatedCloudRun) -> None:
    operation: Any = client.create_service(parent=PARENT, service=gpu_service(), service_id="embedder")
    assert not operation.done()
    assert [service.name.rsplit("/", 1)[1] for service in client.list_services(parent=PARENT)] == ["embedder", "ranker"]
    same = client.get_operation(operations_pb2.GetOperationRequest(name=operation.operation.name))
    assert not same.done
    assert cloud_run.write_log[-1].principal == TRIMTAB


def test_googles_own_waiting_ends_with_the_service() -> None:
    cloud_run = SimulatedCloudRun(now=StandingClock().now, rollout_seconds=0)
    with (
        CloudRunDoor(cloud_run) as door,
        run_v2.ServicesClient(transport=ServicesGrpcTransport(channel=grpc.insecure_channel(door.endpoint))) as client,
    ):
        operation: Any = client.create_service(parent=PARENT, service=gpu_service(), service_id="ranker")
        service = operation.result(timeout=10)
        assert service.latest_ready_revision == service.latest_created_revision != ""


def test_validate_only_and_a_whole_replacement(client: run_v2.ServicesClient, cloud_run: SimulatedCloudRun) -> None:
    service = client.get_service(name=NAME)
    service.scaling.max_instance_count = 2
    request = run_v2.UpdateServiceRequest(service=service, validate_only=True)
    client.update_service(request=request)
    assert cloud_run.get_service(NAME).scaling.max_instance_count == 3
    client.update_service(service=service)
    assert cloud_run.get_service(NAME).scaling.max_instance_count == 2
    assert run_v2.Service.serialize(cloud_run.get_service(NAME)).count(b"later") == 3


def test_a_quota_refusal_carries_its_field(client: run_v2.ServicesClient) -> None:
    service = client.get_service(name=NAME)
    service.scaling.max_instance_count = 90
    with pytest.raises(core.InvalidArgument) as caught:
        client.update_service(service=service)
    assert "requested: 90 allowed: 8" in caught.value.message
    assert caught.value.details[0].field_violations[0].field == "scaling.max_instance_count"


def test_a_request_without_a_location_is_not_implemented(door: CloudRunDoor) -> None:
    with grpc.insecure_channel(door.endpoint) as channel:
        call = channel.unary_unary(
            "/google.cloud.run.v2.Services/GetService",
            request_serializer=run_v2.GetServiceRequest.serialize,
            response_deserializer=run_v2.Service.deserialize,
        )
        with pytest.raises(grpc.RpcError) as caught:
            call(run_v2.GetServiceRequest(name=NAME), timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert caught.value.details() == "Operation is not implemented, or supported, or enabled."
        found = call(run_v2.GetServiceRequest(name=NAME), timeout=5, metadata=[("x-goog-request-params", "location=europe-west1")])
        assert found.name == NAME


def test_all_locations_at_once_are_not_implemented(client: run_v2.ServicesClient) -> None:
    with pytest.raises(core.MethodNotImplemented):
        list(client.list_services(parent="projects/acme-ml/locations/-"))


def test_what_the_door_does_not_speak_is_not_implemented(client: run_v2.ServicesClient) -> None:
    with pytest.raises(core.MethodNotImplemented):
        client.test_iam_permissions(request={"resource": NAME, "permissions": ["run.services.get"]})


def test_a_service_is_deleted(client: run_v2.ServicesClient) -> None:
    operation: Any = client.delete_service(name=NAME)
    assert operation.result(timeout=10).name == NAME
    with pytest.raises(core.NotFound):
        client.get_service(name=NAME)


def test_create_can_be_validated_only(client: run_v2.ServicesClient, cloud_run: SimulatedCloudRun) -> None:
    client.create_service(
        request=run_v2.CreateServiceRequest(parent=PARENT, service=gpu_service(), service_id="embedder", validate_only=True)
    )
    assert len(cloud_run.list_services(PARENT)) == 1


@pytest.fixture
def revisions(door: CloudRunDoor) -> Iterator[run_v2.RevisionsClient]:
    with run_v2.RevisionsClient(transport=RevisionsGrpcTransport(channel=grpc.insecure_channel(door.endpoint))) as made:
        yield made


def test_googles_client_reads_revisions_page_by_page(revisions: run_v2.RevisionsClient, cloud_run: SimulatedCloudRun) -> None:
    def retune(service: run_v2.Service) -> None:
        service.template.revision, service.template.max_instance_request_concurrency = "ranker-b", 8

    cloud_run.change_by(NAME, "sam@example.com", edit=retune)
    request = run_v2.ListRevisionsRequest(parent=NAME, page_size=1)
    names = [revision.name for revision in revisions.list_revisions(request=request, timeout=10)]
    assert len(names) == 2
    assert names[0] == f"{NAME}/revisions/ranker-b"
    newest = revisions.get_revision(name=names[0], timeout=10)
    assert (newest.max_instance_request_concurrency, newest.reconciling) == (8, True)


def test_a_revision_in_use_is_not_deleted(revisions: run_v2.RevisionsClient, cloud_run: SimulatedCloudRun) -> None:
    name = cloud_run.get_service(NAME).latest_ready_revision
    with pytest.raises(core.FailedPrecondition, match="can receive traffic"):
        revisions.delete_revision(name=name, timeout=10)


def test_a_retired_revision_is_deleted(revisions: run_v2.RevisionsClient, cloud_run: SimulatedCloudRun) -> None:
    first = cloud_run.get_service(NAME).latest_ready_revision

    def rename(service: run_v2.Service) -> None:
        service.template.revision = "ranker-b"
        service.traffic[0].type_ = run_v2.TrafficTargetAllocationType(2)
        service.traffic[0].revision = "ranker-b"

    cloud_run.set_start_up(NAME, seconds=0)
    cloud_run.change_by(NAME, "sam@example.com", edit=rename)
    operation: Any = revisions.delete_revision(name=first, timeout=10)
    assert operation.result(timeout=10).name == first
    with pytest.raises(core.NotFound):
        revisions.get_revision(name=first, timeout=10)


def test_it_opens_once_and_closes_twice(cloud_run: SimulatedCloudRun) -> None:
    door = CloudRunDoor(cloud_run).start()
    with pytest.raises(RuntimeError, match="open already"):
        door.start()
    port = int(door.endpoint.rsplit(":", 1)[1])
    with pytest.raises(RuntimeError, match="cannot be bound"):
        CloudRunDoor(cloud_run, port=port).start()
    door.stop()
    door.stop()
    with CloudRunDoor(cloud_run, port=port) as again:
        assert again.endpoint == f"127.0.0.1:{port}"
