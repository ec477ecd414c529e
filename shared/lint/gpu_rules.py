"""Rules about what an instance is made of: GPU, CPU, memory, region, execution environment. Pure."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from shared.cloudrun.described import Form, ReadingProblem
from shared.cloudrun.fields import Json, pointer
from shared.cloudrun.knative import LOCATION_LABEL
from shared.cloudrun.limits import Found
from shared.cloudrun.quantities import quantity
from shared.cloudrun.shapes import (
    ACCELERATORS,
    CPU_FIELD,
    GPU_RESOURCE,
    L4,
    MEMORY_FIELD,
    MEMORY_GIB_BY_CPU,
    Accelerator,
    memory_range_gib,
    shape_faults,
)
from shared.cloudrun.template_limits import small_instance_faults
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.limit_findings import limit_finding
from shared.lint.pasting import paste
from shared.lint.service_parts import amount, containers, is_document, is_stand_in, memory_gib, parts
from shared.lint.v2_values import part

SHAPE = "cpu-memory-shape"
REQUEST = "gpu-request-invalid"
DEFAULT_CPU = 1.0
DEFAULT_MEMORY_GIB = 0.5
"""Of a container that names none."""
_LOCATION = pointer("/labels", LOCATION_LABEL)
_GEN1, _GEN2 = "EXECUTION_ENVIRONMENT_GEN1", "EXECUTION_ENVIRONMENT_GEN2"


def gpu_request(deployment: Deployment) -> Iterator[Finding]:
    """Another number of GPUs than one, GPUs on two containers, a type that Cloud Run does not have."""
    if not deployment.is_service:
        return
    asking = [(way, _gpu_text(container), _gpus(container)) for _, way, container in containers(deployment)]
    holders = [way for way, text, count in asking if count or (text is not None and count is None)]
    for way, text, count in asking:
        if text is None or count in {0, 1} or is_stand_in(text):
            continue
        where = deployment.where(f"{way}/resources/limits/nvidia.com~1gpu")
        said = repr(text) if count is None else f"{count:g}"
        message = f'{where.field} is {said}; an instance has one GPU. Cloud Run answers "GPU can only be set to 1".'
        yield Finding(REQUEST, message, where, _one_gpu(deployment))
    if len(holders) > 1:
        where = deployment.where(f"{holders[1]}/resources/limits/nvidia.com~1gpu")
        message = (
            f'{len(holders)} containers ask for a GPU; one of them can have it. Cloud Run answers "GPU can only be set on one container".'
        )
        yield Finding(REQUEST, message, where, f"take {GPU_RESOURCE} out of the limits of all containers but the one that serves")
    name = deployment.accelerator
    known = name is None or name in ACCELERATORS or (is_stand_in(name) and name.lower() not in ACCELERATORS)
    if name is not None and not known:
        where = deployment.where("/template/nodeSelector/accelerator")
        message = f"{where.field} is {name}; Cloud Run services take {' or '.join(ACCELERATORS)}."
        yield Finding(REQUEST, message, where, _type(deployment, name.lower() if name.lower() in ACCELERATORS else L4.name))
    yield from _half_a_request(deployment, holders)


def _half_a_request(deployment: Deployment, holders: list[str]) -> Iterator[Finding]:
    """A GPU without its type, which the Admin API wants and gcloud fills in; a word on redundancy, or a type, without a GPU.

    A type alone counts as a request for one GPU: Cloud Run was seen to check the quota of GPUs for it.
    """
    described = deployment.described
    if described is None:
        return
    name = deployment.accelerator
    if deployment.complete and holders and name is None and described.form is Form.V2:
        where = deployment.where(f"{holders[0]}/resources/limits/nvidia.com~1gpu")
        message = f"{where.field} asks for a GPU and template.nodeSelector.accelerator does not say which; the Admin API fills none in."
        yield Finding(REQUEST, message, where, _type(deployment, L4.name))
    refused = next((way for way in _refused_gpus(deployment) if not holders), None)
    if refused is not None and name is not None:
        where = deployment.where(f"{refused}/resources/limits/nvidia.com~1gpu")
        message = f"{where.field} is 0 and {deployment.where('/template/nodeSelector/accelerator').field} is {name}: a type of no GPU."
        yield Finding(REQUEST, message, where, f"{_one_gpu(deployment)}\nor take both out")
    elif not holders and name is None and (deployment.complete or refused is not None):
        yield from _redundancy_without_gpu(deployment)


def _redundancy_without_gpu(deployment: Deployment) -> Iterator[Finding]:
    """Not where a flag that gcloud does not have asks for the GPU: that flag is what is wrong."""
    described = deployment.described
    problems = described.problems if described is not None else ()
    misnamed = any(each.kind is ReadingProblem.UNKNOWN_FLAG and each.fix.startswith("--gpu") for each in problems)
    if "gpuZonalRedundancyDisabled" in deployment.template and not misnamed:
        where = deployment.where("/template/gpuZonalRedundancyDisabled")
        asked = f"no container has the limit {GPU_RESOURCE}" if is_document(deployment) else "the service asks for no GPU"
        message = f'{where.field} is set and {asked}. Cloud Run answers "GPU limits must be set when GPU redundancy is set".'
        yield Finding(REQUEST, message, where, f"{_one_gpu(deployment)}\nor take {where.field} out")


def _refused_gpus(deployment: Deployment) -> Iterator[str]:
    """The containers of which the text says that they have no GPU; gcloud's `--gpu=0` takes the limit away and leaves its name."""
    described = deployment.described
    for _, way, container in containers(deployment):
        taken_away = described is not None and f"{way}/resources/limits/nvidia.com~1gpu" in described.names
        if _gpus(container) == 0 or (taken_away and _gpu_text(container) is None):
            yield way


