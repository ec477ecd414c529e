"""The simulated Cloud Run: its control plane for services, in one process and in injected time.

It holds real messages of the Admin API v2, so that a field this code has never heard of survives like any other. It keeps Cloud
Run's rules: generation, etag and reconciliation, update masks, revisions and their start, traffic, quota at request time and at
provisioning, validation, and Google's texts where it refuses. Instances, load and money are not its business.

Choices where Cloud Run's documentation is silent:

* A write that changes nothing is accepted: it moves the etag and the last modifier, not the generation.
* An operation overtaken by a newer write ends when its own time has come: well, unless its own revision failed.
* An etag is a number in text (microseconds, always growing), as in the text of a conflict. Callers must take it as opaque.
* A deleted service or revision is gone at once.
"""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.simulation.cloud_run_behaviour import Behaves, Behaviour, Outcome, behaves_well
from shared.simulation.cloud_run_errors import SimulatedError, parse_revision_name, parse_service_name, revision_in_use, stale_etag
from shared.simulation.cloud_run_faults import Faults, Method
from shared.simulation.cloud_run_messages import copy_of, stamp
from shared.simulation.cloud_run_quota import QuotaKey
from shared.simulation.cloud_run_records import InForce, Operation, OperationRecord, Record, Write
from shared.simulation.cloud_run_revisions import RevisionRecord, RevisionState
from shared.simulation.cloud_run_serving import Reply, answer, no_such_tag, not_ready
from shared.simulation.cloud_run_state import State
from shared.simulation.cloud_run_traffic import revision_for
from shared.simulation.cloud_run_writes import Writer, unpersisted

OWNER = "owner@example.com"
"""The principal of whoever sets the simulation up."""

_T = TypeVar("_T")


