"""Predict over gRPC without TensorFlow: messages with the names and numbers of predict.proto, model.proto and tensor.proto.

A tensor inside a request or an answer is a field of bytes here: on the wire it is the same.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

PREDICT = "/tensorflow.serving.PredictionService/Predict"
DT_FLOAT = 1
_PACKAGE = "tensorflow.serving"
_Field = descriptor_pb2.FieldDescriptorProto


def _field(message: Any, name: str, number: int, kind: Any, of: str | None = None, *, repeated: bool = False) -> Any:
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, type=kind, label=label)
    if of is not None:
        field.type_name = of
    return field


def _tensors(message: Any, name: str, number: int) -> None:
    """A map from names to tensors."""
    entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
    entry.options.map_entry = True
    _field(entry, "key", 1, _Field.TYPE_STRING)
    _field(entry, "value", 2, _Field.TYPE_BYTES)
    _field(message, name, number, _Field.TYPE_MESSAGE, f".{_PACKAGE}.{message.name}.{entry.name}", repeated=True)


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="predict_on_the_wire.proto", package=_PACKAGE, syntax="proto3", dependency=["google/protobuf/wrappers.proto"]
    )
    spec = file.message_type.add(name="ModelSpec")
    spec.oneof_decl.add(name="version_choice")
    _field(spec, "name", 1, _Field.TYPE_STRING)
    _field(spec, "version", 2, _Field.TYPE_MESSAGE, ".google.protobuf.Int64Value").oneof_index = 0
    _field(spec, "version_label", 4, _Field.TYPE_STRING).oneof_index = 0
    _field(spec, "signature_name", 3, _Field.TYPE_STRING)
    request = file.message_type.add(name="PredictRequest")
    _field(request, "model_spec", 1, _Field.TYPE_MESSAGE, f".{_PACKAGE}.ModelSpec")
    _tensors(request, "inputs", 2)
    _field(request, "output_filter", 3, _Field.TYPE_STRING, repeated=True)
    response = file.message_type.add(name="PredictResponse")
    _tensors(response, "outputs", 1)
    _field(response, "model_spec", 2, _Field.TYPE_MESSAGE, f".{_PACKAGE}.ModelSpec")
    tensor = file.message_type.add(name="Tensor")
    shape = tensor.nested_type.add(name="Shape")
    _field(shape.nested_type.add(name="Dim"), "size", 1, _Field.TYPE_INT64)
    _field(shape, "dim", 2, _Field.TYPE_MESSAGE, f".{_PACKAGE}.Tensor.Shape.Dim", repeated=True)
    _field(tensor, "dtype", 1, _Field.TYPE_INT32)
    _field(tensor, "tensor_shape", 2, _Field.TYPE_MESSAGE, f".{_PACKAGE}.Tensor.Shape")
    _field(tensor, "tensor_content", 4, _Field.TYPE_BYTES)
    pool = descriptor_pool.DescriptorPool()
    for serialized in (wrappers_pb2.DESCRIPTOR.serialized_pb, file.SerializeToString()):
        pool.AddSerializedFile(serialized)
    return pool


@cache
def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


def read_request(body: bytes) -> Any:
    """A PredictRequest.

    Raises:
        google.protobuf.message.DecodeError: it is none.
    """
    return _class("PredictRequest").FromString(body)


def float_tensor(content: bytes, shape: Sequence[int]) -> bytes:
    """A TensorProto of 32-bit floats, little-endian and row by row."""
    tensor = _class("Tensor")(dtype=DT_FLOAT, tensor_content=content)
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    return bytes(tensor.SerializeToString())


def predict_request(model: str, inputs: dict[str, bytes]) -> bytes:
    """A PredictRequest for a model's latest version."""
    request = _class("PredictRequest")(inputs=inputs)
    request.model_spec.name = model
    return bytes(request.SerializeToString())


def predict_response(model: str, version: int, signature: str, outputs: dict[str, bytes]) -> bytes:
    """A PredictResponse: the version is the one that answered."""
    response = _class("PredictResponse")(outputs=outputs)
    response.model_spec.name = model
    response.model_spec.version.value = version
    response.model_spec.signature_name = signature
    return bytes(response.SerializeToString())


def read_outputs(body: bytes) -> dict[str, bytes]:
    """The tensors of a PredictResponse, by their names.

    Raises:
        google.protobuf.message.DecodeError: it is none.
    """
    return dict(_class("PredictResponse").FromString(body).outputs)
