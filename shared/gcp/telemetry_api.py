"""Spans to Google's Telemetry API as OTLP over HTTP, or to a collector on this machine.

Sources: OTLP's specification (a success is 200); Google's pages of the Telemetry API (`gcp.project_id` of the resource is the project that
keeps the spans; the scope `trace.append`).
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from shared.gcp.http_session import HttpSession

GOOGLE: Final = "https://telemetry.googleapis.com"
PATH: Final = "/v1/traces"
SCOPE: Final = "https://www.googleapis.com/auth/trace.append"
OPERATION_SECONDS: Final = 2.0
"""Of an exporter's attempts, and of each operation on a socket in them; the bound of a request's wait is another's."""


class TelemetryApi:
    """Sends spans. `endpoint` (`http://127.0.0.1:4318`) is for a collector on this machine, without credentials."""

    def __init__(self, *, endpoint: str | None = None) -> None:
        """Fetch the environment's credentials, which takes its time where they come from a server.

        Raises:
            google.auth.exceptions.GoogleAuthError: there are none.
        """
        session = HttpSession(SCOPE, anonymous=endpoint is not None).connected()
        session.hooks["response"].append(self._answered)
        self._exporter = OTLPSpanExporter(endpoint=f"{endpoint or GOOGLE}{PATH}", session=session, timeout=OPERATION_SECONDS)
        self._statuses: list[int] = []
        # Its own lines repeat what comes from outside; what went wrong is told below.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        logging.getLogger("opentelemetry").propagate = False

    def send(self, spans: Sequence[ReadableSpan]) -> str:
        """Send them; what went wrong is the HTTP status, or that there was no answer."""
        self._statuses.clear()
        result = self._exporter.export(spans)
        if not self._statuses:
            return "no answer"
        if result is not SpanExportResult.SUCCESS or self._statuses[-1] != requests.codes.ok:
            return f"refused with HTTP {self._statuses[-1]}"
        return ""

    def _answered(self, response: requests.Response, *_arguments: Any, **_named: Any) -> None:
        self._statuses.append(response.status_code)
