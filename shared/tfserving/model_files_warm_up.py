"""assets.extra/tf_serving_warmup_requests: the requests that TF Serving runs before a version is available.

The file is a TFRecord (record_reader.cc) of PredictionLog messages (saved_model_warmup_util.cc): for each record its length in eight
bytes, the masked CRC-32C of those, the message, and the masked CRC-32C of that. Any record that cannot be read or run fails the load.
"""

import struct
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from shared.errors import TrimtabError
from shared.tfserving.descriptors import model_message_class
from shared.tfserving.model_files_checksum import crc32c, masked

MAX_RECORDS = 1_000
"""TF Serving's kMaxNumRecords: one more fails the load."""
DEFAULT_SIGNATURE = "serving_default"

_HEADER_BYTES = 12
_FOOTER_BYTES = 4
_VERIFY = "Please verify your warmup data is in TFRecord format."


class WarmUpError(TrimtabError):
    """TF Serving would fail to load the version because of this file. `text` is what it says."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What the head of the file holds.

    `records` counts those that are whole, all of them where `is_whole_file`. `signatures` are those that requests to Predict name.
    `stray_bytes` at the end of a whole file are less than a record's header: TF Serving takes them for the end.
    """

    records: int
    is_whole_file: bool
    signatures: tuple[str, ...]
    stray_bytes: int = 0


def read_warm_up(head: bytes, *, size_bytes: int) -> WarmUp:
    """Read the records at the beginning of a file of `size_bytes`; a record that runs out of the head is not judged.

    Raises:
        WarmUpError: a record is damaged or no request that can be replayed, or there are more than `MAX_RECORDS`.
    """
    is_whole_file = len(head) >= size_bytes
    data = memoryview(head)
    at, records = 0, 0
    signatures: set[str] = set()
    while len(data) - at >= _HEADER_BYTES:
        length, checksum = struct.unpack("<QI", data[at : at + _HEADER_BYTES])
        if masked(crc32c(data[at : at + 8])) != checksum:
            raise WarmUpError(f"corrupted record at {at}. {_VERIFY}")
        start = at + _HEADER_BYTES
        end = start + length + _FOOTER_BYTES
        if end > len(data):
            if is_whole_file:
                raise WarmUpError(f"truncated record at {at}. {_VERIFY}")
            return WarmUp(records, is_whole_file, tuple(sorted(signatures)))
        record = data[start : start + length]
        if masked(crc32c(record)) != struct.unpack("<I", data[start + length : end])[0]:
            raise WarmUpError(f"corrupted record at {start}. {_VERIFY}")
        signatures.update(_signature(record, at))
        records += 1
        if records > MAX_RECORDS:
            raise WarmUpError(f"Number of warmup records exceeds the maximum ({MAX_RECORDS})")
        at = end
    return WarmUp(records, is_whole_file, tuple(sorted(signatures)), len(data) - at if is_whole_file else 0)


def _signature(record: memoryview, at: int) -> tuple[str, ...]:
    """The signature that the record's request to Predict names, none for other requests."""
    log: Any = model_message_class("tensorflow.serving.PredictionLog")()
    try:
        log.ParseFromString(bytes(record))
    except DecodeError:
        raise WarmUpError(f"Failed to parse warmup record: the one at {at} is no PredictionLog") from None
    if log.WhichOneof("log_type") == "session_run_log":
        raise WarmUpError("Unsupported log_type for warmup: 5")
    if log.WhichOneof("log_type") != "predict_log":
        return ()
    return (log.predict_log.request.model_spec.signature_name or DEFAULT_SIGNATURE,)
