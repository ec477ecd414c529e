"""The messages against bytes put together by hand from TF Serving's .proto files."""

import pytest
from google.protobuf import any_pb2, descriptor_pool, wrappers_pb2

from shared.tfserving.descriptors import new_message, pool

FIELDS = {
    "BatchingParameters": {
        "max_batch_size": 1,
        "batch_timeout_micros": 2,
        "max_enqueued_batches": 3,
        "num_batch_threads": 4,
        "thread_pool_name": 5,
        "allowed_batch_sizes": 6,
        "pad_variable_length_inputs": 7,
        "enable_large_batch_splitting": 8,
        "max_execution_batch_size": 9,
    },
    "ModelServerConfig": {"model_config_list": 1, "custom_model_config": 2},
    "ModelConfigList": {"config": 1},
    "ModelConfig": {
        "name": 1,
        "base_path": 2,
        "model_type": 3,
        "model_platform": 4,
        "logging_config": 6,
        "model_version_policy": 7,
        "version_labels": 8,
    },
    "FileSystemStoragePathSourceConfig.ServableVersionPolicy": {"latest": 100, "all": 101, "specific": 102},
    "FileSystemStoragePathSourceConfig.ServableVersionPolicy.Latest": {"num_versions": 1},
    "FileSystemStoragePathSourceConfig.ServableVersionPolicy.Specific": {"versions": 1},
    "MonitoringConfig": {"prometheus_config": 1},
    "PrometheusConfig": {"enable": 1, "path": 2},
    "LoggingConfig": {"log_collector_config": 1, "sampling_config": 2},
    "LogCollectorConfig": {"type": 1, "filename_prefix": 2},
    "SamplingConfig": {"sampling_rate": 1, "attributes": 2},
}


@pytest.mark.parametrize("name", FIELDS)
def test_names_and_numbers(name: str) -> None:
    descriptor = pool().FindMessageTypeByName(f"tensorflow.serving.{name}")
    assert {field.name: field.number for field in descriptor.fields} == FIELDS[name]


def test_a_wrapper_holds_zero_as_present() -> None:
    message = new_message("BatchingParameters")
    message.batch_timeout_micros.SetInParent()
    assert message.SerializeToString() == b"\x12\x00"
    message.max_batch_size.value = 300
    assert message.SerializeToString() == b"\x0a\x03\x08\xac\x02\x12\x00"


def test_a_pinned_version_on_the_wire() -> None:
    message = new_message("ModelServerConfig")
    config = message.model_config_list.config.add(name="m", base_path="/m", model_platform="tensorflow")
    config.model_version_policy.specific.versions.append(42)
    policy = b"\xb2\x06\x03\x0a\x01\x2a"  # field 102, 3 bytes: field 1, packed, one byte: 42
    model = b"\x0a\x01m\x12\x02/m\x22\x0atensorflow\x3a" + bytes([len(policy)]) + policy
    assert message.SerializeToString() == b"\x0a" + bytes([len(model) + 2]) + b"\x0a" + bytes([len(model)]) + model


def test_the_pool_is_private() -> None:
    assert pool() is not descriptor_pool.Default()
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tensorflow.serving.BatchingParameters")
    assert wrappers_pb2.Int64Value(value=1).value == 1
    assert any_pb2.Any().type_url == ""
