"""What gcloud would send for a command, and what was read of it, brought to one form so that they can be compared."""

from collections.abc import Mapping
from typing import Any

from shared.cloudrun.knative import to_v2

_OF_GCLOUD = ("client", "clientVersion")


def sent(v1: Mapping[str, Any]) -> dict[str, Any]:
    """The v1 service that gcloud would send, as v2."""
    document = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", **v1}
    return plain(to_v2(document).document)


def plain(service: Mapping[str, Any]) -> dict[str, Any]:
    """v2 JSON without what is empty, false or zero, and without names that gcloud makes up; lists of named things by name."""
    found: dict[str, Any] = _without_empty(dict(service))
    for name in _OF_GCLOUD:
        found.pop(name, None)
    found["name"] = str(found.get("name", "")).rsplit("/", 1)[-1]
    template = found.setdefault("template", {})
    template.setdefault("annotations", {}).pop("client.knative.dev/user-image", None)
    template["labels"] = {key: value for key, value in template.get("labels", {}).items() if key != "client.knative.dev/nonce"}
    volumes = template.get("volumes", [])
    renamed = {each["name"]: f"secret {each['secret']['secret']} {_paths(each)}" for each in volumes if "secret" in each}
    for each in volumes:
        each["name"] = renamed.get(each["name"], each["name"])
    template["volumes"] = sorted(volumes, key=lambda each: str(each["name"]))
    for container in template.get("containers", []):
        container["env"] = sorted(container.get("env", []), key=lambda each: str(each["name"]))
        mounts = [{**each, "name": renamed.get(each["name"], each["name"])} for each in container.get("volumeMounts", [])]
        container["volumeMounts"] = sorted(mounts, key=lambda each: str(each["mountPath"]))
    for each in (volume["secret"] for volume in template["volumes"] if "secret" in volume):
        each["items"] = sorted(each.get("items", []), key=lambda item: str(item["path"]))
    cleaned: dict[str, Any] = _without_empty(found)
    return cleaned


def _paths(volume: Mapping[str, Any]) -> str:
    return " ".join(sorted(str(item["path"]) for item in volume["secret"].get("items", [])))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in pairs.items() if each or key in {"tcpSocket", "httpGet", "grpc", "emptyDir", "value"}}
    if isinstance(value, list):
        items = [_without_empty(each) for each in value]
        return items if any(items) else []
    return value
