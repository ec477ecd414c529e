"""The messages of a model's files: numbers as in TensorFlow's and TF Serving's .proto files, and bytes put together from them."""

import pytest
from google.protobuf import descriptor_pool

from shared.tfserving.descriptors import model_message_class, model_pool, pool
from tests.support.saved_models import ROWS, predict_log

FIELDS = {
    "tensorflow.TensorShapeProto": {"dim": 2, "unknown_rank": 3},
    "tensorflow.TensorShapeProto.Dim": {"size": 1},
    "tensorflow.TensorInfo": {"name": 1, "dtype": 2, "tensor_shape": 3, "coo_sparse": 4, "composite_tensor": 5},
    "tensorflow.SignatureDef": {"inputs": 1, "outputs": 2, "method_name": 3},
    "tensorflow.AssetFileDef": {"filename": 2},
    "tensorflow.CollectionDef": {"any_list": 5},
    "tensorflow.CollectionDef.AnyList": {"value": 1},
    "tensorflow.BundleHeaderProto": {"num_shards": 1},
    "tensorflow.BundleEntryProto": {"shard_id": 3, "offset": 4, "size": 5, "crc32c": 6, "slices": 7},
    "tensorflow.serving.ModelSpec": {"signature_name": 3},
    "tensorflow.serving.PredictRequest": {"model_spec": 1, "inputs": 2},
    "tensorflow.serving.PredictLog": {"request": 1},
    "tensorflow.serving.PredictionLog": {
        "classify_log": 2,
        "regress_log": 3,
        "multi_inference_log": 4,
        "session_run_log": 5,
        "predict_log": 6,
        "predict_streamed_log": 7,
    },
}


@pytest.mark.parametrize("name", FIELDS)
def test_names_and_numbers(name: str) -> None:
    assert {field.name: field.number for field in model_pool().FindMessageTypeByName(name).fields} == FIELDS[name]


@pytest.mark.parametrize(("name", "value"), [("DT_FLOAT", 1), ("DT_STRING", 7), ("DT_INT64", 9), ("DT_HALF", 19), ("DT_FLOAT8_E4M3FN", 25)])
def test_numbers_of_types(name: str, value: int) -> None:
    assert model_pool().FindEnumTypeByName("tensorflow.DataType").values_by_name[name].number == value


def test_a_signature_and_a_request_from_the_wire() -> None:
    signature = model_message_class("tensorflow.SignatureDef").FromString(ROWS)
    assert [dim.size for dim in signature.inputs["x"].tensor_shape.dim] == [-1, 4]
    log = model_message_class("tensorflow.serving.PredictionLog").FromString(predict_log("by_text"))
    assert log.predict_log.request.model_spec.signature_name == "by_text"
    assert list(log.predict_log.request.inputs) == ["x"]


def test_the_pools_are_private_and_apart() -> None:
    assert model_pool() is not pool()
    for other in (pool(), descriptor_pool.Default()):
        with pytest.raises(KeyError):
            other.FindMessageTypeByName("tensorflow.SignatureDef")
