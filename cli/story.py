"""The demo's incident: a service with the common bad advice under a load that rises, with Trimtab in the loop of the simulated world.

Nothing is scripted but the beginning: the service as somebody deployed it, what its owner told Trimtab, and the load. Alert policies fire
when their conditions hold, Trimtab sees bodies, logs and metrics as it would on Google Cloud, and writes through the real client.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cli.steered import Decided, Steered, steered
from shared.records.decision import Decision
from shared.records.repair import Repair
from shared.records.service import Autonomy, Objective, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.serving import ServingSpec
from shared.records.subject import ServiceId
from shared.rendering.collector_file import IMAGE
from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import ModelTimes
from shared.simulation.world.workload import Replay, Workload

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
CALM, RUSH = 200.0, 2_300.0
"""Requests per second before and after the rise, at load 1."""
RISES_S, DURATION_S, AFTER_S, MINUTE_S = 300.0, 3_000.0, 600.0, 60.0
OBJECTIVE_MS = 100.0
LAG_S = 120.0
"""How old a sample of a metric is before anybody can read it."""
MOST, GPU_QUOTA = 3, 8
"""Three instances are what the owner pays for: no bound of instances can be raised."""
MODEL = ModelTimes.affine(8.0, 0.1, host_ms=7.2, cpu_ms_per_request=2.0)
"""A batch of b rows takes 8 + b / 10 ms, 7.2 of them on the CPU; each request is parsed and decoded for 2 ms before."""
ADVICE = {
    "name": SERVICE.resource_name,
    "scaling": {"maxInstanceCount": 3},
    "template": {
        "maxInstanceRequestConcurrency": 60,
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "gpuZonalRedundancyDisabled": True,
        "containers": [
            {
                "image": "tensorflow/serving:2.19.0-gpu",
                "args": [
                    "--port=8500",
                    "--rest_api_port=8501",
                    "--model_name=ranker",
                    "--model_base_path=gs://acme-models/ranker",
                    "--monitoring_config_file=/monitoring.config",
                ],
                "ports": [{"name": "h2c", "containerPort": 8500}],
                "resources": {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
            },
            {"name": "collector", "image": IMAGE, "resources": {"limits": {"cpu": "1", "memory": "512Mi"}}},
        ],
    },
}
"""The service as it was deployed: concurrency "2-3x cores = 50-75", no batching, the server's own 16 threads.
Google's Prometheus sidecar brings TF Serving's metrics to Cloud Monitoring."""


def document() -> ServiceDocument:
    """What the owner told Trimtab: leave it alone unless it is in trouble that is explained, then mend it; at most 3 instances."""
    serving = ServingSpec.model_validate(
        {
            "image": "tensorflow/serving:2.19.0-gpu",
            "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 7},
            "accelerator": "nvidia-l4",
            "gpu_zonal_redundancy": False,
            "cpu": "4",
            "memory": "16Gi",
            "take_over": "to-repair",
        }
    )
    wish = ServiceSpec(
        scale=ScaleBounds(max_instance_count=MOST),
        objective=Objective(p99_ms=OBJECTIVE_MS),
        autonomy=Autonomy.ACT,
        serving=serving,
    )
    return ServiceDocument(id=SERVICE, spec=wish)


@dataclass(frozen=True)
class Story:
    """The run, and the two spans that are compared."""

    run: Steered
    first_write_s: float | None
    before: RunResult
    """From the rise of the load to Trimtab's first write."""
    between: RunResult
    """From there to the last ten minutes: what the change itself cost, and what it took to take hold."""
    after: RunResult
    """The last ten minutes."""


def tell(*, seed: int, load: float) -> Story:
    """Run the incident; all figures are simulated, and the same seed and load give the same ones."""
    run = steered(
        ADVICE,
        document(),
        MODEL,
        Workload(Replay((0.0, RISES_S), (CALM * load, RUSH * load))),
        good_ms=OBJECTIVE_MS,
        seed=seed,
        duration_s=DURATION_S,
        lag_s=LAG_S,
        gpu_quota=GPU_QUOTA,
    )
    first = min((write.at_s for write in run.writes), default=None)
    latest = DURATION_S - AFTER_S - MINUTE_S
    ends = latest if first is None else min(max(math.floor(first / MINUTE_S) * MINUTE_S, RISES_S + MINUTE_S), latest)
    return Story(run, first, run.span(RISES_S, ends), run.span(ends, DURATION_S - AFTER_S), run.span(DURATION_S - AFTER_S))


def as_json(story: Story) -> dict[str, Any]:
    """The story for programs."""
    return {
        "simulated": True,
        "before": figures(story.before),
        "after": figures(story.after),
        "decisions": [_decision(each, story) for each in story.run.decisions],
        "platform_writes": story.run.platform_writes,
    }


def figures(result: RunResult) -> dict[str, float | None]:
    """The figures of a span that are compared."""
    return {
        "goodput": result.goodput,
        "p99_ms": result.p99_ms,
        "error_ratio": math.fsum(result.errors.values()),
        "mean_batch": result.mean_batch,
        "gpu_busy": result.gpu_busy,
        "usd_per_million_good": result.usd_per_million_good,
    }


def changed(decision: Decision) -> bool:
    """Whether it did more than to note something."""
    return bool(decision.changes) or decision.rollout is not None or decision.repair is not None


def changes(decision: Decision) -> tuple[str, ...]:
    """What it changes, in real names."""
    said = [f"{each.field} from {each.before} to {each.after}" for each in decision.changes]
    if decision.rollout is not None:
        said.append(f"{decision.rollout.kind} {decision.rollout.revision}")
    if decision.repair is not None and decision.repair.kind == "ask":
        said += decision.repair.repair.changes
    return tuple(said)


def why(decision: Decision) -> str:
    """Why it changed what it changed; of one that changed nothing, the whole of it."""
    said = [each.reason for each in decision.changes]
    if decision.rollout is not None:
        said.append(decision.rollout.reason)
    if decision.repair is not None and decision.repair.kind == "ask":
        said.append(decision.repair.repair.why)
    if decision.repair is not None and decision.repair.kind == "judge":
        said.append(decision.repair.repair.outcome)
    return "; ".join(said) or decision.explanation


def outcome(decision: Decision, story: Story) -> str:
    """What became of it."""
    if decision.repair is not None:
        ended = next(_judged(story, decision.repair.repair), None)
        return "not judged yet" if ended is None else f"{ended.phase.value}: {ended.outcome}"
    if not changed(decision):
        return "nothing changed"
    return "written" if decision.act_id is not None else "shown only"


def _judged(story: Story, repair: Repair) -> Iterator[Repair]:
    """How a repair ended, the last word first."""
    for each in reversed(story.run.decisions):
        change = each.decision.repair
        if change is not None and change.kind == "judge" and change.repair.repair_id == repair.repair_id:
            yield change.repair


def _decision(each: Decided, story: Story) -> dict[str, Any]:
    decision = each.decision
    cause = decision.repair.repair.cause if decision.repair is not None else None
    if cause is None and decision.diagnosis is not None and decision.diagnosis.causes:
        cause = decision.diagnosis.causes[0].cause
    return {
        "at_s": each.at_s,
        "trigger": ", ".join(decision.signals) or decision.trigger,
        "cause": cause,
        "changes": list(changes(decision)),
        "why": why(decision),
        "outcome": outcome(decision, story),
    }
