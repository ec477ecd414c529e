"""Which ports stand behind the entrances of this process."""

import threading
from collections.abc import Iterator

import pytest

from shared import wiring
from shared.clock import SystemClock
from shared.gcp.cloud_logging import CloudLogging
from shared.gcp.cloud_monitoring import CloudMonitoring
from shared.gcp.cloud_run import CloudRunPlatform
from shared.gcp.firestore_intake import FirestoreIntake
from shared.gcp.firestore_store import FirestoreStore
from shared.gcp.pubsub_bus import PubsubBus
from tests.support.rig import Rig


@pytest.fixture(autouse=True)
def nothing_made(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings but those of the test; emulators of which nobody asks anything keep the clients from looking for credentials."""
    for name in ("TRIMTAB_EDITION", "TRIMTAB_PROJECT", "GOOGLE_CLOUD_PROJECT"):
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
