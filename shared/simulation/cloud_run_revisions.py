"""The simulated Cloud Run's revisions: what is kept of each, and the `Revision` message it is shown as."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from google.cloud import run_v2

from shared.simulation.cloud_run_behaviour import StartFailure
from shared.simulation.cloud_run_errors import RevisionName
from shared.simulation.cloud_run_extras import copy_unknown_fields
from shared.simulation.cloud_run_messages import stamp, three_letters

_State = run_v2.Condition.State
_ERROR = run_v2.Condition.Severity.ERROR
_RETIRED = run_v2.Condition.RevisionReason.RETIRED
_SKIPPED = run_v2.Condition.RevisionReason.HEALTH_CHECK_SKIPPED
_CHECKS = ("ResourcesAvailable", "ContainerReady", "ContainerHealthy")
"""What a revision passes on its way to Ready, in order."""


class RevisionState(StrEnum):
    """Where a revision's start has got to."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(slots=True)
class RevisionRecord:
    """One revision with what the API does not show. Its template never changes."""

    name: RevisionName
    template: run_v2.RevisionTemplate
    message: run_v2.Revision
    created_at: datetime
    due: datetime
    """When its start ends, well or not."""
    failure: StartFailure | None = None
    health_check_skipped: bool = False
    """No instance was started for it: manual scaling with none."""
    state: RevisionState = RevisionState.STARTING
    settled_at: datetime | None = None

    def settle(self, now: datetime) -> None:
        """End the start if it is due."""
        if self.state is RevisionState.STARTING and self.due <= now:
            self.end(self.due)

    def end(self, at: datetime) -> None:
        """The start ends at that time, as its failure says."""
        self.state = RevisionState.READY if self.failure is None else RevisionState.FAILED
        self.settled_at = at


def generated_name(service: str, full_name: str, number: int) -> str:
    """A name as Cloud Run makes them, `service-00007-abc`: always the same for the same service and number."""
    return f"{service}-{number:05d}-{three_letters(f'{full_name}#{number}')}"


def revision_message(
    name: RevisionName, template: run_v2.RevisionTemplate, *, uid: str, creator: str, created_at: datetime, launch_stage: int
) -> run_v2.Revision:
    """The `Revision` of a template: every field that both messages have, and what this client does not know of the template."""
    source = run_v2.RevisionTemplate.pb(template)
    raw = run_v2.Revision.pb()()
    for field, value in source.ListFields():
        if field.name not in raw.DESCRIPTOR.fields_by_name:
            continue
        target = getattr(raw, field.name)
        if field.message_type is None and not field.is_repeated:
            setattr(raw, field.name, value)
        elif hasattr(target, "CopyFrom"):
            target.CopyFrom(value)
        else:
            target.MergeFrom(value)
    copy_unknown_fields(source, raw)
    raw.name, raw.service, raw.uid, raw.creator, raw.generation = name.full, name.service.service, uid, creator, 1
    raw.launch_stage = launch_stage
    raw.etag = f'"{three_letters(uid)}{int(created_at.timestamp())}"'
    raw.log_uri = (
        f"https://console.cloud.google.com/logs/viewer?project={name.service.project}&resource=cloud_run_revision"
        f"/service_name/{name.service.service}/revision_name/{name.revision}"
    )
    raw.create_time.CopyFrom(stamp(created_at))
    return cast("run_v2.Revision", run_v2.Revision.wrap(raw))


def shown(record: RevisionRecord, *, percent: int, tagged: bool, min_instances: int) -> run_v2.Revision:
    """The revision as the API answers it: conditions by its state, `Active` by the traffic it gets.

    A revision without traffic and tag is RETIRED and stays Ready with that reason (users found that this does not prove that it
    ever started); one that only a tag names is in RESERVE.
    """
    raw = run_v2.Revision.pb()()
    raw.CopyFrom(run_v2.Revision.pb(record.message))
    at = record.settled_at or record.created_at
    starting = record.state is RevisionState.STARTING
    raw.reconciling = starting
    raw.observed_generation = 0 if starting else 1
    raw.update_time.CopyFrom(stamp(at))
    conditions = [_ready(record, at, retired=not percent and not tagged), *_checks(record, at)]
    if record.state is RevisionState.READY:
        conditions.append(_active(at, percent=percent, tagged=tagged))
        raw.scaling_status.desired_min_instance_count = min_instances if percent else 0
    raw.conditions.extend(run_v2.Condition.pb(condition) for condition in conditions)
    return cast("run_v2.Revision", run_v2.Revision.wrap(raw))


def _condition(kind: str, state: int, at: datetime, *, failure: StartFailure | None = None, **more: Any) -> run_v2.Condition:
    condition = run_v2.Condition(type_=kind, state=state, last_transition_time=stamp(at), **more)
    if failure is not None:
        condition.message, condition.severity = failure.message, cast("run_v2.Condition.Severity", _ERROR)
        if failure.revision_reason is not None:
            condition.revision_reason = cast("run_v2.Condition.RevisionReason", failure.revision_reason)
        if failure.reason is not None:
            condition.reason = cast("run_v2.Condition.CommonReason", failure.reason)
    return condition


def _ready(record: RevisionRecord, at: datetime, *, retired: bool) -> run_v2.Condition:
    state = {
        RevisionState.STARTING: _State.CONDITION_RECONCILING,
        RevisionState.READY: _State.CONDITION_SUCCEEDED,
        RevisionState.FAILED: _State.CONDITION_FAILED,
    }[record.state]
    condition = _condition("Ready", state, at, failure=record.failure if record.state is RevisionState.FAILED else None)
    if record.state is RevisionState.READY and retired:
        condition.revision_reason = cast("run_v2.Condition.RevisionReason", _RETIRED)
    if record.health_check_skipped:
        condition.revision_reason = cast("run_v2.Condition.RevisionReason", _SKIPPED)
    return condition


def _checks(record: RevisionRecord, at: datetime) -> list[run_v2.Condition]:
    """The checks on the way to Ready: those before a failed one have passed, those after it were not reached."""
    if record.state is RevisionState.FAILED and record.failure is not None and record.failure.condition in _CHECKS:
        reached = _CHECKS.index(record.failure.condition)
        return [
            *(_condition(kind, _State.CONDITION_SUCCEEDED, at) for kind in _CHECKS[:reached]),
            _condition(_CHECKS[reached], _State.CONDITION_FAILED, at, failure=record.failure),
        ]
    state = _State.CONDITION_RECONCILING if record.state is RevisionState.STARTING else _State.CONDITION_SUCCEEDED
    return [_condition(kind, state, at) for kind in _CHECKS]


def _active(at: datetime, *, percent: int, tagged: bool) -> run_v2.Condition:
    if percent:
        return _condition("Active", _State.CONDITION_SUCCEEDED, at)
    reasons = run_v2.Condition.RevisionReason
    reason, message = (reasons.RESERVE, "Revision in reserve.") if tagged else (reasons.RETIRED, "Revision retired.")
    condition = _condition("Active", _State.CONDITION_FAILED, at, severity=run_v2.Condition.Severity.INFO, message=message)
    condition.revision_reason = cast("run_v2.Condition.RevisionReason", reason)
    return condition
