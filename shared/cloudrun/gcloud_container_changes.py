"""What gcloud's flags of one container do to it. Pure.

Source: gcloud 528's `config_changes`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shared.cloudrun.command_draft import Change, ContainerDraft, Said, said
from shared.cloudrun.gcloud_arguments import GivenFlag
from shared.cloudrun.gcloud_containers import DEFAULT_PORT
from shared.cloudrun.gcloud_values import ValueRefused, cut, secret_version
from shared.cloudrun.shell_variables import UNKNOWN

_LIMITS = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}
_PROBES = {"startup-probe": "startupProbe", "liveness-probe": "livenessProbe", "readiness-probe": "readinessProbe"}
_ACCELERATOR = ("template", "nodeSelector", "accelerator")


def _texts(each: GivenFlag) -> list[str]:
    return each.value if isinstance(each.value, list) else []


def _field(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    name = {"image": "image", "base-image": "baseImageUri"}[each.flag.name]
    if name == "image" and each.value == "":
        raise ValueRefused('it is empty; Cloud Run answers "must provide an image name to deploy"', f"{each.written}=IMAGE:TAG")
    if each.value:
        container.fields[name] = said(each.value, each.written, each.line)
    else:
        container.fields.pop(name, None)


def _listed(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    name = {"args": "args", "command": "command", "depends-on": "dependsOn"}[each.flag.name]
    items = [said(item, each.written, each.line) for item in _texts(each)]
    whole = [item for item in _texts(each) if item.startswith(UNKNOWN)]
    if whole:
        container.lists.pop(name, None)
    elif items and each.again:
        container.lists.setdefault(name, []).extend(items)
    elif items:
        container.lists[name] = items
    else:
        container.lists.pop(name, None)


def _limit(change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    name = _LIMITS[each.flag.name]
    if each.flag.name == "gpu" and each.value != "":
        container.no_gpu = said(None, each.written, each.line) if each.value == "0" else None
    if each.flag.name == "gpu" and each.value == "0":
        container.limits.pop(name, None)
        change.draft.fields.pop(_ACCELERATOR, None)
    elif each.value:
        container.limits[name] = said(each.value, each.written, each.line)
    elif not each.known:
        container.limits.pop(name, None)


def _port(change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    old = container.port.value if container.port is not None else DEFAULT_PORT
    container.port = said(each.value, each.written, each.line) if each.value is not None else None
    _move_probe(change, container, old)


def _http2(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    container.http2 = said(each.on, each.written, each.line)


def _move_probe(change: Change, container: ContainerDraft, old: int) -> None:
    """A TCP start-up probe of the port that the container had moves to the port that it gets."""
    probe = container.probes.get("startupProbe")
    if probe is None or container.port is None or not change.draft.complete or probe.value.get("tcpSocket", {}).get("port") != old:
        return
    moved = {**probe.value, "tcpSocket": {"port": container.port.value}}
    container.probes["startupProbe"] = Said(moved, probe.written, probe.line)


def _env(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    if each.flag.name == "set-env-vars" and not each.again:
        container.env = {name: entry for name, entry in container.env.items() if "value" not in entry.value}
    for name, value in (each.value if isinstance(each.value, dict) else {}).items():
        before = container.env.get(name.strip())
        if before is not None and "valueSource" in before.value:
            raise ValueRefused(
                f"{cut(name)} has its value from a secret, and gcloud does not change that", f"--remove-secrets={name} first"
            )
        container.env[name.strip()] = said({"value": value}, each.written, each.line)


def _remove_env(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    everything = each.flag.name == "clear-env-vars" and each.on
    for name in list(container.env) if everything else _texts(each):
        if name in container.env and "value" in container.env[name].value:
            del container.env[name]


def _env_file(_change: Change, _each: GivenFlag, container: ContainerDraft) -> None:
    container.env = {name: entry for name, entry in container.env.items() if "value" not in entry.value}


def _secrets(change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    if each.flag.name == "set-secrets" and not each.again:
        _without_secrets(change, container)
    for key, reference in (each.value if isinstance(each.value, dict) else {}).items():
        name = key.strip()
        secret, version = secret_version(reference, name)
        if not name.startswith("/"):
            if "value" in container.env.get(name, Said({}, "", None)).value:
                raise ValueRefused(f"{cut(name)} is set as a plain variable too", f"{cut(name)[1:-1]} in one of the two flags only")
            source = {"secretKeyRef": {"secret": secret, "version": version}}
            container.env[name] = said({"valueSource": source}, each.written, each.line)
            continue
        _secret_file(change, each, container, name, (secret, version))


def _secret_file(change: Change, each: GivenFlag, container: ContainerDraft, path: str, reference: tuple[str, str]) -> None:
    folder, _, file = path.rpartition("/")
    parts = path.split("/")[1:]
    if not folder or any(part in {"", ".", ".."} for part in parts):
        raise ValueRefused(f"{cut(path)} is no place of a secret: gcloud wants /FOLDER/FILE", f"/secrets/{file or 'FILE'}=SECRET:latest")
    secret, version = reference
    item = {"path": file, "version": version}
    mounted = container.mounts.get(folder)
    volume = change.draft.volumes.get(mounted.value) if mounted is not None else None
    before = change.folders.setdefault((container.name, folder), secret)
    if before != secret:
        why = f"two secrets are put into the folder {cut(folder)}; Cloud Run has one secret in a folder"
        raise ValueRefused(why, f"/other{path}={secret}:{version}")
    if volume is not None and volume.value.get("secret", {}).get("secret") == secret:
        items = [old for old in volume.value["secret"]["items"] if old["path"] != file]
        change.draft.volumes[mounted.value if mounted is not None else ""] = said(
            {"secret": {"secret": secret, "items": [*items, item]}}, each.written, each.line
        )
        return
    base = secret.rsplit("/", 1)[-1].replace(UNKNOWN, "")
    name, number = base, change.draft.numbers.get(base, 1)
    while name in change.draft.volumes:
        number += 1
        name = f"{base}-{number}"
    change.draft.numbers[base] = number
    change.draft.volumes[name] = said({"secret": {"secret": secret, "items": [item]}}, each.written, each.line)
    container.mounts[folder] = said(name, each.written, each.line)


def _remove_secrets(change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    if each.flag.name == "clear-secrets" and each.on:
        _without_secrets(change, container)
    for name in _texts(each):
        if name in container.env and "valueSource" in container.env[name].value:
            del container.env[name]


def _without_secrets(change: Change, container: ContainerDraft) -> None:
    container.env = {name: entry for name, entry in container.env.items() if "valueSource" not in entry.value}
    secrets = {name for name, volume in change.draft.volumes.items() if "secret" in volume.value}
    gone = {path for path, mount in container.mounts.items() if mount.value in secrets}
    container.mounts = {path: mount for path, mount in container.mounts.items() if path not in gone}
    used = {mount.value for other in change.draft.containers for mount in other.mounts.values()}
    change.draft.volumes = {name: volume for name, volume in change.draft.volumes.items() if name not in secrets or name in used}


def _mount(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    given = each.value if isinstance(each.value, dict) else {}
    if "volume" in given and "mount-path" in given:
        container.mounts[given["mount-path"].replace(UNKNOWN, "")] = said(given["volume"], each.written, each.line)


def _remove_mount(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    for path in list(container.mounts) if each.flag.name == "clear-volume-mounts" and each.on else _texts(each):
        container.mounts.pop(path, None)


def _probe(_change: Change, each: GivenFlag, container: ContainerDraft) -> None:
    given = each.value if isinstance(each.value, dict) else {}
    name = _PROBES[each.flag.name]
    if given:
        container.probes[name] = said(_probe_of(given), each.written, each.line)
    else:
        container.probes.pop(name, None)


def _probe_of(given: Mapping[str, str]) -> dict[str, Any]:
    probe: dict[str, Any] = {}
    for key, value in given.items():
        action, dot, part = key.partition(".")
        text = part in {"path", "service"}
        number = int(value) if not text and value and UNKNOWN not in value else None
        if dot:
            holder = probe.setdefault(action, {})
            if text or number is not None:
                holder[part] = value if text else number
        elif number is not None:
            probe[key] = number
    return probe


CONTAINER_FLAGS: Mapping[str, Callable[[Change, GivenFlag, ContainerDraft], None]] = {
    **dict.fromkeys(("image", "base-image"), _field),
    **dict.fromkeys(("args", "command", "depends-on"), _listed),
    **dict.fromkeys(_LIMITS, _limit),
    "port": _port,
    "use-http2": _http2,
    **dict.fromkeys(("set-env-vars", "update-env-vars"), _env),
    **dict.fromkeys(("remove-env-vars", "clear-env-vars"), _remove_env),
    "env-vars-file": _env_file,
    **dict.fromkeys(("set-secrets", "update-secrets"), _secrets),
    **dict.fromkeys(("remove-secrets", "clear-secrets"), _remove_secrets),
    "add-volume-mount": _mount,
    **dict.fromkeys(("remove-volume-mount", "clear-volume-mounts"), _remove_mount),
    **dict.fromkeys(_PROBES, _probe),
}
"""By the flag's name."""
