"""What one Cloud Run instance can be made of: accelerators, CPU and memory, and what Cloud Run refuses of a shape. Pure.

Sources: Cloud Run's documentation on GPUs, CPU and memory limits of services, and the Admin API's own refusals. CPU and memory are
those of one container, which is how Cloud Run checks them; a sidecar has a CPU and a memory of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.cloudrun.limits import Found, LimitFault
from shared.cloudrun.server_texts import ServerText

GPU_RESOURCE = "nvidia.com/gpu"
"""The key of `resources.limits` that asks for a GPU; its only value is 1."""
MAX_GPUS_PER_INSTANCE = 1

CPU_FIELD = "template.containers.resources.limits.cpu"
MEMORY_FIELD = "template.containers.resources.limits.memory"
GPU_FIELD = f"template.containers.resources.limits[{GPU_RESOURCE}]"
ACCELERATOR_FIELD = "template.node_selector.accelerator"

GEN2_MIN_MEMORY_GIB = 0.5
GEN1_MIN_MEMORY_GIB = 0.125
MIN_CPU = 0.08

MEMORY_GIB_BY_CPU: dict[float, tuple[float, float]] = {
    1: (GEN1_MIN_MEMORY_GIB, 4),
    2: (GEN1_MIN_MEMORY_GIB, 8),
    4: (2, 16),
    6: (4, 24),
    8: (4, 32),
}
"""vCPU to the least and the most memory in GiB, without a GPU and with an L4. Every whole number of vCPU that is not a key is
refused. Below 1 vCPU see `memory_range_gib`."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU that Cloud Run services take."""

    name: str
    """The value of `template.node_selector.accelerator`."""
    vram_gib: int
    """The card's memory, as Cloud Run's documentation gives it (it writes GB)."""
    min_cpu: int
    min_memory_gib: int
    cpus: tuple[int, ...]
    """The values of `cpu` that are taken."""
    open_regions: frozenset[str]
    invited_regions: frozenset[str]
    """Only for projects that Google let in on request."""
    quota_stem: str
    """The quota's name without its redundancy."""
    quota_in_milligpu: bool
    """Cloud Quotas counts it in thousandths of a GPU: 3000 are three."""
    max_memory_gib_per_cpu: int | None = None
    """None: the most memory is that of the table for services without a GPU."""

    def memory_range_gib(self, cpu: float) -> tuple[float, float]:
        """The least and the most memory in GiB with that many vCPU. It means nothing for a `cpu` that is not one of `cpus`."""
        if self.max_memory_gib_per_cpu is not None:
            return self.min_memory_gib, self.max_memory_gib_per_cpu * cpu
        low, high = MEMORY_GIB_BY_CPU.get(cpu, (self.min_memory_gib, max(high for _, high in MEMORY_GIB_BY_CPU.values())))
        return max(low, self.min_memory_gib), high

    def quota_metric(self, *, zonal_redundancy: bool) -> str:
        """The quota's name in Cloud Quotas and in Cloud Run's refusals; each redundancy has its own."""
        return f"{self.quota_stem}PerProjectRegion" if zonal_redundancy else f"{self.quota_stem}NoZonalRedundancyPerProjectRegion"


L4 = Accelerator(
    name="nvidia-l4",
    vram_gib=24,
    min_cpu=4,
    min_memory_gib=16,
    cpus=(4, 6, 8),
    open_regions=frozenset({"asia-southeast1", "europe-west1", "europe-west4", "us-east4"}),
    invited_regions=frozenset({"asia-south1", "us-central1"}),
    quota_stem="NvidiaL4GpuAlloc",
    quota_in_milligpu=False,
)
"""With 4 vCPU it has exactly 16 GiB: the least a GPU takes and the most 4 vCPU take are the same."""

RTX_PRO_6000 = Accelerator(
    name="nvidia-rtx-pro-6000",
    vram_gib=96,
    min_cpu=20,
    min_memory_gib=80,
    cpus=(20, 22, 24, 26, 28, 30),
    open_regions=frozenset({"asia-southeast1", "europe-west4", "us-central1"}),
    invited_regions=frozenset({"asia-south2"}),
    quota_stem="NvidiaRtxPro6000GpuAlloc",
    quota_in_milligpu=True,
    max_memory_gib_per_cpu=4,
)

ACCELERATORS: dict[str, Accelerator] = {each.name: each for each in (L4, RTX_PRO_6000)}
"""Cloud Run's refusals also name cards that its documentation does not offer (A100, H100); they are not offered here either."""


