"""Flags that gcloud does not have, and what their author meant. Pure."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from shared.cloudrun.gcloud_flags import COMMANDS, FLAGS, Command, GcloudFlag, Kind, Place, Repeat
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
_NEGATIONS = ("no-", "disable-", "disabled-", "without-")
_AFFIRMATIONS = ("enable-", "enabled-", "with-")
_NEGATED = ("-disabled", "-disable", "-off")
_AFFIRMED = ("-enabled", "-enable", "-on")
_FALSE = frozenset({"false", "no", "0", "off"})
_ZONE = re.compile(r"([a-z]+-[a-z]+[0-9]+)-[a-z]")
_MAX_NAME = 60
_CLOSE = 0.75
MAX_COMPARED = 50
"""Unknown flags of one command that are compared with the flags there are; nobody mistypes more."""


@dataclass(frozen=True, slots=True)
class UnknownFlag:
    """What to say of it. `server_flag`: it is one of the model server's, and belongs into --args."""

    message: str
    fix: str
    server_flag: str | None = None


def unknown_flag(
    command: Command,
    written: str,
    value: str | None,
    elsewhere: GcloudFlag | None,
    *,
    beside: AbstractSet[str] = frozenset(),
    compare: bool = True,
) -> UnknownFlag:
    """`written` with its dashes; `elsewhere`: the flag of that name that only the other command has.

    `beside`: the words of the command, up to an equals sign. Not `compare`: the nearest flag is not looked for.
    """
    name = shown(written).lstrip("-")[:_MAX_NAME]
    shown_name = f"{'--' if written.startswith('--') else '-'}{name}"
    runs = f"gcloud {COMMANDS[command]}"
    if elsewhere is not None:
        return UnknownFlag(
            f"{runs} has no flag {shown_name}; gcloud {COMMANDS['deploy']} has it", f"leave {shown_name} out, or use run deploy"
        )
    if name.lower() in _NOT_FOR_SERVICES:
        return UnknownFlag(f"{runs} has no flag {shown_name} in any track: {_NOT_FOR_SERVICES[name.lower()]}", f"leave {shown_name} out")
    nearest = _nearest(written, name, command) if compare else None
    if nearest is None and "_" in name and written.startswith("--"):
        given = shown_name if value is None else f"{shown_name}={shown(value)[:_MAX_NAME]}"
        message = f"{runs} has no flag {shown_name} in any track; it looks like one of the server, which belongs into --args"
        return UnknownFlag(message, f"--args={given}", f"--{shown(written).lstrip('-')}" + (f"={value}" if value is not None else ""))
    message = f"{runs} has no flag {shown_name} in any track"
    if nearest is None:
        return UnknownFlag(message, f"leave {shown_name} out")
    if f"--{nearest}" in beside and FLAGS[nearest.removeprefix("no-") if nearest not in FLAGS else nearest].repeat in {
        Repeat.ONCE,
        Repeat.LAST,
    }:
        return UnknownFlag(message, f"leave {shown_name} out: --{nearest} says it")
    return UnknownFlag(message, _text(nearest, value))


@lru_cache(maxsize=512)
def _nearest(written: str, name: str, command: Command) -> str | None:
    lower = name.lower().replace("_", "-")
    if not written.startswith("--") and written in _SHORT:
        return _SHORT[written]
    if lower in _MEANT:
        return _MEANT[lower]
    names = [each for each, flag in FLAGS.items() if flag.tracks(command) and flag.place is not Place.EVERYWHERE]
    switches = [each for each in names if FLAGS[each].kind is Kind.SWITCH]
    names += [f"no-{each}" for each in switches]
    if lower in names:
        return lower
    plain, negated = _without_negation(lower)
    if plain != lower and (plain in names or plain in _MEANT):
        meant = _MEANT.get(plain, plain)
        return _turned(meant) if negated and meant.removeprefix("no-") in switches else meant
    close = get_close_matches(lower, [each for each in names if not negated or each.startswith("no-")] or names, n=1, cutoff=_CLOSE)
    return close[0] if close else None


def _without_negation(name: str) -> tuple[str, bool]:
    """`gpu-zonal-redundancy-disabled` is `gpu-zonal-redundancy`, turned off."""
    for ends, negated in ((_NEGATIONS, True), (_AFFIRMATIONS, False)):
        start = next((each for each in ends if name.startswith(each)), None)
        if start is not None:
            return name.removeprefix(start), negated
    for ends, negated in ((_NEGATED, True), (_AFFIRMED, False)):
        end = next((each for each in ends if name.endswith(each)), None)
        if end is not None:
            return name.removesuffix(end), negated
    return name, False


def _turned(name: str) -> str:
    return name.removeprefix("no-") if name.startswith("no-") else f"no-{name}"


def _text(name: str, value: str | None) -> str:
    flag = FLAGS.get(name)
    if flag is None or not flag.has_value:
        is_switch = FLAGS.get(name.removeprefix("no-"), flag)
        turned = value is not None and value.lower() in _FALSE and is_switch is not None and is_switch.kind is Kind.SWITCH
        return f"--{_turned(name) if turned else name}"
    zone = _ZONE.fullmatch(value or "") if name == "region" else None
    if zone is not None:
        return f"--region={zone[1]}"
    return f"--{name}={shown(value)[:_MAX_NAME]}" if value else f"--{name}=VALUE"
