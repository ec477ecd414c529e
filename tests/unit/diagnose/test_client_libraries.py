"""The same answer as each gRPC library words it: whose answer it was, and what a code without a text means."""

import pytest

from tests.unit.diagnose.questions import INSTANCES, ask, confidence, cpu_service, first, gpu_service, remedies, served

PLAIN = {
    "go": "rpc error: code = Unavailable desc = unexpected HTTP status code received from server: {code} (No); transport: received "
    'unexpected content-type "text/html; charset=UTF-8"',
    "dotnet": 'Grpc.Core.RpcException: Status(StatusCode="Unavailable", Detail="Bad gRPC response. HTTP status code: {code}")',
    "java": "io.grpc.StatusRuntimeException: UNAVAILABLE: HTTP status code {code} invalid content-type: text/html",
    "node": "Error: 14 UNAVAILABLE: Received HTTP status code {code}",
    "tonic": 'status: Unavailable, message: "grpc-status header missing, mapped from HTTP status code {code}", details: []',
    "python": '_InactiveRpcError: status = StatusCode.UNAVAILABLE details = "Received http2 header with status: {code}"',
    "dart": "gRPC Error (code: 14, codeName: UNAVAILABLE, message: HTTP connection completed with {code} instead of 200)",
}
LIBRARY = pytest.mark.parametrize("library", PLAIN)


@LIBRARY
def test_a_plain_429_is_the_platforms_and_the_maximum_tells_which_cause(library: str) -> None:
    line = PLAIN[library].format(code=429)
    at_most = ask(line, deploy=gpu_service("--max-instances=3"), metrics={INSTANCES: 3, served("UNAVAILABLE"): 0})
    assert at_most.causes[0].cause == "instance-cap-reached"
    assert confidence(at_most, "protocol-mismatch") == 0
    below = ask(line, deploy=gpu_service("--max-instances=8"), metrics={INSTANCES: 3})
    assert below.causes[0].cause == "scale-out-lag"


@LIBRARY
def test_a_plain_404_is_the_wrong_port(library: str) -> None:
    answer = ask(PLAIN[library].format(code=404), deploy=cpu_service())
    assert answer.causes[0].cause == "protocol-mismatch"
    assert remedies(answer) == ["fix-port-or-protocol"]


@LIBRARY
def test_a_plain_504_is_a_timeout(library: str) -> None:
    assert first(PLAIN[library].format(code=504)) == "request-timeout"


@LIBRARY
@pytest.mark.parametrize("code", [502, 503])
def test_a_plain_502_or_503_alone_is_left_open_with_its_candidates(library: str, code: int) -> None:
    answer = ask(PLAIN[library].format(code=code))
    assert answer.causes[0].cause == "insufficient-data"
    assert "leaves the cause open" in answer.causes[0].evidence[0]
    assert {"scale-out-lag", "host-memory-exceeded"} <= {each.cause for each in answer.causes}
    assert "fix-port-or-protocol" not in remedies(answer)


def test_a_404_of_some_other_client_is_no_protocol() -> None:
    assert confidence(ask("controller: HTTP status code 404 for GET /v1/projects/p/locations"), "protocol-mismatch") == 0


@pytest.mark.parametrize(
    "line",
    [
        'Grpc.Core.RpcException: Status(StatusCode="ResourceExhausted", Detail="")',
        'Status { code: ResourceExhausted, message: "", metadata: MetadataMap { headers: {} }, source: None }',
        "status: 'Some resource has been exhausted', self: \"\"",
        "GRPC::ResourceExhausted (8:)",
        "{ code: 8, details: '', metadata: Metadata { options: {} } }",
        "gRPC Error (code: 8, codeName: RESOURCE_EXHAUSTED, message: , details: [], rawResponse: null)",
        "ERROR:\n  Code: ResourceExhausted\n  Message: ",
    ],
)
def test_an_empty_resource_exhausted_is_the_servers_threads(line: str) -> None:
    answer = ask(line, deploy=gpu_service("--concurrency=64"))
    assert answer.causes[0].cause == "server-thread-quota"
    assert answer.remedies[0].remedy == "raise-server-threads"


@pytest.mark.parametrize(
    "line",
    [
        'Status(StatusCode="ResourceExhausted", Detail="Run() timeout exceeded while waiting in batching queue")',
        'status: ResourceExhausted, message: "OOM when allocating tensor with shape[9] by allocator GPU_0_bfc", details: []',
        'Status(StatusCode="Unavailable", Detail="")',
    ],
)
def test_a_code_with_a_text_or_another_code_is_not_the_threads(line: str) -> None:
    assert confidence(ask(line, deploy=gpu_service("--concurrency=64")), "server-thread-quota") < 0.3


@pytest.mark.parametrize(
    "line",
    [
        'status: OutOfRange, message: "Error, decoded message length too large: found 5100000 bytes, the limit is: 4194304 bytes"',
        'Status(StatusCode="ResourceExhausted", Detail="Received message exceeds the maximum configured message size.")',
        "io.grpc.StatusRuntimeException: RESOURCE_EXHAUSTED: Decompressed gRPC message exceeds maximum size 4194304",
        "Error: 8 RESOURCE_EXHAUSTED: Received message larger than max (6291456 vs 4194304)",
        "rpc error: code = ResourceExhausted desc = grpc: received message after decompression larger than max 4194304",
    ],
)
def test_a_message_that_the_client_does_not_take(line: str) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "client-message-limit"
    assert answer.remedies[0].remedy == "raise-client-message-limit"


@pytest.mark.parametrize(
    "line",
    [
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6442450944 bytes.",
        "failed to allocate memory [[{{node dense/MatMul}}]]",
        "Failed to allocate request for 3.20GiB (3435973836B) on device ordinal 0",
    ],
)
def test_a_device_without_memory_is_the_card_where_there_is_one(line: str) -> None:
    assert first(line, deploy=gpu_service()) == "gpu-out-of-memory"
    assert first(line, deploy=cpu_service()) == "host-memory-exceeded"
