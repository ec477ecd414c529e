"""Which implementation stands behind each port: one function per entrance, chosen by the settings at the first request.

Google clients are imported inside the function that needs them; the entry points import the same modules at start-up, so that the
import is paid under Cloud Run's start-up CPU boost and not inside the first request. Clients themselves are made at their first
use: the server forks after the import.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from shared.clock import SystemClock, SystemIds
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.handlers.alert import AlertPorts
    from shared.handlers.reconcile import ReconcilePorts
    from shared.handlers.schedule import SchedulePorts
    from shared.ports import Bus, IntakeStore, Store, TemplatePlatform

T = TypeVar("T")

_lock = RLock()
_made: dict[str, object] = {}


def install(*, alert: AlertPorts, schedule: SchedulePorts, reconcile: ReconcilePorts) -> None:
    """Put ready-made ports behind the entrances of this process: what the local edition, the demo and tests do."""
    with _lock:
        _made.update({"alert": alert, "schedule": schedule, "reconcile": reconcile})


def reset() -> None:
    """Forget what was made or installed."""
    with _lock:
        _made.clear()


def alert_ports() -> AlertPorts:
    """The ports of functions/alert."""

    def make() -> AlertPorts:
        from shared.handlers.alert import AlertPorts

        settings = _cloud_settings()
        return AlertPorts.of(_intake(settings), _bus(settings), SystemClock())

    return _once("alert", make)


def schedule_ports() -> SchedulePorts:
    """The ports of functions/schedule."""

    def make() -> SchedulePorts:
        from shared.handlers.schedule import SchedulePorts

        settings = _cloud_settings()
        return SchedulePorts(store=_intake(settings), bus=_bus(settings), clock=SystemClock())

    return _once("schedule", make)


def reconcile_ports() -> ReconcilePorts:
    """The ports of functions/reconcile. Metrics and quotas have no source on Google Cloud yet: they are Unknown."""

    def make() -> ReconcilePorts:
        from shared.gcp.prober import HttpProber
        from shared.handlers.reconcile import ReconcilePorts

        settings, clock = _cloud_settings(), SystemClock()
        platform = cloud_run(settings)
        return ReconcilePorts(
            store=_store(settings),
            platform=platform,
            bus=_bus(settings),
            clock=clock,
            ids=SystemIds(clock),
            templates=platform,
            prober=HttpProber(),
        )

    return _once("reconcile", make)


def cloud_run(settings: Settings) -> TemplatePlatform:
    """Cloud Run: Google's with the environment's credentials, or the simulated one that the settings name.

    Raises:
        ValueError: an endpoint is none on this machine.
    """
    from shared.gcp.cloud_run import CloudRunPlatform

    return CloudRunPlatform(SystemClock(), endpoint=settings.cloud_run_endpoint, rest_endpoint=settings.cloud_run_rest_endpoint)


def _once(name: str, make: Callable[[], T]) -> T:
    with _lock:
        if name not in _made:
            _made[name] = make()
        return _made[name]  # type: ignore[return-value]  # each name has one maker


def _cloud_settings() -> Settings:
    settings = Settings.from_environment()
    if settings.edition == "local":
        msg = "TRIMTAB_EDITION=local: the local edition runs inside `trimtab local`, which puts its own ports in place"
        raise ValueError(msg)
    return settings


def _intake(settings: Settings) -> IntakeStore:
    from shared.gcp.firestore_intake import FirestoreIntake

    return FirestoreIntake.connect(settings.project, settings.firestore_database)


def _store(settings: Settings) -> Store:
    from shared.gcp.firestore_store import FirestoreStore

    return FirestoreStore.connect(settings.project, settings.firestore_database)


def _bus(settings: Settings) -> Bus:
    from shared.gcp.pubsub_bus import PubsubBus

    return PubsubBus(project=settings.project, topic=settings.wakes_topic)
