"""A line's parts, in whatever spelling."""

import pytest

from shared.diagnose.lines import MAX_LINES, read_line, read_lines, second_of_day


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("client: StatusCode.RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
        ("rpc error: code = DeadlineExceeded desc = context deadline exceeded", "DEADLINE_EXCEEDED"),
        ("8 RESOURCE_EXHAUSTED: x", "RESOURCE_EXHAUSTED"),
        ("Status{code=UNAVAILABLE, description=null}", "UNAVAILABLE"),
        ("io.grpc.StatusRuntimeException: UNIMPLEMENTED: unknown service", "UNIMPLEMENTED"),
        ("google.api_core.exceptions.Aborted: 409 Conflict", "ABORTED"),
        ("google.api_core.exceptions.ServiceUnavailable: 503 x", "UNAVAILABLE"),
        ("grpc-status: 14", "UNAVAILABLE"),
        ('"grpc_status":8', "RESOURCE_EXHAUSTED"),
        ("E op_kernel.cc] Resource exhausted: OOM when allocating tensor", "RESOURCE_EXHAUSTED"),
        ("everything is fine", None),
    ],
)
def test_the_code_of_grpc(text: str, code: str | None) -> None:
    assert read_line(1, text).grpc == code


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('severity=WARNING httpRequest.status=429 "x"', 429),
        ('{"httpRequest": {"status": 503}}', 503),
        ("POST /v1/models/m:predict -> 504 {}", 504),
        ("HTTP/1.1 413 Request Entity Too Large", 413),
        ('"POST /v1/models/m:predict HTTP/1.1" 500 12', 500),
        ("googleapi: Error 409: Conflict", 409),
        ("google.api_core.exceptions.InvalidArgument: 400 x", 400),
        ("curl: (22) The requested URL returned error: 429", 429),
        ("Received http2 header with status: 502", 502),
        ("Task size 200 is larger than maximum input batch size 128", None),
        ("12:00:03 Loading servable: {name: m version: 404}", None),
    ],
)
def test_the_status_of_http(text: str, status: int | None) -> None:
    assert read_line(1, text).http == status


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ('StatusCode.RESOURCE_EXHAUSTED details = ""', True),
        ('StatusCode.RESOURCE_EXHAUSTED details = "OOM when" debug = {"grpc_message":""}', False),
        ("code = ResourceExhausted desc = ", True),
        ("code = ResourceExhausted desc = grpc: received message", False),
        ("8 RESOURCE_EXHAUSTED:", True),
        ("StatusCode.RESOURCE_EXHAUSTED", False),
    ],
)
def test_details_that_are_shown_and_empty(text: str, *, empty: bool) -> None:
    assert read_line(1, text).details_empty is empty


def test_who_saw_it_stands_before_the_line() -> None:
    line = read_line(4, "client:  Transport   closed")
    assert (line.seen_at, line.text) == ("client", "Transport closed")
    assert line.quoted() == "log line 4 (client): Transport closed"
    assert read_line(1, "W bfc_allocator.cc: x").seen_at == ""


@pytest.mark.parametrize(
    ("text", "second"), [("12:01", 43_260), ("2026-11-30T10:04:02.250Z x", 36_242), ("at 25:00 or 7:99", None), ("port 0.0.0.0:8500", None)]
)
def test_the_time_of_day(text: str, second: float | None) -> None:
    assert second_of_day(text) == second


def test_a_long_log_keeps_its_beginning_and_its_end() -> None:
    lines = read_lines([f"line {number}" for number in range(1, 20_001)])
    assert len(lines) == MAX_LINES
    assert (lines[0].number, lines[-1].number) == (1, 20_000)
