"""Looking at the world for one service. What cannot be seen is Unknown with a reason, never a guess."""

from datetime import datetime, timedelta
from typing import Any

from shared import log
from shared.control.inflight import UNNAMED_OPERATION
from shared.errors import Refused, Retry, ServiceMissing
from shared.ports import Logs, Metrics, Platform, Quota, Store
from shared.records.evidence import KEPT_LINES, LOG_SECONDS, Evidence, LogLines
from shared.records.fleet import ActSlot, FleetUsage
from shared.records.metric import Metric, Unknown
from shared.records.observed import Observed
from shared.records.snapshot import ManagedService, Observation, OperationStatus
from shared.records.state import ServiceState
from shared.records.subject import ServiceId


def observe(
    service: ServiceId,
    state: ServiceState,
    *,
    platform: Platform,
    metrics: Metrics | None,
    quota: Quota | None,
    cloud_run: Observed | Unknown | None = None,
    count: bool = True,
) -> Observation:
    """One look: Cloud Run (unless it was read already), the instance count, the quota, and the operation under way if there is one.

    Without `count` nobody needs to know how many instances run, and nobody is asked.
    """
    seen = _cloud_run(service, platform) if cloud_run is None else cloud_run
    if isinstance(seen, Unknown):
        return Observation(cloud_run=seen, instance_count=Unknown(reason="not asked for"), quota_instances=Unknown(reason="not asked for"))
    return Observation(
        cloud_run=seen,
        instance_count=_instance_count(service, metrics) if count else Unknown(reason="not asked for: nothing depends on it"),
        quota_instances=_quota(service, seen, quota),
        operation=_operation(state, platform),
    )


def with_fleet_usage(observation: Observation, managed: ManagedService, store: Store, now: datetime) -> Observation:
    """The observation with how much of the fleet's brakes is used; asked for only when something is about to change.

    Raises:
        Retry: the store could not be read.
    """
    minute = ActSlot.minute_of(now)
    usage = FleetUsage(
        minute=minute,
        acts_this_minute=store.acts_in_minute(minute),
        usd_per_hour_at_max=store.usd_per_hour_at_max() if managed.fleet.brakes.usd_per_hour is not None else None,
    )
    return observation.model_copy(update={"fleet_usage": usage})


def with_evidence(
    observation: Observation,
    service: ServiceId,
    *,
    logs: Logs,
    metrics: Metrics | None,
    document: dict[str, Any] | None,
    now: datetime,
) -> Observation:
    """The observation with what logs and metrics say; asked for only while something is wrong.

    `document` is Cloud Run's own of the service, where this look read it. What cannot be read is Unknown with the reason.
    """
    lines: LogLines | Unknown
    try:
        lines = logs.recent(service, since=now - timedelta(seconds=LOG_SECONDS), until=now, limit=KEPT_LINES)
    except Retry as retry:
        lines = Unknown(reason=retry.reason[:500])
    except Refused as refusal:
        lines = Unknown(reason=f"the log refuses to be read: {refusal.message[:450]}")
    readings = Unknown(reason="no source of metrics is connected") if metrics is None else metrics.readings(service)
    return observation.model_copy(update={"evidence": Evidence(logs=lines, readings=readings, service=document)})


def without_evidence(observation: Observation, why: str, *, document: dict[str, Any] | None) -> Observation:
    """The observation of a look that would ask for logs and metrics and may not: both are Unknown for the reason given."""
    evidence = Evidence(logs=Unknown(reason=why), readings=Unknown(reason=why), service=document)
    return observation.model_copy(update={"evidence": evidence})


def _cloud_run(service: ServiceId, platform: Platform) -> Observed | Unknown:
    try:
        return platform.get_service(service)
    except ServiceMissing:
        return Unknown(reason=f"there is no Cloud Run service {service.resource_name}")
    except Retry as retry:
        return Unknown(reason=retry.reason[:500])
    except Refused as refusal:
        return Unknown(reason=f"Cloud Run refuses to be read: {refusal.message[:450]}")


def _instance_count(service: ServiceId, metrics: Metrics | None) -> Metric:
    if metrics is None:
        return Unknown(reason="no source of metrics is connected")
    try:
        return metrics.instance_count(service)
    except Retry as retry:
        return Unknown(reason=retry.reason[:500])


def _quota(service: ServiceId, seen: Observed, quota: Quota | None) -> Metric:
    if quota is None:
        return Unknown(reason="no source of quotas is connected")
    try:
        return quota.instances(service, seen.shape)
    except Retry as retry:
        return Unknown(reason=retry.reason[:500])


def _operation(state: ServiceState, platform: Platform) -> OperationStatus | None:
    if state.act is None or state.act.operation in {None, UNNAMED_OPERATION}:
        return None
    try:
        return platform.get_operation(str(state.act.operation))
    except (Retry, Refused) as unread:
        log.event("WARNING", "operation not read: what the service itself says settles the change as well", reason=unread)
        return None
