"""A service that grows command by command, and its v2 JSON with the flag and the line of every field. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.cloudrun.fields import Json, pointer
from shared.cloudrun.gcloud_containers import DEFAULT_PORT, HTTP2
from shared.cloudrun.knative_template import GPU
from shared.cloudrun.shell_variables import shown

Way = tuple[str, ...]
"""The names that lead to a field of v2."""


@dataclass(frozen=True, slots=True)
class Said:
    """A value, the flag that says it as the text calls it, and the line."""

    value: Any
    written: str
    line: int | None


def said(value: Any, written: str, line: int | None) -> Said:
    """A value from the text, where a variable that nobody gave stands as its author wrote it."""
    return Said(_plain(value), written, line)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


@dataclass(slots=True)
class ContainerDraft:
    """One container; `fields` are those of v2 that are one value each."""

    name: str = ""
    name_said: Said | None = None
    fields: dict[str, Said] = field(default_factory=dict)
    lists: dict[str, list[Said]] = field(default_factory=dict)
    """args and command: each item with its line."""
    limits: dict[str, Said] = field(default_factory=dict)
    no_gpu: Said | None = None
    """The flag that took the GPU away: its limit is then gone, and only the name of the flag tells."""
    port: Said | None = None
    http2: Said | None = None
    env: dict[str, Said] = field(default_factory=dict)
    """By the variable's name; the value is the rest of v2's entry: `{"value": ...}` or `{"valueSource": ...}`."""
    mounts: dict[str, Said] = field(default_factory=dict)
    """Path to the volume's name."""
    probes: dict[str, Said] = field(default_factory=dict)


@dataclass(slots=True)
class ServiceDraft:
    """The service so far. `fields` leads from the way to a field (`("template", "timeout")`) to its value."""

    containers: list[ContainerDraft] = field(default_factory=list)
    fields: dict[Way, Said] = field(default_factory=dict)
    volumes: dict[str, Said] = field(default_factory=dict)
    labels: dict[str, Said] = field(default_factory=dict)
    annotations: dict[str, Said] = field(default_factory=dict)
    throttled: Said | None = None
    boosted: Said | None = None
    traffic: Said | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    """Base name of a volume to the last number behind it."""
    complete: bool = False
    region: str | None = None
    project: str | None = None

    def container(self, name: str = "") -> ContainerDraft:
        """The container of that name, made where there is none; without a name the one that gets the requests."""
        for each in self.containers:
            if each.name == name:
                return each
        if not name and self.containers:
            return next((each for each in self.containers if each.port or each.http2), self.containers[0])
        made = ContainerDraft(name)
        self.containers.append(made)
        return made


@dataclass(slots=True)
class Change:
    """A command on its way into a draft. `track` is the word behind gcloud, `name` the service's, if it is known."""

    draft: ServiceDraft
    track: str
    name: str | None
    folders: dict[tuple[str, str], str] = field(default_factory=dict)
    """Container and folder to the secret that this command puts there."""


@dataclass(slots=True)
class Built:
    """v2 JSON, and by JSON pointer the lines and the names of the flags."""

    service: Json = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def note(self, way: str, each: Said) -> None:
        """Remember where the field at `way` comes from."""
        self.names[way] = each.written
        if each.line is not None:
            self.lines[way] = each.line


def build(draft: ServiceDraft) -> Built:
    """The service as v2 JSON, with what was said and nothing else."""
    built = Built()
    for way, each in draft.fields.items():
        _place(built, way, each)
    _map(built, ("labels",), draft.labels)
    _map(built, ("template", "labels"), draft.labels)
    _map(built, ("annotations",), draft.annotations)
    template: Json = built.service.setdefault("template", {})
    containers = draft.containers or ([ContainerDraft()] if draft.complete or draft.throttled or draft.boosted else [])
    if containers:
        template["containers"] = [
            _container(built, draft, each, f"/template/containers/{number}") for number, each in enumerate(containers)
        ]
    if draft.volumes:
        template["volumes"] = []
        for number, (name, each) in enumerate(draft.volumes.items()):
            template["volumes"].append({"name": name, **each.value})
            built.note(f"/template/volumes/{number}", each)
    if not template:
        del built.service["template"]
    if draft.traffic is not None:
        built.service["traffic"] = draft.traffic.value
        built.note("/traffic", draft.traffic)
    return built


def _place(built: Built, way: Way, each: Said) -> None:
    target, at = built.service, ""
    for name in way[:-1]:
        target = target.setdefault(name, {})
        at = pointer(at, name)
    target[way[-1]] = each.value
    built.note(pointer(at, way[-1]), each)


def _map(built: Built, way: Way, values: Mapping[str, Said]) -> None:
    for name, each in values.items():
        _place(built, (*way, name), each)


def _container(built: Built, draft: ServiceDraft, source: ContainerDraft, at: str) -> Json:
    target: Json = {}
    if source.name:
        target["name"] = source.name
        if source.name_said is not None:
            built.note(f"{at}/name", source.name_said)
    for name, each in source.fields.items():
        target[name] = each.value
        built.note(f"{at}/{name}", each)
    for name, items in source.lists.items():
        target[name] = [each.value for each in items]
        _note_all(built, f"{at}/{name}", items)
    _resources(built, draft, source, target, f"{at}/resources")
    if source.port is not None or source.http2 is not None:
        _ports(built, draft, source, target, f"{at}/ports")
    if source.env:
        target["env"] = [{"name": name, **each.value} for name, each in source.env.items()]
        _note_all(built, f"{at}/env", source.env.values())
    if source.mounts:
        target["volumeMounts"] = [{"name": each.value, "mountPath": path} for path, each in source.mounts.items()]
        _note_all(built, f"{at}/volumeMounts", source.mounts.values())
    for name, each in source.probes.items():
        target[name] = each.value
        built.note(f"{at}/{name}", each)
    return target


def _note_all(built: Built, at: str, items: Iterable[Said]) -> None:
    for number, each in enumerate(items):
        if not number:
            built.note(at, Said(None, each.written, each.line))
        built.note(f"{at}/{number}", each)


def _resources(built: Built, draft: ServiceDraft, source: ContainerDraft, target: Json, at: str) -> None:
    resources: Json = {}
    if source.limits:
        resources["limits"] = {name: each.value for name, each in source.limits.items()}
        for name, each in source.limits.items():
            built.note(pointer(f"{at}/limits", name), each)
    if source.no_gpu is not None:
        built.note(pointer(f"{at}/limits", GPU), source.no_gpu)
    for name, switch in (("cpuIdle", draft.throttled), ("startupCpuBoost", draft.boosted)):
        if switch is not None:
            resources[name] = switch.value
            built.note(f"{at}/{name}", switch)
    if resources:
        target["resources"] = resources


def _ports(built: Built, draft: ServiceDraft, source: ContainerDraft, target: Json, at: str) -> None:
    """A port with HTTP/2 alone gets 8080 on a new container; on one that exists its number is not known, and nothing is said."""
    http2 = source.http2 if source.http2 is not None and source.http2.value else None
    number = source.port or (Said(DEFAULT_PORT, http2.written, http2.line) if http2 is not None and draft.complete else None)
    if number is None:
        return
    target["ports"] = [{**({"name": HTTP2} if http2 is not None else {}), "containerPort": number.value}]
    built.note(at, number)
    built.note(f"{at}/0", number)
    built.note(f"{at}/0/containerPort", number)
    if http2 is not None:
        built.note(f"{at}/0/name", http2)
