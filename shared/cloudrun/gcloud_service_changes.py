"""What gcloud's flags of the service do to it. Pure.

Source: gcloud 528's `config_changes`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shared.cloudrun.command_draft import Change, Way, said
from shared.cloudrun.gcloud_arguments import GivenFlag
from shared.cloudrun.gcloud_flags import GCLOUD_VERSION
from shared.cloudrun.gcloud_values import ValueRefused, cut
from shared.cloudrun.gcloud_volumes import read_volume
from shared.cloudrun.knative_annotations import (
    EGRESS,
    EXECUTION_ENVIRONMENTS,
    INGRESS,
    KEY_REVOCATION_ACTIONS,
    SECONDS_PER_HOUR,
    is_own,
)
from shared.cloudrun.knative_containers import CLOUD_SQL_MOUNT, CLOUD_SQL_VOLUME
from shared.cloudrun.shell_variables import UNKNOWN

_TEXTS: Mapping[str, tuple[Way, Mapping[str, str] | None]] = {
    "description": (("description",), None),
    "client-name": (("client",), None),
    "client-version": (("clientVersion",), None),
    "ingress": (("ingress",), INGRESS),
    "breakglass": (("binaryAuthorization", "breakglassJustification"), None),
    "execution-environment": (("template", "executionEnvironment"), EXECUTION_ENVIRONMENTS),
    "service-account": (("template", "serviceAccount"), None),
    "gpu-type": (("template", "nodeSelector", "accelerator"), None),
    "vpc-connector": (("template", "vpcAccess", "connector"), None),
    "vpc-egress": (("template", "vpcAccess", "egress"), EGRESS),
    "key": (("template", "encryptionKey"), None),
    "post-key-revocation-action-type": (("template", "encryptionKeyRevocationAction"), KEY_REVOCATION_ACTIONS),
}
"""Flags of the service with one word: the way to v2's field, and v2's words for gcloud's."""

_COUNTS: Mapping[str, Way] = {
    "concurrency": ("template", "maxInstanceRequestConcurrency"),
    "min-instances": ("template", "scaling", "minInstanceCount"),
    "max-instances": ("template", "scaling", "maxInstanceCount"),
    "min": ("scaling", "minInstanceCount"),
    "service-min-instances": ("scaling", "minInstanceCount"),
    "max": ("scaling", "maxInstanceCount"),
    "service-max-instances": ("scaling", "maxInstanceCount"),
}
_GONE_AT_ZERO = frozenset({"min-instances", "min", "service-min-instances"})

_SWITCHES: Mapping[str, tuple[Way, bool]] = {
    "session-affinity": (("template", "sessionAffinity"), False),
    "deploy-health-check": (("template", "healthCheckDisabled"), True),
    "gpu-zonal-redundancy": (("template", "gpuZonalRedundancyDisabled"), True),
    "default-url": (("defaultUriDisabled",), True),
    "invoker-iam-check": (("invokerIamDisabled",), True),
    "iap": (("iapEnabled",), False),
}
"""Switches: v2's field, and whether it says the opposite."""

_CLEARED: Mapping[str, tuple[Way, ...]] = {
    "clear-binary-authorization": (("binaryAuthorization", "policy"), ("binaryAuthorization", "useDefault")),
    "clear-key": (
        ("template", "encryptionKey"),
        ("template", "encryptionKeyRevocationAction"),
        ("template", "encryptionKeyShutdownDuration"),
    ),
    "clear-post-key-revocation-action-type": (
        ("template", "encryptionKeyRevocationAction"),
        ("template", "encryptionKeyShutdownDuration"),
    ),
    "clear-encryption-key-shutdown-hours": (("template", "encryptionKeyShutdownDuration"),),
    "clear-vpc-connector": (("template", "vpcAccess", "connector"), ("template", "vpcAccess", "egress")),
    "clear-network": (("template", "vpcAccess", "networkInterfaces"), ("template", "vpcAccess", "egress")),
    "clear-custom-audiences": (("customAudiences",),),
}
_NETWORK = {"network": "network", "subnet": "subnetwork", "network-tags": "tags"}
_INSTANCE_PARTS = 3
"""Of a Cloud SQL instance's full name."""


def _texts(each: GivenFlag) -> list[str]:
    return each.value if isinstance(each.value, list) else []


