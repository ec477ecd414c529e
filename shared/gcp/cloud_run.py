"""The `Platform` port on Cloud Run's Admin API v2, with Google's own client.

Every call has a deadline of its own and none is repeated here: the client's default would retry reads for ten seconds, and its
default for operations waits for ever. A write is answered as soon as Cloud Run has accepted it.
"""

import ipaddress
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import TypeVar

import grpc
from google.api_core import exceptions as core
from google.cloud import run_v2
from google.cloud.run_v2.services.revisions.transports import RevisionsGrpcTransport
from google.cloud.run_v2.services.services.transports import ServicesGrpcTransport
from google.longrunning import operations_pb2
from google.rpc import error_details_pb2

from shared.cloudrun.refusals import UNAVAILABLE_RETRY_SECONDS, bounded, classify
from shared.errors import Answer, Retry, ServiceMissing, StaleEtag
from shared.gcp.cloud_run_rest import CloudRunRest
from shared.gcp.credentials import FAILURES, no_token
from shared.ports import Clock
from shared.records.observed import Bounds, Observed, RevisionReading, ServiceReading
from shared.records.service import OwnedField
from shared.records.serving import DesiredServing, TrafficTarget
from shared.records.snapshot import OperationStatus
from shared.records.subject import ServiceId
from shared.rendering.document import rendered_document
from shared.rendering.messages import holds_unknown, service_to_json
from shared.rendering.observed import observed_from_service, revision_reading
from shared.rendering.scaling import scaling_update
from shared.rendering.serving import overlay
from shared.rendering.writes import document_with_traffic, rest_update, service_update, with_template_of, with_traffic

TIMEOUT_SECONDS = 10.0
"""For each call. Reconcile has 50 seconds for everything it does."""

_T = TypeVar("_T")


