"""Cloud Profiler is started once, in the background, and whatever goes wrong is a warning."""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shared.gcp import profiling


class Profiler(ModuleType):
    """The library's one function."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__("googlecloudprofiler")
        self.calls: list[dict[str, Any]] = []
        self._failure = failure

    def start(self, **arguments: Any) -> None:
        self.calls.append(arguments)
        if self._failure is not None:
            raise self._failure


def started(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """The one line that it logs."""
    profiling.start("alert", "acme-ml", **options).join(10)
    (line,) = capsys.readouterr().out.splitlines()
    said: dict[str, Any] = json.loads(line)
    return said


def test_it_profiles_the_function_by_its_name_and_revision(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    profiler = Profiler()
    monkeypatch.setitem(sys.modules, "googlecloudprofiler", profiler)
    monkeypatch.setenv("K_REVISION", "trimtab-alert-00007-abc")
    assert started(capsys) == {"severity": "INFO", "message": "profiler", "asked_to_start": "trimtab-alert"}
    assert profiler.calls == [
        {
            "service": "trimtab-alert",
            "service_version": "trimtab-alert-00007-abc",
            "project_id": "acme-ml",
            "disable_wall_profiling": True,
            "verbose": 3,
            "discovery_service_url": None,
        }
    ]


def test_another_endpoint_is_asked_for_its_discovery(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    profiler = Profiler()
    monkeypatch.setitem(sys.modules, "googlecloudprofiler", profiler)
    started(capsys, endpoint="http://127.0.0.1:8087")
    assert profiler.calls[0]["discovery_service_url"] == "http://127.0.0.1:8087/discovery/{api}/{apiVersion}"


def test_an_archive_without_it_says_which_one_to_deploy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "googlecloudprofiler", None)
    said = started(capsys)
    assert said["severity"] == "WARNING"
    assert "build/trimtab-profiler.zip" in said["problem"]


@pytest.fixture(autouse=True)
def own_logger() -> Iterator[None]:
    """The library's logger as in a process of its own."""
    yield
    logger = logging.getLogger("googlecloudprofiler")
    logger.handlers.clear()
    logger.propagate = True


@pytest.mark.parametrize("failure", [ValueError("no project"), NotImplementedError("no Linux"), OSError("no network"), KeyError("secret")])
def test_what_goes_wrong_is_a_warning(failure: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "googlecloudprofiler", Profiler(failure))
    said = started(capsys)
    assert said == {"severity": "WARNING", "message": "profiler", "problem": profiling.NOT_STARTED, "error": type(failure).__name__}


def test_a_library_that_cannot_be_loaded_is_not_called_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "googlecloudprofiler.py").write_text("import httplib2_of_another_version\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "googlecloudprofiler", raising=False)
    said = started(capsys)
    assert (said["severity"], said["problem"]) == ("WARNING", profiling.NOT_STARTED)


REFUSED = '<HttpError 403 when requesting https://cloudprofiler.googleapis.com/v2/projects/acme-ml/profiles "Permission denied">'
CONFLICT = '<HttpError 409 when requesting https://cloudprofiler.googleapis.com/v2/projects/acme-ml/profiles "no profile now">'


def test_a_refusal_that_the_library_calls_debugging_is_a_warning_and_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "googlecloudprofiler", Profiler())
    started(capsys)
    logger = logging.getLogger("googlecloudprofiler.client")
    monkeypatch.setattr(logger.parent, "level", logging.DEBUG)  # as `verbose` does it
    for text in (CONFLICT, REFUSED, REFUSED):
        logger.debug("Starting to create profile")
        logger.debug("Failed to create profile (will retry after %.3fs): %s", 12.5, text)
    (said,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (said["severity"], said["message"]) == ("WARNING", "profiler")
    assert "HttpError 403" in said["problem"]
