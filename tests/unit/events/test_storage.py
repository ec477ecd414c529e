"""From a notification of Cloud Storage to a fact about a model: hostile names and values, bounds and routing beyond the fixtures."""

import hashlib
import json
from typing import Any

import pytest

from shared.errors import Park
from shared.events.envelope import Envelope, open_envelope
from shared.events.ignored import Ignored
from shared.events.storage import RoutedUpload, parse_upload, read_upload
from shared.records.subject import document_id

FINALIZED = {
    "ce-id": "1",
    "ce-specversion": "1.0",
    "ce-type": "google.cloud.storage.object.v1.finalized",
    "ce-source": "//storage.googleapis.com/projects/_/buckets/northwind-models",
}
ATTRIBUTES = {
    "bucketId": "northwind-models",
    "objectId": "classify/12/saved_model.pb",
    "objectGeneration": "1793604900500001",
    "eventType": "OBJECT_FINALIZE",
    "payloadFormat": "NONE",
}


def finalized(**resource: Any) -> Envelope:
    usual = {"kind": "storage#object", "bucket": "northwind-models", "name": "classify/12/saved_model.pb", "generation": "1793604900500001"}
    return open_envelope(FINALIZED, json.dumps({**usual, **resource}).encode())


def notified(data: bytes = b"", **attributes: str) -> Envelope:
    return Envelope(form="push", data=data, attributes={**ATTRIBUTES, **attributes})


def upload(envelope: Envelope) -> RoutedUpload:
    found = parse_upload(envelope)
    assert isinstance(found, RoutedUpload)
    return found


def refusal(envelope: Envelope) -> Park:
    with pytest.raises(Park) as caught:
        parse_upload(envelope)
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 400
    return caught.value


@pytest.mark.parametrize("sent", ["9007199254740993", 9007199254740993])
def test_a_generation_beyond_a_floats_precision_is_exact(sent: object) -> None:
    assert upload(finalized(generation=sent)).fact.generation == 9_007_199_254_740_993


@pytest.mark.parametrize("sent", [-1, "-1", 1.5, "1e3", "", "seven", True, [], {}, 2**63, str(2**63), "9" * 400, "\uff17"])
def test_a_generation_that_is_no_64_bit_number_is_parked(sent: object) -> None:
    park = refusal(finalized(generation=sent))
    assert (park.code, "generation: " in park.reason) == ("unparsable", True)


@pytest.mark.parametrize("sent", ["x", "-1", None, [], 2**63, 0.5])
def test_a_size_that_cannot_be_read_is_none_and_spoils_nothing(sent: object) -> None:
    assert upload(finalized(size=sent)).fact.size_bytes is None


@pytest.mark.parametrize(("field", "sent"), [("crc32c", "zzz"), ("crc32c", 7), ("md5Hash", "yZRlqg=="), ("crc32c", "yZRlqg==" * 9)])
def test_a_checksum_of_the_wrong_length_is_none(field: str, sent: object) -> None:
    fact = upload(finalized(**{field: sent})).fact
    assert (fact.crc32c, fact.md5) == (None, None)


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("12/saved_model.pb", "gs://northwind-models"),
        ("/12/saved_model.pb", "gs://northwind-models/"),
        ("a/b/12/variables/3/x", "gs://northwind-models/a/b"),
        ("a/0012/x", "gs://northwind-models/a"),
        ("a//7/x", "gs://northwind-models/a/"),
        ("../../etc/7/passwd", "gs://northwind-models/../../etc"),
        ("a\nb/7/x", "gs://northwind-models/a\nb"),
        ("$(rm -rf ~)/7/`x`", "gs://northwind-models/$(rm -rf ~)"),
        ("\u202e\u0000/7/\U0001f600", "gs://northwind-models/\u202e\u0000"),
        ("a/7", "gs://northwind-models/a"),
        ("9" * 1_000 + "/x", "gs://northwind-models"),
    ],
    ids=repr,
)
def test_the_model_is_what_stands_before_the_first_part_of_digits(name: str, uri: str) -> None:
    found = upload(finalized(name=name))
    assert (found.model.uri, found.fact.name) == (uri, name)
    assert found.model.id == hashlib.sha256(uri.encode()).hexdigest()[:20]


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "v7/x", "a/7b/x", "a/7 /x", "a/7\n", "a/\u0667/x", "a/\uff17/x", "a/-7/x", "a/7.0/x", "/", "."]
)
def test_an_object_without_a_part_of_digits_is_ignored(name: str) -> None:
    found = parse_upload(finalized(name=name))
    assert isinstance(found, Ignored)
    assert found.reason.isprintable()