def memory_range_gib(cpu: float, *, gen1: bool = False) -> tuple[float, float] | None:
    """The least and the most memory in GiB that a container of that many vCPU takes without a GPU; None: no such CPU is taken.

    The second generation takes no less than 512 MiB. Below 1 vCPU the most is 512 MiB, from half a vCPU on 1 GiB (Cloud Run's
    documentation on memory limits; other pages of it draw that line elsewhere).
    """
    if MIN_CPU <= cpu < 1:
        low, high = GEN1_MIN_MEMORY_GIB, (1.0 if cpu >= 0.5 else 0.5)  # noqa: PLR2004 (the line between the two)
    elif cpu in MEMORY_GIB_BY_CPU:
        low, high = MEMORY_GIB_BY_CPU[cpu]
    else:
        return None
    return (low, high) if gen1 else (max(low, GEN2_MIN_MEMORY_GIB), high)


def shape_faults(
    *,
    accelerator: str | None,
    cpu: float,
    memory_gib: float,
    region: str | None = None,
    gpu_count: int | None = None,
    gpu_containers: int | None = None,
    gen1: bool = False,
    cpu_throttling: bool = False,
    redundancy_stated: bool = False,
    invited: bool = False,
) -> list[LimitFault]:
    """Everything Cloud Run would refuse of a container's shape, in the order of the fields; empty if it takes the shape.

    `cpu` (vCPU) and `memory_gib` are those of the container that has the GPU, or of any container where none has one.
    `accelerator` is `template.node_selector.accelerator`; `gpu_count` the container's `nvidia.com/gpu` and `gpu_containers` how
    many containers ask for one (both 1 with an accelerator and 0 without, where not given). `gen1`: the first execution
    environment is asked for by name. `cpu_throttling`: throttling is asked for by name (`cpu_idle` true); a service that is silent
    gets what its GPU needs. `redundancy_stated`: `gpu_zonal_redundancy_disabled` is set, to whatever value. `invited`: Google let
    the project into the regions that are by invitation. `region` None: not checked.

    Cloud Run checks the GPU quota before some of these rules, so a project without quota may hear of the quota first.
    """
    asked = accelerator is not None
    gpus = (1 if asked else 0) if gpu_count is None else gpu_count
    containers = (1 if gpus else 0) if gpu_containers is None else gpu_containers
    card = None if accelerator is None else ACCELERATORS.get(accelerator)
    faults: list[LimitFault] = []
    if accelerator is not None:
        faults += _accelerator_faults(accelerator, card, region, invited=invited, gpus=gpus)
    faults += _gpu_faults(gpus, containers, has_accelerator=asked, gen1=gen1, cpu_throttling=cpu_throttling, redundancy=redundancy_stated)
    if card is None:
        faults += _plain_faults(cpu, memory_gib, gen1=gen1)
    else:
        faults += _card_faults(card, cpu, memory_gib)
    return faults


def _accelerator_faults(name: str, card: Accelerator | None, region: str | None, *, invited: bool, gpus: int) -> Iterator[LimitFault]:
    if card is None:
        yield LimitFault(
            field=ACCELERATOR_FIELD,
            value=name,
            limit=" or ".join(ACCELERATORS),
            why="Cloud Run services take no other accelerator",
            fix=f"use one of {', '.join(ACCELERATORS)}",
            text=ServerText.ACCELERATOR,
        )
    elif region is not None and region not in card.open_regions and not (invited and region in card.invited_regions):
        by_invitation = region in card.invited_regions
        yield LimitFault(
            field="region",
            value=region,
            limit=f"{', '.join(sorted(card.open_regions))} for {name}, by invitation {', '.join(sorted(card.invited_regions))}",
            why="there it is given by invitation only" if by_invitation else "Cloud Run offers no such GPU there",
            fix="ask the Google account team to let the project in, or use an open region" if by_invitation else "use one of these regions",
        )
    if gpus == 0:
        yield LimitFault(
            field=GPU_FIELD,
            value=0,
            limit="1 with an accelerator",
            why="an accelerator is chosen and no container asks for a GPU",
            fix=f"set {GPU_RESOURCE} to 1 on the container that serves the model, or take the accelerator away",
        )


