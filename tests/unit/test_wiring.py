"""Which ports stand behind the entrances of this process."""

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from shared import wiring
from shared.clock import SystemClock
from shared.errors import Retry
from shared.gcp import profiling
from shared.gcp.cloud_logging import CloudLogging
from shared.gcp.cloud_monitoring import CloudMonitoring
from shared.gcp.cloud_run import CloudRunPlatform
from shared.gcp.firestore_intake import FirestoreIntake
from shared.gcp.firestore_store import FirestoreStore
from shared.gcp.pubsub_bus import PubsubBus
from shared.handlers.answer import Handled, serve
from shared.handlers.command_work import CommandPorts
from shared.records.subject import Wake
from tests.support.builders import RANKER
from tests.support.rig import Rig
from tests.support.telemetry_door import telemetry_door


@pytest.fixture(autouse=True)
def nothing_made(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings but those of the test; emulators of which nobody asks anything keep the clients from looking for credentials."""
    for name in ("TRIMTAB_EDITION", "TRIMTAB_PROJECT", "GOOGLE_CLOUD_PROJECT", "TRIMTAB_TRACE_RATIO", "TRIMTAB_PROFILER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:1")
    monkeypatch.setenv("TRIMTAB_CLOUD_RUN_ENDPOINT", "127.0.0.1:1")
    wiring.reset()
    yield
    wiring.reset()


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_PROJECT", "acme-ml")


def test_what_is_installed_is_what_the_entrances_get() -> None:
    rig = Rig()
    wiring.install(alert=rig.alert_ports, schedule=rig.schedule_ports, reconcile=rig.reconcile_ports)
    assert wiring.alert_ports() is rig.alert_ports
    assert wiring.schedule_ports() is rig.schedule_ports
    assert wiring.reconcile_ports() is rig.reconcile_ports


def test_a_reset_forgets_what_was_installed() -> None:
    rig = Rig()
    wiring.install(alert=rig.alert_ports, schedule=rig.schedule_ports, reconcile=rig.reconcile_ports)
    wiring.reset()
    with pytest.raises(ValueError, match="TRIMTAB_PROJECT"):
        wiring.alert_ports()


@pytest.mark.parametrize("entrance", [wiring.alert_ports, wiring.schedule_ports, wiring.reconcile_ports])
def test_without_a_project_every_entrance_says_so(entrance: object) -> None:
    assert callable(entrance)
    with pytest.raises(ValueError, match="TRIMTAB_PROJECT is not set"):
        entrance()


@pytest.mark.parametrize("entrance", [wiring.alert_ports, wiring.schedule_ports, wiring.reconcile_ports])
@pytest.mark.usefixtures("project")
def test_the_local_edition_without_its_command_says_what_to_run(entrance: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_EDITION", "local")
    assert callable(entrance)
    with pytest.raises(ValueError, match="runs inside `trimtab local`"):
        entrance()


@pytest.mark.usefixtures("project")
def test_on_google_cloud_the_event_functions_get_firestore_and_pubsub() -> None:
    alert, schedule = wiring.alert_ports(), wiring.schedule_ports()
    assert (type(alert.store), type(schedule.store)) == (FirestoreIntake, FirestoreStore)
    assert isinstance(schedule.bus, PubsubBus)
    assert isinstance(schedule.clock, SystemClock)


@pytest.mark.usefixtures("project")
def test_reconcile_gets_cloud_run_and_no_source_of_metrics_yet() -> None:
    ports = wiring.reconcile_ports()
    assert isinstance(ports.platform, CloudRunPlatform)
    assert (ports.metrics, ports.quota) == (None, None)
    assert len(ports.ids.new_id()) == 26


@pytest.mark.usefixtures("project")
def test_ports_are_made_once_however_many_requests_come_first() -> None:
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(wiring.alert_ports())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(ports) for ports in made}) == 1


def test_a_missing_setting_that_is_set_later_is_seen_by_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="TRIMTAB_PROJECT"):
        wiring.alert_ports()
    monkeypatch.setenv("TRIMTAB_PROJECT", "acme-ml")
    assert wiring.alert_ports() is wiring.alert_ports()


@pytest.mark.usefixtures("project")
def test_beside_a_simulated_cloud_run_no_real_logs_and_metrics_are_asked() -> None:
    ports = wiring.reconcile_ports()
    assert (ports.logs, ports.metrics) == (None, None)


@pytest.mark.usefixtures("project")
def test_logs_and_metrics_come_from_google_or_from_where_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_LOGGING_ENDPOINT", "127.0.0.1:2")
    monkeypatch.setenv("TRIMTAB_MONITORING_ENDPOINT", "127.0.0.1:3")
    ports = wiring.reconcile_ports()
    assert (type(ports.logs), type(ports.metrics)) == (CloudLogging, CloudMonitoring)
    wiring.reset()
    for name in ("CLOUD_RUN", "LOGGING", "MONITORING"):
        monkeypatch.delenv(f"TRIMTAB_{name}_ENDPOINT")
    ports = wiring.reconcile_ports()
    assert (type(ports.logs), type(ports.metrics)) == (CloudLogging, CloudMonitoring)


# -- who watches requests


class Push:
    """A request of Pub/Sub's."""

    method = "POST"

    def __init__(self, **headers: str) -> None:
        self.headers = headers

    def get_data(self) -> bytes:
        return b""


def served() -> tuple[str, int]:
    return serve("alert", Push(), lambda _headers, _read: Handled("done", "k"), wiring.watch)


@pytest.mark.usefixtures("project")
def test_with_the_switches_off_nobody_watches_and_no_port_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where spans could be sent and profiles made."""
    monkeypatch.setattr(profiling, "start", None)
    with telemetry_door() as door:
        monkeypatch.setenv("TRIMTAB_TELEMETRY_ENDPOINT", door.endpoint)
        assert served() == ("done\n", 200)
        assert type(wiring.alert_ports().store) is FirestoreIntake
        assert door.exports == []


@pytest.mark.usefixtures("project")
def test_with_traces_on_each_request_is_a_span_and_each_call_of_a_port_one_below(monkeypatch: pytest.MonkeyPatch) -> None:
    with telemetry_door() as door:
        monkeypatch.setenv("TRIMTAB_TRACE_RATIO", "1")
        monkeypatch.setenv("TRIMTAB_TELEMETRY_ENDPOINT", door.endpoint)

        def handle(_headers: object, _read: object) -> Handled:
            with contextlib.suppress(Retry):  # nothing listens at the emulator's address
                wiring.alert_ports().bus.publish_wakes([Wake.of(RANKER, "test")])
            return Handled("done", "k")

        assert serve("alert", Push(), handle, wiring.watch) == ("done\n", 200)
        assert sorted(span.name for span in door.spans()) == ["alert", "bus.publish_wakes"]


ALL_PORTS = {
    wiring.alert_ports: {"store", "bus", "events"},
    wiring.upload_ports: {"store", "bus", "events"},
    wiring.schedule_ports: {"store", "bus", "models"},
    wiring.command_ports: {"store", "states", "bus", "redriver", "events"},
    wiring.reconcile_ports: {
        "store",
        "platform",
        "bus",
        "templates",
        "prober",
        "models",
        "files",
        "events",
        "metrics",
        "logs",
    },
}


@pytest.mark.parametrize("entrance", ALL_PORTS)
@pytest.mark.usefixtures("project")
def test_with_traces_on_every_port_that_goes_out_is_seen(entrance: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_TRACE_RATIO", "0.5")
    for name in ("TELEMETRY", "MONITORING", "LOGGING"):
        monkeypatch.setenv(f"TRIMTAB_{name}_ENDPOINT", "127.0.0.1:1")
    monkeypatch.setenv("TRIMTAB_EVENTS_TOPIC", "events")
    ports = entrance()
    seen = {field.name for field in fields(ports) if type(getattr(ports, field.name)).__module__ == "shared.gcp.traces"}
    assert seen == ALL_PORTS[entrance]
    if isinstance(ports, CommandPorts):
        assert type(ports.deleter()).__module__ == "shared.gcp.traces"


@pytest.mark.usefixtures("project")
def test_a_source_that_is_none_stays_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_TRACE_RATIO", "0.5")
    monkeypatch.setenv("TRIMTAB_TELEMETRY_ENDPOINT", "127.0.0.1:1")
    ports = wiring.reconcile_ports()
    assert (ports.metrics, ports.logs, ports.events) == (None, None, None)


@pytest.mark.usefixtures("project")
def test_without_credentials_requests_go_on_without_spans(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIMTAB_TRACE_RATIO", "1")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert [served(), served()] == [("done\n", 200)] * 2
    assert warnings(capsys) == [{"problem": "DefaultCredentialsError", "dropped_for_seconds": 60.0}]


def warnings(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The warnings about traces, but for the trace that they lie in."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [
        {name: value for name, value in line.items() if name not in {"severity", "message"} and not name.startswith("logging.")}
        for line in lines
        if (line["severity"], line["message"]) == ("WARNING", "traces")
    ]


@pytest.mark.usefixtures("project")
def test_where_the_library_of_spans_fails_events_go_on_and_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIMTAB_TRACE_RATIO", "1")
    monkeypatch.setitem(sys.modules, "shared.gcp.traces", None)
    assert [served(), served()] == [("done\n", 200)] * 2
    assert type(wiring.alert_ports().store) is FirestoreIntake
    assert warnings(capsys) == [{"problem": "no spans come from this instance", "error": "ModuleNotFoundError"}]


def test_settings_that_do_not_hold_are_the_handlers_to_say_and_what_is_mended_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert served() == ("done\n", 200)
    with telemetry_door() as door:
        monkeypatch.setenv("TRIMTAB_PROJECT", "acme-ml")
        monkeypatch.setenv("TRIMTAB_TRACE_RATIO", "1")
        monkeypatch.setenv("TRIMTAB_TELEMETRY_ENDPOINT", door.endpoint)
        served()
        assert [span.name for span in door.spans()] == ["alert"]


@pytest.mark.usefixtures("project")
def test_the_profiler_starts_with_the_first_request_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, str, str | None]] = []
    monkeypatch.setattr(profiling, "start", lambda function, project, *, endpoint: started.append((function, project, endpoint)))
    monkeypatch.setenv("TRIMTAB_PROFILER", "true")
    monkeypatch.setenv("TRIMTAB_TELEMETRY_ENDPOINT", "127.0.0.1:8087")
    assert [served(), served()] == [("done\n", 200)] * 2
    assert started == [("alert", "acme-ml", "http://127.0.0.1:8087")]


@pytest.mark.usefixtures("project")
def test_ports_that_were_put_in_place_are_watched_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(profiling, "start", lambda function, _project, *, endpoint: started.append(f"{function} {endpoint}"))
    monkeypatch.setenv("TRIMTAB_PROFILER", "true")
    wiring.install(alert=Rig().alert_ports)
    assert served() == ("done\n", 200)
    assert started == []
