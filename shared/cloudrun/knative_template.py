"""The revision template, between v1 (`spec.template`) and v2 (`template`) of Cloud Run's API.

CPU billing is the trap. v2 has `resources.cpuIdle` for each container: true is request-based billing, and a container that has
`resources` without it is billed for the instance's whole life. v1 has the annotation `cpu-throttling` for the whole revision, where
absence means throttled, request-based. A GPU is only allowed without throttling, and Cloud Run accepts a GPU service whose v1
document does not say so. The rules here:

* v1 to v2: the annotation decides; without it CPU is throttled, unless the template asks for a GPU. It is written to the containers
  that have `resources`; if none has, the container with the port is given them, so that the word is not lost.
* v2 to v1: as soon as one container has `resources`, the annotation is written: throttled only if all of those have `cpuIdle`.

`startup-cpu-boost` follows the same way; there one container that has it is enough, for v1 cannot boost one container alone. What such
a mixture loses is reported as unmapped.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from shared.cloudrun.fields import Fields, Json, as_text, pointer, put
from shared.cloudrun.knative_annotations import (
    BASE_IMAGES,
    CLOUD_SQL,
    CPU_THROTTLING,
    DEPENDENCIES,
    KEY_SHUTDOWN_HOURS,
    NETWORK_INTERFACES,
    RUN,
    SECONDS_PER_HOUR,
    SECRETS,
    SOURCES,
    STARTUP_CPU_BOOST,
    TEMPLATE,
    annotations_from_fields,
    fields_from_annotations,
    is_own,
    json_list,
    json_object,
)
from shared.cloudrun.knative_containers import (
    CLOUD_SQL_MOUNT,
    CLOUD_SQL_VOLUME,
    alias_secrets,
    aliases_of,
    container_to_v1,
    container_to_v2,
    volume_to_v1,
    volume_to_v2,
)

ACCELERATOR = f"{RUN}accelerator"
GPU = "nvidia.com/gpu"
BASE_IMAGE_RUNTIME = f"{RUN}linux-base-image-update"
_SECONDS = re.compile(r"([0-9]{1,12})s")
_CLOUD_STORAGE = re.compile(r"gs://(?P<bucket>[^/#]+)/(?P<object>[^#]+)(?:#(?P<generation>[0-9]+))?")


def template_to_v2(source: Fields) -> Json:
    """v1's `spec.template` as v2's `template`."""
    target: Json = {}
    metadata, spec = source.object("metadata"), source.object("spec")
    annotations = metadata.object("annotations")
    put(target, "revision", metadata.text("name"))
    put(target, "labels", metadata.text_map("labels", keep=is_own))
    fields_from_annotations(TEMPLATE, annotations, target)
    hours = annotations.whole(KEY_SHUTDOWN_HOURS)
    if hours is not None:
        target["encryptionKeyShutdownDuration"] = f"{hours * SECONDS_PER_HOUR}s"

    timeout_seconds = spec.whole("timeoutSeconds")
    if timeout_seconds is not None:
        target["timeout"] = f"{timeout_seconds}s"
    put(target, "maxInstanceRequestConcurrency", spec.whole("containerConcurrency"))
    put(target, "serviceAccount", spec.text("serviceAccountName"))
    accelerator = spec.object("nodeSelector").text(ACCELERATOR)
    if accelerator:
        target["nodeSelector"] = {"accelerator": accelerator}

    aliases = aliases_of(annotations.text(SECRETS), annotations.at(SECRETS))
    containers = [container_to_v2(each, aliases) for each in spec.objects("containers")]
    volumes = [volume_to_v2(each, aliases) for each in spec.objects("volumes")]
    _network_to_v2(annotations, target)
    _cloud_sql_to_v2(annotations, containers, volumes)
    _dependencies_to_v2(annotations, containers)
    _sources_to_v2(annotations, spec, containers)
    _cpu_to_v2(annotations, containers, has_gpu=bool(accelerator) or _asks_for_gpu(containers))
    put(target, "containers", containers)
    put(target, "volumes", volumes)
    put(target, "annotations", annotations.remaining_texts(keep=is_own))
    return target


def template_to_v1(source: Fields) -> Json:
    """v2's `template` as v1's `spec.template`."""
    metadata: Json = {}
    spec: Json = {}
    annotations: Json = source.text_map("annotations", keep=is_own)
    put(metadata, "name", source.text("revision"))
    put(metadata, "labels", dict(sorted(source.text_map("labels", keep=is_own).items())))
    network = source.object("vpcAccess")
    nested = {"scaling": source.object("scaling"), "vpcAccess": network, "serviceMesh": source.object("serviceMesh")}
    annotations_from_fields(TEMPLATE, source, nested, annotations)
    _duration_to_v1(source, "encryptionKeyShutdownDuration", annotations, KEY_SHUTDOWN_HOURS)
    _network_to_v1(network, annotations)

    put(spec, "containerConcurrency", source.whole("maxInstanceRequestConcurrency"))
    _duration_to_v1(source, "timeout", spec, "timeoutSeconds")
    put(spec, "serviceAccountName", source.text("serviceAccount"))
    accelerator = source.object("nodeSelector").text("accelerator")
    put(spec, "nodeSelector", {ACCELERATOR: accelerator} if accelerator else {})
    as_given = {name: source.peek(name) for name in ("volumes", "containers")}
    sources = source.objects("containers")
    containers = [container_to_v1(each) for each in sources]
    volumes = [volume_to_v1(each) for each in source.objects("volumes")]
    _cpu_to_v1(source, sources, containers, annotations)
    _dependencies_to_v1(sources, containers, annotations)
    _sources_to_v1(sources, containers, annotations, spec)
    _cloud_sql_to_v1(containers, volumes, annotations, source, as_given)
    put(spec, "containers", containers)
    put(spec, "volumes", volumes)
    put(annotations, SECRETS, alias_secrets(spec))
    put(metadata, "annotations", dict(sorted(annotations.items())))
    return {**({"metadata": metadata} if metadata else {}), "spec": spec}


def _duration_to_v1(source: Fields, name: str, target: Json, key: str) -> None:
    """v1 counts whole seconds, and whole hours in the annotation; a finer duration stays."""
    found = _SECONDS.fullmatch(as_text(source.peek(name) or "", source.at(name)))
    if found is None:
        return
    seconds = int(found.group(1))
    if key == KEY_SHUTDOWN_HOURS:
        if seconds % SECONDS_PER_HOUR:
            return
        target[key] = str(seconds // SECONDS_PER_HOUR)
    else:
        target[key] = seconds
    source.drop(name)


def _asks_for_gpu(containers: Sequence[Json]) -> bool:
    return any(each.get("resources", {}).get("limits", {}).get(GPU, "0") != "0" for each in containers)


def _cpu_to_v2(annotations: Fields, containers: list[Json], *, has_gpu: bool) -> None:
    throttled = annotations.flag(CPU_THROTTLING)
    boosted = annotations.flag(STARTUP_CPU_BOOST)
    sized = [each for each in containers if "resources" in each]
    if containers and not sized and (throttled is not None or boosted):
        front = next((each for each in containers if "ports" in each), containers[0])
        front["resources"] = {}
        sized = [front]
    for each in sized:
        put(each["resources"], "cpuIdle", not has_gpu if throttled is None else throttled)
        put(each["resources"], "startupCpuBoost", boosted)


def _cpu_to_v1(template: Fields, sources: Sequence[Fields], containers: Sequence[Json], annotations: Json) -> None:
    idle: dict[str, bool] = {}
    boosted: dict[str, bool] = {}
    for source, container in zip(sources, containers, strict=True):
        if "resources" not in source:
            continue
        resources = source.object("resources")
        container["resources"] = {}
        put(container["resources"], "limits", dict(sorted(resources.text_map("limits").items())))
        idle[resources.at("cpuIdle")] = bool(resources.flag("cpuIdle"))
        boosted[resources.at("startupCpuBoost")] = bool(resources.flag("startupCpuBoost"))
    if idle:
        annotations[CPU_THROTTLING] = "true" if all(idle.values()) else "false"
    if not all(idle.values()):
        _keep_all(template, {field: True for field, value in idle.items() if value})
    if any(boosted.values()):
        annotations[STARTUP_CPU_BOOST] = "true"
        _keep_all(template, {field: None for field, value in boosted.items() if not value})


def _keep_all(source: Fields, values: Json) -> None:
    for field, value in values.items():
        source.keep(field, value)


def _network_to_v2(annotations: Fields, target: Json) -> None:
    if NETWORK_INTERFACES not in annotations:
        return
    field = annotations.at(NETWORK_INTERFACES)
    text = annotations.text(NETWORK_INTERFACES)
    sources = [Fields(each, pointer(field, index)) for index, each in enumerate(json_list(text, field))]
    interfaces = [_interface(each) for each in sources]
    if interfaces:
        target.setdefault("vpcAccess", {})["networkInterfaces"] = interfaces
    if any(each.left() for each in sources):
        annotations.keep(field, text)


def _network_to_v1(source: Fields, annotations: Json) -> None:
    interfaces = [_interface(each) for each in source.objects("networkInterfaces")]
    if interfaces:
        annotations[NETWORK_INTERFACES] = json.dumps(interfaces, ensure_ascii=False)


def _interface(source: Fields) -> Json:
    target: Json = {}
    put(target, "network", source.text("network"))
    put(target, "subnetwork", source.text("subnetwork"))
    put(target, "tags", source.texts("tags"))
    return target


def _cloud_sql_to_v2(annotations: Fields, containers: list[Json], volumes: list[Json]) -> None:
    instances = [part.strip() for part in (annotations.text(CLOUD_SQL) or "").split(",") if part.strip()]
    if not instances:
        return
    volumes.append({"name": CLOUD_SQL_VOLUME, "cloudSqlInstance": {"instances": instances}})
    for container in containers:
        container.setdefault("volumeMounts", []).append({"name": CLOUD_SQL_VOLUME, "mountPath": CLOUD_SQL_MOUNT})


def _cloud_sql_to_v1(containers: list[Json], volumes: list[Json], annotations: Json, template: Fields, as_given: Json) -> None:
    """The volume that every container mounts where the annotation would is said by the annotation: that is what gcloud knows.

    The annotation's volume and mounts come last; where they did not, the lists are kept as they were given.
    """
    mount = {"name": CLOUD_SQL_VOLUME, "mountPath": CLOUD_SQL_MOUNT}
    named = [each for each in volumes if each.get("name") == CLOUD_SQL_VOLUME]
    instances = named[0].get("csi", {}).get("volumeAttributes", {}).get("instances") if len(named) == 1 else None
    mounts = [[each for each in container.get("volumeMounts", []) if each.get("name") == CLOUD_SQL_VOLUME] for container in containers]
    if not instances or not containers or any(found != [mount] for found in mounts):
        return
    annotations[CLOUD_SQL] = instances
    if volumes[-1] != named[0]:
        template.keep(template.at("volumes"), as_given["volumes"])
    volumes.remove(named[0])
    for index, container in enumerate(containers):
        if container["volumeMounts"][-1] != mount:
            field = pointer(pointer(template.at("containers"), index), "volumeMounts")
            template.keep(field, as_given["containers"][index]["volumeMounts"])
        container["volumeMounts"].remove(mount)
        if not container["volumeMounts"]:
            del container["volumeMounts"]


def _named(containers: Sequence[Json]) -> dict[str, Json]:
    return {container.get("name", ""): container for container in containers}


def _by_container(annotations: Fields, key: str) -> Json:
    return json_object(annotations.peek(key), annotations.at(key)) if key in annotations else {}


def _dependencies_to_v2(annotations: Fields, containers: Sequence[Json]) -> None:
    said, named = _by_container(annotations, DEPENDENCIES), _named(containers)
    if said and said.keys() <= named.keys():
        field = annotations.at(DEPENDENCIES)
        for name, others in said.items():
            put(named[name], "dependsOn", [as_text(other, field) for other in json_list(others, field)])
        annotations.drop(DEPENDENCIES)


def _dependencies_to_v1(sources: Sequence[Fields], containers: Sequence[Json], annotations: Json) -> None:
    said: dict[str, Any] = {}
    for source, container in zip(sources, containers, strict=True):
        others = source.texts("dependsOn")
        if others and container.get("name"):
            said[container["name"]] = others
        elif others:
            source.keep(source.at("dependsOn"), others)
    if said:
        annotations[DEPENDENCIES] = json.dumps(said, ensure_ascii=False)


def _sources_to_v2(annotations: Fields, spec: Fields, containers: Sequence[Json]) -> None:
    named = _named(containers)
    images = _by_container(annotations, BASE_IMAGES)
    if images and images.keys() <= named.keys():
        for name, image in images.items():
            put(named[name], "baseImageUri", as_text(image, annotations.at(BASE_IMAGES)))
        annotations.drop(BASE_IMAGES)
        if spec.peek("runtimeClassName") == BASE_IMAGE_RUNTIME:
            spec.drop("runtimeClassName")
    objects = {name: _CLOUD_STORAGE.fullmatch(str(uri)) for name, uri in _by_container(annotations, SOURCES).items()}
    if objects and objects.keys() <= named.keys() and all(objects.values()):
        for name, found in objects.items():
            named[name]["sourceCode"] = {
                "cloudStorageSource": {key: part for key, part in found.groupdict().items() if part} if found else {}
            }
        annotations.drop(SOURCES)


def _sources_to_v1(sources: Sequence[Fields], containers: Sequence[Json], annotations: Json, spec: Json) -> None:
    images: dict[str, str] = {}
    objects: dict[str, str] = {}
    for source, container in zip(sources, containers, strict=True):
        name = container.get("name", "")
        if source.peek("baseImageUri"):
            images[name] = source.text("baseImageUri") or ""
        if "sourceCode" in source:
            uri = _object_uri(source.object("sourceCode"))
            if uri:
                objects[name] = uri
    if images:
        annotations[BASE_IMAGES] = json.dumps(images, ensure_ascii=False)
        spec["runtimeClassName"] = BASE_IMAGE_RUNTIME
    if objects:
        annotations[SOURCES] = json.dumps(objects, ensure_ascii=False)


def _object_uri(source_code: Fields) -> str:
    place = source_code.object("cloudStorageSource")
    bucket, name, generation = place.peek("bucket"), place.peek("object"), place.peek("generation")
    uri = f"gs://{bucket}/{name}" + (f"#{generation}" if generation else "")
    if not bucket or not name or not _CLOUD_STORAGE.fullmatch(uri):
        return ""
    for field in ("bucket", "object", "generation"):
        place.drop(field)
    return uri
