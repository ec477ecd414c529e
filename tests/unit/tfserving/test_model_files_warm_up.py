"""The warm-up file: whole records, and what TF Serving says of others."""

import pytest

from shared.tfserving.model_files_warm_up import MAX_RECORDS, WarmUp, WarmUpError, read_warm_up
from tests.support.saved_models import part, predict_log, record

VERIFY = ". Please verify your warmup data is in TFRecord format."
FIRST = record(predict_log())
SECOND = record(predict_log("by_text"))


def refused(data: bytes) -> str:
    with pytest.raises(WarmUpError) as error:
        read_warm_up(data, size_bytes=len(data))
    return error.value.text


def test_records_and_the_signatures_they_name() -> None:
    data = FIRST + SECOND + FIRST
    assert read_warm_up(data, size_bytes=len(data)) == WarmUp(3, is_whole_file=True, signatures=("by_text", "serving_default"))


def test_an_empty_file_has_no_records() -> None:
    assert read_warm_up(b"", size_bytes=0) == WarmUp(0, is_whole_file=True, signatures=())


@pytest.mark.parametrize("kept", [len(FIRST), len(FIRST) + 5, len(FIRST) + 12, len(FIRST) + len(SECOND) - 1])
def test_a_record_that_runs_out_of_the_head_is_not_judged(kept: int) -> None:
    data = FIRST + SECOND
    assert read_warm_up(data[:kept], size_bytes=len(data)) == WarmUp(1, is_whole_file=False, signatures=("serving_default",))


@pytest.mark.parametrize("kept", [12, 13, len(FIRST) - 1])
def test_a_file_that_ends_inside_a_record(kept: int) -> None:
    assert refused(FIRST[:kept]) == f"truncated record at 0{VERIFY}"
    assert refused(FIRST + FIRST[:kept]) == f"truncated record at {len(FIRST)}{VERIFY}"


@pytest.mark.parametrize("stray", [1, 11])
def test_a_file_that_ends_inside_a_header_ends_there_to_tf_serving(stray: int) -> None:
    data = FIRST + SECOND[:stray]
    assert read_warm_up(data, size_bytes=len(data)) == WarmUp(1, is_whole_file=True, signatures=("serving_default",), stray_bytes=stray)


def test_a_spoilt_length_and_spoilt_data() -> None:
    assert refused(b"\x01" + FIRST[1:]) == f"corrupted record at 0{VERIFY}"
    assert refused(FIRST[:-1] + bytes([FIRST[-1] ^ 1])) == f"corrupted record at 12{VERIFY}"
    assert refused(FIRST[:14] + bytes([FIRST[14] ^ 1]) + FIRST[15:]) == f"corrupted record at 12{VERIFY}"


@pytest.mark.parametrize("data", [b'{"instances": [[1, 2, 3, 4]]}', b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x00\x00"])
def test_no_tfrecord_file(data: bytes) -> None:
    assert refused(data) == f"corrupted record at 0{VERIFY}"


def test_a_record_that_is_no_prediction_log() -> None:
    assert refused(FIRST + record(b"\xff")) == f"Failed to parse warmup record: the one at {len(FIRST)} is no PredictionLog"


def test_a_request_that_cannot_be_replayed() -> None:
    assert refused(record(part(5, b""))) == "Unsupported log_type for warmup: 5"


@pytest.mark.parametrize("kind", [2, 3, 4, 7])
def test_other_requests_name_no_signature_here(kind: int) -> None:
    data = record(part(kind, b""))
    assert read_warm_up(data, size_bytes=len(data)) == WarmUp(1, is_whole_file=True, signatures=())


def test_a_thousand_records_and_one_more() -> None:
    data = FIRST * MAX_RECORDS
    assert read_warm_up(data, size_bytes=len(data)).records == 1_000
    assert refused(data + FIRST) == "Number of warmup records exceeds the maximum (1000)"
