"""How a write to the simulated Cloud Run comes into force, and how it fails to.

By the client's docstring of `Service.reconciling`: while it is true, `observed_generation`, `latest_ready_revision` and
`traffic_statuses` are transient. When it ends well, all three are those of the newest generation; when it fails, all three keep
the last serving state and `terminal_condition` says why. Traffic is not touched by a failed rollout.

Choices where the documentation is silent:

* A write that makes no revision while the newest revision has failed is routed and scaled all the same (traffic can be moved away
  from a bad deployment), but the service stays failed until its newest revision is a good one.
* Traffic that names a revision which is still starting waits for it.
"""

import math
from collections.abc import Callable
from datetime import datetime

from google.cloud import run_v2

from shared.records.observed import PLATFORM_DEFAULT_MAX_INSTANCES
from shared.simulation.cloud_run_errors import SimulatedError, revision_gone, revision_not_ready
from shared.simulation.cloud_run_messages import condition_of, is_manual
from shared.simulation.cloud_run_records import InForce, Reconciliation, Record
from shared.simulation.cloud_run_revisions import RevisionRecord, RevisionState
from shared.simulation.cloud_run_traffic import WHOLE, Share, statuses_of, targets_of

_State = run_v2.Condition.State
_Reason = run_v2.Condition.CommonReason
_CONFIGURATIONS = "ConfigurationsReady"
_ROUTES = "RoutesReady"


def begin(record: Record, at: datetime, *, configurations: bool, routes: bool) -> None:
    """The service is reconciling from now on: Ready, and of the conditions below it those that the write concerns."""
    record.service.reconciling = True
    _set_ready(record, at, _State.CONDITION_RECONCILING)
    for kind, concerned in ((_CONFIGURATIONS, configurations), (_ROUTES, routes)):
        if concerned:
            _set_condition(record, at, kind, _State.CONDITION_RECONCILING)


def waits_until(record: Record, earliest: datetime) -> datetime:
    """When the service as written can be in force: once every revision it needs has started or failed to."""
    named = [record.revisions.get(target.revision) for target in record.service.traffic]
    needed = [each for each in (record.latest_created, *named) if each is not None and each.state is RevisionState.STARTING]
    return max([earliest, *(each.due for each in needed)])


def finish(record: Record, pending: Reconciliation, next_version: Callable[[datetime], str]) -> SimulatedError | None:
    """The newest write's time has come: bring it into force, or say why not. Returns what the operation ends with."""
    service, at = record.service, pending.due
    service.reconciling = False
    # The platform moves the version once more, with the generation unchanged.
    service.etag = next_version(at)
    if pending.failure is not None:
        reason = _Reason.INTERNAL if pending.revision is None else _Reason.REVISION_FAILED
        _fail(record, at, pending.failure, reason=reason, configurations=pending.revision is not None, routes=pending.revision is None)
        return pending.failure
    configuration, route = _configuration_problem(record), _route_problem(record)
    if configuration is None and route is None:
        service.observed_generation = service.generation
        service.latest_ready_revision = service.latest_created_revision
        _set_ready(record, at, _State.CONDITION_SUCCEEDED)
        _set_condition(record, at, _CONFIGURATIONS, _State.CONDITION_SUCCEEDED)
        _set_condition(record, at, _ROUTES, _State.CONDITION_SUCCEEDED)
        _put_in_force(record, at)
        return None
    if route is None and pending.revision is None:
        _put_in_force(record, at)
    problem = configuration or route
    if problem is not None:
        _fail(record, at, problem, reason=_Reason.REVISION_FAILED, configurations=configuration is not None, routes=route is not None)
    return problem


def instances_for_new(service: run_v2.Service, revision: str) -> int:
    """How many instances Cloud Run starts for a new revision before it is ready.

    At least one, to see that it starts; in manual mode with no instances none, and the health check is skipped (reason
    HEALTH_CHECK_SKIPPED of the API). Service-level minimums are divided by traffic.
    """
    percent = sum(target.percent for target in targets_of(service) if not target.revision or target.revision == revision)
    if is_manual(service):
        count = service.scaling.manual_instance_count
        return max(1, math.ceil(count * percent / WHOLE)) if count else 0
    share = math.ceil(service.scaling.min_instance_count * percent / WHOLE)
    return max(1, share, service.template.scaling.min_instance_count)


