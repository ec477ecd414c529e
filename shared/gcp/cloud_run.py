"""The `Platform` port on Cloud Run's Admin API v2, with Google's own client.

Every call has a deadline of its own and none is repeated here: the client's default would retry reads for ten seconds, and its
default for operations waits for ever. A write is answered as soon as Cloud Run has accepted it.
"""

import ipaddress
import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import grpc
from google.api_core import exceptions as core
from google.auth import exceptions as auth
from google.cloud import run_v2
from google.cloud.run_v2.services.services.transports import ServicesGrpcTransport
from google.longrunning import operations_pb2
from google.rpc import error_details_pb2

from shared.cloudrun.refusals import UNAVAILABLE_RETRY_SECONDS, bounded, classify
from shared.errors import Answer, Retry, ServiceMissing
from shared.ports import Clock
from shared.records.observed import Bounds, Observed
from shared.records.service import OwnedField
from shared.records.snapshot import OperationStatus
from shared.records.subject import ServiceId
from shared.rendering.observed import observed_from_service
from shared.rendering.scaling import scaling_update

TIMEOUT_SECONDS = 10.0
"""For each call. Reconcile has 50 seconds for everything it does."""

_T = TypeVar("_T")


class CloudRunPlatform:
    """Cloud Run as the handlers see it. Thread-safe; the connection is made at first use, and anew in a forked process.

    `endpoint` (`127.0.0.1:8085`) is for a simulated Cloud Run: without it the call goes to Google, with the environment's
    credentials and TLS. A plain-text endpoint is taken on loopback only.

    Raises:
        ValueError: the endpoint is no `host:port` on loopback.
    """

    def __init__(self, clock: Clock, *, endpoint: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        if endpoint is not None:
            _require_loopback(endpoint)
        self._clock = clock
        self._endpoint = endpoint
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._client: run_v2.ServicesClient | None = None
        self._client_process = 0

    def get_service(self, service: ServiceId) -> Observed:
        """Read the service now.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        request = run_v2.GetServiceRequest(name=service.resource_name)
        found = self._call(lambda client: client.get_service(request=request, retry=None, timeout=self._timeout))
        return observed_from_service(found, read_at=self._clock.now())

    def update_scaling(self, service: ServiceId, *, etag: str, bounds: Bounds, fields: Sequence[OwnedField]) -> str:
        """Write the named scaling bounds if the etag still holds. Returns the operation's name without waiting for it.

        Raises:
            StaleEtag, QuotaRefused, Refused, ServiceMissing: nothing was written.
            Retry: not known to have been written, unless it says that a rate limit refused it.
        """
        request = scaling_update(service.resource_name, etag=etag, bounds=bounds, fields=fields)
        operation = self._call(lambda client: client.update_service(request=request, retry=None, timeout=self._timeout))
        return str(operation.operation.name)

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
            client, self._client = self._client, None
            ours = self._client_process == os.getpid()
        if client is not None and ours:
            client.transport.close()  # type: ignore[no-untyped-call]  # the client declares no types here

    def _call(self, work: Callable[[run_v2.ServicesClient], _T]) -> _T:
        try:
            return work(self._connected())
        except core.GoogleAPIError as error:
            raise _answer_to(error) from error
        except (auth.TransportError, auth.RefreshError) as error:
            text = bounded(f"no credentials from the environment: {error}")
            raise Retry(text, after_seconds=UNAVAILABLE_RETRY_SECONDS) from error

    def _connected(self) -> run_v2.ServicesClient:
        with self._lock:
            if self._client is None or self._client_process != os.getpid():
                # A connection made before a fork belongs to the parent: it is left alone, not closed.
                self._client = _new_client(self._endpoint)
                self._client_process = os.getpid()
            return self._client


def _new_client(endpoint: str | None) -> run_v2.ServicesClient:
    if endpoint is None:
        return run_v2.ServicesClient()
    # A proxy named in the environment must not be asked for loopback.
    channel = grpc.insecure_channel(endpoint, options=[("grpc.enable_http_proxy", 0)])
    return run_v2.ServicesClient(transport=ServicesGrpcTransport(channel=channel))


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
