"""One contract for every way to a bucket: the simulated one, a folder of this machine, Cloud Storage over HTTP."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from shared.errors import Refused
from shared.gcp.gcs import CloudStorage
from shared.local.model_folder import ModelFolder
from shared.ports import ModelFiles
from shared.simulation.bucket import SimulatedBucket
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.support.cloud_storage_door import CloudStorageDoor

BUCKET = "acme-models"
FILES = {
    "ranker/7/saved_model.pb": b"graph",
    "ranker/7/variables/variables.index": b"",
    "ranker/10/saved_model.pb": b"newer",
    "ranker/notes.txt": b"n",
    "rankers/1/saved_model.pb": b"another model",
    "1/saved_model.pb": b"in the bucket itself",
    "ranker/7/a b+c%2F#?.txt": b"odd",
    "ranker/7/übung/…": b"unicode",
}


class Place(Protocol):
    """A bucket that can be written to."""

    files: ModelFiles

    def put(self, name: str, data: bytes) -> None:
        """Write an object."""

    def delete(self, name: str) -> None:
        """Delete one."""


class InMemory:
    def __init__(self) -> None:
        self.bucket = SimulatedBucket(now=HandClock(NOW).now)
        self.files: ModelFiles = self.bucket

    def put(self, name: str, data: bytes) -> None:
        self.bucket.put(BUCKET, name, data)

    def delete(self, name: str) -> None:
        self.bucket.delete(BUCKET, name)


class OnDisk:
    def __init__(self, root: Path) -> None:
        self.files: ModelFiles = ModelFolder(root)
        self._folder = root / BUCKET

    def put(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("being written").write_bytes(data)
        path.with_name("being written").replace(path)
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))

    def delete(self, name: str) -> None:
        (self._folder / name).unlink()


@pytest.fixture(params=["in memory", "a folder", "Cloud Storage"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made: InMemory | OnDisk = OnDisk(tmp_path) if request.param == "a folder" else InMemory()
    for name, data in FILES.items():
        made.put(name, data)
    if request.param != "Cloud Storage" or not isinstance(made, InMemory):
        yield made
        return
    with CloudStorageDoor(made.bucket, page=2) as door:
        client = CloudStorage(endpoint=door.endpoint)
        made.files = client
        yield made
        client.close()


def names(place: Place, prefix: str, limit: int = 100) -> set[str]:
    return {each.name for each in place.files.list_objects(BUCKET, prefix, limit=limit).objects}


def generations(place: Place, prefix: str = "ranker/") -> Mapping[str, int]:
    return {each.name: each.generation for each in place.files.list_objects(BUCKET, prefix, limit=100).objects}


def test_a_listing_has_what_lies_below_the_prefix_and_nothing_beside_it(place: Place) -> None:
    assert names(place, "ranker/") == {name for name in FILES if name.startswith("ranker/")}
    assert names(place, "ranker/7/") == {name for name in FILES if name.startswith("ranker/7/")}
    assert names(place, "") == set(FILES)
    assert names(place, "nobody/") == set()


def test_a_listing_says_sizes_and_times(place: Place) -> None:
    found = {each.name: each for each in place.files.list_objects(BUCKET, "ranker/", limit=100).objects}
    assert {name: each.size_bytes for name, each in found.items()} == {name: len(data) for name, data in FILES.items() if name in found}
    assert all(each.updated_at.utcoffset() is not None for each in found.values())


@pytest.mark.parametrize(("limit", "complete"), [(1, False), (7, False), (8, True), (9, True)])
def test_a_listing_says_whether_there_is_more(place: Place, limit: int, complete: bool) -> None:
    listing = place.files.list_objects(BUCKET, "", limit=limit)
    assert (len(listing.objects), listing.complete) == (min(limit, 8), complete)


def test_folders_are_those_just_below_the_prefix(place: Place) -> None:
    assert sorted(place.files.list_folders(BUCKET, "ranker/", limit=10)) == ["10", "7"]
    assert sorted(place.files.list_folders(BUCKET, "", limit=10)) == ["1", "ranker", "rankers"]
    assert place.files.list_folders(BUCKET, "nobody/", limit=10) == []
    assert len(place.files.list_folders(BUCKET, "", limit=2)) == 2


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("ranker/")])
def test_every_object_that_is_listed_can_be_read(place: Place, name: str) -> None:
    generation = generations(place)[name]
    assert place.files.read_object(BUCKET, name, generation=generation, limit_bytes=100) == FILES[name]


def test_a_read_is_no_longer_than_its_limit(place: Place) -> None:
    name = "ranker/7/saved_model.pb"
    assert place.files.read_object(BUCKET, name, generation=generations(place)[name], limit_bytes=3) == b"gra"


def test_an_object_that_was_written_anew_has_another_generation_and_the_old_one_is_gone(place: Place) -> None:
    name = "ranker/7/saved_model.pb"
    before = generations(place)[name]
    place.put(name, b"other")
    after = generations(place)[name]
    assert after != before
    assert place.files.read_object(BUCKET, name, generation=before, limit_bytes=100) is None
    assert place.files.read_object(BUCKET, name, generation=after, limit_bytes=100) == b"other"


def test_an_object_that_is_deleted_is_not_there(place: Place) -> None:
    name = "ranker/7/saved_model.pb"
    before = generations(place)[name]
    place.delete(name)
    assert name not in names(place, "")
    assert place.files.read_object(BUCKET, name, generation=before, limit_bytes=100) is None


def test_a_bucket_that_is_not_there_refuses(place: Place) -> None:
    with pytest.raises(Refused, match="no-such-bucket"):
        place.files.list_objects("no-such-bucket", "", limit=1)
    with pytest.raises(Refused, match="no-such-bucket"):
        place.files.list_folders("no-such-bucket", "", limit=1)


@pytest.mark.parametrize(
    "name", ["ranker/../ranker/7/saved_model.pb", "../acme-models/1/saved_model.pb", "/etc/passwd", "ranker//7", ".", "ranker/7/"]
)
def test_a_hostile_name_is_no_way_to_anything(place: Place, name: str) -> None:
    assert place.files.read_object(BUCKET, name, generation=1, limit_bytes=100) is None