class CloudRunPlatform:
    """Cloud Run as the handlers see it. Thread-safe; the connection is made at first use, and anew in a forked process.

    `endpoint` (`127.0.0.1:8085`) and `rest_endpoint` (the same form) are for a simulated Cloud Run: without them the calls go to
    Google, with the environment's credentials and TLS. A plain-text endpoint is taken on loopback only.

    Raises:
        ValueError: an endpoint is no `host:port` on loopback, or only one of the two is given and a call needs the other.
    """

    def __init__(
        self, clock: Clock, *, endpoint: str | None = None, rest_endpoint: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        for each in (endpoint, rest_endpoint):
            if each is not None:
                _require_loopback(each)
        self._clock = clock
        self._endpoint = endpoint
        self._simulated_without_rest = endpoint is not None and rest_endpoint is None
        self._rest = CloudRunRest(endpoint=None if rest_endpoint is None else f"http://{rest_endpoint}", timeout_seconds=timeout_seconds)
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._client: run_v2.ServicesClient | None = None
        self._revisions: run_v2.RevisionsClient | None = None
        self._client_process = 0

    def get_service(self, service: ServiceId) -> Observed:
        """Read the service now.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        return observed_from_service(self._read(service), read_at=self._clock.now())

    def read_service(self, service: ServiceId) -> ServiceReading:
        """Read the whole service now; over REST as well if it holds anything that the client has no name for.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        found = self._read(service)
        document = self._rest_api().get_service(service.resource_name) if holds_unknown(found) else service_to_json(found)
        return ServiceReading(observed=observed_from_service(found, read_at=self._clock.now()), document=document)

    def update_scaling(self, service: ServiceId, *, etag: str, bounds: Bounds, fields: Sequence[OwnedField]) -> str:
        """Write the named scaling bounds if the etag still holds. Returns the operation's name without waiting for it.

        Raises:
            StaleEtag, QuotaRefused, Refused, ServiceMissing: nothing was written.
            Retry: not known to have been written, unless it says that a rate limit refused it.
        """
        request = scaling_update(service.resource_name, etag=etag, bounds=bounds, fields=fields)
        operation = self._call(lambda client: client.update_service(request=request, retry=None, timeout=self._timeout))
        return str(operation.operation.name)

    def update_service(
        self,
        service: ServiceId,
        *,
        etag: str,
        serving: DesiredServing | None = None,
        revision: str | None = None,
        traffic: Sequence[TrafficTarget] | None = None,
        again: bool = False,
        validate_only: bool = False,
    ) -> str | None:
        """Write template and traffic in one request; None where the service means the same already.

        What is there is read first, and what this client has never heard of in it is written back as it came. A write with
        autoscaling set-points goes over REST as a whole.

        Raises:
            StaleEtag, RevisionNameTaken, QuotaRefused, Refused, ServiceMissing, ValueError: nothing was written.
            Retry: not known to have been written, unless it says that a rate limit refused it.
        """
        if serving is not None and serving.set_points is not None:
            return self._update_over_rest(service, etag, serving, revision, traffic, again=again, validate_only=validate_only)
        before = self._read(service)
        _require_same_etag(service, given=etag, current=before.etag)
        after = before if serving is None else overlay(before, serving)
        after = after if traffic is None else with_traffic(after, traffic)
        request = service_update(before, after, etag=etag, revision=revision, version=_version(), again=again)
        if request is None:
            return None
        request.validate_only = validate_only
        operation = self._call(lambda client: client.update_service(request=request, retry=None, timeout=self._timeout))
        return str(operation.operation.name)

    def restore_template(self, service: ServiceId, *, etag: str, revision: str) -> str | None:
        """Put the template of an existing revision back, under its name; None where the service means the same already.

        Raises:
            StaleEtag, RevisionNameTaken, QuotaRefused, Refused, ServiceMissing: nothing was written.
            Retry: not known to have been written, unless it says that a rate limit refused it.
        """
        before = self._read(service)
        _require_same_etag(service, given=etag, current=before.etag)
        after = with_template_of(before, self._read_revision(service, revision))
        # What this client has no name for may differ as well: the name in the template tells whether it is that revision's already.
        elsewhere = before.template.revision != revision
        request = service_update(before, after, etag=etag, revision=revision, version=_version(), again=elsewhere)
        if request is None:
            return None
        operation = self._call(lambda client: client.update_service(request=request, retry=None, timeout=self._timeout))
        return str(operation.operation.name)

    def delete_service(self, service: ServiceId) -> None:
        """Have the service deleted, with all its revisions; Cloud Run goes on with it after it has answered.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        request = run_v2.DeleteServiceRequest(name=service.resource_name)
        self._call(lambda client: client.delete_service(request=request, retry=None, timeout=self._timeout))

    def get_revision(self, service: ServiceId, revision: str) -> RevisionReading | None:
        """A revision of the service by its short name; None if there is none.

        Raises:
            Retry, Refused: see `cloudrun.refusals.classify`.
        """
        try:
            return revision_reading(self._read_revision(service, revision))
        except ServiceMissing:
            return None

    def get_operation(self, name: str) -> OperationStatus | None:
        """The operation of that name; None if Cloud Run no longer knows it.

        Raises:
            Retry, Refused: see `cloudrun.refusals.classify`.
        """
        request = operations_pb2.GetOperationRequest(name=name)
        try:
            operation = self._call(lambda client: client.get_operation(request=request, retry=None, timeout=self._timeout))
        except ServiceMissing:
            return None
        error = None
        if operation.done and operation.HasField("error"):
            error = bounded(operation.error.message) or f"failed with status {operation.error.code}, without a message"
        return OperationStatus(done=bool(operation.done), error=error)

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        with self._lock:
            clients = (self._client, self._revisions)
            self._client = self._revisions = None
            ours = self._client_process == os.getpid()
        for client in clients:
            if client is not None and ours:
                client.transport.close()  # type: ignore[no-untyped-call]  # the client declares no types here
        self._rest.close()

    def _read(self, service: ServiceId) -> run_v2.Service:
        request = run_v2.GetServiceRequest(name=service.resource_name)
        return self._call(lambda client: client.get_service(request=request, retry=None, timeout=self._timeout))

    def _read_revision(self, service: ServiceId, revision: str) -> run_v2.Revision:
        request = run_v2.GetRevisionRequest(name=f"{service.resource_name}/revisions/{revision}")
        return self._call(lambda _: self._connected_revisions().get_revision(request=request, retry=None, timeout=self._timeout))

    def _update_over_rest(
        self,
        service: ServiceId,
        etag: str,
        serving: DesiredServing,
        revision: str | None,
        traffic: Sequence[TrafficTarget] | None,
        *,
        again: bool,
        validate_only: bool,
    ) -> str | None:
        rest = self._rest_api()
        before = rest.get_service(service.resource_name)
        _require_same_etag(service, given=etag, current=str(before.get("etag", "")))
        after = rendered_document(before, serving)
        if traffic is not None:
            after = document_with_traffic(after, traffic)
        update = rest_update(before, after, etag=etag, revision=revision, version=_version(), again=again)
        return None if update is None else rest.patch_service(service.resource_name, update, validate_only=validate_only)

    def _rest_api(self) -> CloudRunRest:
        if self._simulated_without_rest:
            # Without this the call would go to Google, with the credentials of whoever runs a simulation.
            raise ValueError("the service has autoscaling set-points, which need REST: give rest_endpoint beside endpoint")
        return self._rest

    def _call(self, work: Callable[[run_v2.ServicesClient], _T]) -> _T:
        try:
            return work(self._connected())
        except core.GoogleAPIError as error:
            raise _answer_to(error) from error
        except FAILURES as error:
            raise no_token(error, after_seconds=UNAVAILABLE_RETRY_SECONDS) from error

    def _connected(self) -> run_v2.ServicesClient:
        with self._lock:
            self._leave_the_parents()
            if self._client is None:
                channel = _channel(self._endpoint)
                self._client = run_v2.ServicesClient(transport=None if channel is None else ServicesGrpcTransport(channel=channel))
            return self._client

    def _connected_revisions(self) -> run_v2.RevisionsClient:
        with self._lock:
            self._leave_the_parents()
            if self._revisions is None:
                channel = _channel(self._endpoint)
                self._revisions = run_v2.RevisionsClient(transport=None if channel is None else RevisionsGrpcTransport(channel=channel))
            return self._revisions

    def _leave_the_parents(self) -> None:
        """A connection made before a fork belongs to the parent: it is left alone, not closed."""
        if self._client_process != os.getpid():
            self._client = self._revisions = None
            self._client_process = os.getpid()


def _channel(endpoint: str | None) -> grpc.Channel | None:
    if endpoint is None:
        return None
    # A proxy named in the environment must not be asked for loopback.
    return grpc.insecure_channel(endpoint, options=[("grpc.enable_http_proxy", 0)])


def _require_same_etag(service: ServiceId, *, given: str, current: str) -> None:
    if given != current:
        raise StaleEtag(f"{service}: read at etag {given!r}, now it is at {current!r}: look again and decide again")


@cache
def _version() -> str:
    return version("trimtab")


def _require_loopback(endpoint: str) -> None:
    host, _, port = endpoint.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    try:
        loopback = bare == "localhost" or ipaddress.ip_address(bare).is_loopback
    except ValueError:
        loopback = False
    if not loopback or not port.isdecimal():
        msg = f"Cloud Run endpoint {endpoint[:120]!r}: want host:port on loopback (127.0.0.1:8085); it is spoken to without TLS"
        raise ValueError(msg)


def _answer_to(error: core.GoogleAPIError) -> Retry | Answer:
    """What the client's exception means. One without a gRPC status (a retry that gave up) leaves the outcome open."""
    status = getattr(error, "grpc_status_code", None)
    if not isinstance(error, core.GoogleAPICallError) or status is None:
        return classify("UNKNOWN", str(error))
    return classify(str(status.name), _text_of(error))


def _text_of(error: core.GoogleAPICallError) -> str:
    """Cloud Run's message, with the field violations it did not repeat in it: the quota's numbers may stand only there."""
    texts = [str(error.message or "")]
    for detail in error.details:
        if isinstance(detail, error_details_pb2.BadRequest):
            texts += [f"{each.field}: {each.description}" for each in detail.field_violations if each.description not in texts[0]]
    return " ".join(text for text in texts if text)
