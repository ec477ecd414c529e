"""What a spec would change of a service: now and then, field by field, with the new revision's name and what it costs. Pure.

Compared are the template and the ingress. The scaling bounds of a service that exists move by decisions, not with the spec: they
differ here only where what is in force lies outside the spec's bounds, which is what reconcile would mend first.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from google.cloud import run_v2

from shared.cloudrun.prices import TIER_1_REGIONS, usd_per_instance_hour
from shared.records.observed import Bounds, Observed, ScalingMode, Shape
from shared.records.service import ScaleBounds
from shared.records.serving import DesiredServing
from shared.records.subject import ServiceId
from shared.rendering.differences import Difference, contents, differences
from shared.rendering.document import read_document, rendered_document
from shared.rendering.messages import Json, service_from_json
from shared.rendering.names import revision_name
from shared.rendering.observed import observed_from_service
from shared.rendering.reading import UnreadableServiceError

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A document does not say when it was read."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting in the words of the spec: `batching.max_batch_size`. None is a setting that is not there."""

    setting: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Cost:
    """What a service costs an hour at list prices, while that many instances are up; None where the price is not known."""

    usd_per_instance: float | None
    unknown: str | None
    """Why the price is not known."""
    min_instances: int
    """Instances that are always up."""
    max_instances: int
    """Instances at most, as the bounds in force have it."""
    allowed_instances: int
    """Instances at most if decisions raise the bounds as far as the spec and the revision let them."""

    @property
    def usd_at_min(self) -> float | None:
        """Dollars per hour when nothing but the minimum is up."""
        return None if self.usd_per_instance is None else self.usd_per_instance * self.min_instances

    @property
    def usd_at_max(self) -> float | None:
        """Dollars per hour when every instance is up that the bounds in force allow."""
        return None if self.usd_per_instance is None else self.usd_per_instance * self.max_instances

    @property
    def usd_when_all_allowed(self) -> float | None:
        """Dollars per hour when every instance is up that the spec and the revision allow."""
        return None if self.usd_per_instance is None else self.usd_per_instance * self.allowed_instances


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What would change. `now` is None for a service that is not there: then the differences are all of it."""

    differences: tuple[Difference, ...]
    settings: tuple[SettingChange, ...]
    """The same in the spec's words, where both now and then are a command of Trimtab's, or both one of the owner's."""
    revision: str | None
    """The name of the new revision; None where the template stays as it is."""
    now: Cost | None
    then: Cost
    notes: tuple[str, ...]

    @property
    def new_revision(self) -> bool:
        """Whether Cloud Run would make a new revision."""
        return self.revision is not None


def plan_service(now: Json | None, desired: DesiredServing, *, service: ServiceId, bounds: ScaleBounds) -> ServicePlan:
    """What it takes to make the service (its v2 JSON document; None: there is none) be what is desired.

    `bounds` are the spec's.

    Raises:
        ValueError: `now` is no document of a service.
    """
    if now is None:
        document = new_service(service, desired, bounds)
        return ServicePlan(
            differences=_with_limits(contents(document)),
            settings=(),
            revision=revision_name(service.name, document["template"]),
            now=None,
            then=cost_of(document, service.region, ceiling=bounds.max_instance_count),
            notes=(),
        )
    then = rendered_document(now, desired)
    notes = []
    seen, wanted = _observed(then), None
    if seen.scaling_mode is ScalingMode.MANUAL:
        notes.append(
            f"scaling is manual, {seen.manual_instance_count or 0} instances: the bounds are not in force, Trimtab leaves that as it is"
        )
    else:
        wanted = _bounds_inside(seen, bounds)
    if wanted is not None:
        then = {**then, "scaling": {**then.get("scaling", {}), **_as_json(wanted)}}
        notes.append(
            f"the scaling bounds in force, {seen.min_in_force} to {seen.max_in_force}, are outside the spec's "
            f"{bounds.min_instance_count} to {bounds.max_instance_count}; inside them they move by decisions, not with the spec"
        )
    found = _with_limits(differences(now, then))
    new_revision = any(each.new_revision for each in found)
    if new_revision and any(_follows_the_latest(target) for target in now.get("traffic") or [{}]):
        notes.append("traffic goes to the latest revision by itself now: pin it first (trimtab adopt says how)")
    return ServicePlan(
        differences=found,
        settings=tuple(_settings(now, then)),
        revision=revision_name(service.name, then["template"]) if new_revision else None,
        now=cost_of(now, service.region),
        then=cost_of(then, service.region, ceiling=bounds.max_instance_count),
        notes=tuple(notes),
    )


def new_service(service: ServiceId, desired: DesiredServing, bounds: ScaleBounds) -> Json:
    """The v2 JSON document of a service that is made from nothing, with the spec's own bounds; without the revision's name and traffic."""
    start = Bounds(min_instance_count=bounds.min_instance_count, max_instance_count=bounds.max_instance_count)
    return rendered_document({"name": service.resource_name}, desired, bounds=start)


