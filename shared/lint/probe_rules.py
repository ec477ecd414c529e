"""Rules about start-up, liveness and readiness probes, and the time that a start has. Pure."""

import math
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from shared.cloudrun.fields import Json
from shared.cloudrun.probes import DEFAULT_STARTUP_TIMING, GPU_STARTUP_WINDOW_SECONDS, STARTUP_WINDOW_SECONDS, ProbeAction, ProbeKind
from shared.cloudrun.server_texts import ServerText
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.pasting import paste
from shared.lint.probe_views import Probe, probes, start_window_seconds, startup_probe
from shared.lint.service_parts import front_is_server, where_absent
from shared.tfserving.monitoring import PROMETHEUS_PATH

HEALTH_SINCE = (2, 15)
"""The first release with --enable_grpc_healthcheck_service."""
_PERIOD_SECONDS = 10
_MARGIN = 1.5
_MODEL_PATH = re.compile(r"/v1/models/(?P<name>[^/:]+)(?:/versions/[0-9]+|/labels/[^/:]+)?(?:/metadata)?", re.IGNORECASE)
_RELEASE = re.compile(r"(?P<major>[0-9]+)\.(?P<minor>[0-9]+)")


def start_window(deployment: Deployment) -> Iterator[Finding]:
    """A measured start that is longer than the probe waits."""
    start_s, window = deployment.given.workload.start_s, start_window_seconds(deployment)
    if start_s is None or window is None or start_s < window:
        return
    probe = startup_probe(deployment)
    most = GPU_STARTUP_WINDOW_SECONDS if deployment.gpu else STARTUP_WINDOW_SECONDS
    if probe is None:
        where = where_absent(deployment, f"{deployment.container_pointer}/startupProbe", flag="--startup-probe")
        how = "without a start-up probe Cloud Run waits 240 s"
    else:
        where = deployment.where(probe.pointer)
        timing = probe.timing
        delay = f"{timing.initial_delay_seconds} + " if timing.initial_delay_seconds else ""
        tries = timing.window_seconds // timing.period_in_force_seconds
        how = f"the {probe.name} waits {delay}{timing.period_in_force_seconds} x {tries} = {window} s"
    more = f" Cloud Run allows {most} s: make the start shorter too." if start_s >= most else ""
    message = f"The server needs {start_s:g} s from its start to its open port; {how} and then gives the instance up.{more}"
    yield Finding("startup-window-too-short", message, where, startup_probe_text(deployment, start_s))


