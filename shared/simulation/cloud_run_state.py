"""The state of the simulated Cloud Run, looked up as of now: services, revisions, operations, quotas, and how containers behave.

Nothing runs by itself: whatever is due comes into force when somebody looks.
"""

import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from google.cloud import run_v2

from shared.rendering.observed import shape_of
from shared.simulation.cloud_run_behaviour import Behaves
from shared.simulation.cloud_run_errors import RevisionName, ServiceName, SimulatedError, revision_not_found, service_not_found
from shared.simulation.cloud_run_messages import copy_of
from shared.simulation.cloud_run_quota import QuotaKey, Quotas
from shared.simulation.cloud_run_reconciliation import finish, warm_instances
from shared.simulation.cloud_run_records import Operation, OperationRecord, Record, Write, short
from shared.simulation.cloud_run_revisions import RevisionRecord, RevisionState, shown
from shared.simulation.cloud_run_traffic import uri_of

KEPT_OPERATIONS = 1_000
"""Older operations are forgotten: Cloud Run does not keep them for ever either."""


class State:
    """Everything the simulation knows. Not thread-safe: whoever holds it holds a lock."""

    def __init__(self, *, now: Callable[[], datetime], behaviour: Behaves, base_url: str | None) -> None:
        self.now = now
        self.behaviour = behaviour
        self.base_url = base_url
        self.behaviours: dict[str, Behaves] = {}
        self.records: dict[str, Record] = {}
        self.operations: OrderedDict[str, OperationRecord] = OrderedDict()
        self.quotas = Quotas()
        self.failures: list[SimulatedError] = []
        self.log: list[Write] = []
        self._count = 0
        self._version = 0

    def uid(self, name: str) -> str:
        """An identifier for a new resource of that name; another one for a later resource of the same name."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}#{self._count}"))

    def record(self, name: ServiceName) -> Record:
        """The service as it stands now.

        Raises:
            SimulatedError: NOT_FOUND.
        """
        record = self.records.get(name.full)
        if record is None:
            raise service_not_found(name)
        self.settle(record)
        return record

    def revision(self, name: RevisionName) -> tuple[Record, RevisionRecord]:
        """The revision as it stands now, with its service.

        Raises:
            SimulatedError: NOT_FOUND.
        """
        record = self.record(name.service)
        revision = record.revisions.get(name.revision)
        if revision is None:
            raise revision_not_found(name)
        return record, revision

    def forget(self, record: Record) -> None:
        """The service is gone; writes that were on their way into force end with an error that says so."""
        del self.records[record.name.full]
        for pending in record.pending:
            operation = self.operations.get(pending.operation)
            if operation is not None:
                operation.done, operation.error = True, service_not_found(record.name)

    def shown(self, record: Record) -> run_v2.Service:
        """A copy with the addresses that hold now."""
        service = copy_of(record.service)
        service.uri = uri_of(record.name, base_url=self.base_url)
        for status in service.traffic_statuses:
            if status.tag:
                status.uri = uri_of(record.name, base_url=self.base_url, tag=status.tag)
        return service

    def shown_revision(self, record: Record, revision: RevisionRecord) -> run_v2.Revision:
        """The revision as the API answers it."""
        own = [share for share in record.serving if share.revision == revision.name.revision]
        return shown(
            revision,
            percent=sum(share.percent for share in own),
            tagged=any(share.tag for share in own),
            min_instances=warm_instances(record, revision.name.revision),
        )

    def behaviour_of(self, name: ServiceName) -> Behaves:
        """How revisions of that service behave."""
        return self.behaviours.get(name.full, self.behaviour)

    def running_gpus(self, key: QuotaKey) -> int:
        """GPUs of that quota that instances of serving revisions hold now, all services of the project and region together."""
        total = 0
        for record in self.records.values():
            if (record.name.project, record.name.region) != (key.project, key.region) or not record.in_force:
                continue
            serving = record.revisions.get(short(record.service.latest_ready_revision))
            shape = None if serving is None else shape_of(serving.template)
            if shape is not None and QuotaKey.of(record.name, shape) == key:
                warm = record.in_force[-1].min_instance_count
                total += (warm if record.running_instances is None else record.running_instances) * shape.gpu_count
        return total

    def new_operation(self, name: ServiceName, record: OperationRecord) -> str:
        """Remember an operation. Returns its name."""
        self._count += 1
        operation = f"{name.parent}/operations/{uuid.uuid5(uuid.NAMESPACE_URL, f'{name.full}#{self._count}')}"
        self.operations[operation] = record
        while len(self.operations) > KEPT_OPERATIONS:
            self.operations.popitem(last=False)
        return operation

    def operation(self, name: str) -> Operation:
        """The operation of that name as it stands now.

        Raises:
            SimulatedError: NOT_FOUND.
        """
        found = self.operations.get(name)
        if found is None:
            raise SimulatedError("NOT_FOUND", f"Requested entity was not found. Operation {name!r} is not known.")
        record = self.records.get(found.service.full)
        if record is not None:
            self.settle(record)
        service = found.deleted_service or (run_v2.Service(name=found.service.full) if record is None else self.shown(record))
        return Operation(name, done=found.done, service=service, error=found.error, revision=found.deleted_revision)

    def settle(self, record: Record) -> None:
        """Bring into force what is due, in the order it is due."""
        now = self.now()
        for revision in record.revisions.values():
            revision.settle(now)
        for pending in sorted((one for one in record.pending if one.due <= now), key=lambda one: (one.due, one.generation)):
            record.pending.remove(pending)
            error = pending.failure or _failure_of(record, pending.revision)
            if pending.generation == record.service.generation:
                error = finish(record, pending, self.next_version)
            operation = self.operations.get(pending.operation)
            if operation is not None:
                operation.done, operation.error = True, error

    def next_version(self, at: datetime) -> str:
        """The next etag: microseconds in text, always growing."""
        self._version = max(self._version + 1, int(at.timestamp() * 1_000_000))
        return str(self._version)


def _failure_of(record: Record, revision: str | None) -> SimulatedError | None:
    """Why the revision of an overtaken write did not start, if it did not."""
    found = record.revisions.get(revision or "")
    if found is None or found.state is not RevisionState.FAILED or found.failure is None:
        return None
    return SimulatedError("INTERNAL", found.failure.message)
