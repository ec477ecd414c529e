"""Cloud Storage's JSON API: what is asked of it, and what each of its answers means."""

from collections.abc import Iterator

import pytest
from google.auth import exceptions as auth

from shared.errors import Refused, Retry
from shared.gcp import gcs
from shared.gcp.gcs import CloudStorage
from shared.simulation.bucket import SimulatedBucket
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.support.cloud_storage_door import CloudStorageDoor

BUCKET = "acme-models"


@pytest.fixture
def door() -> Iterator[CloudStorageDoor]:
    bucket = SimulatedBucket(now=HandClock(NOW).now)
    for number in range(5):
        bucket.put(BUCKET, f"ranker/7/{number}", b"0123456789")
    with CloudStorageDoor(bucket, page=2) as opened:
        yield opened


@pytest.fixture
def storage(door: CloudStorageDoor) -> Iterator[CloudStorage]:
    client = CloudStorage(endpoint=door.endpoint)
    yield client
    client.close()


def test_a_listing_asks_for_its_fields_only_and_stops_where_enough_is_known(door: CloudStorageDoor, storage: CloudStorage) -> None:
    assert not storage.list_objects(BUCKET, "ranker/", limit=3).complete
    path, asked, headers = door.seen[0]
    assert (path, asked["prefix"], headers["Accept-Encoding"]) == ("/storage/v1/b/acme-models/o", "ranker/", "identity")
    assert asked["fields"] == "items(name,size,generation,crc32c,updated),nextPageToken"
    assert [each[1].get("pageToken") for each in door.seen] == [None, "2"]


def test_a_listing_brings_generations_and_checksums(storage: CloudStorage) -> None:
    first = storage.list_objects(BUCKET, "ranker/", limit=10).objects[0]
    assert (first.size_bytes, first.updated_at, first.crc32c) == (10, NOW, "KAwGng==")
    assert first.generation > 0


def test_a_read_pins_the_generation_asks_for_a_range_and_is_never_unpacked(door: CloudStorageDoor, storage: CloudStorage) -> None:
    generation = storage.list_objects(BUCKET, "ranker/", limit=10).objects[0].generation
    storage.read_object(BUCKET, "ranker/7/0", generation=generation, limit_bytes=4)
    path, asked, headers = door.seen[-1]
    assert path == "/storage/v1/b/acme-models/o/ranker%2F7%2F0"
    assert asked == {"alt": "media", "generation": str(generation)}
    assert (headers["Range"], headers["Accept-Encoding"]) == ("bytes=0-3", "gzip")


def test_a_server_that_does_not_know_ranges_is_not_read_to_the_end(door: CloudStorageDoor, storage: CloudStorage) -> None:
    door.ignores_ranges = True
    generation = storage.list_objects(BUCKET, "ranker/", limit=10).objects[0].generation
    assert storage.read_object(BUCKET, "ranker/7/0", generation=generation, limit_bytes=4) == b"0123"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_the_world_may_mend_is_retried(door: CloudStorageDoor, storage: CloudStorage, status: int) -> None:
    door.answer = (status, b"<html>try again</html>")
    with pytest.raises(Retry, match=f"listing gs://acme-models/ranker/: HTTP {status}: <html>try again"):
        storage.list_objects(BUCKET, "ranker/", limit=1)
    with pytest.raises(Retry, match=f"HTTP {status}"):
        storage.read_object(BUCKET, "x", generation=1, limit_bytes=1)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_listing_that_is_refused_is_told_in_googles_words(door: CloudStorageDoor, storage: CloudStorage, status: int) -> None:
    door.answer = (status, b'{"error": {"code": 403, "message": "trimtab@acme-ml does not have storage.objects.list access"}}')
    with pytest.raises(Refused, match=f"HTTP {status}: trimtab@acme-ml does not have storage.objects.list access"):
        storage.list_objects(BUCKET, "ranker/", limit=1)


def test_a_read_that_is_refused_is_told_too(door: CloudStorageDoor, storage: CloudStorage) -> None:
    door.answer = (403, b"no")
    with pytest.raises(Refused, match="HTTP 403: no"):
        storage.read_object(BUCKET, "x", generation=1, limit_bytes=10)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"no json",
        b"[" * 100_000,
        b'{"items": [{}]}',
        b'{"items": [{"name": "", "size": "1", "generation": "1", "updated": "2026-11-30T03:00:00Z"}]}',
        b'{"items": [{"name": "a", "size": "many", "generation": "1", "updated": "2026-11-30T03:00:00Z"}]}',
        b'{"items": [{"name": "a", "size": "1", "generation": "1", "updated": "yesterday"}]}',
        b'{"items": 7}',
        b'{"items": [7]}',
    ],
)
def test_an_answer_that_is_none_is_not_guessed_at(door: CloudStorageDoor, storage: CloudStorage, body: bytes) -> None:
    door.answer = (200, body)
    with pytest.raises(Retry):
        storage.list_objects(BUCKET, "ranker/", limit=1)


def test_a_page_above_every_size_is_cut_and_refused(door: CloudStorageDoor, storage: CloudStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gcs, "PAGE_LIMIT_BYTES", 50)
    with pytest.raises(Retry, match="no JSON object of at most 50 bytes"):
        storage.list_objects(BUCKET, "ranker/", limit=1)


def test_a_listing_without_an_end_is_given_up(door: CloudStorageDoor, storage: CloudStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    door.answer = (200, b'{"nextPageToken": "again"}')
    monkeypatch.setattr(gcs, "WORK_SECONDS", 0.2)
    with pytest.raises(Retry, match="not done within"):
        storage.list_objects(BUCKET, "ranker/", limit=1)


def test_nobody_at_the_address_is_retried() -> None:
    with pytest.raises(Retry, match="reading gs://acme-models/x"):
        CloudStorage(endpoint="http://127.0.0.1:1").read_object(BUCKET, "x", generation=1, limit_bytes=1)


def test_missing_credentials_are_retried_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise auth.DefaultCredentialsError("none here")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.default", fail)
    with pytest.raises(Retry, match="no credentials from the environment: none here"):
        CloudStorage().list_objects(BUCKET, "", limit=1)
