"""How high a bound may go: the owner's spec, the revision, the quota, the money; each limit with its reason in words."""

import math
from datetime import datetime
from typing import NamedTuple

from shared.cloudrun.prices import usd_per_instance_hour
from shared.records.metric import Known
from shared.records.observed import Observed
from shared.records.plan import DenialCode
from shared.records.snapshot import ManagedService, Observation

USD_TOLERANCE = 1e-9
"""So that a budget of exactly n instances allows n, whatever the rounding of the product."""


class Ceiling(NamedTuple):
    """One limit on the number of instances, and why it stands."""

    code: DenialCode
    instances: int
    message: str


def price_of(service: ManagedService, observed: Observed) -> float | None:
    """Dollars per hour of one running instance of the observed shape; None where it is not known."""
    shape = observed.shape
    return usd_per_instance_hour(
        accelerator=shape.accelerator,
        gpu_count=shape.gpu_count,
        cpu=shape.cpu,
        memory_gib=shape.memory_gib,
        gpu_zonal_redundancy=shape.gpu_zonal_redundancy,
        region=service.document.id.region,
    )


def usd_at_max(service: ManagedService, observed: Observed) -> float | None:
    """Dollars per hour if every instance the bounds allow were running; None where the price is not known."""
    price = price_of(service, observed)
    return None if price is None else price * observed.max_in_force


def ceilings(
    service: ManagedService, observed: Observed, observation: Observation, now: datetime, *, counted_usd: float | None
) -> list[Ceiling]:
    """All limits on the instance count that hold now, the lowest first.

    `counted_usd` is this service's share of the fleet's sum, as it was stored when the sum was taken.
    """
    found = [
        Ceiling(
            DenialCode.SPEC_MAX,
            service.document.spec.scale.max_instance_count,
            f"the spec's scale.max_instance_count is {service.document.spec.scale.max_instance_count}; raise it to allow more",
        )
    ]
    if observed.revision_max_instance_count > 0:
        found.append(
            Ceiling(
                DenialCode.REVISION_MAX,
                observed.revision_max_instance_count,
                f"the revision's own maximum is {observed.revision_max_instance_count}; moving it needs a new revision",
            )
        )
    found += _quota(service, observation, now)
    found += _money(service, observed, observation, counted_usd or 0.0)
    return sorted(found, key=lambda ceiling: ceiling.instances)


def _quota(service: ManagedService, observation: Observation, now: datetime) -> list[Ceiling]:
    found = []
    if isinstance(observation.quota_instances, Known):
        allowed = math.floor(observation.quota_instances.value)
        found.append(Ceiling(DenialCode.QUOTA, allowed, f"the project's quota in {service.document.id.region} allows {allowed} instances"))
    refused = service.state.quota_ceiling
    if refused is not None and refused.expires_at > now:
        found.append(
            Ceiling(
                DenialCode.QUOTA,
                refused.max_instance_count,
                f"Cloud Run refused more than {refused.max_instance_count} instances at {refused.seen_at:%H:%M} UTC for lack of quota; "
                "ask for more at g.co/cloudrun/gpu-quota",
            )
        )
    return found


def _money(service: ManagedService, observed: Observed, observation: Observation, counted_usd: float) -> list[Ceiling]:
    found = []
    price = price_of(service, observed)
    budget = service.document.spec.objective.usd_per_hour
    if budget is not None and price is not None:
        allowed = math.floor(budget / price + USD_TOLERANCE)
        found.append(
            Ceiling(
                DenialCode.BUDGET,
                allowed,
                f"the spec's objective.usd_per_hour is {budget:g}: {allowed} instances at ${price:.4f} per hour each",
            )
        )
    elif budget is not None:
        found.append(
            Ceiling(
                DenialCode.UNKNOWN,
                observed.max_in_force,
                f"the spec has a budget of ${budget:g} per hour, but the price of one instance is not known "
                f"({observed.shape.accelerator or 'no GPU'}, {service.document.id.region})",
            )
        )
    brake = service.fleet.brakes.usd_per_hour
    used = observation.fleet_usage.usd_per_hour_at_max if observation.fleet_usage is not None else None
    if brake is not None and used is not None:
        room = brake - (used - counted_usd)
        allowed = max(0, math.floor(room / price + USD_TOLERANCE)) if price is not None else observed.max_in_force
        found.append(
            Ceiling(DenialCode.BRAKE_USD, allowed, f"the fleet's brake is ${brake:g} per hour and ${used:.2f} of it is taken at all maxima")
        )
    return found