def _put(change: Change, way: Way, each: GivenFlag, value: Any) -> None:
    """Set a field, or take it away where the value is not known or is the word that clears it."""
    if value is None:
        change.draft.fields.pop(way, None)
    else:
        change.draft.fields[way] = said(value, each.written, each.line)


def _text(change: Change, each: GivenFlag) -> None:
    way, words = _TEXTS[each.flag.name]
    value = words.get(str(each.value)) if words is not None and each.value is not None else each.value
    _put(change, way, each, value or None)


def _count(change: Change, each: GivenFlag) -> None:
    if each.flag.name in {"max", "service-max-instances"} and each.value is None and each.known:
        raise ValueRefused(f"gcloud {GCLOUD_VERSION} stops with an error at the word default here", f"{each.written}=3")
    value = None if each.flag.name in _GONE_AT_ZERO and each.value == 0 else each.value
    _put(change, _COUNTS[each.flag.name], each, value)


def _switch(change: Change, each: GivenFlag) -> None:
    way, opposite = _SWITCHES[each.flag.name]
    _put(change, way, each, each.on is not opposite)


def _clear(change: Change, each: GivenFlag) -> None:
    for way in _CLEARED[each.flag.name] if each.on else ():
        change.draft.fields.pop(way, None)


def _timeout(change: Change, each: GivenFlag) -> None:
    _put(change, ("template", "timeout"), each, None if each.value is None else f"{each.value}s")


def _shutdown_hours(change: Change, each: GivenFlag) -> None:
    hours = str(each.value)
    whole = hours.isascii() and hours.isdecimal() and len(hours) < 9  # noqa: PLR2004 (more hours than anything lasts)
    _put(change, ("template", "encryptionKeyShutdownDuration"), each, f"{int(hours) * SECONDS_PER_HOUR}s" if whole else None)


def _policy(change: Change, each: GivenFlag) -> None:
    for way in _CLEARED["clear-binary-authorization"]:
        change.draft.fields.pop(way, None)
    if each.value == "default":
        _put(change, ("binaryAuthorization", "useDefault"), each, value=True)
    else:
        _put(change, ("binaryAuthorization", "policy"), each, each.value or None)


def _scaling(change: Change, each: GivenFlag) -> None:
    change.draft.fields.pop(("scaling", "manualInstanceCount"), None)
    if each.value == "auto":
        _put(change, ("scaling", "scalingMode"), each, "AUTOMATIC")
        return
    _put(change, ("scaling", "scalingMode"), each, None if each.value is None else "MANUAL")
    for end in ("minInstanceCount", "maxInstanceCount"):
        change.draft.fields.pop(("scaling", end), None)
    _put(change, ("scaling", "manualInstanceCount"), each, each.value)


def _mesh(change: Change, each: GivenFlag) -> None:
    mesh = each.value
    if isinstance(mesh, str) and mesh and "/" not in mesh:
        mesh = f"projects/{change.draft.project or UNKNOWN + 'PROJECT'}/locations/global/meshes/{mesh}"
    _put(change, ("template", "serviceMesh", "mesh"), each, mesh or None)


def _revision_suffix(change: Change, each: GivenFlag) -> None:
    named = change.name is not None and bool(each.value)
    _put(change, ("template", "revision"), each, f"{(change.name or '')[: 62 - len(str(each.value))]}-{each.value}" if named else None)


def _network(change: Change, each: GivenFlag) -> None:
    way = ("template", "vpcAccess", "networkInterfaces")
    before = change.draft.fields.get(way)
    interface = dict(before.value[0]) if before is not None else {}
    key = _NETWORK.get(each.flag.name, "tags")
    if isinstance(each.value, list) and key in interface and each.again:
        interface[key] = [*interface[key], *each.value]
    elif each.value:
        interface[key] = each.value
    else:
        interface.pop(key, None)
    _put(change, way, each, [interface] if interface else None)


def _labels(change: Change, each: GivenFlag) -> None:
    for key, value in (each.value if isinstance(each.value, dict) else {}).items():
        change.draft.labels[key] = said(value, each.written, each.line)


def _remove_labels(change: Change, each: GivenFlag) -> None:
    for key in list(change.draft.labels) if each.flag.name == "clear-labels" and each.on else _texts(each):
        change.draft.labels.pop(key, None)


