"""What is listed, what is remembered, what is read."""

from dataclasses import replace
from datetime import timedelta

from shared.tfserving.model_files_listing import (
    MAX_FILES,
    MAX_INDEX_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_REMEMBERED_FILES,
    MAX_SAVED_MODEL_BYTES,
    WARM_UP_HEAD_BYTES,
    FileRead,
    Listing,
    StoredFile,
    reads_needed,
    sighting,
)
from tests.support.saved_models import COMPLETE, INDEX, LISTED, MANIFEST, SAVED_MODEL, UPLOADED, WARM_UP


def stored(path: str, size_bytes: int = 1, generation: int = 1, crc32c: str | None = "yZRlqg==") -> StoredFile:
    return StoredFile(path, size_bytes, generation, crc32c, UPLOADED)


def listed(*files: StoredFile) -> Listing:
    return Listing.of("42", files, LISTED)


def test_markers_of_folders_are_no_files() -> None:
    listing = listed(stored("", 0), stored("variables/", 0), stored("b"), stored("a", 0), stored("odd/", 3))
    assert [file.path for file in listing.files] == ["a", "b", "odd/"]
    assert listing.size_bytes == 4


def test_of_two_generations_the_newer_one_is_the_file() -> None:
    assert listed(stored("a", 1, 7), stored("a", 2, 9), stored("a", 3, 8)).files == (stored("a", 2, 9),)


def test_the_digest_is_that_of_paths_sizes_and_generations() -> None:
    one = listed(stored("a"), stored("b"))
    assert one.digest() == listed(stored("b"), stored("a", crc32c=None)).digest() == replace(one, listed_at=UPLOADED).digest()
    others = [
        listed(stored("a")),
        listed(stored("a"), stored("c")),
        listed(stored("a", 2), stored("b")),
        listed(stored("a", 1, 2), stored("b")),
    ]
    assert len({one.digest(), *(other.digest() for other in others)}) == 5


def test_a_name_cannot_feign_another_file() -> None:
    assert listed(stored("a 1 1\nb")).digest() != listed(stored("a"), stored("b")).digest()


def test_the_same_listing_keeps_the_time_of_its_first_sighting() -> None:
    first = sighting(listed(stored("a")), None)
    later = replace(listed(stored("a")), listed_at=LISTED + timedelta(hours=1))
    assert sighting(later, first) is first
    changed = replace(listed(stored("a", 2)), listed_at=LISTED + timedelta(hours=1))
    assert sighting(changed, first).first_seen_at == LISTED + timedelta(hours=1)


def test_what_changed_since() -> None:
    before = sighting(listed(stored("a"), stored("b"), stored("c"), stored("d"), stored("e", crc32c=None)), None)
    now = listed(
        stored("a", generation=2),
        stored("b", generation=2, crc32c="AAAAAA=="),
        stored("c", size_bytes=2, generation=2),
        stored("e", generation=2, crc32c=None),
        stored("new"),
    )
    assert before.changed_in(now) == ("b", "c", "e"), "a holds the same bytes, d is gone, of e nothing proves it"


def test_what_is_served_is_remembered_first() -> None:
    many = [stored(f"assets.extra/{at:05}") for at in range(MAX_REMEMBERED_FILES + 10)]
    remembered = sighting(listed(*many, stored(SAVED_MODEL), stored(INDEX), stored("assets/words.txt"), stored(WARM_UP)), None)
    assert [file.path for file in remembered.files[:4]] == [SAVED_MODEL, INDEX, WARM_UP, "assets/words.txt"]
    assert len(remembered.files) == MAX_REMEMBERED_FILES


def test_what_is_read() -> None:
    files = [stored(WARM_UP, 10**12, 5), stored(MANIFEST, 10, 6), stored(INDEX, 10, 7), stored(SAVED_MODEL, 10, 8), stored("x")]
    assert reads_needed(listed(*files)) == (
        FileRead(WARM_UP, 5, WARM_UP_HEAD_BYTES),
        FileRead(SAVED_MODEL, 8, MAX_SAVED_MODEL_BYTES),
        FileRead(MANIFEST, 6, MAX_MANIFEST_BYTES),
        FileRead(INDEX, 7, MAX_INDEX_BYTES),
    )


def test_what_is_too_large_is_not_read() -> None:
    assert reads_needed(listed(stored(SAVED_MODEL, MAX_SAVED_MODEL_BYTES), stored(INDEX, MAX_INDEX_BYTES + 1))) == (
        FileRead(SAVED_MODEL, 1, MAX_SAVED_MODEL_BYTES),
    )


def test_of_too_many_files_none_is_read() -> None:
    assert reads_needed(listed(*COMPLETE.listing().files, *(stored(f"{at}") for at in range(MAX_FILES)))) == ()
