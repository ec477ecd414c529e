"""Which implementation stands behind each port: one function per entrance, chosen by the settings at the first request.

Google clients are imported inside the function that needs them; the entry points import the same modules at start-up, so that the
import is paid under Cloud Run's start-up CPU boost and not inside the first request (but for what watches requests, which is loaded with
the first one, and only where it is switched on). Clients themselves are made at their first
use: the server forks after the import.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from shared import log
from shared.clock import SystemClock, SystemIds
from shared.handlers.answer import unwatched
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.doctor.picture import Picture
    from shared.gcp.firestore_store import FirestoreStore
    from shared.gcp.traces import Traces
    from shared.handlers.answer import Headers, Told, Watch
    from shared.handlers.audit import AuditPorts
    from shared.handlers.command_work import CommandPorts
    from shared.handlers.keeping import FactPorts
    from shared.handlers.reconcile import ReconcilePorts
    from shared.handlers.schedule import SchedulePorts
    from shared.handlers.upload import UploadPorts
    from shared.ports import Bus, CommandStore, EventBus, IntakeStore, Logs, Metrics, ServiceDeleter, TemplatePlatform
    from shared.records.allow_lists import AllowLists
    from shared.records.rights import Grants

T = TypeVar("T")

_lock = RLock()
_made: dict[str, object] = {}


def install(
    *,
    alert: FactPorts | None = None,
    audit: AuditPorts | None = None,
    command: CommandPorts | None = None,
    upload: UploadPorts | None = None,
    schedule: SchedulePorts | None = None,
    reconcile: ReconcilePorts | None = None,
) -> None:
    """Put ready-made ports behind the entrances of this process: what the local edition, the demo and tests do."""
    given = {"alert": alert, "audit": audit, "command": command, "upload": upload, "schedule": schedule, "reconcile": reconcile}
    with _lock:
        _made.update({name: ports for name, ports in given.items() if ports is not None}, watch=unwatched)


def reset() -> None:
    """Forget what was made or installed."""
    with _lock:
        _made.clear()


def watch(function: str, headers: Headers) -> AbstractContextManager[Told]:
    """Watch a request of a function: spans and profiles, where the settings switch them on."""
    try:
        settings = _once("settings of watch", Settings.from_environment)
    except ValueError:
        # They do not hold: the handler reads them too, and says what is wrong. What is mended is watched.
        return unwatched(function, headers)
    return _once("watch", lambda: _watch(function, settings))(function, headers)


def _watch(function: str, settings: Settings) -> Watch:
    if settings.profiler:
        from shared.gcp import profiling

        profiling.start(function, settings.project, endpoint=_http(settings.telemetry_endpoint))
    traces = _traces(settings)
    return unwatched if traces is None else traces.request


def _traces(settings: Settings) -> Traces | None:
    """The spans of this process; None: they are not switched on, or cannot be made."""

    def make() -> Traces | None:
        if settings.trace_ratio == 0:
            return None
        try:
            from shared.gcp.traces import Traces

            return Traces(settings.project, ratio=settings.trace_ratio, endpoint=_http(settings.telemetry_endpoint))
        except Exception as error:  # noqa: BLE001 (spans must not decide what becomes of events)
            log.event("WARNING", "traces", problem="no spans come from this instance", error=type(error).__name__)
            return None

    return _once("traces", make)


def _seen(settings: Settings, name: str, port: T) -> T:
    """The port; with a span around each call where traces are switched on."""
    traces = _traces(settings)
    return port if traces is None or port is None else traces.of(name, port)


def alert_ports() -> FactPorts:
    """The ports of functions/alert."""

    def make() -> FactPorts:
        from shared.handlers.keeping import FactPorts

        settings = _cloud_settings()
        return FactPorts.of(_intake(settings), _bus(settings), SystemClock(), _events(settings))

    return _once("alert", make)


def audit_ports() -> AuditPorts:
    """The ports of functions/audit."""

    def make() -> AuditPorts:
        from shared.handlers.audit import AuditPorts
        from shared.handlers.keeping import FactPorts

        settings = _cloud_settings()
        facts = FactPorts.of(_intake(settings), _bus(settings), SystemClock(), _events(settings))
        return AuditPorts(facts, ours=settings.own_principals or ())

    return _once("audit", make)


def upload_ports() -> UploadPorts:
    """The ports of functions/upload."""

    def make() -> UploadPorts:
        from shared.gcp.firestore_uploads import FirestoreUploads
        from shared.handlers.upload import UploadPorts

        settings = _cloud_settings()
        store = _seen(settings, "store", FirestoreUploads.connect(settings.project, settings.firestore_database))
        return UploadPorts.of(store, _bus(settings), SystemClock(), _events(settings))

    return _once("upload", make)


def command_ports() -> CommandPorts:
    """The ports of functions/command. Cloud Run's client is loaded only by the command that deletes a service."""

    def make() -> CommandPorts:
        from shared.gcp.pubsub_redrive import PubsubRedriver
        from shared.handlers.command_work import CommandPorts

        settings = _cloud_settings()
        return CommandPorts(
            store=_seen(settings, "store", command_store(settings)),
            states=_everything(settings),
            bus=_bus(settings),
            clock=SystemClock(),
            redriver=_seen(settings, "redriver", PubsubRedriver(settings.project, settings.function_topics)),
            deleter=lambda: _seen(settings, "platform", _deleter(settings)),
            grants=_grants(settings),
            allowed=_allowed(settings),
            push_account=settings.push_service_account,
            events=_events(settings),
        )

    return _once("command", make)


