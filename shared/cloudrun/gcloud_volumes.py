"""The volumes that gcloud's --add-volume makes. Pure.

Source: gcloud 528's `volumes`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shared.cloudrun.gcloud_values import ValueRefused, cut
from shared.cloudrun.shell_variables import UNKNOWN

VOLUME_KEYS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "in-memory": (frozenset(), frozenset({"size-limit"})),
    "nfs": (frozenset({"location"}), frozenset({"readonly"})),
    "cloud-storage": (frozenset({"bucket"}), frozenset({"readonly", "mount-options", "dynamic-mounting"})),
}
"""Kinds of volumes, with the keys that they need and may have."""


def read_volume(name: str, kind: str, given: Mapping[str, str], *, track: str) -> dict[str, Any]:
    """v2's volume without its name, of the keys that --add-volume gives; `track` is the word behind gcloud.

    Raises:
        ValueRefused: gcloud knows no such volume.
    """
    if track == "alpha" and kind in {"secret", "cloudsql"}:
        return _alpha_volume(kind, given)
    if kind not in VOLUME_KEYS:
        raise ValueRefused(
            f"gcloud knows no volume of type {cut(kind)}, only {', '.join(VOLUME_KEYS)}",
            f"name={cut(name)[1:-1]},type=cloud-storage,bucket=BUCKET",
        )
    needed, optional = VOLUME_KEYS[kind]
    if track == "alpha" and kind == "cloud-storage":
        needed, optional = frozenset(), optional | {"bucket"}
    for key in given:
        if key not in {"name", "type"} and key not in needed and key not in optional:
            raise ValueRefused(f"a volume of type {kind} has no key {cut(key)}", f"only {', '.join(sorted(needed | optional))}")
    if kind == "cloud-storage" and "mount-options" in given and not track:
        raise ValueRefused("mount-options is a key of gcloud beta only", "gcloud beta run deploy ...")
    if kind == "cloud-storage" and "dynamic-mounting" in given and track != "alpha":
        raise ValueRefused("dynamic-mounting is a key of gcloud alpha only", "gcloud alpha run deploy ...")
    for key in needed:
        if key not in given:
            raise ValueRefused(f"a volume of type {kind} needs the key {key}", f"{key}=...")
    return _FILLED[kind](given)


def _alpha_volume(kind: str, given: Mapping[str, str]) -> dict[str, Any]:
    if kind == "cloudsql":
        return {"cloudSqlInstance": {"instances": [each for each in given.get("instances", "").split(";") if each]}}
    return {
        "secret": {"secret": given.get("secret", ""), "items": [{"path": given.get("path", ""), "version": given.get("version", "latest")}]}
    }


def _in_memory(given: Mapping[str, str]) -> dict[str, Any]:
    return {"emptyDir": {"medium": "MEMORY", **({"sizeLimit": given["size-limit"]} if "size-limit" in given else {})}}


def _nfs(given: Mapping[str, str]) -> dict[str, Any]:
    server, mark, path = given["location"].partition(":/")
    if not mark and UNKNOWN not in given["location"]:
        raise ValueRefused(f"location is {cut(given['location'])}, not SERVER:/PATH", "location=10.0.0.2:/models")
    return {"nfs": {"server": server, "path": f"/{path}", **_read_only(given)}}


def _bucket(given: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {**_read_only(given)}
    if "bucket" in given:
        found["bucket"] = given["bucket"]
    if given.get("mount-options"):
        found["mountOptions"] = [each for each in given["mount-options"].replace(";", ",").split(",") if each]
    return {"gcs": found}


def _read_only(given: Mapping[str, str]) -> dict[str, bool]:
    return {"readOnly": True} if given.get("readonly", "").lower() == "true" else {}


_FILLED: Mapping[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {"in-memory": _in_memory, "nfs": _nfs, "cloud-storage": _bucket}
