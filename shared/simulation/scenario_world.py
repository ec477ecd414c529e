"""The parts of the simulated world that a scenario names: its workload, its model's times, the instances it begins with. Pure."""

from dataclasses import dataclass, replace

import numpy as np

from shared.simulation.scenario import Model, Scenario
from shared.simulation.scenario_workload import (
    BurstyLoad,
    DiurnalLoad,
    FlashLoad,
    HeavyTail,
    LowLoad,
    ReplayLoad,
    SteadyLoad,
)
from shared.simulation.world.settings import CloudRunSettings, ModelTimes, Revision
from shared.simulation.world.workload import Bursty, Diurnal, Flash, Floats, Rate, Replay, Retries, Sizes, Steady, Workload
from shared.simulation.world.world import World


@dataclass(frozen=True, slots=True)
class OneSize(Sizes):
    """Every request has `largest` rows."""

    def chances(self) -> Floats:
        """Of 1, 2, ... rows: none but the last."""
        return np.asarray(np.arange(1, self.largest + 1) == self.largest, np.float64)


def workload_of(scenario: Scenario) -> Workload:
    """The workload; its times begin with the warm-up, as the world's do."""
    load = scenario.workload
    sizes = Sizes(load.rows.largest, load.rows.exponent) if isinstance(load.rows, HeavyTail) else OneSize(load.rows)
    retries = Retries() if load.retries is None else Retries(load.retries.tries, load.retries.backoff_s)
    return Workload(_rate(scenario), sizes, retries)


def _rate(scenario: Scenario) -> Rate:
    load, begins = scenario.workload, float(scenario.warm_up_s)
    match load:
        case SteadyLoad() | LowLoad():
            return Steady(load.rows_per_s)
        case BurstyLoad():
            return Bursty(load.low_rows_per_s, load.high_rows_per_s, load.mean_low_s, load.mean_high_s)
        case DiurnalLoad():
            return Diurnal(load.rows_per_s, load.amplitude, load.period_s, begins + load.zero_s)
        case FlashLoad():
            return Flash(load.low_rows_per_s, load.high_rows_per_s, begins + load.at_s, load.length_s)
        case ReplayLoad():
            return Replay(tuple(begins + time for time, _ in load.series), tuple(rate for _, rate in load.series))


def model_times(model: Model) -> ModelTimes:
    """The times of batches."""
    if model.table is not None:
        return ModelTimes.measured(model.table, host_ms=model.host_ms, cpu_ms_per_request=model.cpu_ms_per_request)
    return ModelTimes.affine(model.a_ms or 0.0, model.c_ms or 0.0, host_ms=model.host_ms, cpu_ms_per_request=model.cpu_ms_per_request)


def bounded(scenario: Scenario, revision: Revision) -> Revision:
    """The revision with the scenario's bounds in place of its own; its own minimum gives way to a lower maximum of the scenario.

    Raises:
        ValueError: the scenario wants more instances kept, or more at the beginning, than the revision may have.
    """
    limits, cloud_run = scenario.limits, revision.cloud_run
    upper = cloud_run.max_instances if limits.max_instances is None else limits.max_instances
    for name, count in (("min_instances", limits.min_instances), ("warm_instances", limits.warm_instances)):
        if count is not None and count > upper:
            raise ValueError(f"limits.{name} {count} is above {upper}, the service's maximum: lower it, or raise limits.max_instances")
    lower = min(cloud_run.min_instances if limits.min_instances is None else limits.min_instances, upper)
    return replace(revision, cloud_run=replace(cloud_run, min_instances=lower, max_instances=upper))


def warm_instances(scenario: Scenario, cloud_run: CloudRunSettings) -> int:
    """Instances that serve at the beginning; never more than settings may have that a search has found."""
    most = cloud_run.max_instances if scenario.limits.gpu_quota is None else min(cloud_run.max_instances, scenario.limits.gpu_quota)
    wanted = scenario.limits.warm_instances
    return min(max(cloud_run.min_instances, 1) if wanted is None else wanted, most)


def world_of(scenario: Scenario, revision: Revision, *, name: str = "00001") -> World:
    """The world at its beginning: that revision has all the traffic."""
    return World(
        workload_of(scenario),
        revision,
        good_ms=scenario.good_ms,
        seed=scenario.seed,
        warm_instances=warm_instances(scenario, revision.cloud_run),
        quota=scenario.limits.gpu_quota,
        name=name,
    )