def region(deployment: Deployment) -> Iterator[Finding]:
    """A region without that GPU. Regions by invitation are not reported: whether the project is let in nobody can see here."""
    place = deployment.region
    if not deployment.gpu or place is None or is_stand_in(place):
        return
    name = deployment.accelerator
    if name is None and not is_document(deployment):
        name = L4.name
    cards = [ACCELERATORS[name]] if name in ACCELERATORS else list(ACCELERATORS.values())
    if any(place in card.open_regions | card.invited_regions for card in cards):
        return
    regions = sorted(set().union(*(card.open_regions for card in cards)))
    what = cards[0].name if len(cards) == 1 else "any GPU"
    message = f"The region is {place}; Cloud Run does not have {what} there. It does in {', '.join(regions)}."
    yield Finding("gpu-region-unsupported", message, _where_region(deployment), _region_fix(deployment, place, regions[-1]))


def _where_region(deployment: Deployment) -> Where:
    described = deployment.described
    known = ("/region", _LOCATION, "/name")
    way = next((each for each in known if described is not None and each in described.lines), "/name")
    where = deployment.where(way)
    return where if is_document(deployment) or way == "/region" else replace(where, field="--region")


def _region_fix(deployment: Deployment, place: str, other: str) -> str:
    name = str(deployment.service.get("name") or "")
    described = deployment.described
    in_name = described is not None and described.form is Form.V2
    return paste(
        deployment,
        flags=f"--region={other}",
        v2={"name": name.replace(f"/locations/{place}/", f"/locations/{other}/")} if in_name else {"location": other},
        v1={"labels": {LOCATION_LABEL: other}},
    )


def throttling(deployment: Deployment) -> Iterator[Finding]:
    """CPU throttling asked for on a GPU service; silence about it is fine."""
    if not deployment.gpu:
        return
    holders = [way for _, way, container in containers(deployment) if _gpus(container)] or [deployment.container_pointer]
    for _, way, container in containers(deployment):
        if way in holders and part(container, "resources").get("cpuIdle") is True:
            where = deployment.where(f"{way}/resources/cpuIdle")
            message = (
                f"{where.field} takes the CPU away between requests; a GPU instance keeps it. "
                'Cloud Run answers "CPU throttling must be disabled in order to set GPU requirements".'
            )
            fix = paste(
                deployment,
                flags="--no-cpu-throttling",
                v2={"resources": {"cpuIdle": False}},
                v1={"run.googleapis.com/cpu-throttling": "false"},
            )
            yield Finding("gpu-cpu-throttled", message, where, fix)


