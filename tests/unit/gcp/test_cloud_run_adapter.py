from typing import Any

import grpc
import pytest
from google.api_core import exceptions as typed_core
from google.auth import exceptions as typed_auth
from google.rpc import error_details_pb2

from shared.errors import Answer, QuotaRefused, Refused, Retry
from shared.gcp import cloud_run as adapter
from shared.gcp.cloud_run import CloudRunPlatform
from shared.local.cloud_run_door import CloudRunDoor
from tests.support.simulated_service import RANKER, StandingClock, with_ranker

core: Any = typed_core
auth: Any = typed_auth
"""The clients' exceptions have constructors without types."""


@pytest.mark.parametrize(
    "endpoint",
    ["run.googleapis.com:443", "10.0.0.1:8085", "0.0.0.0:8085", "127.0.0.1", "127.0.0.1:", "example.com", "", "127.0.0.1.evil.com:1"],
)
def test_plain_text_is_for_loopback_only(endpoint: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        CloudRunPlatform(StandingClock(), endpoint=endpoint)


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8085", "localhost:8085", "[::1]:8085"])
def test_loopback_is_taken_and_nothing_connects_yet(endpoint: str) -> None:
    CloudRunPlatform(StandingClock(), endpoint=endpoint).close()


def answer_to(error: typed_core.GoogleAPIError) -> Retry | Answer:
    return adapter._answer_to(error)


def test_numbers_that_stand_only_in_the_details_are_read() -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(
        field="scaling.max_instance_count",
        description="Max instances must be set to 3 or fewer in order to set GPU requirements. Quota violated: "
        "NvidiaL4GpuAllocPerProjectRegion requested: 10 allowed: 3",
    )
    detail = error_details_pb2.BadRequest(field_violations=[violation])
    answer = answer_to(core.InvalidArgument("The request has errors", details=[detail, error_details_pb2.Help()]))
    assert isinstance(answer, QuotaRefused)
    assert (answer.allowed_instances, answer.requested) == (3, 10)
    assert answer.message.startswith("The request has errors scaling.max_instance_count: Max instances")


def test_a_text_that_repeats_its_details_is_not_doubled() -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(field="f", description="no such thing")
    answer = answer_to(core.InvalidArgument("f: no such thing", details=[error_details_pb2.BadRequest(field_violations=[violation])]))
    assert isinstance(answer, Refused)
    assert answer.message == "f: no such thing"


def test_exceptions_without_a_grpc_status_leave_the_outcome_open() -> None:
    for error in (core.RetryError("gave up", cause=None), core.GoogleAPICallError("no status"), core.BadGateway("proxy")):
        assert isinstance(answer_to(error), Retry)


def test_each_exception_of_the_client_by_its_own_status() -> None:
    assert isinstance(answer_to(core.ServiceUnavailable("x")), Retry)
    assert isinstance(answer_to(core.PermissionDenied("x")), Refused)
    assert isinstance(answer_to(core.AlreadyExists("x")), Refused)
    assert isinstance(answer_to(core.from_grpc_status(grpc.StatusCode.CANCELLED, "x")), Retry)


@pytest.mark.parametrize("error", [auth.TransportError("no metadata server"), auth.RefreshError("expired")])
def test_credentials_that_cannot_be_had_now_are_tried_again(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(endpoint: str | None) -> grpc.Channel:
        raise error

    monkeypatch.setattr(adapter, "_channel", fail)
    with pytest.raises(Retry, match="credentials"):
        CloudRunPlatform(StandingClock()).get_service(RANKER)


def test_a_forked_process_makes_its_own_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StandingClock()
    with CloudRunDoor(with_ranker(clock)) as door:
        platform = CloudRunPlatform(clock, endpoint=door.endpoint)
        platform.get_service(RANKER)
        first = platform._client
        assert platform._connected() is first
        platform._client_process = -1
        assert platform._connected() is not first
        assert first is not None
        first.transport.close()  # type: ignore[no-untyped-call]
        platform.get_service(RANKER)
        platform.close()
        platform.close()
        platform.get_service(RANKER)
        platform.close()
