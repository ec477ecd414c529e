"""Cloud Run's `Service` message, reduced to what Trimtab decides on."""

import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from google.cloud import run_v2

from shared.cloudrun.quantities import GIB, quantity
from shared.records.observed import Bounds, Observed, ReadyState, RevisionReading, ScalingMode, Shape

SHORT_LIMIT = 256
LONG_LIMIT = 1_024
URI_LIMIT = 4_096
"""The records' limits on texts, in characters; longer ones are cut and the cut is marked."""


_READY: dict[int, ReadyState] = {
    run_v2.Condition.State.CONDITION_SUCCEEDED: ReadyState.SUCCEEDED,
    run_v2.Condition.State.CONDITION_FAILED: ReadyState.FAILED,
    run_v2.Condition.State.CONDITION_PENDING: ReadyState.PENDING,
    run_v2.Condition.State.CONDITION_RECONCILING: ReadyState.RECONCILING,
}


def shape_of(template: run_v2.RevisionTemplate) -> Shape:
    """What one instance of the template is made of: CPU, memory and GPUs are summed over its containers.

    CPU or memory is None if a container does not state it in a form that can be read: a sum without it would be too small.
    Zonal redundancy is on where the template is silent, as Cloud Run's documentation on GPUs says of services.
    """
    limits = [container.resources.limits for container in template.containers]
    cpu = _sum_of([each.get("cpu") for each in limits])
    memory = _sum_of([each.get("memory") for each in limits])
    gpus = _sum_of([each["nvidia.com/gpu"] for each in limits if "nvidia.com/gpu" in each])
    return Shape(
        accelerator=_cut(template.node_selector.accelerator, SHORT_LIMIT) or None,
        gpu_count=0 if gpus is None else math.ceil(gpus),
        cpu=None if cpu is None else float(cpu),
        memory_gib=None if memory is None else float(memory / GIB),
        gpu_zonal_redundancy=not template.gpu_zonal_redundancy_disabled,
    )


def observed_from_service(service: run_v2.Service, *, read_at: datetime) -> Observed:
    """One reading of the service. What Cloud Run leaves out is zero, empty or Cloud Run's documented default."""
    scaling = service.scaling
    # Enums are read from the raw message: the wrapper warns of every value that is newer than this client.
    condition = run_v2.Condition.pb(service.terminal_condition)
    manual = run_v2.ServiceScaling.pb(scaling).scaling_mode == run_v2.ServiceScaling.ScalingMode.MANUAL
    return Observed(
        generation=service.generation,
        observed_generation=service.observed_generation,
        reconciling=service.reconciling,
        etag=service.etag,
        bounds=Bounds(
            min_instance_count=max(scaling.min_instance_count, 0),
            max_instance_count=max(scaling.max_instance_count, 0),
        ),
        scaling_mode=ScalingMode.MANUAL if manual else ScalingMode.AUTOMATIC,
        manual_instance_count=scaling.manual_instance_count if "manual_instance_count" in scaling else None,
        revision_max_instance_count=max(service.template.scaling.max_instance_count, 0),
        revision_min_instance_count=max(service.template.scaling.min_instance_count, 0),
        shape=shape_of(service.template),
        max_instance_request_concurrency=max(service.template.max_instance_request_concurrency, 0),
        ready=_READY.get(condition.state, ReadyState.UNKNOWN),
        ready_reason=_cut(_reason_of(condition), SHORT_LIMIT),
        ready_message=_cut(condition.message, LONG_LIMIT),
        latest_ready_revision=_cut(service.latest_ready_revision.rsplit("/", 1)[-1], SHORT_LIMIT),
        last_modifier=_cut(service.last_modifier, SHORT_LIMIT),
        read_at=read_at,
    )


def revision_reading(revision: run_v2.Revision) -> RevisionReading:
    """One reading of the revision: its `Ready` condition counts.

    A retired revision may say Ready with the reason RETIRED, which does not mean that it ever started; the reason is kept for that.
    """
    condition = next((run_v2.Condition.pb(each) for each in revision.conditions if each.type_ == "Ready"), run_v2.Condition.pb()())
    raw = run_v2.Revision.pb(revision)
    return RevisionReading(
        name=_cut(revision.name.rsplit("/", 1)[-1], SHORT_LIMIT),
        ready=_READY.get(condition.state, ReadyState.UNKNOWN),
        reason=_cut(_reason_of(condition), SHORT_LIMIT),
        message=_cut(condition.message, LONG_LIMIT),
        created_at=raw.create_time.ToDatetime(tzinfo=UTC) if raw.HasField("create_time") else None,
        log_uri=_cut(revision.log_uri, URI_LIMIT),
    )


def _reason_of(condition: Any) -> str:
    """The name of whichever reason is set; a reason newer than this client is named by its number."""
    which = condition.WhichOneof("reasons")
    if which is None:
        return ""
    value = getattr(condition, which)
    known = condition.DESCRIPTOR.fields_by_name[which].enum_type.values_by_number.get(value)
    return str(value) if known is None else str(known.name)


def _sum_of(texts: list[str | None]) -> Fraction | None:
    """The sum of the quantities; None if there are none or one of them is missing or unreadable."""
    amounts = [None if text is None else quantity(text) for text in texts]
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Fraction(0)) if known and len(known) == len(amounts) else None


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
