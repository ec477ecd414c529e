"""The probes of a service as rules look at them, and how long a start may take. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shared.cloudrun.fields import Json
from shared.cloudrun.probes import DEFAULT_STARTUP_TIMING, ProbeAction, ProbeKind, Timing
from shared.lint.deployment import Deployment
from shared.lint.pasting import paste
from shared.lint.service_parts import containers, parts, whole
from shared.lint.v2_values import part

_FIELDS = {ProbeKind.STARTUP: "startupProbe", ProbeKind.LIVENESS: "livenessProbe", ProbeKind.READINESS: "readinessProbe"}
_ACTIONS = {"httpGet": ProbeAction.HTTP_GET, "tcpSocket": ProbeAction.TCP_SOCKET, "grpc": ProbeAction.GRPC}


_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold", "successThreshold")


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe. `port` is as stated (None: the container's); `path` is that of an HTTP probe."""

    kind: ProbeKind
    pointer: str
    container: int
    is_server: bool
    """Whether it is of the container that serves."""
    timing: Timing
    actions: frozenset[ProbeAction]
    port: int | None
    path: str | None

    @property
    def name(self) -> str:
        """The field: `startupProbe`."""
        return _FIELDS[self.kind]

    def action_pointer(self, name: str = "") -> str:
        """The pointer of what the probe does, or of a field of it."""
        action = next((field for field, each in _ACTIONS.items() if each in self.actions), "")
        return f"{self.pointer}/{action}/{name}" if name else f"{self.pointer}/{action}"


def probes(deployment: Deployment) -> Iterator[Probe]:
    """Every probe of a Cloud Run service, sidecars' included."""
    for at, pointer, container in containers(deployment):
        for kind, field in _FIELDS.items():
            if isinstance(container.get(field), dict):
                yield _probe(container[field], kind, f"{pointer}/{field}", at, is_server=pointer == deployment.container_pointer)


def startup_probe(deployment: Deployment) -> Probe | None:
    """Of the container that serves."""
    return next((each for each in probes(deployment) if each.is_server and each.kind is ProbeKind.STARTUP), None)


def start_window_seconds(deployment: Deployment) -> int | None:
    """How long the server may take from its start to its open port; None where the description does not say."""
    probe = startup_probe(deployment)
    if probe is not None:
        return probe.timing.initial_delay_seconds + probe.timing.window_seconds
    if not deployment.complete or deployment.template.get("healthCheckDisabled"):
        return None
    return DEFAULT_STARTUP_TIMING.window_seconds


def probe_text(deployment: Deployment, probe: Probe, changes: Mapping[str, int]) -> str:
    """The probe with other numbers, to paste: the whole flag for a command, the changed fields for a document."""
    found = part(parts(deployment.template, "containers")[probe.container], probe.name)
    settings = [(f"{name}.{key}", value) for name in _ACTIONS for key, value in part(found, name).items() if value]
    numbers = {**{name: found.get(name) for name in _NUMBERS}, **changes}
    settings += [(name, value) for name, value in numbers.items() if value is not None]
    flag = f"--{probe.name.removesuffix('Probe')}-probe"
    return paste(
        deployment,
        flags=f"{flag}={','.join(f'{name}={value}' for name, value in settings if not isinstance(value, list | dict))}",
        v2={probe.name: dict(changes)},
    )


def _probe(found: Json, kind: ProbeKind, pointer: str, at: int, *, is_server: bool) -> Probe:
    timing = Timing(
        initial_delay_seconds=whole(found, "initialDelaySeconds"),
        timeout_seconds=whole(found, "timeoutSeconds"),
        period_seconds=whole(found, "periodSeconds"),
        failure_threshold=whole(found, "failureThreshold"),
    )
    actions = [name for name in _ACTIONS if isinstance(found.get(name), dict)]
    action = part(found, actions[0]) if actions else {}
    path = str(action.get("path") or "/") if actions and actions[0] == "httpGet" else None
    return Probe(kind, pointer, at, is_server, timing, frozenset(_ACTIONS[name] for name in actions), whole(action, "port") or None, path)
