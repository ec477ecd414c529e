"""What the simulated Cloud Run refuses in a template's containers: images, ports, limits, GPUs, probes, variables. Pure.

The texts hold the words that users of the real `validateOnly` have recorded; the values are those of Cloud Run's pages on CPU, memory
and GPU configuration.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from google.cloud import run_v2

from shared.cloudrun.containers import MAX_ARGS, MAX_ENV, MAX_ENV_VALUE_BYTES
from shared.cloudrun.quantities import quantity
from shared.simulation.cloud_run_errors import SimulatedError, violation
from shared.simulation.cloud_run_probe_rules import check_probes
from shared.simulation.cloud_run_quota import DEFAULT_CPU, DEFAULT_MEMORY, RTX
from shared.simulation.cloud_run_volume_rules import check_volumes

GPU = "nvidia.com/gpu"
L4 = "nvidia-l4"
MAX_CONTAINERS = 10
RESERVED_ENV = ("PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION")
"""Variables that Cloud Run sets itself (container runtime contract)."""

_GI = 2**30
_MI = 2**20
_LIMITS = ("cpu", "memory", GPU)
_MEMORY_OF_CPU: Mapping[int, tuple[int, int]] = {
    1: (128 * _MI, 4 * _GI),
    2: (128 * _MI, 8 * _GI),
    4: (2 * _GI, 16 * _GI),
    6: (4 * _GI, 24 * _GI),
    8: (4 * _GI, 32 * _GI),
}
"""Least and most memory by vCPU. The most of less than one: 1 GiB from a half on, 512 MiB below."""
_RTX_CPUS = (20, 22, 24, 26, 28, 30)
_SMALLEST_CPU = Fraction(8, 100)
_PORT_NAMES = frozenset({"", "http1", "h2c"})
_HIGHEST_PORT = 65_535
_LEAST_MEMORY = 512 * _MI
"""Of an instance in the second generation, and of one whose CPU is never taken away."""
_MAX_NAME = 63
_CONTAINER_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_HOST = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:\d))(?::\d+)?/"
_FOLDER = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_DIGEST = r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})"
_IMAGE = re.compile(rf"(?:{_HOST})?{_FOLDER}(?:/{_FOLDER})*(?::\w[\w.-]{{0,127}})?(?:@{_DIGEST})?", re.ASCII)
"""The grammar of image references of the OCI distribution; an upper-case letter may stand in the host and in the tag."""


def gpu_count_of(container: run_v2.Container) -> Fraction:
    """GPUs that the container asks for."""
    return quantity(container.resources.limits.get(GPU, "0")) or Fraction(0)


def check_gpu_counts(template: run_v2.RevisionTemplate, *, root: str) -> None:
    """One GPU for an instance, in one container: looked at before the GPU quota.

    Raises:
        SimulatedError: INVALID_ARGUMENT, with Google's text.
    """
    counts = [gpu_count_of(container) for container in template.containers]
    for index, count in enumerate(counts):
        if count not in (0, 1):
            raise violation(root, f"template.containers[{index}].resources.limits", "GPU can only be set to 1.")
    if sum(1 for count in counts if count) > 1:
        raise violation(root, "template.containers", "GPU can only be set on one container.")


def check_containers(template: run_v2.RevisionTemplate, *, root: str) -> None:
    """The containers, one by one and together.

    Raises:
        SimulatedError: INVALID_ARGUMENT, with Google's text.
    """
    containers = list(template.containers)
    if not containers:
        raise violation(root, "template.containers", "must contain at least one container.")
    if len(containers) > MAX_CONTAINERS:
        raise violation(root, "template.containers", f"may contain at most {MAX_CONTAINERS} containers.")
    for index, container in enumerate(containers):
        at = f"template.containers[{index}]"
        if not container.image and "source_code" not in container:
            raise violation(root, f"{at}.image", "must provide an image name to deploy.")
        if container.image and not _IMAGE.fullmatch(container.image):
            text = "must be a container image path in the form [hostname/]repo-path[:tag and/or @digest]"
            raise violation(root, f"{at}.image", text)
        if container.name and (len(container.name) > _MAX_NAME or not _CONTAINER_NAME.fullmatch(container.name)):
            text = f"must conform to RFC 1123: lower case letters, digits, hyphens and periods, at most {_MAX_NAME} characters."
            raise violation(root, f"{at}.name", text)
        _check_ports(container, root=root, at=at)
        _check_limit_names(container, root=root, at=at)
        _check_env(container, root=root, at=at)
        check_probes(container, root=root, at=at)
    _check_counts(containers, root=root)
    _check_together(containers, root=root)
    check_volumes(template, root=root)
    _check_resources(template, root=root)


def _check_env(container: run_v2.Container, *, root: str, at: str) -> None:
    reserved = [name for name in RESERVED_ENV if name in {env.name for env in container.env}]
    if reserved:
        text = f"The following reserved env names were provided: {', '.join(reserved)}. These values are automatically set by the system."
        raise violation(root, f"{at}.env", text)
    for index, env in enumerate(container.env):
        if len(env.value.encode()) > MAX_ENV_VALUE_BYTES:
            raise violation(root, f"{at}.env[{index}].value", f"length cannot exceed {MAX_ENV_VALUE_BYTES}.")


def _check_counts(containers: Sequence[run_v2.Container], *, root: str) -> None:
    for field, what, most, count in (
        ("env", "EnvVars", MAX_ENV, sum(len(container.env) for container in containers)),
        ("args", "args", MAX_ARGS, sum(len(container.args) for container in containers)),
    ):
        if count > most:
            # Recorded are the words from "limit on" to "containers".
            raise violation(root, f"template.containers.{field}", f"the limit on {what} across all containers is {most}, not {count}.")


def _check_ports(container: run_v2.Container, *, root: str, at: str) -> None:
    if len(container.ports) > 1:
        raise violation(root, f"{at}.ports", "ports should contain 0 or 1 port.")
    for port in container.ports:
        if port.name not in _PORT_NAMES:
            raise violation(root, f"{at}.ports[0].name", "must be one of empty, 'http1' or 'h2c'.")
        # A port that is there has a number; only a container without any gets 8080. Recorded is the text's beginning.
        if not 0 < port.container_port <= _HIGHEST_PORT:
            raise violation(root, f"{at}.ports[0].container_port", f"must be 0 < container_port < {_HIGHEST_PORT + 1}.")


def _check_limit_names(container: run_v2.Container, *, root: str, at: str) -> None:
    unknown = sorted(set(container.resources.limits) - set(_LIMITS))
    if unknown:
        raise violation(root, f"{at}.resources.limits", f"only {', '.join(_LIMITS)} limits are supported, not {', '.join(unknown)}.")
    for name in ("cpu", "memory"):
        text = container.resources.limits.get(name)
        if text is not None and quantity(text) is None:
            raise violation(root, f"{at}.resources.limits.{name}", f"Could not parse Quantity {text!r}.")


def _check_together(containers: Sequence[run_v2.Container], *, root: str) -> None:
    names = [container.name for container in containers if container.name]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise violation(root, "template.containers", f"duplicate container names were provided: {', '.join(doubled)}.")
    if len(containers) > 1 and sum(1 for container in containers if container.ports) != 1:
        raise violation(root, "template.containers", "Revision template should contain exactly one container with an exposed port.")
    needs = {container.name: list(container.depends_on) for container in containers}
    for index, container in enumerate(containers):
        missing = [name for name in container.depends_on if name not in needs]
        if missing:
            raise violation(root, f"template.containers[{index}].depends_on", f"container {missing[0]!r} does not exist.")
    if _has_cycle(needs):
        raise violation(root, "template.containers", "dependency cycle detected.")


def _has_cycle(needs: Mapping[str, Sequence[str]]) -> bool:
    """Whether some container waits for itself: take away whoever waits for nobody until nothing moves."""
    waiting = {name: set(others) for name, others in needs.items()}
    while True:
        free = {name for name, others in waiting.items() if not others}
        if not free:
            return bool(waiting)
        waiting = {name: others - free for name, others in waiting.items() if name not in free}


def _check_resources(template: run_v2.RevisionTemplate, *, root: str) -> None:
    accelerator = template.node_selector.accelerator
    holder = next((index for index, container in enumerate(template.containers) if gpu_count_of(container)), None)
    if holder is None:
        if "gpu_zonal_redundancy_disabled" in template:
            raise violation(root, "template.gpu_zonal_redundancy_disabled", "GPU limits must be set when GPU redundancy is set.")
        for index, container in enumerate(template.containers):
            _check_cpu_and_memory(container, root=root, at=f"template.containers[{index}]")
        _check_totals(template)
        return
    if accelerator not in (L4, RTX):
        text = f"only '{L4}' and '{RTX}' are supported, not {accelerator!r}."
        raise violation(root, "template.node_selector.accelerator", text)
    if run_v2.RevisionTemplate.pb(template).execution_environment == run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN1:
        text = "Execution environment must be set to gen2 in order to set GPU requirements."
        raise violation(root, "template.execution_environment", text)
    container = template.containers[holder]
    if container.resources.cpu_idle:
        text = "CPU throttling must be disabled in order to set GPU requirements."
        raise violation(root, f"template.containers[{holder}].resources.cpu_idle", text)
    _check_gpu_container(container, accelerator, root=root, at=f"template.containers[{holder}]")
    for index, other in enumerate(template.containers):
        if index != holder:
            _check_cpu_and_memory(other, root=root, at=f"template.containers[{index}]")


def _check_gpu_container(container: run_v2.Container, accelerator: str, *, root: str, at: str) -> None:
    cpu, memory = _cpu_of(container), _memory_of(container)
    if accelerator == RTX:
        if cpu not in _RTX_CPUS:
            wanted = ", ".join(f"{each}.0" for each in _RTX_CPUS)
            raise violation(root, f"{at}.resources.limits.cpu", f"Invalid value specified for cpu. Must be equal to one of {wanted}.")
        if not 80 * _GI <= memory <= 4 * cpu * _GI:
            text = f"Invalid value specified for container memory. For {cpu} CPU, memory must be between 80Gi and {4 * cpu}Gi inclusive."
            raise violation(root, f"{at}.resources.limits.memory", text)
        return
    shortages = [
        text
        for short, text in ((cpu < 4, "CPU must be at least 4"), (memory < 16 * _GI, "memory must be at least 16Gi"))  # noqa: PLR2004 (an L4's least)
        if short
    ]
    if shortages:
        raise violation(root, f"{at}.resources.limits", f"{'; '.join(shortages)} in order to set GPU requirements.")
    _check_cpu_and_memory(container, root=root, at=at)


def _check_cpu_and_memory(container: run_v2.Container, *, root: str, at: str) -> None:
    cpu, memory = _cpu_of(container), _memory_of(container)
    if not (_SMALLEST_CPU <= cpu <= 1 or cpu in _MEMORY_OF_CPU):
        allowed = ", ".join(str(each) for each in _MEMORY_OF_CPU if each > 1)
        raise violation(root, f"{at}.resources.limits.cpu", f"Invalid value specified for cpu. Must be equal to one of [.08-1], {allowed}.")
    least, most = _MEMORY_OF_CPU[1 if cpu < 1 else int(cpu)]
    if cpu < 1:
        most = _GI if cpu >= Fraction(1, 2) else 512 * _MI
    if not least <= memory <= most:
        text = (
            f"Invalid value specified for container memory. For {float(cpu):g} CPU, memory must be between {_size(least)} and "
            f"{_size(most)} inclusive."
        )
        raise violation(root, f"{at}.resources.limits.memory", text)


def _check_totals(template: run_v2.RevisionTemplate) -> None:
    """CPU and memory of an instance, its containers together: Cloud Run's texts say `Total cpu` and `Total memory`.

    Less than one vCPU: one request at a time, CPU only during requests, and not in the second generation where that is asked for. Left
    to itself Cloud Run takes the first.
    """
    gen2 = run_v2.RevisionTemplate.pb(template).execution_environment == run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN2
    always = any(container.resources.limits and not container.resources.cpu_idle for container in template.containers)
    if _sum(_cpu_of(container) for container in template.containers) < 1:
        if gen2:
            raise _unsupported("cpu", "Total cpu < 1 is not supported with gen2 execution environment.")
        if template.max_instance_request_concurrency > 1:
            raise _unsupported("cpu", "Total cpu < 1 is not supported with concurrency > 1.")
        if always:
            raise _unsupported("cpu", "Total cpu < 1 is not supported with cpu always allocated (unthrottled).")
    if _sum(_memory_of(container) for container in template.containers) < _LEAST_MEMORY:
        if gen2:
            raise _unsupported("memory", "Total memory < 512 Mi is not supported with gen2 execution environment.")
        if always:
            raise _unsupported("memory", "Total memory < 512 Mi is not supported with cpu always allocated (unthrottled).")


def _unsupported(limit: str, text: str) -> SimulatedError:
    """A refusal of totals, as recorded: it names neither the request nor the container."""
    field = f"template.containers.resources.limits.{limit}"
    return SimulatedError("INVALID_ARGUMENT", f"{field}: Invalid value specified for {limit}. {text}", field=field)


def _cpu_of(container: run_v2.Container) -> Fraction:
    return quantity(container.resources.limits.get("cpu", DEFAULT_CPU)) or Fraction(0)


def _memory_of(container: run_v2.Container) -> Fraction:
    return quantity(container.resources.limits.get("memory", DEFAULT_MEMORY)) or Fraction(0)


def _sum(amounts: Iterable[Fraction]) -> Fraction:
    return sum(amounts, Fraction(0))


def _size(size: int) -> str:
    return f"{size // _GI}Gi" if size >= _GI else f"{size // _MI}Mi"
