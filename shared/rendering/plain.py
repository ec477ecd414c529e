"""A new service from what is desired as plain v2 JSON, without the client library: what is said of a spec before anything is made of it.

The same document as `service_plan.new_service` gives, field by field; a property test holds the two together.
"""

from typing import Any

from shared.records.serving import DesiredServing, Ingress, ModelSource, Protocol, VpcAccess, VpcEgress
from shared.rendering import collector_file
from shared.rendering.entry import MODEL_VOLUME, MOUNT, PROBE_PERIOD_SECONDS, SERVING_NAME, bucket_and_path, port_of, rendered_entry
from shared.tfserving.command import COLLECTOR_FOLDER

Json = dict[str, Any]

GEN2 = "EXECUTION_ENVIRONMENT_GEN2"
_INGRESS = {
    Ingress.ALL: "INGRESS_TRAFFIC_ALL",
    Ingress.INTERNAL: "INGRESS_TRAFFIC_INTERNAL_ONLY",
    Ingress.INTERNAL_AND_LOAD_BALANCER: "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
    Ingress.NONE: "INGRESS_TRAFFIC_NONE",
}
_EGRESS = {VpcEgress.ALL_TRAFFIC: "ALL_TRAFFIC", VpcEgress.PRIVATE_RANGES_ONLY: "PRIVATE_RANGES_ONLY"}


def plain_service(name: str, desired: DesiredServing, *, min_instance_count: int, max_instance_count: int) -> Json:
    """The service's v2 JSON; `name` is its full one. Autoscaling set-points are numbers of their own and left out.

    Raises:
        ValueError: `desired` keeps an entry of the owner's: what is around it is not known here.
    """
    scaling = {"minInstanceCount": min_instance_count, "maxInstanceCount": max_instance_count}
    service: Json = {"name": name, "template": _template(desired), "scaling": {key: count for key, count in scaling.items() if count}}
    if desired.ingress is not None:
        service["ingress"] = _INGRESS[desired.ingress]
    return service


def _template(desired: DesiredServing) -> Json:
    copied = desired.model is not None and desired.model.source is ModelSource.COPIED
    template: Json = {
        "containers": [_serving(desired, copied=copied), *([_collector()] if desired.metrics_sidecar else [])],
        "timeout": f"{desired.timeout_seconds}s",
        "maxInstanceRequestConcurrency": desired.max_instance_request_concurrency,
        "executionEnvironment": GEN2,
    }
    if desired.service_account is not None:
        template["serviceAccount"] = desired.service_account
    if desired.max_instance_count is not None:
        template["scaling"] = {"maxInstanceCount": desired.max_instance_count}
    if desired.vpc_access is not None:
        template["vpcAccess"] = _vpc(desired.vpc_access)
    if desired.accelerator is not None:
        template["nodeSelector"] = {"accelerator": desired.accelerator}
        template["gpuZonalRedundancyDisabled"] = not desired.gpu_zonal_redundancy
    volumes: list[Json] = []
    if copied and desired.model is not None:
        volumes.append({"name": MODEL_VOLUME, "gcs": {"bucket": bucket_and_path(desired.model.uri)[0], "readOnly": True}})
    if desired.metrics_sidecar:
        volumes.append({"name": collector_file.VOLUME, "emptyDir": {"medium": "MEMORY", "sizeLimit": collector_file.VOLUME_SIZE}})
    return template | ({"volumes": volumes} if volumes else {})


def _serving(desired: DesiredServing, *, copied: bool) -> Json:
    entry = rendered_entry(desired)
    port = port_of(desired.protocol)
    limits = {"cpu": desired.cpu, "memory": desired.memory} | ({"nvidia.com/gpu": "1"} if desired.accelerator is not None else {})
    probe = {
        "timeoutSeconds": 1,
        "periodSeconds": PROBE_PERIOD_SECONDS,
        "failureThreshold": desired.start_up_seconds,
        "tcpSocket": {"port": port},
    }
    container: Json = {
        "image": desired.image,
        "command": list(entry.command),
        "args": list(entry.args),
        "env": [{"name": name, "value": value} for name, value in entry.environment.items()],
        "resources": {"limits": limits, "startupCpuBoost": True},
        "ports": [{"name": "h2c" if desired.protocol is Protocol.GRPC else "http1", "containerPort": port}],
        "startupProbe": probe,
    }
    mounts = [{"name": MODEL_VOLUME, "mountPath": MOUNT}] if copied else []
    if desired.metrics_sidecar:
        container["name"] = SERVING_NAME
        mounts.append({"name": collector_file.VOLUME, "mountPath": COLLECTOR_FOLDER})
    return container | ({"volumeMounts": mounts} if mounts else {})


def _collector() -> Json:
    return {
        "name": collector_file.NAME,
        "image": collector_file.IMAGE,
        "resources": {"limits": {"cpu": collector_file.CPU, "memory": collector_file.MEMORY}, "startupCpuBoost": True},
        "volumeMounts": [{"name": collector_file.VOLUME, "mountPath": collector_file.CONFIG_FOLDER}],
        "livenessProbe": {
            "timeoutSeconds": collector_file.LIVENESS_SECONDS,
            "periodSeconds": collector_file.LIVENESS_SECONDS,
            "httpGet": {"path": collector_file.LIVENESS_PATH, "port": collector_file.LIVENESS_PORT},
        },
        "dependsOn": [SERVING_NAME],
    }


def _vpc(access: VpcAccess) -> Json:
    said: Json = {"connector": access.connector} if access.connector else {}
    if access.egress is not None:
        said["egress"] = _EGRESS[access.egress]
    interfaces = [
        {name: value for name, value in (("network", each.network), ("subnetwork", each.subnetwork), ("tags", list(each.tags))) if value}
        for each in access.network_interfaces
    ]
    return said | ({"networkInterfaces": interfaces} if interfaces else {})