@pytest.mark.parametrize("name", ["", "x" * 1_025, "é" * 513, "\ud800/7/x", None, 7, ["a/7/x"], {"a": 1}], ids=lambda name: repr(name)[:20])
def test_a_name_that_no_object_can_have_is_parked(name: object) -> None:
    park = refusal(finalized(name=name))
    assert (park.code, "name: " in park.reason) == ("unparsable", True)


def test_a_name_of_1024_bytes_is_taken_and_its_key_is_a_safe_document_id() -> None:
    fact = upload(finalized(name="é" * 510 + "/7/")).fact
    assert len(document_id(fact.key)) == 64


@pytest.mark.parametrize("bucket", ["", "..", "a/b", "UPPER", "x" * 300, "gs://models", "a\nb", None, 7])
def test_a_bucket_that_cannot_be_is_parked(bucket: object) -> None:
    assert "bucket: " in refusal(finalized(bucket=bucket)).reason


def test_the_keys_of_all_that_happens_to_one_generation_differ() -> None:
    events = ("OBJECT_FINALIZE", "OBJECT_METADATA_UPDATE", "OBJECT_ARCHIVE", "OBJECT_DELETE")
    keys = {upload(notified(eventType=event)).fact.key for event in events}
    assert len(keys) == 4


def test_no_name_can_have_the_key_of_another_ones_event() -> None:
    deleted = upload(notified(eventType="OBJECT_DELETE")).fact.key
    forged = deleted.removeprefix("northwind-models/")
    assert upload(notified(objectId=forged)).fact.key != deleted


def test_the_same_event_in_both_formats_has_the_same_key() -> None:
    resource = {"bucket": "northwind-models", "name": "classify/12/saved_model.pb", "generation": 1793604900500001}
    with_data = notified(json.dumps(resource).encode(), payloadFormat="JSON_API_V1")
    assert upload(with_data).fact.key == upload(notified()).fact.key == upload(finalized()).fact.key


@pytest.mark.parametrize("data", [b"\xff", b"{", b"[]", b'"x"', b'{"name": "a", "name": "b"}'])
def test_data_that_are_no_resource_are_parked_with_what_the_attributes_say(data: bytes) -> None:
    envelope = notified(data, payloadFormat="JSON_API_V1")
    assert refusal(envelope).code == "unparsable"
    reading = read_upload(envelope)
    assert (reading.bucket, reading.name, reading.event) == ("northwind-models", "classify/12/saved_model.pb", "finalize")


def test_data_beside_payload_format_none_are_passed_over() -> None:
    assert upload(notified(b"\xff")).fact.generation == 1793604900500001


def test_spoilt_base64_is_parked_with_what_the_attributes_say() -> None:
    body = {"message": {"messageId": "1", "data": "***", "attributes": {**ATTRIBUTES, "payloadFormat": "JSON_API_V1"}}}
    envelope = open_envelope({}, json.dumps(body).encode())
    assert "base64" in refusal(envelope).reason
    assert read_upload(envelope).generation == 1793604900500001


def test_a_resource_without_any_event_is_parked() -> None:
    bare = Envelope(form="push", data=b'{"kind": "storage#object", "bucket": "northwind-models", "name": "a/1/x", "generation": "1"}')
    assert "ce-type" in refusal(bare).reason


@pytest.mark.parametrize("event", ["finalize", "FINALIZED", "finalized.v2", "", "../finalized"])
def test_a_cloud_event_of_a_storage_type_that_is_not_known_is_unsupported(event: str) -> None:
    envelope = open_envelope({**FINALIZED, "ce-type": f"google.cloud.storage.object.v1.{event}"}, b"{}")
    assert refusal(envelope).code == "unsupported"
