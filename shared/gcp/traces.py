"""Spans of a function's requests, over OpenTelemetry. Loaded only where traces are switched on.

A request has one span, and each call of a port one below it. A request that its caller traces (Cloud Run does one in ten seconds and
instance by itself, and says so in `traceparent`) is recorded, so that both are one trace, though no more than one a second: anybody who
may call can ask for it. Of the others the ratio is. What is published carries the request's context, and is linked with it by the
function that gets it. A function has processor time only while it answers, so a request's spans are handed over before its answer goes
out (`span_sending`). No text of an event or an error is in a span.

Source: OpenTelemetry's specification of sampling and of trace context; Google's page of traces of Cloud Run.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, Final, TypeVar, cast

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler, SamplingResult, TraceIdRatioBased
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, TraceState, get_current_span, set_span_in_context, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import Attributes

from shared import log, trace_context
from shared.gcp.span_sending import Sending, SpanSender
from shared.gcp.telemetry_api import TelemetryApi
from shared.handlers.answer import Headers, Told

SPANS_OF_A_REQUEST: Final = 512
"""So many are kept of one request; what comes after them is dropped."""
VALUE_LIMIT: Final = 256
"""Characters of an attribute."""
ASKED_FOR_SECONDS: Final = 1.0
"""Between two requests that are recorded because their caller asks for it."""
_LIMITS: Final = SpanLimits(
    max_span_attributes=16,
    max_events=0,
    max_links=16,
    max_event_attributes=0,
    max_link_attributes=0,
    max_attribute_length=VALUE_LIMIT,
    max_span_attribute_length=VALUE_LIMIT,
)
"""All of them given: what is left out the library reads from the environment, and fails on what it finds there."""
_SERVER_ERROR: Final = 500

Port = TypeVar("Port")

_ended: ContextVar[list[ReadableSpan] | None] = ContextVar("_ended", default=None)


class Traces:
    """The spans of a process. Made at the first request, because the functions' server forks after importing. Thread-safe."""

    def __init__(
        self,
        project: str,
        *,
        ratio: float,
        endpoint: str | None = None,
        connect: Callable[[], SpanSender] | None = None,
        monotonic_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`endpoint` (`http://127.0.0.1:4318`) is for a collector on this machine; `connect` makes another sender than one to Google's."""
        self._project = project
        self._sending = Sending(connect or partial(TelemetryApi, endpoint=endpoint), monotonic_seconds)
        chosen = TraceIdRatioBased(ratio)
        provider = TracerProvider(
            sampler=ParentBased(
                root=chosen, remote_parent_sampled=_NowAndThen(chosen, monotonic_seconds), remote_parent_not_sampled=chosen
            ),
            resource=Resource(_resource(project)),
            span_limits=_LIMITS,
            shutdown_on_exit=False,
        )
        provider.add_span_processor(_OfTheRequest())
        self._tracer = provider.get_tracer("trimtab")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, function: str, headers: Headers) -> Iterator[Told]:
        """A span around a request, below the one that its `traceparent` names; log lines inside carry the trace."""
        span = self._tracer.start_span(function, self._context(headers.get("traceparent", "")), SpanKind.SERVER)
        ended: list[ReadableSpan] = []
        token = _ended.set(ended)
        try:
            with (
                use_span(span, record_exception=False, set_status_on_exception=False),
                log.within(self._fields(span)),
                trace_context.within(self._traceparent(span), partial(self._link, span)),
            ):
                yield _telling(span)
        finally:
            span.end()
            _ended.reset(token)
            if ended:
                self._sending.hand_over(ended)

    def of(self, name: str, port: Port) -> Port:
        """The port, with a span around each call of a method of it inside a request that is recorded."""
        return cast("Port", _Traced(name, port, self._tracer.start_span))

    def _context(self, traceparent: str) -> Context:
        """What a `traceparent` names; nothing, where it is malformed."""
        return self._propagator.extract({"traceparent": traceparent[:VALUE_LIMIT]})

    def _traceparent(self, span: Span) -> str:
        """Empty where OpenTelemetry is switched off by its own variable of the environment."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, set_span_in_context(span))
        return carrier.get("traceparent", "")

    def _link(self, span: Span, traceparent: str) -> None:
        """The message was published by that span: it and this one are linked, not one trace, for many wakes may come to one look."""
        cause = get_current_span(self._context(traceparent)).get_span_context()
        if cause.is_valid:
            span.add_link(cause)

    def _fields(self, span: Span) -> Mapping[str, object]:
        """What Cloud Logging shows a line in its trace by; nothing where there is none."""
        context = span.get_span_context()
        if not context.is_valid:
            return {}
        return {
            "logging.googleapis.com/trace": f"projects/{self._project}/traces/{context.trace_id:032x}",
            "logging.googleapis.com/spanId": f"{context.span_id:016x}",
            "logging.googleapis.com/trace_sampled": context.trace_flags.sampled,
        }


class _OfTheRequest(SpanProcessor):
    """Keeps what is recorded with the request that it ended in."""

    def on_end(self, span: ReadableSpan) -> None:
        """Keep it, as long as there is room."""
        ended = _ended.get()
        if ended is not None and span.context is not None and span.context.trace_flags.sampled and len(ended) < SPANS_OF_A_REQUEST:
            ended.append(span)


class _NowAndThen(Sampler):
    """Records once in `ASKED_FOR_SECONDS` whatever is asked for, and of the rest what another sampler chooses. Thread-safe."""

    def __init__(self, otherwise: Sampler, monotonic_seconds: Callable[[], float]) -> None:
        self._otherwise = otherwise
        self._seconds = monotonic_seconds
        self._lock = threading.Lock()
        self._again_at = float("-inf")

    def should_sample(  # noqa: PLR0917 (the library's own)
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Whether a span is recorded."""
        with self._lock:
            now = self._seconds()
            due = now >= self._again_at
            if due:
                self._again_at = now + ASKED_FOR_SECONDS
        sampler = ALWAYS_ON if due else self._otherwise
        return sampler.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        """For people."""
        return f"NowAndThen({self._otherwise.get_description()})"


