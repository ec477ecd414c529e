"""Cloud Run's limits of the containers of a template: environment, arguments, ports, order of starts. Pure.

Sources: the docstrings of `run_v2.Container` and `run_v2.EnvVar`, Cloud Run's container contract, and the API's own refusals.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from shared.cloudrun.limits import Found, LimitFault
from shared.cloudrun.server_texts import ServerText

MAX_CONTAINERS = 10
MAX_ENV = 1_000
"""Environment variables of all containers together."""
MAX_ARGS = 1_000
"""Arguments of all containers together."""
MAX_ENV_VALUE_BYTES = 32_768
RESERVED_ENV = frozenset({"PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"})
"""Cloud Run sets them in every container of a service."""
PORT_NAMES = frozenset({"", "http1", "h2c"})
"""`h2c` is HTTP/2 without TLS to the container: gRPC needs it."""
MAX_PORT = 65_535

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$\([A-Za-z_][A-Za-z0-9_.-]*\)")

CONTAINERS = "template.containers"


def env_faults(containers: Sequence[Sequence[tuple[str, str | None]]]) -> Iterator[LimitFault]:
    """The environment of every container, as names and values; None is a value from a secret."""
    count = sum(len(env) for env in containers)
    if count > MAX_ENV:
        yield LimitFault(
            field=f"{CONTAINERS}.env",
            value=count,
            limit=f"{MAX_ENV} variables of all containers together",
            why="Cloud Run takes no more",
            fix="put the rest into a file: a secret volume, or the image",
            text=ServerText.ENV_COUNT,
        )
    for at, env in enumerate(containers):
        for name, times in Counter(name for name, _ in env).items():
            yield from _env_name_faults(f"{CONTAINERS}[{at}].env", name, times)
        for name, value in env:
            if value is not None:
                yield from _env_value_faults(f"{CONTAINERS}[{at}].env[{name}]", value)


def _env_name_faults(field: str, name: str, times: int) -> Iterator[LimitFault]:
    if name in RESERVED_ENV:
        yield LimitFault(
            field=field,
            value=name,
            limit=f"any name but {', '.join(sorted(RESERVED_ENV))}",
            why="Cloud Run sets this variable itself",
            fix="leave it out; for PORT set ports.container_port",
            text=ServerText.ENV_RESERVED,
        )
    elif not _ENV_NAME.fullmatch(name):
        yield LimitFault(
            field=field,
            value=name,
            limit="letters, digits and _, no digit first",
            why="Cloud Run may take it, but shells and most programs cannot read it",
            fix="rename it",
            found=Found.NEVER,
        )
    if times > 1:
        yield LimitFault(
            field=field,
            value=name,
            limit="each name once in a container",
            why=f"it is there {times} times; Cloud Run takes that without saying which one counts",
            fix="keep one",
            found=Found.NEVER,
        )


def _env_value_faults(field: str, value: str) -> Iterator[LimitFault]:
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > MAX_ENV_VALUE_BYTES:
        yield LimitFault(
            field=field,
            value=f"{size} bytes",
            limit=f"{MAX_ENV_VALUE_BYTES} bytes",
            why="Cloud Run takes no longer value",
            fix="put it into a file: a secret volume, or the image",
            text=ServerText.ENV_VALUE,
        )
    yield from _reference_faults(field, value)


def args_faults(containers: Sequence[Sequence[str]], *, field: str = "args") -> Iterator[LimitFault]:
    """`args` (or, by `field`, `command`) of every container."""
    count = sum(len(args) for args in containers)
    if field == "args" and count > MAX_ARGS:
        yield LimitFault(
            field=f"{CONTAINERS}.args",
            value=count,
            limit=f"{MAX_ARGS} arguments of all containers together",
            why="Cloud Run takes no more",
            fix="put options into a configuration file",
            text=ServerText.ARGS_COUNT,
        )
    for at, args in enumerate(containers):
        for position, arg in enumerate(args):
            yield from _reference_faults(f"{CONTAINERS}[{at}].{field}[{position}]", arg)


def _reference_faults(field: str, value: str) -> Iterator[LimitFault]:
    found = _REFERENCE.search(value)
    if found is not None:
        yield LimitFault(
            field=field,
            value=value if len(value) <= 120 else f"{value[:119]}…",  # noqa: PLR2004 (a line's worth)
            limit=f"no reference such as {found.group()}",
            why="the Admin API v2 says that variable references are not supported, earlier versions of it expanded them",
            fix="write the value itself, or expand it in a shell entry point",
            found=Found.NEVER,
        )


def container_count_faults(count: int) -> Iterator[LimitFault]:
    """How many containers an instance has, the one that serves included."""
    if not 1 <= count <= MAX_CONTAINERS:
        yield LimitFault(
            field=CONTAINERS,
            value=count,
            limit=f"1 to {MAX_CONTAINERS} containers",
            why="an instance has no more" if count else "an instance runs something",
            fix="merge sidecars" if count else "add the container that serves",
            text=ServerText.CONTAINER_COUNT if count else None,
        )


def port_faults(containers: Sequence[Sequence[tuple[str, int]]]) -> Iterator[LimitFault]:
    """`ports` of every container, as names and numbers. A single container may leave its port out: it is then 8080."""
    for at, ports in enumerate(containers):
        field = f"{CONTAINERS}[{at}].ports"
        if len(ports) > 1:
            yield LimitFault(
                field=field,
                value=len(ports),
                limit="0 or 1 port",
                why="a service has one port: gRPC and REST of one server cannot both be reached",
                fix="keep the port that clients use",
                text=ServerText.PORT_COUNT,
            )
        for name, number in ports:
            if name not in PORT_NAMES:
                yield LimitFault(
                    field=f"{field}.name",
                    value=name,
                    limit="http1, h2c or empty",
                    why="the name chooses the protocol to the container",
                    fix="use h2c for gRPC, http1 for REST",
                    text=ServerText.PORT_NAME,
                )
            if not 0 <= number <= MAX_PORT:
                yield LimitFault(
                    field=f"{field}.container_port",
                    value=number,
                    limit=f"1 to {MAX_PORT}, or 0 for 8080",
                    why="no such port",
                    fix="use the port the server listens on",
                    text=ServerText.PORT_RANGE,
                )
    exposed = sum(1 for ports in containers if ports)
    if exposed > 1 or (len(containers) > 1 and exposed == 0):
        yield LimitFault(
            field=CONTAINERS,
            value=f"{exposed} containers with a port",
            limit="exactly one container with a port",
            why="the requests go to one container",
            fix="give a port to the container that serves, and to no sidecar",
            text=ServerText.INGRESS_CONTAINER,
        )


def dependency_faults(depends_on: Mapping[str, Sequence[str]]) -> Iterator[LimitFault]:
    """`depends_on` of every container by its name: every name is there, and nobody waits for itself."""
    unknown = False
    for name, needs in depends_on.items():
        for need in needs:
            if need not in depends_on:
                unknown = True
                yield LimitFault(
                    field=f"{CONTAINERS}[{name}].depends_on",
                    value=need,
                    limit=f"a container of the template: {', '.join(depends_on)}",
                    why="there is no container of that name",
                    fix="name a container of the template",
                    text=ServerText.DEPENDENCY_UNKNOWN,
                )
    if not unknown and (circle := _circle(depends_on)):
        yield LimitFault(
            field=f"{CONTAINERS}.depends_on",
            value=", ".join(sorted(circle)),
            limit="an order of starts without a circle",
            why="these containers wait for each other",
            fix="take one of the dependencies away",
            text=ServerText.DEPENDENCY_CYCLE,
        )


def _circle(depends_on: Mapping[str, Sequence[str]]) -> set[str]:
    """The containers that can never start because of a circle; empty without one."""
    waiting = dict(depends_on)
    while ready := [name for name, needs in waiting.items() if not any(need in waiting for need in needs)]:
        for name in ready:
            del waiting[name]
    return set(waiting)