def generation(deployment: Deployment) -> Iterator[Finding]:
    """The first execution environment asked for, with a GPU or a volume of Cloud Storage or NFS."""
    if not deployment.is_service or deployment.template.get("executionEnvironment") != _GEN1:
        return
    reasons = ["a GPU"] if deployment.gpu else []
    kinds = {kind for volume in parts(deployment.template, "volumes") for kind in ("gcs", "nfs") if kind in volume}
    reasons += [{"gcs": "a Cloud Storage volume", "nfs": "an NFS volume"}[kind] for kind in sorted(kinds)]
    if reasons:
        where = deployment.where("/template/executionEnvironment")
        message = f"{where.field} asks for gen1; {' and '.join(reasons)} {'need' if len(reasons) > 1 else 'needs'} gen2." + (
            ' Cloud Run answers "Execution environment must be set to gen2 in order to set GPU requirements".' if deployment.gpu else ""
        )
        fix = paste(
            deployment,
            flags="--execution-environment=gen2",
            v2={"executionEnvironment": _GEN2},
            v1={"run.googleapis.com/execution-environment": "gen2"},
        )
        yield Finding("gen2-required", message, where, fix)


def shape(deployment: Deployment) -> Iterator[Finding]:
    """CPU and memory that do not go together, for each container; the one with the GPU needs what its card needs."""
    if not deployment.is_service:
        return
    known = ACCELERATORS.get(deployment.accelerator or (L4.name if deployment.gpu and not is_document(deployment) else ""))
    for _, way, container in containers(deployment):
        has_gpu = deployment.gpu and (bool(_gpus(container)) or (deployment.gpus is None and way == deployment.container_pointer))
        yield from _container_shape(deployment, way, container, known if has_gpu else None, has_gpu=has_gpu)
    yield from _small_instance(deployment)


def _container_shape(deployment: Deployment, way: str, container: Json, card: Accelerator | None, *, has_gpu: bool) -> Iterator[Finding]:
    """One container. What it does not name is Cloud Run's default, but with a GPU gcloud's, which fits the GPU."""
    limits = part(part(container, "resources"), "limits")
    if any(name in limits and amount(container, name) is None for name in ("cpu", "memory")):
        return
    cpu, memory = amount(container, "cpu"), memory_gib(container)
    default = deployment.complete and (is_document(deployment) or not has_gpu)
    cpu = DEFAULT_CPU if cpu is None and default else cpu
    memory = DEFAULT_MEMORY_GIB if memory is None and default else memory
    wrong = list(_wrong_fields(cpu, memory, card))
    if not wrong:
        return
    right_cpu, right_memory = nearest_shape(cpu or 0, memory or 0, card)
    name = "cpu" if CPU_FIELD in wrong else "memory"
    where = deployment.where(f"{way}/resources/limits/{name}")
    raises_memory = "cpu" in limits and "memory" not in limits and name == "memory"
    if raises_memory and cpu is not None:  # who names the CPU alone wants that CPU
        right_cpu, right_memory = cpu, _any_memory(cpu, card)
    if where.field.startswith("/") and not is_document(deployment):
        where = replace(where, field=f"--{name}")
    said = " and ".join(
        text for text in (None if cpu is None else f"{cpu:g} vCPU", None if memory is None else f"{memory:g} GiB") if text is not None
    )
    fix = paste(
        deployment,
        flags=f"--memory={_gib(right_memory)}" if raises_memory else f"--cpu={right_cpu:g} --memory={_gib(right_memory)}",
        v2={"resources": {"limits": {"cpu": f"{right_cpu:g}", "memory": _gib(right_memory)}}},
    )
    yield Finding(SHAPE, f"{said} is no shape that Cloud Run takes: {_allowed(card)}.", where, fix)


def _wrong_fields(cpu: float | None, memory: float | None, card: Accelerator | None) -> Iterator[str]:
    """Which of the two is outside; where one is not known, what is wrong with the other whatever it is."""
    if cpu is None and memory is None:
        return
    if cpu is None:
        if card is not None and memory is not None and memory < card.min_memory_gib:
            yield MEMORY_FIELD
        return
    faults = shape_faults(
        accelerator=None if card is None else card.name,
        cpu=cpu,
        memory_gib=_any_memory(cpu, card) if memory is None else memory,
        gen1=True,  # a container may be as small in both generations, see _small_instance for all of them together
    )
    for fault in faults:
        if fault.field in {CPU_FIELD, MEMORY_FIELD} and fault.found is Found.REQUEST and (memory is not None or fault.field == CPU_FIELD):
            yield fault.field