def _gpu_faults(
    gpus: int, containers: int, *, has_accelerator: bool, gen1: bool, cpu_throttling: bool, redundancy: bool
) -> Iterator[LimitFault]:
    if gpus < 0 or gpus > MAX_GPUS_PER_INSTANCE:
        yield LimitFault(
            field=GPU_FIELD,
            value=gpus,
            limit="0 or 1",
            why="an instance has one GPU at most",
            fix="set it to 1 and scale by instances",
            text=ServerText.GPU_COUNT,
        )
    if containers > 1:
        yield LimitFault(
            field=GPU_FIELD,
            value=f"on {containers} containers",
            limit="on one container",
            why="one container of an instance has the GPU",
            fix="leave it on the container that serves the model",
            text=ServerText.GPU_ONE_CONTAINER,
        )
    if not gpus:
        if redundancy and not has_accelerator:
            yield LimitFault(
                field="template.gpu_zonal_redundancy_disabled",
                value=True,
                limit="not set without a GPU",
                why="zonal redundancy is a property of GPUs",
                fix="leave it out, or ask for a GPU",
                text=ServerText.GPU_REDUNDANCY_WITHOUT_GPU,
            )
        return
    if gen1:
        yield LimitFault(
            field="template.execution_environment",
            value="EXECUTION_ENVIRONMENT_GEN1",
            limit="EXECUTION_ENVIRONMENT_GEN2 with a GPU",
            why="GPUs exist in the second generation only",
            fix="leave it out or set EXECUTION_ENVIRONMENT_GEN2 (gcloud: --execution-environment=gen2)",
            text=ServerText.GPU_GEN2,
        )
    if cpu_throttling:
        yield LimitFault(
            field="template.containers.resources.cpu_idle",
            value=True,
            limit="false with a GPU",
            why="a GPU instance is billed for as long as it is up and keeps its CPU between requests",
            fix="set cpu_idle to false (gcloud: --no-cpu-throttling)",
            text=ServerText.GPU_THROTTLING,
        )


def _card_faults(card: Accelerator, cpu: float, memory_gib: float) -> Iterator[LimitFault]:
    text = ServerText.RTX_CPU if card is RTX_PRO_6000 else ServerText.GPU_MINIMUM
    if cpu not in card.cpus:
        shown = ", ".join(str(each) for each in card.cpus)
        yield LimitFault(
            field=CPU_FIELD,
            value=cpu,
            limit=f"{shown} with {card.name}",
            why=f"{card.name} takes no other number of vCPU",
            fix=f"use {next((each for each in card.cpus if each >= cpu), card.cpus[-1])}",
            text=text if card is RTX_PRO_6000 or cpu < card.min_cpu else ServerText.CPU,
        )
        if memory_gib < card.min_memory_gib:
            yield _memory_fault(card, memory_gib, card.min_memory_gib, card.memory_range_gib(card.cpus[-1])[1], cpu=None)
        return
    low, high = card.memory_range_gib(cpu)
    if not low <= memory_gib <= high:
        yield _memory_fault(card, memory_gib, low, high, cpu=cpu)


def _memory_fault(card: Accelerator, memory_gib: float, low: float, high: float, *, cpu: float | None) -> LimitFault:
    too_little = ServerText.GPU_MINIMUM if memory_gib < low else ServerText.MEMORY
    text = ServerText.RTX_MEMORY if card is RTX_PRO_6000 else too_little
    with_cpu = "" if cpu is None else f" and {cpu:g} vCPU"
    allowed = f"{low:g} GiB" if low == high else f"{low:g} to {high:g} GiB"
    return LimitFault(
        field=MEMORY_FIELD,
        value=memory_gib,
        limit=f"{allowed} with {card.name}{with_cpu}",
        why="too little for this GPU" if memory_gib < low else "more memory takes more vCPU",
        fix=f"use {low:g}Gi" if memory_gib < low else f"use {high:g}Gi, or more vCPU",
        text=text,
    )


def _plain_faults(cpu: float, memory_gib: float, *, gen1: bool) -> Iterator[LimitFault]:
    allowed = memory_range_gib(cpu, gen1=gen1)
    if allowed is None:
        yield LimitFault(
            field=CPU_FIELD,
            value=cpu,
            limit="0.08 to 1, or 1, 2, 4, 6, 8",
            why="Cloud Run takes no other number of vCPU",
            fix=f"use {next((each for each in MEMORY_GIB_BY_CPU if each >= cpu), 8):g}",
            text=ServerText.CPU,
        )
        return
    low, high = allowed
    if not low <= memory_gib <= high:
        fits = next((each for each, (_, most) in MEMORY_GIB_BY_CPU.items() if each > cpu and memory_gib <= most), None)
        more = "" if fits is None else f", or {fits:g} vCPU"
        yield LimitFault(
            field=MEMORY_FIELD,
            value=memory_gib,
            limit=f"{low:g} to {high:g} GiB with {cpu:g} vCPU",
            why="memory and vCPU are bound to each other" if gen1 or memory_gib >= GEN2_MIN_MEMORY_GIB else "too little for generation 2",
            fix=f"use {low:g} GiB or more" if memory_gib < low else f"use {high:g} GiB{more}",
            text=ServerText.MEMORY,
        )
    if cpu < 1 and not gen1:
        yield LimitFault(
            field=CPU_FIELD,
            value=cpu,
            limit="1 or more in the second generation",
            why="Cloud Run's documentation keeps less than 1 vCPU to the first generation",
            fix="use 1 vCPU, or EXECUTION_ENVIRONMENT_GEN1",
            found=Found.NEVER,
        )
