"""The simulated Cloud Run: its control plane for services, in one process and in injected time.

It holds real `Service` messages of the Admin API v2, so that a field this code has never heard of survives like any other. It
keeps Cloud Run's rules as far as scaling needs them: generation, etag and reconciliation, update masks, revisions, GPU quota at
request time, and Google's texts where it refuses. Instances, requests and money are not its business.

Choices where Cloud Run's documentation is silent:

* A write that changes nothing is accepted: it moves the etag and the last modifier, not the generation.
* An operation overtaken by a newer write ends as done when its own time has come.
* An etag is a number in text (microseconds, always growing), as in the text of a conflict. Callers must take it as opaque.
"""

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.records.observed import ScalingMode
from shared.rendering.observed import observed_from_service
from shared.simulation.cloud_run_errors import (
    ServiceName,
    SimulatedError,
    parse_service_name,
    revision_exists,
    service_exists,
    service_not_found,
    stale_etag,
)
from shared.simulation.cloud_run_faults import Faults, Method
from shared.simulation.cloud_run_records import (
    InForce,
    Operation,
    OperationRecord,
    Reconciliation,
    Record,
    Write,
    bytes_of,
    copy_of,
    ready,
    stamp,
    three_letters,
)
from shared.simulation.cloud_run_rules import QuotaKey, check, merged

OWNER = "owner@example.com"
"""The principal of whoever sets the simulation up."""
KEPT_OPERATIONS = 1_000
"""Older operations are forgotten: Cloud Run does not keep them for ever either."""

_T = TypeVar("_T")
_CREATE = "CreateServiceRequest"
_UPDATE = "UpdateServiceRequest"