def _any_memory(cpu: float, card: Accelerator | None) -> float:
    allowed = card.memory_range_gib(cpu) if card is not None else memory_range_gib(cpu)
    return allowed[0] if allowed is not None else 1


def _small_instance(deployment: Deployment) -> Iterator[Finding]:
    found = [container for _, _, container in containers(deployment)]
    if not deployment.complete or deployment.gpu or not found:
        return
    stated = [(part(each, "resources"), amount(each, "cpu"), memory_gib(each)) for each in found]
    resources = [each for each, _, _ in stated]
    v2 = deployment.described is not None and deployment.described.form is Form.V2
    silent = v2 and any(part(each, "limits") and not each.get("cpuIdle") for each in resources)
    faults = small_instance_faults(
        cpu=sum(DEFAULT_CPU if cpu is None else cpu for _, cpu, _ in stated),
        memory_gib=sum(DEFAULT_MEMORY_GIB if memory is None else memory for _, _, memory in stated),
        concurrency=deployment.concurrency,
        gen2=deployment.template.get("executionEnvironment") == _GEN2,
        always_on=silent or any(each.get("cpuIdle") is False for each in resources),
    )
    for fault in faults:
        yield limit_finding(deployment, SHAPE, fault)


def nearest_shape(cpu: float, memory: float, card: Accelerator | None) -> tuple[float, float]:
    """The legal vCPU and GiB that are nearest to these: the fewest doublings or halvings away, rather up than down."""
    cpus = card.cpus if card is not None else tuple(MEMORY_GIB_BY_CPU)
    best: tuple[float, float, float, float] | None = None
    for each in cpus:
        low, high = card.memory_range_gib(each) if card is not None else (memory_range_gib(each) or (0.5, 4))
        fitting = min(max(memory, low), high)
        steps = abs(math.log2(each / max(cpu, 0.08))) + abs(math.log2(fitting / max(memory, 0.125)))
        candidate = (round(steps, 6), -float(each), float(each), fitting)
        best = candidate if best is None else min(best, candidate)
    return (best[2], best[3]) if best is not None else (cpu, memory)


def _allowed(card: Accelerator | None) -> str:
    if card is None:
        table = ", ".join(
            f"{cpu:g} vCPU with {'up to' if low < 1 else f'{low:g} to'} {high:g} GiB" for cpu, (low, high) in MEMORY_GIB_BY_CPU.items()
        )
        return f"it takes {table}"
    if card.max_memory_gib_per_cpu is not None:
        numbers = ", ".join(str(each) for each in card.cpus)
        return f"{card.name} takes {numbers} vCPU with {card.min_memory_gib} GiB to {card.max_memory_gib_per_cpu} GiB for each vCPU"
    ranges = (card.memory_range_gib(cpu) for cpu in card.cpus)
    table = ", ".join(
        f"{cpu} vCPU with {f'exactly {low:g}' if low == high else f'{low:g} to {high:g}'} GiB"
        for cpu, (low, high) in zip(card.cpus, ranges, strict=True)
    )
    return f"{card.name} takes {table}"


def _gib(memory: float) -> str:
    return f"{memory:g}Gi" if memory >= 1 and float(memory).is_integer() else f"{math.ceil(memory * 1024)}Mi"


def _gpu_text(container: Json) -> str | None:
    text = part(part(container, "resources"), "limits").get(GPU_RESOURCE)
    return None if text is None else str(text)


def _gpus(container: Json) -> float | None:
    text = _gpu_text(container)
    found = quantity(text) if text is not None else None
    return None if found is None else float(found)


def _one_gpu(deployment: Deployment) -> str:
    return paste(deployment, flags="--gpu=1", v2={"resources": {"limits": {GPU_RESOURCE: "1"}}})


def _type(deployment: Deployment, name: str) -> str:
    return paste(
        deployment,
        flags=f"--gpu-type={name}",
        v2={"nodeSelector": {"accelerator": name}},
        v1={"nodeSelector": {"run.googleapis.com/accelerator": name}},
    )


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (gpu_request, region, throttling, generation, shape)
