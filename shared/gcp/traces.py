"""Spans of a function's requests, over OpenTelemetry (OTLP) to Google's Telemetry API. Loaded only where traces are switched on.

A request has one span, and each call of a port one below it. A request that Cloud Run traces itself (its `traceparent` says so, at most
one in ten seconds and instance) is always recorded, so that both are one trace; of the others the ratio is. A function has processor
time only while it answers, so what was recorded is sent before the answer goes out, in at most `SEND_SECONDS`; after a failure nothing
is sent for `PAUSE_SECONDS`. Nothing here fails a request, and no text of an event or an error is in a span.

Sources: OpenTelemetry's specification of sampling and trace context; Google's pages of the Telemetry API (`gcp.project_id` is the
project that keeps the spans, the scope `trace.append`) and of traces of Cloud Run.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, Self, TypeVar, cast

from google.auth.exceptions import GoogleAuthError
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, get_current_span, set_span_in_context, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shared import causes, log
from shared.gcp.http_session import HttpSession
from shared.handlers.answer import Headers, Told

GOOGLE: Final = "https://telemetry.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/trace.append"
SEND_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 60.0
SPANS_KEPT: Final = 2_048
"""So many spans wait to be sent at most; more are dropped."""
VALUE_LIMIT: Final = 256
"""Characters of an attribute."""
_NEVER_SECONDS: Final = 3_600.0
"""The library sends by a thread of its own as well, which has no processor time between requests: so rarely that it does not matter."""
_SERVER_ERROR: Final = 500

Port = TypeVar("Port")


class Traces:
    """The spans of a process. Made at the first request, because the functions' server forks after importing. Thread-safe."""

    def __init__(self, project: str, *, ratio: float, endpoint: str | None = None, exporter: SpanExporter | None = None) -> None:
        """`endpoint` (`http://127.0.0.1:4318`) is for a collector on this machine, without credentials; `exporter` for tests.

        Raises:
            google.auth.exceptions.DefaultCredentialsError: the environment has no credentials.
        """
        self._project = project
        sends = Patient(exporter or _exporter(endpoint), time.monotonic)
        chosen = TraceIdRatioBased(ratio)
        self._provider = TracerProvider(
            sampler=ParentBased(root=chosen, remote_parent_not_sampled=chosen),
            resource=Resource(_resource(project)),
            span_limits=SpanLimits(max_span_attribute_length=VALUE_LIMIT),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(sends, max_queue_size=SPANS_KEPT, schedule_delay_millis=_NEVER_SECONDS * 1_000)
        )
        self._tracer = self._provider.get_tracer("trimtab")
        self._propagator = TraceContextTextMapPropagator()
        _log_as_json()

    @contextmanager
    def request(self, function: str, headers: Headers) -> Iterator[Told]:
        """A span around a request, below the one that its `traceparent` names; log lines inside carry the trace."""
        parent = self._context(headers.get("traceparent", ""))
        span = self._tracer.start_span(function, parent, SpanKind.SERVER)
        try:
            with (
                use_span(span, record_exception=False, set_status_on_exception=False),
                log.within(self._fields(span)),
                causes.within(self._traceparent(span), lambda traceparent: self._link(span, traceparent)),
            ):
                yield _telling(span)
        finally:
            span.end()
            if span.get_span_context().trace_flags.sampled:
                self._provider.force_flush()

    def of(self, name: str, port: Port) -> Port:
        """The port, with a span around each call of a method of it inside a request that is recorded."""
        return cast("Port", _Traced(name, port, self._tracer.start_span))

    @classmethod
    def connect(cls, project: str, *, ratio: float, endpoint: str | None = None) -> Self | None:
        """The spans of this process with the environment's credentials; None, and a warning in the log, where there are none."""
        try:
            return cls(project, ratio=ratio, endpoint=endpoint)
        except GoogleAuthError as error:
            log.event("WARNING", "traces", said="no spans come from this instance", error=str(error))
            return None

    def close(self) -> None:
        """Send what waits, and end."""
        self._provider.shutdown()

    def _context(self, traceparent: str) -> Context:
        """What a `traceparent` names; nothing, where it is malformed."""
        return self._propagator.extract({"traceparent": traceparent[:VALUE_LIMIT]})

    def _traceparent(self, span: Span) -> str:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, set_span_in_context(span))
        return carrier["traceparent"]

    def _link(self, span: Span, traceparent: str) -> None:
        """The message was published by that span: it and this one are linked, not one trace, for many wakes may come to one look."""
        cause = get_current_span(self._context(traceparent)).get_span_context()
        if cause.is_valid:
            span.add_link(cause)

    def _fields(self, span: Span) -> Mapping[str, object]:
        """What Cloud Logging shows a line in its trace by."""
        context = span.get_span_context()
        return {
            "logging.googleapis.com/trace": f"projects/{self._project}/traces/{context.trace_id:032x}",
            "logging.googleapis.com/spanId": f"{context.span_id:016x}",
            "logging.googleapis.com/trace_sampled": context.trace_flags.sampled,
        }


def _telling(span: Span) -> Told:
    def told(verdict: str, status: int, key: str) -> None:
        span.set_attributes({"trimtab.verdict": verdict, "trimtab.key": key, "http.response.status_code": status})
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR, verdict))

    return told


class _Traced:
    """A port from outside: each call of a method is a span, where a recorded request is around it."""

    def __init__(self, name: str, port: object, start: Callable[..., Span]) -> None:
        self._name = name
        self._port = port
        self._start = start

    def __getattr__(self, name: str) -> Any:
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


class Patient(SpanExporter):
    """After a failure no spans are sent for a while: a Telemetry API that is away must not delay each answer."""

    def __init__(self, exporter: SpanExporter, monotonic_seconds: Callable[[], float]) -> None:
        self._exporter = exporter
        self._seconds = monotonic_seconds
        self._silent_until = float("-inf")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans, or drop them."""
        if self._seconds() < self._silent_until:
            return SpanExportResult.FAILURE
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self._silent_until = self._seconds() + PAUSE_SECONDS
        return result

    def shutdown(self) -> None:
        """End the sending."""
        self._exporter.shutdown()


def _exporter(endpoint: str | None) -> SpanExporter:
    session = HttpSession(SCOPE, anonymous=endpoint is not None).connected()
    return OTLPSpanExporter(endpoint=f"{endpoint or GOOGLE}/v1/traces", session=session, timeout=SEND_SECONDS)


def _resource(project: str) -> dict[str, str]:
    known = {
        "cloud.platform": "gcp_cloud_run",
        "cloud.provider": "gcp",
        "gcp.project_id": project,
        "service.name": os.environ.get("K_SERVICE", "trimtab"),
        "service.version": os.environ.get("K_REVISION", ""),
    }
    return {name: value for name, value in known.items() if value}


class _Lines(logging.Handler):
    """What OpenTelemetry says, as our log lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print it."""
        severity: log.Severity = "WARNING" if record.levelno >= logging.WARNING else "INFO"
        log.event(severity, "traces", said=record.getMessage(), by=record.name)


def _log_as_json() -> None:
    """Once a process: its own handler instead of plain text on standard error."""
    logger = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, _Lines) for handler in logger.handlers):
        logger.addHandler(_Lines())
        logger.propagate = False
