"""Cloud Run's limits of what stands around the containers: images, names, networks, targets of scaling, tags, small instances. Pure.

Sources: the docstrings of the Admin API v2, Cloud Run's documentation, the grammar of image references of the OCI distribution, and the
API's own refusals. Values are REST JSON of the Admin API v2.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.cloudrun.limits import LimitFault
from shared.cloudrun.quantities import quantity
from shared.cloudrun.server_texts import ServerText
from shared.cloudrun.shapes import GEN2_MIN_MEMORY_GIB, GPU_RESOURCE

MAX_CONTAINER_NAME = 63
MAX_TAG_AND_SERVICE_NAME = 46
"""Characters of both together: they make a host name."""
SET_POINTS: Mapping[str, float] = {"cpuUtilization": 0.90, "concurrencyUtilization": 0.95}
"""The highest target of each driver of the autoscaler; the lowest is 0.10, and 0 switches the driver off."""
MIN_SET_POINT = 0.10
LIMIT_NAMES = ("cpu", "memory", GPU_RESOURCE)

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_TAG = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_CONNECTOR = re.compile(r"projects/[^/]+/locations/[^/]+/connectors/[^/]+")
_HOST = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:\d))(?::\d+)?/"
_FOLDER = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_DIGEST = r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})"
_IMAGE = re.compile(rf"(?:{_HOST})?{_FOLDER}(?:/{_FOLDER})*(?::\w[\w.-]{{0,127}})?(?:@{_DIGEST})?", re.ASCII)


def image_faults(container: Mapping[str, Any], *, at: int) -> Iterator[LimitFault]:
    """`image` of the container of that number: there, unless it is built from source, and a reference to an image."""
    image = str(container.get("image") or "")
    field = f"template.containers[{at}].image"
    if not image and "sourceCode" not in container:
        yield LimitFault(
            field=field, value=image, limit="an image", why="a container runs an image", fix="name the image with its tag or digest"
        )
    elif image and not _IMAGE.fullmatch(image):
        yield LimitFault(
            field=field,
            value=image,
            limit="[HOST/]PATH[:TAG][@sha256:64 hexadecimal digits], the path in lower case",
            why="it is no reference to an image",
            fix="copy the reference from the registry, without https://",
        )


def container_name_faults(names: Sequence[str]) -> Iterator[LimitFault]:
    """The names of a template's containers in their order; an empty one is not set."""
    for at, name in enumerate(names):
        if name and (len(name) > MAX_CONTAINER_NAME or not _NAME.fullmatch(name)):
            yield LimitFault(
                field=f"template.containers[{at}].name",
                value=name,
                limit=f"1 to {MAX_CONTAINER_NAME} of a-z, 0-9, - and ., a letter or digit first and last",
                why="a container's name is a label of RFC 1123",
                fix="choose a plainer name",
            )
    for name in dict.fromkeys(name for name in names if name and names.count(name) > 1):
        yield LimitFault(
            field="template.containers",
            value=name,
            limit="each name once",
            why="containers are told apart by name",
            fix="rename one of them",
        )


def limit_name_faults(limits: Mapping[str, Any], *, at: int) -> Iterator[LimitFault]:
    """The names in `resources.limits` of the container of that number, and whether CPU and memory are quantities."""
    for name, value in limits.items():
        field = f"template.containers[{at}].resources.limits[{name}]"
        if name not in LIMIT_NAMES:
            yield LimitFault(
                field=field,
                value=str(value),
                limit=f"limits of {', '.join(LIMIT_NAMES)}",
                why="Cloud Run knows no other resource",
                fix="take it out",
            )
        elif name != GPU_RESOURCE and quantity(str(value)) is None:
            yield LimitFault(
                field=field,
                value=str(value),
                limit="a quantity such as 4 or 16Gi",
                why="it is no amount",
                fix='write cpu: "4"' if name == "cpu" else "write memory: 16Gi",
            )


