"""A gRPC proxy before the Firestore emulator that can fail a call before it arrives, or lose the reply after it has landed."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, Literal

import grpc

SERVICE = "/google.firestore.v1.Firestore/"


@dataclass(frozen=True)
class Fault:
    """Answer `code` to the next call: instead of forwarding it, or after it was forwarded."""

    code: grpc.StatusCode
    when: Literal["instead", "after"] = "instead"


@dataclass
class Proxy:
    """`calls` are the names of the methods that came; every one of them must have carried a deadline."""

    host: str = ""
    calls: list[str] = field(default_factory=list)
    deadlines: list[float | None] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def arrived(self, method: str, context: grpc.ServicerContext) -> Fault | None:
        with self.lock:
            self.calls.append(method.removeprefix(SERVICE))
            self.deadlines.append(context.time_remaining())
            return self.faults.pop(0) if self.faults else None


class _Forward(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, proxy: Proxy, upstream: grpc.Channel) -> None:
        self._proxy = proxy
        self._upstream = upstream

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = str(details.method)
        metadata = [(key, value) for key, value in details.invocation_metadata if not key.startswith((":", "grpc-", "te", "user-agent"))]
        if method == SERVICE + "Commit":
            return grpc.unary_unary_rpc_method_handler(self._whole(method, self._upstream.unary_unary(method), metadata))
        return grpc.unary_stream_rpc_method_handler(self._stream(method, self._upstream.unary_stream(method), metadata))

    def _whole(self, method: str, call: Callable[..., bytes], metadata: Any) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def handle(request: bytes, context: grpc.ServicerContext) -> bytes:
            fault = self._proxy.arrived(method, context)
            if fault is None or fault.when == "after":
                try:
                    answer = call(request, metadata=metadata, timeout=10)
                except grpc.RpcError as error:
                    context.abort(error.code(), error.details())
                if fault is None:
                    return answer
            context.abort(fault.code, "by the test")
            raise AssertionError

        return handle

    def _stream(self, method: str, call: Callable[..., Any], metadata: Any) -> Callable[[bytes, grpc.ServicerContext], Iterator[bytes]]:
        def handle(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            fault = self._proxy.arrived(method, context)
            if fault is not None:
                context.abort(fault.code, "by the test")
            yield from call(request, metadata=metadata, timeout=10)

        return handle


@contextlib.contextmanager
def proxy_before(emulator: str) -> Iterator[Proxy]:
    """A proxy to `emulator` (host:port), listening while the context lasts."""
    proxy = Proxy()
    with futures.ThreadPoolExecutor(8) as threads, grpc.insecure_channel(emulator) as upstream:
        server = grpc.server(threads, handlers=[_Forward(proxy, upstream)])
        proxy.host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            yield proxy
        finally:
            server.stop(None).wait()
