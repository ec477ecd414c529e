"""A folder as a bucket: nothing outside of it is ever reached, and what is no plain file is no object."""

import os
from pathlib import Path
from typing import Any

import pytest

from shared.errors import Refused
from shared.local import model_folder
from shared.local.model_folder import ModelFolder

BUCKET = "acme-models"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / BUCKET / "ranker" / "7").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    return tmp_path / "root"


def listed(root: Path, prefix: str = "") -> list[str]:
    return [each.name for each in ModelFolder(root).list_objects(BUCKET, prefix, limit=100).objects]


def generation(path: Path) -> int:
    found = path.stat()
    return found.st_mtime_ns ^ (found.st_ino & 0xFFF)


@pytest.mark.parametrize("name", ["ranker/7/link", "ranker/link/secret", "link/secret", "ranker/../../../outside/secret"])
def test_a_link_is_followed_neither_as_a_file_nor_on_the_way_to_one(root: Path, name: str) -> None:
    outside = root.parent / "outside"
    (root / BUCKET / "ranker" / "7" / "link").symlink_to(outside / "secret")
    (root / BUCKET / "ranker" / "link").symlink_to(outside)
    (root / BUCKET / "link").symlink_to(outside)
    assert ModelFolder(root).read_object(BUCKET, name, generation=generation(outside / "secret"), limit_bytes=100) is None
    assert listed(root) == []
    assert listed(root, "link/") == []
    assert ModelFolder(root).list_folders(BUCKET, "", limit=10) == ["ranker"]


def test_a_bucket_that_is_a_link_is_no_bucket(root: Path) -> None:
    (root / "linked-models").symlink_to(root.parent / "outside")
    with pytest.raises(Refused, match="linked-models"):
        ModelFolder(root).list_objects("linked-models", "", limit=1)


@pytest.mark.parametrize("bucket", ["..", ".", "", "a/b", "../outside", "UPPER", "x" * 300, "acme\0models"])
def test_a_name_that_no_bucket_has_is_refused(root: Path, bucket: str) -> None:
    with pytest.raises(Refused, match="is no name of a bucket"):
        ModelFolder(root).list_objects(bucket, "", limit=1)


def test_what_is_no_plain_file_is_no_object(root: Path) -> None:
    pipe = root / BUCKET / "ranker" / "7" / "pipe"
    os.mkfifo(pipe)
    assert listed(root) == []
    assert ModelFolder(root).read_object(BUCKET, "ranker/7/pipe", generation=generation(pipe), limit_bytes=1) is None


def test_a_name_that_is_no_unicode_is_listed_and_cannot_be_read(root: Path) -> None:
    (root / BUCKET / "ranker" / "7" / os.fsdecode(b"\xff.txt")).write_bytes(b"x")
    assert listed(root) == ["ranker/7/\ufffd.txt"]
    found = ModelFolder(root).list_objects(BUCKET, "", limit=1).objects[0]
    assert ModelFolder(root).read_object(BUCKET, found.name, generation=found.generation, limit_bytes=1) is None


def test_a_file_that_is_written_in_place_while_it_is_read_is_not_what_was_asked_for(root: Path) -> None:
    path = root / BUCKET / "ranker" / "7" / "saved_model.pb"
    path.write_bytes(b"before")
    before = generation(path)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert ModelFolder(root).read_object(BUCKET, "ranker/7/saved_model.pb", generation=before, limit_bytes=10) is None


def test_folders_without_end_end_the_listing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_folder, "MAX_FOLDERS_WALKED", 3)
    for number in range(5):
        (root / BUCKET / f"{number}").mkdir()
        (root / BUCKET / f"{number}" / "x").write_bytes(b"")
    assert not ModelFolder(root).list_objects(BUCKET, "", limit=100).complete


def test_what_lies_too_deep_is_not_looked_into(root: Path) -> None:
    deep = root / BUCKET / "ranker" / "/".join("d" * 40)
    deep.mkdir(parents=True)
    (deep / "x").write_bytes(b"")
    assert listed(root) == []


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / BUCKET / "ranker" / "7" / "variables").mkdir()
    real = os.open

    def closed(path: Any, *rest: Any, **named: Any) -> int:
        if path == "variables":
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(Refused, match="Permission denied"):
        listed(root)


def test_a_folder_that_is_removed_meanwhile_is_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / BUCKET / "ranker" / "7" / "variables").mkdir()
    (root / BUCKET / "ranker" / "7" / "saved_model.pb").write_bytes(b"")
    real = os.open

    def gone(path: Any, *rest: Any, **named: Any) -> int:
        if path == "variables":
            raise FileNotFoundError(2, "No such file or directory")
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", gone)
    assert listed(root) == ["ranker/7/saved_model.pb"]
