"""Containers and volumes of a revision template, between v1 and v2 of Cloud Run's API.

Ports, mounts and probes are the same objects in both; environment, secrets and volumes differ in names and words.
"""

from collections.abc import Mapping
from typing import Any

from shared.cloudrun.fields import Fields, Json, ServiceDocumentError, put

GCS_DRIVER = "gcsfuse.run.googleapis.com"
CLOUD_SQL_DRIVER = "cloudsql.run.googleapis.com"
CLOUD_SQL_VOLUME = "cloudsql"
CLOUD_SQL_MOUNT = "/cloudsql"
"""Where Cloud Run mounts the sockets of the annotation's instances; v2 names that volume and that path."""

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_MEDIA = {"Memory": "MEMORY", "Disk": "DISK"}
_REMOTE = "projects/"


def aliases_of(annotation: str | None, field: str) -> dict[str, str]:
    """The secrets annotation, `ALIAS:projects/NUMBER/secrets/NAME,...`, as alias to full name."""
    aliases: dict[str, str] = {}
    for part in (annotation or "").split(","):
        alias, colon, path = part.strip().partition(":")
        if not part.strip():
            continue
        if not colon or not alias or not path.startswith(_REMOTE):
            raise ServiceDocumentError(f"{field} has {part!r}; write ALIAS:projects/PROJECT_NUMBER/secrets/SECRET", field=field)
        aliases[alias] = path
    return aliases


def container_to_v2(source: Fields, aliases: Mapping[str, str]) -> Json:
    """One v1 container as v2's, without the settings that v1 says in annotations."""
    target = _common(source)
    put(target, "env", [_env_to_v2(each, aliases) for each in source.objects("env")])
    if "resources" in source:
        target["resources"] = {}
        put(target["resources"], "limits", source.object("resources").text_map("limits"))
    return target


def container_to_v1(source: Fields) -> Json:
    """One v2 container as v1's. `resources`, `dependsOn`, `baseImageUri` and `sourceCode` are the template's to take."""
    target = _common(source)
    put(target, "env", [_env_to_v1(each) for each in source.objects("env")])
    return target


def _common(source: Fields) -> Json:
    target: Json = {}
    put(target, "name", source.text("name"))
    put(target, "image", source.text("image"))
    put(target, "command", source.texts("command"))
    put(target, "args", source.texts("args"))
    put(target, "workingDir", source.text("workingDir"))
    put(target, "ports", [_picked(port, texts=("name",), wholes=("containerPort",)) for port in source.objects("ports")])
    put(target, "volumeMounts", [_picked(mount, texts=("name", "mountPath", "subPath")) for mount in source.objects("volumeMounts")])
    for name in PROBES:
        if name in source:
            target[name] = _probe(source.object(name))
    return target


