"""The parts of the server around TensorFlow that need no TensorFlow: its metrics page and its messages."""

import struct

import pytest
from google.protobuf.message import DecodeError

from shared.diagnose.prometheus_text import read_page
from shared.tfserving.descriptors import model_message_class
from shared.tfserving.metrics import is_metric
from tests.support.tf_server import wire
from tests.support.tf_server.counters import Counters

SESSION = ":tensorflow:serving:batching_session:"


def some_traffic() -> Counters:
    counters = Counters("ranker")
    for rows in (1, 2, 8):
        counters.entered(rows)
    for status in ("OK", "OK", "UNAVAILABLE"):
        counters.request(status)
    for queuing_us in (150.0, 450.0):
        counters.queued(queuing_us)
        counters.answered("Predict", "GRPC", request_us=queuing_us + 3_000, runtime_us=queuing_us + 2_000)
    counters.batch(rows=3, ran=4)
    return counters


def test_the_page_has_only_names_that_tf_serving_has() -> None:
    page = read_page(some_traffic().page())
    names = {name for name, _ in (*page.counters, *page.histograms)}
    assert [name for name in names if not is_metric(name)] == []
    assert len(names) == 8


def test_the_page_counts_requests_by_status_and_batches_by_the_rows_that_ran() -> None:
    page = read_page(some_traffic().page())
    statuses = {dict(labels)["status"]: count for (name, labels), count in page.counters.items() if name.endswith("request_count")}
    assert statuses == {"OK": 2, "UNAVAILABLE": 1}
    assert page.histograms[f"{SESSION}processed_batch_size", ()] == (4, 1)
    assert page.histograms[f"{SESSION}padding_size", (("execution_batch_size", "4"),)] == (1, 1)
    assert page.histograms[f"{SESSION}queuing_latency", (("thread_pool_name", ""),)] == (600, 2)


def test_a_size_that_equals_a_limit_is_in_the_bucket_above_it() -> None:
    lines = some_traffic().page().splitlines()
    assert f'{SESSION}input_batch_size_bucket{{le="2"}} 1' in lines
    assert f'{SESSION}input_batch_size_bucket{{le="4"}} 2' in lines
    assert f'{SESSION}input_batch_size_bucket{{le="+Inf"}} 3' in lines


def test_a_request_is_what_tf_servings_own_messages_read() -> None:
    tensor = wire.float_tensor(struct.pack("<2f", 1.5, 2.5), (1, 2))
    read = model_message_class("tensorflow.serving.PredictRequest").FromString(wire.predict_request("ranker", {"x": tensor}))
    assert dict(read.inputs) == {"x": tensor}
    assert wire.read_request(wire.predict_request("ranker", {"x": tensor})).model_spec.name == "ranker"


def test_a_tensor_has_the_numbers_of_tensor_proto() -> None:
    # dtype 1 (float), tensor_shape { dim { size: 2 } }, tensor_content.
    assert wire.float_tensor(b"12345678", (2,)) == b"\x08\x01\x12\x04\x12\x02\x08\x02\x22\x0812345678"


def test_an_answer_names_the_version_that_gave_it() -> None:
    answer = wire.predict_response("ranker", 7, "serving_default", {"y": b""})
    assert wire.read_outputs(answer) == {"y": b""}
    assert b"\x12\x02\x08\x07" in answer


def test_what_is_no_request_is_said_to_be_none() -> None:
    with pytest.raises(DecodeError):
        wire.read_request(b"\xff\xff")
