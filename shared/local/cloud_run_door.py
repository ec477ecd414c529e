"""The Admin API of the simulated Cloud Run over gRPC, on loopback: what the real Google client talks to without Google.

It speaks the parts of `google.cloud.run.v2.Services`, `google.cloud.run.v2.Revisions` and `google.longrunning.Operations` that
Trimtab uses; every other method answers UNIMPLEMENTED, as gRPC does by itself. Like Cloud Run it takes a service's location from
the routing header and refuses a request without one, or with `-` (all locations). Plain text, no credentials: it binds to
127.0.0.1 and nothing else.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

import grpc
from google.cloud import run_v2
from google.longrunning import operations_pb2

from shared.local.cloud_run_operations import operation_message, status_message
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_records import page_of
from shared.simulation.platform import TRIMTAB

HOST = "127.0.0.1"
ROUTING_HEADER = "x-goog-request-params"
DETAILS_HEADER = "grpc-status-details-bin"
STOP_GRACE_SECONDS = 1.0
_WORKERS = 16
ALL_LOCATIONS = "-"
"""Many of Google's APIs take it for every location; Cloud Run's does not."""
_NOT_ROUTED = "Operation is not implemented, or supported, or enabled."


class CloudRunDoor:
    """A gRPC server in front of a simulated Cloud Run; `with` starts and stops it.

    `principal` is whom Cloud Run sees writing: a plain-text client shows no credentials. Port 0 takes a free one.
    """

    def __init__(self, cloud_run: SimulatedCloudRun, *, port: int = 0, principal: str = TRIMTAB) -> None:
        self._cloud_run = cloud_run
        self._wanted_port = port
        self._principal = principal
        self._server: Any = None
        self._pool: ThreadPoolExecutor | None = None
        self._port = 0

    @property
    def endpoint(self) -> str:
        """`127.0.0.1:port`, once it is started."""
        return f"{HOST}:{self._port}"

    def start(self) -> Self:
        """Bind and serve.

        Raises:
            RuntimeError: it is started already, or the port is taken.
        """
        if self._server is not None:
            msg = f"the door is open already at {self.endpoint}"
            raise RuntimeError(msg)
        pool = ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="cloud-run-door")
        server = grpc.server(pool, options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers(self._handlers())
        try:
            self._port = server.add_insecure_port(f"{HOST}:{self._wanted_port}")
        except RuntimeError as error:
            pool.shutdown()
            msg = f"{HOST}:{self._wanted_port} cannot be bound, another program may hold it: {error}"
            raise RuntimeError(msg) from error
        server.start()
        self._server, self._pool = server, pool
        return self

    def stop(self) -> None:
        """Let running calls end, then close; calling it again does nothing."""
        server, pool, self._server, self._pool = self._server, self._pool, None, None
        if server is not None:
            server.stop(STOP_GRACE_SECONDS).wait()
        if pool is not None:
            pool.shutdown()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _handlers(self) -> tuple[Any, ...]:
        def handler(work: Callable[[Any], Any], request: type[Any], *, routed: bool = True) -> Any:
            def answer(message: Any, context: Any) -> Any:
                try:
                    if routed:
                        _require_location(context.invocation_metadata())
                    return work(message)
                except SimulatedError as error:
                    context.set_trailing_metadata(((DETAILS_HEADER, status_message(error).SerializeToString()),))
                    context.abort(grpc.StatusCode[error.status], error.text)

            return grpc.unary_unary_rpc_method_handler(
                answer, request_deserializer=request.FromString, response_serializer=lambda reply: reply.SerializeToString()
            )

        services = grpc.method_handlers_generic_handler(
            "google.cloud.run.v2.Services",
            {
                "GetService": handler(self._get, run_v2.GetServiceRequest.pb()),
                "ListServices": handler(self._list, run_v2.ListServicesRequest.pb()),
                "CreateService": handler(self._create, run_v2.CreateServiceRequest.pb()),
                "UpdateService": handler(self._update, run_v2.UpdateServiceRequest.pb()),
                "DeleteService": handler(self._delete, run_v2.DeleteServiceRequest.pb()),
            },
        )
        revisions = grpc.method_handlers_generic_handler(
            "google.cloud.run.v2.Revisions",
            {
                "GetRevision": handler(self._get_revision, run_v2.GetRevisionRequest.pb()),
                "ListRevisions": handler(self._list_revisions, run_v2.ListRevisionsRequest.pb()),
                "DeleteRevision": handler(self._delete_revision, run_v2.DeleteRevisionRequest.pb()),
            },
        )
        operations = grpc.method_handlers_generic_handler(
            "google.longrunning.Operations",
            {"GetOperation": handler(self._operation, operations_pb2.GetOperationRequest, routed=False)},
        )
        return services, revisions, operations

    def _get(self, request: Any) -> Any:
        return run_v2.Service.pb(self._cloud_run.get_service(request.name))

    def _list(self, request: Any) -> Any:
        found, following = page_of(self._cloud_run.list_services(request.parent), size=request.page_size, token=request.page_token)
        return run_v2.ListServicesResponse.pb()(services=[run_v2.Service.pb(each) for each in found], next_page_token=following)

    def _create(self, request: Any) -> Any:
        return operation_message(
            self._cloud_run.create_service(
                request.parent,
                request.service_id,
                run_v2.Service.wrap(request.service),
                principal=self._principal,
                validate_only=request.validate_only,
            )
        )

    def _delete(self, request: Any) -> Any:
        return operation_message(self._cloud_run.delete_service(request.name, etag=request.etag, validate_only=request.validate_only))

    def _get_revision(self, request: Any) -> Any:
        return run_v2.Revision.pb(self._cloud_run.get_revision(request.name))

    def _list_revisions(self, request: Any) -> Any:
        found, following = page_of(self._cloud_run.list_revisions(request.parent), size=request.page_size, token=request.page_token)
        return run_v2.ListRevisionsResponse.pb()(revisions=[run_v2.Revision.pb(each) for each in found], next_page_token=following)

    def _delete_revision(self, request: Any) -> Any:
        return operation_message(self._cloud_run.delete_revision(request.name, etag=request.etag, validate_only=request.validate_only))

    def _update(self, request: Any) -> Any:
        return operation_message(
            self._cloud_run.update_service(
                run_v2.Service.wrap(request.service),
                update_mask=request.update_mask if request.HasField("update_mask") else None,
                principal=self._principal,
                validate_only=request.validate_only,
                allow_missing=request.allow_missing,
            )
        )

    def _operation(self, request: Any) -> Any:
        return operation_message(self._cloud_run.get_operation(request.name))


def _require_location(metadata: Any) -> None:
    params = parse_qs(str(dict(metadata).get(ROUTING_HEADER, "")))
    if params.get("location", [""])[0] in ("", ALL_LOCATIONS):
        raise SimulatedError("UNIMPLEMENTED", _NOT_ROUTED)
