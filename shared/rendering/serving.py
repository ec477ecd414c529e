"""From what is desired to Cloud Run's service: what Trimtab owns is written over what is there, everything else stays.

A base is always a message Cloud Run gave out (or an empty one): fields of it that this code has never heard of are kept, in the
service, the template, the containers and everything below.
"""

from typing import Any

from google.cloud import run_v2

from shared.records.observed import Bounds
from shared.records.serving import (
    DesiredServing,
    Ingress,
    ModelSource,
    NetworkInterface,
    OwnEntry,
    Protocol,
    VpcAccess,
    VpcEgress,
)
from shared.rendering.canonical import canonical_service
from shared.rendering.collector import collector_container, collector_volume, is_collector, is_our_collector
from shared.rendering.collector_file import NAME as COLLECTOR_NAME
from shared.rendering.collector_file import VOLUME as COLLECTOR_VOLUME
from shared.rendering.entry import MODEL_VOLUME, MOUNT, PROBE_PERIOD_SECONDS, SERVING_NAME, bucket_and_path, port_of, rendered_entry
from shared.rendering.messages import clone, service_to_json
from shared.tfserving.command import COLLECTOR_FOLDER, ENVIRONMENT_NAMES, OUR_VARIABLES

SERVING_NAMES = (SERVING_NAME, *(f"{SERVING_NAME}-{number}" for number in range(2, 12)))
"""Its name where it has none yet: the first that is free; there are ten containers at most."""
COLLECTOR_NAMES = (COLLECTOR_NAME, *(f"{COLLECTOR_NAME}-{number}" for number in range(2, 12)))
"""The sidecar's, likewise."""
GPU = "nvidia.com/gpu"
GEN2: Any = run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN2

_INGRESS: dict[Ingress, Any] = {
    Ingress.ALL: run_v2.IngressTraffic.INGRESS_TRAFFIC_ALL,
    Ingress.INTERNAL: run_v2.IngressTraffic.INGRESS_TRAFFIC_INTERNAL_ONLY,
    Ingress.INTERNAL_AND_LOAD_BALANCER: run_v2.IngressTraffic.INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER,
    Ingress.NONE: run_v2.IngressTraffic.INGRESS_TRAFFIC_NONE,
}
INGRESS_OF = {int(value): ingress for ingress, value in _INGRESS.items()}
"""Cloud Run's number of an ingress to ours."""
_EGRESS: dict[VpcEgress, Any] = {
    VpcEgress.ALL_TRAFFIC: run_v2.VpcAccess.VpcEgress.ALL_TRAFFIC,
    VpcEgress.PRIVATE_RANGES_ONLY: run_v2.VpcAccess.VpcEgress.PRIVATE_RANGES_ONLY,
}
EGRESS_OF = {int(value): egress for egress, value in _EGRESS.items()}


def overlay(base: run_v2.Service, desired: DesiredServing, *, bounds: Bounds | None = None) -> run_v2.Service:
    """The service with what is desired written over it; `base` itself where that changes nothing.

    `bounds` are the scaling bounds of a service that has none yet; None leaves them: they move without a revision, by their own
    writes. The revision's name and the traffic are left as they are: the write adds them.
    """
    service = clone(base)
    if desired.ingress is not None:
        service.ingress = _INGRESS[desired.ingress]
    if bounds is not None:
        service.scaling.min_instance_count = bounds.min_instance_count
        service.scaling.max_instance_count = bounds.max_instance_count
    _write_template(service.template, desired)
    return service if canonical_service(service_to_json(service)) != canonical_service(service_to_json(base)) else base


def serving_container(template: run_v2.RevisionTemplate) -> run_v2.Container:
    """The container that takes the requests: the one with a port, else the first; it is made where there is none."""
    for container in template.containers:
        if container.ports:
            return container
    if not template.containers:
        template.containers.append(run_v2.Container())
    return template.containers[0]