def vpc_access_faults(access: Mapping[str, Any]) -> Iterator[LimitFault]:
    """`template.vpc_access`: one way into the network, and one interface."""
    field = "template.vpc_access"
    connector, interfaces = str(access.get("connector") or ""), access.get("networkInterfaces") or []
    if connector and interfaces:
        yield LimitFault(
            field=field,
            value=connector,
            limit="a connector or network_interfaces",
            why="a revision has one way into a network",
            fix="keep network_interfaces, or the connector",
        )
    if len(interfaces) > 1:
        yield LimitFault(
            field=f"{field}.network_interfaces",
            value=len(interfaces),
            limit="1 interface",
            why="an instance has one",
            fix="keep one of them",
        )
    for at, interface in enumerate(interfaces):
        if not interface.get("network") and not interface.get("subnetwork"):
            yield LimitFault(
                field=f"{field}.network_interfaces[{at}]",
                value="",
                limit="a network or a subnetwork",
                why="the interface would lead nowhere",
                fix="name the network or the subnetwork",
            )
    if connector and not _CONNECTOR.fullmatch(connector):
        yield LimitFault(
            field=f"{field}.connector",
            value=connector,
            limit="projects/PROJECT/locations/LOCATION/connectors/CONNECTOR",
            why="the Admin API takes the full name",
            fix="write the connector's full name",
        )


def set_point_faults(scaling: Mapping[str, Any]) -> Iterator[LimitFault]:
    """The targets in `template.scaling`; 0 switches a driver off, and one of the two is needed."""
    stated = {name: scaling[name] for name in SET_POINTS if isinstance(scaling.get(name), int | float)}
    for name, value in stated.items():
        if value != 0 and not MIN_SET_POINT <= value <= SET_POINTS[name]:
            yield LimitFault(
                field=f"template.scaling.{name}",
                value=value,
                limit=f"0, or {MIN_SET_POINT} to {SET_POINTS[name]}",
                why="the autoscaler takes no other target",
                fix="use 0.6, Cloud Run's own target",
            )
    if len(stated) == len(SET_POINTS) and not any(stated.values()):
        yield LimitFault(
            field="template.scaling",
            value=0,
            limit="one target above 0",
            why="with both at 0 nothing would add instances",
            fix="leave one of the two out",
        )


def tag_faults(tags: Sequence[str], *, service: str) -> Iterator[LimitFault]:
    """The tags of `traffic` in their order (empty: none) and the service's short name: both make a host name."""
    for at, tag in enumerate(tags):
        if tag and not _TAG.fullmatch(tag):
            yield LimitFault(
                field=f"traffic[{at}].tag",
                value=tag,
                limit="a-z, 0-9 and -, a letter first, no - last",
                why="a tag is the beginning of a host name",
                fix="choose a plainer tag",
            )
        elif len(tag) + len(service) > MAX_TAG_AND_SERVICE_NAME and tag:
            yield LimitFault(
                field=f"traffic[{at}].tag",
                value=tag,
                limit=f"{MAX_TAG_AND_SERVICE_NAME} characters together with the service's name {service}",
                why="both make one host name",
                fix="choose a shorter tag",
            )


def small_instance_faults(*, cpu: float, memory_gib: float, concurrency: int | None, gen2: bool, always_on: bool) -> Iterator[LimitFault]:
    """What an instance of less than one vCPU or 512 MiB may not have, its containers together.

    `concurrency` None is not set; `gen2`: the second generation is asked for by name; `always_on`: CPU is not taken away between requests.
    """
    if cpu < 1:
        field = "template.containers.resources.limits.cpu"
        if gen2 or always_on:
            why = "the second generation has no smaller instance" if gen2 else "CPU that is always allocated is a whole one"
            fix = "use 1 vCPU or more"
            yield LimitFault(
                field, cpu, "1 vCPU or more", why, fix, ServerText.FRACTIONAL_CPU_ALWAYS_ON if always_on and not gen2 else None
            )
        elif concurrency is not None and concurrency > 1:
            yield LimitFault(
                field,
                cpu,
                "1 vCPU or more with concurrency above 1",
                f"concurrency is {concurrency}",
                "use 1 vCPU or more, or concurrency 1",
                ServerText.FRACTIONAL_CPU_CONCURRENCY,
            )
    if memory_gib < GEN2_MIN_MEMORY_GIB and (gen2 or always_on):
        why = "the second generation has no smaller instance" if gen2 else "CPU is always allocated"
        yield LimitFault("template.containers.resources.limits.memory", memory_gib, "512Mi or more", why, "use 512Mi or more")