def _telling(span: Span) -> Told:
    def told(verdict: str, status: int, key: str) -> None:
        span.set_attributes({"trimtab.verdict": verdict, "trimtab.key": key, "http.response.status_code": status})
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR, verdict))

    return told


class _Traced:
    """A port from outside: each call of a method is a span, where a recorded request is around it. Nothing but attributes goes through."""

    def __init__(self, name: str, port: object, start: Callable[..., Span]) -> None:
        self._name = name
        self._port = port
        self._start = start

    def __getattr__(self, name: str) -> Any:
        if name in {"_name", "_port", "_start"}:
            raise AttributeError(name)  # of one that was copied without being made
        found = getattr(self._port, name)
        if name.startswith("_") or not callable(found):
            return found

        @wraps(found)
        def called(*arguments: Any, **named: Any) -> Any:
            above = get_current_span()
            if not above.is_recording():
                return found(*arguments, **named)
            span = self._start(f"{self._name}.{name}", set_span_in_context(above), SpanKind.CLIENT)
            try:
                result = found(*arguments, **named)
            except BaseException as error:
                _failed(span, error)
                raise
            if isinstance(result, Iterator):
                return _drained(result, span)
            span.end()
            return result

        return called


def _drained(results: Iterable[Any], span: Span) -> Iterator[Any]:
    """What a port yields bit by bit: the call lasts until the last was taken."""
    try:
        yield from results
    except GeneratorExit:
        span.end()
        raise
    except BaseException as error:
        _failed(span, error)
        raise
    span.end()


def _failed(span: Span, error: BaseException) -> None:
    """The kind of an error; its text may repeat what an event said."""
    span.set_attribute("error.type", type(error).__name__)
    span.set_status(Status(StatusCode.ERROR))
    span.end()


def _resource(project: str) -> dict[str, str]:
    known = {
        "cloud.platform": "gcp_cloud_run",
        "cloud.provider": "gcp",
        "gcp.project_id": project,
        "service.name": os.environ.get("K_SERVICE", "trimtab"),
        "service.version": os.environ.get("K_REVISION", ""),
    }
    return {name: value for name, value in known.items() if value}