class SimulatedCloudRun:
    """The services of all projects and regions. Thread-safe; every answer is a copy.

    `now` gives the time (aware); nothing here sleeps or runs by itself: what is due is settled when somebody looks. A scaling
    change takes `reconcile_seconds` to come into force, a new revision `rollout_seconds`.
    """

    def __init__(self, *, now: Callable[[], datetime], reconcile_seconds: float = 5.0, rollout_seconds: float = 60.0) -> None:
        self.faults = Faults()
        self._now = now
        self._reconcile = timedelta(seconds=reconcile_seconds)
        self._rollout = timedelta(seconds=rollout_seconds)
        self._lock = threading.RLock()
        self._records: dict[str, Record] = {}
        self._operations: OrderedDict[str, OperationRecord] = OrderedDict()
        self._quota: dict[QuotaKey, int] = {}
        self._failures: list[SimulatedError] = []
        self._log: list[Write] = []
        self._count = 0
        self._version = 0

    # -- the API -----------------------------------------------------------------------------------------------------------

    def create_service(
        self, parent: str, service_id: str, service: run_v2.Service, *, principal: str = OWNER, settled: bool = False
    ) -> Operation:
        """Create a service; with `settled` it is in force at once, which sets a scene without waiting for its rollout.

        Raises:
            SimulatedError: ALREADY_EXISTS, INVALID_ARGUMENT, or a fault on order.
        """
        name = parse_service_name(f"{parent}/services/{service_id}")
        return self._call("create", lambda: self._create(name, service, principal, settled=settled))

    def get_service(self, name: str) -> run_v2.Service:
        """The service as it stands.

        Raises:
            SimulatedError: NOT_FOUND, INVALID_ARGUMENT, or a fault on order.
        """
        return self._call("get", lambda: copy_of(self._record(parse_service_name(name)).service))

    def list_services(self, parent: str) -> list[run_v2.Service]:
        """The services of a project and region (`projects/P/locations/R`), by name."""

        def listed() -> list[run_v2.Service]:
            names = sorted(name for name in self._records if name.startswith(f"{parent}/services/"))
            return [copy_of(self._record(parse_service_name(name)).service) for name in names]

        return self._call("list", listed)

    def update_service(
        self,
        service: run_v2.Service,
        *,
        update_mask: field_mask_pb2.FieldMask | None = None,
        principal: str = OWNER,
        validate_only: bool = False,
        allow_missing: bool = False,
    ) -> Operation:
        """Write the masked fields, or all writable ones without a mask, if the given etag (when there is one) still holds.

        Raises:
            SimulatedError: ABORTED (stale etag), INVALID_ARGUMENT (validation, GPU quota), ALREADY_EXISTS (the name of another
                revision), NOT_FOUND, or a fault on order.
        """

        def update() -> Operation:
            name = parse_service_name(service.name)
            if allow_missing and name.full not in self._records:
                return self._create(name, service, principal, settled=False)
            return self._update(name, service, update_mask, principal, validate_only=validate_only)

        return self._call("update", update)

    def get_operation(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            SimulatedError: NOT_FOUND, or a fault on order.
        """
        return self._call("operation", lambda: self._operation(name))

    # -- the levers of a test or a demo ------------------------------------------------------------------------------------

    @property
    def write_log(self) -> tuple[Write, ...]:
        """Every accepted write, creates included, oldest first; a write whose reply was lost is in it."""
        with self._lock:
            return tuple(self._log)

    def in_force(self, name: str) -> tuple[InForce, ...]:
        """The history of the bounds in force, oldest first."""
        with self._lock:
            return tuple(self._record(parse_service_name(name)).in_force)

    def set_gpu_quota(
        self, project: str, region: str, gpus: int, *, accelerator: str = "nvidia-l4", zonal_redundancy: bool = False
    ) -> None:
        """Grant that many GPUs; without a grant a project has 3 without zonal redundancy and none with."""
        with self._lock:
            self._quota[QuotaKey(project, region, accelerator, zonal_redundancy)] = gpus

    def gpu_quota(self, key: QuotaKey) -> int:
        """GPUs of that quota."""
        with self._lock:
            return self._quota.get(key, key.granted_by_default)

    def bump_etag(self, name: str) -> str:
        """Move the etag without any change, as Cloud Run does by itself. Returns the new etag."""
        with self._lock:
            record = self._record(parse_service_name(name))
            record.service.etag = self._next_version(self._now())
            return record.service.etag

    def change_by(
        self,
        name: str,
        principal: str,
        *,
        min_instance_count: int | None = None,
        max_instance_count: int | None = None,
        edit: Callable[[run_v2.Service], object] | None = None,
    ) -> Operation:
        """A change by somebody else: the named bounds, then whatever `edit` does to the service. Faults do not apply to it.

        Raises:
            SimulatedError: as `update_service`.
        """
        with self._lock:
            record = self._record(parse_service_name(name))
            wanted = copy_of(record.service)
            if min_instance_count is not None:
                wanted.scaling.min_instance_count = min_instance_count
            if max_instance_count is not None:
                wanted.scaling.max_instance_count = max_instance_count
            if edit is not None:
                edit(wanted)
            return self._update(parse_service_name(name), wanted, None, principal, validate_only=False)

    def fail_next_reconciliation(self, text: str, *, status: str = "INTERNAL") -> None:
        """The next accepted write never comes into force: its operation and the service's condition end as failed, with the text."""
        with self._lock:
            self._failures.append(SimulatedError(status, text))

    # -- inside ------------------------------------------------------------------------------------------------------------

    def _call(self, method: Method, work: Callable[[], _T]) -> _T:
        """Do the work under the lock, with whatever fault is on order around it."""
        fault = self.faults.take(method)
        if fault.before is not None:
            fault.before()
        if fault.error is not None and not fault.applied:
            raise fault.error
        with self._lock:
            answer = work()
        if fault.after is not None:
            fault.after()
        if fault.error is not None:
            raise fault.error
        return answer

    def _record(self, name: ServiceName) -> Record:
        record = self._records.get(name.full)
        if record is None:
            raise service_not_found(name)
        self._settle(record)
        return record

    def _create(self, name: ServiceName, given: run_v2.Service, principal: str, *, settled: bool) -> Operation:
        if name.full in self._records:
            raise service_exists(name)
        service = merged(run_v2.Service(name=name.full), given, None)
        check(service, name=name, request=_CREATE, quota=self.gpu_quota)
        now = self._now()
        service.uid = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name.full}#{self._count}"))
        service.create_time = stamp(now)
        service.creator = principal
        service.uri = f"https://{name.service}-simulated.{name.region}.run.app"
        record = Record(service)
        revision = self._new_revision(record, name, before=b"")
        self._records[name.full] = record
        operation = self._accept(record, name, mask=(), principal=principal, revision=revision, changed=True)
        if settled:
            record.pending[-1].due = self._now()
            return self._operation(operation.name)
        return operation

    def _update(
        self,
        name: ServiceName,
        given: run_v2.Service,
        mask: field_mask_pb2.FieldMask | None,
        principal: str,
        *,
        validate_only: bool,
    ) -> Operation:
        record = self._record(name)
        stored = record.service
        if given.etag and given.etag != stored.etag:
            raise stale_etag(name, given=given.etag, current=stored.etag)
        service = merged(stored, given, mask)
        check(service, name=name, request=_UPDATE, quota=self.gpu_quota)
        candidate = Record(service, revisions=dict(record.revisions), pending=record.pending, in_force=record.in_force)
        revision = self._new_revision(candidate, name, before=bytes_of(stored.template))
        if validate_only:
            return Operation(f"{name.parent}/operations/validate-only", done=True, service=copy_of(service))
        changed = bytes_of(service) != bytes_of(stored)
        self._records[name.full] = candidate
        paths = tuple(mask.paths) if mask is not None else ()
        return self._accept(candidate, name, mask=paths, principal=principal, revision=revision, changed=changed)

    def _new_revision(self, record: Record, name: ServiceName, *, before: bytes) -> str | None:
        """Register the revision a changed template makes; None if it makes none."""
        template = record.service.template
        after = bytes_of(template)
        if after == before:
            return None
        if template.revision:
            known = record.revisions.get(template.revision)
            if known is not None:
                if known != after:
                    raise revision_exists(template.revision)
                return template.revision
        number = len(record.revisions) + 1
        revision = template.revision or f"{name.service}-{number:05d}-{three_letters(f'{name.full}#{number}')}"
        record.revisions[revision] = after
        return revision

    def _accept(
        self,
        record: Record,
        name: ServiceName,
        *,
        mask: tuple[str, ...],
        principal: str,
        revision: str | None,
        changed: bool,
    ) -> Operation:
        now = self._now()
        self._count += 1
        service = record.service
        service.etag = self._next_version(now)
        service.update_time = stamp(now)
        service.last_modifier = principal
        operation = f"{name.parent}/operations/{uuid.uuid5(uuid.NAMESPACE_URL, f'{name.full}#{self._count}')}"
        self._operations[operation] = OperationRecord(name, done=not changed)
        while len(self._operations) > KEPT_OPERATIONS:
            self._operations.popitem(last=False)
        if changed:
            service.generation += 1
            service.reconciling = True
            service.terminal_condition = ready(run_v2.Condition.State.CONDITION_RECONCILING, now)
            if revision is not None:
                service.latest_created_revision = f"{name.full}/revisions/{revision}"
            due = now + (self._reconcile if revision is None else self._rollout)
            failure = self._failures.pop(0) if self._failures else None
            record.pending.append(Reconciliation(due, service.generation, operation, revision, failure))
        self._log.append(Write(now, name.full, mask, principal, service.generation))
        answer = self._operation(operation)
        self._settle(record)
        return answer

    def _operation(self, name: str) -> Operation:
        found = self._operations.get(name)
        if found is None:
            raise SimulatedError("NOT_FOUND", f"Requested entity was not found. Operation {name!r} is not known.")
        record = self._record(found.service)
        return Operation(name, done=found.done, service=copy_of(record.service), error=found.error)

    def _settle(self, record: Record) -> None:
        """Bring into force what is due, in the order it is due."""
        now = self._now()
        for pending in sorted((one for one in record.pending if one.due <= now), key=lambda one: (one.due, one.generation)):
            record.pending.remove(pending)
            operation = self._operations.get(pending.operation)
            if operation is not None:
                operation.done, operation.error = True, pending.failure
            if pending.generation == record.service.generation:
                self._finish(record, pending)

    def _finish(self, record: Record, pending: Reconciliation) -> None:
        service = record.service
        service.reconciling = False
        # The platform moves the version once more, with the generation unchanged.
        service.etag = self._next_version(pending.due)
        if pending.failure is not None:
            reasons = run_v2.Condition.CommonReason
            reason = reasons.INTERNAL if pending.revision is None else reasons.REVISION_FAILED
            service.terminal_condition = ready(
                run_v2.Condition.State.CONDITION_FAILED, pending.due, message=pending.failure.text, reason=reason
            )
            return
        service.observed_generation = service.generation
        service.latest_ready_revision = service.latest_created_revision
        service.terminal_condition = ready(run_v2.Condition.State.CONDITION_SUCCEEDED, pending.due)
        service.traffic_statuses = [
            run_v2.TrafficTargetStatus(type_=target.type_, revision=target.revision, percent=target.percent, tag=target.tag)
            for target in service.traffic
        ]
        seen = observed_from_service(service, read_at=pending.due)
        low, high = seen.min_in_force, seen.max_in_force
        if seen.scaling_mode is ScalingMode.MANUAL:
            low = high = seen.manual_instance_count or 0
        if not record.in_force or (record.in_force[-1].min_instance_count, record.in_force[-1].max_instance_count) != (low, high):
            record.in_force.append(InForce(pending.due, low, high))

    def _next_version(self, at: datetime) -> str:
        self._version = max(self._version + 1, int(at.timestamp() * 1_000_000))
        return str(self._version)
