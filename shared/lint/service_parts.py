"""The parts of a service that rules look at, as plain values: whole numbers, containers with their pointers, stand-ins. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.cloudrun.described import Form
from shared.cloudrun.document_checking import dotted
from shared.cloudrun.fields import Json
from shared.cloudrun.knative import FULL_NAME
from shared.cloudrun.quantities import GIB, quantity
from shared.lint.deployment import Deployment
from shared.lint.finding import Where
from shared.lint.images import read_image
from shared.lint.v2_values import limits_of

_MARKED = re.compile(r"\$[A-Za-z_{(]|<[^<>]+>|\{[^{}]*\}|\[[^\[\]]+\]|%[A-Za-z_][A-Za-z0-9_]*%|%s")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_BETWEEN = re.compile(r"[/:.@=-]")
_PLACEHOLDERS = frozenset(
    {
        "ACCOUNT",
        "BUCKET",
        "DIGEST",
        "FOLDER",
        "GPU",
        "HASH",
        "HOST",
        "ID",
        "IMAGE",
        "KEY",
        "LABEL",
        "LOCATION",
        "MODEL",
        "MY",
        "NAME",
        "NUMBER",
        "ORG",
        "PATH",
        "PORT",
        "PROJECT",
        "REGION",
        "REGISTRY",
        "REPO",
        "REPOSITORY",
        "REVISION",
        "SECRET",
        "SERVICE",
        "TAG",
        "TEAM",
        "TODO",
        "TYPE",
        "URI",
        "URL",
        "USER",
        "VALUE",
        "VERSION",
        "YOUR",
        "ZONE",
    }
)
"""Words of which documentation makes its stand-ins: `REGION-docker.pkg.dev/PROJECT_ID/REPO/IMAGE:TAG`."""
_SECONDS = re.compile(r"(-?[0-9]{1,30}(?:\.[0-9]{1,9})?)s")


def is_stand_in(text: str) -> bool:
    """Whether the text stands for a value that is filled in later: `$IMAGE`, `<region>`, `PROJECT_ID`. Nothing is known of it.

    Capitals alone are none where they are a value's own words: `NVIDIA-L4` and `TENSORFLOW/SERVING:2.20.0` are mistakes to report.
    """
    if _MARKED.search(text):
        return True
    if any(char.isspace() for char in text):
        return False  # a quote that is closed too late
    words = _BETWEEN.split(text)
    capitals = [word for word in words if _CAPITALS.fullmatch(word)]
    return any(len(words) == 1 or "_" in word or _is_placeholder(word) for word in capitals)


def _is_placeholder(word: str) -> bool:
    return word.rstrip("0123456789") in _PLACEHOLDERS or set(word) == {"X"}


def parts(holder: Mapping[str, Any], name: str) -> list[Json]:
    """The list of objects under the name; empty if there is none."""
    found = holder.get(name)
    return [each if isinstance(each, dict) else {} for each in found] if isinstance(found, list) else []


def texts(holder: Mapping[str, Any], name: str) -> list[str]:
    """The list of texts under the name; empty if there is none."""
    found = holder.get(name)
    return [str(each) for each in found] if isinstance(found, list) else []


def whole(holder: Mapping[str, Any], name: str) -> int:
    """The whole number under the name; 0, which is the default everywhere, if there is none."""
    found = holder.get(name)
    if isinstance(found, str) and re.fullmatch(r"-?[0-9]{1,18}", found):
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def seconds(text: Any) -> float | None:
    """A duration of v2's JSON (`300s`) in seconds; None if it is none."""
    found = _SECONDS.fullmatch(text) if isinstance(text, str) else None
    return float(found[1]) if found else None


def containers(deployment: Deployment) -> Iterator[tuple[int, str, Json]]:
    """Number, pointer and v2 JSON of each container of a Cloud Run service."""
    if deployment.is_service:
        for at, container in enumerate(parts(deployment.template, "containers")):
            yield at, f"/template/containers/{at}", container


def amount(container: Json, name: str) -> float | None:
    """The container's limit of that name, exact enough for comparisons; None if it has none that can be read."""
    text = limits_of(container).get(name)
    found = quantity(str(text)) if text is not None else None
    return None if found is None else float(found)


def memory_gib(container: Json) -> float | None:
    """The container's limit of memory; None if it has none that can be read."""
    found = amount(container, "memory")
    return None if found is None else found / GIB


def short_name(deployment: Deployment) -> str:
    """The service's short name; empty if the description does not say."""
    name = str(deployment.service.get("name") or "")
    full = FULL_NAME.fullmatch(name)
    return full["name"] if full else name


def is_document(deployment: Deployment) -> bool:
    """Whether the description has the fields of a service in it, rather than flags of a command that change some."""
    return deployment.described is not None and deployment.described.form in {Form.V1, Form.V2, Form.TERRAFORM, Form.SPEC}


def where_absent(deployment: Deployment, way: str, *, flag: str, v1: str | None = None) -> Where:
    """Where a field that nobody wrote would stand: the line of what is around it, and the field as this form would call it.

    `way` is its pointer in v2, `v1` its name in a Knative document where that is another.
    """
    where = deployment.where(way)
    form = deployment.described.form if deployment.described is not None else Form.GCLOUD
    if form in {Form.GCLOUD, Form.DOCKER}:
        return replace(where, field=flag)
    if form is Form.V1:
        return replace(where, field=v1 or dotted(way).replace("template.", "spec.template.spec.", 1))
    return replace(where, field=dotted(way))


def front_is_server(deployment: Deployment) -> bool:
    """Whether the container that gets the requests may be TF Serving: not where another one is, behind a proxy."""
    image = deployment.image
    if image is not None and image.is_tf_serving:
        return True
    others = (str(each.get("image") or "") for each in deployment.containers if each is not deployment.container)
    return not any(read_image(text).is_tf_serving for text in others)