def _annotations(change: Change, each: GivenFlag) -> None:
    for key, value in (each.value if isinstance(each.value, dict) else {}).items():
        if is_own(key):
            change.draft.annotations[key] = said(value, each.written, each.line)


def _audiences(change: Change, each: GivenFlag) -> None:
    way = ("customAudiences",)
    before = change.draft.fields.get(way)
    current = list(before.value) if before is not None and each.flag.name != "set-custom-audiences" else []
    if each.flag.name == "remove-custom-audiences":
        current = [item for item in current if item not in _texts(each)]
    else:
        current = list(dict.fromkeys([*current, *_texts(each)]))
    _put(change, way, each, current or None)


def _cloud_sql(change: Change, each: GivenFlag) -> None:
    before = change.draft.volumes.get(CLOUD_SQL_VOLUME)
    current = list(before.value["cloudSqlInstance"]["instances"]) if before is not None else []
    if each.flag.name in {"set-cloudsql-instances", "clear-cloudsql-instances"}:
        current = [] if each.on else current
    named = [_instance(change, item) for item in _texts(each)]
    if each.flag.name == "remove-cloudsql-instances":
        current = [item for item in current if item not in named]
    else:
        current = list(dict.fromkeys([*current, *named]))
    if current:
        change.draft.volumes[CLOUD_SQL_VOLUME] = said({"cloudSqlInstance": {"instances": current}}, each.written, each.line)
        change.draft.container()
    else:
        change.draft.volumes.pop(CLOUD_SQL_VOLUME, None)
    for container in change.draft.containers:
        container.mounts.pop(CLOUD_SQL_MOUNT, None)
        if current:
            container.mounts[CLOUD_SQL_MOUNT] = said(CLOUD_SQL_VOLUME, each.written, each.line)


def _instance(change: Change, text: str) -> str:
    parts = text.split(":")
    if UNKNOWN in text or len(parts) == _INSTANCE_PARTS:
        return text
    if len(parts) != 1:
        raise ValueRefused(f"{cut(text)} names no Cloud SQL instance", "PROJECT:REGION:INSTANCE")
    return f"{change.draft.project or 'PROJECT'}:{change.draft.region or 'REGION'}:{text}"


def _throttling(change: Change, each: GivenFlag) -> None:
    change.draft.throttled = said(each.on, each.written, each.line)


def _boost(change: Change, each: GivenFlag) -> None:
    change.draft.boosted = said(each.on, each.written, each.line)


def _add_volume(change: Change, each: GivenFlag) -> None:
    given = each.value if isinstance(each.value, dict) else {}
    name, kind = given.get("name"), given.get("type")
    if name is None or kind is None or UNKNOWN in kind:
        return
    change.draft.volumes[name.replace(UNKNOWN, "")] = said(read_volume(name, kind, given, track=change.track), each.written, each.line)


def _remove_volume(change: Change, each: GivenFlag) -> None:
    for name in list(change.draft.volumes) if each.flag.name == "clear-volumes" and each.on else _texts(each):
        change.draft.volumes.pop(name, None)


def _remove_containers(change: Change, each: GivenFlag) -> None:
    gone = set(_texts(each))
    change.draft.containers = [container for container in change.draft.containers if container.name not in gone]


SERVICE_FLAGS: Mapping[str, Callable[[Change, GivenFlag], None]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_SWITCHES, _switch),
    **dict.fromkeys(_CLEARED, _clear),
    "timeout": _timeout,
    "encryption-key-shutdown-hours": _shutdown_hours,
    "binary-authorization": _policy,
    "scaling": _scaling,
    "mesh": _mesh,
    "revision-suffix": _revision_suffix,
    **dict.fromkeys((*_NETWORK, "clear-network-tags"), _network),
    **dict.fromkeys(("labels", "update-labels"), _labels),
    **dict.fromkeys(("remove-labels", "clear-labels"), _remove_labels),
    "update-annotations": _annotations,
    **dict.fromkeys(("set-custom-audiences", "add-custom-audiences", "remove-custom-audiences"), _audiences),
    **dict.fromkeys((f"{verb}-cloudsql-instances" for verb in ("set", "add", "remove", "clear")), _cloud_sql),
    "cpu-throttling": _throttling,
    "cpu-boost": _boost,
    "add-volume": _add_volume,
    **dict.fromkeys(("remove-volume", "clear-volumes"), _remove_volume),
    "remove-containers": _remove_containers,
}
"""By the flag's name."""