def _picked(source: Fields, *, texts: tuple[str, ...] = (), wholes: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> Json:
    target: Json = {}
    for name in texts:
        put(target, name, source.text(name))
    for name in wholes:
        put(target, name, source.whole(name))
    for name in flags:
        put(target, name, source.flag(name))
    return target


def _probe(source: Fields) -> Json:
    target = _picked(source, wholes=("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"))
    if "httpGet" in source:
        action = source.object("httpGet")
        target["httpGet"] = _picked(action, texts=("path",), wholes=("port",))
        put(target["httpGet"], "httpHeaders", [_picked(header, texts=("name", "value")) for header in action.objects("httpHeaders")])
    if "tcpSocket" in source:
        target["tcpSocket"] = _picked(source.object("tcpSocket"), wholes=("port",))
    if "grpc" in source:
        target["grpc"] = _picked(source.object("grpc"), texts=("service",), wholes=("port",))
    return target


def _env_to_v2(source: Fields, aliases: Mapping[str, str]) -> Json:
    target = _picked(source, texts=("name",))
    value = source.text("value")
    if value is not None:
        target["value"] = value
    if "valueFrom" in source:
        origin = source.object("valueFrom")
        if "secretKeyRef" in origin:
            reference = origin.object("secretKeyRef")
            name = reference.text("name") or ""
            target["valueSource"] = {"secretKeyRef": {}}
            put(target["valueSource"]["secretKeyRef"], "secret", aliases.get(name, name))
            put(target["valueSource"]["secretKeyRef"], "version", reference.text("key"))
    return target


def _env_to_v1(source: Fields) -> Json:
    target = _picked(source, texts=("name",))
    value = source.text("value")
    if value is not None:
        target["value"] = value
    if "valueSource" in source:
        origin = source.object("valueSource")
        if "secretKeyRef" in origin:
            reference = origin.object("secretKeyRef")
            target["valueFrom"] = {"secretKeyRef": {}}
            put(target["valueFrom"]["secretKeyRef"], "name", reference.text("secret"))
            put(target["valueFrom"]["secretKeyRef"], "key", reference.text("version"))
    return target


def volume_to_v2(source: Fields, aliases: Mapping[str, str]) -> Json:
    """One v1 volume as v2's; a storage driver that is not known stays."""
    target = _picked(source, texts=("name",))
    if "secret" in source:
        secret = source.object("secret")
        name = secret.text("secretName") or ""
        target["secret"] = {}
        put(target["secret"], "secret", aliases.get(name, name))
        put(target["secret"], "defaultMode", secret.whole("defaultMode"))
        put(target["secret"], "items", [_renamed(item, "key", "version") for item in secret.objects("items")])
    if "emptyDir" in source:
        target["emptyDir"] = _empty_dir(source.object("emptyDir"), _MEDIA)
    if "nfs" in source:
        target["nfs"] = _picked(source.object("nfs"), texts=("server", "path"), flags=("readOnly",))
    if "csi" in source:
        _csi_to_v2(source, target)
    return target


def volume_to_v1(source: Fields) -> Json:
    """One v2 volume as v1's."""
    target = _picked(source, texts=("name",))
    if "secret" in source:
        secret = source.object("secret")
        target["secret"] = {}
        put(target["secret"], "secretName", secret.text("secret"))
        put(target["secret"], "defaultMode", secret.whole("defaultMode"))
        put(target["secret"], "items", [_renamed(item, "version", "key") for item in secret.objects("items")])
    if "emptyDir" in source:
        target["emptyDir"] = _empty_dir(source.object("emptyDir"), {medium: word for word, medium in _MEDIA.items()})
    if "nfs" in source:
        target["nfs"] = _picked(source.object("nfs"), texts=("server", "path"), flags=("readOnly",))
    if "gcs" in source:
        target["csi"] = _gcs_to_v1(source.object("gcs"))
    if "cloudSqlInstance" in source:
        instances = source.object("cloudSqlInstance").texts("instances")
        target["csi"] = {"driver": CLOUD_SQL_DRIVER}
        put(target["csi"], "volumeAttributes", {"instances": ",".join(instances)} if instances else {})
    return target


def _renamed(item: Fields, old: str, new: str) -> Json:
    target: Json = {}
    put(target, new, item.text(old))
    return {**target, **_picked(item, texts=("path",), wholes=("mode",))}


def _empty_dir(source: Fields, media: Mapping[str, str]) -> Json:
    target: Json = {}
    medium = source.word("medium")
    if medium in {"", "MEDIUM_UNSPECIFIED"}:
        source.drop("medium")
    elif medium is not None and medium in media:
        target["medium"] = media[medium]
        source.drop("medium")
    put(target, "sizeLimit", source.text("sizeLimit"))
    return target


def _csi_to_v2(source: Fields, target: Json) -> None:
    csi = source.object("csi")
    driver = csi.word("driver")
    if driver not in {GCS_DRIVER, CLOUD_SQL_DRIVER}:
        return
    csi.drop("driver")
    attributes = csi.object("volumeAttributes")
    if driver == GCS_DRIVER:
        target["gcs"] = _picked(csi, flags=("readOnly",))
        put(target["gcs"], "bucket", attributes.text("bucketName"))
        put(target["gcs"], "mountOptions", _split(attributes.text("mountOptions")))
    else:
        target["cloudSqlInstance"] = {}
        put(target["cloudSqlInstance"], "instances", _split(attributes.text("instances")))


def _gcs_to_v1(gcs: Fields) -> Json:
    target: Json = {"driver": GCS_DRIVER, **_picked(gcs, flags=("readOnly",))}
    attributes: Json = {}
    put(attributes, "bucketName", gcs.text("bucket"))
    options = gcs.texts("mountOptions")
    put(attributes, "mountOptions", ",".join(options))
    if _split(attributes.get("mountOptions")) != options:
        gcs.keep(gcs.at("mountOptions"), options)
    put(target, "volumeAttributes", attributes)
    return target


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def alias_secrets(spec: Json) -> str:
    """Give the secrets of other projects a local name in a v1 revision spec; the annotation that says which is which, "" if none is."""
    references: list[tuple[Any, str]] = []
    for container in spec.get("containers", []):
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            references += [(reference, "name")] if reference else []
    references += [(volume["secret"], "secretName") for volume in spec.get("volumes", []) if "secret" in volume]
    taken = {holder[key] for holder, key in references if key in holder and not holder[key].startswith(_REMOTE)}
    by_path: dict[str, str] = {}
    for holder, key in references:
        path = holder.get(key, "")
        if not path.startswith(_REMOTE):
            continue
        if path not in by_path:
            by_path[path] = _free_name(path.rsplit("/", 1)[-1], taken)
            taken.add(by_path[path])
        holder[key] = by_path[path]
    return ",".join(f"{alias}:{path}" for path, alias in by_path.items())


def _free_name(wanted: str, taken: set[str]) -> str:
    number, name = 1, wanted
    while name in taken or not name:
        number += 1
        name = f"{wanted or 'secret'}-{number}"
    return name