class SimulatedCloudRun:
    """The services of all projects and regions. Thread-safe; every answer is a copy.

    `now` gives the time (aware); nothing here sleeps or runs by itself: what is due is settled when somebody looks. A scaling or
    traffic change takes `reconcile_seconds` to come into force, a new revision `rollout_seconds` unless its behaviour says
    otherwise. `behaviour` says how the revision of a template starts and serves; by default every one does well.

    `base_url` (`http://127.0.0.1:8086`), once set, is where the simulation answers requests to services and tags itself: the
    addresses it shows point there.
    """

    def __init__(
        self,
        *,
        now: Callable[[], datetime],
        reconcile_seconds: float = 5.0,
        rollout_seconds: float = 60.0,
        behaviour: Behaves = behaves_well,
        base_url: str | None = None,
    ) -> None:
        self.faults = Faults()
        self._lock = threading.RLock()
        self._state = State(now=now, behaviour=behaviour, base_url=base_url)
        self._writer = Writer(self._state, reconcile_seconds=reconcile_seconds, rollout_seconds=rollout_seconds)

    # -- the API: services -------------------------------------------------------------------------------------------------

    def create_service(
        self,
        parent: str,
        service_id: str,
        service: run_v2.Service,
        *,
        principal: str = OWNER,
        validate_only: bool = False,
        settled: bool = False,
    ) -> Operation:
        """Create a service; with `settled` it is in force at once, which sets a scene without waiting for its rollout.

        Raises:
            SimulatedError: ALREADY_EXISTS, INVALID_ARGUMENT, or a fault on order.
        """
        name = parse_service_name(f"{parent}/services/{service_id}")
        return self._call("create", lambda: self._writer.create(name, service, principal, validate_only=validate_only, settled=settled))

    def get_service(self, name: str) -> run_v2.Service:
        """The service as it stands.

        Raises:
            SimulatedError: NOT_FOUND, INVALID_ARGUMENT, or a fault on order.
        """
        return self._call("get", lambda: self._state.shown(self._state.record(parse_service_name(name))))

    def list_services(self, parent: str) -> list[run_v2.Service]:
        """The services of a project and region (`projects/P/locations/R`), by name."""

        def listed() -> list[run_v2.Service]:
            names = sorted(name for name in self._state.records if name.startswith(f"{parent}/services/"))
            return [self._state.shown(self._state.record(parse_service_name(name))) for name in names]

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
            SimulatedError: ABORTED (stale etag), INVALID_ARGUMENT (validation, quota), ALREADY_EXISTS (the name of another
                revision), NOT_FOUND, or a fault on order.
        """

        def update() -> Operation:
            name = parse_service_name(service.name)
            if allow_missing and name.full not in self._state.records:
                return self._writer.create(name, service, principal, validate_only=validate_only, settled=False)
            return self._writer.update(name, service, update_mask, principal, validate_only=validate_only)

        return self._call("update", update)

    def delete_service(self, name: str, *, etag: str = "", validate_only: bool = False) -> Operation:
        """Delete a service with its revisions, if the given etag (when there is one) still holds.

        Raises:
            SimulatedError: NOT_FOUND, ABORTED (stale etag), or a fault on order.
        """

        def delete() -> Operation:
            record = self._state.record(parse_service_name(name))
            if etag and etag != record.service.etag:
                raise stale_etag(record.name, given=etag, current=record.service.etag)
            deleted = self._state.shown(record)
            deleted.delete_time = stamp(self._state.now())
            if validate_only:
                return unpersisted(record.name, deleted)
            self._state.forget(record)
            return self._state.operation(
                self._state.new_operation(record.name, OperationRecord(record.name, done=True, deleted_service=deleted))
            )

        return self._call("delete", delete)

    def get_operation(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            SimulatedError: NOT_FOUND, or a fault on order.
        """
        return self._call("operation", lambda: self._state.operation(name))

    # -- the API: revisions ------------------------------------------------------------------------------------------------

    def get_revision(self, name: str) -> run_v2.Revision:
        """The revision as it stands (`projects/P/locations/R/services/S/revisions/V`).

        Raises:
            SimulatedError: NOT_FOUND, INVALID_ARGUMENT, or a fault on order.
        """
        return self._call("get-revision", lambda: self._state.shown_revision(*self._state.revision(parse_revision_name(name))))

    def list_revisions(self, parent: str) -> list[run_v2.Revision]:
        """The revisions of a service (its full name), newest first.

        Raises:
            SimulatedError: NOT_FOUND, INVALID_ARGUMENT, or a fault on order.
        """

        def listed() -> list[run_v2.Revision]:
            record = self._state.record(parse_service_name(parent))
            return [self._state.shown_revision(record, each) for each in reversed(record.revisions.values())]

        return self._call("list-revisions", listed)

    def delete_revision(self, name: str, *, etag: str = "", validate_only: bool = False) -> Operation:
        """Delete a revision that cannot get traffic and is not the newest (Cloud Run's page on managing revisions).

        Raises:
            SimulatedError: NOT_FOUND, FAILED_PRECONDITION (in use), ABORTED (stale etag), or a fault on order.
        """

        def delete() -> Operation:
            record, revision = self._state.revision(parse_revision_name(name))
            message = self._state.shown_revision(record, revision)
            _require_unused(record, revision)
            if etag and etag != message.etag:
                raise stale_etag(record.name, given=etag, current=message.etag)
            message.delete_time = stamp(self._state.now())
            if validate_only:
                return unpersisted(record.name, self._state.shown(record), message)
            del record.revisions[revision.name.revision]
            return self._state.operation(
                self._state.new_operation(record.name, OperationRecord(record.name, done=True, deleted_revision=message))
            )

        return self._call("delete-revision", delete)

    # -- requests ----------------------------------------------------------------------------------------------------------

    def request(self, name: str, *, tag: str = "", method: str, path: str, body: str = "") -> Reply:
        """What a client gets at the address of the service, or at that of the tag, over HTTP/1.1.

        Without a tag the traffic percentages decide which revision answers, in a fixed order.
        """
        with self._lock:
            service = parse_service_name(name)
            if service.full not in self._state.records:
                return no_such_tag()
            record = self._state.record(service)
            revision = self._target_of(record, tag)
            if isinstance(revision, Reply):
                return revision
            behaviour = self._state.behaviour_of(service)(copy_of(revision.template))
            template = revision.template
        return answer(template, behaviour.outcome, method=method, path=path, body=body)

    @property
    def base_url(self) -> str | None:
        """Where the simulation answers requests itself; None: nowhere."""
        return self._state.base_url

    @base_url.setter
    def base_url(self, base_url: str | None) -> None:
        self._state.base_url = base_url

    # -- the levers of a test or a demo ------------------------------------------------------------------------------------

    @property
    def write_log(self) -> tuple[Write, ...]:
        """Every accepted write, creates included, oldest first; a write whose reply was lost is in it."""
        with self._lock:
            return tuple(self._state.log)

    def in_force(self, name: str) -> tuple[InForce, ...]:
        """The history of the bounds in force, oldest first."""
        with self._lock:
            return tuple(self._state.record(parse_service_name(name)).in_force)

    def set_behaviour(self, behaviour: Behaves, *, service: str | None = None) -> None:
        """How revisions behave from now on: of one service (full name), or of all that have no behaviour of their own.

        A start that is under way ends as it would have; what a revision answers to requests changes at once.
        """
        with self._lock:
            if service is None:
                self._state.behaviour = behaviour
            else:
                self._state.behaviours[parse_service_name(service).full] = behaviour

    def set_start_up(self, service: str, *, seconds: float | None = None, outcome: Outcome = Outcome.OK) -> None:
        """The next revisions of the service (full name), whatever their template, start like this; None: in the usual time."""
        behaviour = Behaviour(outcome, seconds)
        self.set_behaviour(lambda _template: behaviour, service=service)

    def set_running_instances(self, service: str, count: int | None) -> None:
        """So many instances of the service run, as far as a rollout beside them is concerned; None: those kept warm."""
        with self._lock:
            self._state.record(parse_service_name(service)).running_instances = count

    def set_gpu_quota(
        self, project: str, region: str, gpus: int, *, accelerator: str = "nvidia-l4", zonal_redundancy: bool = False
    ) -> None:
        """Grant that many GPUs; without a grant a project has 3 without zonal redundancy and none with."""
        with self._lock:
            self._state.quotas.grant_gpus(QuotaKey(project, region, accelerator, zonal_redundancy), gpus)

    def set_cpu_quota(self, project: str, region: str, cpu_milli: int) -> None:
        """Grant that many thousandths of a vCPU; without a grant there are ten thousand vCPUs."""
        with self._lock:
            self._state.quotas.grant_cpu(project, region, cpu_milli)

    def set_memory_quota(self, project: str, region: str, memory_bytes: int) -> None:
        """Grant that many bytes; without a grant there are 40 TiB."""
        with self._lock:
            self._state.quotas.grant_memory(project, region, memory_bytes)

    def gpu_quota(self, key: QuotaKey) -> int:
        """GPUs of that quota."""
        with self._lock:
            return self._state.quotas.gpus(key)

    def bump_etag(self, name: str) -> str:
        """Move the etag without any change, as Cloud Run does by itself. Returns the new etag."""
        with self._lock:
            record = self._state.record(parse_service_name(name))
            record.service.etag = self._state.next_version(self._state.now())
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
            record = self._state.record(parse_service_name(name))
            wanted = copy_of(record.service)
            if min_instance_count is not None:
                wanted.scaling.min_instance_count = min_instance_count
            if max_instance_count is not None:
                wanted.scaling.max_instance_count = max_instance_count
            if edit is not None:
                edit(wanted)
            return self._writer.update(parse_service_name(name), wanted, None, principal, validate_only=False)

    def fail_next_reconciliation(self, text: str, *, status: str = "INTERNAL") -> None:
        """The next accepted write never comes into force: its operation and the service's condition end as failed, with the text."""
        with self._lock:
            self._state.failures.append(SimulatedError(status, text))

    # -- inside ------------------------------------------------------------------------------------------------------------

    def _call(self, method: Method, work: Callable[[], _T]) -> _T:
        """Do the work under the lock, with whatever fault is on order around it."""
        fault = self.faults.take(method)
        if fault.before is not None:
            fault.before()
        if fault.error is not None and not fault.applied:
            raise fault.error
        with self._lock:
            result = work()
        if fault.after is not None:
            fault.after()
        if fault.error is not None:
            raise fault.error
        return result

    def _target_of(self, record: Record, tag: str) -> RevisionRecord | Reply:
        """Which revision a request goes to, or what Cloud Run answers in its place."""
        if tag:
            found = next((share.revision for share in record.serving if share.tag == tag), None)
            if found is None:
                # The target is written, and not routed while its revision is not ready.
                return not_ready() if any(target.tag == tag for target in record.service.traffic) else no_such_tag()
        else:
            found = revision_for(record.serving, record.requests)
            record.requests += 1
        revision = record.revisions.get(found or "")
        return not_ready() if revision is None or revision.state is not RevisionState.READY else revision


def _require_unused(record: Record, revision: RevisionRecord) -> None:
    short_name = revision.name.revision
    written = {target.revision for target in record.service.traffic if target.revision}
    if short_name in written or short_name in {share.revision for share in record.serving}:
        raise revision_in_use(short_name, "can receive traffic")
    if revision is record.latest_created:
        raise revision_in_use(short_name, "is the latest created revision of its service")
