"""TF Serving's and TensorFlow's messages, made in code: only what the files of one model server and of a model's version need.

Package, names and field numbers are those of the .proto files of TF Serving (session_bundle_config, model_server_config,
logging_config, log_collector_config, file_system_storage_path_source, monitoring_config, prediction_log, predict, model) and of
TensorFlow (meta_graph, tensor_shape, types, tensor_bundle), so text and bytes are interchangeable with the server's. No package
publishes BatchingParameters or MonitoringConfig without the whole of TensorFlow. The pools are private: they cannot collide with
messages that another library registers under the same names.

In the messages of a model's files, a part that nobody here looks into is a field of bytes: on the wire it is the same, and it is
neither unpacked nor able to nest.
"""

from functools import cache
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

PACKAGE = "tensorflow.serving"
TENSORFLOW = "tensorflow"

_Proto = descriptor_pb2.FieldDescriptorProto
_BOOL = _Proto.TYPE_BOOL
_BYTES = _Proto.TYPE_BYTES
_DOUBLE = _Proto.TYPE_DOUBLE
_ENUM = _Proto.TYPE_ENUM
_FIXED32 = _Proto.TYPE_FIXED32
_INT32 = _Proto.TYPE_INT32
_INT64 = _Proto.TYPE_INT64
_MESSAGE = _Proto.TYPE_MESSAGE
_STRING = _Proto.TYPE_STRING
_UINT32 = _Proto.TYPE_UINT32

_DATA_TYPES = (
    "INVALID",
    "FLOAT",
    "DOUBLE",
    "INT32",
    "UINT8",
    "INT16",
    "INT8",
    "STRING",
    "COMPLEX64",
    "INT64",
    "BOOL",
    "QINT8",
    "QUINT8",
    "QINT32",
    "BFLOAT16",
    "QINT16",
    "QUINT16",
    "UINT16",
    "COMPLEX128",
    "HALF",
    "RESOURCE",
    "VARIANT",
    "UINT32",
    "UINT64",
    "FLOAT8_E5M2",
    "FLOAT8_E4M3FN",
)
"""By their numbers. Those above 100 are references, which no file holds."""
_POLICY = f".{PACKAGE}.FileSystemStoragePathSourceConfig.ServableVersionPolicy"


def _field(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    number: int,
    kind: descriptor_pb2.FieldDescriptorProto.Type.ValueType,
    *,
    of: str | None = None,
    repeated: bool = False,
    in_oneof: bool = False,
) -> None:
    """Add a field; `of` is the full type name of a message or enum, `in_oneof` puts it into the message's only oneof."""
    field = message.field.add(
        name=name,
        number=number,
        type=kind,
        label=_Proto.LABEL_REPEATED if repeated else _Proto.LABEL_OPTIONAL,
    )
    if of is not None:
        field.type_name = of
    if in_oneof:
        field.oneof_index = 0


def _batching(file: descriptor_pb2.FileDescriptorProto) -> None:
    """Wrapper messages make every number optional; allowed_batch_sizes and pad_variable_length_inputs are plain."""
    message = file.message_type.add(name="BatchingParameters")
    int64, string, boolean = (f".google.protobuf.{kind}Value" for kind in ("Int64", "String", "Bool"))
    _field(message, "max_batch_size", 1, _MESSAGE, of=int64)
    _field(message, "batch_timeout_micros", 2, _MESSAGE, of=int64)
    _field(message, "max_enqueued_batches", 3, _MESSAGE, of=int64)
    _field(message, "num_batch_threads", 4, _MESSAGE, of=int64)
    _field(message, "thread_pool_name", 5, _MESSAGE, of=string)
    _field(message, "allowed_batch_sizes", 6, _INT64, repeated=True)
    _field(message, "pad_variable_length_inputs", 7, _BOOL)
    _field(message, "enable_large_batch_splitting", 8, _MESSAGE, of=boolean)
    _field(message, "max_execution_batch_size", 9, _MESSAGE, of=int64)


def _version_policy(file: descriptor_pb2.FileDescriptorProto) -> None:
    policy = file.message_type.add(name="FileSystemStoragePathSourceConfig").nested_type.add(name="ServableVersionPolicy")
    _field(policy.nested_type.add(name="Latest"), "num_versions", 1, _UINT32)
    policy.nested_type.add(name="All")
    _field(policy.nested_type.add(name="Specific"), "versions", 1, _INT64, repeated=True)
    policy.oneof_decl.add(name="policy_choice")
    _field(policy, "latest", 100, _MESSAGE, of=f"{_POLICY}.Latest", in_oneof=True)
    _field(policy, "all", 101, _MESSAGE, of=f"{_POLICY}.All", in_oneof=True)
    _field(policy, "specific", 102, _MESSAGE, of=f"{_POLICY}.Specific", in_oneof=True)


