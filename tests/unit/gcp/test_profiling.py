"""Cloud Profiler is started once, in the background, and whatever goes wrong is a warning."""

import json
import sys
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
    assert started(capsys) == {"severity": "INFO", "message": "profiler", "started": "trimtab-alert"}
    assert profiler.calls == [
        {
            "service": "trimtab-alert",
            "service_version": "trimtab-alert-00007-abc",
            "project_id": "acme-ml",
            "disable_wall_profiling": True,
            "verbose": 1,
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


@pytest.mark.parametrize("failure", [ValueError("no project"), NotImplementedError("no Linux"), OSError("no network")])
def test_what_goes_wrong_is_a_warning(failure: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "googlecloudprofiler", Profiler(failure))
    said = started(capsys)
    assert (said["severity"], said["error"]) == ("WARNING", f"{type(failure).__name__}: {failure}")
