"""Cloud Run's limits of a template's volumes and of where containers mount them. Pure.

Sources: the docstring of `run_v2.Volume`, Cloud Run's documentation on volume mounts, and the API's own refusals. Let through, and so
not said here: a volume without a source, a mount path that is used twice, a path of NFS that is not absolute.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.cloudrun.limits import LimitFault
from shared.cloudrun.quantities import quantity

FORBIDDEN_FOLDERS = ("/dev", "/proc", "/sys")
CLOUD_SQL = "cloudsql"
"""The name that a Cloud SQL volume has, and no other volume."""

VOLUMES = "template.volumes"
_CONNECTION = re.compile(r"(?:[a-z0-9.-]+:)?[a-z0-9-]+:[a-z0-9-]+:[a-z0-9-]+")


def volume_faults(volumes: Sequence[Mapping[str, Any]]) -> Iterator[LimitFault]:
    """The `volumes` of a template, as REST JSON of the Admin API v2."""
    names = [str(volume.get("name", "")) for volume in volumes]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield LimitFault(
            field=VOLUMES,
            value=name,
            limit="each name once",
            why="a container mounts a volume by its name",
            fix="rename one of the volumes",
        )
    for at, volume in enumerate(volumes):
        yield from _source_faults(volume, f"{VOLUMES}[{at}]")


def _source_faults(volume: Mapping[str, Any], field: str) -> Iterator[LimitFault]:
    name = str(volume.get("name", ""))
    if ("cloudSqlInstance" in volume) != (name == CLOUD_SQL):
        yield LimitFault(
            field=f"{field}.name",
            value=name,
            limit=f"{CLOUD_SQL} for a Cloud SQL volume, and for no other",
            why="Cloud Run tells Cloud SQL by that name",
            fix=f"name the Cloud SQL volume {CLOUD_SQL}" if "cloudSqlInstance" in volume else "choose another name",
        )
    for instance in _list(volume, "cloudSqlInstance", "instances"):
        if not _CONNECTION.fullmatch(str(instance)):
            yield LimitFault(
                field=f"{field}.cloud_sql_instance",
                value=str(instance),
                limit="PROJECT:LOCATION:INSTANCE",
                why="that is the name of a connection to Cloud SQL",
                fix="take the connection name from the instance's page",
            )
    size = _part(volume, "emptyDir").get("sizeLimit")
    if size and quantity(str(size)) is None:
        yield LimitFault(
            field=f"{field}.empty_dir.size_limit",
            value=str(size),
            limit="a quantity such as 512Mi or 1Gi",
            why="it is no amount of memory",
            fix="write the size as 512Mi or 1Gi",
        )
    if "gcs" in volume and not _part(volume, "gcs").get("bucket"):
        yield LimitFault(
            field=f"{field}.gcs.bucket",
            value="",
            limit="the name of a bucket",
            why="a Cloud Storage volume is a bucket",
            fix="name the bucket, without gs://",
        )
    for option in _list(volume, "gcs", "mountOptions"):
        if str(option).startswith("--"):
            yield LimitFault(
                field=f"{field}.gcs.mount_options",
                value=str(option),
                limit="options without the leading --",
                why="Cloud Run adds the dashes itself",
                fix=f"write {str(option).removeprefix('--')}",
            )


def mount_faults(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]], *, at: int) -> Iterator[LimitFault]:
    """The `volume_mounts` of the container of that number; both as REST JSON of the Admin API v2."""
    field = f"template.containers[{at}].volume_mounts"
    names = {str(volume.get("name", "")) for volume in volumes}
    secrets = {str(volume.get("name", "")) for volume in volumes if "secret" in volume}
    for number, mount in enumerate(container.get("volumeMounts") or []):
        name, path = str(mount.get("name", "")), str(mount.get("mountPath", ""))
        if name not in names:
            yield LimitFault(
                field=f"{field}[{number}]",
                value=name,
                limit=f"a volume of the template: {', '.join(sorted(names)) or 'there is none'}",
                why="there is no volume of that name",
                fix="add the volume to the template's volumes, or name one that is there",
            )
        if not path.startswith("/") or ":" in path:
            yield LimitFault(
                field=f"{field}[{number}].mount_path",
                value=path,
                limit="an absolute path without a colon",
                why="the container sees the volume there",
                fix="write a path that begins with /",
            )
        elif any(f"{posixpath.normpath(path)}/".startswith(f"{folder}/") for folder in FORBIDDEN_FOLDERS):
            yield LimitFault(
                field=f"{field}[{number}].mount_path",
                value=path,
                limit=f"no path in {', '.join(FORBIDDEN_FOLDERS)}",
                why="these folders belong to the system",
                fix="mount it elsewhere, for example below /mnt",
            )
        if mount.get("subPath") and name in secrets:
            yield LimitFault(
                field=f"{field}[{number}].sub_path",
                value=str(mount["subPath"]),
                limit="not set for a secret",
                why="a secret's volume has the paths of its items",
                fix="leave sub_path out and name the file in the secret's items",
            )


def _part(volume: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = volume.get(name)
    return part if isinstance(part, dict) else {}


def _list(volume: Mapping[str, Any], name: str, inner: str) -> Sequence[Any]:
    found = _part(volume, name).get(inner)
    return found if isinstance(found, list) else ()