def warm_instances(record: Record, revision: str) -> int:
    """How many instances of a serving revision are kept warm: its own minimum or its share of the service's."""
    percent = sum(share.percent for share in record.serving if share.revision == revision)
    own = record.revisions[revision].template.scaling.min_instance_count
    return max(own, math.ceil(record.service.scaling.min_instance_count * percent / WHOLE)) if percent else 0


def _configuration_problem(record: Record) -> SimulatedError | None:
    latest = record.latest_created
    if latest is None or latest.state is not RevisionState.FAILED or latest.failure is None:
        return None
    return revision_not_ready(latest.name.revision, latest.failure.message)


def _route_problem(record: Record) -> SimulatedError | None:
    """Why the traffic cannot be routed as written; a revision that is not there was seen to fail the wait, not the call."""
    for target in targets_of(record.service):
        found = record.revisions.get(target.revision) if target.revision else record.latest_created
        if found is None:
            return revision_gone(target.revision)
        if (
            found.state is RevisionState.FAILED
            and found.failure is not None
            and (target.revision or not record.service.latest_ready_revision)
        ):
            return revision_not_ready(found.name.revision, found.failure.message)
    return None


def _put_in_force(record: Record, at: datetime) -> None:
    service = record.service
    service.traffic_statuses = statuses_of(targets_of(service))
    low, high = _bounds(service, record.serving, record.revisions)
    if not record.in_force or (record.in_force[-1].min_instance_count, record.in_force[-1].max_instance_count) != (low, high):
        record.in_force.append(InForce(at, low, high))


def _bounds(service: run_v2.Service, serving: tuple[Share, ...], revisions: dict[str, RevisionRecord]) -> tuple[int, int]:
    """What Cloud Run scales between: the service's bounds, within those of the revisions that get traffic (added up)."""
    scaling = service.scaling
    if is_manual(service):
        return scaling.manual_instance_count, scaling.manual_instance_count
    active = {share.revision for share in serving if share.percent}
    own = [revisions[name].template.scaling for name in active if name in revisions]
    low = max(scaling.min_instance_count, sum(each.min_instance_count for each in own))
    highest = [each.max_instance_count for each in own]
    of_revisions = sum(highest) if highest and all(highest) else 0
    stated = [bound for bound in (scaling.max_instance_count, of_revisions) if bound > 0]
    return low, min(stated, default=PLATFORM_DEFAULT_MAX_INSTANCES)


def _fail(record: Record, at: datetime, problem: SimulatedError, *, reason: int, configurations: bool, routes: bool) -> None:
    _set_ready(record, at, _State.CONDITION_FAILED, message=problem.text, reason=reason)
    for kind, concerned in ((_CONFIGURATIONS, configurations), (_ROUTES, routes)):
        if concerned:
            _set_condition(record, at, kind, _State.CONDITION_FAILED, message=problem.text, reason=reason)
        else:
            _set_condition(record, at, kind, _State.CONDITION_SUCCEEDED)


def _set_ready(record: Record, at: datetime, state: int, *, message: str = "", reason: int | None = None) -> None:
    record.service.terminal_condition = condition_of("Ready", state, at, message=message, reason=reason)


def _set_condition(record: Record, at: datetime, kind: str, state: int, *, message: str = "", reason: int | None = None) -> None:
    """Set one of the two conditions that gcloud shows as stages; its time moves with its state and text only."""
    conditions = list(record.service.conditions)
    wanted = condition_of(kind, state, at, message=message, reason=reason)
    for index, each in enumerate(conditions):
        if each.type_ == kind:
            if (each.state, each.message, each.reason) != (wanted.state, wanted.message, wanted.reason):
                conditions[index] = wanted
            break
    else:
        conditions.append(wanted)
    record.service.conditions = conditions