def _write_template(template: run_v2.RevisionTemplate, desired: DesiredServing) -> None:
    if desired.max_instance_request_concurrency is not None:
        template.max_instance_request_concurrency = desired.max_instance_request_concurrency
    if desired.timeout_seconds is not None:
        run_v2.RevisionTemplate.pb(template).timeout.FromSeconds(desired.timeout_seconds)
    if desired.service_account is not None:
        template.service_account = desired.service_account
    if desired.max_instance_count is not None:
        template.scaling.max_instance_count = desired.max_instance_count
    if desired.vpc_access is not None:
        _write_vpc(template, desired.vpc_access)
    _write_accelerator(template, desired)
    container = serving_container(template)
    container.image = desired.image
    if (desired.cpu or desired.memory) and not run_v2.Container.pb(container).HasField("resources"):
        # Without `resources` CPU is billed by the request; with them and no word on it, by the instance.
        container.resources.cpu_idle = True
    for name, value in (("cpu", desired.cpu), ("memory", desired.memory)):
        if value is not None:
            container.resources.limits[name] = value
    if desired.own_entry is not None:
        _write_own_entry(container, desired.protocol, desired.own_entry)
    else:
        _write_entry(template, container, desired)


def _write_accelerator(template: run_v2.RevisionTemplate, desired: DesiredServing) -> None:
    raw = run_v2.RevisionTemplate.pb(template)
    holder = next((each for each in template.containers if GPU in each.resources.limits), serving_container(template))
    if desired.accelerator is None:
        # Only where there is one: `resources` that appear, even empty ones, change how an instance is billed.
        if GPU in holder.resources.limits:
            del holder.resources.limits[GPU]
        if raw.HasField("node_selector") and raw.node_selector.accelerator:
            template.node_selector.accelerator = ""
            raw.ClearField("gpu_zonal_redundancy_disabled")
        return
    template.node_selector.accelerator = desired.accelerator
    template.gpu_zonal_redundancy_disabled = not desired.gpu_zonal_redundancy
    holder.resources.limits[GPU] = "1"
    # Cloud Run bills and allots a GPU by the instance, in the second generation only.
    holder.resources.cpu_idle = False
    template.execution_environment = GEN2


def _write_vpc(template: run_v2.RevisionTemplate, wanted: VpcAccess) -> None:
    access = template.vpc_access
    access.connector = wanted.connector
    if wanted.egress is not None:
        access.egress = _EGRESS[wanted.egress]
    if interfaces_of(template) != wanted.network_interfaces:
        access.network_interfaces = [
            run_v2.VpcAccess.NetworkInterface(network=each.network, subnetwork=each.subnetwork, tags=list(each.tags))
            for each in wanted.network_interfaces
        ]


def interfaces_of(template: run_v2.RevisionTemplate) -> tuple[NetworkInterface, ...]:
    """The template's own network interfaces."""
    return tuple(
        NetworkInterface.model_construct(network=each.network, subnetwork=each.subnetwork, tags=tuple(each.tags))
        for each in template.vpc_access.network_interfaces
    )


def _write_own_entry(container: run_v2.Container, protocol: Protocol, entry: OwnEntry) -> None:
    container.command = list(entry.command)
    container.args = list(entry.args)
    if entry.port is not None or protocol is Protocol.GRPC:
        _write_port(container, protocol, entry.port)


def _write_port(container: run_v2.Container, protocol: Protocol, port: int | None) -> None:
    if not container.ports:
        container.ports.append(run_v2.ContainerPort())
    container.ports[0].name = "h2c" if protocol is Protocol.GRPC else "http1"
    if port is not None:
        container.ports[0].container_port = port


