"""Spans of requests: what is recorded, what is sent, and that nothing of it can fail a request."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from shared import log, trace_context
from shared.errors import Park, Retry
from shared.gcp.traces import SPANS_OF_A_REQUEST, VALUE_LIMIT, Traces
from shared.handlers.answer import BUG, LATER, Handled, serve

TRACE = "0af7651916cd43dd8448eb211c80319c"
BY_CLOUD_RUN = f"00-{TRACE}-b7ad6b7169203331-01"
NOT_BY_CLOUD_RUN = f"00-{TRACE}-b7ad6b7169203331-00"


class Kept:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def send(self, spans: Sequence[ReadableSpan]) -> str:
        self.spans += spans
        return ""

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

    def failing(self) -> Iterator[str]:
        yield "ranker"
        raise Retry("the secret of acme")


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def traces(kept: Kept) -> Traces:
    return Traces("acme-ml", ratio=1.0, connect=lambda: kept)


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
    traces = Traces("acme-ml", ratio=1.0, connect=lambda: kept)
    run(traces)
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
    taken_at: list[int] = []
    run(traces, lambda: taken_at.extend(time.time_ns() for _ in store.due_services()))
    ended_at = kept.named("store.due_services").end_time
    assert ended_at is not None
    assert ended_at >= taken_at[-1]


def test_what_fails_bit_by_bit_says_the_kind(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())
    assert run(traces, lambda: [*store.failing()])[1] == LATER
    assert kept.named("store.failing").attributes == {"error.type": "Retry"}


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
    assert "secret" not in span.to_json()


# -- which are recorded


def test_what_cloud_run_traces_is_recorded_in_its_trace_whatever_the_ratio(kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=1e-9, connect=lambda: kept)
    run(traces, traceparent=BY_CLOUD_RUN)
    (span,) = kept.spans
    assert f"{context(span).trace_id:032x}" == TRACE


def test_no_more_than_one_a_second_is_recorded_because_its_caller_asks_for_it(kept: Kept) -> None:
    now = [100.0]
    traces = Traces("acme-ml", ratio=1e-9, connect=lambda: kept, monotonic_seconds=lambda: now[0])
    for seconds in (100.0, 100.0, 100.9, 101.0, 101.5, 102.1):
        now[0] = seconds
        run(traces, traceparent=BY_CLOUD_RUN)
    assert len(kept.spans) == 3


@pytest.mark.parametrize(("ratio", "recorded"), [(1.0, 1), (1e-9, 0)])
def test_of_what_cloud_run_does_not_trace_the_ratio_is(ratio: float, recorded: int, kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=ratio, connect=lambda: kept)
    run(traces, traceparent=NOT_BY_CLOUD_RUN)
    assert len(kept.spans) == recorded


def test_of_a_thousand_requests_the_ratio_is_recorded(kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=0.25, connect=lambda: kept)
    for number in range(1_000):
        run(traces, traceparent=f"00-{number * 0x10624DD2F1A9FBE:032x}-b7ad6b7169203331-00" if number else "")
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
    run(traces, lambda: seen.update(trace_context.sent({"kind": "wake"})), **headers)
    return seen


def test_what_is_published_is_linked_with_what_it_was_published_by(traces: Traces, kept: Kept) -> None:
    attributes_ = published(traces, traceparent=NOT_BY_CLOUD_RUN)
    assert attributes_["kind"] == "wake"
    run(traces, lambda: trace_context.received(attributes_))
    alert, look = kept.spans
    (link,) = look.links
    assert (link.context.trace_id, link.context.span_id) == (context(alert).trace_id, context(alert).span_id)
    assert context(look).trace_id != context(alert).trace_id


def test_what_is_published_by_a_request_that_is_not_recorded_names_its_trace_all_the_same(kept: Kept) -> None:
    traces = Traces("acme-ml", ratio=1e-9, connect=lambda: kept)
    assert published(traces, traceparent=NOT_BY_CLOUD_RUN)[trace_context.ATTRIBUTE].startswith(f"00-{TRACE}-")


@pytest.mark.parametrize("cause", ["", "x", "00-1-2-3", f"00-{'0' * 32}-{'0' * 16}-01", "y" * 1_024])
def test_a_malformed_cause_is_no_link(cause: str, traces: Traces, kept: Kept) -> None:
    run(traces, lambda: trace_context.received({trace_context.ATTRIBUTE: cause}))
    assert kept.spans[0].links == ()


def test_outside_of_a_watched_request_nothing_is_added_and_nothing_is_read() -> None:
    assert trace_context.sent({"kind": "wake"}) == {"kind": "wake"}
    trace_context.received({trace_context.ATTRIBUTE: BY_CLOUD_RUN})


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


def test_all_is_handed_over_before_the_answer_goes_out(traces: Traces, kept: Kept) -> None:
    for number in range(3):
        run(traces)
        assert len(kept.spans) == number + 1


def test_a_request_sends_its_own_spans_and_not_those_of_others_that_still_run(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())
    called, go_on = threading.Event(), threading.Event()

    def look() -> None:
        store.create_fact("a")
        called.set()
        assert go_on.wait(10)

    other = threading.Thread(target=run, args=(traces, look))
    other.start()
    assert called.wait(10)
    run(traces)
    assert [span.name for span in kept.spans] == ["alert"]
    go_on.set()
    other.join(10)
    assert [span.name for span in kept.spans] == ["alert", "store.create_fact", "alert"]


def test_of_one_request_no_more_than_so_many_are_kept(traces: Traces, kept: Kept) -> None:
    store = traces.of("store", Store())
    run(traces, lambda: [store.create_fact("a") for _ in range(SPANS_OF_A_REQUEST + 9)])
    assert len(kept.spans) == SPANS_OF_A_REQUEST


def test_with_open_telemetry_switched_off_by_its_own_variable_requests_go_on(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    traces = Traces("acme-ml", ratio=1.0, connect=lambda: kept)
    assert run(traces, lambda: traces.of("store", Store()).create_fact("a")) == ("done\n", 200)
    assert published(traces) == {"kind": "wake"}
    assert kept.spans == []


@pytest.mark.parametrize("name", ["OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"])
def test_what_the_environment_says_to_the_library_is_not_asked(name: str, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "abc")
    run(Traces("acme-ml", ratio=1.0, connect=lambda: kept))
    assert len(kept.spans) == 1
