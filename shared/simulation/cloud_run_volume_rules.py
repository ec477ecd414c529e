"""What the simulated Cloud Run refuses in a template's volumes and their mounts. Pure.

Texts that users of the real `validateOnly` have recorded: a name that is used twice, a mount without its volume, its path and
`sub_path`, a bucket without a name, a quantity that is none, names and instances of Cloud SQL. The others say in the same manner what
the documentation asks for; their words are made up, and marked so.

Recorded as let through: a volume without a source, one in memory in the first generation (its revision then does not start), an NFS
path that is not absolute.
"""

import posixpath
import re

from google.cloud import run_v2

from shared.cloudrun.quantities import quantity
from shared.simulation.cloud_run_errors import violation

_FORBIDDEN_FOLDERS = ("/dev", "/proc", "/sys")
_CLOUD_SQL = "cloudsql"
_CONNECTION = re.compile(r"(?:[a-z0-9.-]+:)?[a-z0-9-]+:[a-z0-9-]+:[a-z0-9-]+")


def check_volumes(template: run_v2.RevisionTemplate, *, root: str) -> None:
    """The volumes, then where the containers mount them.

    Raises:
        SimulatedError: INVALID_ARGUMENT.
    """
    names = [volume.name for volume in template.volumes]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise violation(root, "template.volumes", f"Duplicate volume name: {', '.join(doubled)}.")
    gen1 = run_v2.RevisionTemplate.pb(template).execution_environment == run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN1
    for index, volume in enumerate(template.volumes):
        _check_source(volume, gen1=gen1, root=root, at=f"template.volumes[{index}]")
    of_secrets = {volume.name for volume in template.volumes if "secret" in volume}
    for index, container in enumerate(template.containers):
        _check_mounts(container, names, of_secrets, root=root, at=f"template.containers[{index}].volume_mounts")


def _check_source(volume: run_v2.Volume, *, gen1: bool, root: str, at: str) -> None:
    if ("cloud_sql_instance" in volume) != (volume.name == _CLOUD_SQL):
        raise violation(root, f"{at}.name", f"Cloud SQL volume must be named '{_CLOUD_SQL}', and no other volume may be.")
    for instance in volume.cloud_sql_instance.instances:
        if not _CONNECTION.fullmatch(instance):
            raise violation(root, f"{at}.cloud_sql_instance", f"must be in the format project:location:instance: {instance!r}.")
    size = volume.empty_dir.size_limit
    if size and quantity(size) is None:
        raise violation(root, f"{at}.empty_dir.size_limit", f"Could not parse Quantity {size!r}.")
    if "gcs" in volume and not volume.gcs.bucket:
        raise violation(root, f"{at}.gcs.bucket", "Bucket name must be specified.")
    if gen1 and ("gcs" in volume or "nfs" in volume):
        # Made up: the pages on volume mounts keep both to the second generation.
        text = "Execution environment must be set to gen2 in order to mount Cloud Storage and NFS volumes."
        raise violation(root, "template.execution_environment", text)
    dashed = [option for option in volume.gcs.mount_options if option.startswith("--")]
    if dashed:
        # Made up: the client's docstring of `mount_options` asks for options without the leading dashes.
        raise violation(root, f"{at}.gcs.mount_options", f"options must be specified without the leading '--': {dashed[0]!r}.")


def _check_mounts(container: run_v2.Container, names: list[str], of_secrets: set[str], *, root: str, at: str) -> None:
    missing = [mount.name for mount in container.volume_mounts if mount.name not in names]
    if missing:
        raise violation(root, at, f"these name volumes which were not found in volumes list: {', '.join(missing)}.")
    for mount in container.volume_mounts:
        path = mount.mount_path
        if not path.startswith("/") or ":" in path:
            raise violation(root, at, f"must be a valid unix absolute path: {path!r}.")
        clean = posixpath.normpath(path)
        if any(clean == folder or clean.startswith(f"{folder}/") for folder in _FORBIDDEN_FOLDERS):
            text = f"mount paths {path!r} are in one of disallowed mount points: {', '.join(_FORBIDDEN_FOLDERS)}."
            raise violation(root, at, text)
        if mount.sub_path and mount.name in of_secrets:
            raise violation(root, at, f"secret volume {mount.name!r} cannot have sub_path set.")
