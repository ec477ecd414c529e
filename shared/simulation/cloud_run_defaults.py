"""What the simulated Cloud Run fills in where a service is silent. Pure.

The server populates default values before it stores a service (the client's docstring of `validate_only`), so that what is read
back is more than what was written: a client that compares the two byte by byte sees changes that are none. Filled in are the
values that are documented: in the client's docstrings (concurrency, probes, traffic, `cpu_idle`), and on Cloud Run's pages on
request timeout, CPU, memory, health checks and the container runtime contract. The default service account and the default
maximum of instances depend on the project and are left out.
"""

from typing import Any

from google.cloud import run_v2

from shared.cloudrun.quantities import quantity
from shared.simulation.cloud_run_behaviour import DEFAULT_PORT
from shared.simulation.cloud_run_extras import extras_of
from shared.simulation.cloud_run_messages import copy_of
from shared.simulation.cloud_run_quota import DEFAULT_CPU, DEFAULT_MEMORY
from shared.simulation.cloud_run_traffic import LATEST, WHOLE

DEFAULT_TIMEOUT_SECONDS = 300
DEFAULT_CONCURRENCY = 80
"""From one vCPU on; below it is 1."""
DEFAULT_PROBE_SECONDS = 240
"""Time-out and period of the start-up probe that Cloud Run adds: one attempt over TCP."""

_GA = 4
"""`google.api.LaunchStage`."""


def with_defaults(service: run_v2.Service) -> run_v2.Service:
    """The service as Cloud Run stores it. What is already there is not touched, and filling in again changes nothing."""
    filled = copy_of(service)
    raw = run_v2.Service.pb(filled)
    # A text that is kept for an enum (`cloud_run_extras`) is its value.
    if "ingress" not in extras_of(raw):
        raw.ingress = raw.ingress or run_v2.IngressTraffic.INGRESS_TRAFFIC_ALL
    raw.launch_stage = raw.launch_stage or _GA
    if not raw.traffic:
        raw.traffic.add(type_=LATEST, percent=WHOLE)
    for target in raw.traffic:
        if not target.type_ and not target.revision and "type" not in extras_of(target):
            target.type_ = LATEST
    _fill_template(raw.template)
    return filled


def _fill_template(template: Any) -> None:
    for container in template.containers:
        _fill_resources(container)
        for kind in ("startup_probe", "liveness_probe", "readiness_probe"):
            if container.HasField(kind):
                _fill_probe(getattr(container, kind))
    if not template.HasField("timeout"):
        template.timeout.seconds = DEFAULT_TIMEOUT_SECONDS
    if template.max_instance_request_concurrency == 0:
        whole = sum(quantity(container.resources.limits["cpu"]) or 0 for container in template.containers) >= 1
        template.max_instance_request_concurrency = DEFAULT_CONCURRENCY if whole else 1
    serving = next((container for container in template.containers if container.ports), next(iter(template.containers), None))
    if serving is not None:
        _fill_port(serving)
        if not serving.HasField("startup_probe") and not template.health_check_disabled:
            probe = serving.startup_probe
            probe.tcp_socket.port = serving.ports[0].container_port
            probe.timeout_seconds = probe.period_seconds = DEFAULT_PROBE_SECONDS
            probe.failure_threshold = 1


def _fill_resources(container: Any) -> None:
    if not container.HasField("resources"):
        # The client's docstring: true by default, and no longer once the message is there.
        container.resources.cpu_idle = True
    limits = container.resources.limits
    for name, default in (("cpu", DEFAULT_CPU), ("memory", DEFAULT_MEMORY)):
        if name not in limits:
            limits[name] = default


def _fill_port(container: Any) -> None:
    if not container.ports:
        container.ports.add()
    port = container.ports[0]
    port.name = port.name or "http1"
    port.container_port = port.container_port or DEFAULT_PORT


def _fill_probe(probe: Any) -> None:
    probe.timeout_seconds = probe.timeout_seconds or 1
    probe.period_seconds = probe.period_seconds or 10
    probe.failure_threshold = probe.failure_threshold or 3