def _logging(file: descriptor_pb2.FileDescriptorProto) -> None:
    collector = file.message_type.add(name="LogCollectorConfig")
    _field(collector, "type", 1, _STRING)
    _field(collector, "filename_prefix", 2, _STRING)
    sampling = file.message_type.add(name="SamplingConfig")
    _field(sampling, "sampling_rate", 1, _DOUBLE)
    _field(sampling, "attributes", 2, _INT32)
    logging = file.message_type.add(name="LoggingConfig")
    _field(logging, "log_collector_config", 1, _MESSAGE, of=f".{PACKAGE}.LogCollectorConfig")
    _field(logging, "sampling_config", 2, _MESSAGE, of=f".{PACKAGE}.SamplingConfig")


def _models(file: descriptor_pb2.FileDescriptorProto) -> None:
    kinds = file.enum_type.add(name="ModelType")
    for number, name in enumerate(("MODEL_TYPE_UNSPECIFIED", "TENSORFLOW", "OTHER")):
        kinds.value.add(name=name, number=number)

    model = file.message_type.add(name="ModelConfig")
    _field(model, "name", 1, _STRING)
    _field(model, "base_path", 2, _STRING)
    _field(model, "model_type", 3, _ENUM, of=f".{PACKAGE}.ModelType")
    _field(model, "model_platform", 4, _STRING)
    _field(model, "logging_config", 6, _MESSAGE, of=f".{PACKAGE}.LoggingConfig")
    _field(model, "model_version_policy", 7, _MESSAGE, of=_POLICY)
    labels = model.nested_type.add(name="VersionLabelsEntry")
    labels.options.map_entry = True
    _field(labels, "key", 1, _STRING)
    _field(labels, "value", 2, _INT64)
    _field(model, "version_labels", 8, _MESSAGE, of=f".{PACKAGE}.ModelConfig.VersionLabelsEntry", repeated=True)

    _field(file.message_type.add(name="ModelConfigList"), "config", 1, _MESSAGE, of=f".{PACKAGE}.ModelConfig", repeated=True)

    server = file.message_type.add(name="ModelServerConfig")
    server.oneof_decl.add(name="config")
    _field(server, "model_config_list", 1, _MESSAGE, of=f".{PACKAGE}.ModelConfigList", in_oneof=True)
    _field(server, "custom_model_config", 2, _MESSAGE, of=".google.protobuf.Any", in_oneof=True)


def _monitoring(file: descriptor_pb2.FileDescriptorProto) -> None:
    prometheus = file.message_type.add(name="PrometheusConfig")
    _field(prometheus, "enable", 1, _BOOL)
    _field(prometheus, "path", 2, _STRING)
    monitoring = file.message_type.add(name="MonitoringConfig")
    _field(monitoring, "prometheus_config", 1, _MESSAGE, of=f".{PACKAGE}.PrometheusConfig")


@cache
def pool() -> descriptor_pool.DescriptorPool:
    """The private pool with TF Serving's messages and the well-known ones they use; built on first use."""
    private = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorflow_serving/minimal.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=["google/protobuf/any.proto", "google/protobuf/wrappers.proto"],
    )
    for add in (_batching, _version_policy, _logging, _models, _monitoring):
        add(file)
    for serialized in (any_pb2.DESCRIPTOR.serialized_pb, wrappers_pb2.DESCRIPTOR.serialized_pb, file.SerializeToString()):
        private.AddSerializedFile(serialized)
    return private


def new_message(name: str) -> Any:
    """An empty message of TF Serving's package, by its name there (`BatchingParameters`)."""
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))()


def _map(message: descriptor_pb2.DescriptorProto, full_name: str, name: str, number: int, *, of: str | None) -> None:
    """Add a map from text to the message named by `of`, or to bytes where it is None."""
    entry = message.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
    entry.options.map_entry = True
    _field(entry, "key", 1, _STRING)
    _field(entry, "value", 2, _BYTES if of is None else _MESSAGE, of=of)
    _field(message, name, number, _MESSAGE, of=f".{full_name}.{entry.name}", repeated=True)


