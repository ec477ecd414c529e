"""Writes to the simulated Cloud Run: what a create or an update is checked for, which revision it makes, when it is due."""

from datetime import timedelta

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.rendering.observed import shape_of
from shared.simulation.cloud_run_behaviour import Start, StartFailure, no_gpu, start_of
from shared.simulation.cloud_run_container_rules import check_gpu_counts
from shared.simulation.cloud_run_defaults import with_defaults
from shared.simulation.cloud_run_errors import RevisionName, ServiceName, SimulatedError, revision_exists, service_exists, stale_etag
from shared.simulation.cloud_run_messages import bytes_of, content_of, copy_of, stamp
from shared.simulation.cloud_run_quota import QuotaKey
from shared.simulation.cloud_run_reconciliation import begin, instances_for_new, waits_until
from shared.simulation.cloud_run_records import Operation, OperationRecord, Reconciliation, Record, Write
from shared.simulation.cloud_run_revisions import RevisionRecord, generated_name, revision_message
from shared.simulation.cloud_run_rules import merged
from shared.simulation.cloud_run_state import State
from shared.simulation.cloud_run_validation import check_bounds, check_rest, check_service_id

_CREATE = "CreateServiceRequest"
_UPDATE = "UpdateServiceRequest"


class Writer:
    """Creates and updates services in the state. Not thread-safe, as the state.

    A change without a new revision takes `reconcile_seconds`, a revision `rollout_seconds` unless its behaviour says otherwise.
    """

    def __init__(self, state: State, *, reconcile_seconds: float, rollout_seconds: float) -> None:
        self._state = state
        self._reconcile_seconds = reconcile_seconds
        self._rollout_seconds = rollout_seconds

    def create(self, name: ServiceName, given: run_v2.Service, principal: str, *, validate_only: bool, settled: bool) -> Operation:
        """Create the service; `settled` brings it into force at once.

        Raises:
            SimulatedError: ALREADY_EXISTS, INVALID_ARGUMENT.
        """
        check_service_id(name)
        if name.full in self._state.records:
            raise service_exists(name)
        service = merged(run_v2.Service(name=name.full), given, None)
        self._check(service, name, _CREATE)
        service = with_defaults(service)
        now = self._state.now()
        service.uid = self._state.uid(name.full)
        service.create_time = stamp(now)
        service.creator = principal
        record = Record(name, service)
        revision = self._planned_revision(record, before=None, principal=principal, settled=settled)
        if validate_only:
            return unpersisted(name, self._state.shown(record))
        self._state.records[name.full] = record
        operation = self._accept(record, mask=(), principal=principal, revision=revision, changed=True, routes=True)
        return self._state.operation(operation.name) if settled else operation

    def update(
        self,
        name: ServiceName,
        given: run_v2.Service,
        mask: field_mask_pb2.FieldMask | None,
        principal: str,
        *,
        validate_only: bool,
    ) -> Operation:
        """Write what the mask names.

        Raises:
            SimulatedError: NOT_FOUND, ABORTED, INVALID_ARGUMENT, ALREADY_EXISTS.
        """
        record = self._state.record(name)
        stored = record.service
        if given.etag and given.etag != stored.etag:
            raise stale_etag(name, given=given.etag, current=stored.etag)
        service = merged(stored, given, mask)
        self._check(service, name, _UPDATE)
        service = with_defaults(service)
        candidate = Record(name, service, revisions=record.revisions, revisions_made=record.revisions_made)
        revision = self._planned_revision(candidate, before=stored.template, principal=principal, settled=False)
        if validate_only:
            return unpersisted(name, self._state.shown(candidate))
        changed = bytes_of(service) != bytes_of(stored)
        routes = list(service.traffic) != list(stored.traffic)
        record.service = service
        paths = tuple(mask.paths) if mask is not None else ()
        return self._accept(record, mask=paths, principal=principal, revision=revision, changed=changed, routes=routes)

    def _check(self, service: run_v2.Service, name: ServiceName, request: str) -> None:
        """Everything that is refused at request time. Cloud Run looks at the GPU quota before the rest of the template."""
        root = f"{request}.service"
        check_bounds(service, root=root)
        check_gpu_counts(service.template, root=root)
        self._state.quotas.check_gpus(service, name)
        check_rest(service, name, root=root)
        self._state.quotas.check_cpu_and_memory(service, name)

    def _planned_revision(
        self, record: Record, *, before: run_v2.RevisionTemplate | None, principal: str, settled: bool
    ) -> RevisionRecord | None:
        """The revision that the written template stands for, if the template changed: a new one, or one that is there already.

        Any change of the template makes a revision; a name that is taken may be used again with the very same template only.
        """
        name, template = record.name, record.service.template
        if before is not None and bytes_of(template) == bytes_of(before):
            return None
        known = record.revisions.get(template.revision)
        if template.revision and known is not None:
            if content_of(known.template) != content_of(template):
                raise revision_exists(template.revision)
            return known
        number = record.revisions_made + 1
        full = RevisionName(name, template.revision or generated_name(name.service, name.full, number))
        now = self._state.now()
        skipped = instances_for_new(record.service, full.revision) == 0
        start = Start(0.0) if settled else self._start(record, full, skipped=skipped)
        uid = self._state.uid(full.full)
        stage = run_v2.Service.pb(record.service).launch_stage
        return RevisionRecord(
            full,
            copy_of(template),
            revision_message(full, template, uid=uid, creator=principal, created_at=now, launch_stage=stage),
            created_at=now,
            due=now + timedelta(seconds=start.seconds),
            failure=start.failure,
            health_check_skipped=skipped,
        )

    def _start(self, record: Record, name: RevisionName, *, skipped: bool) -> Start:
        """How the start of the new revision will end. Its first instances stand beside everything that runs."""
        if skipped:
            return Start(self._reconcile_seconds)
        template = record.service.template
        shape = shape_of(template)
        key = QuotaKey.of(name.service, shape)
        if key is not None:
            wanted = instances_for_new(record.service, name.revision) * shape.gpu_count
            if self._state.quotas.no_room(key, running_gpus=self._state.running_gpus(key), wanted_gpus=wanted):
                return Start(self._reconcile_seconds, no_gpu())
        behaviour = self._state.behaviour_of(name.service)(copy_of(template))
        return start_of(
            template,
            behaviour,
            usual_seconds=self._rollout_seconds,
            provisioning_seconds=min(self._reconcile_seconds, self._rollout_seconds),
        )

    def _accept(
        self,
        record: Record,
        *,
        mask: tuple[str, ...],
        principal: str,
        revision: RevisionRecord | None,
        changed: bool,
        routes: bool,
    ) -> Operation:
        now = self._state.now()
        service, name = record.service, record.name
        service.etag = self._state.next_version(now)
        service.update_time = stamp(now)
        service.last_modifier = principal
        operation = self._state.new_operation(name, OperationRecord(name, done=not changed))
        if changed:
            service.generation += 1
            failure = self._state.failures.pop(0) if self._state.failures else None
            if revision is not None:
                self._add_revision(record, revision, failure)
            begin(record, now, configurations=revision is not None, routes=routes or revision is not None)
            due = waits_until(record, now + timedelta(seconds=0 if revision is not None else self._reconcile_seconds))
            made = None if revision is None else revision.name.revision
            record.pending.append(Reconciliation(due, service.generation, operation, made, failure))
        self._state.log.append(Write(now, name.full, mask, principal, service.generation))
        result = self._state.operation(operation)
        self._state.settle(record)
        return result

    def _add_revision(self, record: Record, revision: RevisionRecord, failure: SimulatedError | None) -> None:
        """Make it the newest: a new one starts now, one that was there already is simply named again."""
        if revision.name.revision not in record.revisions:
            record.revisions[revision.name.revision] = revision
            record.revisions_made += 1
            if failure is not None:
                revision.failure = StartFailure("ResourcesAvailable", failure.text, reason=run_v2.Condition.CommonReason.INTERNAL)
        record.service.latest_created_revision = revision.name.full


def unpersisted(name: ServiceName, service: run_v2.Service, revision: run_v2.Revision | None = None) -> Operation:
    """The answer to a request that only asked whether it would be valid: its operation cannot be looked up."""
    return Operation(f"{name.parent}/operations/validate-only", done=True, service=service, revision=revision)
