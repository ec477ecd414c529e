"""A scenario with Trimtab in the loop: the service as it runs at first, and the spec that Trimtab is given of it."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from cli.shown import one_line, stop
from cli.simulating import ANY_SERVICE, Prepared, Ran
from cli.steered import Decided, steered
from shared.errors import TrimtabError
from shared.lint.deployment import Deployment
from shared.lint.v2_values import whole_of
from shared.records.observed import PLATFORM_DEFAULT_MAX_INSTANCES
from shared.records.plan import FieldChange
from shared.records.service import Autonomy, Objective, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.serving import ModelSource, ModelSpec, ServingSpec, TakeOver
from shared.records.spec_problems import problems_of
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.scenario import Scenario, ServiceSettings
from shared.simulation.scenario_world import model_times, workload_of
from shared.tfserving.command import BATCHING
from shared.tfserving.flags import FlagValue

ANY_VERSION = 1
"""Of the model: which it is changes nothing here."""
MOST_TOLD = 8
"""Decisions that are told below a table."""
TOLD = 240


def run_steered(name: str, scenario: Scenario, settings: ServiceSettings, ready: Prepared) -> Ran:
    """The scenario with Trimtab acting from the beginning of the warm-up on; figures as of any other run.

    Ends the command where the service is none that Trimtab could be given.
    """
    document = told(scenario, settings, ready.deployment)
    try:
        found = steered(
            running(scenario, settings, ready.deployment, document),
            document,
            model_times(scenario.model),
            workload_of(scenario),
            good_ms=scenario.good_ms,
            seed=scenario.seed,
            duration_s=scenario.warm_up_s + scenario.duration_s,
            lag_s=scenario.lag_s,
            gpu_quota=scenario.limits.gpu_quota,
            warm_instances=scenario.limits.warm_instances,
            start_s=scenario.limits.start_s,
            client_timeout_s=scenario.limits.client_timeout_s or math.inf,
            usd_per_instance_s=scenario.limits.usd_per_instance_s,
            over_grpc=False,
        )
    except SimulatedError as error:
        refusal = one_line(" ".join(error.text.split()), 2_000)
        stop(f"--{name}: Cloud Run would refuse the service: {refusal}{_quota_hint(scenario, document)}")
    except (ValueError, TrimtabError) as error:
        stop(f"--{name}: {one_line(str(error), 2_000)}")
    marks = tuple((each.at_s, said) for each in found.decisions if (said := changed(each)) is not None)
    notes = [f"{(at_s - scenario.warm_up_s) / 60:.0f} min: {one_line(said, TOLD)}" for at_s, said in marks]
    if len(notes) > MOST_TOLD:
        notes[MOST_TOLD:] = [f"and {len(notes) - MOST_TOLD} changes more"]
    writes = f"{_count(found.platform_writes, 'write')} to Cloud Run, {_count(len(found.revisions) - 1, 'new revision')}"
    return Ran(name, found.span(scenario.warm_up_s), ready.usd_per_instance_s, (writes, *notes), marks)


def _quota_hint(scenario: Scenario, document: ServiceDocument) -> str:
    quota, most = scenario.limits.gpu_quota, document.spec.scale.max_instance_count
    if quota is None or quota >= most:
        return ""
    return f"; limits.gpu_quota is {quota} and the service's maximum {most}: raise limits.gpu_quota, or lower limits.max_instances"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def changed(each: Decided) -> str | None:
    """What a decision changed, on one line; None where it changed nothing."""
    decision = each.decision
    said = [_field(change) for change in decision.changes]
    if decision.repair is not None or decision.rollout is not None:
        said.append(decision.explanation)
    return "; ".join(said) or None


def _field(change: FieldChange) -> str:
    return f"{change.field.value} {change.before} -> {change.after}"


def running(scenario: Scenario, settings: ServiceSettings, deployment: Deployment, document: ServiceDocument) -> dict[str, Any]:
    """The service as it runs at first, with the scenario's bounds in place of its own.

    A batching file of a command stands in the container's environment, where the simulated server finds it.
    """
    service = {**deployment.service, "name": document.id.resource_name}
    least, most = scenario.limits.min_instances, scenario.limits.max_instances
    scaling = dict(service.get("scaling", {}))
    template = dict(service["template"])
    own = dict(template.get("scaling", {}))
    for field, bound in (("minInstanceCount", least), ("maxInstanceCount", most)):
        if bound is not None:
            own.pop(field, None)
            scaling[field] = bound
    containers = [_with_files(each, settings) if each == deployment.container else each for each in deployment.containers]
    return {**service, "scaling": scaling, "template": {**template, "scaling": own, "containers": containers}}


def _with_files(container: Mapping[str, Any], settings: ServiceSettings) -> dict[str, Any]:
    found = dict(container)
    if settings.flags:
        found["args"] = [*container.get("args", []), *settings.flags]
    if settings.batching is not None:
        found["env"] = [*container.get("env", []), {"name": BATCHING, "value": settings.batching}]
    return found


def told(scenario: Scenario, settings: ServiceSettings, deployment: Deployment) -> ServiceDocument:
    """What Trimtab is given: the scenario's spec, with the right to act at any hour.

    Of a command it is a spec with everything `auto`, which takes over when the evidence blames what runs.
    """
    service = settings.service or ANY_SERVICE
    goal = scenario.objective
    objective = Objective(p99_ms=scenario.good_ms, usd_per_hour=None if goal is None else goal.usd_per_hour)
    if settings.spec is None:
        return ServiceDocument(id=service, spec=_of_command(scenario, deployment, objective))
    spec = settings.spec
    serving = spec.serving
    if serving is not None and serving.model is not None:
        serving = serving.model_copy(update={"model": serving.model.model_copy(update={"version": ANY_VERSION})})
    objective = spec.objective if goal is None else spec.objective.model_copy(update=objective.model_dump(exclude_none=True))
    update = {"serving": serving, "objective": objective, "autonomy": Autonomy.ACT, "windows": (), "scale": _scale(scenario, spec.scale)}
    return ServiceDocument(id=service, spec=spec.model_copy(update=update))


def _scale(scenario: Scenario, own: ScaleBounds) -> ScaleBounds:
    limits = scenario.limits
    most = own.max_instance_count if limits.max_instances is None else limits.max_instances
    least = own.min_instance_count if limits.min_instances is None else limits.min_instances
    return ScaleBounds(min_instance_count=min(least, most), max_instance_count=most)


def _of_command(scenario: Scenario, deployment: Deployment, objective: Objective) -> ServiceSpec:
    bounds = [deployment.service.get("scaling", {}), deployment.template.get("scaling", {})]
    least = max(whole_of(each.get("minInstanceCount")) or 0 for each in bounds)
    most = deployment.max_instances or PLATFORM_DEFAULT_MAX_INSTANCES
    scale = _scale(scenario, ScaleBounds(min_instance_count=min(least, most), max_instance_count=most))
    rows, deadline_s = scenario.workload.rows, scenario.limits.client_timeout_s
    limits = deployment.container.get("resources", {}).get("limits", {})
    serving = {
        "image": deployment.container.get("image"),
        "model": _model(deployment.flag("model_name"), deployment.flag("model_base_path")),
        "protocol": deployment.protocol,
        "accelerator": deployment.accelerator,
        "gpu_zonal_redundancy": None
        if deployment.accelerator is None
        else not deployment.template.get("gpuZonalRedundancyDisabled", False),
        "cpu": limits.get("cpu"),
        "memory": limits.get("memory"),
        "rows_per_request": rows if isinstance(rows, int) else None,
        "client_deadline_ms": None if deadline_s is None else max(1, round(deadline_s * 1000)),
        "take_over": TakeOver.TO_REPAIR,
    }
    try:
        made = ServingSpec.model_validate(serving)
    except ValidationError as error:
        said = "; ".join(str(problem) for problem in problems_of(error, ServingSpec, serving))
        stop(f"--steered: no spec can be made of the command for Trimtab: {one_line(said, 2_000)}")
    return ServiceSpec(scale=scale, objective=objective, autonomy=Autonomy.ACT, serving=made)


def _model(name: FlagValue | None, path: FlagValue | None) -> ModelSpec:
    """The model as the command says it; one that a spec cannot say is called by another name, which changes nothing here."""
    try:
        uri = str(path)
        source = ModelSource.GCS if uri.startswith("gs://") else ModelSource.IMAGE
        return ModelSpec(name=str(name), uri=uri, version=ANY_VERSION, source=source)
    except ValidationError:
        return ModelSpec(name="model", uri="gs://models/model", version=ANY_VERSION)
