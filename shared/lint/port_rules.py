"""Rules about the way of a request into the server: port, protocol, reserved variables, order of timeouts. Pure."""

from collections.abc import Callable, Iterator

from shared.cloudrun.containers import RESERVED_ENV
from shared.cloudrun.described import Form
from shared.cloudrun.limits import DEFAULT_TIMEOUT_SECONDS
from shared.cloudrun.server_texts import ServerText
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.pasting import paste
from shared.lint.probe_views import probes
from shared.lint.service_parts import containers, front_is_server, parts, seconds, where_absent


def port_of_requests(deployment: Deployment) -> Iterator[Finding]:
    """Cloud Run sends to a port, or a probe asks one, on which the server does not listen."""
    if deployment.flags is None or not deployment.is_service or not front_is_server(deployment):
        return
    ports = {"gRPC": deployment.grpc_port, "REST": deployment.rest_port}
    opened = {port for port in ports.values() if port is not None}
    listens = " and ".join(f"{port} ({name})" for name, port in ports.items() if port is not None) or "no port"
    port = deployment.container_port
    if port is not None and port not in opened:
        stated = parts(deployment.container, "ports")
        how = f"Cloud Run sends requests to port {port}" + ("" if stated else ", its default where none is named")
        where = deployment.where_container("/ports/0/containerPort") if stated else _where_port(deployment)
        yield Finding("port-not-listening", f"{how}; the server listens on {listens}.", where, _port_fix(deployment))
    for probe in probes(deployment):
        if probe.is_server and probe.port is not None and probe.port not in opened:
            where = deployment.where(probe.action_pointer("port"))
            message = f"The {probe.name} asks port {probe.port}; the server listens on {listens}: it can never succeed."
            right = port if port in opened else next(iter(sorted(opened)), 8500)
            yield Finding("port-not-listening", message, where, f"use port {right} in the {probe.name}")


def http2(deployment: Deployment) -> Iterator[Finding]:
    """A gRPC port without HTTP/2 to the container, or a REST port with it."""
    port, h2c = deployment.container_port, deployment.h2c
    if deployment.flags is None or port is None or h2c is None or not front_is_server(deployment):
        return
    stated = bool(parts(deployment.container, "ports"))
    where = deployment.where_container("/ports/0/name") if stated else _where_port(deployment)
    if port == deployment.grpc_port and not h2c:
        message = f"Port {port} is the server's gRPC port and Cloud Run speaks HTTP/1 to it: every call fails with a protocol error."
        fix = paste(deployment, flags="--use-http2", v2={"ports": [{"name": "h2c", "containerPort": port}]})
        yield Finding("h2c-mismatch", message, where, fix)
    elif port == deployment.rest_port and h2c:
        message = f"Port {port} is the server's REST port and Cloud Run speaks HTTP/2 to it; TF Serving's REST server knows HTTP/1 only."
        fix = paste(deployment, flags="--no-use-http2", v2={"ports": [{"name": "http1", "containerPort": port}]})
        yield Finding("h2c-mismatch", message, where, fix)


def reserved_variables(deployment: Deployment) -> Iterator[Finding]:
    """Variables that Cloud Run sets itself."""
    said: set[str] = set()
    for _, way, container in containers(deployment):
        for number, variable in enumerate(parts(container, "env")):
            name = str(variable.get("name"))
            if name in RESERVED_ENV:
                said.add(name)
                yield _reserved(deployment, name, deployment.where(f"{way}/env/{number}"))
    if deployment.described is not None and deployment.described.form is Form.DOCKER:
        return
    for name in deployment.given.env:
        if name in RESERVED_ENV and name not in said:
            yield _reserved(deployment, name, Where("env", deployment.given.name, None, name))


def timeouts(deployment: Deployment) -> Iterator[Finding]:
    """Cloud Run gives a request up before the server does."""
    if deployment.flags is None or not deployment.is_service or deployment.protocol == "grpc" or not front_is_server(deployment):
        return
    stated = seconds(deployment.template.get("timeout"))
    limit = stated or (DEFAULT_TIMEOUT_SECONDS if deployment.complete else None)
    server = deployment.flags.value("rest_api_timeout_in_ms", cpus=1)
    if deployment.rest_port is None or limit is None or not isinstance(server, int) or limit * 1_000 > server:
        return
    given = "rest_api_timeout_in_ms" in deployment.flags.given
    below = max(1, int(limit * 1_000 * 0.8))
    above = int(server / 1_000) + 5
    where = deployment.where("/template/timeout") if stated else deployment.where_flag("rest_api_timeout_in_ms")
    message = (
        f"Cloud Run gives a request up after {limit:g} s and the server works on it for {server / 1_000:g} s"
        f" ({'--rest_api_timeout_in_ms' if given else 'the default of --rest_api_timeout_in_ms'}): the caller gets 504 for an answer "
        "that is still being computed."
    )
    longer = paste(deployment, flags=f"--timeout={above}", v2={"timeout": f"{above}s"}, v1={"timeoutSeconds": above})
    yield Finding("timeout-order", message, where, f"--rest_api_timeout_in_ms={below} among the server's arguments, or {longer}")


def _where_port(deployment: Deployment) -> Where:
    return where_absent(deployment, f"{deployment.container_pointer}/ports/0/containerPort", flag="--port")


def _port_fix(deployment: Deployment) -> str:
    grpc, rest = deployment.grpc_port, deployment.rest_port
    ways: list[str] = []
    if grpc is not None:
        v2 = {"ports": [{"name": "h2c", "containerPort": grpc}]}
        ways.append(f"{paste(deployment, flags=f'--port={grpc} --use-http2', v2=v2)} (gRPC)")
    if rest is not None:
        v2 = {"ports": [{"name": "http1", "containerPort": rest}]}
        ways.append(f"{paste(deployment, flags=f'--port={rest}', v2=v2)} (REST)")
    return " or ".join(ways) if all("\n" not in each for each in ways) else "\nor\n".join(ways)


def _reserved(deployment: Deployment, name: str, where: Where) -> Finding:
    message = f'{name} is set by Cloud Run itself. It answers "{ServerText.ENV_RESERVED}: {name}".'
    return Finding("env-reserved", message, where, f"take {name} out" + (_instead_of_port(deployment) if name == "PORT" else ""))


def _instead_of_port(deployment: Deployment) -> str:
    """How the port is chosen that the variable was to choose; nothing where it is chosen already and right."""
    opened = [port for port in (deployment.grpc_port, deployment.rest_port) if port is not None]
    if opened and parts(deployment.container, "ports") and deployment.container_port in opened:
        return ""
    text = deployment.env.get("PORT", "")
    port = int(text) if text.isascii() and text.isdecimal() and len(text) <= 5 else 8501  # noqa: PLR2004 (digits of a port)
    if opened and port not in opened:
        return f"; the port is chosen with {_port_fix(deployment)}"
    grpc = port == deployment.grpc_port
    v2 = {"ports": [{"name": "h2c", "containerPort": port} if grpc else {"containerPort": port}]}
    return f"; the port is chosen with {paste(deployment, flags=f'--port={port}' + (' --use-http2' if grpc else ''), v2=v2)}"


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (port_of_requests, http2, reserved_variables, timeouts)
