"""Spans as OTLP over HTTP, to a twin of the Telemetry API on this machine."""

import socket
from pathlib import Path

import pytest
from google.auth.exceptions import GoogleAuthError
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from shared.gcp.telemetry_api import GOOGLE, PATH, SCOPE, TelemetryApi
from tests.support.telemetry_door import attributes, telemetry_door


def span() -> object:
    made = TracerProvider(resource=Resource({"gcp.project_id": "acme-ml"}), shutdown_on_exit=False).get_tracer("t").start_span("alert")
    made.end()
    return made


def test_they_go_with_their_resource() -> None:
    with telemetry_door() as door:
        assert TelemetryApi(endpoint=f"http://{door.endpoint}").send([span()]) == ""  # type: ignore[list-item]
    (export,) = door.exports
    assert attributes(export.resource_spans[0].resource.attributes)["gcp.project_id"] == "acme-ml"
    assert [each.name for each in door.spans()] == ["alert"]


@pytest.mark.parametrize("status", [307, 400, 401, 403])
def test_a_refusal_says_its_status_and_no_text_from_outside(status: int, capfd: pytest.CaptureFixture[str]) -> None:
    with telemetry_door() as door:
        door.refusing = status
        assert TelemetryApi(endpoint=f"http://{door.endpoint}").send([span()]) == f"refused with HTTP {status}"  # type: ignore[list-item]
    assert capfd.readouterr() == ("", "")


def test_where_nobody_listens_there_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    assert TelemetryApi(endpoint=f"http://127.0.0.1:{port}").send([span()]) == "no answer"  # type: ignore[list-item]
    assert capfd.readouterr() == ("", "")


def test_without_credentials_it_is_not_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(GoogleAuthError):
        TelemetryApi()


def test_by_itself_it_sends_to_google_with_a_token_for_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with telemetry_door() as door:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(door.key_file(tmp_path)))
        api = TelemetryApi()
    assert api._exporter._endpoint == "https://telemetry.googleapis.com/v1/traces"
    assert (f"{GOOGLE}{PATH}", SCOPE) == (api._exporter._endpoint, "https://www.googleapis.com/auth/trace.append")