def startup_probe_text(deployment: Deployment, start_s: float) -> str:
    """A TCP start-up probe that waits half as long again as the measured start, within what Cloud Run allows."""
    most = GPU_STARTUP_WINDOW_SECONDS if deployment.gpu else STARTUP_WINDOW_SECONDS
    threshold = min(max(3, math.ceil(start_s * _MARGIN / _PERIOD_SECONDS)), most // _PERIOD_SECONDS)
    port = _server_port(deployment)
    flags = (
        f"--startup-probe=tcpSocket.port={port},initialDelaySeconds=0,periodSeconds={_PERIOD_SECONDS},timeoutSeconds=1,"
        f"failureThreshold={threshold}"
    )
    probe: Json = {"tcpSocket": {"port": port}, "periodSeconds": _PERIOD_SECONDS, "timeoutSeconds": 1, "failureThreshold": threshold}
    return paste(deployment, flags=flags, v2={"startupProbe": probe})


def single_attempt(deployment: Deployment) -> Iterator[Finding]:
    """An HTTP or gRPC start-up probe with one try: it meets a closed port and fails at once."""
    for probe in probes(deployment):
        if probe.kind is not ProbeKind.STARTUP or probe.timing.failure_threshold != 1 or ProbeAction.TCP_SOCKET in probe.actions:
            continue
        if probe.actions:
            what = "HTTP" if ProbeAction.HTTP_GET in probe.actions else "gRPC"
            where = deployment.where(f"{probe.pointer}/failureThreshold")
            message = (
                f"The {what} start-up probe has one try: the connection is refused while the model loads, and that fails it at once, "
                "whatever the timeout. Only a TCP probe waits for the port."
            )
            start_s = deployment.given.workload.start_s or start_window_seconds(deployment) or 240
            yield Finding("startup-probe-single-attempt", message, where, startup_probe_text(deployment, start_s))


def path_of_probe(deployment: Deployment) -> Iterator[Finding]:
    """An HTTP probe of a path that TF Serving answers with 404, or on its gRPC port."""
    if deployment.flags is None or not front_is_server(deployment):
        return
    for probe in probes(deployment):
        port = probe.port or deployment.container_port
        if not probe.is_server or probe.path is None or port is None:
            continue
        where = deployment.where(probe.action_pointer("path"))
        if port == deployment.grpc_port:
            message = f"The {probe.name} asks {probe.path} over HTTP on port {port}, which speaks gRPC only: it can never succeed."
            yield Finding("probe-path-not-served", message, where, _probe_fix(deployment, probe))
        elif port == deployment.rest_port and not _is_served(deployment, probe.path):
            names = served_names(deployment)
            known = f" The model is served as {', '.join(names)}." if names and _MODEL_PATH.fullmatch(probe.path) else ""
            message = f"The {probe.name} asks {probe.path}; TF Serving answers 404 there.{known}"
            yield Finding("probe-path-not-served", message, where, _probe_fix(deployment, probe))


def served_names(deployment: Deployment) -> tuple[str, ...]:
    """The names of the models that the server has; empty where they are not known."""
    if deployment.flag("model_config_file"):
        meant = deployment.models.meant if deployment.models is not None else None
        return tuple(model.name for model in meant.models if model.name) if meant is not None else ()
    name = deployment.flag("model_name")
    return (name,) if isinstance(name, str) and name else ()


def grpc_health(deployment: Deployment) -> Iterator[Finding]:
    """A gRPC probe of a server that does not have the health service."""
    if deployment.flags is None or not front_is_server(deployment):
        return
    release = _release(deployment)
    old = release is not None and release < HEALTH_SINCE
    if deployment.flag("enable_grpc_healthcheck_service") is True and not old:
        return
    for probe in probes(deployment):
        if not probe.is_server or ProbeAction.GRPC not in probe.actions:
            continue
        where = deployment.where(probe.action_pointer())
        if old:
            message = f"The {probe.name} asks for gRPC's health service, which TF Serving has since 2.15: the probe can never succeed."
            fix = "use TF Serving 2.15 or later, or a TCP start-up probe"
        else:
            message = (
                f"The {probe.name} asks for gRPC's health service, which TF Serving does not switch on by itself: it can never succeed."
            )
            fix = "--enable_grpc_healthcheck_service=true among the server's arguments"
            if probe.kind is ProbeKind.STARTUP:
                start_s = deployment.given.workload.start_s or (_meant_window_seconds(probe) / _MARGIN)
                fix = f"{fix}, or {startup_probe_text(deployment, start_s)}"
        yield Finding("probe-grpc-health-disabled", message, where, fix)


def blind_liveness(deployment: Deployment) -> Iterator[Finding]:
    """The status page as a liveness probe: it says 200 whatever the GPU does."""
    for probe in probes(deployment):
        if probe.kind is ProbeKind.LIVENESS and probe.is_server and probe.path is not None and _MODEL_PATH.fullmatch(probe.path):
            message = (
                f"The {probe.name} asks {probe.path}, which stays 200 while every prediction fails, as without GPU memory, and "
                "each look counts in the server's request_count."
            )
            where = deployment.where(probe.action_pointer("path"))
            yield Finding("status-probe-blind", message, where, "an alert on the ratio of failed requests")


def load_retries(deployment: Deployment) -> Iterator[Finding]:
    """A broken model is tried again for longer than the probe waits, so that its real error is never logged."""
    window = start_window_seconds(deployment)
    if deployment.flags is None or window is None or not front_is_server(deployment):
        return
    retries = deployment.flags.value("max_num_load_retries", cpus=1)
    interval = deployment.flags.value("load_retry_interval_micros", cpus=1)
    spent = retries * interval / 1e6 if isinstance(retries, int) and isinstance(interval, int) else 0
    if spent > window:
        message = (
            f"A model that does not load is tried {retries} times more, {spent:g} s in all; the start is given up after {window} s, before "
            "the server says what is wrong."
        )
        stated = deployment.flag("max_num_load_retries") is not None
        absent = where_absent(deployment, f"{deployment.container_pointer}/args", flag="--args")
        where = deployment.where_flag("max_num_load_retries") if stated else absent
        yield Finding("load-retries-outlive-probe", message, where, "--max_num_load_retries=0 among the server's arguments")


def tcp_liveness(deployment: Deployment) -> Iterator[Finding]:
    """A TCP probe that is no start-up probe."""
    for probe in probes(deployment):
        if probe.kind is not ProbeKind.STARTUP and ProbeAction.TCP_SOCKET in probe.actions:
            where = deployment.where(f"{probe.pointer}/tcpSocket")
            message = f'The {probe.name} is a TCP probe; only a start-up probe may be one. Cloud Run answers "{ServerText.PROBE_TCP}".'
            yield Finding("probe-liveness-tcp", message, where, _probe_fix(deployment, probe, grpc=True))


def _is_served(deployment: Deployment, path: str) -> bool:
    found = _MODEL_PATH.fullmatch(path)
    if found is not None:
        names = served_names(deployment)
        return not names or unquote(found["name"]) in names
    if not deployment.flag("monitoring_config_file"):
        return False
    meant = deployment.monitoring.meant if deployment.monitoring is not None else None
    if meant is None:
        # The file is not here: it may name any path.
        return path.startswith(f"/{PROMETHEUS_PATH.split('/')[1]}/")
    return path == meant.prometheus_config.served_path() if meant.prometheus_config is not None else False


def _server_port(deployment: Deployment) -> int:
    opened = [port for port in (deployment.grpc_port, deployment.rest_port) if port is not None]
    port = deployment.container_port
    if port is not None and (port in opened or not opened):
        return port
    return opened[0] if opened else 8500


def _probe_fix(deployment: Deployment, probe: Probe, *, grpc: bool = False) -> str:
    """What to ask instead: the port at the start, the model's status or the health service later."""
    if probe.kind is ProbeKind.STARTUP:
        return startup_probe_text(deployment, _meant_window_seconds(probe) / _MARGIN)
    rest, flag = deployment.rest_port, "--liveness-probe" if probe.kind is ProbeKind.LIVENESS else "--readiness-probe"
    if (grpc and deployment.protocol == "grpc") or rest is None:
        port = deployment.grpc_port or deployment.container_port or 8500
        text = paste(
            deployment, flags=f"{flag}=grpc.port={port},periodSeconds=30", v2={probe.name: {"grpc": {"port": port}, "periodSeconds": 30}}
        )
        return f"{text}\nwith --enable_grpc_healthcheck_service=true among the server's arguments"
    path = f"/v1/models/{next(iter(served_names(deployment)), 'MODEL_NAME')}"
    return paste(
        deployment,
        flags=f"{flag}=httpGet.path={path},httpGet.port={rest},periodSeconds=30",
        v2={probe.name: {"httpGet": {"path": path, "port": rest}, "periodSeconds": 30}},
    )


def _meant_window_seconds(probe: Probe) -> int:
    """The start that a probe was meant to wait for: where it does not say how often and how long, as long as without a probe."""
    timing = probe.timing
    window = timing.initial_delay_seconds + timing.window_seconds
    stated = timing.period_seconds and timing.failure_threshold
    return window if stated else max(window, DEFAULT_STARTUP_TIMING.window_seconds)


def _release(deployment: Deployment) -> tuple[int, int] | None:
    image = deployment.image
    found = _RELEASE.match(image.tag or "") if image is not None and image.is_tf_serving else None
    return (int(found["major"]), int(found["minor"])) if found else None


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    start_window,
    single_attempt,
    path_of_probe,
    grpc_health,
    blind_liveness,
    load_retries,
    tcp_liveness,
)