def cost_of(document: Json, region: str, *, ceiling: int | None = None) -> Cost:
    """What the service in the document costs in that region; `ceiling` is the spec's own maximum, where there is a spec.

    Raises:
        ValueError: it is no document of a service.
    """
    message = service_from_json(document)
    seen = observed_from_service(message, read_at=_NO_TIME)
    shape = seen.shape
    usd = usd_per_instance_hour(
        accelerator=shape.accelerator,
        gpu_count=shape.gpu_count,
        cpu=shape.cpu,
        memory_gib=shape.memory_gib,
        gpu_zonal_redundancy=shape.gpu_zonal_redundancy,
        region=region,
        billed_by_instance=_billed_by_instance(message),
    )
    unknown = _why_unknown(shape, region) if usd is None else None
    if seen.scaling_mode is ScalingMode.MANUAL:
        count = seen.manual_instance_count or 0
        return Cost(usd, unknown, count, count, count)
    stated = [bound for bound in (ceiling, seen.revision_max_instance_count) if bound]
    allowed = seen.max_in_force if ceiling is None else min(stated)
    return Cost(usd, unknown, seen.min_in_force, seen.max_in_force, allowed)


def _billed_by_instance(service: run_v2.Service) -> bool:
    """Whether no container is throttled between requests: without `resources`, or with `cpuIdle`, it is."""
    containers = service.template.containers
    return bool(containers) and all(run_v2.Container.pb(each).HasField("resources") and not each.resources.cpu_idle for each in containers)


def _observed(document: Json) -> Observed:
    return observed_from_service(service_from_json(document), read_at=_NO_TIME)


def _why_unknown(shape: Shape, region: str) -> str:
    if shape.cpu is None or shape.memory_gib is None:
        return "not every container states its CPU and memory"
    if region not in TIER_1_REGIONS:
        return f"prices of {region} are not in the published table"
    if shape.accelerator is None or shape.gpu_count < 1:
        return "the CPU is billed by the request, so the price hangs on the traffic"
    return f"{shape.accelerator} is not in the published table"


def _bounds_inside(seen: Observed, scale: ScaleBounds) -> Bounds | None:
    """The service's bounds moved into the spec's, as reconcile does it; None where nothing is outside."""
    low, high = seen.bounds.min_instance_count, seen.bounds.max_instance_count
    if seen.max_in_force > scale.max_instance_count:
        high = scale.max_instance_count
    elif seen.max_in_force < scale.min_instance_count and not 0 < seen.revision_max_instance_count < scale.min_instance_count:
        high = scale.min_instance_count
    wanted = min(max(low, scale.min_instance_count), scale.max_instance_count)
    if wanted < low or seen.min_in_force < scale.min_instance_count:
        low = wanted
    moved = Bounds(min_instance_count=low, max_instance_count=high)
    return None if moved == seen.bounds else moved


def _as_json(bounds: Bounds) -> Json:
    return {"minInstanceCount": bounds.min_instance_count, "maxInstanceCount": bounds.max_instance_count}


def _follows_the_latest(target: Mapping[str, Any]) -> bool:
    return not target.get("revision")


def _settings(now: Json, then: Json) -> Iterator[SettingChange]:
    """What changes in the spec's words; nothing where the service now is of another kind, or no spec can say it."""
    try:
        before, after = read_document(now), read_document(then)
    except UnreadableServiceError:
        return
    if (before.own_entry is None) == (after.own_entry is None):
        yield from _changes("", _in_the_specs_words(before, now), _in_the_specs_words(after, then))


def _in_the_specs_words(desired: DesiredServing, document: Json) -> Json:
    """Its settings below `spec.serving`; the bounds stand in `spec.scale`."""
    settings = desired.model_dump(mode="json")
    highest = settings.pop("max_instance_count")
    lowest = _observed(document).bounds.min_instance_count
    return {**settings, "scale": {"min_instance_count": lowest, "max_instance_count": highest}}


_LIMIT = re.compile(r"(\.resources)\.(cpu|memory|nvidia\.com/gpu)$")


def _with_limits(found: tuple[Difference, ...]) -> tuple[Difference, ...]:
    """The same under Cloud Run's own paths: what is compared has `resources` without their inner `limits`."""
    return tuple(replace(each, path=_LIMIT.sub(r"\1.limits.\2", each.path)) for each in found)


def _changes(path: str, before: Any, after: Any) -> Iterator[SettingChange]:
    if before == after:
        return
    left, right = (side if isinstance(side, dict) else {} for side in (before, after))
    if not left and not right:
        yield SettingChange(path, before, after)
        return
    for name in {**left, **right}:
        yield from _changes(f"{path}.{name}" if path else name, left.get(name), right.get(name))
