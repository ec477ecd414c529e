"""`/tensorflow.serving.PredictionService/Predict`, and the server's limit of threads as gRPC's C++ server has it: refused at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework.tensor_pb2 import TensorProto

from tests.support.tf_server import wire
from tests.support.tf_server.batches import Answer
from tests.support.tf_server.service import SIGNATURE, VERSION, Failed, Service

REFUSERS = 32
"""Threads beyond the limit, which only say that it is reached."""


class PredictionService(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Its one method."""

    def __init__(self, service: Service, threads: int) -> None:
        self._service = service
        self._free = threading.Semaphore(threads)

    def service(self, handler_call_details: Any) -> Any:
        """The handler of Predict; any other method is unknown."""
        if handler_call_details.method != wire.PREDICT:
            return None
        return grpc.unary_unary_rpc_method_handler(self._limited)

    def _limited(self, body: bytes, context: Any) -> bytes:
        if not self._free.acquire(blocking=False):
            # No handler runs and no counter moves.
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Server Threadpool Exhausted")
        try:
            return bytes(self._service.timed("Predict", "GRPC", lambda: self._predict(body)))
        except Failed as failed:
            return context.abort(getattr(grpc.StatusCode, failed.code), failed.text)  # type: ignore[no-any-return]
        finally:
            self._free.release()

    def _predict(self, body: bytes) -> tuple[bytes, Answer]:
        service = self._service
        try:
            request = wire.read_request(body)
            tensors = {name: tf.make_ndarray(TensorProto.FromString(content)) for name, content in request.inputs.items()}
        except (DecodeError, ValueError, TypeError) as bad:
            raise Failed("INVALID_ARGUMENT", str(bad)) from None
        service.check_name(request.model_spec.name)
        if request.model_spec.signature_name not in {"", SIGNATURE}:
            raise Failed("FAILED_PRECONDITION", f'Serving signature key "{request.model_spec.signature_name}" not found.')
        if set(tensors) != {service.model.input}:
            raise Failed("INVALID_ARGUMENT", f"input size does not match signature: {len(tensors)}!=1")
        answer = service.predict(tensors[service.model.input])
        y = wire.float_tensor(answer.y.tobytes(), answer.y.shape)
        return wire.predict_response(service.name, VERSION, SIGNATURE, {service.model.output: y}), answer


def start(service: Service, port: int, threads: int) -> tuple[Any, int]:
    """The running server and its port, on loopback."""
    pool = ThreadPoolExecutor(threads + REFUSERS)
    server = grpc.server(pool, handlers=(PredictionService(service, threads),), options=[("grpc.so_reuseport", 0)])
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, port
