"""Flags that gcloud does not have, and what their author meant. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from shared.cloudrun.gcloud_flags import COMMANDS, FLAGS, Command, GcloudFlag, Kind, Place
from shared.cloudrun.shell_variables import shown

_MEANT: Mapping[str, str] = {
    "max-concurrency": "concurrency",
    "max-concurrent-requests": "concurrency",
    "concurrent-requests": "concurrency",
    "container-concurrency": "concurrency",
    "max-instance-request-concurrency": "concurrency",
    "concurrency-limit": "concurrency",
    "gpu-count": "gpu",
    "gpus": "gpu",
    "num-gpus": "gpu",
    "gpu-num": "gpu",
    "accelerator-count": "gpu",
    "gpu-runtime": "gpu-type",
    "gpu-model": "gpu-type",
    "gpu-accelerator": "gpu-type",
    "accelerator": "gpu-type",
    "accelerators": "gpu-type",
    "accelerator-type": "gpu-type",
    "max-replicas": "max-instances",
    "max-scale": "max-instances",
    "max-instance-count": "max-instances",
    "num-instances": "max-instances",
    "min-replicas": "min-instances",
    "min-scale": "min-instances",
    "min-instance-count": "min-instances",
    "env": "set-env-vars",
    "envs": "set-env-vars",
    "env-vars": "set-env-vars",
    "environment": "set-env-vars",
    "environment-variables": "set-env-vars",
    "secrets": "set-secrets",
    "container-port": "port",
    "ports": "port",
    "http2": "use-http2",
    "use-h2c": "use-http2",
    "h2c": "use-http2",
    "enable-http2": "use-http2",
    "request-timeout": "timeout",
    "timeout-seconds": "timeout",
    "mem": "memory",
    "memory-limit": "memory",
    "ram": "memory",
    "cpus": "cpu",
    "vcpu": "cpu",
    "cpu-limit": "cpu",
    "container-image": "image",
    "entrypoint": "command",
    "container-command": "command",
    "container-args": "args",
    "arguments": "args",
    "volume": "add-volume",
    "volumes": "add-volume",
    "volume-mount": "add-volume-mount",
    "mount": "add-volume-mount",
    "health-check": "startup-probe",
    "readiness-check": "startup-probe",
    "startup-cpu-boost": "cpu-boost",
    "vpc": "network",
    "location": "region",
    "zone": "region",
    "cpu-always-allocated": "no-cpu-throttling",
    "zonal-redundancy": "gpu-zonal-redundancy",
    "execution-env": "execution-environment",
    "generation": "execution-environment",
}
"""Names that people expect, to the flag that does it."""

_NOT_FOR_SERVICES: Mapping[str, str] = {
    "max-retries": "it belongs to gcloud run jobs; a service has no setting for the retries of requests, its callers retry",
    "retries": "a service has no setting for the retries of requests, its callers retry",
    "retry": "a service has no setting for the retries of requests, its callers retry",
    "tasks": "it belongs to gcloud run jobs",
    "parallelism": "it belongs to gcloud run jobs",
    "task-timeout": "it belongs to gcloud run jobs; the timeout of a request is --timeout",
    "execute-now": "it belongs to gcloud run jobs",
    "wait": "it belongs to gcloud run jobs; a deployment waits unless --async is given",
    "to-latest": "it belongs to gcloud run services update-traffic",
    "to-revisions": "it belongs to gcloud run services update-traffic",
    "to-tags": "it belongs to gcloud run services update-traffic",
    "detach": "it belongs to docker run",
    "rm": "it belongs to docker run",
}
_SHORT: Mapping[str, str] = {
    "-e": "set-env-vars",
    "-p": "port",
    "-v": "add-volume",
    "-i": "image",
    "-r": "region",
    "-m": "memory",
    "-c": "cpu",
}
_MAX_NAME = 60
_CLOSE = 0.75


@dataclass(frozen=True, slots=True)
class UnknownFlag:
    """What to say of it. `server_flag`: it is one of the model server's, and belongs into --args."""

    message: str
    fix: str
    server_flag: str | None = None


def unknown_flag(command: Command, written: str, value: str | None, elsewhere: GcloudFlag | None) -> UnknownFlag:
    """`written` with its dashes; `elsewhere`: the flag of that name that only the other command has."""
    name = shown(written).lstrip("-")[:_MAX_NAME]
    shown_name = f"{'--' if written.startswith('--') else '-'}{name}"
    runs = f"gcloud {COMMANDS[command]}"
    if elsewhere is not None:
        return UnknownFlag(
            f"{runs} has no flag {shown_name}; gcloud {COMMANDS['deploy']} has it", f"leave {shown_name} out, or use run deploy"
        )
    if name.lower() in _NOT_FOR_SERVICES:
        return UnknownFlag(f"{runs} has no flag {shown_name} in any track: {_NOT_FOR_SERVICES[name.lower()]}", f"leave {shown_name} out")
    nearest = _nearest(written, name, command)
    if nearest is None and "_" in name and written.startswith("--"):
        given = shown_name if value is None else f"{shown_name}={shown(value)[:_MAX_NAME]}"
        message = f"{runs} has no flag {shown_name} in any track; it looks like one of the server, which belongs into --args"
        return UnknownFlag(message, f"--args={given}", f"--{shown(written).lstrip('-')}" + (f"={value}" if value is not None else ""))
    message = f"{runs} has no flag {shown_name} in any track"
    return UnknownFlag(message, _text(nearest, value) if nearest is not None else f"leave {shown_name} out")


@lru_cache(maxsize=512)
def _nearest(written: str, name: str, command: Command) -> str | None:
    lower = name.lower().replace("_", "-")
    if not written.startswith("--") and written in _SHORT:
        return _SHORT[written]
    known = _MEANT.get(lower) or _MEANT.get(lower.removeprefix("no-"))
    if known is not None:
        return known
    names = [each for each, flag in FLAGS.items() if flag.tracks(command) and flag.place is not Place.EVERYWHERE]
    names += [f"no-{each}" for each in names if FLAGS[each].kind is Kind.SWITCH]
    if lower in names:
        return lower
    close = get_close_matches(lower, names, n=1, cutoff=_CLOSE)
    return close[0] if close else None


def _text(name: str, value: str | None) -> str:
    flag = FLAGS.get(name)
    if flag is None or not flag.has_value:
        return f"--{name}"
    return f"--{name}={shown(value)[:_MAX_NAME]}" if value else f"--{name}=VALUE"
