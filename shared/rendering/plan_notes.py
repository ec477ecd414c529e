"""What somebody should know before a plan becomes real, beside the fields: sentences, none of which keeps anything from happening. Pure."""

import math
import shlex
from collections.abc import Iterator

from shared.records.batching_rules import batching_notes
from shared.records.service import Autonomy, ServiceSpec
from shared.records.serving import DesiredServing, OwnEntry
from shared.rendering.document import read_document
from shared.rendering.entry import MANAGED_FLAGS
from shared.rendering.messages import Json
from shared.rendering.reading import UnreadableServiceError
from shared.rendering.service_plan import ServicePlan
from shared.tfserving.flags import parse_flags

USD_TOLERANCE = 1e-9
"""So that a budget of exactly n instances allows n, whatever the rounding of the product."""
_FILES = ("batching_parameters_file", "model_config_file", "monitoring_config_file")
"""The owner's flags whose files the command that Trimtab renders does not read."""


def plan_notes(now: Json | None, spec: ServiceSpec, desired: DesiredServing, plan: ServicePlan) -> tuple[str, ...]:
    """The plan's own notes, then what the spec says of when and how far, and what is lost; `now` is what was compared."""
    return (
        *plan.notes,
        *_lost(now, desired),
        *(batching_notes(spec.serving) if spec.serving is not None else ()),
        *_budget(spec, desired, plan),
        *(_before_it_is_written(now, spec, desired, plan) if plan.differences else ()),
    )


def _before_it_is_written(now: Json | None, spec: ServiceSpec, desired: DesiredServing, plan: ServicePlan) -> Iterator[str]:
    if spec.autonomy is Autonomy.OBSERVE:
        yield "autonomy is observe: Trimtab records what happens and writes nothing of this"
    elif spec.autonomy is Autonomy.RECOMMEND:
        yield "autonomy is recommend: Trimtab decides and explains, and writes nothing of this"
    if not plan.new_revision:
        return
    if desired.service_account is None and not (now or {}).get("template", {}).get("serviceAccount"):
        yield (
            "service_account is not set: instances get the project's default account, whose rights are often wide; name one of their own"
        )
    if spec.windows:
        times = "; ".join(f"{', '.join(each.days)} {each.start} to {each.end}" for each in spec.windows)
        yield f"a new revision starts only inside the windows (UTC): {times}"
    else:
        yield "no windows are set: a new revision may start at any time"
    if spec.serving is not None and spec.serving.golden_request is not None:
        yield "before it gets traffic the new revision must be ready and answer the golden request"
    else:
        yield "no golden_request is set: that the new revision is ready is all that is asked before it gets the traffic"
    if now is not None:
        what = "instances" if desired.accelerator is None else f"{desired.accelerator} GPUs of quota"
        yield (
            f"during the rollout the new revision runs beside the old one: up to {plan.then.allowed_instances} more {what} until the old "
            "instances are gone"
        )


def _budget(spec: ServiceSpec, desired: DesiredServing, plan: ServicePlan) -> Iterator[str]:
    budget, usd, price = spec.objective.usd_per_hour, plan.then.usd_when_all_allowed, plan.then.usd_per_instance
    if budget is None:
        return
    if usd is None or price is None or desired.accelerator is None:
        # Decisions know the prices of instances with a GPU only: how a CPU is billed is not part of what they see of a service.
        yield f"objective.usd_per_hour is {budget:g}, but decisions do not know the price of such an instance: Trimtab raises no bound"
    elif usd > budget and (stops := math.floor(budget / price + USD_TOLERANCE)) < plan.then.allowed_instances:
        yield (
            f"{plan.then.allowed_instances} instances would cost {usd:.2f} an hour, objective.usd_per_hour is {budget:g}: Trimtab stops at "
            f"{stops}"
        )


def _lost(now: Json | None, desired: DesiredServing) -> Iterator[str]:
    """What the owner's command says and the rendered one would not."""
    if now is None or desired.own_entry is not None:
        return
    try:
        owners = read_document(now).own_entry
    except UnreadableServiceError:
        return  # no spec can say the service as it is; the differences show its whole command
    if owners is None:
        return
    given = parse_flags(list(_flags_in(owners))).given
    lost = [f"--{name}={_written(value)}" for name, value in given.items() if name not in MANAGED_FLAGS and name not in desired.extra_flags]
    if lost:
        yield f"the owner's flags {' '.join(lost)} would go: those that shall stay belong into extra_flags"
    for flag in _FILES:
        if flag in given:
            yield f"{given[flag]}, the file of --{flag}, would no longer be read: {_INSTEAD[flag]}"


_INSTEAD = {
    "batching_parameters_file": "copy its numbers to batching first",
    "model_config_file": "what it says beside the one model of the spec is lost",
    "monitoring_config_file": "Trimtab writes one of its own, with TF Serving's page of metrics",
}


def _flags_in(entry: OwnEntry) -> Iterator[str]:
    """The arguments that look like flags, those inside the line of a shell included."""
    for word in (*entry.command, *entry.args):
        try:
            inner = shlex.split(word, comments=True) if any(char.isspace() for char in word) and not word.startswith("--") else [word]
        except ValueError:
            inner = word.split()  # quotes that do not close
        yield from (each for each in inner if each.startswith("--") and each != "--")


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