def _signatures(file: descriptor_pb2.FileDescriptorProto) -> None:
    """What a model can be asked: meta_graph.proto, tensor_shape.proto, types.proto."""
    types = file.enum_type.add(name="DataType")
    for number, name in enumerate(_DATA_TYPES):
        types.value.add(name=f"DT_{name}", number=number)

    shape = file.message_type.add(name="TensorShapeProto")
    _field(shape.nested_type.add(name="Dim"), "size", 1, _INT64)
    _field(shape, "dim", 2, _MESSAGE, of=f".{TENSORFLOW}.TensorShapeProto.Dim", repeated=True)
    _field(shape, "unknown_rank", 3, _BOOL)

    tensor = file.message_type.add(name="TensorInfo")
    tensor.oneof_decl.add(name="encoding")
    _field(tensor, "name", 1, _STRING, in_oneof=True)
    _field(tensor, "coo_sparse", 4, _BYTES, in_oneof=True)
    _field(tensor, "composite_tensor", 5, _BYTES, in_oneof=True)
    _field(tensor, "dtype", 2, _ENUM, of=f".{TENSORFLOW}.DataType")
    _field(tensor, "tensor_shape", 3, _MESSAGE, of=f".{TENSORFLOW}.TensorShapeProto")

    signature = file.message_type.add(name="SignatureDef")
    _map(signature, f"{TENSORFLOW}.SignatureDef", "inputs", 1, of=f".{TENSORFLOW}.TensorInfo")
    _map(signature, f"{TENSORFLOW}.SignatureDef", "outputs", 2, of=f".{TENSORFLOW}.TensorInfo")
    _field(signature, "method_name", 3, _STRING)


def _assets(file: descriptor_pb2.FileDescriptorProto) -> None:
    """The small parts of a graph's envelope: meta_graph.proto. The graph itself is walked over on the wire, it can be large."""
    _field(file.message_type.add(name="AssetFileDef"), "filename", 2, _STRING)
    collection = file.message_type.add(name="CollectionDef")
    _field(collection.nested_type.add(name="AnyList"), "value", 1, _MESSAGE, of=".google.protobuf.Any", repeated=True)
    _field(collection, "any_list", 5, _MESSAGE, of=f".{TENSORFLOW}.CollectionDef.AnyList")


def _bundle(file: descriptor_pb2.FileDescriptorProto) -> None:
    """The entries of variables.index: tensor_bundle.proto."""
    _field(file.message_type.add(name="BundleHeaderProto"), "num_shards", 1, _INT32)
    entry = file.message_type.add(name="BundleEntryProto")
    _field(entry, "shard_id", 3, _INT32)
    _field(entry, "offset", 4, _INT64)
    _field(entry, "size", 5, _INT64)
    _field(entry, "crc32c", 6, _FIXED32)
    _field(entry, "slices", 7, _BYTES, repeated=True)


def _warm_up(file: descriptor_pb2.FileDescriptorProto) -> None:
    """A warm-up record: prediction_log.proto, predict.proto, model.proto."""
    _field(file.message_type.add(name="ModelSpec"), "signature_name", 3, _STRING)
    request = file.message_type.add(name="PredictRequest")
    _field(request, "model_spec", 1, _MESSAGE, of=f".{PACKAGE}.ModelSpec")
    _map(request, f"{PACKAGE}.PredictRequest", "inputs", 2, of=None)
    _field(file.message_type.add(name="PredictLog"), "request", 1, _MESSAGE, of=f".{PACKAGE}.PredictRequest")
    log = file.message_type.add(name="PredictionLog")
    log.oneof_decl.add(name="log_type")
    _field(log, "classify_log", 2, _BYTES, in_oneof=True)
    _field(log, "regress_log", 3, _BYTES, in_oneof=True)
    _field(log, "predict_log", 6, _MESSAGE, of=f".{PACKAGE}.PredictLog", in_oneof=True)
    _field(log, "predict_streamed_log", 7, _BYTES, in_oneof=True)
    _field(log, "multi_inference_log", 4, _BYTES, in_oneof=True)
    _field(log, "session_run_log", 5, _BYTES, in_oneof=True)


@cache
def model_pool() -> descriptor_pool.DescriptorPool:
    """The private pool with the messages of a model's files; built on first use, apart from that of the configuration files."""
    private = descriptor_pool.DescriptorPool()
    of_tensorflow = descriptor_pb2.FileDescriptorProto(
        name="tensorflow/minimal.proto", package=TENSORFLOW, syntax="proto3", dependency=["google/protobuf/any.proto"]
    )
    for add in (_signatures, _assets, _bundle):
        add(of_tensorflow)
    of_serving = descriptor_pb2.FileDescriptorProto(name="tensorflow_serving/warm_up.proto", package=PACKAGE, syntax="proto3")
    _warm_up(of_serving)
    for serialized in (any_pb2.DESCRIPTOR.serialized_pb, of_tensorflow.SerializeToString(), of_serving.SerializeToString()):
        private.AddSerializedFile(serialized)
    return private


@cache
def model_message_class(full_name: str) -> Any:
    """The class of a message of a model's files, by its full name (`tensorflow.SignatureDef`, `tensorflow.serving.PredictionLog`)."""
    return message_factory.GetMessageClass(model_pool().FindMessageTypeByName(full_name))