def _write_entry(template: run_v2.RevisionTemplate, container: run_v2.Container, desired: DesiredServing) -> None:
    entry = rendered_entry(desired)
    container.command = list(entry.command)
    container.args = list(entry.args)
    _write_port(container, desired.protocol, port_of(desired.protocol))
    _write_environment(container, dict(entry.environment))
    container.resources.cpu_idle = False
    container.resources.startup_cpu_boost = True
    template.execution_environment = GEN2
    template.health_check_disabled = False
    # The port opens when the model is loaded, so that a connection is the right question; an HTTP probe would be counted as traffic.
    raw = run_v2.Container.pb(container)
    for probe in ("startup_probe", "liveness_probe", "readiness_probe"):
        raw.ClearField(probe)
    container.startup_probe = run_v2.Probe(
        tcp_socket=run_v2.TCPSocketAction(port=port_of(desired.protocol)),
        timeout_seconds=1,
        period_seconds=PROBE_PERIOD_SECONDS,
        failure_threshold=desired.start_up_seconds,
    )
    _write_model_volume(template, container, desired)
    _write_collector(template, container, wanted=desired.metrics_sidecar)


def _write_environment(container: run_v2.Container, wanted: dict[str, str]) -> None:
    """Our variables and the spec's as wanted; those Trimtab once wrote and the spec names no more are taken out, others stay."""
    there = {each.name: each.value for each in container.env}
    ours = set(OUR_VARIABLES) | set(filter(None, there.get(ENVIRONMENT_NAMES, "").split(",")))
    kept = [each for each in container.env if each.name in wanted or each.name not in ours]
    for each in kept:
        if each.name in wanted:
            raw = run_v2.EnvVar.pb(each)
            raw.value = wanted[each.name]
    names = {each.name for each in kept}
    kept += [run_v2.EnvVar(name=name, value=value) for name, value in wanted.items() if name not in names]
    container.env = kept


def _write_model_volume(template: run_v2.RevisionTemplate, container: run_v2.Container, desired: DesiredServing) -> None:
    copied = desired.model is not None and desired.model.source is ModelSource.COPIED
    volume = None
    if copied and desired.model is not None:
        bucket, _ = bucket_and_path(desired.model.uri)
        volume = run_v2.Volume(name=MODEL_VOLUME, gcs=run_v2.GCSVolumeSource(bucket=bucket, read_only=True))
    _put_volume(template, MODEL_VOLUME, volume)
    _put_mount(container, MODEL_VOLUME, MOUNT if copied else None)


def _write_collector(template: run_v2.RevisionTemplate, container: run_v2.Container, *, wanted: bool) -> None:
    _put_volume(template, COLLECTOR_VOLUME, collector_volume() if wanted else None)
    _put_mount(container, COLLECTOR_VOLUME, COLLECTOR_FOLDER if wanted else None)
    if not wanted:
        _set_containers(template, [each for each in template.containers if not is_our_collector(each)])
        return
    taken = {each.name for each in template.containers}
    if not container.name:
        container.name = next(name for name in SERVING_NAMES if name not in taken)
    # One collector is enough: one that somebody else added makes room for ours, which knows where TF Serving's page is.
    others = [each for each in template.containers if not is_collector(each)]
    gone = {each.name for each in template.containers if is_collector(each)}
    name = next(name for name in COLLECTOR_NAMES if name not in {each.name for each in others})
    for other in others:
        if gone & set(other.depends_on):
            other.depends_on = [each for each in other.depends_on if each not in gone]
    _set_containers(template, [*others, collector_container(name, serving=container.name)])


def _set_containers(template: run_v2.RevisionTemplate, containers: list[run_v2.Container]) -> None:
    if len(containers) != len(template.containers) or any(
        run_v2.Container.pb(one) != run_v2.Container.pb(other) for one, other in zip(containers, template.containers, strict=True)
    ):
        template.containers = containers


def _put_volume(template: run_v2.RevisionTemplate, name: str, volume: run_v2.Volume | None) -> None:
    kept = [each for each in template.volumes if each.name != name]
    template.volumes = kept if volume is None else [*kept, volume]


def _put_mount(container: run_v2.Container, name: str, path: str | None) -> None:
    kept = [each for each in container.volume_mounts if each.name != name]
    container.volume_mounts = kept if path is None else [*kept, run_v2.VolumeMount(name=name, mount_path=path)]
