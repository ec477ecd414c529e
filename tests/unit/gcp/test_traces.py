"""Spans of requests: what is recorded, what is sent, and that nothing of it can fail a request."""

import json
import socket
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from shared import causes, log
from shared.errors import Park, Retry
from shared.gcp.traces import PAUSE_SECONDS, VALUE_LIMIT, Patient, Traces
from shared.handlers.answer import BUG, LATER, Handled, serve
from tests.support.telemetry_door import TelemetryDoor, attributes, telemetry_door

TRACE = "0af7651916cd43dd8448eb211c80319c"
BY_CLOUD_RUN = f"00-{TRACE}-b7ad6b7169203331-01"
NOT_BY_CLOUD_RUN = f"00-{TRACE}-b7ad6b7169203331-00"


class Kept(SpanExporter):
    """Keeps what is sent; fails as long as it is told to."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []
        self.calls = 0
        self.result = SpanExportResult.SUCCESS

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.calls += 1
        if self.result is SpanExportResult.SUCCESS:
            self.spans += spans
        return self.result

    def named(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found


def context(span: ReadableSpan) -> SpanContext:
    """Of a span that was recorded, which has one."""
    found = span.get_span_context()
    assert found is not None
    return found


class Request:
    """A push without anything in it."""

    method = "POST"

    def __init__(self, **headers: str) -> None:
        self.headers = headers

    def get_data(self) -> bytes:
        return b""


class Store:
    """A port."""

    limit = 7

    def create_fact(self, key: str) -> str:
        return f"created {key}"

    def park(self) -> None:
        raise Retry("the secret of acme")

    def due_services(self) -> Iterator[str]:
        yield "ranker"
        yield "scorer"


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def traces(kept: Kept) -> Iterator[Traces]:
    made = Traces("acme-ml", ratio=1.0, exporter=kept)
    yield made
    made.close()


def run(traces: Traces, work: Any = lambda: None, **headers: str) -> tuple[str, int]:
    def handle(_headers: object, _read: object) -> Handled:
        work()
        return Handled("done", "0.1:open", "in so many words")

    return serve("alert", Request(**headers), handle, traces.request)


def test_a_request_is_a_span_that_says_what_came_of_it(traces: Traces, kept: Kept) -> None:
    assert run(traces) == ("done\n", 200)
    (span,) = kept.spans
    assert (span.name, span.kind, span.status.status_code) == ("alert", SpanKind.SERVER, StatusCode.UNSET)
    assert span.attributes == {"trimtab.verdict": "done", "trimtab.key": "0.1:open", "http.response.status_code": 200}


def test_spans_name_the_project_that_keeps_them_and_the_function_that_made_them(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K_SERVICE", "trimtab-alert")
    monkeypatch.setenv("K_REVISION", "trimtab-alert-00007-abc")
    traces = Traces("acme-ml", ratio=1.0, exporter=kept)
    run(traces)
    traces.close()
    assert kept.spans[0].resource.attributes == {
        "cloud.platform": "gcp_cloud_run",
        "cloud.provider": "gcp",
        "gcp.project_id": "acme-ml",
        "service.name": "trimtab-alert",
        "service.version": "trimtab-alert-00007-abc",
    }


def test_a_call_of_a_port_is_a_span_below(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())
    run(traces, lambda: store.create_fact(key="a"))
    above, call = kept.named("alert"), kept.named("store.create_fact")
    assert call.parent is not None
    assert (call.parent.span_id, call.kind) == (context(above).span_id, SpanKind.CLIENT)


def test_a_port_answers_as_it_does_unseen(traces: Traces) -> None:
    store = traces.of("store", Store())
    seen: list[object] = []
    run(traces, lambda: seen.extend([store.create_fact("a"), store.limit, *store.due_services()]))
    assert seen == ["created a", 7, "ranker", "scorer"]


def test_outside_of_a_request_a_call_of_a_port_is_no_span(traces: Traces, kept: Kept) -> None:
    assert traces.of("store", Store()).create_fact("a") == "created a"
    run(traces)
    assert [span.name for span in kept.spans] == ["alert"]


def test_a_call_that_fails_says_the_kind_and_no_text(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())
    assert run(traces, store.park) == ("later\n", LATER)
    call = kept.named("store.park")
    assert (call.status.status_code, dict(call.attributes or {})) == (StatusCode.ERROR, {"error.type": "Retry"})
    assert "secret" not in str([span.to_json() for span in kept.spans])


def test_what_comes_bit_by_bit_is_one_span_until_the_last(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())
    open_spans: list[int] = []

    def work() -> None:
        open_spans.extend(sum(span.name == "store.due_services" for span in kept.spans) for _ in store.due_services())

    run(traces, work)
    assert kept.named("store.due_services").end_time is not None
    assert open_spans == [0, 0]


def test_what_is_left_half_taken_is_a_span_all_the_same(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())

    def work() -> None:
        services = store.due_services()
        next(services)
        services.close()  # type: ignore[attr-defined]  # a generator

    run(traces, work)
    assert kept.named("store.due_services").status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("error", "status", "verdict"), [(Retry("x"), LATER, "later"), (Park("c", "x"), BUG, "bug"), (KeyError(), BUG, "bug")]
)
def test_a_request_that_fails_is_a_span_in_error(error: Exception, status: int, verdict: str, traces: Traces, kept: Kept) -> None:
    def fail() -> None:
        raise error

    assert run(traces, fail)[1] == status
    (span,) = kept.spans
    assert (span.status.status_code, (span.attributes or {})["trimtab.verdict"]) == (StatusCode.ERROR, verdict)
    assert not span.events


# -- which are recorded


def test_what_cloud_run_traces_is_recorded_in_its_trace_whatever_the_ratio(kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=1e-9, exporter=kept)
    run(traces, traceparent=BY_CLOUD_RUN)
    traces.close()
    (span,) = kept.spans
    assert f"{context(span).trace_id:032x}" == TRACE


@pytest.mark.parametrize(("ratio", "recorded"), [(1.0, 1), (1e-9, 0)])
def test_of_what_cloud_run_does_not_trace_the_ratio_is(ratio: float, recorded: int, kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=ratio, exporter=kept)
    run(traces, traceparent=NOT_BY_CLOUD_RUN)
    traces.close()
    assert len(kept.spans) == recorded


def test_of_a_thousand_requests_the_ratio_is_recorded(kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=0.25, exporter=kept)
    for number in range(1_000):
        run(traces, traceparent=f"00-{number * 0x10624DD2F1A9FBE:032x}-b7ad6b7169203331-00" if number else "")
    traces.close()
    assert 200 <= len(kept.spans) <= 300


@pytest.mark.parametrize(
    "header", ["", "00", f"00-{'0' * 32}-{'0' * 16}-01", f"ff-{TRACE}-b7ad6b7169203331-01", "x" * 100_000, "00-é-1-01"]
)
def test_a_malformed_parent_is_none(header: str, traces: Traces, kept: Kept) -> None:
    run(traces, traceparent=header)
    (span,) = kept.spans
    assert span.parent is None


# -- what caused what


def published(traces: Traces, **headers: str) -> dict[str, str]:
    """The attributes of a message that a request publishes."""
    seen: dict[str, str] = {}
    run(traces, lambda: seen.update(causes.sent({"kind": "wake"})), **headers)
    return seen


def test_what_is_published_is_linked_with_what_it_was_published_by(traces: Traces, kept: Kept) -> None:
    attributes_ = published(traces, traceparent=NOT_BY_CLOUD_RUN)
    assert attributes_["kind"] == "wake"
    run(traces, lambda: causes.received(attributes_))
    alert, look = kept.spans
    (link,) = look.links
    assert (link.context.trace_id, link.context.span_id) == (context(alert).trace_id, context(alert).span_id)
    assert context(look).trace_id != context(alert).trace_id


def test_what_is_published_by_a_request_that_is_not_recorded_names_its_trace_all_the_same(kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=1e-9, exporter=kept)
    assert published(traces, traceparent=NOT_BY_CLOUD_RUN)[causes.ATTRIBUTE].startswith(f"00-{TRACE}-")
    traces.close()


@pytest.mark.parametrize("cause", ["", "x", "00-1-2-3", f"00-{'0' * 32}-{'0' * 16}-01", "y" * 1_024])
def test_a_malformed_cause_is_no_link(cause: str, traces: Traces, kept: Kept) -> None:
    run(traces, lambda: causes.received({causes.ATTRIBUTE: cause}))
    assert kept.spans[0].links == ()


def test_outside_of_a_watched_request_nothing_is_added_and_nothing_is_read() -> None:
    assert causes.sent({"kind": "wake"}) == {"kind": "wake"}
    causes.received({causes.ATTRIBUTE: BY_CLOUD_RUN})


# -- what is logged


def test_lines_inside_a_request_carry_its_trace_and_others_do_not(traces: Traces, kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    run(traces, lambda: log.event("INFO", "inside"), traceparent=NOT_BY_CLOUD_RUN)
    log.event("INFO", "outside")
    inside, done, outside = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    span = context(kept.spans[0])
    for line in (inside, done):
        assert line["logging.googleapis.com/trace"] == f"projects/acme-ml/traces/{TRACE}"
        assert line["logging.googleapis.com/spanId"] == f"{span.span_id:016x}"
        assert line["logging.googleapis.com/trace_sampled"] is True
    assert set(outside) == {"severity", "message"}


def test_a_long_key_is_cut(traces: Traces, kept: Kept) -> None:
    serve("alert", Request(), lambda _headers, _read: Handled("ignored", "k" * 9_999), traces.request)
    assert len(str((kept.spans[0].attributes or {})["trimtab.key"])) == VALUE_LIMIT


# -- what is sent


def test_all_is_sent_before_the_answer_goes_out(traces: Traces, kept: Kept) -> None:
    for number in range(3):
        run(traces)
        assert len(kept.spans) == number + 1


def test_after_a_failure_nothing_is_sent_for_a_while(kept: Kept) -> None:
    now = [0.0]
    patient = Patient(kept, lambda: now[0])
    kept.result = SpanExportResult.FAILURE
    assert [patient.export([]), patient.export([])] == [SpanExportResult.FAILURE] * 2
    now[0] = PAUSE_SECONDS - 1
    patient.export([])
    assert kept.calls == 1
    now[0], kept.result = PAUSE_SECONDS, SpanExportResult.SUCCESS
    assert patient.export([]) is SpanExportResult.SUCCESS
    assert patient.export([]) is SpanExportResult.SUCCESS
    assert kept.calls == 3


def test_they_go_as_otlp_over_http() -> None:
    with telemetry_door() as door:
        traces = Traces("acme-ml", ratio=1.0, endpoint=f"http://{door.endpoint}")
        run(traces, lambda: traces.of("store", Store()).create_fact("a"))
        traces.close()
    (export,) = door.exports
    assert attributes(export.resource_spans[0].resource.attributes)["gcp.project_id"] == "acme-ml"
    assert sorted(span.name for span in door.spans()) == ["alert", "store.create_fact"]


def refused(door: TelemetryDoor) -> str:
    door.refusing = 403
    return door.endpoint


def gone(_door: TelemetryDoor) -> str:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        return f"127.0.0.1:{nobody.getsockname()[1]}"


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the log says of traces since this was last asked."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if line["message"] == "traces"]


@pytest.mark.parametrize("away", [refused, gone])
def test_where_nobody_takes_them_the_request_goes_on_and_the_log_says_so_once(away: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with telemetry_door() as door:
        traces = Traces("acme-ml", ratio=1.0, endpoint=f"http://{away(door)}")
        assert run(traces) == ("done\n", 200)
        lines = said(capsys)
        assert run(traces) == ("done\n", 200)
        assert said(capsys) == []
        traces.close()
    assert {line["severity"] for line in lines} == {"WARNING"}
    assert "Failed to export spans batch" in lines[-1]["said"]