def command_store(settings: Settings) -> CommandStore:
    """Where specs, holds and parked events are: what `trimtab parked` lists."""
    from shared.gcp.firestore_commands import FirestoreCommands

    return FirestoreCommands.connect(settings.project, settings.firestore_database)


def _grants(settings: Settings) -> Grants:
    from pydantic import ValidationError

    from shared.records.rights import Grants

    try:
        return Grants.of(settings.command_grants)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors(include_url=False, include_input=False)[:5]
        )
        raise ValueError(f"settings: TRIMTAB_COMMAND_GRANTS: {faults}") from None


def _allowed(settings: Settings) -> AllowLists:
    """What specs may name: judged when a command gives them, and once more before anything is made of them."""
    from shared.records.allow_lists import AllowLists

    return AllowLists.of(
        images=settings.allowed_images,
        service_accounts=settings.allowed_service_accounts,
        buckets=settings.allowed_buckets,
        projects=settings.allowed_projects,
    )


def _deleter(settings: Settings) -> ServiceDeleter:
    from shared.gcp.cloud_run import CloudRunPlatform

    return CloudRunPlatform(SystemClock(), endpoint=settings.cloud_run_endpoint, rest_endpoint=settings.cloud_run_rest_endpoint)


def schedule_ports() -> SchedulePorts:
    """The ports of functions/schedule."""

    def make() -> SchedulePorts:
        from shared.handlers.schedule import SchedulePorts

        settings = _cloud_settings()
        store = _everything(settings)
        return SchedulePorts(store=store, bus=_bus(settings), clock=SystemClock(), models=store)

    return _once("schedule", make)


def reconcile_ports() -> ReconcilePorts:
    """The ports of functions/reconcile. Quotas have no source on Google Cloud yet: they are Unknown."""

    def make() -> ReconcilePorts:
        from shared.gcp.gcs import CloudStorage
        from shared.gcp.prober import HttpProber
        from shared.handlers.reconcile import ReconcilePorts

        settings, clock = _cloud_settings(), SystemClock()
        platform, store = _seen(settings, "platform", cloud_run(settings)), _everything(settings)
        return ReconcilePorts(
            store=store,
            platform=platform,
            bus=_bus(settings),
            clock=clock,
            ids=SystemIds(clock),
            metrics=_seen(settings, "metrics", _metrics(settings)),
            logs=_seen(settings, "logs", _logs(settings)),
            templates=platform,
            prober=_seen(settings, "prober", HttpProber()),
            events=_events(settings),
            models=store,
            files=_seen(settings, "files", CloudStorage(endpoint=_http(settings.storage_endpoint))),
            allowed=_allowed(settings),
        )

    return _once("reconcile", make)


def cloud_run(settings: Settings) -> TemplatePlatform:
    """Cloud Run: Google's with the environment's credentials, or the simulated one that the settings name.

    Raises:
        ValueError: an endpoint is none on this machine.
    """
    from shared.gcp.cloud_run import CloudRunPlatform

    return CloudRunPlatform(SystemClock(), endpoint=settings.cloud_run_endpoint, rest_endpoint=settings.cloud_run_rest_endpoint)


def project_picture(project: str, *, database: str, archive: str | None) -> Picture:
    """What a project has of a deployment, read over Google's APIs with the environment's credentials.

    Raises:
        NoCredentialsError: the environment gives no token.
    """
    from shared.gcp.project_look import look

    return look(project, SystemClock(), database=database, archive=archive)


def _metrics(settings: Settings) -> Metrics | None:
    """Cloud Monitoring; none beside a simulated Cloud Run that has no simulated one: the real one knows nothing of it."""
    from shared.gcp.cloud_monitoring import CloudMonitoring

    if settings.monitoring_endpoint is None and settings.cloud_run_endpoint is not None:
        return None
    return CloudMonitoring(SystemClock(), endpoint=_http(settings.monitoring_endpoint))


def _logs(settings: Settings) -> Logs | None:
    """Cloud Logging, likewise."""
    from shared.gcp.cloud_logging import CloudLogging

    if settings.logging_endpoint is None and settings.cloud_run_endpoint is not None:
        return None
    return CloudLogging(endpoint=_http(settings.logging_endpoint))


def _http(endpoint: str | None) -> str | None:
    return None if endpoint is None else f"http://{endpoint}"


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

    return _seen(settings, "store", FirestoreIntake.connect(settings.project, settings.firestore_database))


def _everything(settings: Settings) -> FirestoreStore:
    from shared.gcp.firestore_store import FirestoreStore

    return _seen(settings, "store", FirestoreStore.connect(settings.project, settings.firestore_database))


def _events(settings: Settings) -> EventBus | None:
    from shared.gcp.pubsub_events import PubsubEvents

    return None if settings.events_topic is None else _seen(settings, "events", PubsubEvents(settings.project, settings.events_topic))


def _bus(settings: Settings) -> Bus:
    from shared.gcp.pubsub_bus import PubsubBus

    return _seen(settings, "bus", PubsubBus(project=settings.project, topic=settings.wakes_topic))
